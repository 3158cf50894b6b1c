"""The web application: its addresses, its files, what is shown when something is wrong, and how it is served.

In: a `Site`. Out: an ASGI application behind the gate, on loopback, or elsewhere with a token. Knows no page from
inside.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
from collections.abc import Callable
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from coset.api.environment import Environment
from coset.errors import CosetError, UserError
from coset.people import OneToken, People
from coset.surfaces.http_server import check_exposure as check_exposure_of
from coset.surfaces.http_server import in_address, listen, serve_application
from coset.surfaces.metrics import Metrics
from coset.surfaces.watching import Health, Watched
from coset.surfaces.web.gate import Gate
from coset.surfaces.web.pages import ROUTES
from coset.surfaces.web.rendering import render
from coset.surfaces.web.site import Site

FOR_EVER = "public, max-age=31536000, immutable"
log = logging.getLogger(__name__)


class Assets(StaticFiles):
    """Our own files. Their addresses change when they do, so a browser need not ask twice."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        response.headers["Cache-Control"] = FOR_EVER
        return response


def make_application(
    site: Site, host: str = "127.0.0.1", token: str | None = None, people: People | None = None
) -> ASGIApp:
    """All pages, behind the gate. With `people`, each has a token and rights of their own."""
    application = Starlette(
        routes=[*ROUTES, Mount("/assets", Assets(packages=[("coset.surfaces.web", "assets")]))],
        middleware=[Middleware(GZipMiddleware, minimum_size=500, compresslevel=5)],
        exception_handlers={CosetError: _told, HTTPException: _refused, Exception: _unexpected},
    )
    application.state.site = site
    metrics = Metrics()
    watched = Watched(Counted(application, metrics), site.environment, metrics)
    return Health(Gate(watched, host, people or (OneToken(token) if token else None)), site.environment)


class Counted:
    """Counts requests for pages and what came of them."""

    def __init__(self, application: ASGIApp, metrics: Metrics) -> None:
        self._application, self._metrics = application, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"].startswith("/assets"):
            await self._application(scope, receive, send)
            return
        with self._metrics.request("page" if scope["method"] in {"GET", "HEAD"} else "form") as request:

            async def send_counted(message: Message) -> None:
                if message["type"] == "http.response.start":
                    request.failed = message["status"] >= 500
                await send(message)

            await self._application(scope, receive, send_counted)


def _error(request: Request, status: int, text: str) -> Response:
    wants_part = request.headers.get("x-part") == "1"
    return render(request, "error_part.html" if wants_part else "error.html", status, text=text, status=status)


async def _told(request: Request, error: Exception) -> Response:
    return _error(request, 400 if isinstance(error, UserError) else 503, str(error))


async def _refused(request: Request, error: Exception) -> Response:
    status, text = (error.status_code, error.detail) if isinstance(error, HTTPException) else (500, "")
    return _error(request, status, "There is no such page." if status == 404 and text == "Not Found" else text)


async def _unexpected(request: Request, error: Exception) -> Response:
    if os.environ.get("COSET_TRACEBACK"):
        log.exception("a page failed", exc_info=error)
    return _error(
        request, 500, f"Unexpected {type(error).__name__}: a fault of coset's. Set COSET_TRACEBACK=1 to see where."
    )


TOKEN_VARIABLE = "COSET_UI_TOKEN"  # noqa: S105 - the name of a variable
WARMING_UP = "customer orders by month"
"""Any question: the first one loads the models, and nobody should wait for that."""


def check_exposure(host: str, token: str | None) -> None:
    """Raises `UserError` for an address that others can reach without a token."""
    check_exposure_of(host, token, TOKEN_VARIABLE, "the page asks for")


def serve(
    environment: Environment,
    *,
    host: str,
    port: int,
    token: str | None,
    people: People | None = None,
    reports: Path | None = None,
    ready: Callable[[str], None] | None = None,
) -> None:
    """Serve the page. `ready` is told the address as soon as it answers; port 0 takes any that is free."""
    if people is None:
        check_exposure(host, token)
    application = make_application(Site(environment, reports), host, token, people)
    listening = listen(host, port)
    logging.basicConfig(stream=sys.stderr, level=logging.ERROR, format="coset ui: %(message)s")

    def warm_up() -> None:
        with contextlib.suppress(Exception):  # It will be told on the page that asks for a view.
            environment.explain(WARMING_UP)

    environment.workspace.threads.submit(warm_up)
    if ready is not None:
        ready(f"http://{in_address(host)}:{listening.getsockname()[1]}/")
    serve_application(application, listening, shutdown_seconds=1)
