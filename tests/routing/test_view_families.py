"""Families of tables: one relation in SQL, and names of a question that lead to members."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import duckdb
import pytest

from coset.answering.checks import Proposal, run_checks
from coset.environment.configuration import load_environment
from coset.evidence.work import here
from coset.routing.anchors import AnchorIndex, build_value_index, look_up
from coset.routing.objects.objects_of_state import StateObjects
from coset.routing.views.builder import _members
from coset.routing.views.details import family_line, naming_column
from coset.session.query_session import QuerySession
from coset.state import EvidenceState
from coset.use_cases.comprehend import EVIDENCE, Settings, comprehend

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
    comprehend(environment, Settings(spread=here), stages=EVIDENCE)
    with QuerySession(environment) as session:
        with EvidenceState.open(environment.state_folder) as state:
            build_value_index(state, session)
            index = AnchorIndex.load(state)
        yield StateObjects(Path(environment.state_folder)), index, session


def test_what_a_view_calls_a_family_runs_over_all_members_and_joins_with_what_names_them(market):
    objects, _, session = market
    table, naming = objects.tables[FAMILY], naming_column(objects, FAMILY)
    sql = (
        f"SELECT {table.family.naming}, count(*) FROM {table.sql_name} JOIN {naming.table} "
        f"ON {table.family.naming} = {naming.expression} WHERE issuer < 'C' GROUP BY ALL ORDER BY ALL"
    )
    assert session.sql(sql).rows() == [("AMNX", 40), ("BLVQ", 40)]
    assert session.sql(f"SELECT count(*) FROM {table.sql_name}").rows() == [(40 * len(MEMBERS),)]


def test_the_line_of_a_family_says_which_column_tells_members_apart_and_what_names_them(market):
    objects, _, session = market
    line = family_line(objects, objects.tables[FAMILY], ["KARS"])
    assert "column table_name says which: join it with info.listed.symbol" in line
    assert "the question leads to table_name = 'KARS'" in line and line.endswith("one alone: trade.KARS")
    assert session.sql("SELECT count(*) FROM trade.KARS").rows() == [(40,)]


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


def test_what_stands_inside_longer_words_is_counted_apart_and_plain_words_only_by_themselves(market):
    _, index, session = market
    [said] = [each for each in look_up('texts with "ick"', index, session).anchors if each.match == "searched"]
    assert said.note == "20 of 22 texts say it, 0 as a word of its own: ILIKE '%ick%'"
    notes = {each.phrase: each.note for each in look_up("goods that compa make", index, session).anchors}
    assert "compa" not in notes and notes["goods"].startswith("22 of 22 texts say it:")


def test_texts_that_were_not_read_for_a_name_are_told(market):
    _, index, session = market
    assert look_up("funds for Violins", index).unread == ("info/listed.about",)
    assert look_up("funds for Violins", index, session).unread == ()


def test_checks_know_a_family_by_the_name_that_a_view_gives_it(market):
    objects, _, session = market
    sql = (
        "SELECT t.table_name, max(t.close) AS top FROM trade.all_tables t JOIN info.listed i ON i.symbol = t.table_name "
        "GROUP BY 1 ORDER BY top DESC LIMIT 1"
    )
    result = session.sql(sql)
    proposal = Proposal(value=[list(row) for row in result.rows()], sql=(sql,), result=result)
    with objects.reading() as state:
        found = {each.name: each for each in run_checks(proposal, session, state)}
    assert found["join loss"].outcome == "passed" and "0.0%" in found["join loss"].detail
    assert found["cleaning"].outcome == "passed", found["cleaning"]
