"""Real `coset mcp` processes for tests, and what they start."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from api.server_processes import COMMAND, clean_environment, serving

ENDLESS = "SELECT count(*) FROM range(100000000000) a WHERE a.range % 7 = 3"


def arguments(folder: Path, *more: str) -> list[str]:
    return [*COMMAND, "mcp", "-e", str(folder), *more]


@contextmanager
def http_server(folder: Path, *more: str, **variables: str) -> Iterator[tuple[str, psutil.Process]]:
    """A server on a free port: its address and its process."""
    with serving("mcp", "-e", str(folder), "--http", "--port", "0", *more, **variables) as server:
        yield server


def workers_of(server: psutil.Process) -> set[int]:
    """The processes in which a server runs SQL. A zombie counts as ended, of the server too."""
    found = set()
    with suppress(psutil.NoSuchProcess):
        for child in server.children():
            with suppress(psutil.NoSuchProcess):
                if any("coset.session.worker" in part for part in child.cmdline()):
                    found.add(child.pid)
    return found


KILLED_CLIENT = """
import asyncio, sys
from mcp import Client, StdioServerParameters

async def main():
    server = eval(sys.argv[1])
    async with Client(server if isinstance(server, str) else StdioServerParameters(**server)) as client:
        async def told(progress, total, message):
            print("running", flush=True)
        await client.call_tool("sql", {"query": sys.argv[2]}, progress_callback=told)

asyncio.run(main())
"""


@contextmanager
def client_process(server: object) -> Iterator[subprocess.Popen[str]]:
    """A client of its own process, in the middle of a statement that never ends."""
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED_CLIENT, repr(server), ENDLESS],
        stdout=subprocess.PIPE, text=True, env=clean_environment(),
    )  # fmt: skip
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "running\n"
        yield process
    finally:
        process.kill()
        process.wait()
