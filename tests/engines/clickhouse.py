"""A real ClickHouse for the tests: the engine of the package `chdb`, behind the HTTP that ClickHouse's clients speak.

The engine lives in a process of its own, since it may be loaded once in a process. It takes a statement with its
database, format and settings, and answers as a server does. `SET readonly` is kept here, not by the engine: only
statements that read are then handed on. Skips where chdb or
the client is missing.
"""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlencode, urlsplit
from urllib.request import Request, urlopen

import pytest

PASSWORD = "pass w/rd"
READING = re.compile(r"\s*(SELECT|WITH|SHOW|DESCRIBE|EXISTS|EXPLAIN|SET)\b", re.IGNORECASE)


@pytest.fixture(scope="session")
def clickhouse_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """`host:port` of a server that runs as long as the tests do."""
    for package in ("chdb", "clickhouse_connect"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"no ClickHouse: pip install {package.replace('_', '-')}")
    folder = tmp_path_factory.mktemp("clickhouse")
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, __file__, str(folder / "data")], stdout=subprocess.PIPE, stderr=log, text=True
        )
        try:
            assert process.stdout is not None
            address = process.stdout.readline().strip()
            if not address:
                pytest.skip(f"ClickHouse does not start: {(folder / 'log').read_text(errors='replace')[-300:]}")
            yield address
        finally:
            process.terminate()
            process.wait(timeout=20)


def run(address: str, statement: str, database: str = "default") -> str:
    """What the server says to a statement, as its administrator."""
    place = f"http://{address}/?{urlencode({'password': PASSWORD, 'database': database})}"
    with urlopen(Request(place, statement.encode())) as answer:
        return str(answer.read().decode())


def serve(folder: str) -> None:
    from chdb.session import Session

    session = Session(folder)
    confined: set[str] = set()
    one_at_a_time = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.answer("")

        def do_POST(self) -> None:
            self.answer(self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode())

        def answer(self, body: str) -> None:
            asked = {name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()}
            given = self.headers.get("X-ClickHouse-Key") or asked.get("password") or self.basic()
            if given != PASSWORD:
                self.send(403, b"Code: 516. DB::Exception: Authentication failed: password is incorrect")
                return
            try:
                with one_at_a_time:
                    content = self.ask(" ".join(filter(None, (asked.get("query", ""), body))), asked)
            except Exception as error:
                self.send(500, str(error).encode())
            else:
                self.send(200, content)

        def basic(self) -> str:
            import base64

            kind, _, rest = self.headers.get("Authorization", "").partition(" ")
            return base64.b64decode(rest).decode().partition(":")[2] if kind == "Basic" else ""

        def ask(self, statement: str, asked: dict[str, str]) -> bytes:
            found = re.search(r"\s+FORMAT\s+(\w+)\s*;?\s*$", statement, re.IGNORECASE)
            form = found[1] if found else asked.get("default_format", "TabSeparated")
            statement = statement[: found.start()] if found else statement
            if asked.get("database"):
                session.query(f"USE `{asked['database']}`")
            if re.fullmatch(r"\s*SET\s+readonly\s*=\s*[12]\s*", statement, re.IGNORECASE):
                confined.add(asked.get("session_id", ""))
                return b""
            if asked.get("session_id") in confined and not READING.match(statement):
                raise PermissionError("Code: 164. DB::Exception: Cannot execute query in readonly mode")
            return bytes(session.query(statement, form).bytes() or b"")

        def send(self, status: int, content: bytes) -> None:
            self.send_response(status)
            if status != 200:
                self.send_header("X-ClickHouse-Exception-Code", "1")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *arguments: object) -> None:
            print(format % arguments, file=sys.stderr)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(f"127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    serve(sys.argv[1])
