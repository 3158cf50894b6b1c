"""Which columns may join, and their distinct values: what every comparison of columns starts from.

In: tables. Out: `Gathered`: `JoinColumn`s with some of their values, and the temporary table `VALUES` (number of the
column, the value as text, how many rows have it, its key: the value without case, blanks, signs and leading zeros, 7
for 7.0). Truth values, measures and prose are left out.
Of a column with very many values a part is kept, chosen by hash: `uniqueness` holds for it as for the whole.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from coset.environment.source import Column
from coset.evidence.column_expressions import ColumnKind, column_kind
from coset.evidence.reading import JoinableTable
from coset.relations.joins.clients import within_main_client
from coset.sql_text import identifier, literal

if TYPE_CHECKING:
    import duckdb


__all__ = ["DIRT", "JoinColumn", "JoinableTable", "ValueKind"]

DIRT = ("blanks", "stray", "separators", "capitals", "zeros")
"""What some value of a column may have: blanks or other signs at its ends, signs inside, capitals, leading zeros."""
ValueKind = Literal["number", "text", "date"]


@dataclass(frozen=True)
class JoinColumn:
    """A column (or the names of a family's members) that may join others, with what was counted of it.

    `number` and `table` are places among the columns and tables at hand, in the order of their references. `distinct`
    counts the values as they stand; `keys` counts them without case, blanks and signs.
    """

    number: int
    table: int
    position: int
    name: str
    type: str
    is_names: bool
    kind: ValueKind
    rows: int
    known: int
    distinct: int
    keys: int
    minimum: int | None = None
    maximum: int | None = None
    dirt: frozenset[str] = frozenset()
    """Which of `DIRT` any of its values has."""
    elements: bool = False
    """Whether the values are the elements of a list."""
    padded: bool = False
    """Whether some whole numbers among its text begin with a zero."""
    part: int = 1
    """Of very many values one in so many is kept, chosen by hash."""
    values: int = 0
    """A digest of the values as they stand: equal only for columns with the same values; 0 when not known."""
    members: tuple[str, ...] = field(default=(), repr=False)
    """The names of a family's members, when this is the column of those."""

    @property
    def uniqueness(self) -> float:
        return self.keys / self.known if self.known else 0.0


ISO = "ISO"
_MONTH = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_FORMATS = (
    (ISO, r"\d{4}-\d{2}-\d{2}(?:[ T]00:00(?::00(?:\.0+)?)?)?", ""),
    ("%Y/%m/%d", r"\d{4}/\d{1,2}/\d{1,2}", "%Y/%m/%d"),
    ("%Y%m%d", r"(?:19|20)\d{6}", "%Y%m%d"),
    ("%d.%m.%Y", r"\d{1,2}\.\d{1,2}\.\d{4}", "%d.%m.%Y"),
    ("%d/%m/%Y", r"\d{1,2}/\d{1,2}/\d{4}", "%d/%m/%Y"),
    ("%m/%d/%Y", r"\d{1,2}/\d{1,2}/\d{4}", "%m/%d/%Y"),
    ("%d-%m-%Y", r"\d{1,2}-\d{1,2}-\d{4}", "%d-%m-%Y"),
    ("%b %d, %Y", _MONTH + r" \d{1,2}, \d{4}", "%b %d, %Y"),
    ("%d %b %Y", r"\d{1,2} " + _MONTH + r" \d{4}", "%d %b %Y"),
    ("%d-%b-%Y", r"\d{1,2}-" + _MONTH + r"-\d{4}", "%d-%b-%Y"),
    ("%B %d, %Y", r"[A-Z][a-z]+ \d{1,2}, \d{4}", "%B %d, %Y"),
    ("%d %B %Y", r"\d{1,2} [A-Z][a-z]+ \d{4}", "%d %B %Y"),
)
_EDGES = re.compile(r"^[\W_]+|[\W_]+$")
_MOMENT = re.compile(r"\W*\d{4}-\d{2}-\d{2}[T ]\d{1,2}:\d{2}|\W*\d{1,2}:\d{2}(:\d{2})?\W*$")
_SHARE = 0.9


def date_format(sample: Sequence[str]) -> str | None:
    """The first format that reads nine in ten of the values."""
    if len(sample) < 2:
        return None
    values = [_EDGES.sub("", value) for value in sample]
    for name, pattern, written in _FORMATS:
        if sum(re.fullmatch(pattern, value) is not None for value in values[:10]) < len(values[:10]) / 2:
            continue
        fitting = [value for value in values if re.fullmatch(pattern, value)]
        if len(fitting) < _SHARE * len(values):
            continue
        if not written or sum(_reads(value, written) for value in fitting) >= _SHARE * len(values):
            return name
    return None


def looks_like_date(sample: Sequence[str]) -> bool:
    return date_format(sample) is not None


def looks_like_time(sample: Sequence[str]) -> bool:
    """Whether the values are moments, with a time of day: no key is."""
    return len(sample) > 1 and sum(_MOMENT.match(value) is not None for value in sample) >= _SHARE * len(sample)


def date_sql(text: str, format: str) -> str:
    """The date that a text holds; NULL where it holds none."""
    return date_of_stripped(rf"regexp_replace({text}, '^[^\p{{L}}\p{{N}}]+|[^\p{{L}}\p{{N}}]+$', '', 'g')", format)


def date_of_stripped(stripped: str, format: str) -> str:
    """The same of a text without stray characters at its ends."""
    if format == ISO:
        return f"TRY_CAST(left({stripped}, 10) AS DATE)"
    return f"CAST(try_strptime({stripped}, '{format}') AS DATE)"


def _reads(value: str, format: str) -> bool:
    try:
        datetime.datetime.strptime(value, format)
    except ValueError:
        return False
    return True


RAW_VALUES, VALUES = "coset_join_raw_values", "coset_join_values"
COUNTED_ROWS = 200_000
"""Tables of up to so many rows are read at once, larger ones column by column."""
KEPT_VALUES = 20_000
LONGEST_VALUE = 200
PROSE_LENGTH = 64.0
SAMPLED = 300
COLUMNS_AT_ONCE = 60
MOST_COLUMNS = 200
"""Of a wider table its first columns and those of its keys may join: thousands that are alike (measures, answers) would
all be compared with each other."""
NESTED = "\x1f"
"""Stands between the steps of a path inside a nested column, in the name of a `JoinColumn`."""
ELEMENTS = "[]"
"""The step of such a path into the elements of a list."""
MOST_PLACES, FIRST_PLACE = 100, 100_000
"""Of a nested column so many places are looked at; they are numbered after all columns."""
_TRUTH_VALUES = frozenset(["0", "1", "y", "n", "yes", "no", "true", "false", "t", "f"])
_ELEMENTS_SHARE = 0.9

STRIPPED = r"regexp_replace({raw}, '^[^\p{{L}}\p{{N}}]+|[^\p{{L}}\p{{N}}]+$', '', 'g')"
KEY = (
    r"CASE WHEN regexp_full_match({stripped}, '[0-9]+([.]0+)?') "
    r"THEN regexp_extract({stripped}, '^0*([0-9]+)', 1) "
    r"ELSE nullif(lower(regexp_replace({raw}, '[^\p{{L}}\p{{N}}]+', '', 'g')), '') END"
)


@dataclass(frozen=True)
class Gathered:
    """A column with some of its values, chosen by hash."""

    column: JoinColumn
    sample: tuple[str, ...] = ()


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


def elements_of_json(name: str) -> str:
    """The elements of a list that is written as JSON, one a row."""
    return f"unnest(TRY_CAST(from_json(CASE WHEN json_valid({name}) THEN {name} END, '[\"VARCHAR\"]') AS VARCHAR[]))"


def names_of(members: Sequence[str]) -> str:
    """The names of the tables of a family, one a row; it stands by itself, over no table."""
    return f"unnest([{', '.join(literal(member) for member in members)}])"


def key_of(raw: str) -> str:
    """The key of a value, in SQL."""
    return KEY.format(raw=raw, stripped=STRIPPED.format(raw=raw))


def key_of_stripped(stripped: str) -> str:
    """The key of a value without stray characters at its ends, in SQL."""
    return KEY.format(raw=stripped, stripped=stripped)


def access(name: str) -> str:
    """A column, or a place inside a nested one, in SQL."""
    first, *rest = name.split(NESTED)
    return _reached(identifier(first), rest)


def _reached(expression: str, steps: Sequence[str]) -> str:
    """What is reached from a value by these steps; of a list, the same of each of its elements."""
    for place, step in enumerate(steps):
        if step == ELEMENTS:
            inner = _reached("each", steps[place + 1 :])
            return f"list_transform({expression}, lambda each: {inner})"
        expression = f"struct_extract({expression}, {literal(step)})"
    return expression


def places_inside(column: Column, position: int, *, lists: bool = False) -> Iterator[tuple[int, Column]]:
    """The plain values inside a nested column as columns of their own, called by their path; with `lists` also those
    inside the elements of one list, which are lists then."""
    if not column.type.upper().startswith("STRUCT") or (column.type.endswith("]") and not lists):
        return
    import duckdb
    from duckdb.sqltypes import DuckDBPyType

    def inner(path: tuple[str, ...], kind: DuckDBPyType) -> list[tuple[tuple[str, ...], DuckDBPyType]]:
        return [((*path, name), each) for name, each in kind.children if isinstance(each, DuckDBPyType)]

    try:
        whole = duckdb.sqltype(column.type)
    except duckdb.Error:
        return
    waiting: list[tuple[tuple[str, ...], DuckDBPyType]] = [((column.name,), whole)]
    later: list[tuple[tuple[str, ...], DuckDBPyType]] = []
    found = 0
    while (waiting or later) and found < MOST_PLACES:
        if not waiting:  # Plain values are numbered before those in lists.
            waiting, later = later, []
        path, kind = waiting.pop(0)
        if kind.id == "struct":
            waiting += inner(path, kind)
        elif kind.id == "list" and lists and ELEMENTS not in path:
            later += [((*path, ELEMENTS), each) for _, each in inner(path, kind) if each.id == "struct"]
        elif kind.id not in ("list", "map", "union", "array"):
            name, type = NESTED.join(path), f"{kind}[]" if ELEMENTS in path else str(kind)
            yield MOST_PLACES * (position + 1) + found + FIRST_PLACE, Column(name, type, name, type)
            found += 1


def text_of(name: str, type: str, *, elements: bool) -> str:
    """The values of a column as text, in SQL; those of a list one a row."""
    column, kind = access(name), column_kind(type)
    if elements:
        value = elements_of_json(column) if kind == "text" else f"CAST(unnest({column}) AS VARCHAR)"
        return f"left({value}, {LONGEST_VALUE})"
    return f"left({column}, {LONGEST_VALUE})" if kind == "text" else f"CAST({column} AS VARCHAR)"


def distinct_values(source: str, part: int = 1) -> str:
    """A query over `number` and `raw` of `source`: the distinct values with how often they occur; of many a part."""
    chosen = f" AND hash(raw) % {part} = 0" if part > 1 else ""
    return f"SELECT number, raw, count(*) AS n FROM ({source}) WHERE raw IS NOT NULL{chosen} GROUP BY number, raw"


def with_keys(values: str) -> str:
    """A query over distinct values: the same with what is left without stray characters at the ends, and with keys."""
    return (
        f"SELECT number, raw, n, stripped, {key_of_stripped('stripped')} AS key FROM "
        f"(SELECT *, {STRIPPED.format(raw='raw')} AS stripped FROM ({values}))"
    )


def gather(connection: duckdb.DuckDBPyConnection, tables: Sequence[JoinableTable]) -> list[Gathered]:
    """Fill `VALUES` and describe the columns; their `table` is the place in `tables`. A column without any value is
    described too (its name may say enough). Many small tables together cost little more than one: most of it is the
    planning of patterns."""
    connection.execute(f"CREATE OR REPLACE TEMP TABLE {RAW_VALUES} (number INTEGER, raw VARCHAR, n BIGINT)")
    readable: list[_Readable] = []
    known: dict[int, int] = {}
    parts: dict[int, int] = {}
    number = 0
    for place, whole in enumerate(tables):
        table = within_main_client(connection, whole)
        columns: list[_Readable] = []
        for position, column in _with_places_inside(table):
            for kind, lists in _may_join(column.type):
                text = text_of(column.name, column.type, elements=lists)
                columns.append(_Readable(number, place, position, column.name, column.type, kind, text, lists))
                number += 1
        for start in range(0, len(columns), COLUMNS_AT_ONCE):
            kept = list(_worth_reading(connection, table, columns[start : start + COLUMNS_AT_ONCE], known))
            readable += kept
            _read_values(connection, table, kept, known, parts)
        if table.members:
            _insert(connection, f"SELECT {number} AS number, {names_of(table.members)} AS raw")
            readable.append(_Readable(number, place, -1, "", "VARCHAR", "text", ""))
            known[number] = len(table.members)
            number += 1
    connection.execute(f"CREATE OR REPLACE TEMP TABLE {VALUES} AS {with_keys(f'FROM {RAW_VALUES}')}").fetchall()
    return _described(connection, tables, readable, known, parts)


def _with_places_inside(table: JoinableTable) -> Iterator[tuple[int, Column]]:
    for position, column in _first_and_keys(table):
        yield position, column
        yield from places_inside(column, position, lists=True)


def _first_and_keys(table: JoinableTable) -> Iterator[tuple[int, Column]]:
    keys = {*table.primary_key, *(name for key in table.foreign_keys for name in key.columns)}
    for position, column in enumerate(table.columns):
        if position < MOST_COLUMNS or column.name in keys:
            yield position, column


def _may_join(type: str) -> Iterator[tuple[ColumnKind, bool]]:
    """What kind of value a column holds that may join, and whether in lists; nothing for others."""
    kind = column_kind(type)
    if kind in ("text", "integer", "decimal", "float", "date", "timestamp", "enum", "uuid"):
        yield kind, False
    elif kind == "nested" and type.endswith("[]") and column_kind(type[:-2]) in ("text", "integer", "uuid", "enum"):
        yield column_kind(type[:-2]), True


def _worth_reading(
    connection: duckdb.DuckDBPyConnection, table: JoinableTable, columns: Sequence[_Readable], known: dict[int, int]
) -> Iterator[_Readable]:
    """One pass over the table: what is all fractions, times of day or prose is not gathered."""
    if not columns:
        return
    tests: list[str] = []
    for column in columns:
        name = access(column.name)
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
            yield replace(column, text=text_of(column.name, column.type, elements=True), elements=True)
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
    if plain and large:
        _read_parts(connection, table, plain, parts)
    for column in columns:
        if not known[column.number] or not column.elements:
            continue
        source = f"SELECT {column.number} AS number, {column.text} AS raw FROM {table.relation}"
        if large:
            [(count,)] = connection.execute(f"SELECT approx_count_distinct(raw) FROM ({source})").fetchall()
            parts[column.number] = _part(count)
        _insert(connection, source, parts.get(column.number, 1))
        [(count,)] = connection.execute(f"SELECT sum(n) FROM {RAW_VALUES} WHERE number = {column.number}").fetchall()
        known[column.number] = int(count or 0) * parts.get(column.number, 1)


def _read_parts(
    connection: duckdb.DuckDBPyConnection, table: JoinableTable, columns: Sequence[_Readable], parts: dict[int, int]
) -> None:
    """The columns of a large table, each by itself. Values become text only after they were chosen and counted: over
    many rows that is most of the work."""
    values = {column.number: column.text if column.kind == "text" else access(column.name) for column in columns}
    counts = ", ".join(f"approx_count_distinct({value})" for value in values.values())
    [row] = connection.execute(f"SELECT {counts} FROM {table.relation}").fetchall()
    for (number, value), count in zip(values.items(), row, strict=True):
        parts[number] = _part(count)
        chosen = f" AND hash(v) % {parts[number]} = 0" if parts[number] > 1 else ""
        connection.execute(
            f"INSERT INTO {RAW_VALUES} SELECT {number}, CAST(v AS VARCHAR) AS raw, sum(n) "
            f"FROM (SELECT v, count(*) AS n FROM (SELECT {value} AS v FROM {table.relation}) "
            f"WHERE v IS NOT NULL{chosen} GROUP BY v) GROUP BY raw"
        ).fetchall()


def _part(count: int) -> int:
    """Of so many values one in how many is kept: a power of two."""
    return 1 << max(0, math.ceil(math.log2(max(1, count) / KEPT_VALUES)))


def _insert(connection: duckdb.DuckDBPyConnection, source: str, part: int = 1) -> None:
    connection.execute(f"INSERT INTO {RAW_VALUES} {distinct_values(source, part)}").fetchall()


def _described(
    connection: duckdb.DuckDBPyConnection,
    tables: Sequence[JoinableTable],
    readable: Sequence[_Readable],
    known: dict[int, int],
    parts: dict[int, int],
) -> list[Gathered]:
    answers = connection.execute(
        f"SELECT number, count(*), sum(n), count(DISTINCT key), "
        f"min(TRY_CAST(key AS BIGINT)), max(TRY_CAST(key AS BIGINT)), "
        f"avg(CASE WHEN regexp_full_match(key, '[0-9]{{1,18}}') THEN 1 ELSE 0 END), "
        f"arg_min(raw, hash(raw), {SAMPLED}), min(TRY_CAST(raw AS DOUBLE)), "
        f"avg(CASE WHEN regexp_full_match(trim(raw), '[+-]?[0-9]*[.][0-9]+') "
        f"AND NOT regexp_full_match(trim(raw), '[0-9]+[.]0+') THEN 1 ELSE 0 END), "
        # Of values that were cut off, nobody knows whether they are the same.
        f"CASE WHEN max(length(raw)) < {LONGEST_VALUE} THEN hash(count(*), sum(hash(raw)::HUGEINT)) END, "
        f"bool_or(raw <> trim(raw)), bool_or(raw <> stripped), "
        f"bool_or(regexp_matches(stripped, '[^\\p{{L}}\\p{{N}}]')), bool_or(raw <> lower(raw)), "
        f"bool_or(starts_with(stripped, '0') AND strlen(stripped) > 1) "
        f"FROM {VALUES} GROUP BY number"
    ).fetchall()
    by_number = {row[0]: row[1:] for row in answers}
    columns: list[Gathered] = []
    for column in readable:
        is_names, table = column.position < 0, tables[column.table]
        count = known[column.number]
        empty = JoinColumn(
            column.number, column.table, column.position, column.name, column.type, is_names, "text",
            len(table.members) if is_names else table.rows, 0, 0, 0, elements=column.elements,
            members=table.members if is_names else (),
        )  # fmt: skip
        if column.number not in by_number:
            if column.kind not in ("date", "timestamp", "float", "decimal"):
                columns.append(Gathered(empty))
            continue
        distinct, held, keys, minimum, maximum, whole, sample, least, fractions, digest, *dirt = by_number[
            column.number
        ]
        part = parts.get(column.number, 1)
        # Of a part, uniqueness is that of the part: a value's rows are all in it or none is.
        values = round(count * keys / max(1, held)) if part > 1 else keys
        kind = _value_kind(column.kind, float(whole), tuple(sample))
        negative = least is not None and least < -1
        if kind is None or (kind == "number" and negative) or float(fractions) > 0.2 or not keys:
            continue
        if keys <= 2 and all(_letters_and_digits(value) in _TRUTH_VALUES for value in sample) and count > 2:
            continue
        described = replace(
            empty,
            kind=kind,
            known=count,
            distinct=max(distinct, values),
            keys=values,
            dirt=frozenset(name for name, seen in zip(DIRT, dirt, strict=True) if seen),
            minimum=minimum if kind == "number" else None,
            maximum=maximum if kind == "number" else None,
            padded=any(value.startswith("0") and len(value) > 1 and value.isdigit() for value in sample),
            part=part,
            values=digest or 0,
        )
        columns.append(Gathered(described, tuple(sample)))
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
