"""The kit that sources of others must pass, run on coset's own: what it asks for is what they keep to."""

from __future__ import annotations

import datetime
import json
from pathlib import Path

import duckdb
import pytest

from coset.environment.source import SourceSettings
from coset.environment.sources import KINDS, open_source
from coset.testing import Report, check_source
from environment.any_sql.shops import CUSTOMERS, ORDERS, opened, statements

DATABASES = ("sqlite", "duckdb", "postgresql", "mysql")
COLUMNS = ("id", "code", "full name", "balance", "born", "seen", "score")


@pytest.mark.parametrize("engine", DATABASES)
def test_a_database_passes_by_its_own_source(shops, engine):
    shop = shops(engine)
    report = check_source(
        lambda: opened(shop.native, shop.kind),
        faults={"a database that is not there": lambda: opened(shop.native + "_missing", shop.kind)},
        secrets=[shop.secret],
        probes=1,
    )
    assert (report.tables, report.rows) == (2, 306)
    wanted = {"compare:number", "compare:text", "group:text", "aggregate:sum", "aggregate:count", "order", "limit"}
    assert wanted <= report.pushed and report.scans > 100 and report.limits == 1


def test_mongodb_passes(mongodb_url):
    pymongo = pytest.importorskip("pymongo")
    documents = [dict(zip(COLUMNS, row, strict=True)) for row in CUSTOMERS]
    for each in documents:
        each["seen"] = each["seen"] and datetime.datetime.fromisoformat(each["seen"])
    with pymongo.MongoClient(mongodb_url) as client:
        client["kit"]["customers"].insert_many([{"_id": each.pop("id"), **each} for each in documents])
        client["kit"]["orders"].insert_many(
            [{"_id": number, "customer": customer, "quantity": quantity} for number, customer, _, quantity in ORDERS]
        )
        try:
            report = check_source(
                lambda: opened(mongodb_url + "kit", "mongodb"),
                faults={"no server": lambda: opened("mongodb://127.0.0.1:9/kit", "mongodb", connect_seconds=0.5)},
                probes=1,
            )
        finally:
            client.drop_database("kit")
    assert (report.tables, report.rows, report.limits) == (2, 306, 1)
    assert {"compare:number", "compare:text", "aggregate:count", "group:text", "order", "limit"} <= report.pushed


def test_a_dump_of_postgresql_passes(tmp_path):
    dump = tmp_path / "dump.sql"
    dump.write_text(";\n".join(statements("postgresql")) + ";\n")
    report = check_source(
        lambda: opened(str(dump), "postgresql_dump"),
        faults={"no file": lambda: opened(str(tmp_path / "missing.sql"), "postgresql_dump")},
    )
    assert (report.tables, report.rows, report.limits) == (2, 306, 1)


def test_a_dump_of_mongodb_passes(tmp_path):
    bson = pytest.importorskip("bson")
    folder = tmp_path / "shop"
    folder.mkdir()
    documents = [dict(zip(("_id", *COLUMNS[1:]), row, strict=True)) for row in CUSTOMERS]
    (folder / "customers.bson").write_bytes(b"".join(map(bson.encode, documents)))
    report = check_source(
        lambda: opened(str(folder), "mongodump"),
        faults={"no folder": lambda: opened(str(tmp_path / "missing"), "mongodump")},
    )
    assert (report.tables, report.rows, report.limits) == (1, 6, 1)


@pytest.mark.parametrize("suffix", ["csv", "parquet", "json"])
def test_a_folder_of_files_passes(tmp_path, suffix):
    with duckdb.connect() as connection:
        for name, rows in (("customers", CUSTOMERS), ("orders", ORDERS)):
            connection.execute(f"CREATE TABLE {name} AS {_values(rows)}")
            connection.execute(f"COPY {name} TO '{tmp_path / name}.{suffix}'")
    report = _of_files(tmp_path)
    assert (report.tables, report.rows) == (2, 306)


def test_damaged_files_are_refused_by_name(tmp_path):
    (tmp_path / "good.json").write_text(json.dumps([{"id": 1, "text": "x" * 100}]))
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 and no more")
    source = _folder(tmp_path)
    assert [table.name for table in source.tables()] == ["good"]
    source.close()
    assert _of_files(tmp_path).rows == 1


def test_every_kind_of_source_is_run_through_the_kit_somewhere():
    """A kind that is added must be among those that some test holds to the kit."""
    here = Path(__file__).parents[1]
    tests = " ".join(path.read_text() for path in here.rglob("test_*.py") if "check_source(" in path.read_text())
    assert not [kind for kind in KINDS if f'"{kind}"' not in tests and f"'{kind}'" not in tests]


def _of_files(folder: Path) -> Report:
    return check_source(lambda: _folder(folder), faults={"no folder": lambda: _folder(folder / "missing")}, probes=1)


def _folder(path: Path):
    return open_source(SourceSettings("here", str(path), "files"))


def _values(rows) -> str:
    shown = ", ".join("(" + ", ".join(_literal(value) for value in row) + ")" for row in rows)
    return f"SELECT * FROM (VALUES {shown})"


def _literal(value: object) -> str:
    if value is None:
        return "NULL"
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else repr(value)
