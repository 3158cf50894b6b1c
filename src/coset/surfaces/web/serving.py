"""Serving the web page until it is ended.

In: an open environment, an address, a token. Out: nothing. Binds to loopback unless told otherwise, and beyond it only
with a token.
"""

from __future__ import annotations

import contextlib
import logging
import sys
from collections.abc import Callable
from pathlib import Path

from coset.api.environment import Environment
from coset.surfaces.http_server import serve_application
from coset.surfaces.listening import check_exposure as check_exposure_of
from coset.surfaces.listening import in_address, listen
from coset.surfaces.web.application import make_application
from coset.surfaces.web.site import Site

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
    reports: Path | None = None,
    ready: Callable[[str], None] | None = None,
) -> None:
    """Serve the page. `ready` is told the address as soon as it answers; port 0 takes any that is free."""
    check_exposure(host, token)
    application = make_application(Site(environment, reports), host, token)
    listening = listen(host, port)
    logging.basicConfig(stream=sys.stderr, level=logging.ERROR, format="coset ui: %(message)s")

    def warm_up() -> None:
        with contextlib.suppress(Exception):  # It will be told on the page that asks for a view.
            environment.explain(WARMING_UP)

    environment.workspace.threads.submit(warm_up)
    if ready is not None:
        ready(f"http://{in_address(host)}:{listening.getsockname()[1]}/")
    serve_application(application, listening, shutdown_seconds=1)
