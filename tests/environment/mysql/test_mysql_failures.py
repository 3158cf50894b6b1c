"""MySQL and MariaDB: what goes wrong, told in one plain sentence."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest

from coset.environment.source import Limits
from coset.environment.sources import open_source
from coset.environment.sources.mysql import connection as mysql_connection
from coset.environment.sources.mysql.connection import connect, parse_address
from coset.environment.sources.mysql.source import MySQL
from coset.errors import LimitReached, MissingDependency, SourceUnreachable, TableVanished, UserError
from engines.mysql import PASSWORD, MySQLServer, running_mysql_server
from environment.mysql.mysql_databases import Database, connections, many_rows, rows_of, settings, table_of, wait_until


def test_a_wrong_password_port_database_or_host_is_one_plain_sentence(mysql_server: MySQLServer) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        dead_port = unused.getsockname()[1]
        cases = {
            mysql_server.url(
                "coset", password="wr0ng-s3cret"
            ): "refused user 'tester'; check the user and the password",
            f"mysql://tester:wr0ng-s3cret@127.0.0.1:{dead_port}/coset": f"127.0.0.1:{dead_port}: Connection refused",
            mysql_server.url("nowhere"): "there is no database 'nowhere'",
            "mysql://tester:wr0ng-s3cret@no-such-host.invalid/coset": "cannot connect to no-such-host.invalid:3306",
            mysql_server.url("coset") + "?ssl=true": "no encrypted connection",
            mysql_server.url("coset") + "?unix_socket=/nowhere/socket": "cannot connect to /nowhere/socket",
        }
        for url, reason in cases.items():
            with closing(open_source(settings(url))) as source, pytest.raises(SourceUnreachable) as raised:
                source.tables()
            message = str(raised.value)
            assert reason in message, message
            assert message.startswith("source 'shop': ") and "\n" not in message and len(message) < 200
            assert "wr0ng-s3cret" not in message and PASSWORD not in message
            assert raised.value.__cause__ is None


def test_a_missing_driver_is_named_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pymysql", None)
    with pytest.raises(MissingDependency, match=r"pip install 'coset\[mysql\]'"):
        MySQL(settings("mysql://u:p@127.0.0.1/x")).tables()


def test_a_host_that_accepts_and_says_nothing_is_given_up(mysql_server: MySQLServer) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"mysql://u:p@127.0.0.1:{silent.getsockname()[1]}/x"
        with (
            closing(open_source(settings(url, connect_seconds=0.3))) as source,
            pytest.raises(SourceUnreachable, match=r"within 0\.3 seconds"),
        ):
            source.tables()


def test_what_is_no_mysql_server_is_said_to_be_none(mysql_server: MySQLServer) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:

        def greet() -> None:
            connection, _ = other.accept()
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n" * 9)
            connection.close()

        threading.Thread(target=greet, daemon=True).start()
        url = f"mysql://u:p@127.0.0.1:{other.getsockname()[1]}/x"
        with (
            closing(open_source(settings(url))) as source,
            pytest.raises(SourceUnreachable, match="is not a MySQL or MariaDB server"),
        ):
            source.tables()


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("mysql://user:s3cret/pw@host:1/db", "host or port is not valid"),
        ("postgresql://user:s3cret@host/db", "does not start with mysql://"),
        ("mysql://user:s3cret@host/db?sslmode=x", "unknown URL option 'sslmode'"),
    ],
)
def test_a_url_that_cannot_be_right_is_a_mistake_without_the_password(url: str, reason: str) -> None:
    with pytest.raises(UserError, match=reason) as raised:
        open_source(settings(url))
    assert "s3cret" not in str(raised.value)


def test_a_url_is_taken_apart_with_its_percent_signs() -> None:
    address = parse_address(
        "mariadb://us%40er:p%2Fw%25%C3%A4@db.example/my%20shop?ssl_ca=/ca.pem&ssl_verify_identity=true", "shop"
    )
    assert (address.user, address.password, address.host, address.port) == ("us@er", "p/w%ä", "db.example", 3306)
    assert (address.database, address.ssl_ca, address.encrypt) == ("my shop", "/ca.pem", True)
    assert "p/w" not in repr(address)


def test_a_table_or_column_that_vanished_is_named(database: Database) -> None:
    database.run("CREATE TABLE t (a INT, b INT)")
    database.run("CREATE TABLE base (a INT)")
    database.run("CREATE VIEW v AS SELECT a FROM base")
    source = database.source()
    table, view = table_of(source, "t"), table_of(source, "v")
    database.run("ALTER TABLE t DROP b")
    with pytest.raises(TableVanished, match="'t' has other columns"):
        source.read(table)
    database.run("DROP TABLE t")
    database.run("DROP TABLE base")
    with pytest.raises(TableVanished, match="source 'shop': table 't' is gone"):
        source.read(table)
    with pytest.raises(TableVanished, match="table 't' is gone"):
        source.change_token(table)
    with pytest.raises(TableVanished, match="view 'v' refers to tables or columns that are gone"):
        source.read(view)
    # A view over nothing neither fails the listing nor hides the rest of it.
    database.run("CREATE TABLE still_here (a INT)")
    assert "still_here" in {table.name for table in source.tables()}


def test_missing_privileges_are_named(database: Database) -> None:
    database.run("CREATE TABLE allowed (a INT)")
    database.run("CREATE TABLE denied (a INT)")
    user = f"user_{database.name}"
    database.run(f"CREATE USER {user} IDENTIFIED BY 'x1y2'")
    url = database.server.url(database.name, user, "x1y2")
    with pytest.raises(SourceUnreachable, match=f"user '{user}' may not use database"):
        database.source(url).tables()
    database.run(f"GRANT SELECT ON `{database.name}`.allowed TO {user}")
    database.run(f"GRANT INSERT ON `{database.name}`.denied TO {user}")
    source = database.source(url)
    tables = {table.name: table for table in source.tables()}
    assert tables["allowed"].rows_exact and rows_of(source, tables["allowed"]) == []
    assert not tables["denied"].rows_exact
    with pytest.raises(SourceUnreachable, match="may not read table 'denied'; grant it SELECT"):
        source.read(tables["denied"])
    with pytest.raises(SourceUnreachable, match="may not read table 'denied'"):
        source.change_token(tables["denied"])
    assert source.change_token(tables["allowed"])


def test_a_statement_that_takes_too_long_is_ended_by_the_server(database: Database) -> None:
    many_rows(database, 3_000)
    database.run("CREATE VIEW slow AS SELECT COUNT(*) AS n FROM many a, many b, many c WHERE a.id + b.id + c.id = -1")
    source = database.source(query_seconds=0.2)
    with pytest.raises(LimitReached, match=r"table 'slow' took longer than query_seconds = 0\.2"):
        source.read(table_of(source, "slow")).read_all()
    wait_until(lambda: connections(database, "Query") == [])


def test_a_connection_that_was_killed_is_replaced_without_a_word(database: Database) -> None:
    many_rows(database, 10)
    source = database.source()
    table = table_of(source, "many")
    for ask in (source.tables, lambda: source.change_token(table), lambda: source.read(table).read_all()):
        for connection in connections(database):
            database.run(f"KILL {connection}")
        assert ask()


def test_encryption_and_a_server_that_goes_away_and_comes_back(tmp_path: Path) -> None:
    with running_mysql_server() as server:
        with server.as_administrator() as run:
            run("CREATE DATABASE d")
            run("CREATE TABLE d.t (a INT)")
            run("INSERT INTO d.t VALUES (1)")
        with closing(MySQL(settings(server.url("d")))) as source:
            table = table_of(source, "t")
            token = source.change_token(table)
            server.stop()
            with pytest.raises(SourceUnreachable, match="Connection refused"):
                source.tables()
            server.start(*certificates(tmp_path))
            assert rows_of(source, table) == [(1,)]
            assert source.tables()[0].rows == 1
            # UPDATE_TIME went with the server's memory, twice: only the sum over the rows tells of the change.
            assert token and source.change_token(table) == source.change_token(table)
            token = source.change_token(table)
            with server.as_administrator() as run:
                run("UPDATE d.t SET a = 2")
            server.stop()
            server.start(*certificates(tmp_path))
            assert source.change_token(table) != token
        if not certificates(tmp_path):
            return
        authority = tmp_path / "ca.pem"
        for options in ("", "?ssl=true", f"?ssl_ca={authority}", f"?ssl_ca={authority}&ssl_verify_identity=true"):
            with closing(connect(parse_address(server.url("d") + options, "shop"), Limits())) as connection:
                assert mysql_connection.fetch(connection, "SHOW STATUS LIKE 'Ssl_cipher'")[0][1]
        with closing(connect(parse_address(server.url("d") + "?ssl=false", "shop"), Limits())) as connection:
            assert not mysql_connection.fetch(connection, "SHOW STATUS LIKE 'Ssl_cipher'")[0][1]
        for options, reason in (
            ("?ssl_verify_identity=true", "no encrypted connection"),
            ("?ssl_ca=/nowhere/ca.pem", "certificate that the URL names: No such file"),
        ):
            source = MySQL(settings(server.url("d") + options))
            with pytest.raises(SourceUnreachable, match=reason):
                source.tables()


def certificates(folder: Path) -> list[str]:
    """Server options for encryption, with a certificate made here; none where openssl is not installed."""
    if shutil.which("openssl") is None:
        return []
    key, certificate = folder / "key.pem", folder / "ca.pem"
    if not certificate.exists():
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1",
             "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)],
            check=True, capture_output=True,
        )  # fmt: skip
    return [f"--ssl-cert={certificate}", f"--ssl-key={key}"]
