"""An HTTP server of ours: bounded in what one client can hold, and for how long.

In: an application and an open socket. Out: nothing; it serves until it is ended. A request must be there whole within
`REQUEST_SECONDS`, its headers within `LARGEST_HEADERS`; a client that does not read its answer is left after
`READING_SECONDS`; beyond `MOST_CONNECTIONS` further ones are told to come back. What a request says may hold data of
the user's: nothing of it is logged. The MCP server and the web page share it. Knows no page and no tool.
"""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

REQUEST_SECONDS = 30.0
READING_SECONDS = 60.0
LARGEST_HEADERS = 32 << 10
MOST_CONNECTIONS = 256


class BoundedProtocol(H11Protocol):
    """HTTP/1.1 with a limit on how long a request may take to arrive and an answer to be taken."""

    _arriving: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
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
        h11_max_incomplete_event_size=LARGEST_HEADERS,
        timeout_graceful_shutdown=shutdown_seconds,
    )
    return uvicorn.Server(settings)


def serve_application(application: Any, listening: socket.socket, shutdown_seconds: int) -> None:
    """Serve until the process is told to end."""
    make_http_server(application, shutdown_seconds).run(sockets=[listening])
