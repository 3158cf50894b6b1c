"""The distinct values of every column that may join, gathered into one temporary table, and what they tell of it.

In: tables. Out: `JoinColumn`s, and the table `VALUES` (number of the column, the value as text, how many rows have it,
its key: the value without case, blanks, signs and leading zeros, 7 for 7.0). Truth values, measures and prose are
left out.
Of a column with very many values a part is kept, chosen by hash: `uniqueness` holds for it as for the whole.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from coset.evidence.column_expressions import ColumnKind, column_kind, literal, quoted
from coset.evidence.relations.dates import looks_like_date, looks_like_time
from coset.evidence.relations.joinable import DIRT, JoinableTable, JoinColumn, ValueKind

if TYPE_CHECKING:
    import duckdb

VALUES = "coset_join_values"
COUNTED_ROWS = 200_000
"""Tables of up to so many rows are read at once, larger ones column by column."""
KEPT_VALUES = 50_000
LONGEST_VALUE = 200
PROSE_LENGTH = 64.0
SAMPLED = 300
COLUMNS_AT_ONCE = 60
_TRUTH_VALUES = frozenset(["0", "1", "y", "n", "yes", "no", "true", "false", "t", "f"])
_ELEMENTS_SHARE = 0.9

STRIPPED = r"regexp_replace({raw}, '^[^\p{{L}}\p{{N}}]+|[^\p{{L}}\p{{N}}]+$', '', 'g')"
KEY = (
    r"CASE WHEN regexp_full_match({stripped}, '[0-9]+([.]0+)?') "
    r"THEN regexp_extract({stripped}, '^0*([0-9]+)', 1) "
    r"ELSE nullif(lower(regexp_replace({raw}, '[^\p{{L}}\p{{N}}]+', '', 'g')), '') END"
)


def elements_of_json(name: str) -> str:
    """The elements of a list that is written as JSON, one a row."""
    return f"unnest(TRY_CAST(from_json(CASE WHEN json_valid({name}) THEN {name} END, '[\"VARCHAR\"]') AS VARCHAR[]))"


def key_of(raw: str) -> str:
    """The key of a value, in SQL."""
    return KEY.format(raw=raw, stripped=STRIPPED.format(raw=raw))


def key_of_stripped(stripped: str) -> str:
    """The key of a value without stray characters at its ends, in SQL."""
    return KEY.format(raw=stripped, stripped=stripped)


@dataclass(frozen=True)
class _Readable:
    """A column that may join as far as its type tells: `text` is its value as text."""

    number: int
    table: int
    position: int
    name: str
    type: str
    kind: ColumnKind
    text: str
    elements: bool = False


def gather(
    connection: duckdb.DuckDBPyConnection,
    tables: Sequence[JoinableTable],
    progress: Callable[[str], None] | None = None,
) -> list[JoinColumn]:
    """Fill `VALUES` and describe the columns. A column without any value is described too (its name may say enough)."""
    connection.execute(
        f"CREATE OR REPLACE TEMP TABLE {VALUES} (number INTEGER, raw VARCHAR, n BIGINT, stripped VARCHAR, key VARCHAR)"
    )
    readable: list[_Readable] = []
    known: dict[int, int] = {}
    parts: dict[int, int] = {}
    names: dict[int, JoinableTable] = {}
    number = 0
    for place, table in enumerate(tables):
        if progress:
            progress(str(table.reference))
        columns: list[_Readable] = []
        for position, column in enumerate(table.columns):
            for each in _readable(number, place, position, column.name, column.type):
                columns.append(each)
                number += 1
        for start in range(0, len(columns), COLUMNS_AT_ONCE):
            batch = columns[start : start + COLUMNS_AT_ONCE]
            kept = list(_worth_reading(connection, table, batch, known))
            readable += kept
            _read_values(connection, table, kept, known, parts)
        if table.members:
            names[number] = table
            _insert_names(connection, number, table.members)
            readable.append(_Readable(number, place, -1, "", "VARCHAR", "text", ""))
            number += 1
    return _described(connection, tables, readable, known, parts, names)


def _readable(number: int, table: int, position: int, name: str, type: str) -> Iterator[_Readable]:
    kind, column = column_kind(type), quoted(name)
    if kind == "text":
        yield _Readable(number, table, position, name, type, kind, f"left({column}, {LONGEST_VALUE})")
    elif kind in ("integer", "decimal", "float", "date", "timestamp", "enum", "uuid"):
        yield _Readable(number, table, position, name, type, kind, f"CAST({column} AS VARCHAR)")
    elif kind == "nested" and type.endswith("[]") and column_kind(type[:-2]) in ("text", "integer", "uuid", "enum"):
        text = f"left(CAST(unnest({column}) AS VARCHAR), {LONGEST_VALUE})"
        yield _Readable(number, table, position, name, type, column_kind(type[:-2]), text, elements=True)


def _worth_reading(
    connection: duckdb.DuckDBPyConnection, table: JoinableTable, columns: Sequence[_Readable], known: dict[int, int]
) -> Iterator[_Readable]:
    """One pass over the table: what is all fractions, times of day or prose is not gathered."""
    if not columns:
        return
    tests: list[str] = []
    for column in columns:
        name = quoted(column.name)
        test = "NULL"
        if column.elements:
            test = f"avg(len({name})) <= 50"
        elif column.kind == "text":
            # A list of ids written as JSON is long, but its elements are not.
            listed = f"avg(CASE WHEN starts_with({name}, '[') AND ends_with({name}, ']') THEN 1 ELSE 0 END)"
            test = f"CASE WHEN {listed} >= {_ELEMENTS_SHARE} THEN NULL ELSE avg(strlen({name})) <= {PROSE_LENGTH} END"
        elif column.kind in ("float", "decimal"):
            test = f"bool_and({name} = trunc({name}) AND abs({name}) < 1e15)"
        elif column.kind == "timestamp":
            test = f"bool_and({name} = date_trunc('day', {name}))"
        tests += [f"count({name})", test]
    row = connection.execute(f"SELECT {', '.join(tests)} FROM {table.relation}").fetchall()[0]
    for place, column in enumerate(columns):
        count, worth = row[2 * place], row[2 * place + 1]
        known[column.number] = count
        if column.kind == "text" and not column.elements and worth is None and count:
            text = f"left({elements_of_json(quoted(column.name))}, {LONGEST_VALUE})"
            yield replace(column, text=text, elements=True)
        elif worth is not False:
            yield column


def _read_values(
    connection: duckdb.DuckDBPyConnection,
    table: JoinableTable,
    columns: Sequence[_Readable],
    known: dict[int, int],
    parts: dict[int, int],
) -> None:
    """Only values that occur are kept; of many, one part in `parts`."""
    plain = [column for column in columns if known[column.number] and not column.elements]
    large = table.rows > COUNTED_ROWS
    if plain and not large:
        texts = ", ".join(column.text for column in plain)
        numbers = ", ".join(str(column.number) for column in plain)
        _insert(
            connection,
            f"SELECT unnest([{numbers}]) AS number, unnest([{texts}]) AS raw FROM {table.relation}",
        )
    for column in columns:
        if not known[column.number] or not (column.elements or large):
            continue
        source = f"SELECT {column.number} AS number, {column.text} AS raw FROM {table.relation}"
        if large:
            count = connection.execute(f"SELECT approx_count_distinct(raw) FROM ({source})").fetchall()[0][0]
            parts[column.number] = 2 ** max(0, math.ceil(math.log2(max(1, count) / KEPT_VALUES)))
        _insert(connection, source, parts.get(column.number, 1))
        if column.elements:
            count = connection.execute(f"SELECT sum(n) FROM {VALUES} WHERE number = {column.number}").fetchall()[0][0]
            known[column.number] = int(count or 0) * parts.get(column.number, 1)


def _insert(connection: duckdb.DuckDBPyConnection, source: str, part: int = 1) -> None:
    chosen = f" AND hash(raw) % {part} = 0" if part > 1 else ""
    connection.execute(
        f"INSERT INTO {VALUES} SELECT number, raw, n, stripped, {key_of_stripped('stripped')} FROM "
        f"(SELECT number, raw, count(*) AS n, {STRIPPED.format(raw='raw')} AS stripped FROM ({source}) "
        f"WHERE raw IS NOT NULL{chosen} GROUP BY number, raw)"
    ).fetchall()


def _insert_names(connection: duckdb.DuckDBPyConnection, number: int, members: Sequence[str]) -> None:
    for start in range(0, len(members), 1000):
        rows = ", ".join(f"({literal(member)})" for member in members[start : start + 1000])
        _insert(connection, f"SELECT {number} AS number, raw FROM (VALUES {rows}) AS members(raw)")


def _described(
    connection: duckdb.DuckDBPyConnection,
    tables: Sequence[JoinableTable],
    readable: Sequence[_Readable],
    known: dict[int, int],
    parts: dict[int, int],
    names: dict[int, JoinableTable],
) -> list[JoinColumn]:
    answers = connection.execute(
        f"SELECT number, count(*), sum(n), count(DISTINCT key), "
        f"min(TRY_CAST(key AS BIGINT)), max(TRY_CAST(key AS BIGINT)), "
        f"avg(CASE WHEN regexp_full_match(key, '[0-9]{{1,18}}') THEN 1 ELSE 0 END), "
        f"arg_min(raw, hash(raw), {SAMPLED}), min(TRY_CAST(raw AS DOUBLE)), "
        f"avg(CASE WHEN regexp_full_match(trim(raw), '[+-]?[0-9]*[.][0-9]+') "
        f"AND NOT regexp_full_match(trim(raw), '[0-9]+[.]0+') THEN 1 ELSE 0 END), "
        f"bool_or(raw <> trim(raw)), bool_or(raw <> stripped), "
        f"bool_or(regexp_matches(stripped, '[^\\p{{L}}\\p{{N}}]')), bool_or(raw <> lower(raw)), "
        f"bool_or(starts_with(stripped, '0') AND strlen(stripped) > 1) "
        f"FROM {VALUES} GROUP BY number"
    ).fetchall()
    by_number = {row[0]: row[1:] for row in answers}
    columns: list[JoinColumn] = []
    for column in readable:
        table = tables[column.table]
        count = len(table.members) if column.number in names else known[column.number]
        rows = len(table.members) if column.number in names else table.rows
        empty = JoinColumn(
            column.number, column.table, column.position, column.name, column.type, column.number in names, "text",
            rows, count, 0, 0, elements=column.elements,
        )  # fmt: skip
        if column.number not in by_number:
            if column.kind not in ("date", "timestamp", "float", "decimal"):
                columns.append(replace(empty, known=0))
            continue
        distinct, held, keys, minimum, maximum, whole, sample, least, fractions, *dirt = by_number[column.number]
        part = parts.get(column.number, 1)
        # Of a part, uniqueness is that of the part: a value's rows are all in it or none is.
        values = round(count * keys / max(1, held)) if part > 1 else keys
        kind = _value_kind(column.kind, float(whole), tuple(sample))
        negative = least is not None and least < -1
        if kind is None or (kind == "number" and negative) or float(fractions) > 0.2 or not keys:
            continue
        if keys <= 2 and all(_letters_and_digits(value) in _TRUTH_VALUES for value in sample) and count > 2:
            continue
        columns.append(
            replace(
                empty,
                kind=kind,
                distinct=max(distinct, values),
                keys=values,
                sample=tuple(sample),
                dirt=frozenset(name for name, seen in zip(DIRT, dirt, strict=True) if seen),
                minimum=minimum if kind == "number" else None,
                maximum=maximum if kind == "number" else None,
            )
        )
    return columns


def _value_kind(kind: ColumnKind, whole: float, sample: tuple[str, ...]) -> ValueKind | None:
    if kind in ("date", "timestamp"):
        return "date"
    if kind in ("integer", "float", "decimal"):
        return "number"
    if looks_like_time(sample):
        return None
    if looks_like_date(sample):
        return "date"
    return "number" if whole >= 0.95 else "text"


def _letters_and_digits(value: str) -> str:
    return "".join(letter for letter in value.lower() if letter.isalnum())
