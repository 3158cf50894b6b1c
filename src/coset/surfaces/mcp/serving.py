"""Serving: over standard input and output to the one program that started us, or over HTTP to several.

In: an open environment. Out: nothing; it serves until it is ended. HTTP binds to loopback unless told otherwise, and
beyond loopback only with a token, which every request must carry. A page in a browser cannot reach it: requests whose
`Host` or `Origin` is another are refused. Knows no tool.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Any

from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings

from coset.api.environment import Environment
from coset.errors import CosetError
from coset.people import OneToken, People
from coset.surfaces.http_server import LOOPBACK_NAMES, in_address, is_loopback, listen
from coset.surfaces.http_server import check_exposure as check_exposure_of
from coset.surfaces.mcp.server import PERSON, make_server
from coset.surfaces.metrics import Metrics
from coset.surfaces.watching import Health, Watched
from coset.tracing import flush

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

TOKEN_VARIABLE = "COSET_MCP_TOKEN"  # noqa: S105 - the name of a variable
PATH = "/mcp"
LARGEST_REQUEST = 1 << 20
WARMING_UP = "customer orders by month"
"""Any question: the first one loads the models, and nobody should wait for that."""


def serve_stdio(environment: Environment, *, read_only: bool = False) -> None:
    """Serve the program at the other end of standard input, until it closes it."""
    server = make_server(environment, read_only=read_only)
    _prepare(environment)

    async def serve() -> None:
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())

    # A thread of the library waits for a line that may never come, so a signal ends the process here and now.
    def end(number: int, frame: FrameType | None) -> None:
        environment.close()
        flush()
        os._exit(128 + number)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)
    with contextlib.suppress(BrokenPipeError):
        asyncio.run(serve())


def serve_http(
    environment: Environment,
    *,
    host: str,
    port: int,
    token: str | None,
    people: People | None = None,
    read_only: bool = False,
    ready: Callable[[str], None] | None = None,
) -> None:
    """Serve over streamable HTTP. `ready` is told the address as soon as it answers; port 0 takes any that is free.
    With `people`, each has a token and rights of their own, and `token` is nobody's."""
    from coset.surfaces.http_server import serve_application

    if people is None:
        check_exposure(host, token)
    known = people or (OneToken(token) if token else None)
    metrics = Metrics()
    served = make_application(make_server(environment, read_only=read_only, metrics=metrics), host)
    application: ASGIApp = Watched(served, environment, metrics)
    if known is not None:
        application = TokenGate(application, known, metrics)
    application = Health(application, environment)
    listening = listen(host, port)
    _prepare(environment)
    address = f"http://{in_address(host)}:{listening.getsockname()[1]}{PATH}"
    if ready is not None:
        ready(address)
    serve_application(application, listening, shutdown_seconds=2)


def check_exposure(host: str, token: str | None) -> None:
    """Raises `UserError` for an address that others can reach without a token."""
    check_exposure_of(host, token, TOKEN_VARIABLE, "clients send as `Authorization: Bearer ...`")


def make_application(server: Server[Any], host: str) -> ASGIApp:
    """The web application: the protocol at one path."""
    names = [*LOOPBACK_NAMES, in_address(host)]
    hosts = [name + suffix for name in dict.fromkeys(names) for suffix in ("", ":*")]
    security = TransportSecuritySettings(
        # Beyond loopback a server has names that it does not know; there the token keeps foreign pages out.
        enable_dns_rebinding_protection=is_loopback(host),
        allowed_hosts=hosts,
        allowed_origins=[f"http://{name}" for name in hosts],
    )
    application: ASGIApp = server.streamable_http_app(
        streamable_http_path=PATH,
        host=host,
        transport_security=security,
        max_request_body_size=LARGEST_REQUEST,
        stateless_http=True,  # Nothing is kept between requests, so nobody can fill the memory with sessions.
    )
    return application


class TokenGate:
    """Lets requests through that carry a token which is somebody's, and says whose to what is behind it."""

    def __init__(self, application: ASGIApp, people: People | OneToken, metrics: Metrics) -> None:
        self._application, self._people, self._metrics = application, people, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            try:
                person = self._people.find(_bearer(scope))
            except CosetError as error:
                await _refusal(503, f"nobody can be let in: {error}")(scope, receive, send)
                return
            if person is None:
                self._metrics.count("coset_refused_total", why="token")
                told = f"a token is needed: send Authorization: Bearer with the value of {TOKEN_VARIABLE}"
                if isinstance(self._people, People):
                    told = "a token is needed: send Authorization: Bearer with your own"
                await _refusal(401, told)(scope, receive, send)
                return
            scope[PERSON] = person
        await self._application(scope, receive, send)


def _bearer(scope: Scope) -> str:
    given: bytes = dict(scope["headers"]).get(b"authorization", b"")
    kind, _, token = given.partition(b" ")
    return token.strip().decode("utf-8", "replace") if kind.lower() == b"bearer" else ""


def _refusal(status: int, text: str) -> ASGIApp:
    from starlette.responses import PlainTextResponse

    return PlainTextResponse(text, status, headers={"WWW-Authenticate": "Bearer"} if status == 401 else None)


def _prepare(environment: Environment) -> None:
    """Keep logs off the protocol's way, and load the models while the client says hello."""
    logging.basicConfig(stream=sys.stderr, level=logging.ERROR, format="coset mcp: %(message)s")

    def warm_up() -> None:
        with contextlib.suppress(Exception):  # It will be told when somebody asks for a view.
            environment.view(WARMING_UP)

    environment.workspace.threads.submit(warm_up)
