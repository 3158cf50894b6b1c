"""CSV files: types that lose nothing, and every way in which such files are written."""

from __future__ import annotations

import gzip

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coset.environment.source import Limits
from coset.errors import LimitReached, SourceUnreachable
from environment.files.file_sources import PLAIN, csv_of, files, one, rows, write


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


def test_bombs_are_refused_in_a_sentence(tmp_path):
    wide = write(tmp_path / "wide.csv", ",".join(f"c{n}" for n in range(20_000)) + "\n" + "1," * 19_999 + "1\n")
    with pytest.raises(LimitReached, match="has 20,000 columns; at most 10,000 can be read"):
        files(wide).tables()
    packed = tmp_path / "bomb.csv.gz"
    packed.write_bytes(gzip.compress("a,b\n".encode("utf-16") + "1,x\n".encode("utf-16-le") * 1_000_000))
    with pytest.raises(LimitReached, match="unpacks to more than 1,000,000 bytes"):
        files(packed, Limits(snapshot_bytes=1_000_000)).tables()
