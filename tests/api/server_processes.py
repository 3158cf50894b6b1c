"""Real `coset` processes that serve a port, and waiting for what they do."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psutil

COMMAND = ["-c", "from coset.surfaces.command_line import main; main()"]
AT_MOST = 60.0


def clean_environment(**more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("COSET")}
    return {**kept, **more}


@contextmanager
def serving(*arguments: str, **variables: str) -> Iterator[tuple[str, psutil.Process]]:
    """A command that serves until it is ended: what it says it is serving on, and its process."""
    process = subprocess.Popen(
        [sys.executable, *COMMAND, *arguments],
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


def until(condition: Callable[[], bool]) -> None:
    """Wait for what must happen; a slow machine may take its time."""
    ended = time.monotonic() + AT_MOST
    while not condition():
        assert time.monotonic() < ended, "it never happened"
        time.sleep(0.02)
