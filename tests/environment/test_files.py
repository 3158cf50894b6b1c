"""Files and folders as a source, read by the real DuckDB: what is listed is what comes out, and no text is lost."""

from __future__ import annotations

import datetime
import gzip
import json
import os
import random
import zipfile
from decimal import Decimal
from pathlib import Path

import duckdb
import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coset.environment.scan import Aggregate, All, Among, Any, Comparison, Null, Order, Scan
from coset.environment.source import Limits, SourceSettings, Table
from coset.environment.sources import open_source
from coset.environment.sources.files.source import Files
from coset.errors import LimitReached, SourceUnreachable, TableVanished

EVERYTHING_IN_PLACE = Limits(snapshot_bytes=-1)
PLAIN = duckdb.connect()
"""A DuckDB as a session has it, to read in place with."""


def files(location: Path, limits: Limits | None = None) -> Files:
    source = open_source(SourceSettings(name="here", location=str(location), kind="files", limits=limits or Limits()))
    assert isinstance(source, Files)
    return source


def write(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def types(table: Table) -> dict[str, str]:
    return {column.name: column.type for column in table.columns}


def rows(source: Files, table: Table, scan: Scan | None = None) -> list[tuple]:
    reader = source.read(table, scan) if scan else source.read(table)
    read = reader.read_all()
    return list(zip(*(column.to_pylist() for column in read.columns), strict=True)) if read.num_columns else []


def one(path: Path, limits: Limits | None = None) -> tuple[Files, Table]:
    source = files(path, limits)
    (table,) = source.tables()
    return source, table


def csv_of(tmp_path: Path, content: str | bytes, name: str = "t.csv") -> tuple[dict[str, str], list[tuple]]:
    """Types and rows of a CSV file, which must be the same when it is read in place."""
    source, table = one(write(tmp_path / name, content))
    read = rows(source, table)
    assert table.rows == len(read) and table.rows_exact
    assert_same_in_place(tmp_path / name, table, read)
    source.close()
    return types(table), read


def assert_same_in_place(path: Path, table: Table, read: list[tuple]) -> None:
    source, again = one(path, EVERYTHING_IN_PLACE)
    assert again.columns == table.columns
    place = source.in_place(again)
    if place is not None:
        described = PLAIN.execute(f"DESCRIBE SELECT * FROM {place.sql}").fetchall()
        assert [(name, kind) for name, kind, *_ in described] == list(types(table).items())
        result = PLAIN.sql(f"SELECT * FROM {place.sql}").to_arrow_table()
        assert repr(list(zip(*(column.to_pylist() for column in result.columns), strict=True))) == repr(read)
    source.close()


# CSV: types that lose nothing


@pytest.mark.parametrize(
    ("values", "type_name"),
    [
        (["1", "-2", "0"], "BIGINT"),
        (["9007199254740993", "9223372036854775807"], "BIGINT"),
        (["9223372036854775808", "1"], "VARCHAR"),
        (["00123", "123"], "VARCHAR"),
        (["+4930123456", "12"], "VARCHAR"),
        (["0x1F", "1"], "VARCHAR"),
        (["1_000", "1"], "VARCHAR"),
        (["1.50", "-2", ".5", "1e-07"], "DOUBLE"),
        (["1.5", "nan", "-inf"], "DOUBLE"),
        (["1.5", "12345678901234567890"], "VARCHAR"),
        (["1.5", "007.5"], "VARCHAR"),
        (["12E4", "13E5"], "VARCHAR"),
        (["1.5e999", "1.5"], "VARCHAR"),
        (["1,5", "2,5"], "VARCHAR"),
        (["1", "N/A"], "VARCHAR"),
        (["1", "-"], "VARCHAR"),
        (["1", "NULL"], "VARCHAR"),
        (["true", "False"], "BOOLEAN"),
        (["true", "yes"], "VARCHAR"),
        (["t", "f"], "VARCHAR"),
        (["2024-01-31", "1999-12-01"], "DATE"),
        (["2024-02-30", "2024-01-01"], "VARCHAR"),
        (["2024-1-1", "2024-01-01"], "VARCHAR"),
        (["01/02/2024", "03/04/2024"], "VARCHAR"),
        (["13/02/2024", "14/02/2024"], "VARCHAR"),
        (["2024-01-31", "31.01.2024"], "VARCHAR"),
        (["0000-00-00", "2024-01-01"], "VARCHAR"),
        (["2024-01-31 10:00:00", "2024-01-31T10:00:00.123456", "2024-01-31"], "TIMESTAMP"),
        (["2024-01-31 10:00:00.123456789"], "VARCHAR"),
        (["2024-01-31T10:00:00Z", "2024-01-31 10:00:00+02"], "TIMESTAMP WITH TIME ZONE"),
        (["2024-01-31T10:00:00Z", "2024-01-31 10:00:00"], "VARCHAR"),
        (["10:11:12", "00:00:00.5"], "TIME"),
        (["25:00:00"], "VARCHAR"),
        (["09:30", "10:30"], "VARCHAR"),
    ],
)
def test_a_csv_column_gets_a_type_only_if_every_value_reads_back_the_same(tmp_path, values, type_name):
    content = "name,value\n" + "".join(f'x,"{value}"\n' for value in values)
    found, read = csv_of(tmp_path, content)
    assert found == {"name": "VARCHAR", "value": type_name}
    if type_name == "VARCHAR":
        assert [value for _, value in read] == values


def test_a_late_text_value_makes_the_whole_column_text(tmp_path):
    content = "id,code\n" + "".join(f"{number},{number}\n" for number in range(30_000)) + "30000,0x\n"
    found, read = csv_of(tmp_path, content)
    assert found == {"id": "BIGINT", "code": "VARCHAR"}
    assert read[-1] == (30_000, "0x") and read[7] == (7, "7")


def test_blanks_around_numbers_are_no_part_of_them(tmp_path):
    found, read = csv_of(tmp_path, "a, b, c\n1, 2.5, x\n 2 , 3 , y\n")
    assert found == {"a": "BIGINT", "b": "DOUBLE", "c": "VARCHAR"}
    assert read == [(1, 2.5, " x"), (2, 3.0, " y")]


def test_empty_values_are_null_whether_quoted_or_not(tmp_path):
    found, read = csv_of(tmp_path, 'a,b,c\n1,,""\n,x,\n')
    assert found == {"a": "BIGINT", "b": "VARCHAR", "c": "VARCHAR"}
    assert read == [(1, None, None), (None, "x", None)]


# CSV: how files are written


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_separators_and_line_ends_are_found(tmp_path, separator, line_end):
    lines = [["id", "text", "price"], ["1", '"a\nb ""c"" ,;|"', "1.5"], ["2", "ü", "2"]]
    found, read = csv_of(tmp_path, line_end.join(separator.join(line) for line in lines) + line_end)
    assert found == {"id": "BIGINT", "text": "VARCHAR", "price": "DOUBLE"}
    assert read == [(1, 'a\nb "c" ,;|', 1.5), (2, "ü", 2.0)]


def test_decimal_commas_stay_text_between_semicolons(tmp_path):
    found, read = csv_of(tmp_path, "a;b\n1,5;x\n2,25;y\n")
    assert found == {"a": "VARCHAR", "b": "VARCHAR"} and read == [("1,5", "x"), ("2,25", "y")]


def test_lines_that_end_in_different_ways_are_read_whole(tmp_path):
    found, read = csv_of(tmp_path, b'a,b\r\n1,"x\r\ny"\n2,z\r\n')
    assert found == {"a": "BIGINT", "b": "VARCHAR"} and read == [(1, "x\r\ny"), (2, "z")]


def test_backslash_escapes_and_unquoted_tab_separated_text_are_read(tmp_path):
    assert csv_of(tmp_path, 'a,b\n1,"x \\"y\\", z"\n2,w\n')[1] == [(1, 'x "y", z'), (2, "w")]
    assert csv_of(tmp_path, 'a\tb\n1\t"Tis\n2\tw\n', "u.tsv")[1] == [(1, '"Tis'), (2, "w")]
    assert csv_of(tmp_path, 'a,b\n"C:\\",1\n"D:\\",2\n', "w.csv")[1] == [("C:\\", 1), ("D:\\", 2)]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32", "cp1252"])
def test_encodings_are_found(tmp_path, encoding):
    found, read = csv_of(tmp_path, "größe,preis\nklein,5 €\ngroß,6 €\n".encode(encoding))
    assert found == {"größe": "VARCHAR", "preis": "VARCHAR"} and read == [("klein", "5 €"), ("groß", "6 €")]


def test_a_late_byte_of_another_encoding_is_read_as_such(tmp_path):
    content = b"a,b\n" + b"1,plain\n" * 20_000 + "2,für\n".encode("latin-1")
    assert csv_of(tmp_path, content)[1][-1] == (2, "für")


def test_damaged_utf8_is_refused_instead_of_garbled(tmp_path):
    path = write(tmp_path / "t.csv", b"a,b\n" + "1,für\n".encode() * 20_000 + b"2,f\xffr\n")
    with pytest.raises(SourceUnreachable, match="UTF-8 text with 1 damaged character"):
        files(path).tables()


def test_odd_headers_become_distinct_names(tmp_path):
    found, read = csv_of(tmp_path, 'id,ID,,id,"a ""b""",select,CARR#,\n1,2,3,4,5,6,7,8\n')
    assert list(found) == ["id", "ID_1", "column_3", "id_2", 'a "b"', "select", "CARR#", "column_8"]
    assert read == [(1, 2, 3, 4, 5, 6, 7, 8)]


def test_a_file_without_header_keeps_its_first_row(tmp_path):
    found, read = csv_of(tmp_path, "1,ann,2024-01-01\n2,bob,2024-01-02\n")
    assert found == {"column_1": "BIGINT", "column_2": "VARCHAR", "column_3": "DATE"} and len(read) == 2


def test_a_header_of_years_or_of_pandas_numbers_is_a_header(tmp_path):
    assert list(csv_of(tmp_path, "country,2019,2020,2021\nA,1,2,3\n")[0]) == ["country", "2019", "2020", "2021"]
    assert list(csv_of(tmp_path, ",0,1\n0,5,6\n", "p.csv")[0]) == ["column_1", "0", "1"]


def test_a_header_alone_is_a_table_without_rows(tmp_path):
    for name, content in (("a.csv", "id,name\n"), ("b.csv", "id,name")):
        assert csv_of(tmp_path, content, name) == ({"id": "VARCHAR", "name": "VARCHAR"}, [])


def test_null_bytes_and_one_column_files_are_read(tmp_path):
    assert csv_of(tmp_path, b"a,b\n1,x\x00y\n")[1] == [(1, "x\x00y")]
    assert csv_of(tmp_path, "name\nann\nbob\n", "n.csv") == ({"name": "VARCHAR"}, [("ann",), ("bob",)])


@pytest.mark.parametrize(
    ("row", "reason"),
    [("3", "line 4 has 1 values where 2 are expected"), ("3,z,w", "line 4 has 3 values where 2 are expected"),
     ('3,"z"w', "line 4 has a quoted value that does not end properly")],
)  # fmt: skip
def test_an_uneven_row_refuses_the_file_with_its_line(tmp_path, row, reason):
    path = write(tmp_path / "t.csv", f"a,b\n1,x\n2,y\n{row}\n4,v\n")
    with pytest.raises(SourceUnreachable, match=reason) as error:
        files(path).tables()
    assert str(error.value) == f"source 'here': the file t.csv {reason}"


def test_a_long_line_is_read_up_to_the_limit(tmp_path):
    path = write(tmp_path / "t.csv", "a,b\n1," + "x" * 2_500_000 + "\n2,y\n")
    source, table = one(path)
    assert [len(text) for _, text in rows(source, table)] == [2_500_000, 1]
    with pytest.raises(LimitReached, match=r"line 2 has 2500002 bytes.*cell_bytes"):
        files(path, Limits(cell_bytes=2_200_000)).tables()
    with pytest.raises(LimitReached, match="column 'b' of 't' has a value of 5000 bytes, and the limit cell_bytes is"):
        source, table = one(write(tmp_path / "s" / "t.csv", "a,b\n1," + "x" * 5000 + "\n"), Limits(cell_bytes=1000))
        rows(source, table)


@pytest.mark.parametrize("content", ["", "\n\n", "\ufeff"])
def test_an_empty_csv_file_is_refused(tmp_path, content):
    with pytest.raises(SourceUnreachable, match=r"the file t\.csv is empty"):
        files(write(tmp_path / "t.csv", content)).tables()


def test_compressed_text_is_read(tmp_path):
    content = b"id,name\n1,ann\n2,bob\n"
    write(tmp_path / "a.csv.gz", gzip.compress(content))
    write(tmp_path / "b.csv.zst", pa.compress(content, "zstd", asbytes=True))
    write(tmp_path / "c.jsonl.gz", gzip.compress(b'{"id": 1}\n{"id": 2}\n'))
    write(tmp_path / "d.json.zst", pa.compress(b'[{"id": 1}]', "zstd", asbytes=True))
    write(tmp_path / "e.csv.gz", gzip.compress("id,name\n1,für\n".encode("cp1252")))
    source = files(tmp_path)
    assert {table.name: rows(source, table) for table in source.tables()} == {
        "a": [(1, "ann"), (2, "bob")], "b": [(1, "ann"), (2, "bob")], "c": [(1,), (2,)], "d": [(1,)], "e": [(1, "für")],
    }  # fmt: skip


@pytest.mark.parametrize("name", ["t.csv.gz", "t.jsonl.gz", "t.csv.zst"])
def test_damaged_compression_is_refused_plainly(tmp_path, name):
    content = gzip.compress(b'{"a": 1}\n' * 1000)[:-20] if name.endswith("gz") else b"not compressed"
    with pytest.raises(SourceUnreachable, match="data is damaged"):
        files(write(tmp_path / name, content)).tables()


_TEXTS = st.sampled_from(
    ["1", "-7", "007", "2.50", "1e5", "1e-5", "N/A", "-", "2024-01-31", "2024-02-30", "10:00:00", "true", "TRUE", "nan",
     "9007199254740993", "99999999999999999999", " 5", "x y", 'q"q', "a,b", "line\nbreak", "ä", "+1", "0", ""]
)  # fmt: skip


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(_TEXTS, _TEXTS, _TEXTS, _TEXTS), min_size=1, max_size=4))
def test_no_text_is_lost_in_any_mix_of_values(tmp_path_factory, values):
    folder = tmp_path_factory.mktemp("mix")
    quoted = [[('"' + text.replace('"', '""') + '"') for text in row] for row in values]
    found, read = csv_of(folder, "one,two,three,four\n" + "".join(",".join(row) + "\n" for row in quoted))
    for index, (name, type_name) in enumerate(found.items()):
        for given_row, read_row in zip(values, read, strict=True):
            text, value = given_row[index], read_row[index]
            if text == "":
                assert value is None
            elif type_name == "VARCHAR":
                assert value == text, name
            else:
                assert value is not None
                again = PLAIN.execute(f"SELECT CAST(CAST(? AS {type_name}) AS VARCHAR)", [text]).fetchone()[0]
                back = PLAIN.execute(f"SELECT CAST(CAST(? AS {type_name}) AS VARCHAR)", [value]).fetchone()[0]
                assert again == back
                if type_name == "BIGINT":
                    assert back == text.strip()


# JSON


def json_of(tmp_path: Path, content: str | bytes, name: str = "t.json") -> tuple[dict[str, str], list[tuple]]:
    return csv_of(tmp_path, content, name)


@pytest.mark.parametrize(
    ("content", "name"),
    [('[{"a": 1, "b": "x"}, {"a": 2, "b": null}]', "t.json"), ('{"a": 1, "b": "x"}\n{"a": 2}\n', "t.jsonl"),
     ('{"a": 1, "b": "x"}\n{"a": 2}\n', "t.ndjson"), ('{"a": 1, "b": "x"}\n{"a": 2}\n', "u.json"),
     ("\ufeff" + '[{"a": 1, "b": "x"}, {"a": 2}]', "t.json")],
)  # fmt: skip
def test_json_is_read_as_array_or_by_line(tmp_path, content, name):
    assert json_of(tmp_path, content, name) == ({"a": "BIGINT", "b": "VARCHAR"}, [(1, "x"), (2, None)])


def test_json_in_another_encoding_is_read(tmp_path):
    for name, encoding in (("a.json", "utf-16"), ("b.json", "cp1252")):
        assert json_of(tmp_path, '[{"a": "für €"}]'.encode(encoding), name)[1] == [("für €",)]


def test_nested_json_keeps_its_structure_and_its_text(tmp_path):
    content = '[{"s": {"d": "2024-01-01", "n": null}, "l": [1, 2]}, {"s": {"d": "2024-01-02", "n": null}, "l": []}]'
    found, read = json_of(tmp_path, content)
    assert found == {"s": "STRUCT(d VARCHAR, n JSON)", "l": "BIGINT[]"}
    assert read[0] == ({"d": "2024-01-01", "n": None}, [1, 2])


def test_one_object_is_one_row(tmp_path):
    found, read = json_of(tmp_path, '{"data": [{"a": 1}, {"a": 2}], "count": 2}')
    assert found == {"data": "STRUCT(a BIGINT)[]", "count": "BIGINT"} and len(read) == 1


def test_an_object_of_very_many_objects_is_one_map(tmp_path):
    found, read = json_of(tmp_path, json.dumps({f"k{number}": {"x": number} for number in range(400)}))
    assert found == {"json": "MAP(VARCHAR, STRUCT(x BIGINT))"} and len(read[0][0]) == 400


@pytest.mark.parametrize(
    ("values", "type_name"),
    [
        ([1, "x"], "JSON"),
        ([True, 1], "JSON"),
        ([1, 1.5], "DOUBLE"),
        ([9007199254740993, 9223372036854775807], "BIGINT"),
        ([9007199254740993, 18446744073709551615], "DECIMAL(38,0)"),
        ([9007199254740993, 1.5], "VARCHAR"),
        ([1, 184467440737095516150], "VARCHAR"),
        ([None, None], "VARCHAR"),
        (["2024-01-01", "2024-01-02"], "DATE"),
        (["2024-01-01", "N/A"], "VARCHAR"),
        (["01-02-2024", "03-04-2024"], "VARCHAR"),
        (["2024-01-01T10:00:00Z"], "TIMESTAMP WITH TIME ZONE"),
        (["2024-01-01 10:00:00.5", "2024-01-01T10:00:00"], "TIMESTAMP"),
        (["1", "2"], "VARCHAR"),
        (["7B0F9C7E-2F2E-4C7B-9F59-7E5D1D2F8C11"], "VARCHAR"),
        (["0012", "0013"], "VARCHAR"),
    ],
)
def test_json_values_keep_their_exact_meaning(tmp_path, values, type_name):
    found, read = json_of(tmp_path, json.dumps([{"v": value, "n": 1} for value in values]))
    assert found["v"] == type_name
    if type_name == "VARCHAR":
        assert [value for value, _ in read] == [None if value is None else str(value) for value in values]
    if type_name in {"BIGINT", "DECIMAL(38,0)"}:
        assert [int(value) for value, _ in read] == values


def test_long_integers_inside_objects_keep_the_column_as_json(tmp_path):
    found, read = json_of(tmp_path, '[{"o": {"i": 9007199254740993}}, {"o": {"i": 1.5}}]')
    assert found == {"o": "JSON"} and read[0] == ('{"i":9007199254740993}',)


def test_keys_that_differ_only_by_case_are_columns_of_their_own(tmp_path):
    found, read = json_of(tmp_path, '[{"Id": 1, "id": "x", "s": {"A": 1, "a": 2}}, {"ID": 2.5, "id_1": true}]')
    assert found == {"Id": "BIGINT", "id_1": "VARCHAR", "s": "JSON", "ID_2": "DOUBLE", "id_1_1": "BOOLEAN"}
    assert read == [(1, "x", '{"A":1,"a":2}', None, None), (None, None, None, 2.5, True)]


def test_values_that_are_no_objects_are_one_column(tmp_path):
    assert json_of(tmp_path, "[[1, 2], [3]]") == ({"json": "BIGINT[]"}, [([1, 2],), ([3],)])
    assert json_of(tmp_path, '[{"json": 1}, {"json": 2}]', "k.json") == ({"json": "BIGINT"}, [(1,), (2,)])


@pytest.mark.parametrize(
    ("content", "reason"),
    [('[{"a": 1}, {"a":', "is not valid JSON"), ('{"a": 1}\n{"a": }\n', "is not valid JSON"), ("", "is empty"),
     ("[]", "holds no rows"), ('[{"id": 1, "id": 2}]', "with the key 'id' twice")],
)  # fmt: skip
def test_broken_json_is_refused_with_a_plain_reason(tmp_path, content, reason):
    with pytest.raises(SourceUnreachable, match=reason) as error:
        files(write(tmp_path / "t.json", content)).tables()
    assert "\n" not in str(error.value) and len(str(error.value)) < 200


def test_a_json_value_above_the_limit_is_refused_when_read(tmp_path):
    source, table = one(write(tmp_path / "t.json", json.dumps([{"a": "x" * 5000}])), Limits(cell_bytes=1000))
    with pytest.raises(LimitReached, match="column 'a' of 't' has a value of 5000 bytes"):
        rows(source, table)


# Parquet


def test_parquet_types_come_as_they_are_and_are_read_in_place(tmp_path):
    moment = datetime.datetime(2024, 1, 2, 3, 4, 5, 678901)
    table = pa.table(
        {
            "small": pa.array([1, None], pa.int8()),
            "unsigned": pa.array([2**63, 1], pa.uint64()),
            "money": pa.array([Decimal("1.50"), Decimal("-0.05")], pa.decimal128(38, 2)),
            "moment": pa.array([moment, None], pa.timestamp("us")),
            "nanos": pa.array([1000, 2000], pa.timestamp("ns")),
            "zoned": pa.array([moment, None], pa.timestamp("us", "UTC")),
            "nested": pa.array([[{"a": 1}], []]),
            "map": pa.array([[("k", 1)], []], pa.map_(pa.string(), pa.int64())),
            "bytes": pa.array([b"\x00\xff", b""]),
            "word": pa.array(["a", "b"]).dictionary_encode(),
        }
    )
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=1)
    pq.write_table(
        pa.table({"old": pa.array([moment], pa.timestamp("ns"))}),
        tmp_path / "i.parquet",
        use_deprecated_int96_timestamps=True,
    )
    source = files(tmp_path)
    by_name = {table.name: table for table in source.tables()}
    assert types(by_name["t"]) == {
        "small": "TINYINT", "unsigned": "UBIGINT", "money": "DECIMAL(38,2)", "moment": "TIMESTAMP", "nanos": "TIMESTAMP_NS",
        "zoned": "TIMESTAMP WITH TIME ZONE", "nested": "STRUCT(a BIGINT)[]", "map": "MAP(VARCHAR, BIGINT)",
        "bytes": "BLOB", "word": "VARCHAR",
    }  # fmt: skip
    assert (by_name["t"].rows, by_name["t"].rows_exact) == (2, True)
    assert rows(source, by_name["i"])[0][0].replace(tzinfo=None) == moment
    place = source.in_place(by_name["t"])
    assert place is not None and place.sql.startswith("read_parquet(")
    direct = PLAIN.sql(f"SELECT * FROM {place.sql}").to_arrow_table()
    assert direct.to_pylist() == source.read(by_name["t"]).read_all().to_pylist()


def test_parquet_names_that_differ_by_case_keep_their_native_names(tmp_path):
    pq.write_table(
        pa.table([pa.array([1]), pa.array([2]), pa.array([3])], names=["id", "ID", "select"]), tmp_path / "t.parquet"
    )
    source, table = one(tmp_path / "t.parquet")
    assert [(column.name, column.native_name) for column in table.columns] == [
        ("id", "id"),
        ("ID_1", "ID"),
        ("select", "select"),
    ]
    assert rows(source, table, Scan(columns=("ID_1", "select"))) == [(2, 3)]


def test_damaged_parquet_is_refused_plainly(tmp_path):
    pq.write_table(pa.table({"a": list(range(1000))}), tmp_path / "t.parquet")
    whole = (tmp_path / "t.parquet").read_bytes()
    for content in (b"", b"PAR1", whole[:-30], b"garbage" * 100):
        with pytest.raises(SourceUnreachable, match=r"not a whole Parquet file|is damaged"):
            files(write(tmp_path / "b.parquet", content)).tables()
    source, table = one(write(tmp_path / "c.parquet", whole[:4] + b"\xff" * 300 + whole[304:]))
    with pytest.raises(SourceUnreachable, match=r"the file c\.parquet is"):
        rows(source, table)


# Excel


def workbook(path: Path, **sheets: list[list]) -> Path:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, cells in sheets.items():
        sheet = book.create_sheet(name)
        for row in cells:
            sheet.append(row)
    book.save(path)
    return path


def test_sheet_columns_get_the_type_that_holds_all_values(tmp_path):
    moment = datetime.datetime(2024, 1, 2, 3, 4, 5)
    path = workbook(
        tmp_path / "book.xlsx",
        Data=[
            [],
            [None, "id", "price", "ok", "day", "moment", "clock", "code", "mixed", "error", 2024, None, "none"],
            [None, 1, 1.5, True, datetime.date(2024, 1, 2), moment, datetime.time(1, 2, 3), "007", 1, "#N/A", 5, "z"],
            [],
            [None, 2, 2, False, datetime.date(2024, 1, 3), datetime.datetime(2024, 1, 3), None, "x", "one", 7, 6],
        ],
        Empty=[],
        Second=[["a"], [1]],
    )
    source = files(path)
    data, second = source.tables()
    assert (data.name, data.kind, data.rows, second.name) == ("Data", "sheet", 2, "Second")
    assert types(data) == {
        "id": "BIGINT", "price": "DOUBLE", "ok": "BOOLEAN", "day": "DATE", "moment": "TIMESTAMP", "clock": "TIME",
        "code": "VARCHAR", "mixed": "VARCHAR", "error": "VARCHAR", "2024": "BIGINT", "column_11": "VARCHAR", "none": "VARCHAR",
    }  # fmt: skip
    assert rows(source, data) == [
        (1, 1.5, True, datetime.date(2024, 1, 2), moment, datetime.time(1, 2, 3), "007", "1", "#N/A", 5, "z", None),
        (2, 2.0, False, datetime.date(2024, 1, 3), datetime.datetime(2024, 1, 3), None, "x", "one", "7", 6, None, None),
    ]
    assert source.in_place(data) is None
    assert rows(source, data, Scan(columns=("code",), where=Comparison("id", ">", 1))) == [("x",)]


def test_workbooks_in_a_folder_are_named_by_file_and_sheet(tmp_path):
    workbook(tmp_path / "one.xlsx", Sheet1=[["a"], [1]])
    workbook(tmp_path / "two#x.xlsx", A=[["a"], [1]], **{"b #1": [["a"], [2]]})
    source = files(tmp_path)
    tables = source.tables()
    assert [table.name for table in tables] == ["one", "two#x_A", "two#x_b #1"]
    assert rows(source, tables[2]) == [(2,)]
    assert source.change_token(tables[2]) == source.change_token(tables[1]) != source.change_token(tables[0])


def test_merged_cells_have_their_value_once(tmp_path):
    book = openpyxl.Workbook()
    for row in (["k", "v"], ["a", 1], [None, 2]):
        book.active.append(row)
    book.active.merge_cells("A2:A3")
    book.save(tmp_path / "t.xlsx")
    source, table = one(tmp_path / "t.xlsx")
    assert rows(source, table) == [("a", 1), (None, 2)]


def test_opendocument_sheets_are_read(tmp_path):
    spaces = " ".join(
        f'xmlns:{short}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
        for short, name in (("office", "office"), ("table", "table"), ("text", "text"))
    )
    texts = '<table:table-cell office:value-type="string"><text:p>{}</text:p></table:table-cell>'.format
    number = '<table:table-cell office:value-type="float" office:value="{}"/>'.format
    day = '<table:table-cell office:value-type="date" office:date-value="2024-01-02"/>'
    lines = ["".join(map(texts, ("id", "name", "day"))), number(7) + texts("ä") + day]
    body = "".join(f"<table:table-row>{line}</table:table-row>" for line in lines)
    with zipfile.ZipFile(tmp_path / "t.ods", "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("META-INF/manifest.xml", "<manifest/>")
        archive.writestr(
            "content.xml",
            f'<office:document-content {spaces}><office:body><office:spreadsheet><table:table table:name="S">{body}'
            "</table:table></office:spreadsheet></office:body></office:document-content>",
        )
    source, table = one(tmp_path / "t.ods")
    assert types(table) == {"id": "BIGINT", "name": "VARCHAR", "day": "DATE"}
    assert rows(source, table) == [(7, "ä", datetime.date(2024, 1, 2))]


@pytest.mark.parametrize(
    ("content", "reason"),
    [(b"", "is empty"), (b"garbage" * 50, "is not a readable workbook"),
     (bytes.fromhex("d0cf11e0a1b11ae1") + b"\0" * 3000, "is protected by a password")],
)  # fmt: skip
def test_an_unreadable_workbook_is_refused_plainly(tmp_path, content, reason):
    with pytest.raises(SourceUnreachable, match=reason):
        files(write(tmp_path / "t.xlsx", content)).tables()


def test_a_workbook_that_unpacks_too_large_or_is_empty_is_refused(tmp_path):
    path = workbook(tmp_path / "t.xlsx", A=[["a"], [1]])
    with pytest.raises(LimitReached, match=r"unpacks to .* snapshot_bytes"):
        files(path, Limits(snapshot_bytes=100)).tables()
    with pytest.raises(SourceUnreachable, match="no sheet with anything in it"):
        files(workbook(tmp_path / "e.xlsx", A=[])).tables()


def test_a_value_in_the_last_cell_of_a_sheet_is_refused_before_it_takes_all_memory(tmp_path):
    book = openpyxl.Workbook()
    book.active["A1"], book.active["XFD1048576"] = "a", 1
    book.save(tmp_path / "t.xlsx")
    with pytest.raises(LimitReached, match="reaches over 17179869184 cells"):
        files(tmp_path / "t.xlsx").tables()


# Folders


def test_each_file_is_a_table_named_by_its_path(tmp_path):
    write(tmp_path / "orders.csv", "a\n1\n")
    write(tmp_path / "2024" / "orders.csv", "a\n2\n")
    write(tmp_path / "2024" / "Q1" / "x y.json", '[{"a": 3}]')
    source = files(tmp_path)
    assert {table.name: rows(source, table) for table in source.tables()} == {
        "2024_Q1_x y": [(3,)], "2024_orders": [(2,)], "orders": [(1,)],
    }  # fmt: skip


def test_other_and_broken_files_are_left_out_with_the_reason(tmp_path):
    write(tmp_path / "good.csv", "a,b\n1,2\n")
    write(tmp_path / "bad.csv", "a,b\n1\n")
    write(tmp_path / "same.csv", "a,b\n3,4\n")
    for name in (".hidden.csv", "notes.md", "page.pdf", "x.txt", "x.yaml", "x.bin", "~$good.xlsx", "bad.parquet"):
        write(tmp_path / name, "x")
    write(tmp_path / ".git" / "t.csv", "a\n1\n")
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "gone.csv").symlink_to(tmp_path / "nowhere.csv")
    (tmp_path / "loop").symlink_to(tmp_path, target_is_directory=True)
    source = files(tmp_path)
    assert [table.name for table in source.tables()] == ["good", "same"]
    reasons = {path.name: reason for path, reason in source.skipped}
    assert reasons["bad.csv"] == "line 2 has 1 values where 2 are expected"
    assert reasons["bad.parquet"].startswith("is not a whole Parquet file")
    assert reasons["pipe.csv"] == "is not a regular file" and reasons["gone.csv"].startswith("cannot be opened")
    assert reasons[".hidden.csv"] == "is hidden" and reasons["notes.md"] == "is not a kind of file that holds tables"
    assert set(reasons) == {
        "bad.csv", "bad.parquet", "pipe.csv", "gone.csv", ".hidden.csv", "notes.md", "page.pdf", "x.txt", "x.yaml", "x.bin",
        "~$good.xlsx",
    }  # fmt: skip


def test_a_place_without_readable_files_says_so(tmp_path):
    (tmp_path / "empty").mkdir()
    write(tmp_path / "other" / "a.md", "x")
    with pytest.raises(SourceUnreachable, match=r"empty is empty"):
        files(tmp_path / "empty").tables()
    with pytest.raises(SourceUnreachable, match=r"no file that can be read as a table \(a.md is not a kind"):
        files(tmp_path / "other").tables()
    with pytest.raises(SourceUnreachable, match="does not exist"):
        files(tmp_path / "nowhere").tables()
    with pytest.raises(SourceUnreachable, match=r"a.md is not a kind of file that holds tables; known are .*\.csv"):
        files(tmp_path / "other" / "a.md").tables()


def test_numbered_parts_with_the_same_columns_are_one_table(tmp_path):
    for number in range(3):
        write(tmp_path / "orders" / f"part-{number:04}.csv", f"id,code\n{number},{number}\n")
        write(tmp_path / "plain" / f"{number + 1}.jsonl", f'{{"id": {number}}}\n')
        write(tmp_path / "sales" / f"sales_{number}.csv", f"id\n{number}\n")
        (tmp_path / "events").mkdir(exist_ok=True)
        name = f"part-{number:05}-1a2b3c4d-1a2b-1a2b-1a2b-1a2b3c4d5e6f-c000.snappy.parquet"
        pq.write_table(pa.table({"id": [number]}), tmp_path / "events" / name)
    write(tmp_path / "orders" / "part-0003.csv", "id,code\n3,x3\n")
    source = files(tmp_path)
    tables = {table.name: table for table in source.tables()}
    assert {name: table.rows for name, table in tables.items()} == {"events": 3, "orders": 4, "plain": 3, "sales": 3}
    assert types(tables["orders"]) == {"id": "BIGINT", "code": "VARCHAR"}
    assert rows(source, tables["orders"]) == [(0, "0"), (1, "1"), (2, "2"), (3, "x3")]
    assert sorted(rows(source, tables["events"])) == [(0,), (1,), (2,)]


def test_files_whose_numbers_mean_something_or_whose_columns_differ_stay_apart(tmp_path):
    for name in ("2023", "2024"):
        write(tmp_path / "years" / f"{name}.csv", "a\n1\n")
        write(tmp_path / "y" / f"sales_{name}.csv", "a\n1\n")
    for name in ("600000", "600001"):
        write(tmp_path / "codes" / f"{name}.csv", "a\n1\n")
    write(tmp_path / "mixed" / "part-1.csv", "a\n1\n")
    write(tmp_path / "mixed" / "part-2.csv", "b\n1\n")
    assert [table.name for table in files(tmp_path).tables()] == [
        "codes_600000", "codes_600001", "mixed_part-1", "mixed_part-2", "y_sales_2023", "y_sales_2024", "years_2023", "years_2024",
    ]  # fmt: skip


def test_a_broken_part_leaves_out_the_whole_table(tmp_path):
    write(tmp_path / "orders" / "part-1.csv", "a,b\n1,2\n")
    write(tmp_path / "orders" / "part-2.csv", "a,b\n1\n")
    write(tmp_path / "ok.csv", "a\n1\n")
    source = files(tmp_path)
    assert [table.name for table in source.tables()] == ["ok"]
    assert [path.name for path, _ in source.skipped] == ["part-1.csv", "part-2.csv"]


def test_hive_partitions_are_one_table_with_the_keys_as_columns(tmp_path):
    for year, month in ((2023, "12"), (2024, "01")):
        folder = tmp_path / "sales" / f"year={year}" / f"month={month}"
        folder.mkdir(parents=True)
        pq.write_table(pa.table({"x": [year * 100]}), folder / "part-0.parquet")
        write(tmp_path / "log" / f"day={year}-01-01" / "a.csv", f"v,w\n{year},x\n")
        write(tmp_path / "doc" / f"kind=a%20{year}" / "a.json", f'[{{"v": {year}}}]')
    source = files(tmp_path)
    tables = {table.name: table for table in source.tables()}
    assert types(tables["sales"]) == {"x": "BIGINT", "month": "VARCHAR", "year": "BIGINT"}
    assert types(tables["log"]) == {"v": "BIGINT", "w": "VARCHAR", "day": "DATE"}
    assert types(tables["doc"]) == {"v": "BIGINT", "kind": "VARCHAR"}
    assert sorted(rows(source, tables["sales"])) == [(202300, "12", 2023), (202400, "01", 2024)]
    assert sorted(rows(source, tables["log"]))[0] == (2023, "x", datetime.date(2023, 1, 1))
    assert sorted(rows(source, tables["doc"]))[0] == (2023, "a 2023")
    assert rows(source, tables["sales"], Scan(columns=("x",), where=Comparison("month", "=", "01"))) == [(202400,)]


def test_delta_and_iceberg_tables_are_left_out(tmp_path):
    write(tmp_path / "delta" / "_delta_log" / "0.json", "{}")
    write(tmp_path / "delta" / "part-0.csv", "a\n1\n")
    write(tmp_path / "ice" / "metadata" / "v1.metadata.json", "{}")
    write(tmp_path / "ok.csv", "a\n1\n")
    source = files(tmp_path)
    assert [table.name for table in source.tables()] == ["ok"]
    assert {path.name for path, _ in source.skipped} == {"delta", "ice"}


def test_odd_file_names_are_read_as_themselves(tmp_path):
    names = [
        "a b",
        "it's",
        'q"q',
        "ünï",
        "50%",
        "w*[1]?",
        "w[ab]",
        "select",
        "Order",
        "order",
        "x;y",
        "{a,b}",
        "a=b",
        "#1",
        "$x",
    ]
    decoys = ["wz1a", "wa", "wb"]  # what the patterns above would match
    for number, name in enumerate([*names, *decoys]):
        write(tmp_path / f"{name}.csv", f"n\n{number}\n")
        pq.write_table(pa.table({"n": [number]}), tmp_path / f"{name}.parquet")
    source = files(tmp_path)
    tables = {table.native_name: table for table in source.tables()}
    assert len({table.name.lower() for table in tables.values()}) == 2 * (len(names) + len(decoys))
    for number, name in enumerate([*names, *decoys]):
        for extension in ("csv", "parquet"):
            table = tables[f"{name}.{extension}"]
            assert rows(source, table) == [(number,)], table
            assert source.change_token(table) != "missing"
        place = source.in_place(tables[f"{name}.parquet"])
        assert PLAIN.execute(f"SELECT n FROM {place.sql}").fetchall() == [(number,)]


def test_many_files_written_alike_are_typed_each_for_itself(tmp_path):
    for number in range(40):
        value = {0: "007", 1: "x", 2: ""}.get(number, "1.5" if number % 2 else "5")
        write(tmp_path / f"t{number:02}.csv", f"file,id,value\nf,{number},{value}\n")
    write(tmp_path / "t98.csv", "file,id,value\n")
    write(tmp_path / "t99.csv", "file,id,value\nf,1\n")
    source = files(tmp_path)
    tables = {table.name: table for table in source.tables()}
    assert [path.name for path, _ in source.skipped] == ["t99.csv"]
    expected = {0: "VARCHAR", 1: "VARCHAR", 2: "VARCHAR", 3: "DOUBLE", 4: "BIGINT"}
    assert {number: types(tables[f"t{number:02}"])["value"] for number in expected} == expected
    assert (tables["t98"].rows, tables["t04"].rows) == (0, 1)
    for name in ("t00", "t03", "t04"):
        alone = write(tmp_path / "alone" / name / f"{name}.csv", (tmp_path / f"{name}.csv").read_bytes())
        assert one(alone)[1].columns == tables[name].columns


# Scans


def random_rows(count: int) -> list[tuple]:
    dice = random.Random(7)
    texts = ["a", "A", "b", "ä", "Ä", "a ", " a", "z", "Z", None, "éa", "10", "9"]
    return [
        (
            number,
            dice.choice([None, -5, 0, 3, 7]),
            dice.choice([None, -1.5, 0.25, 2.0, 1e10]),
            dice.choice(texts),
            dice.choice([None, datetime.date(2024, 1, 1), datetime.date(1969, 12, 31)]),
            dice.choice([None, datetime.datetime(2024, 1, 1), datetime.datetime(2024, 1, 1, 0, 0, 0, 1)]),
            dice.choice([None, True, False]),
        )
        for number in range(count)
    ]


NAMES = ("id", "whole", "Real", "the text", "day", "moment", "select")
SCANS = [
    Scan(columns=("the text", "id")),
    Scan(columns=("id",), where=Comparison("the text", ">=", "a"), order=(Order("id"),)),
    Scan(columns=("id",), where=Comparison("the text", "=", "a"), order=(Order("id"),)),
    Scan(columns=("id",), where=Among("the text", ("a ", "Ä", "it's")), order=(Order("id"),)),
    Scan(columns=("id",), where=Comparison("whole", "<", 0), order=(Order("id", descending=True),), limit=5),
    Scan(columns=("id",), where=Comparison("Real", "<>", 0.25), order=(Order("id"),)),
    Scan(columns=("id",), where=Comparison("day", ">", datetime.date(1970, 1, 1)), order=(Order("id"),)),
    Scan(columns=("id",), where=Comparison("moment", ">", datetime.datetime(2024, 1, 1)), order=(Order("id"),)),
    Scan(columns=("id",), where=Comparison("select", "=", True), order=(Order("id"),)),
    Scan(columns=("id",), where=Any((Null("day"), All((Null("whole", negated=True), Comparison("id", "<", 9))))),
         order=(Order("id"),)),
    Scan(columns=("the text", "id"), order=(Order("the text", nulls_first=True), Order("id", descending=True)), limit=30),
    Scan(columns=("the text", "id"), order=(Order("the text", descending=True), Order("id"))),
    Scan(aggregates=tuple(Aggregate(name, "whole", name) for name in ("count", "count_distinct", "sum", "avg", "min", "max"))),
    Scan(aggregates=(Aggregate("count", None, "n"), Aggregate("sum", "whole", "s")), where=Comparison("id", "<", 0)),
    Scan(group_by=("the text", "select"), aggregates=(Aggregate("count", None, "n"), Aggregate("max", "moment", "m"))),
    Scan(group_by=("day",), aggregates=(Aggregate("min", "the text", "t"), Aggregate("sum", "Real", "r"))),
    Scan(group_by=("moment", "whole")),
]  # fmt: skip


@pytest.fixture(scope="module")
def scanned(tmp_path_factory) -> tuple[Files, dict[str, Table], duckdb.DuckDBPyConnection]:
    folder = tmp_path_factory.mktemp("scanned")
    values = random_rows(200)
    whole = pa.table([pa.array(column) for column in zip(*values, strict=True)], names=list(NAMES))
    connection = duckdb.connect()
    connection.register("arrow", whole)
    connection.execute("CREATE TABLE whole AS SELECT * FROM arrow")
    connection.execute(f"COPY whole TO '{folder}/c.csv' (HEADER)")
    connection.execute(f"COPY whole TO '{folder}/p.parquet'")
    connection.execute(f"COPY whole TO '{folder}/j.json'")
    workbook(folder / "x.xlsx", S=[list(NAMES), *map(list, values)])
    source = files(folder)
    return source, {table.name: table for table in source.tables()}, connection


@pytest.mark.parametrize("name", ["c", "p", "j", "x"])
@pytest.mark.parametrize("scan", SCANS, ids=range(len(SCANS)))
def test_every_scan_gives_what_duckdb_gives_over_all_rows(scanned, name, scan):
    import sqlglot.expressions as sge

    from coset.environment.scan import scan_to_sql

    source, tables, connection = scanned
    table = tables[name]
    if name == "x" and "moment" in repr(scan):
        pytest.skip("Excel keeps no microseconds")
    sql = scan_to_sql(
        scan, sge.to_table("whole"), "duckdb", lambda column: sge.column(column, quoted=True), all_columns=NAMES
    )
    expected = connection.execute(sql).fetchall()
    found = rows(source, table, scan)
    if not scan.order:
        expected, found = sorted(expected, key=repr), sorted(found, key=repr)
    assert [tuple(map(str, row)) for row in found] == [tuple(map(str, row)) for row in expected]


def test_rows_come_as_a_stream_of_small_batches(tmp_path):
    content = "id,name\n" + "".join(f"{number},n{number}\n" for number in range(100_000))
    source, table = one(write(tmp_path / "t.csv", content))
    reader = source.read(table)
    assert reader.schema.names == ["id", "name"]
    first = reader.read_next_batch()
    assert 0 < first.num_rows < 50_000
    assert source.change_token(table)  # while the reader is open
    assert first.num_rows + sum(batch.num_rows for batch in reader) == 100_000


# Change


def test_the_token_changes_with_the_files_of_the_table_alone(tmp_path):
    path = write(tmp_path / "a.csv", "a,b\n1,2\n")
    write(tmp_path / "b.csv", "a\n1\n")
    write(tmp_path / "parts" / "part-1.csv", "a\n1\n")
    write(tmp_path / "parts" / "part-2.csv", "a\n1\n")
    source = files(tmp_path)
    a, b, parts = source.tables()
    tokens, whole = [source.change_token(table) for table in (a, b, parts)], source.fingerprint()
    assert tokens == [files(tmp_path).change_token(table) for table in (a, b, parts)]
    assert whole == files(tmp_path).fingerprint()
    for content in ("a,b\n1,2\n3,4\n", "a,b\n1,3\n3,4\n", "a,b\n1,3\n", "a,b\n", "a,b,c\n1,3,4\n"):
        before = source.change_token(a), source.fingerprint()
        write(path, content)
        os.utime(path, ns=(0, random.getrandbits(40)))
        assert source.change_token(a) != before[0] and source.fingerprint() != before[1]
    assert [source.change_token(table) for table in (b, parts)] == tokens[1:]
    write(tmp_path / "parts" / "part-3.csv", "a\n1\n")
    assert source.change_token(parts) != tokens[2]
    path.unlink()
    assert source.change_token(a) == "missing"


def test_a_table_that_went_or_has_other_columns_has_vanished(tmp_path):
    for name, content in (("a.csv", "a,b\n1,2\n"), ("b.csv", "a,b\n1,2\n"), ("c.csv", "a\n1\n")):
        write(tmp_path / name, content)
    source = files(tmp_path)
    a, b, c = source.tables()
    (tmp_path / "a.csv").unlink()
    write(tmp_path / "b.csv", "a,b\n1,x\n")
    write(tmp_path / "c.csv", "a\n1\n2\n")
    with pytest.raises(TableVanished, match="table 'a' of source 'here' is gone"):
        source.read(a)
    with pytest.raises(TableVanished, match="table 'b' of source 'here' has other columns"):
        source.read(b)
    assert rows(source, c) == [(1,), (2,)]


def test_a_table_listed_before_is_read_by_another_process_without_listing(tmp_path):
    write(tmp_path / "a.csv", "a,b\n1,x\n")
    workbook(tmp_path / "b.xlsx", S=[["a"], [1]], T=[["b"], [2]])
    for table in files(tmp_path).tables():
        later = files(tmp_path)
        assert rows(later, table) == {"a": [(1, "x")], "b_S": [(1,)], "b_T": [(2,)]}[table.name]


def test_close_lets_go_of_everything(tmp_path):
    path = write(tmp_path / "t.csv", "größe\nfür\n".encode("cp1252"))
    source, table = one(path)
    copies = source._contents._temporary()
    reader = source.read(table)
    source.close()
    source.close()
    assert not copies.exists()
    del reader
    assert rows(source, source.tables()[0]) == [("für",)]
    source.close()
