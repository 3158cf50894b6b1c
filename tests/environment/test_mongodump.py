"""A mongodump folder: the same rows as from the server it was dumped from, and plain words for files that are damaged."""

from __future__ import annotations

import datetime
import gzip
import json
import os
from pathlib import Path
from urllib.parse import quote

import bson
import pymongo
import pytest
from bson import Decimal128, Int64, ObjectId, Regex, Timestamp, json_util

from coset.environment.scan import EVERYTHING, Scan
from coset.environment.source import SourceSettings
from coset.environment.sources.mongodb.dump import Mongodump
from coset.environment.sources.mongodb.server import MongoDB
from coset.errors import SourceUnreachable, TableVanished

DOCUMENTS = [
    {
        "_id": ObjectId(f"{number:024x}"),
        "name": f"name {number}" if number % 3 else None,
        "n": Int64(number) * 10**12,
        "price": Decimal128(f"{number}.25"),
        "at": datetime.datetime(2024, 1, 1) + datetime.timedelta(milliseconds=number),
        "lines": [{"sku": f"s{line}", "count": line, "note": {"by": "me"}} for line in range(number % 4)],
        "odd": [Regex("a"), Timestamp(1, number + 1), "text", {"x": 1}][number % 4],
        **({"late": 1.5} if number > 500 else {}),
    }
    for number in range(1000)
]


def opened(folder):
    return Mongodump(SourceSettings(name="dump", location=str(folder), kind="mongodump"))


def dump(folder: Path, name: str, documents, *, metadata=None, packed=False):
    """What mongodump writes for one collection."""
    folder.mkdir(parents=True, exist_ok=True)
    described = {"indexes": [], "collectionName": name, "type": "collection", **(metadata or {})}
    for ending, content in (
        (".bson", b"".join(bson.encode(document) for document in documents)),
        (".metadata.json", json_util.dumps(described).encode()),
    ):
        file = folder / f"{quote(name, safe=' ')}{ending}{'.gz' if packed else ''}"
        file.write_bytes(gzip.compress(content) if packed else content)
    return folder / f"{quote(name, safe=' ')}.bson{'.gz' if packed else ''}"


def rows_of(source, table, scan=EVERYTHING):
    return source.read(table, scan).read_all().to_pylist()


def test_a_dump_and_its_server_have_the_same_tables_and_rows(tmp_path, mongodb_url):
    with pymongo.MongoClient(mongodb_url) as client:
        client.dumped.orders.insert_many(DOCUMENTS)
        client.dumped["a/b C"].insert_one({"_id": 1, "x": {}})
        try:
            live = MongoDB(SourceSettings(name="live", location=mongodb_url + "dumped", kind="mongodb"))
            for name in client.dumped.list_collection_names():
                dump(tmp_path / "dumped", name, client.dumped[name].find())
            dumped = opened(tmp_path / "dumped")
            there, here = live.tables(), dumped.tables()
            assert [table.name for table in here] == [table.name for table in there] == ["a/b C", "orders"]
            for one, other in zip(there, here, strict=True):
                assert one.columns == other.columns
                assert (one.rows, one.rows_exact, one.primary_key) == (other.rows, other.rows_exact, other.primary_key)
                assert live.read(one).read_all().equals(dumped.read(other).read_all())
                names = tuple(column.name for column in reversed(one.columns))
                assert (
                    live.read(one, Scan(names, limit=5))
                    .read_all()
                    .equals(dumped.read(other, Scan(names, limit=5)).read_all())
                )
            live.close()
        finally:
            client.drop_database("dumped")


def test_a_dumps_root_gives_a_schema_for_each_database(tmp_path):
    dump(tmp_path / "shop", "orders", DOCUMENTS[:3])
    dump(tmp_path / "Shop 2", "orders", DOCUMENTS[:5], packed=True)
    dump(tmp_path / "admin", "system.users", DOCUMENTS[:1])
    dump(tmp_path / "config", "settings", DOCUMENTS[:1])
    (tmp_path / "oplog.bson").write_bytes(b"")
    (tmp_path / "shop" / "prelude.json").write_text("{}")
    source = opened(tmp_path)
    assert [(table.qualified_name, table.rows, table.rows_exact) for table in source.tables()] == [
        ("Shop 2.orders", 5, True),
        ("shop.orders", 3, True),
    ]
    assert [len(rows_of(source, table)) for table in source.tables()] == [5, 3]


def test_packed_files_hold_the_same_as_plain_ones(tmp_path):
    dump(tmp_path / "plain", "orders", DOCUMENTS)
    dump(tmp_path / "packed", "orders", DOCUMENTS, packed=True)
    plain, packed = opened(tmp_path / "plain"), opened(tmp_path / "packed")
    (one,), (other,) = plain.tables(), packed.tables()
    assert one.columns == other.columns
    assert plain.read(one).read_all().equals(packed.read(other).read_all())


def test_files_larger_than_a_block_are_read_in_batches(tmp_path, monkeypatch):
    monkeypatch.setattr("coset.environment.sources.mongodb.dump._BLOCK", 1000)
    monkeypatch.setattr("coset.environment.sources.mongodb.dump._BATCH_DOCUMENTS", 3)
    dump(tmp_path, "orders", DOCUMENTS)
    source = opened(tmp_path)
    (table,) = source.tables()
    batches = list(source.read(table))
    assert len(batches) > 300
    assert [row["_id"] for batch in batches for row in batch.to_pylist()] == [
        str(document["_id"]) for document in DOCUMENTS
    ]
    assert [row["n"] for row in rows_of(source, table, Scan(("n",), limit=7))] == [
        number * 10**12 for number in range(7)
    ]
    assert rows_of(source, table, Scan(limit=0)) == []


def test_views_and_system_collections_are_not_listed_but_empty_collections_are(tmp_path):
    dump(tmp_path, "empty", [])
    dump(tmp_path, "system.views", DOCUMENTS[:1])
    (tmp_path / "seen.metadata.json").write_text(json.dumps({"type": "view", "options": {"viewOn": "empty"}}))
    dump(tmp_path, "also seen", DOCUMENTS[:1], metadata={"type": "view"})
    (table,) = opened(tmp_path).tables()
    assert (table.name, table.rows, [column.name for column in table.columns]) == ("empty", 0, ["_id"])
    assert rows_of(opened(tmp_path), table) == []


def test_names_and_descriptions_come_from_the_metadata(tmp_path):
    schema = {"$jsonSchema": {"description": "All orders", "properties": {"name": {"description": "who"}}}}
    dump(tmp_path, "Orders", DOCUMENTS[:2], metadata={"options": {"validator": schema}})
    dump(tmp_path, "orders", DOCUMENTS[:2])
    first, second = opened(tmp_path).tables()
    assert (first.name, second.name, second.native_name) == ("Orders", "orders_1", "orders")
    assert (first.comment, first.column("name").comment) == ("All orders", "who")


def test_the_token_changes_with_the_file(tmp_path):
    file = dump(tmp_path, "orders", DOCUMENTS[:5])
    dump(tmp_path, "other", DOCUMENTS[:5])
    source = opened(tmp_path)
    orders, other = source.tables()
    token, untouched, fingerprint = source.change_token(orders), source.change_token(other), source.fingerprint()
    rows_of(source, orders)
    assert (source.change_token(orders), source.fingerprint()) == (token, fingerprint)
    state = file.stat()
    os.utime(file, ns=(state.st_atime_ns, state.st_mtime_ns + 1))
    assert source.change_token(orders) != token
    token = source.change_token(orders)
    dump(tmp_path, "orders", DOCUMENTS[:6])
    assert source.change_token(orders) != token
    assert source.change_token(other) == untouched
    assert source.fingerprint() != fingerprint
    assert source.tables()[0].rows == 6


def test_a_file_that_vanished_or_changed_shape_is_told(tmp_path):
    file = dump(tmp_path, "orders", [{"_id": 1, "a": 1}])
    dump(tmp_path, "other", [])
    source = opened(tmp_path)
    table = source.tables()[0]
    dump(tmp_path, "orders", [{"_id": 1, "a": "text"}])
    with pytest.raises(TableVanished, match=r"a holds a value of type string.*refresh"):
        source.read(table).read_all()
    file.unlink()
    with pytest.raises(TableVanished, match="'orders' of source 'dump'"):
        source.read(table)
    with pytest.raises(TableVanished):
        source.change_token(table)


@pytest.mark.parametrize("packed", [False, True])
def test_damaged_files_are_told_with_name_and_byte(tmp_path, packed):
    sizes = [len(bson.encode(document)) for document in DOCUMENTS]
    whole = b"".join(bson.encode(document) for document in DOCUMENTS)
    third = sum(sizes[:3])
    wrong_size = whole[:third] + (2**31 - 1).to_bytes(4, "little") + whole[third + 4 :]
    tiny_size = whole[:third] + (4).to_bytes(4, "little") + whole[third + 4 :]
    wrong_inside = whole[:third] + whole[third : third + 4] + b"\x99" + whole[third + 5 :]
    for content, offset in [
        (whole[:-5], sum(sizes[:-1])), (whole + b"\x05", len(whole)), (wrong_size, third), (tiny_size, third), (wrong_inside, third),
        (b"not bson at all, but text", 0),
    ]:  # fmt: skip
        file = tmp_path / ("orders.bson.gz" if packed else "orders.bson")
        file.write_bytes(gzip.compress(content) if packed else content)
        with pytest.raises(SourceUnreachable, match=rf"orders\.bson.* byte {offset}:"):
            opened(tmp_path).tables()


def test_a_gzip_file_that_is_cut_off_is_told(tmp_path):
    file = dump(tmp_path, "orders", DOCUMENTS, packed=True)
    packed = file.read_bytes()
    for content in (packed[: len(packed) // 2], b"\x1f\x8b nonsense", b"plain"):
        file.write_bytes(content)
        with pytest.raises(SourceUnreachable, match=r"orders\.bson\.gz is cut off or damaged"):
            opened(tmp_path).tables()


def test_what_is_no_dump_is_told(tmp_path):
    with pytest.raises(SourceUnreachable, match="there is no folder"):
        opened(tmp_path / "missing").tables()
    with pytest.raises(SourceUnreachable, match=r"holds no \.bson file"):
        opened(tmp_path).tables()
    (tmp_path / "data.json").write_text("{}")
    (tmp_path / "folder").mkdir()
    with pytest.raises(SourceUnreachable, match=r"holds no \.bson file"):
        opened(tmp_path).tables()
    for content in (b"\x6d\xe2\x99\x81rest", gzip.compress(b"\x6d\xe2\x99\x81rest")):
        (tmp_path / "all.archive").write_bytes(content)
        for location in (tmp_path, tmp_path / "all.archive"):
            with pytest.raises(SourceUnreachable, match="mongodump archive; dump again without --archive"):
                opened(location).tables()
    (tmp_path / "all.archive").unlink()
    with pytest.raises(SourceUnreachable, match="is a file; name the folder"):
        opened(tmp_path / "data.json").tables()


def test_broken_metadata_is_told(tmp_path):
    dump(tmp_path, "orders", [])
    (tmp_path / "orders.metadata.json").write_text("{")
    with pytest.raises(SourceUnreachable, match=r"orders\.metadata\.json is not the JSON"):
        opened(tmp_path).tables()


@pytest.mark.shared
def test_a_dump_from_elsewhere_is_read_whole():
    folder = Path(__file__).parents[3] / "shared" / "environments" / "agnews" / "query_dataset" / "agnews_articles"
    if not folder.is_dir():
        pytest.skip("the development environments are not here")
    source = opened(folder)
    tables = source.tables()
    assert tables
    for table in tables:
        assert table.rows > 0
        assert source.read(table).read_all().num_rows == table.rows
