"""`coset mcp --http`: several clients at once, a killed one, rubbish, foreign pages, and the token."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import anyio
import httpx2
import psutil
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from api.mcp_processes import ENDLESS, arguments, client_process, http_server, workers_of
from api.server_processes import AT_MOST, clean_environment, until

TOKEN = "a-token-of-some-length"
HTTP = httpx2.Client(timeout=AT_MOST)
Server = tuple[str, psutil.Process]


@pytest.fixture(scope="module")
def server(shop: Path) -> Iterator[Server]:
    with http_server(shop) as server:
        yield server


async def count(address: str) -> int:
    async with Client(address) as client:
        result = await client.call_tool("sql", {"query": "SELECT count(*) AS n FROM crm.customers"})
        return int(result.structured_content["rows"][0][0])


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_client_of_either_generation_is_served(mode: str, server: Server):
    async def run() -> None:
        async with Client(server[0], mode=mode) as client:
            assert {"view", "sql"} <= {tool.name for tool in (await client.list_tools()).tools}
            assert (await client.call_tool("calc", {"expression": "6 * 7"})).structured_content == {"value": "42"}
            assert (await client.read_resource("coset://source/crm")).contents[0].text.startswith("SOURCE crm")

    asyncio.run(run())


def test_several_clients_work_at_once_and_a_slow_one_holds_up_none(server: Server):
    async def slow(told: asyncio.Event) -> None:
        async def heard(progress: float, total: float | None, message: str | None) -> None:
            told.set()

        async with Client(server[0]) as client:
            await client.call_tool("sql", {"query": ENDLESS}, progress_callback=heard)

    async def one(number: int) -> list[object]:
        async with Client(server[0], mode="auto" if number % 2 else "legacy") as client:
            sql = await client.call_tool("sql", {"query": f"SELECT {number} AS n FROM crm.customers LIMIT 1"})
            calc = await client.call_tool("calc", {"expression": f"{number} * 2"})
            assert not sql.is_error and not calc.is_error, (sql.content, calc.content)
            return [sql.structured_content["rows"][0][0], calc.structured_content["value"]]

    async def run() -> None:
        told = asyncio.Event()
        hindrance = asyncio.create_task(slow(told))
        await told.wait()
        found = await asyncio.gather(*(one(number) for number in range(8)))
        assert found == [[number, str(number * 2)] for number in range(8)]
        assert not hindrance.done()
        hindrance.cancel()
        with pytest.raises(asyncio.CancelledError):
            await hindrance

    asyncio.run(run())


def test_a_statement_ends_when_its_client_calls_it_off(server: Server):
    address, process = server
    running: set[int] = set()

    async def run() -> None:
        async with Client(address) as client:
            with anyio.CancelScope() as scope:

                async def heard(progress: float, total: float | None, message: str | None) -> None:
                    running.update(workers_of(process))
                    scope.cancel()

                await client.call_tool("sql", {"query": ENDLESS}, progress_callback=heard)
            assert scope.cancelled_caught

    asyncio.run(run())
    until(lambda: bool(running - workers_of(process)))
    assert asyncio.run(count(address)) == 60


def test_a_killed_client_takes_its_statement_with_it_and_nobody_else(server: Server):
    address, process = server
    with client_process(address) as client:
        running = workers_of(process)
        client.kill()
        client.wait()
        until(lambda: bool(running - workers_of(process)))
    assert process.is_running() and asyncio.run(count(address)) == 60


def test_rubbish_is_refused_and_the_next_client_served(server: Server):
    address = server[0]
    accept = {"accept": "application/json, text/event-stream"}
    kinds = {**accept, "content-type": "application/json"}
    for content in (b"", b"\xff\xfe", b"{", b"[]", b"null", b"[" * 10_000, b'{"jsonrpc":"2.0","id":1,"method":7}'):
        answer = HTTP.post(address, content=content, headers=kinds)
        assert 400 <= answer.status_code < 500, (content[:10], answer.status_code)
        assert "Traceback" not in answer.text
    assert HTTP.post(address, content=b"{}", headers={**accept, "content-type": "text/plain"}).status_code == 400
    assert HTTP.post(address, content=b"x" * 2_000_000, headers=kinds).status_code == 413
    assert HTTP.request("PUT", address).status_code == 405
    assert HTTP.get(address.replace("/mcp", "/etc/passwd")).status_code == 404
    port = int(address.split(":")[2].split("/")[0])
    with socket.create_connection(("127.0.0.1", port)) as raw:
        raw.sendall(b"\x16\x03\x01 not http at all\r\n\r\n")
    assert asyncio.run(count(address)) == 60


def test_a_page_of_another_site_cannot_reach_it(server: Server):
    body = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
    kinds = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
    foreign = HTTP.post(server[0], content=body, headers={**kinds, "origin": "https://evil.example"})
    assert foreign.status_code == 403
    rebound = HTTP.post(server[0], content=body, headers={**kinds, "host": "evil.example:80"})
    assert rebound.status_code == 421


def test_beyond_loopback_every_request_needs_the_token(shop: Path):
    with http_server(shop, "--host", "0.0.0.0", COSET_MCP_TOKEN=TOKEN) as (address, _):
        address = address.replace("0.0.0.0", "127.0.0.1")
        for headers in (
            {},
            {"authorization": "Bearer wrong"},
            {"authorization": TOKEN},
            {"authorization": "Basic YTpi"},
        ):
            for method in ("GET", "POST", "DELETE"):
                refused = HTTP.request(method, address, headers=headers)
                assert refused.status_code == 401 and TOKEN not in refused.text

        async def run() -> None:
            async with (
                httpx2.AsyncClient(headers={"Authorization": f"Bearer {TOKEN}"}, timeout=AT_MOST) as http,
                Client(streamable_http_client(address, http_client=http)) as client,
            ):
                assert (await client.call_tool("calc", {"expression": "1 + 1"})).structured_content == {"value": "2"}

        asyncio.run(run())


def test_a_port_in_use_is_told(shop: Path, server: Server):
    port = server[0].split(":")[2].split("/")[0]
    answer = subprocess.run(
        [sys.executable, *arguments(shop, "--http", "--port", port)], capture_output=True, text=True, check=False,
        env=clean_environment(), stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert answer.returncode == 1 and f"cannot serve on 127.0.0.1:{port}" in answer.stderr
    assert answer.stderr.count("\n") == 1
