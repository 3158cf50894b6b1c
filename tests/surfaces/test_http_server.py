"""What one client can hold of a server of ours, and for how long."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Iterator

import httpx2
import pytest
from mcp.server.lowlevel.server import Server

from coset.surfaces import http_server
from coset.surfaces.http_server import listen
from coset.surfaces.mcp.serving import make_application

PATIENCE = 20.0
LARGE = 64 << 20


async def echo(scope, receive, send):
    if scope["type"] != "http":
        return
    message = {"more_body": True}
    while message.get("more_body"):
        message = await receive()
    await send({"type": "http.response.start", "status": 200, "headers": []})
    body = b"x" * (LARGE if scope["path"] == "/large" else 2)
    await send({"type": "http.response.body", "body": body})


@contextlib.contextmanager
def serving(application) -> Iterator[tuple[str, int]]:
    server, listening = http_server.make_http_server(application, shutdown_seconds=0), listen("127.0.0.1", 0)
    thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listening])), daemon=True)
    thread.start()
    try:
        yield listening.getsockname()[:2]
    finally:
        server.should_exit = True
        thread.join(PATIENCE)


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, int]]:
    monkeypatch.setattr(http_server, "REQUEST_SECONDS", 0.5)
    monkeypatch.setattr(http_server, "READING_SECONDS", 0.5)
    with serving(echo) as place:
        yield place


def everything(connection: socket.socket) -> bytes:
    """What comes until the server closes; empty too where it breaks off."""
    found = b""
    with contextlib.suppress(ConnectionError):
        while part := connection.recv(1 << 16):
            found += part
    return found


@pytest.mark.parametrize(
    "beginning",
    [
        b"",
        b"GET / HTTP/1.1\r\nHost: x\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc",
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\nHo",  # The second one of a connection.
    ],
)
def test_a_request_that_does_not_arrive_whole_is_left(beginning: bytes, place: tuple[str, int]):
    with socket.create_connection(place, PATIENCE) as connection:
        connection.sendall(beginning)
        assert everything(connection).count(b"200 OK") == beginning.count(b"\r\n\r\nGET")


def test_a_client_that_does_not_read_is_left(place: tuple[str, int]):
    with socket.create_connection(place, PATIENCE) as connection:
        connection.sendall(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n")
        threading.Event().wait(3)
        assert len(everything(connection)) < LARGE


def test_a_client_that_reads_gets_all_of_a_large_answer(place: tuple[str, int], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(http_server, "READING_SECONDS", 60)
    assert len(httpx2.get(f"http://{place[0]}:{place[1]}/large", timeout=PATIENCE).content) == LARGE


def test_headers_without_end_are_refused(place: tuple[str, int]):
    with socket.create_connection(place, PATIENCE) as connection, contextlib.suppress(ConnectionError):
        connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n" + b"a: b\r\n" * 20_000)
        assert b"200 OK" not in everything(connection)
    assert httpx2.get(f"http://{place[0]}:{place[1]}/").status_code == 200


def test_mcp_keeps_no_session_for_a_request(place: tuple[str, int]):
    hello = {
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}},
    }  # fmt: skip
    with serving(make_application(Server("t"), "127.0.0.1")) as (host, port):
        answers = [
            httpx2.post(
                f"http://{host}:{port}/mcp", json=hello, timeout=PATIENCE,
                headers={"accept": "application/json, text/event-stream"},
            )
            for _ in range(5)
        ]  # fmt: skip
    assert {answer.status_code for answer in answers} == {200}
    assert all("mcp-session-id" not in answer.headers for answer in answers)


def test_connections_without_end_are_hung_up_on_and_it_serves_on(
    place: tuple[str, int], monkeypatch: pytest.MonkeyPatch
):
    """A process that may open few files keeps some for those whom it serves."""
    monkeypatch.setattr(http_server, "most_connections", lambda: 10)
    with contextlib.ExitStack() as held:
        for _ in range(60):
            held.enter_context(socket.create_connection(place, PATIENCE))
    served = b""
    while not served:  # It may not have seen yet that the others are gone.
        with socket.create_connection(place, PATIENCE) as connection, contextlib.suppress(ConnectionError):
            connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            served = everything(connection)
    assert b"200 OK" in served


def test_at_most_half_of_the_files_that_may_be_open_are_connections(monkeypatch: pytest.MonkeyPatch):
    resource = pytest.importorskip("resource")
    for files, connections in ((60, 30), (1_000_000, http_server.MOST_CONNECTIONS), (2, 4)):
        monkeypatch.setattr(resource, "getrlimit", lambda _, files=files: (files, files))
        assert http_server.most_connections() == connections
