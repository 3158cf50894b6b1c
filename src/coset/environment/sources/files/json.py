"""JSON files: an array of objects, one object per line, or one object; columns are the objects' keys.

In: the files of one table. Out: a `Shape` with DuckDB's `read_json` call and the types settled over all rows.

Objects and lists stay STRUCT and LIST; values of different kinds under one key are JSON. Numbers stay exact: integers
beyond 64 bits, or beyond 2^53 among fractions, make the column text (JSON where nested) instead of DOUBLE.
Text under a key becomes a date or time only if all of it is ISO, as in CSV files; in objects and lists it stays text.
Keys that differ only by case cannot be columns of `read_json`, nor can what is nested more than a hundred levels deep;
such files are read object by object, nested values as JSON. A column whose type would be very deep or very long (trees
in which a node holds nodes) is JSON, too. A file with several hundred keys in one object, all alike, is one MAP. An
object that has a key twice refuses the file.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import duckdb

from coset.engine_messages import without_values
from coset.environment.source import Column, unique_names
from coset.environment.sources.files.layout import (
    Option,
    ReaderCall,
    Shape,
    SqlText,
    TooLarge,
    Unreadable,
    reader_sql,
    types_struct,
)
from coset.environment.sources.files.values import type_test
from coset.sql_text import identifier, literal

_TIMES = ("DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE", "TIME")
_TEXTS = {*_TIMES, "TIMESTAMP_NS", "UUID"}  # what DuckDB makes of text
# A type inside another ends before a comma, a bracket or the end; the name of a field is followed by a blank.
_NESTED = {
    '"NULL"': "JSON",
    "HUGEINT": "DECIMAL(38,0)",
    "UHUGEINT": "DECIMAL(38,0)",
    "TIMESTAMP WITH TIME ZONE": "VARCHAR",
    "TIMESTAMP": "VARCHAR",
    "TIMESTAMP_NS": "VARCHAR",
    "DATE": "VARCHAR",
    "TIME": "VARCHAR",
    "UUID": "VARCHAR",
}
_NESTED_TYPE = re.compile(rf"(?<![^ (])({'|'.join(map(re.escape, _NESTED))})(?=[,)\[]|$)")
_MEASURES_AT_ONCE = 200
_DEEPEST_TYPE, _LONGEST_TYPE = 16, 20_000
_LONG_INTEGER = r"(^|[\[:,\s])-?[0-9]{16,}($|[,\]}\s])"


def column_types(
    connection: duckdb.DuckDBPyConnection, files: tuple[Path, ...], options: tuple[Option, ...]
) -> list[tuple[str, str]] | None:
    """Keys and types as DuckDB sees them over all rows; None when keys differ only by case, or when values are nested
    deeper than DuckDB follows."""
    everything = ReaderCall(reader="read_json", files=files, options=(("sample_size", -1), *options))
    try:
        found = connection.execute(f"DESCRIBE SELECT * FROM {reader_sql(everything)}").fetchall()
    except duckdb.Error as error:
        if "Duplicate name" in str(error) or "maximum recursion depth" in str(error):
            return None
        raise json_refusal(str(error)) from None
    names = {name.lower() for name, *_ in found}
    renamed = [match for name in names if (match := re.fullmatch(r"(.*)_\d+", name)) and match[1] in names]
    if renamed and _keys_differ_by_case(connection, files, options):
        return None
    return [(name, type_name) for name, type_name, *_ in found]


def describe(
    connection: duckdb.DuckDBPyConnection,
    files: tuple[Path, ...],
    options: tuple[Option, ...],
    partition_columns: tuple[Column, ...],
) -> Shape:
    """Types and rows; `options` are without partitions, which join only in the final call."""
    partition_keys = tuple(column.name for column in partition_columns)
    plain = tuple(
        (name, False if name == "hive_partitioning" else value) for name, value in options if name != "hive_types"
    )
    inferred = column_types(connection, files, plain)
    if inferred is None:
        if partition_columns:
            raise Unreadable("has keys that differ only by case or very deep values, in a folder of partitions")
        return _describe_objects(connection, files, plain)
    records = _is_records(connection, files, inferred, plain)
    inferred = [(name, native) for name, native in inferred if name not in partition_keys]
    looked_at: list[tuple[str, str]] = []
    measures: list[str] = []
    for name, native in inferred:
        read_as, decided_type = _decision(identifier(name), native)
        looked_at.append((name, read_as))
        measures.append(decided_type)
    shape: tuple[Option, ...] = (("records", "true" if records else "false"),)
    texts = ReaderCall(reader="read_json", files=files, options=(("columns", types_struct(looked_at)), *shape, *plain))
    rows, decided = _measured(connection, measures, reader_sql(texts))
    if not rows and inferred == [("json", "JSON")]:
        raise Unreadable("holds no rows, so that its columns are not known")
    columns = [
        Column(name, type_name, name, native.replace('"NULL"', "null"))
        for (name, native), type_name in zip(inferred, decided, strict=True)
    ]
    struct = types_struct(tuple(columns))
    place = ReaderCall(reader="read_json", files=files, options=(("columns", struct), *shape, *options))
    return Shape((*columns, *partition_columns), rows, reader_sql(place), place)


def _measured(connection: duckdb.DuckDBPyConnection, measures: list[str], relation: str) -> tuple[int, list[Any]]:
    """The number of rows, and what each measure gives; some at a time, because what DuckDB needs to plan a query grows
    with the square of their number."""
    rows, found = 0, []
    for first in range(0, max(1, len(measures)), _MEASURES_AT_ONCE):
        some = ", ".join(["count(*)", *measures[first : first + _MEASURES_AT_ONCE]])
        try:
            [(rows, *values)] = connection.execute(f"SELECT {some} FROM {relation}").fetchall()
        except duckdb.Error as error:
            raise json_refusal(str(error)) from None
        found += values
    return rows, found


def _decision(identifier: str, native: str) -> tuple[str, str]:
    """For a column, the type to look at all its values in, and the aggregate in SQL that then tells its type."""
    if native == '"NULL"':
        return "VARCHAR", "'VARCHAR'"
    if native == "VARCHAR" or native in _TEXTS:
        fits = "".join(
            f" WHEN count({identifier}) = count_if({type_test(name, identifier)}) THEN {literal(name)}"
            for name in _TIMES
        )
        return "VARCHAR", f"CASE WHEN count({identifier}) = 0 THEN 'VARCHAR'{fits} ELSE 'VARCHAR' END"
    if len(native) > _LONGEST_TYPE or _depth(native) > _DEEPEST_TYPE:
        return "JSON", f"CASE WHEN count({identifier}) >= 0 THEN 'JSON' END"
    chosen = _NESTED_TYPE.sub(lambda match: _NESTED[match[1]], native)
    if "DOUBLE" not in native:
        return chosen, f"CASE WHEN count({identifier}) >= 0 THEN {literal(chosen)} END"
    exact = "VARCHAR" if native == "DOUBLE" else "JSON"
    long_integers = f"count_if(regexp_matches({identifier}, {literal(_LONG_INTEGER)}))"
    return exact, f"CASE WHEN {long_integers} = 0 THEN {literal(chosen)} ELSE {literal(exact)} END"


def _depth(native: str) -> int:
    """How many levels a type has at most, or nearly so: lists of lists are counted where they are longest."""
    deepest = depth = 0
    for letter in native:
        depth += (letter == "(") - (letter == ")")
        deepest = max(deepest, depth)
    return deepest + max((len(run) // 2 for run in re.findall(r"(?:\[\])+", native)), default=0)


def _is_records(
    connection: duckdb.DuckDBPyConnection,
    files: tuple[Path, ...],
    inferred: list[tuple[str, str]],
    options: tuple[Option, ...],
) -> bool:
    """Whether columns are keys. DuckDB calls a value that is no object `json`, as a key may be called too."""
    if [name for name, _ in inferred] != ["json"]:
        return True
    as_records: tuple[Option, ...] = (("sample_size", -1), ("records", "true"))
    place = ReaderCall(reader="read_json", files=files, options=(*as_records, *options))
    try:
        found = connection.execute(f"DESCRIBE SELECT * FROM {reader_sql(place)}").fetchall()
    except duckdb.Error:
        return False
    return [(name, type_name) for name, type_name, *_ in found] == inferred


def _objects(files: tuple[Path, ...], options: tuple[Option, ...]) -> str:
    whole: tuple[Option, ...] = (("columns", SqlText("{'json': 'JSON'}")), ("records", "false"))
    return reader_sql(ReaderCall(reader="read_json", files=files, options=(*whole, *options)))


def _keys(
    connection: duckdb.DuckDBPyConnection, files: tuple[Path, ...], options: tuple[Option, ...]
) -> tuple[list[str], bool]:
    """All keys of the objects in the files, and whether some object has one twice."""
    try:
        found = connection.execute(
            "SELECT key, max(times) FROM (SELECT key, object, count(*) AS times FROM"
            " (SELECT row_number() OVER () AS object, unnest(json_keys(json)) AS key"
            f" FROM {_objects(files, options)}) GROUP BY ALL) GROUP BY key ORDER BY min(object), key"
        ).fetchall()
    except duckdb.Error as error:
        raise json_refusal(str(error)) from None
    return [key for key, _ in found], any(times > 1 for _, times in found)


def _keys_differ_by_case(
    connection: duckdb.DuckDBPyConnection, files: tuple[Path, ...], options: tuple[Option, ...]
) -> bool:
    keys, _ = _keys(connection, files, options)
    return len({key.lower() for key in keys}) < len(keys)


def _describe_objects(
    connection: duckdb.DuckDBPyConnection, files: tuple[Path, ...], options: tuple[Option, ...]
) -> Shape:
    """Columns taken from whole objects, one by one, where `read_json` cannot tell the keys apart. What is not objects
    throughout is one column."""
    rows, [kinds] = _measured(connection, ["list(DISTINCT json_type(json))"], _objects(files, options))
    if {*(kinds or ())} - {None, "NULL", "OBJECT"}:
        return Shape((Column("json", "JSON", "json", "JSON"),), rows, f"(SELECT json FROM {_objects(files, options)})")
    keys, has_twice = _keys(connection, files, options)
    if has_twice:
        raise Unreadable("has an object with the same key twice")
    pointers = {key: literal("/" + key.replace("~", "~0").replace("/", "~1")) for key in keys}
    measures = [f"list(DISTINCT json_type(json, {pointer}))" for pointer in pointers.values()]
    measures += [
        f"count_if(regexp_matches(json_extract_string(json, {pointer}), {literal(_LONG_INTEGER)}))"
        for pointer in pointers.values()
    ]
    rows, found = _measured(connection, measures, _objects(files, options))
    kinds, long_integers = found[: len(keys)], found[len(keys) :]
    columns, expressions = [], []
    for key, name, seen, long in zip(keys, unique_names(keys), kinds, long_integers, strict=True):
        type_name = _scalar_type({kind for kind in seen or () if kind not in {None, "NULL"}}, bool(long))
        columns.append(Column(name, type_name, key, "JSON"))
        extract = "json_extract" if type_name == "JSON" else "json_extract_string"
        expressions.append(f"CAST({extract}(json, {pointers[key]}) AS {type_name}) AS {identifier(name)}")
    relation = f"(SELECT {', '.join(expressions)} FROM {_objects(files, options)})"
    return Shape(tuple(columns), rows, relation)


def _scalar_type(kinds: set[str], has_long_integers: bool) -> str:
    if kinds <= {"VARCHAR"}:
        return "VARCHAR"
    if kinds == {"BOOLEAN"}:
        return "BOOLEAN"
    if kinds <= {"BIGINT", "UBIGINT", "DOUBLE"}:
        if has_long_integers:
            return "VARCHAR"
        return "DOUBLE" if "DOUBLE" in kinds else "BIGINT"
    return "JSON"


def json_refusal(message: str) -> Unreadable:
    """DuckDB's message as one clause."""
    first = " ".join(message.split("\n", 1)[0].split())
    if "maximum_object_size" in message:
        return TooLarge("has an object larger than the limit cell_bytes")
    if "encoding in string" in first or "not utf-8" in first.lower() or "UTF-16 encoding" in first:
        return NotUtf8Json("is not UTF-8")
    if duplicate := re.search(r'has duplicate key "(.*)"', first):
        return Unreadable(f"has an object with the key '{duplicate[1][:100]}' twice")
    if malformed := re.search(r"Malformed JSON in file .*?, at byte \d+ in (.*?): (.*)", first):
        return Unreadable(f"is not valid JSON ({malformed[2].rstrip('. ')} near {malformed[1].split('/')[0]})")
    return Unreadable(without_values(first)[:200])


class NotUtf8Json(Unreadable):
    """Bytes that are not UTF-8, past the beginning of the file."""
