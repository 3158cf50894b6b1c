"""`coset mcp` over standard input and output: the real client, a killed one, and one that sends rubbish."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import anyio
import psutil
import pytest
from mcp import Client, StdioServerParameters

from api.mcp_processes import ENDLESS, arguments, client_process, workers_of
from api.server_processes import AT_MOST, clean_environment, until


def server_of(shop: Path) -> StdioServerParameters:
    return StdioServerParameters(command=sys.executable, args=arguments(shop), env=clean_environment())


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_client_of_either_generation_is_served(mode: str, shop: Path):
    async def run() -> None:
        async with Client(server_of(shop), mode=mode) as client:
            assert client.server_info is not None and client.server_info.name == "coset"
            assert "`view` first" in (client.instructions or "")
            assert {"view", "sql"} <= {tool.name for tool in (await client.list_tools()).tools}
            result = await client.call_tool("sql", {"query": "SELECT count(*) AS n FROM crm.customers"})
            assert result.structured_content["rows"] == [[60]]

    asyncio.run(run())


def test_a_long_call_tells_that_it_runs_and_ends_when_it_is_called_off(shop: Path):
    async def run() -> None:
        async with Client(server_of(shop)) as client:
            told: list[tuple[float, str | None]] = []
            [server] = [child for child in psutil.Process().children() if "mcp" in child.cmdline()]
            with anyio.CancelScope() as scope:

                async def heard(progress: float, total: float | None, message: str | None) -> None:
                    told.append((progress, message))
                    if len(told) == 2:
                        running.update(workers_of(server))
                        scope.cancel()

                running: set[int] = set()
                await client.call_tool("sql", {"query": ENDLESS}, progress_callback=heard)
            assert scope.cancelled_caught and told[0][0] < told[1][0]
            assert told[0][1] == "sql is still running"
            # The process of the statement is gone long before its time is up, and the server goes on.
            await anyio.to_thread.run_sync(until, lambda: bool(running - workers_of(server)))
            assert (await client.call_tool("sql", {"query": "SELECT 1 AS a"})).structured_content["rows"] == [[1]]

    asyncio.run(run())


def test_the_server_ends_with_a_client_that_was_killed(shop: Path):
    parameters = {"command": sys.executable, "args": arguments(shop)}
    with client_process(parameters) as client:
        server = next(
            child for child in psutil.Process(client.pid).children(recursive=True) if "mcp" in child.cmdline()
        )
        workers = [psutil.Process(number) for number in workers_of(server)]
        assert workers
        client.send_signal(signal.SIGKILL)
        client.wait()
        until(lambda: not any(process.is_running() and process.status() != "zombie" for process in [server, *workers]))


class RawClient:
    """Writes bytes, reads lines of JSON."""

    def __init__(self, shop: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, *arguments(shop)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=clean_environment(),
        )  # fmt: skip
        # A server that does not answer ends, and with it the wait for its line.
        self._patience = threading.Timer(2 * AT_MOST, self.process.kill)
        self._patience.daemon = True
        self._patience.start()

    def write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def answer_to(self, number: object) -> dict[str, Any]:
        assert self.process.stdout is not None
        while True:
            line = self.process.stdout.readline()
            assert line, "the server has gone"
            message = json.loads(line)  # Whatever it writes is JSON, one message a line.
            if message.get("id") == number:
                return dict(message)


RUBBISH = [
    b"\xff\xfe\x00rubbish\n",
    b"\n",
    b"[]\n",
    b"{}\n",
    b"null\n",
    b'{"jsonrpc": "2.0"\n',
    b'{"jsonrpc": "1.0", "id": 1, "method": "tools/list"}\n',
    b"[" * 5_000 + b"]" * 5_000 + b"\n",
    b'{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": {"a": 1}}}\n',
    b'{"jsonrpc": "2.0", "id": 77, "result": {"nobody": "asked"}}\n',
    b'{"jsonrpc": "2.0", "id": 78, "method": "tools/call", "params": []}\n',
    b"x" * 1_000_000 + b"\n",
]


def test_a_client_that_sends_rubbish_is_still_answered(shop: Path):
    client = RawClient(shop)
    try:
        for rubbish in RUBBISH:
            client.write(rubbish)
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "raw", "version": "0"}}
        client.write(_request(1, "initialize", hello))
        assert client.answer_to(1)["result"]["serverInfo"]["name"] == "coset"
        client.write(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
        for rubbish in RUBBISH:
            client.write(rubbish)
        for number, (method, parameters) in enumerate(
            [("nonesuch", {}), ("tools/call", {"name": 5}), ("resources/read", {"uri": 7})], start=2
        ):
            client.write(_request(number, method, parameters))
            assert "error" in client.answer_to(number)
        client.write(_request(9, "tools/call", {"name": "calc", "arguments": {"expression": "6 * 7"}}))
        assert client.answer_to(9)["result"]["structuredContent"] == {"value": "42"}
    finally:
        assert client.process.stdin is not None
        client.process.stdin.close()
        assert client.process.wait() == 0, client.process.stderr and client.process.stderr.read()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_server_though_it_waits_for_a_line(number: signal.Signals, shop: Path):
    client = RawClient(shop)
    client.write(
        _request(
            1,
            "initialize",
            {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "raw", "version": "0"}},
        )
    )
    client.answer_to(1)
    client.process.send_signal(number)
    assert client.process.wait() == 128 + number
    assert client.process.stderr is not None and b"Traceback" not in client.process.stderr.read()


def _request(number: int, method: str, parameters: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": parameters}).encode() + b"\n"
