"""A real S3 server for the tests: moto's, as a process of its own. Skips, with the reason, where there is none."""

from __future__ import annotations

import importlib.util
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator

import pytest

KEY, SECRET, REGION = "coset-reader", "s3-s3cr3t-key", "eu-central-1"


def _command(port: int) -> list[str]:
    address = ["-H", "127.0.0.1", "-p", str(port)]
    if importlib.util.find_spec("moto") is not None and importlib.util.find_spec("flask") is not None:
        return [sys.executable, "-m", "moto.server", *address]
    if program := shutil.which("moto_server"):
        return [program, *address]
    pytest.skip("no S3 server: pip install 'moto[s3]' flask flask-cors")


@pytest.fixture(scope="session")
def s3_options() -> Iterator[dict[str, str]]:
    """Options of a source for a server that runs as long as the tests do."""
    pytest.importorskip("obstore")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    process = subprocess.Popen(_command(port), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    endpoint = f"http://127.0.0.1:{port}"
    try:
        deadline = time.monotonic() + 60
        while True:
            try:
                urllib.request.urlopen(endpoint, timeout=1).close()
                break
            except OSError:
                if process.poll() is not None or time.monotonic() > deadline:
                    pytest.skip("moto's server does not start")
                time.sleep(0.1)
        yield {"access_key_id": KEY, "secret_access_key": SECRET, "region": REGION, "endpoint": endpoint}
    finally:
        process.terminate()
        process.wait(20)


@pytest.fixture
def bucket(s3_options: dict[str, str], request: pytest.FixtureRequest) -> str:
    """An empty bucket of the test's own."""
    name = request.node.originalname.replace("_", "-")[:60].strip("-")
    asked = urllib.request.Request(f"{s3_options['endpoint']}/{name}", method="PUT")
    urllib.request.urlopen(asked, timeout=10).close()
    return name


def put(options: dict[str, str], bucket: str, key: str, content: bytes) -> None:
    import obstore
    from obstore.store import from_url

    store = from_url(f"s3://{bucket}", client_options={"allow_http": True}, **options)
    obstore.put(store, key, content)
