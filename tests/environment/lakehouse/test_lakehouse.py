"""Delta and Iceberg tables, on disk and on a real S3 server: rows of the current version, change, errors."""

from __future__ import annotations

import datetime
import decimal
import gzip
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from coset.environment.locations import recognise
from coset.errors import CosetError, SourceUnreachable
from coset.testing import check_source
from environment.any_sql.shops import opened

ROWS = pa.table({
    "id": pa.array(range(1, 41), pa.int64()),
    "Name": pa.array([None if n % 9 == 0 else f"n{n % 5}" + "x" * (n * 2) for n in range(40)]),
    "amount": pa.array([decimal.Decimal(n) / 4 for n in range(40)], pa.decimal128(10, 2)),
    "day": pa.array([datetime.date(2024, 1, 1) + datetime.timedelta(days=n) for n in range(40)]),
    "good": pa.array([n % 3 == 0 for n in range(40)]),
})  # fmt: skip


def delta(place: str, **options):
    return pytest.importorskip("deltalake").write_deltalake(place, ROWS, **options)


def test_delta_tables_pass_the_kit(tmp_path):
    delta(str(tmp_path / "lake" / "orders"), partition_by=["good"], description="what was bought")
    delta(str(tmp_path / "lake" / "returns"))
    (tmp_path / "empty").mkdir()
    (tmp_path / "broken" / "_delta_log").mkdir(parents=True)
    (tmp_path / "broken" / "_delta_log" / f"{0:020}.json").write_text("{no json")
    assert recognise("lake", tmp_path).kind == "delta"
    report = check_source(
        lambda: opened(str(tmp_path / "lake"), "delta"),
        faults={
            "not a Delta table": lambda: opened(str(tmp_path / "empty"), "delta"),
            "broken metadata": lambda: opened(str(tmp_path / "broken"), "delta"),
        },
    )
    assert report.tables == 2 and report.rows == 80 and report.limits == 1 and "aggregate:sum" in report.pushed


def test_deleted_rows_of_a_delta_table_are_not_read_and_a_version_is_a_change(tmp_path):
    delta(str(tmp_path / "orders"))
    source = opened(str(tmp_path / "orders"), "delta")
    (table,) = source.tables()
    before = source.change_token(table)
    pytest.importorskip("deltalake").DeltaTable(str(tmp_path / "orders")).delete("id > 10")
    assert source.change_token(table) != before
    assert source.read(table).read_all().num_rows == 10


def test_a_delta_table_in_a_bucket(s3_options, bucket):
    delta(
        f"s3://{bucket}/orders",
        storage_options={**s3_options, "allow_http": "true", "aws_s3_allow_unsafe_rename": "true"},
    )
    report = check_source(
        lambda: opened(f"delta+s3://{bucket}/orders", "delta", s3_options),
        faults={"not a Delta table": lambda: opened(f"delta+s3://{bucket}/nothing", "delta", s3_options)},
    )
    assert report.rows == 40


@pytest.fixture
def catalog(tmp_path):
    pytest.importorskip("pyiceberg")
    from pyiceberg.catalog.sql import SqlCatalog

    made = SqlCatalog("company", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=f"file://{tmp_path}/warehouse")
    made.create_namespace("sales")
    table = made.create_table("sales.orders", ROWS.schema)
    table.append(ROWS)
    return made


def test_an_iceberg_catalog_passes_the_kit(catalog, tmp_path):
    (tmp_path / "none").mkdir()
    broken = tmp_path / "broken" / "metadata"
    broken.mkdir(parents=True)
    (broken / "v1.metadata.json").write_text("{}")
    report = check_source(
        lambda: opened(str(tmp_path / "catalog.db"), "iceberg"),
        faults={
            "no Iceberg table": lambda: opened(str(tmp_path / "none"), "iceberg"),
            "broken metadata": lambda: opened(str(tmp_path / "broken"), "iceberg"),
        },
    )
    assert report.tables == 1 and report.rows == 40 and "compare:text" in report.pushed


def test_an_iceberg_table_by_its_folder_with_deletes_and_change(catalog, tmp_path):
    table = catalog.load_table("sales.orders")
    folder = table.location().removeprefix("file://")
    assert recognise(folder, tmp_path).kind == "iceberg"
    source = opened(folder, "iceberg")
    (listed,) = source.tables()
    before = source.change_token(listed)
    table.delete("id > 10")
    assert source.change_token(listed) != before
    assert source.read(listed).read_all().num_rows == 10


def test_what_is_missing_is_named(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "deltalake", None)
    with pytest.raises(CosetError, match=r"pip install 'coset\[delta\]'"):
        opened("s3://bucket/x", "delta").tables()


def test_a_bucket_that_is_not_there_is_one_sentence(s3_options):
    pytest.importorskip("deltalake")
    with pytest.raises(SourceUnreachable) as caught:
        opened("delta+s3://no-such-bucket/x", "delta", s3_options).tables()
    assert "\n" not in str(caught.value)


def hidden(tmp_path):
    """Rows of somebody else, beside the folder of the source."""
    (tmp_path / "elsewhere").mkdir()
    pq.write_table(pa.table({"id": [1], "name": ["SECRET"]}), tmp_path / "elsewhere" / "hidden.parquet")
    return tmp_path / "elsewhere" / "hidden.parquet"


@pytest.mark.parametrize("how", ["absolute", "../", "%2e%2e/", "file://", "link", "link of the log"])
def test_a_delta_table_reads_no_file_outside_its_folder(tmp_path, how):
    file, table = hidden(tmp_path), tmp_path / "lake"
    delta(str(table), mode="overwrite")
    pytest.importorskip("deltalake").write_deltalake(
        str(table), pa.table({"id": [2], "name": ["open"]}), mode="overwrite", schema_mode="overwrite"
    )
    log = max((table / "_delta_log").glob("*.json"))
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    for line in (line for line in lines if "add" in line):
        names = {"absolute": str(file), "file://": f"file://{file}", "../": "../elsewhere/hidden.parquet",
                 "%2e%2e/": "%2e%2e/elsewhere/hidden.parquet"}  # fmt: skip
        if how == "link":
            (table / line["add"]["path"]).unlink()
            (table / line["add"]["path"]).symlink_to(file)
        line["add"].update(path=names.get(how, line["add"]["path"]), size=file.stat().st_size, stats=None)
    log.write_text("\n".join(map(json.dumps, lines)))
    if how == "link of the log":
        (table / "_delta_log").rename(tmp_path / "elsewhere" / "_delta_log")
        (table / "_delta_log").symlink_to(tmp_path / "elsewhere" / "_delta_log")
    with pytest.raises(SourceUnreachable) as told:
        source = opened(str(table), "delta")
        source.read(source.tables()[0]).read_all()
    assert "SECRET" not in str(told.value) and "\x1b" not in str(told.value)


@pytest.mark.parametrize("how", ["folder", "catalog"])
def test_an_iceberg_table_reads_no_file_outside_its_folder(tmp_path, how):
    catalogs = pytest.importorskip("pyiceberg.catalog.sql")
    file = hidden(tmp_path)
    (tmp_path / "lake").mkdir()
    uri = f"sqlite:///{tmp_path / 'lake' / 'catalog.db'}"
    catalog = catalogs.SqlCatalog("x", uri=uri, warehouse=f"file://{tmp_path / 'lake'}")
    catalog.create_namespace("ns")
    schema = pa.schema([("id", pa.int64()), ("name", pa.string())])
    catalog.create_table("ns.t", schema).add_files([str(file)])
    catalog.engine.dispose()
    metadata = max((tmp_path / "lake").rglob("*.metadata.json"))
    # What a table says of the class that reads its files is not followed either.
    said = json.loads(metadata.read_text())
    metadata.write_text(json.dumps({**said, "properties": {"py-io-impl": "this.Zen"}}))
    place = metadata.parent.parent if how == "folder" else tmp_path / "lake" / "catalog.db"
    source = opened(str(place), "iceberg")
    with pytest.raises(SourceUnreachable, match="a file outside the table's folder"):
        source.read(source.tables()[0]).read_all()


def test_packed_metadata_of_an_iceberg_table_is_unpacked_to_a_limit(tmp_path, monkeypatch):
    from coset.environment.sources.lakehouse import iceberg

    pytest.importorskip("pyiceberg")
    monkeypatch.setattr(iceberg, "MOST_METADATA", 100_000)
    (tmp_path / "t" / "metadata").mkdir(parents=True)
    bomb = gzip.compress(b'{"format-version": 2, "location": "' + b"x" * 1_000_000 + b'"}')
    (tmp_path / "t" / "metadata" / "v1.gz.metadata.json").write_bytes(bomb)
    with pytest.raises(SourceUnreachable, match="more than 100,000 bytes"):
        opened(str(tmp_path / "t"), "iceberg").tables()
