"""Names and values survive every engine that they are written for."""

from __future__ import annotations

import datetime
import sqlite3
from decimal import Decimal

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coset.sql_text import identifier, literal, qualified
from coset.state import EvidenceState
from coset.state.listings import quality_of
from coset.state.queries import execute

texts = st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), min_size=1, max_size=12)


@given(texts, texts)
def test_any_name_and_text_come_back_from_duckdb_and_sqlite(name: str, value: str) -> None:
    statement = f"SELECT {literal(value)} AS {identifier(name)}"
    with duckdb.connect() as connection:
        found = connection.execute(statement)
        assert [column[0] for column in found.description] == [name] and found.fetchall() == [(value,)]
    connection = sqlite3.connect(":memory:")
    assert connection.execute(statement).fetchall() == [(value,)]
    connection.close()


@pytest.mark.parametrize(
    "value",
    [None, True, 7, -(2**70), 0.1, -1e300, float("inf"), Decimal("12.50"), datetime.date(2024, 2, 29),
     datetime.datetime(2024, 2, 29, 23, 59, 58, 1)],
)  # fmt: skip
def test_values_come_back_as_they_are(value: object) -> None:
    with duckdb.connect() as connection:
        assert connection.execute(f"SELECT {literal(value)} = $1 OR $1 IS NULL", [value]).fetchall() == [(True,)]


def test_mysql_has_its_own_quotes() -> None:
    assert identifier("a`b", "mysql") == "`a``b`" and literal("x\\'", "mysql") == "'x\\\\'''"
    assert qualified(("s", None, 'a"b')) == '"s"."a""b"'


def test_a_source_whose_name_holds_an_underscore_is_not_taken_for_another(tmp_path) -> None:
    with EvidenceState.open(tmp_path) as state:
        execute(state, "INSERT INTO sources (source) VALUES ('a_b'), ('axb')")
        execute(
            state,
            "INSERT INTO diagnostics (column_reference, id, kind) "
            "VALUES ('a_b/t.c', '1', 'padded'), ('axb/t.c', '2', 'padded')",
        )
        assert [row["reference"] for row in quality_of(state, "a_b")] == ["a_b/t.c"]
