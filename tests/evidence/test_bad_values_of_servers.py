"""Values that only database servers hold, comprehended end to end: BSON oddities live and dumped, MySQL's days that are
none and text in other encodings, PostgreSQL's infinities. One run over all of them; nothing may be unreadable."""

from __future__ import annotations

import datetime
import json
import uuid
from pathlib import Path

import bson
import duckdb
import pymongo
import pytest
from bson import Binary, Code, DBRef, Decimal128, Int64, MaxKey, MinKey, ObjectId, Regex, Timestamp
from bson.codec_options import CodecOptions
from bson.datetime_ms import DatetimeMS
from bson.raw_bson import RawBSONDocument

from commands import coset
from engines.mysql import MySQLServer
from engines.postgresql import PostgreSQLServer

UUID = uuid.UUID("12345678-1234-4678-9234-567812345678")
ODDITIES = {
    "decimal": Decimal128("123456789012345678901234567890.1234"),
    "large_decimal": Decimal128("1E+6000"),
    "no_decimal": Decimal128("NaN"),
    "timestamp": Timestamp(4294967295, 1),
    "least": MinKey(),
    "most": MaxKey(),
    "pattern": Regex("a(", "i"),
    "code": Code("function(){}", {"y": 1}),
    "pointer": DBRef("others", ObjectId("0" * 24)),
    "uuid": Binary(UUID.bytes, 4),
    "bytes": Binary(b"\xff\x00", 0),
    "far_day": DatetimeMS(2**62),
    "day_10000": DatetimeMS(253402300800000),
    "long": Int64(2**63 - 1),
    "not_a_number": float("nan"),
    "infinite": float("-inf"),
    "lists": [1, [2, [3]]],
    "nothing": {},
    "zero_letter": "a\x00b",
}


def deep(levels: int) -> dict:
    document: dict = {"leaf": 1}
    for _ in range(levels):
        document = {"a": document}
    return document


def fill_mongodb(url: str, dump: Path) -> None:
    with pymongo.MongoClient(url) as client:
        client.drop_database("oddities")
        database = client.oddities
        database.alone.insert_many([{"_id": number, **ODDITIES} for number in range(12)])
        database.mixed.insert_many([{"_id": name, "v": value, "w": [value, 1]} for name, value in ODDITIES.items()])
        database.deep.insert_many([{"_id": number, "x": deep(80)} for number in range(3)])
        names = {"a.b": 1, "": 3, "A": 4, "a": 5, "new\nline": 6, "emoji 😀": 7, "select": 8, 'q"q': 9}
        database["odd names"].insert_many([{"_id": number, **names} for number in range(12)])
        twice = bson.encode({"_id": 1, "a": 1, "b": 2}).replace(b"b\x00", b"a\x00")
        database.twice.insert_one(RawBSONDocument(twice))
        broken = bson.encode({"_id": 1, "t": "Cafe!"}).replace(b"Cafe!", b"Caf\xe9\xff")
        database.broken_text.insert_one(RawBSONDocument(broken))
        database.create_collection("no_documents")
        dump.mkdir()
        raw = CodecOptions(document_class=RawBSONDocument)
        for name in database.list_collection_names():
            documents = database.get_collection(name, codec_options=raw).find().sort("_id")
            (dump / f"{name}.bson").write_bytes(b"".join(document.raw for document in documents))


def fill_mysql(server: MySQLServer) -> str:
    with server.as_administrator() as run:
        run("DROP DATABASE IF EXISTS bad_values")
    url = server.create_database("bad_values")
    with server.as_administrator() as run:
        run("USE bad_values")
        run("SET sql_mode = 'NO_ENGINE_SUBSTITUTION'")
        run("CREATE TABLE days (id INT, d DATE, t DATETIME, u BIGINT UNSIGNED, l VARCHAR(9) CHARACTER SET latin1)")
        days = ["9999-12-31", "0000-00-00", "2024-00-10", "1000-01-01"]
        values = (f"({n}, '{days[n % 4]}', '{days[n % 4]}', 18446744073709551615, x'436166E9')" for n in range(40))
        run(f"INSERT INTO days VALUES {', '.join(values)}")
        run("CREATE TABLE nothing (a INT, b JSON)")
    return url


def fill_postgresql(server: PostgreSQLServer) -> str:
    url = server.create_database("bad_values")
    server.run(
        url,
        """CREATE TABLE extremes AS SELECT i AS id,
            (ARRAY['NaN', 'Infinity', '-Infinity', '1.5'])[i % 4 + 1]::float8 AS x,
            (ARRAY['NaN', '12345678901234567890123456789012345678901234567890.5'])[i % 2 + 1]::numeric AS n,
            (ARRAY['infinity', '4713-01-01 BC', '5874897-12-31', '9999-12-31'])[i % 4 + 1]::date AS d,
            (ARRAY['infinity', '4713-01-01 BC', '9999-12-31'])[i % 3 + 1]::timestamptz AS t,
            interval '178000000 years' AS long, ARRAY[ARRAY[1, 2], ARRAY[3, NULL]] AS lists, int4range(1, NULL) AS range
            FROM generate_series(1, 60) i;
        CREATE TABLE no_columns (); CREATE TABLE no_rows (a INT);""",
    )
    return url


@pytest.fixture(scope="module")
def comprehended(tmp_path_factory, mongodb_url: str, mysql_server: MySQLServer, postgresql_server: PostgreSQLServer):
    folder = tmp_path_factory.mktemp("bad_values")
    fill_mongodb(mongodb_url, folder / "dump")
    urls = {"MY_URL": fill_mysql(mysql_server), "PG_URL": fill_postgresql(postgresql_server)}
    (folder / "coset.yaml").write_text(
        f"sources:\n  live: {{location: '{mongodb_url}oddities'}}\n  dump: {{location: dump}}\n"
        "  my: {location: '${MY_URL}'}\n  pg: {location: '${PG_URL}'}\n"
    )
    answer = coset("comprehend", "--jobs", "1", "--json", folder=folder, **urls)
    summary = json.loads(answer.stdout)
    assert answer.returncode == 0 and not summary["problems"] and not summary["damaged"], answer.stdout
    return folder


def columns_of(folder: Path, table: str) -> dict[str, tuple]:
    sql = "SELECT name, type, nulls, minimum, maximum FROM columns WHERE table_reference = $1 ORDER BY position"
    with duckdb.connect(str(folder / ".coset" / "state.duckdb"), read_only=True) as connection:
        return {name: tuple(rest) for name, *rest in connection.execute(sql, [table]).fetchall()}


def test_bson_oddities_keep_their_meaning(comprehended: Path):
    found = columns_of(comprehended, "live/alone")
    assert list(found) == ["_id", *ODDITIES]
    decimal = str(ODDITIES["decimal"])
    assert found["decimal"] == ("DECIMAL(34,4)", 0.0, decimal, decimal)
    assert found["large_decimal"][2] == "1E+6000" and found["no_decimal"][2] == "NaN"
    assert found["uuid"] == ("UUID", 0.0, str(UUID), str(UUID))
    assert found["least"][2] == '{"$minKey":1}' and found["most"][2] == '{"$maxKey":1}'
    assert json.loads(found["far_day"][2]) == {"$date": {"$numberLong": str(2**62)}}
    assert found["day_10000"] == ("TIMESTAMP", 0.0, "10000-01-01 00:00:00", "10000-01-01 00:00:00")
    assert found["long"][3] == str(2**63 - 1) and found["bytes"][0] == "BLOB"
    assert (found["not_a_number"][3], found["infinite"][2]) == ("nan", "-inf")
    assert columns_of(comprehended, "live/mixed")["v"][0] == "JSON"
    assert "\ufffd" in columns_of(comprehended, "live/broken_text")["t"][2]


@pytest.mark.parametrize("name", ["alone", "mixed", "deep", "odd names", "twice", "broken_text"])
def test_a_dump_is_understood_like_its_server(comprehended: Path, name: str):
    live = columns_of(comprehended, f"live/{name}")
    assert live and columns_of(comprehended, f"dump/{name}") == live


def test_days_that_are_none_and_text_in_another_encoding(comprehended: Path):
    found = columns_of(comprehended, "my/days")
    assert found["d"] == ("DATE", 0.5, "1000-01-01", "9999-12-31")
    assert found["u"][3] == str(2**64 - 1) and found["l"][3] == "Café"


def test_infinities_and_days_before_christ(comprehended: Path):
    found = columns_of(comprehended, "pg/public/extremes")
    assert found["x"][2:] == ("-inf", "nan")
    assert (found["d"][2], found["d"][3]) == ("4713-01-01 (BC)", "infinity")
    assert found["t"][2].startswith("4713-01-01 (BC)") and found["t"][3] == "infinity"
    assert datetime.date.max.isoformat() in coset("show", "extremes.d", folder=comprehended).stdout
