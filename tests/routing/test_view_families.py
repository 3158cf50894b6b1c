"""Families of tables: SQL over one member, several and many, and names of a question that lead to members."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import duckdb
import pytest

from coset.environment.configuration import load_environment
from coset.evidence.comprehend import comprehend
from coset.evidence.state import EvidenceState
from coset.evidence.work import here
from coset.routing.anchors import AnchorIndex, build_value_index, look_up
from coset.routing.families import union_of, union_query
from coset.routing.making import _members
from coset.routing.objects_of_state import StateObjects
from coset.routing.table_details import family_line, naming_column
from coset.session.query_session import QuerySession

FAMILY = "trade/main/{}"
MEMBERS = [
    "AMNX",
    "BLVQ",
    "CARZ",
    "DORM",
    "EWJX",
    "FINZ",
    "GLDQ",
    "HOMZ",
    "IVVQ",
    "JETS",
    "KARS",
    "LITZ",
    "MOOZ",
    "NERD",
    "OILK",
    "PAVE",
    "QTUM",
    "ROBT",
    "SKYY",
    "TANZ",
    "UFOX",
    "VNQI",
]
SAYS = "{name} is a fund that offers its investors broad exposure to companies which make goods of the kind {kind}."


@pytest.fixture(scope="module")
def market(tmp_path_factory: pytest.TempPathFactory):
    folder = tmp_path_factory.mktemp("market")
    with duckdb.connect(str(folder / "trade.duckdb")) as connection:
        for number, member in enumerate(MEMBERS):
            connection.execute(
                f"CREATE TABLE \"{member}\" AS SELECT DATE '2020-01-01' + n::INTEGER AS day, {number} + n * 0.5 AS close, "
                "n * 100 AS volume FROM range(40) t(n)"
            )
    with sqlite3.connect(folder / "info.db") as connection:
        connection.execute("CREATE TABLE listed (symbol TEXT, issuer TEXT, about TEXT)")
        connection.executemany(
            "INSERT INTO listed VALUES (?, ?, ?)",
            [
                (member, f"{member.title()} Holdings", SAYS.format(name=f"Zephyr {member.title()}", kind=kind))
                for member, kind in zip(MEMBERS, ["Kayaks", "Violins"] + ["Bricks"] * 20, strict=True)
            ],
        )
    (folder / "coset.yaml").write_text(
        "sources:\n  info:\n    location: info.db\n  trade:\n    location: trade.duckdb\n"
    )
    environment = load_environment(str(folder))
    comprehend(environment, spread=here)
    with QuerySession(environment) as session:
        with EvidenceState.open(environment.state_folder) as state:
            build_value_index(state, session)
            index = AnchorIndex.load(state)
        yield StateObjects(Path(environment.state_folder)), index, session


def test_several_members_are_one_relation_that_runs(market):
    objects, _, session = market
    table = objects.tables[FAMILY]
    sql = union_of(table, table.family, ["AMNX", "KARS"], "symbol")
    rows = session.sql(f"SELECT symbol, count(*) FROM ({sql}) GROUP BY ALL ORDER BY ALL").rows()
    assert [tuple(row) for row in rows] == [("AMNX", 40), ("KARS", 40)]


def test_the_text_of_a_relation_over_many_members_is_written_by_a_query(market):
    objects, _, session = market
    table = objects.tables[FAMILY]
    query = union_query(table, table.family, naming_column(objects, FAMILY)).replace("...", "symbol < 'E'")
    [[written]] = session.sql(query).rows()
    [[rows, members]] = session.sql(f"SELECT count(*), count(DISTINCT symbol) FROM ({written})").rows()
    assert (rows, members) == (160, 4)


def test_the_line_of_a_family_says_how_to_name_one_several_and_many(market):
    objects, _, _ = market
    line = family_line(objects, objects.tables[FAMILY], ["KARS"])
    assert "one for each value of info.listed.symbol" in line and "the question leads to KARS" in line
    assert "one: FROM trade.KARS" in line and "UNION ALL BY NAME" in line and "string_agg" in line


@pytest.mark.parametrize(
    ("question", "member"),
    [("average close of Carz Holdings", "CARZ"), ("volume of the fund for Violins", "BLVQ"), ("close of JETS", "JETS")],
)
def test_a_name_leads_to_the_member_whose_row_has_it(market, question, member):
    objects, index, session = market
    found = look_up(question, index, session)
    assert _members(found.anchors, objects) == {FAMILY: [member]}


def test_a_name_that_very_many_rows_have_leads_to_no_member_but_says_how_to_find_them(market):
    objects, index, session = market
    found = look_up("volume of the funds for Bricks", index, session)
    assert _members(found.anchors, objects) == {}
    [said] = [anchor for anchor in found.anchors if anchor.reference == "info/listed.about"]
    assert "20 of 22 texts say it: ILIKE '%bricks%'" in said.note


def test_texts_that_were_not_read_for_a_name_are_told(market):
    _, index, session = market
    assert look_up("funds for Violins", index).unread == ("info/listed.about",)
    assert look_up("funds for Violins", index, session).unread == ()
