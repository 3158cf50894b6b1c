"""Nothing that goes wrong with one table, family, document or join ends a comprehension: it is named, the rest goes on."""

from __future__ import annotations

from pathlib import Path

import bson
import duckdb
import pytest

from coset.environment.configuration import load_environment
from coset.errors import CosetError
from coset.evidence.work import here
from coset.relations.code_lists import stage as code_lists
from coset.relations.copies.row_overlap import RowCounter
from coset.session.query_session import QuerySession
from coset.state import EvidenceState
from coset.use_cases import comprehend as comprehension
from coset.use_cases.comprehend import EVIDENCE, Settings, Summary, comprehend


def run(folder: Path) -> Summary:
    return comprehend(load_environment(folder), Settings(spread=here), stages=EVIDENCE)


def environment_of(folder: Path, **locations: str) -> Path:
    lines = [f"  {name}: {{location: {location}}}" for name, location in locations.items()]
    (folder / "coset.yaml").write_text("\n".join(["sources:", *lines]))
    return folder


def test_two_families_of_one_pattern_are_each_read_whole(tmp_path: Path):
    with duckdb.connect(str(tmp_path / "log.duckdb")) as connection:
        for year in (2018, 2019, 2020):
            connection.execute(f"CREATE TABLE events_{year} AS SELECT i AS id, i * 2 AS amount FROM range(10) t(i)")
        for year in (2021, 2022, 2023):
            connection.execute(
                f"CREATE TABLE events_{year} AS SELECT 'u' || i AS user_name, 'x' AS label, {year} AS at FROM range(5) t(i)"
            )
    environment_of(tmp_path, log="log.duckdb")
    assert run(tmp_path).problems == ()
    with EvidenceState.read(load_environment(tmp_path).state_folder) as state:
        families = state.rows("SELECT reference, len(members) AS members, rows FROM families ORDER BY reference")
    assert [(row["reference"], row["members"], row["rows"]) for row in families] == [
        ("log/main/events_{}_with_id", 3, 30),
        ("log/main/events_{}_with_user_name", 3, 15),
    ]
    with QuerySession(load_environment(tmp_path)) as session:
        assert session.sql("SELECT count(*), sum(amount) FROM log.events_all_tables_with_id").rows() == [(30, 270)]
        told = session.sql("SELECT count(*), count(DISTINCT table_name) FROM log.events_all_tables_with_user_name")
        assert told.rows() == [(15, 3)]
        with pytest.raises(CosetError, match="events_all_tables"):
            session.sql("SELECT count(*) FROM log.events_all_tables")


def test_a_family_whose_members_write_a_column_in_several_types_is_read(tmp_path: Path):
    with duckdb.connect(str(tmp_path / "log.duckdb")) as connection:
        connection.execute("CREATE TABLE reading_1 AS SELECT i AS id, i * 1.5::DOUBLE AS measured FROM range(10) t(i)")
        connection.execute("CREATE TABLE reading_2 AS SELECT i AS id, i::INTEGER AS measured FROM range(10) t(i)")
        connection.execute("CREATE TABLE tried_1 AS SELECT i AS id, i * 1.5 AS weight FROM range(10) t(i)")
        connection.execute("CREATE TABLE tried_2 AS SELECT i AS id, 'about ' || i AS weight FROM range(10) t(i)")
    environment_of(tmp_path, log="log.duckdb")
    assert run(tmp_path).problems == ()
    with EvidenceState.read(load_environment(tmp_path).state_folder) as state:
        rows = state.rows("SELECT reference, type FROM columns WHERE reference LIKE '%{}%' ORDER BY reference")
    types = {row["reference"].rsplit(".", 1)[-1]: row["type"] for row in rows}
    assert types == {"id": "BIGINT", "measured": "DOUBLE", "weight": "VARCHAR"}


def test_a_family_of_a_mongodump_is_read(tmp_path: Path):
    folder = tmp_path / "dump" / "shop"
    folder.mkdir(parents=True)
    for year in (2022, 2023, 2024):
        documents = [{"_id": n, "amount": n * 1.5, "day": f"{year}-01-01"} for n in range(20)]
        (folder / f"orders_{year}.bson").write_bytes(b"".join(bson.encode(each) for each in documents))
    environment_of(tmp_path, shop="dump/shop")
    assert run(tmp_path).problems == ()
    with EvidenceState.read(load_environment(tmp_path).state_folder) as state:
        assert [(row["name"], row["rows"]) for row in state.rows("SELECT name, rows FROM tables")] == [
            ("orders_{}", 60)
        ]


def small(tmp_path: Path) -> Path:
    (tmp_path / "orders.csv").write_text("id,customer\n" + "".join(f"{n},C{n % 20:03}\n" for n in range(200)))
    (tmp_path / "customers.csv").write_text("code,city\n" + "".join(f"C{n:03},Basel\n" for n in range(20)))
    (tmp_path / "parts.csv").write_text("part,weight\n" + "".join(f"P{n},{n}\n" for n in range(20)))
    return environment_of(tmp_path, shop=".")


def test_a_table_that_cannot_be_stored_is_named_and_the_others_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    folder = small(tmp_path)
    real = EvidenceState.store_tables

    def failing(self: EvidenceState, evidences: list) -> set[str]:
        if any(each.table.name == "parts" and not each.problem for each in evidences):
            raise duckdb.ConstraintException("duplicate key")
        return real(self, evidences)

    monkeypatch.setattr(EvidenceState, "store_tables", failing)
    summary = run(folder)
    assert [name for name, _ in summary.problems] == ["shop.parts"]
    with EvidenceState.read(load_environment(folder).state_folder) as state:
        known = {row["name"]: row["problem"] for row in state.rows("SELECT name, problem FROM tables")}
    assert known["orders"] is None and "duplicate key" in known["parts"]


def test_a_table_that_goes_away_while_relating_costs_only_its_own_relations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    folder = small(tmp_path)
    real = comprehension.relate

    def relate(memory, connection, tables, open_table, *others):
        for table in tables:
            if table.reference.table == "parts":
                (folder / "parts.csv").unlink()
                open_table(table)
        return real(memory, connection, tables, open_table, *others)

    monkeypatch.setattr(comprehension, "relate", relate)
    summary = run(folder)
    assert [name for name, _ in summary.problems] == ["shop/parts"] and summary.relations > 0


def test_a_table_that_cannot_be_compared_costs_only_its_own_copies_and_code_lists(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "orders.csv").write_text("id,customer\n" + "".join(f"{n},C{n % 20:03}\n" for n in range(200)))
    for name in ("orders_bak", "orders_old"):
        (tmp_path / f"{name}.csv").write_bytes((tmp_path / "orders.csv").read_bytes())
    folder = environment_of(tmp_path, shop=".")
    real_read, real_parts = RowCounter._read, code_lists.parts_of

    def read(self, table, name):
        if table.reference.table == "orders_old":
            raise duckdb.ConversionException("invalid date")
        return real_read(self, table, name)

    def parts_of(connection, table):
        if table.reference.table == "orders":
            raise duckdb.ConversionException("missing value")
        return real_parts(connection, table)

    with monkeypatch.context() as patched:
        patched.setattr(RowCounter, "_read", read)
        patched.setattr(code_lists, "parts_of", parts_of)
        summary = run(folder)
    assert summary.problems == (
        ("shop/orders_old", "ConversionException: invalid date"),
        ("shop/orders", "ConversionException: missing value"),
    )
    assert copies_of(folder) == {"shop/orders_bak": "shop/orders"}
    assert run(folder).problems == (), "what was passed over is tried again"
    assert copies_of(folder) == {"shop/orders_bak": "shop/orders", "shop/orders_old": "shop/orders"}


def copies_of(folder: Path) -> dict[str, str | None]:
    with EvidenceState.read(load_environment(folder).state_folder) as state:
        return {copy.table: copy.original for copy in state.copies()}


def test_a_document_that_cannot_be_read_is_named(tmp_path: Path):
    folder = small(tmp_path)
    (folder / "notes.docx").write_bytes(b"no Word document")
    summary = run(folder)
    assert summary.problems == (("shop/notes.docx", "is damaged"),)
    assert summary.relations > 0
