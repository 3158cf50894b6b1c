"""JSON files, whole or by line: structure and values keep their exact meaning."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from coset.environment.source import Limits
from coset.errors import LimitReached, SourceUnreachable
from environment.files.file_sources import csv_of, files, one, rows, write


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
