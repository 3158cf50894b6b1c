"""A real MariaDB (or MySQL) server for the tests, from what the machine has installed.

One server per pytest process, on a free port of the loopback address, with its data in a temporary folder; it is stopped
and the folder deleted at the end. Fixtures: `mysql_server`, `mysql_url` (an empty database) and `create_mysql_database`
(a function that makes one more and gives its URL). `running_mysql_server` starts a further one, for tests that stop it.
Everything is skipped, with the reason, where no server is installed.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import pytest

USER, PASSWORD = "tester", "pass/w@rd: 100%"


class MySQLServer:
    """A server of its own in `folder`."""

    def __init__(self, program: str, installer: str | None, folder: Path) -> None:
        self.program = program
        self.installer = installer
        self.folder = folder
        self.data = folder / "data"
        self.socket = folder / "socket"
        self.port = 0
        self.process: subprocess.Popen[bytes] | None = None
        self.always = ["--innodb-log-file-size=32M", "--skip-innodb-doublewrite"]
        if installer:  # MariaDB alone can be told not to wait for the disk at all
            self.always += ["--debug-no-sync", "--skip-sync-frm"]
        if os.geteuid() == 0:
            self.always.append("--user=root")

    def initialise(self) -> None:
        if self.installer:
            options = ["--auth-root-authentication-method=normal", "--skip-test-db"]
            command = [self.installer, "--no-defaults", f"--datadir={self.data}", *options, *self.always]
        else:
            command = [self.program, "--no-defaults", "--initialize-insecure", f"--datadir={self.data}", *self.always]
        done = subprocess.run(command, capture_output=True, check=False)
        if done.returncode:  # The installer itself was seen to crash, seldom, on a busy machine.
            shutil.rmtree(self.data, ignore_errors=True)
            done = subprocess.run(command, capture_output=True, check=False)
        if done.returncode:
            raise RuntimeError(done.stdout.decode()[-2000:] + done.stderr.decode()[-2000:])
        self.start()
        with self.as_administrator() as run:
            run(f"CREATE USER '{USER}'@'%' IDENTIFIED BY '{PASSWORD}'")
            run(f"GRANT ALL ON *.* TO '{USER}'@'%' WITH GRANT OPTION")

    def start(self, *options: str) -> None:
        """Start on the port used before, or on a free one, and wait until it answers."""
        self.port = self.port or _free_port()
        settings = [
            f"--datadir={self.data}",
            f"--socket={self.socket}",
            f"--pid-file={self.folder / 'pid'}",
            f"--port={self.port}",
            "--bind-address=127.0.0.1",
            "--skip-log-bin",
            "--innodb-buffer-pool-size=32M",
            "--innodb-flush-log-at-trx-commit=0",
            "--max-allowed-packet=64M",
        ]
        with (self.folder / "log").open("ab") as log:
            command = [self.program, "--no-defaults", *self.always, *settings, *options]
            self.process = subprocess.Popen(command, stdout=log, stderr=log)
        import pymysql

        deadline = time.monotonic() + 60
        while True:
            try:
                pymysql.connect(user="root", unix_socket=str(self.socket)).close()
                return
            except pymysql.err.OperationalError:
                if self.process.poll() is not None or time.monotonic() > deadline:
                    self.stop()
                    raise RuntimeError((self.folder / "log").read_text()[-2000:]) from None
                time.sleep(0.05)

    def stop(self) -> None:
        if self.process is None:
            return
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process = None

    @contextmanager
    def as_administrator(self) -> Iterator[Callable[[str], object]]:
        """A function that runs one statement as root and gives its rows."""
        import pymysql

        with pymysql.connect(user="root", unix_socket=str(self.socket), autocommit=True) as connection:

            def run(statement: str) -> object:
                with connection.cursor() as cursor:
                    cursor.execute(statement)
                    return cursor.fetchall()

            yield run

    def url(self, database: str = "", user: str = USER, password: str = PASSWORD) -> str:
        return f"mysql://{quote(user, safe='')}:{quote(password, safe='')}@127.0.0.1:{self.port}/{quote(database, safe='')}"

    def create_database(self, name: str) -> str:
        quoted = "`" + name.replace("`", "``") + "`"
        with self.as_administrator() as run:
            run(f"CREATE DATABASE {quoted} CHARACTER SET utf8mb4")
        return self.url(name)


@contextmanager
def running_mysql_server() -> Iterator[MySQLServer]:
    pytest.importorskip("pymysql", reason="the MySQL driver is not installed")
    program = (
        shutil.which("mariadbd") or shutil.which("mysqld") or shutil.which("mariadbd", path="/usr/sbin:/usr/libexec")
    )
    if program is None:
        pytest.skip("neither mariadbd nor mysqld is installed")
    installer = None
    version = subprocess.run([program, "--version"], capture_output=True, check=False).stdout.decode()
    if "MariaDB" in version:
        installer = shutil.which("mariadb-install-db")
        if installer is None:
            pytest.skip("mariadb-install-db is not installed")
    # A short path: that of a Unix socket may have 107 characters.
    folder = Path(tempfile.mkdtemp(prefix="coset-mysql-"))
    server = MySQLServer(program, installer, folder)
    try:
        server.initialise()
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def mysql_server() -> Iterator[MySQLServer]:
    with running_mysql_server() as server:
        yield server


@pytest.fixture(scope="session")
def create_mysql_database(mysql_server: MySQLServer) -> Callable[[str], str]:
    """Makes an empty database of that name and gives its URL."""
    return mysql_server.create_database


@pytest.fixture(scope="session")
def mysql_url(create_mysql_database: Callable[[str], str]) -> str:
    """An empty database."""
    return create_mysql_database("coset")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
