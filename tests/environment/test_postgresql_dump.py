"""PostgreSQL dumps written by hand: forms that pg_dump writes, forms that others write, and files that are damaged."""

from __future__ import annotations

import bz2
import codecs
import functools
import gzip
import lzma
import os
import tracemalloc
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coset.environment.scan import Scan
from coset.environment.source import ForeignKey, Limits, Source, SourceSettings, Table
from coset.environment.sources import open_source
from coset.environment.sources.postgresql_dump.file import DumpFile
from coset.environment.sources.postgresql_dump.source import PostgreSQLDump
from coset.environment.sources.postgresql_dump.types import array_elements
from coset.errors import LimitReached, SourceUnreachable, TableVanished


def source(path: Path, **settings: Any) -> PostgreSQLDump:
    return PostgreSQLDump(SourceSettings(name="dump", location=str(path), kind="postgresql_dump", **settings))


@pytest.fixture
def dump(tmp_path: Path) -> Any:
    def write(text: str | bytes, name: str = "dump.sql", **settings: Any) -> PostgreSQLDump:
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return source(path, **settings)

    return write


def table(source: Source, name: str) -> Table:
    return next(table for table in source.tables() if table.name == name)


def rows(source: Source, name: str, scan: Scan | None = None) -> list[tuple[Any, ...]]:
    """The rows as DuckDB has them after the cast to each column's type."""
    listed = table(source, name)
    found = source.read(listed, scan or Scan()).read_all()
    connection = duckdb.connect()
    connection.register("found", found)
    casts = [f"CAST({quoted(name)} AS {listed.column(name).type})" for name in found.column_names]
    # Python has no place for infinity, and DuckDB wants another package for moments.
    casts = [f"{cast}::VARCHAR" if "AS TIME" in cast else cast for cast in casts]
    return connection.sql(f"SELECT {', '.join(casts)} FROM found").fetchall()


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def refusal(source: Source) -> str:
    with pytest.raises(SourceUnreachable) as caught:
        source.tables()
    message = str(caught.value)
    assert "\n" not in message
    assert "Traceback" not in message
    return message


MIXED = r'''\restrict aBcD
-- a comment with ' and "
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
/* a /* nested */ comment; with ' */
CREATE FUNCTION public.f() RETURNS text LANGUAGE sql AS $_$ SELECT ';$$' || '$x$ INSERT INTO t VALUES (9)'; $_$;
CREATE PROCEDURE public.p() BEGIN ATOMIC INSERT INTO public.t (a) VALUES (CASE WHEN true THEN 1 END); END;
CREATE TABLE IF NOT EXISTS public.t (
    a integer DEFAULT ((1 + (2 * 3)) - length(')'::text)) NOT NULL,
    "b ""c""" character varying(20) DEFAULT 'it''s, (NOT NULL)'::character varying COLLATE pg_catalog."C",
    ts timestamp(3) without time zone DEFAULT now(),
    n numeric(10,2) CONSTRAINT positive CHECK ((n > (0)::numeric)) NOT NULL,
    tags text[] DEFAULT '{}'::text[],
    CONSTRAINT t_check CHECK (((a > 0) AND (a <> ALL (ARRAY[5, 6]))))
);
COPY public.t (a, "b ""c""", ts, n, tags) FROM stdin;
1	tab\tnew\nline\r\\ \b\f\v \101\x42 \q	2020-01-01 00:00:00	1.50	{a,"b,c",NULL,"NULL","q\\"uo\\\\te",""}
2	\N	\N	0.01	\N
3		infinity	2	{}
\.

CREATE VIEW public.v AS SELECT 'x;y';
CREATE MATERIALIZED VIEW public.mv AS SELECT 1 WITH NO DATA;
CREATE TABLE public.i (id integer, txt text, ok boolean, j jsonb);
INSERT INTO public.i VALUES (1, 'semi;colon (and) ''quotes'' end', true, '{"a": "\n"}');
INSERT INTO public.i VALUES (2, E'esc\'aped\n\\ \x41\u00e9', NULL, NULL), (-3, NULL, false, '[]'),
	(4, 'two
lines', true, 'null'::jsonb) ON CONFLICT DO NOTHING;
-- between
INSERT INTO public.i (txt, id) VALUES ('by name', 5);
INSERT INTO public.i (txt, id) OVERRIDING SYSTEM VALUE VALUES ('cast', CAST('6' AS integer)), (DATE '2020-01-01', 0007);
ALTER TABLE ONLY public.t ADD CONSTRAINT t_pkey PRIMARY KEY (a);
ALTER TABLE ONLY public.i ADD CONSTRAINT i_fkey FOREIGN KEY (id) REFERENCES public.t(a) ON DELETE CASCADE DEFERRABLE;
COMMENT ON TABLE public.t IS 'the table''s; comment';
COMMENT ON COLUMN public.t."b ""c""" IS E'a\nb';
COMMENT ON FUNCTION public.f() IS 'nothing';
SELECT pg_catalog.setval('public.s', 1, false);
\unrestrict aBcD
'''

T_ROWS = [
    (1, "tab\tnew\nline\r\\ \b\f\v AB q", "2020-01-01 00:00:00", "1.50", ["a", "b,c", None, "NULL", 'q"uo\\te', ""]),
    (2, None, None, "0.01", None),
    (3, "", "infinity", "2", []),
]
I_ROWS = [
    (1, "semi;colon (and) 'quotes' end", True, '{"a": "\\n"}'),
    (2, "esc'aped\n\\ Aé", None, None),
    (-3, None, False, "[]"),
    (4, "two\nlines", True, "null"),
    (5, "by name", None, None),
    (6, "cast", None, None),
    (7, "2020-01-01", None, None),
]


def check_mixed(source: Source) -> None:
    listed = {table.name: table for table in source.tables()}
    assert list(listed) == ["t", "i"]
    assert [(column.name, column.type, column.native_type, column.nullable) for column in listed["t"].columns] == [
        ("a", "INTEGER", "integer", False),
        ('b "c"', "VARCHAR", "character varying(20)", True),
        ("ts", "TIMESTAMP", "timestamp(3) without time zone", True),
        ("n", "DECIMAL(10,2)", "numeric(10,2)", False),
        ("tags", "VARCHAR[]", "text[]", True),
    ]
    assert listed["t"].primary_key == ("a",)
    assert listed["t"].comment == "the table's; comment"
    assert listed["t"].column('b "c"').comment == "a\nb"
    assert listed["i"].foreign_keys == (ForeignKey(("id",), "public", "t", ("a",)),)
    assert (listed["t"].rows, listed["i"].rows, listed["t"].rows_exact) == (3, 7, True)
    read = source.read(listed["t"]).read_all().to_pylist()
    assert [tuple(row.values()) for row in read] == [(str(row[0]), *row[1:]) for row in T_ROWS]
    assert rows(source, "i") == I_ROWS


def test_a_dump_of_mixed_statements_reads_as_written(dump: Any) -> None:
    check_mixed(dump(MIXED))


@pytest.mark.parametrize("block_bytes", [1, 2, 3, 7, 64, 257, 1000])
def test_nothing_depends_on_where_blocks_of_the_file_end(
    dump: Any, monkeypatch: pytest.MonkeyPatch, block_bytes: int
) -> None:
    small = functools.partialmethod(DumpFile.open, block_bytes=block_bytes)
    monkeypatch.setattr(
        DumpFile, "open", lambda self, offset=0, line=1, block_bytes=0: small.func(self, offset, line, **small.keywords)
    )
    monkeypatch.setattr("coset.environment.sources.postgresql_dump.rows._HEADER_BYTES", 200)
    check_mixed(dump(MIXED))


@pytest.mark.parametrize(
    "packed",
    [
        gzip.compress,
        bz2.compress,
        lzma.compress,
        lambda data: pa.compress(data, codec="zstd", asbytes=True),
        lambda data: pa.compress(data, codec="lz4", asbytes=True),
        lambda data: gzip.compress(data[:700], mtime=0) + gzip.compress(data[700:]),
        lambda data: codecs.BOM_UTF8 + data,
        lambda data: data.decode().encode("utf-16"),
        lambda data: gzip.compress(codecs.BOM_UTF8 + data, mtime=0),
    ],
    ids=["gzip", "bzip2", "xz", "zstd", "lz4", "two gzip members", "byte order mark", "UTF-16", "gzip with mark"],
)
def test_compressed_and_marked_files_read_the_same_whatever_their_name(dump: Any, packed: Any) -> None:
    check_mixed(dump(packed(MIXED.encode()), "dump.txt"))


def test_windows_line_ends_and_line_breaks_escaped_as_themselves(dump: Any) -> None:
    found = dump("CREATE TABLE t (a integer, b text);\r\nCOPY t (a, b) FROM stdin;\r\n1\tx\\\\\r\n2\t\\N\r\n\\.\r\n")
    assert rows(found, "t") == [(1, "x\\"), (2, None)]
    found = dump("CREATE TABLE t (a integer, b text);\nCOPY t FROM stdin;\n1\tx\\\ny\\\tz\\\\\n2\t\\\\\\\nq\n\\.\n")
    assert rows(found, "t") == [(1, "x\ny\tz\\"), (2, "\\\nq")]
    assert table(found, "t").rows == 2


def test_dates_before_our_era_and_without_end_keep_their_meaning(dump: Any) -> None:
    found = dump(
        "CREATE TABLE t (d date, ts timestamp without time zone, tz timestamp with time zone, i interval);\n"
        "COPY t (d, ts, tz, i) FROM stdin;\n"
        "0044-03-15 BC\t0044-03-15 10:00:00 BC\t0044-03-15 10:00:00.5+00 BC\t1 year -2 mons +3 days -04:05:06\n"
        "infinity\t-infinity\tinfinity\t1 day\n\\.\n"
    )
    read = found.read(table(found, "t")).read_all()
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'").fetchall()
    connection.register("read", read)
    assert connection.sql(
        "SELECT d::DATE::VARCHAR, year(ts::TIMESTAMP), tz::TIMESTAMPTZ::VARCHAR, i::INTERVAL::VARCHAR FROM read"
    ).fetchall() == [
        ("0044-03-15 (BC)", -43, "0044-03-15 (BC) 10:00:00.5+00", "10 months 3 days -04:05:06"),
        ("infinity", None, "infinity", "1 day"),
    ]


@pytest.mark.parametrize(
    ("declared", "values", "expected"),
    [
        ("numeric", ["1.50", "-20.25", None], "DECIMAL(18,2)"),
        ("numeric", ["12345678901234567890.5"], "DECIMAL(38,1)"),
        ("numeric", ["1", "NaN"], "DOUBLE"),
        ("numeric", ["-Infinity"], "DOUBLE"),
        ("numeric", ["1" * 39], "DOUBLE"),
        ("numeric", ["1" * 30, "0." + "1" * 9], "DOUBLE"),
        ("numeric", [None], "DOUBLE"),
        ("numeric(60,2)", ["7.25"], "DECIMAL(18,2)"),
        ("numeric(8,3)", ["7.250"], "DECIMAL(8,3)"),
        ("decimal(8)", ["7"], "DECIMAL(8,0)"),
        ("numeric(8,3)", ["NaN"], "DOUBLE"),
        ("integer", ["-2147483648", "2147483647", None], "INTEGER"),
        ("integer", ["-2147483649"], "BIGINT"),
        ("integer", ["7", "2233702000"], "BIGINT"),
        ("smallint", ["-32768", "32767"], "SMALLINT"),
        ("smallint", ["-32769"], "INTEGER"),
        ("smallint", ["40000"], "INTEGER"),
        ("bigint", ["-9223372036854775808", "9223372036854775807"], "BIGINT"),
        ("bigint", ["-9223372036854775809"], "DECIMAL(38,0)"),
        ("bigint", ["9223372036854775808"], "DECIMAL(38,0)"),
        ("bigint", ["-1" + "0" * 38], "VARCHAR"),
        ("bigint", ["1" * 45], "VARCHAR"),
        ("integer[]", ["{1,2}"], "INTEGER[]"),
        ("integer[]", ["{1,3000000000}"], "BIGINT[]"),
        ("integer[]", ["{1}", "{{1,2},{3,4}}"], "JSON"),
        ("timestamp with time zone", ["294276-01-01 00:00:00+00"], "VARCHAR"),
        ("timestamp with time zone", ["2024-01-01 00:00:00+00"], "TIMESTAMP WITH TIME ZONE"),
        ("public.vector(3)", ["[1,2.5,-3]"], "FLOAT[]"),
        ("double precision", ["NaN"], "DOUBLE"),
        ("unheard_of", ["x"], "VARCHAR"),
    ],
)
@pytest.mark.parametrize("form", ["copy", "insert"])
def test_a_type_that_depends_on_the_values_is_found_from_all_of_them(
    dump: Any, declared: str, values: list[str | None], expected: str, form: str
) -> None:
    text = f"CREATE TABLE t (id integer, x {declared});\n"
    if form == "copy":
        lines = "".join(f"{index}\t{value or chr(92) + 'N'}\n" for index, value in enumerate(values))
        text += f"COPY t (id, x) FROM stdin;\n{lines}\\.\n"
    else:
        text += "".join(
            f"INSERT INTO t VALUES ({index}, {'NULL' if value is None else repr(value)});\n"
            for index, value in enumerate(values)
        )
    found = dump(text)
    assert table(found, "t").column("x").type == expected
    assert len(rows(found, "t")) == len(values)


def test_partitions_and_heirs_add_their_rows_to_their_parents(dump: Any) -> None:
    found = dump("""
CREATE TABLE p (a integer, n numeric) PARTITION BY LIST (a);
CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1);
CREATE TABLE p2 (n numeric, a integer);
ALTER TABLE ONLY p ATTACH PARTITION p2 FOR VALUES IN (2);
CREATE TABLE parent (x text);
CREATE TABLE heir (y integer) INHERITS (parent);
COPY p1 (a, n) FROM stdin;
1	1.5
\\.
COPY p2 (n, a) FROM stdin;
2.125	2
\\.
INSERT INTO parent VALUES ('own');
INSERT INTO heir VALUES ('inherited', 7);
""")
    assert [(table.name, table.rows) for table in found.tables()] == [("p", 2), ("parent", 2), ("heir", 1)]
    assert [(row[0], str(row[1])) for row in rows(found, "p")] == [(1, "1.500"), (2, "2.125")]
    assert rows(found, "parent") == [("own",), ("inherited",)]
    assert rows(found, "heir") == [("inherited", 7)]


def test_a_compressed_file_is_read_forward_once_for_all_partitions(dump: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "CREATE TABLE p (a integer, b text) PARTITION BY HASH (a);\n"
    for number in range(20):
        text += f"CREATE TABLE p{number} PARTITION OF p FOR VALUES WITH (modulus 20, remainder {number});\n"
        text += f"COPY p{number} (a, b) FROM stdin;\n{number}\tx\n{number + 20}\t\\N\n\\.\n"
    found = dump(gzip.compress(text.encode()), "dump.sql.gz")
    listed = table(found, "p")
    opened = []
    original = DumpFile.open
    monkeypatch.setattr(DumpFile, "open", lambda *arguments: opened.append(1) or original(*arguments))
    assert sorted(rows(found, "p")) == sorted([(n, "x") for n in range(20)] + [(n + 20, None) for n in range(20)])
    assert len(opened) == 1
    assert listed.rows == 40


def test_columns_without_values_in_the_file_have_their_literal_default_or_are_left_out(dump: Any) -> None:
    found = dump("""
CREATE TABLE t (id serial PRIMARY KEY, a integer, kind text DEFAULT 'plain'::text, made timestamp DEFAULT now(),
    twice integer GENERATED ALWAYS AS (a * 2) STORED, nothing text);
INSERT INTO t (a) VALUES (1), (DEFAULT);
INSERT INTO t (a, kind) VALUES (3, DEFAULT), (4, 'other');
""")
    assert [column.name for column in table(found, "t").columns] == ["a", "kind", "nothing"]
    assert rows(found, "t") == [
        (1, "plain", None), (None, "plain", None), (3, "plain", None), (4, "other", None),
    ]  # fmt: skip
    found = dump(
        "CREATE TABLE t (id serial, a text);\nINSERT INTO t VALUES (1, 'x');\nINSERT INTO t (a) VALUES ('y');\n"
    )
    with pytest.raises(SourceUnreachable, match="from line 3 on leave column id to its default"):
        rows(found, "t")
    assert rows(found, "t", Scan(columns=("a",))) == [("x",), ("y",)]


def test_a_value_that_needs_a_server_is_refused_only_where_it_is_asked_for(dump: Any) -> None:
    found = dump("CREATE TABLE t (a integer, made timestamp);\nINSERT INTO t VALUES (1, now()), (2, '2020-01-01');\n")
    with pytest.raises(SourceUnreachable, match=r"line 2, value 2 \('now...'\) can only be evaluated by a server"):
        rows(found, "t")
    assert rows(found, "t", Scan(columns=("a",))) == [(1,), (2,)]


def test_interleaved_inserts_find_their_own_rows(dump: Any) -> None:
    text = "CREATE TABLE a (x integer, y text);\nCREATE TABLE b (x integer);\n"
    for number in range(50):
        text += f"INSERT INTO a VALUES ({number}, 'INSERT INTO b VALUES (0);');\nINSERT INTO b VALUES ({number});\n"
        text += f"INSERT INTO a (y, x) VALUES ('named', {number + 1000});\n"
    found = dump(text)
    assert (table(found, "a").rows, table(found, "b").rows) == (100, 50)
    assert sorted(row[0] for row in rows(found, "a")) == [*range(50), *range(1000, 1050)]
    assert rows(found, "b") == [(number,) for number in range(50)]


def test_old_dumps_name_the_schema_by_search_path_and_may_escape_in_plain_strings(dump: Any) -> None:
    found = dump(r"""
SET standard_conforming_strings = off;
SET search_path = sales, pg_catalog;
CREATE TABLE t (a text, b bytea);
INSERT INTO t VALUES ('it\'s \\ a\ttab', 'a\\000\\377\\\\');
INSERT INTO t VALUES ('plain', NULL);
SET search_path = public, pg_catalog;
CREATE TABLE t (a text);
""")
    assert [found.qualified_name for found in found.tables()] == ["sales.t", "public.t"]
    assert rows(found, "t") == [("it's \\ a\ttab", b"a\x00\xff\\"), ("plain", None)]


def test_names_that_differ_only_by_case_and_odd_names_are_all_reachable(dump: Any) -> None:
    found = dump(
        'CREATE TABLE "Case" ("Id" integer, id integer, "CARR#" text, "a b" text, "select" text, "t.x" text);\n'
        'CREATE TABLE "case" (x integer REFERENCES "Case" (id));\nCREATE TABLE "weird""name;" (x integer);\n'
        "INSERT INTO \"Case\" VALUES (1, 2, 'c', 'd', 'e', 'f');\n"
        'INSERT INTO "case" VALUES (3);\nINSERT INTO "weird""name;" (x) VALUES (4);\n'
    )
    assert [found.name for found in found.tables()] == ["Case", "case_1", 'weird"name;']
    assert [column.name for column in table(found, "Case").columns] == ["Id", "id_1", "CARR#", "a b", "select", "t.x"]
    assert table(found, "case_1").foreign_keys == (ForeignKey(("x",), "public", "Case", ("id_1",)),)
    assert rows(found, "Case") == [(1, 2, "c", "d", "e", "f")]
    assert rows(found, 'weird"name;') == [(4,)]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "is empty"),
        (b" \n\n", "is empty"),
        (b"-- only a comment\n", "holds no statement"),
        (b"PGDMP\x01\x0e\x00", "custom format; make it plain SQL with 'pg_restore"),
        (b"SQLite format 3\x00" + bytes(100), "is an SQLite database"),
        (b"PRAGMA foreign_keys=OFF;\nBEGIN TRANSACTION;\nCREATE TABLE t(a);\n", "is an SQLite dump"),
        (b"-- MySQL dump 10.13  Distrib 8.0\n", "is a MySQL dump"),
        (b"-- MariaDB dump 10.19\n", "is a MySQL dump"),
        (b"CREATE TABLE `t` (\n  `a` int(11)\n) ENGINE=InnoDB;\n", "is a MySQL dump"),
        (b"DROP TABLE IF EXISTS `t`;\n", "is a MySQL dump"),
        (b"toc.dat".ljust(257, b"\x00") + b"ustar", "is a tar archive"),
        (b"\x00\x01\x02\x03", "is not SQL text"),
        (b"\x1f\x8b\x08garbage", "damaged or cut off"),
        (gzip.compress(b"PGDMP\x01", mtime=0), "custom format"),
        (b"CREATE TABLE t (a integer);\nCOPY t (a) FROM stdin;\n1\n2\n", "starts in line 3 has no end marker '\\.': the file is cut off in line 5"),
        (b"CREATE TABLE t (a integer);\nCOPY t (a) FROM stdin;\n1\n2", "cut off in line 4"),
        (b"CREATE TABLE t (a integer);\nCOPY t (a) FROM stdin;", "no end marker"),
        (b"CREATE TABLE t (a text);\nINSERT INTO t VALUES ('abc\n", "cut off in line 3"),
        (b"CREATE TABLE t (a text);\nINSERT INTO t VALUES ('abc')", "cut off"),
        (b"CREATE TABLE t (a text);\nINSERT INTO t VALUES", "cut off"),
        (b"SELECT 1;\n\nCREATE TABLE t (a text,\n b", "the statement that starts in line 3 has no end"),
        (b"CREATE FUNCTION f() AS $$ x", "the statement that starts in line 1 has no end"),
        (b"CREATE TABLE t (a integer);\nUPDATE t SET a = 1;\n", "line 2 changes rows in a way that only a server can follow (UPDATE t SET a = 1;...)"),
        (b"CREATE TABLE t (a integer);\nDELETE FROM t;\n", "line 2 changes rows"),
        (b"CREATE TABLE t (a integer);\nINSERT INTO t SELECT 1;\n", "line 2 changes rows"),
        (b"CREATE TABLE t AS SELECT 1;\n", "line 1 makes a table from a query"),
        (b"CREATE TABLE t (a integer);\nALTER TABLE t RENAME COLUMN a TO b;\n", "line 2 renames something of public.t"),
        (b"CREATE TABLE t (a integer);\nCOPY t FROM '/etc/passwd';\n", "line 2 is not the kind that pg_dump writes"),
        (b"CREATE TABLE t (a integer);\nCOPY t FROM stdin WITH (FORMAT csv);\n1\n\\.\n", "line 2 is not the kind"),
        (b"\\i other.sql\n", "line 1 refers to another file"),
        (b"CREATE TABLE t (a integer);\nCOPY t (b) FROM stdin;\n1\n\\.\n", "have a column 'b' that the table does not have"),
        (b"CREATE TABLE t (a integer);\nINSERT INTO t VALUES (1, 2);\n", "gives 2 values to the 1 columns of public.t"),
        (b"CREATE TABLE [dbo].[t] (a int);\n", "the statement in line 1 does not read as PostgreSQL"),
        (b"SET client_encoding = 'EUC_TW';\nSELECT 1;\n", "encoding EUC_TW, which cannot be read"),
        (b"\\connect a\nCREATE TABLE t (x integer);\n\\connect b\nCREATE TABLE t (x integer);\n", "several databases ('a' and 'b')"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_refused_in_one_plain_sentence(dump: Any, content: bytes, expected: str) -> None:
    message = refusal(dump(content))
    assert expected in message
    assert message.startswith("source 'dump': ")
    assert "dump.sql" in message


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("1\tx\n2\n3\ty\n", "line 4 has 1 values where the table has 2 columns"),
        ("1\tx\n2\ty\tz\n", "line 4 has 3 values where the table has 2 columns"),
        ("1\tx\n\n3\ty\n", "line 4 is empty where a row of 2 values should stand"),
        ("1\tx\n2\t\udcff\n", "line 4 is not UTF-8 text"),
    ],
)
def test_a_damaged_row_is_named_by_its_line(dump: Any, content: str, expected: str) -> None:
    text = f"CREATE TABLE t (a integer, b text);\nCOPY t (a, b) FROM stdin;\n{content}\\.\n"
    found = dump(text.encode(errors="surrogateescape"))
    with pytest.raises(SourceUnreachable, match=expected):
        rows(found, "t")


def test_a_missing_file_and_a_folder_are_named(tmp_path: Path) -> None:
    assert "there is no file" in refusal(source(tmp_path / "absent.sql"))
    assert "is a folder" in refusal(source(tmp_path))
    (tmp_path / "toc.dat").touch()
    assert "directory format" in refusal(source(tmp_path))


def test_an_ascii_database_may_hold_bytes_of_any_encoding(dump: Any) -> None:
    found = dump(
        b"SET client_encoding = 'SQL_ASCII';\nCREATE TABLE t (a text, b integer);\nCOPY t (a, b) FROM stdin;\n"
        b"latin \xe4\t1\nutf8 \xc3\xa4\t2\n\\.\n"
    )
    assert rows(found, "t") == [("latin ä", 1), ("utf8 ä", 2)]


def test_only_the_columns_asked_for_are_read_in_their_order_and_no_more_rows_than_the_limit(dump: Any) -> None:
    found = dump(MIXED)
    read = found.read(table(found, "t"), Scan(columns=("n", "a"), limit=2)).read_all()
    assert read.column_names == ["n", "a"]
    assert read.to_pylist() == [{"n": "1.50", "a": "1"}, {"n": "0.01", "a": "2"}]
    assert rows(found, "i", Scan(columns=("txt",), limit=3)) == [(row[1],) for row in I_ROWS[:3]]
    assert rows(found, "i", Scan(limit=0)) == []
    assert rows(found, "i", Scan(limit=100)) == I_ROWS


def test_a_limit_reads_little_of_a_large_file(dump: Any) -> None:
    lines = "".join(f"{number}\tsome text\n" for number in range(200_000))
    found = dump(f"CREATE TABLE t (a integer, b text);\nCOPY t (a, b) FROM stdin;\n{lines}\\.\n")
    listed = table(found, "t")
    assert listed.rows == 200_000
    tracemalloc.start()
    assert found.read(listed, Scan(limit=5)).read_all().num_rows == 5
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < len(lines) // 2


def test_memory_stays_bounded_however_long_the_table(tmp_path: Path) -> None:
    path = tmp_path / "long.sql"
    block = "".join(f"{number}\t{'x' * 90}\n" for number in range(10_000))
    with path.open("w") as file:
        file.write("CREATE TABLE t (a integer, b text);\nCOPY t (a, b) FROM stdin;\n")
        for _ in range(60):
            file.write(block)
        file.write("\\.\n")
    found = source(path)
    tracemalloc.start()
    before = pa.total_allocated_bytes()
    listed = table(found, "t")
    count, arrow_peak = 0, 0
    for batch in found.read(listed):
        count += batch.num_rows
        arrow_peak = max(arrow_peak, pa.total_allocated_bytes() - before)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == listed.rows == 600_000
    assert path.stat().st_size > 50_000_000
    assert peak < 30_000_000
    assert arrow_peak < 30_000_000


def test_a_value_larger_than_the_limit_is_refused_and_the_rest_still_read(dump: Any) -> None:
    limits = Limits(cell_bytes=1_000)
    big = "x" * 1_500
    text = (
        f"CREATE TABLE t (a integer, b text);\nCREATE TABLE u (a integer);\nCOPY t (a, b) FROM stdin;\n1\t{big}\n\\.\n"
    )
    found = dump(text + "COPY u (a) FROM stdin;\n7\n\\.\n", limits=limits)
    with pytest.raises(
        LimitReached, match=r"column b of table public\.t has a value of 1,500 bytes.*limits\.cell_bytes"
    ):
        found.read(table(found, "t")).read_all()
    assert rows(found, "t", Scan(columns=("a",))) == [(1,)]
    assert rows(found, "u") == [(7,)]
    found = dump(f"CREATE TABLE t (b text[]);\nINSERT INTO t VALUES ('{{{big}}}');\n", limits=limits)
    with pytest.raises(LimitReached, match=r"column b of table public\.t"):
        found.read(table(found, "t")).read_all()


def test_a_row_too_long_to_hold_does_not_hide_the_other_tables(dump: Any) -> None:
    huge = "x" * 12_000_000
    text = f"CREATE TABLE t (a integer, b text);\nCREATE TABLE u (a integer);\nCOPY t (a, b) FROM stdin;\n1\ty\n2\t{huge}\n3\tz\n\\.\n"
    found = dump(text + "COPY u (a) FROM stdin;\n7\n\\.\n", limits=Limits(cell_bytes=1_000))
    assert [(table.name, table.rows) for table in found.tables()] == [("t", 3), ("u", 1)]
    with pytest.raises(LimitReached, match=r"table public\.t has a row in line 5"):
        found.read(table(found, "t")).read_all()
    assert rows(found, "u") == [(7,)]


def test_the_token_changes_with_the_file_and_only_then(dump: Any) -> None:
    found = dump(MIXED)
    listed = table(found, "t")
    token = found.change_token(listed)
    assert token == found.change_token(table(found, "i")) == found.fingerprint()
    assert rows(found, "t")
    assert found.change_token(listed) == token
    path = found.settings.path
    for text in (
        MIXED.replace("\\.\n", "4\tnew\t\\N\t4\t\\N\n\\.\n", 1),
        MIXED.replace("2020-01-01 00:00:00\t1.50", "2021-01-01 00:00:00\t1.50"),
        MIXED.replace("3\t\tinfinity\t2\t{}\n", ""),
        MIXED.replace("    tags text[]", "    added integer,\n    tags text[]"),
    ):
        previous = found.change_token(listed)
        path.write_text(text)
        assert found.change_token(listed) != previous


def test_a_table_that_is_gone_or_has_another_shape_is_named(dump: Any) -> None:
    found = dump(MIXED)
    t, i = found.tables()
    path = found.settings.path
    path.write_text(MIXED.replace("public.t ", "public.renamed ").replace("ok boolean", "ok text"))
    with pytest.raises(TableVanished, match=r"table public\.t is no longer in"):
        found.read(t)
    with pytest.raises(TableVanished, match=r"column ok of table public\.i is no longer in"):
        found.read(i)
    assert found.read(i, Scan(columns=("id",))).read_all().num_rows == 7
    path.unlink()
    with pytest.raises(SourceUnreachable, match="there is no file"):
        found.read(i)


def test_a_file_that_changes_while_it_is_read_is_noticed(dump: Any) -> None:
    found = dump(MIXED)
    reader = found.read(table(found, "i"))
    reader.read_next_batch()
    os.utime(found.settings.path, ns=(1, 1))
    with pytest.raises(SourceUnreachable, match="changed while it was read"):
        reader.read_all()


def test_no_file_stays_open(dump: Any) -> None:
    found = dump(MIXED)
    folder = Path("/proc/self/fd")
    if not folder.exists():
        pytest.skip("no list of open files on this system")

    def open_files() -> int:
        return sum(1 for link in folder.iterdir() if link.exists() and link.readlink() == found.settings.path)

    reader = found.read(table(found, "i"))
    reader.read_next_batch()
    assert found.change_token(table(found, "t"))
    assert open_files() == 1
    found.close()
    assert open_files() == 0
    found.close()
    assert rows(found, "i") == I_ROWS
    assert open_files() == 0
    with pytest.raises(SourceUnreachable):
        dump("CREATE TABLE t (a", "broken.sql").tables()
    assert open_files() == 0


def test_a_source_of_this_kind_is_opened_by_its_name(dump: Any) -> None:
    found = dump(MIXED)
    opened = open_source(found.settings)
    assert isinstance(opened, PostgreSQLDump)
    assert opened.pushes == {"columns", "limit"}


TEXT = st.text(st.characters(blacklist_categories=("Cs",), blacklist_characters="\x00"), max_size=12)
CONTROL = {"\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t", "\v": "v", "\\": "\\"}


def copy_text(value: str | None) -> str:
    return "\\N" if value is None else "".join(f"\\{CONTROL[c]}" if c in CONTROL else c for c in value)


def sql_text(value: str | None) -> str:
    return "NULL" if value is None else "'" + value.replace("'", "''") + "'"


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.none() | TEXT, st.none() | TEXT, st.none() | st.integers()), max_size=8))
def test_any_text_survives_every_form(tmp_path: Path, values: list[tuple[str | None, str | None, int | None]]) -> None:
    texts = [(a, b, None if c is None else str(c)) for a, b, c in values]
    definition = "CREATE TABLE t (a text, b text, c numeric);\n"
    lines = "".join("\t".join(map(copy_text, row)) + "\n" for row in texts)
    tuples = [f"({sql_text(a)}, {sql_text(b)}, {'NULL' if c is None else c})" for a, b, c in texts]
    forms = [
        f"COPY t (a, b, c) FROM stdin;\n{lines}\\.\n",
        "".join(f"INSERT INTO t VALUES {row};\n" for row in tuples),
        "INSERT INTO t VALUES\n\t" + ",\n\t".join(tuples) + ";\n" if tuples else "",
    ]
    for form in forms:
        path = tmp_path / "dump.sql"
        path.write_bytes((definition + form).encode())
        found = source(path)
        (listed,) = found.tables()
        assert listed.rows == len(texts)
        assert [tuple(row.values()) for row in found.read(listed).read_all().to_pylist()] == texts


def array_text(items: list[str | None]) -> str:
    quoted = ("NULL" if item is None else '"' + item.replace("\\", "\\\\").replace('"', '\\"') + '"' for item in items)
    return "{" + ",".join(quoted) + "}"


@given(st.lists(st.none() | TEXT, max_size=6))
def test_array_values_split_into_their_elements(items: list[str | None]) -> None:
    assert array_elements(array_text(items)) == items
    assert array_elements("[0:5]=" + array_text(items)) == items


SHARED = Path(__file__).parents[3] / "shared" / "environments"


@pytest.mark.shared
@pytest.mark.skipif(not SHARED.exists(), reason="the shared environments are not here")
@pytest.mark.parametrize("name", ["bookreview/query_dataset/books_info", "crmarenapro/query_dataset/support"])
def test_dumps_of_the_development_environments_equal_what_a_server_loaded(name: str) -> None:
    found = source(SHARED / f"{name}.sql")
    loaded = duckdb.connect(str(SHARED / f"{name}.loaded.duckdb"), read_only=True)
    names = [row[0] for row in loaded.sql("SELECT table_name FROM information_schema.tables").fetchall()]
    assert sorted(table.name for table in found.tables()) == sorted(names)
    for table in found.tables():
        expected = loaded.sql(f'SELECT * FROM main."{table.name}"')
        assert [column.name for column in table.columns] == expected.columns
        assert [column.type for column in table.columns] == [str(kind) for kind in expected.types]
        assert rows(found, table.name) == expected.fetchall()
