"""Excel and OpenDocument workbooks: what is listed is what comes out, and what is too large is refused."""

from __future__ import annotations

import datetime
import zipfile

import openpyxl
import pytest

from coset.environment.scan import Comparison, Scan
from coset.environment.source import Limits
from coset.errors import LimitReached, SourceUnreachable
from environment.files.file_sources import files, one, rows, types, workbook, write


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


def test_the_names_of_the_columns_may_stand_below_lines_of_title(tmp_path):
    titled = [
        ["Closing rates"],
        ["as of June"],
        [],
        ["month", "currency", "rate"],
        ["2024-05", "CHF", 0.97],
        ["2024-06", "USD", 1],
    ]
    book = workbook(tmp_path / "b.xlsx", Titled=titled, Plain=[["a", "b", "c"], ["x"], ["y"], ["z"]])
    source = files(book)
    found, plain = source.tables()
    assert types(found) == {"month": "VARCHAR", "currency": "VARCHAR", "rate": "DOUBLE"}
    assert rows(source, found) == [("2024-05", "CHF", 0.97), ("2024-06", "USD", 1.0)]
    assert list(types(plain)) == ["a", "b", "c"] and plain.rows == 3


def test_a_workbook_that_lies_about_its_size_is_refused(tmp_path):
    path = tmp_path / "bomb.xlsx"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/sheet1.xml", b" " * 30_000_000)
    packed = path.read_bytes()
    path.write_bytes(packed.replace((30_000_000).to_bytes(4, "little"), (1_000).to_bytes(4, "little")))
    with pytest.raises(LimitReached, match="unpacks to more than 1,000,000 bytes"):
        files(path, Limits(snapshot_bytes=1_000_000)).tables()
