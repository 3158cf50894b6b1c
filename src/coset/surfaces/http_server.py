"""An HTTP server that bounds what one client can hold and for how long, and where it may listen.

In: an application and an open socket. Out: nothing; it serves until it is ended. A request must be there whole within
`REQUEST_SECONDS`, its headers within `LARGEST_HEADERS`; a client that does not read its answer is left after
`READING_SECONDS`; beyond `MOST_CONNECTIONS`, or half of the files that the process may open, further ones are hung up
on, so that there are files left for those who are served. What a request says may hold data of
the user's: nothing of it is logged. An address that others can reach needs a token. The MCP server and the web page
share it.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from coset.errors import CosetError, UserError

SHORTEST_TOKEN = 16
LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")


def check_exposure(host: str, token: str | None, variable: str, how: str) -> None:
    """Raises `UserError` for an address that others can reach without a token. `variable` is where the token is read
    from, `how` is what a client does with it."""
    if token is not None and len(token) < SHORTEST_TOKEN:
        raise UserError(f"the token in {variable} is too short: use at least {SHORTEST_TOKEN} characters")
    if token is None and not is_loopback(host):
        raise UserError(
            f"'{host}' can be reached by others: set a token in {variable}, which {how}, or serve on 127.0.0.1"
        )


def is_loopback(host: str) -> bool:
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def in_address(host: str) -> str:
    """A host as it is written in an address."""
    return f"[{host}]" if ":" in host else host


def listen(host: str, port: int) -> socket.socket:
    """A socket that takes requests; port 0 takes any that is free."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, _, _, _, place = found[0]
        return socket.create_server(place[:2], family=family, backlog=128)
    except OSError as error:
        raise CosetError(f"cannot serve on {host}:{port}: {error.strerror or error}; choose another --port") from None


REQUEST_SECONDS = 30.0
READING_SECONDS = 60.0
LARGEST_HEADERS = 32 << 10
MOST_CONNECTIONS = 256
TAKEN_AT_ONCE = 8


class BoundedProtocol(H11Protocol):
    """HTTP/1.1 with a limit on how long a request may take to arrive and an answer to be taken."""

    _arriving: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > most_connections():
            transport.abort()
            return
        self._await_request()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state in (h11.IDLE, h11.SEND_BODY):
            self._await_request()
        elif self._arriving is not None:  # The request is there whole.
            self._arriving.cancel()
            self._arriving = None

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._unread is None:
            self._unread = self.loop.call_later(READING_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        for timer in (self._arriving, self._unread):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def _await_request(self) -> None:
        if self._arriving is None:
            self._arriving = self.loop.call_later(REQUEST_SECONDS, self.transport.abort)


def most_connections() -> int:
    """How many may be open at once."""
    try:
        import resource
    except ImportError:  # On Windows.
        return MOST_CONNECTIONS
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST_CONNECTIONS if files == resource.RLIM_INFINITY else max(4, min(MOST_CONNECTIONS, files // 2))


def make_http_server(application: Any, shutdown_seconds: int) -> uvicorn.Server:
    """A server for an application; told to end, it waits that long for what is under way."""
    settings = uvicorn.Config(
        application,
        http=BoundedProtocol,
        log_config=None,
        log_level="critical",
        access_log=False,
        server_header=False,
        limit_concurrency=MOST_CONNECTIONS,
        backlog=TAKEN_AT_ONCE,  # asyncio takes so many before it looks at any of them.
        h11_max_incomplete_event_size=LARGEST_HEADERS,
        timeout_graceful_shutdown=shutdown_seconds,
    )
    return uvicorn.Server(settings)


def serve_application(application: Any, listening: socket.socket, shutdown_seconds: int) -> None:
    """Serve until the process is told to end."""
    make_http_server(application, shutdown_seconds).run(sockets=[listening])
