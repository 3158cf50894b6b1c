"""Code lists: which rows of which table decode a column, and which are outdated."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest

from coset.environment.corrections import CodeList as SaidCodeList
from coset.environment.source import Column
from coset.evidence.reading import JoinableTable
from coset.relations.code_lists.agreement import CodeColumn
from coset.relations.code_lists.find import find_code_lists
from coset.relations.code_lists.lists import ListPart, parts_of
from coset.relations.code_lists.stage import overruled
from coset.state.objects import CodeList, Reference


@pytest.fixture
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as made:
        yield made


def parts(connection: duckdb.DuckDBPyConnection, name: str, query: str) -> list[ListPart]:
    connection.execute(f"CREATE TABLE {name} AS {query}")
    columns = connection.execute(f"DESCRIBE {name}").fetchall()
    [(rows,)] = connection.execute(f"SELECT count(*) FROM {name}").fetchall()
    table = JoinableTable(
        Reference("dwh", None, name, ()),
        name,
        tuple(Column(each[0], each[1], each[0], each[1]) for each in columns),
        rows,
    )
    return parts_of(connection, table)


CODES = """
    SELECT * FROM (VALUES
        ('PRIO', '1', 'EN', 'critical', DATE '2000-01-01', DATE '2020-12-31'),
        ('PRIO', '2', 'EN', 'normal', DATE '2000-01-01', DATE '2020-12-31'),
        ('PRIO', '1', 'EN', 'low', DATE '2021-01-01', DATE '9999-12-31'),
        ('PRIO', '2', 'EN', 'normal', DATE '2021-01-01', DATE '9999-12-31'),
        ('PRIO', '4', 'EN', 'critical', DATE '2021-01-01', DATE '9999-12-31'),
        ('TKTSTS', '1', 'EN', 'open', DATE '2000-01-01', DATE '9999-12-31'),
        ('TKTSTS', '2', 'EN', 'closed', DATE '2000-01-01', DATE '9999-12-31'),
        ('TKTSTS', '4', 'EN', 'waiting for the customer', DATE '2000-01-01', DATE '9999-12-31')
    ) AS t(CD_DOM, CD_VAL, CD_LANG, CD_TXT, VLD_FROM, VLD_TO)
"""


def column(name: str, values: tuple[str, ...]) -> CodeColumn:
    siblings = ("tkt_id", "prio_cd", "sts_cd", "opened", "amount")
    return CodeColumn(f"desk/tickets.{name}", "tickets", name, siblings, "desk/tickets", dict.fromkeys(values, 5))


def test_domain_language_and_validity_choose_the_rows(connection: duckdb.DuckDBPyConnection):
    lists = parts(connection, "ref_cd", CODES)
    found = find_code_lists([column("prio_cd", ("1", "2", "4")), column("sts_cd", ("1", "2"))], lists)
    by_column = {each.column: each for each in found if each.status == "current"}
    priority = by_column["desk/tickets.prio_cd"]
    assert (priority.code_column, priority.label_column, priority.language) == ("CD_VAL", "CD_TXT", "EN")
    labels = dict(connection.execute(f"SELECT CD_VAL, CD_TXT FROM ref_cd WHERE {priority.condition}").fetchall())
    assert labels == {"1": "low", "2": "normal", "4": "critical"}
    assert "TKTSTS" in str(by_column["desk/tickets.sts_cd"].condition)


def test_the_list_that_is_kept_up_to_date_is_current_and_the_near_one_is_outdated(
    connection: duckdb.DuckDBPyConnection,
):
    near = parts(
        connection, "prio", "SELECT * FROM (VALUES (1, 'critical'), (2, 'normal'), (4, 'low')) t(prio_cd, txt)"
    )
    lists = [*parts(connection, "ref_cd", CODES), *near]
    found = find_code_lists([column("prio_cd", ("1", "2", "4"))], lists)
    assert [each.list for each in found if each.status == "current"] == ["dwh/ref_cd"]
    assert "dwh/prio" in [each.list for each in found if each.status == "outdated"]


def test_amounts_that_are_among_the_codes_have_no_list(connection: duckdb.DuckDBPyConnection):
    assert find_code_lists([column("amount", ("1", "2"))], parts(connection, "ref_cd", CODES)) == []


def test_a_table_of_facts_is_no_list(connection: duckdb.DuckDBPyConnection):
    facts = "SELECT i AS id, i % 7 AS qty, DATE '2024-01-01' + i::INTEGER AS day FROM range(50) t(i)"
    assert parts(connection, "facts", facts) == []


def test_what_people_say_of_a_list_wins():
    found = [CodeList("a/t.c", "a/list", "code", "text", None, None, "current", 0.9)]
    said = [SaidCodeList(column="a/t.c", list="b/list", code="cd", label="txt", condition="dom = 'X'")]
    assert [(each.list, each.status) for each in overruled(found, said)] == [
        ("b/list", "current"),
        ("a/list", "outdated"),
    ]
    assert overruled(found, [SaidCodeList(column="a/t.c", list="a/list", rejected=True)]) == []
