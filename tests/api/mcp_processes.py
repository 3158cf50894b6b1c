"""Real `coset mcp` processes for tests, and what they start."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

COMMAND = ["-c", "from coset.surfaces.command_line import main; main()", "mcp"]
ENDLESS = "SELECT count(*) FROM range(100000000000) a WHERE a.range % 7 = 3"
AT_MOST = 60.0


def arguments(folder: Path, *more: str) -> list[str]:
    return [*COMMAND, "-e", str(folder), *more]


def clean_environment(**more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("COSET")}
    return {**kept, **more}


@contextmanager
def http_server(folder: Path, *more: str, **variables: str) -> Iterator[tuple[str, psutil.Process]]:
    """A server on a free port: its address and its process."""
    process = subprocess.Popen(
        [sys.executable, *arguments(folder, "--http", "--port", "0", *more)],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        env=clean_environment(**variables),
    )  # fmt: skip
    try:
        assert process.stderr is not None
        line = process.stderr.readline()
        assert line.startswith("serving on "), line
        yield line.removeprefix("serving on ").strip(), psutil.Process(process.pid)
    finally:
        process.terminate()
        process.wait()


def workers_of(server: psutil.Process) -> set[int]:
    """The processes in which a server runs SQL."""
    try:
        return {
            child.pid for child in server.children() if any("coset.session.worker" in part for part in child.cmdline())
        }
    except psutil.NoSuchProcess:
        return set()


def until(condition: Callable[[], bool]) -> None:
    """Wait for what must happen; a slow machine may take its time."""
    ended = time.monotonic() + AT_MOST
    while not condition():
        assert time.monotonic() < ended, "it never happened"
        time.sleep(0.02)


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
