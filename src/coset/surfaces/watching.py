"""`/health` and `/metrics` of a server, beside whatever it serves.

In: an application and an environment. Out: the application with the two addresses before it. Health needs no token and
tells nothing of the data: that it answers, and whether there is a state to answer from. The rest is for whoever was let
in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from coset import __version__
from coset.state.file import stamp_of
from coset.surfaces.metrics import CONTENT_TYPE, Metrics

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from coset.api.environment import Environment

HEALTH, METRICS = "/health", "/metrics"


class Watched:
    """Behind the gate: serves the figures."""

    def __init__(self, application: ASGIApp, environment: Environment, metrics: Metrics) -> None:
        self._application, self._environment, self._metrics = application, environment, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] == METRICS and scope["method"] in {"GET", "HEAD"}:
            from starlette.responses import Response

            await Response(self._metrics.text(published_at(self._environment)), headers={"content-type": CONTENT_TYPE})(
                scope, receive, send
            )
            return
        await self._application(scope, receive, send)


class Health:
    """Before the gate: says that the server answers."""

    def __init__(self, application: ASGIApp, environment: Environment) -> None:
        self._application, self._environment = application, environment

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] == HEALTH and scope["method"] in {"GET", "HEAD"}:
            from starlette.responses import JSONResponse

            is_there = published_at(self._environment) is not None
            told = {"status": "ok", "version": __version__, "comprehended": is_there}
            await JSONResponse(told, headers={"cache-control": "no-store"})(scope, receive, send)
            return
        await self._application(scope, receive, send)


def published_at(environment: Environment) -> float | None:
    """When the state that is read now was written, in seconds since 1970; None where there is none."""
    stamp = stamp_of(environment.configuration.state_folder)
    return None if stamp is None else stamp[1] / 1e9
