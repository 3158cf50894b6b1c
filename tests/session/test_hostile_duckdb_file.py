"""A DuckDB file brings code of its own: views, macros, generated columns. None of it reaches beyond the file."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from coset.environment.configuration import load_environment
from coset.errors import CosetError, NotAllowed
from coset.session.query_session import QuerySession
from coset.use_cases.comprehend import comprehend

SECRET = "topsecret-8d1f"


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    secret, written = tmp_path / "secret.txt", tmp_path / "written"
    secret.write_text(SECRET)
    (tmp_path / ".coset").mkdir(mode=0o700)
    (tmp_path / ".coset" / "secrets.env").touch(mode=0o600)
    (tmp_path / ".coset" / "secrets.env").write_text(f"P={SECRET}\n")
    (tmp_path / "other.csv").write_text("name,salary\n" + "".join(f"{SECRET},{n}\n" for n in range(40)))
    reads = [secret, tmp_path / ".coset" / "secrets.env", tmp_path / "other.csv"]
    with duckdb.connect(str(tmp_path / "evil.duckdb")) as connection:
        connection.execute("CREATE TABLE honest AS SELECT i AS id, 'n' || i AS name FROM range(30) t(i)")
        connection.execute("CREATE TABLE excluded AS SELECT 'hidden-77' AS word")
        for number, path in enumerate(reads):
            # It binds while access is off, as when it is listed, and reads the file as soon as access is on.
            connection.execute(
                f"CREATE VIEW leak_{number}_{'abc'[number]} AS SELECT i AS id, CASE WHEN "
                "current_setting('enable_external_access') OR len(current_setting('allowed_directories')) > 0 THEN "
                f"(SELECT content FROM read_text('{path}')) ELSE 'nothing' END AS content FROM range(5) t(i)"
            )
        for year in (2022, 2023, 2024):
            connection.execute(
                f"CREATE VIEW part_{year} AS SELECT CASE WHEN current_setting('enable_external_access') THEN "
                f"(SELECT content FROM read_text('{secret}')) ELSE 'nothing' END AS content, {year} AS year"
            )
        connection.execute(
            f"CREATE VIEW writes AS SELECT * FROM enable_logging(storage := 'file', storage_path := '{written}')"
        )
        connection.execute("CREATE MACRO abs(q) AS (SELECT word FROM excluded LIMIT 1)")
        connection.execute("CREATE MACRO upper(q) AS TABLE SELECT * FROM excluded")
        connection.execute(
            "CREATE VIEW endless AS SELECT count(*) AS n FROM range(1000000000000) a, range(1000000000) b"
        )
    (tmp_path / "coset.yaml").write_text(
        "sources:\n  evil: {location: evil.duckdb, exclude: [excluded], limits: {query_seconds: 3}}\n"
        "  other: {location: other.csv, schema_only: true}\n"
    )
    return tmp_path


def test_comprehending_reads_and_writes_no_file_of_the_host(environment: Path):
    comprehend(load_environment(environment))
    assert not (environment / "written").exists()
    left = [path for path in (environment / ".coset").rglob("*") if path.is_file() and path.name != "secrets.env"]
    assert left and not any(SECRET.encode() in path.read_bytes() for path in left)


STATEMENTS = [
    "SELECT * FROM evil.leak_0_a", "SELECT * FROM evil.leak_1_b", "SELECT * FROM evil.leak_2_c",
    "SELECT * FROM evil.part_all_tables", "SELECT count(*) FROM evil.writes",
]  # fmt: skip


@pytest.mark.parametrize("sql", STATEMENTS)
def test_a_view_reaches_nothing_beyond_its_file(sql: str, environment: Path):
    with QuerySession(load_environment(environment)) as session:
        try:
            shown = str(session.sql(sql).rows())
        except CosetError as error:
            shown = str(error)
        assert SECRET not in shown and not (environment / "written").exists()
        assert session.sql("SELECT count(*) FROM evil.honest").rows() == [(30,)]


MACROS = [
    "SELECT file_of_evil.main.abs('x')", "SELECT evil.main.abs('x')", "SELECT main.abs(1)", "SELECT system.main.abs(1)",
    "SELECT file_of_evil.abs(1) FROM evil.honest", "SELECT honest.abs(id) FROM evil.honest",
    "SELECT * FROM file_of_evil.main.upper('x')", "SELECT file_of_evil.main.sum(id) OVER () FROM evil.honest",
]  # fmt: skip


@pytest.mark.parametrize("sql", MACROS)
def test_a_macro_of_a_file_cannot_be_called(sql: str, environment: Path):
    with QuerySession(load_environment(environment)) as session:
        session.sql("SELECT count(*) FROM evil.honest")  # Attached now.
        with pytest.raises(CosetError) as raised:
            session.sql(sql)
        assert "hidden-77" not in str(raised.value)


BARE_WORDS = ["current_user", "session_user", "user", "current_schema", "current_catalog", "current_role"]


@pytest.mark.parametrize("word", BARE_WORDS)
def test_words_that_are_functions_are_checked_as_functions(word: str, environment: Path):
    with QuerySession(load_environment(environment)) as session:
        for sql in (f"SELECT {word}", f"SELECT id FROM evil.honest WHERE name = {word.upper()}"):
            with pytest.raises(NotAllowed, match=word):
                session.sql(sql)


def test_a_method_call_on_a_column_is_no_schema(environment: Path):
    with QuerySession(load_environment(environment)) as session:
        assert session.sql("SELECT name.upper() FROM evil.honest WHERE id = 1").rows() == [("N1",)]
        assert session.sql("SELECT h.name.upper() FROM evil.honest h WHERE id = 1").rows() == [("N1",)]


def test_words_for_the_time_and_columns_called_user_are_no_calls(environment: Path):
    with QuerySession(load_environment(environment)) as session:
        assert session.sql("SELECT current_timestamp IS NOT NULL, current_date > DATE '2020-01-01'").rows() == [
            (True, True)
        ]
        assert session.sql('WITH x AS (SELECT 7 AS "user") SELECT "user" FROM x').rows() == [(7,)]
