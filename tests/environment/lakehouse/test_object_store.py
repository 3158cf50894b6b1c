"""Files in an object store (a real S3 server) and behind HTTP: tables, change, credentials by reference, errors."""

from __future__ import annotations

import functools
import http.server
import io
import threading

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("obstore", reason="the extra object_store is not installed")

from coset.environment.configuration import parse_environment
from coset.errors import CosetError, SourceUnreachable
from coset.session.query_session import QuerySession
from coset.testing import check_source
from engines.s3 import SECRET, put
from environment.any_sql.shops import opened

ROWS = pa.table({"id": [1, 2, 3], "name": ["ann", "Bob", None], "amount": [1.5, -2.0, 3.25]})
CSV = b"id,name,amount\n1,ann,1.5\n2,Bob,-2.0\n3,,3.25\n"
JSON = b'{"id": 1, "tags": ["a"]}\n{"id": 2, "tags": []}\n'


def parquet(table: pa.Table = ROWS) -> bytes:
    target = io.BytesIO()
    pq.write_table(table, target)
    return target.getvalue()


def test_a_bucket_passes_the_kit(s3_options, bucket):
    for key, content in {
        "in/people.csv": CSV, "in/events.jsonl": JSON, "in/sales/year=2024/a.parquet": parquet(),
        "in/sales/year=2025/b.parquet": parquet(), "in/notes.txt": b"no table",
    }.items():  # fmt: skip
        put(s3_options, bucket, key, content)
    wrong = {**s3_options, "endpoint": "http://127.0.0.1:1"}
    report = check_source(
        lambda: opened(f"s3://{bucket}/in", "object_store", s3_options),
        faults={
            "no such bucket": lambda: opened("s3://no-such-bucket-here/in", "object_store", s3_options, (SECRET,)),
            "nothing there": lambda: opened(f"s3://{bucket}/elsewhere", "object_store", s3_options, (SECRET,)),
            "no server": lambda: opened(f"s3://{bucket}/in", "object_store", wrong, (SECRET,), connect_seconds=1),
        },
        secrets=[SECRET],
    )
    assert report.tables == 3 and report.rows == 3 + 2 + 6 and report.scans > 50


def test_one_statement_joins_a_bucket_with_credentials_by_reference(s3_options, bucket, tmp_path, monkeypatch):
    put(s3_options, bucket, "people.csv", CSV)
    put(s3_options, bucket, "sales.parquet", parquet())
    monkeypatch.setenv("LAKE_SECRET", SECRET)
    options = {**s3_options, "secret_access_key": "${LAKE_SECRET}"}
    text = f"sources:\n  lake:\n    location: s3://{bucket}\n    options: {options}\n"
    with QuerySession(parse_environment(text, tmp_path / "coset.yaml")) as session:
        asked = "SELECT p.name, s.amount FROM lake.people p JOIN lake.sales s USING (id) WHERE s.amount > 0 ORDER BY id"
        assert session.sql(asked).rows() == [("ann", 1.5), (None, 3.25)]
    kept = b"".join(path.read_bytes() for path in (tmp_path / ".coset").rglob("*") if path.is_file())
    assert SECRET.encode() not in kept


def test_a_changed_object_is_read_anew(s3_options, bucket):
    put(s3_options, bucket, "people.csv", CSV)
    source = opened(f"s3://{bucket}/people.csv", "object_store", s3_options)
    (people,) = source.tables()
    before = source.change_token(people)
    put(s3_options, bucket, "people.csv", CSV.replace(b"ann", b"eve"))
    source._listed = None  # one listing is good for a moment
    assert source.change_token(people) != before
    assert source.read(people).read_all().column("name").to_pylist()[0] == "eve"
    source.close()


def test_an_object_above_the_limit_is_passed_over_with_the_reason(s3_options, bucket):
    put(s3_options, bucket, "people.csv", CSV)
    put(s3_options, bucket, "large.csv", CSV * 100)
    source = opened(f"s3://{bucket}", "object_store", s3_options, snapshot_bytes=1000)
    assert [table.name for table in source.tables()] == ["people"]
    assert [str(path) for path, why in source.skipped if "snapshot_bytes" in why] == ["large.csv"]
    source.close()


def test_one_file_behind_http(tmp_path):
    (tmp_path / "people.csv").write_bytes(CSV)
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(tmp_path))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    base = f"http://127.0.0.1:{server.server_port}"
    try:
        source = opened(f"{base}/people.csv", "object_store")
        (people,) = source.tables()
        assert source.read(people).read_all().num_rows == 3
        source.close()
        for location, said in ((f"{base}/missing.csv", "there is nothing at"), (f"{base}/folder", "only single files")):
            with pytest.raises(SourceUnreachable, match=said):
                opened(location, "object_store").tables()
    finally:
        server.shutdown()
        server.server_close()


def test_a_missing_extra_names_the_command(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "obstore", None)
    monkeypatch.setitem(sys.modules, "obstore.store", None)
    with pytest.raises(CosetError, match=r"pip install 'coset\[object_store\]'"):
        opened("s3://bucket/x", "object_store")._store()
