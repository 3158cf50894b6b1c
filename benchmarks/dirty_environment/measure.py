"""The truth, counted in the written files, and refused when it is not what the steps meant to do.

In: the finished draft and a DuckDB holding the files as read back. Out: a `Truth`. Each key column is compared with
what was meant, each join's counts with the same counts in Python, each diagnostic with its plan, each text with its
facts, each duplicate with its changes; the first difference raises `TruthBroken`.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import duckdb

from .draft import Draft, DraftColumn, DraftTable, Planted, TextFact
from .key_forms import join_kinds, read_key
from .sql import literal
from .true_joins import Columns, DraftJoin, true_joins
from .truth import (
    Change,
    ColumnTruth,
    Counts,
    DanglingTruth,
    DiagnosticItem,
    DiagnosticTruth,
    DuplicateTruth,
    JoinTruth,
    Place,
    Side,
    TableTruth,
    TextRow,
    TextTruth,
    Truth,
    as_text,
    count_keys_sql,
)
from .write_keys import domains


class TruthBroken(Exception):
    """The files do not hold what the truth would state: a mistake in the generator, never in the data."""


def measure(draft: Draft, connection: duckdb.DuckDBPyConnection, sources: dict[str, str]) -> Truth:
    _check_keys(draft, connection)
    texts, rows = _texts(draft, connection)
    keys = _Keys(connection)
    return Truth(
        database=draft.database,
        seed=draft.seed,
        sources=sources,
        tables=tuple(_table(table, connection) for table in draft.tables),
        columns=tuple(_columns(draft)),
        joins=tuple(_join(number, join, keys) for number, join in enumerate(true_joins(draft), start=1)),
        texts=tuple(texts),
        duplicates=tuple(_duplicates(draft, connection)),
        diagnostics=tuple(_diagnostic(planted, connection) for planted in draft.planted),
        dangling=tuple(
            DanglingTruth(_place(item.column), str(item.column.origin), item.rows) for item in draft.dangling
        ),
        text_rows=tuple(rows),
    )


def expression_of(column: DraftColumn) -> str:
    return read_key(as_text(column.name), column.layers)


def _place(column: DraftColumn) -> Place:
    return Place(column.table.source, tuple(column.table.members), column.name)


def _one(connection: duckdb.DuckDBPyConnection, sql: str) -> tuple[Any, ...]:
    (row,) = connection.execute(sql).fetchall()
    return tuple(row)


def _expect(what: str, found: object, meant: object) -> None:
    if found != meant:
        raise TruthBroken(f"{what}: the files hold {str(found)[:300]}, meant was {str(meant)[:300]}")


# --- tables and columns


def _table(table: DraftTable, connection: duckdb.DuckDBPyConnection) -> TableTruth:
    members = table.members
    place = Place(table.source, tuple(members), "")
    _expect(f"rows of {table.canonical_name}", _one(connection, place.count("true"))[0], table.rows)
    return TableTruth(
        source=table.source,
        engine=table.engine,
        names=tuple(members),
        canonical_name=table.canonical_name if table.part_of is None else table.part_of.canonical_name,
        renaming=table.renaming,
        rows=table.rows,
        primary_key=tuple(column.name for column in table.primary_key),
        table_values=_table_values(table),
        half_of=table.part_of.name if table.part_of else None,
    )


def _table_values(table: DraftTable) -> dict[str, str]:
    if table.family_column is None:
        return {}
    return {name: str(table.family_column.values[rows[0]]) for name, rows in table.members.items()}


def _columns(draft: Draft) -> list[ColumnTruth]:
    children = {column for reference in draft.references for column in reference.child}
    roots: dict[DraftColumn, str | None] = {}
    for columns in domains(draft):
        root = next((column for column in columns if column not in children), columns[0])
        roots.update(dict.fromkeys(columns, root.origin))
    found = []
    for table in draft.tables:
        for column in table.columns:
            found.append(
                ColumnTruth(
                    place=_place(column), engine=table.engine, name=column.name, canonical_name=column.canonical_name,
                    origin=column.origin, identity=roots.get(column, column.origin), planted=column.planted,
                    renaming=column.renaming, type=column.type, is_key=column.is_key, written_as=_written_as(column),
                )
            )  # fmt: skip
        if table.engine == "mongodump":
            place = Place(table.source, tuple(table.members), "_id")
            found.append(
                ColumnTruth(place, table.engine, "_id", "_id", None, None, "document id", (), "objectid", False, ())
            )
    return found


def _written_as(column: DraftColumn) -> tuple[str, ...]:
    return tuple(
        f"{layer.kind} {layer.how!r}" + (f" on {layer.share:.1%} of rows" if layer.share < 1 else "")
        for layer in column.layers
    )


def _check_keys(draft: Draft, connection: duckdb.DuckDBPyConnection) -> None:
    for column in draft.columns:
        if column.is_key:
            side = _side((column,))
            found = Counter(row[0] for row in connection.execute(side.keys()).fetchall())
            _expect(f"keys of {column.origin} as {side.reference}", found, Counter(column.canonical))


# --- joins


def _side(columns: Columns) -> Side:
    table = columns[0].table
    return Side(
        source=table.source,
        tables=tuple(table.members),
        columns=tuple(column.name for column in columns),
        expressions=tuple(expression_of(column) for column in columns),
        origins=tuple(str(column.origin) for column in columns),
        written_as=tuple(_written_as(column) for column in columns),
        table_values=_table_values(table) if any(column.in_table_name for column in columns) else {},
    )


class _Keys:
    """The keys of every side, read once: `k1, k2, ...` as the expressions give them, and again as they stand."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self.connection = connection
        self.known: dict[Columns, tuple[str, str, int]] = {}

    def of(self, columns: Columns) -> tuple[str, str, int]:
        """The tables with the keys as read and as they stand, and how many rows differ between the two."""
        if columns not in self.known:
            side, number = _side(columns), len(self.known)
            names = [f"k{place}" for place in range(1, len(columns) + 1)]
            tables = f"read_{number}", f"plain_{number}"
            for table, as_is in zip(tables, (False, True), strict=True):
                self.connection.execute(f"CREATE TEMP TABLE {table} AS {side.keys(as_is=as_is)}")
            differs = " OR ".join(f"one.{name} <> other.{name}" for name in names)
            # Both were read in the order of the rows.
            rows = f"{tables[0]} AS one POSITIONAL JOIN {tables[1]} AS other"
            touched = _one(self.connection, f"SELECT count(*) FROM {rows} WHERE {differs}")[0]
            self.known[columns] = *tables, int(touched)
        return self.known[columns]


def _join(number: int, join: DraftJoin, keys: _Keys) -> JoinTruth:
    left, right = _side(join.left), _side(join.right)
    (left_read, left_plain, left_touched), (right_read, right_plain, right_touched) = (
        keys.of(join.left),
        keys.of(join.right),
    )
    read = _one(keys.connection, count_keys_sql(left_read, right_read, len(join.left)))
    as_is = _one(keys.connection, count_keys_sql(left_plain, right_plain, len(join.left)))
    _expect(f"join {left.reference} to {right.reference}", read, _meant(join.left, join.right))
    counts = [
        Counts(read[at], read[at + 1], read[at + 2], as_is[at + 2], read[at + 3], touched)
        for at, touched in ((0, left_touched), (4, right_touched))
    ]
    kinds = _kinds(join, is_plain=counts[0].matched == counts[0].matched_as_is)
    sides = ["1" if side.distinct == side.known else many for side, many in zip(counts, ("n", "m"), strict=True)]
    cardinality = ":".join(sides).replace("1:m", "1:n")
    return JoinTruth(
        f"join {number}", join.status, kinds[0], tuple(kinds), left, right, counts[0], counts[1], cardinality
    )


def _kinds(join: DraftJoin, *, is_plain: bool) -> list[str]:
    kinds: list[str] = []
    for left, right in zip(join.left, join.right, strict=True):
        if left.in_table_name or right.in_table_name:
            kinds.append("table_name")
        casts = left.type != right.type and not (left.in_table_name or right.in_table_name)
        if not is_plain:
            kinds += join_kinds(left.layers, right.layers)
        if casts and not set(kinds) - {"identity", "padding"}:
            kinds.append("date" if "date" in {left.type, right.type} else "numeric")
    found = [kind for kind in dict.fromkeys(kinds) if kind != "identity"]
    return found or ["identity"]


def _meant(left: Columns, right: Columns) -> tuple[int, ...]:
    keys = [list(zip(*(column.canonical for column in side), strict=True)) for side in (left, right)]
    known = [[key for key in side if None not in key] for side in keys]
    kinds = [set(side) for side in known]
    return (
        len(keys[0]), len(known[0]), sum(key in kinds[1] for key in known[0]), len(kinds[0]),
        len(keys[1]), len(known[1]), sum(key in kinds[0] for key in known[1]), len(kinds[1]),
    )  # fmt: skip


# --- texts


def _texts(draft: Draft, connection: duckdb.DuckDBPyConnection) -> tuple[list[TextTruth], list[TextRow]]:
    texts: list[TextTruth] = []
    rows: list[TextRow] = []
    for number, fact in enumerate(draft.facts, start=1):
        truth = _text(f"text {number}", fact)
        keys = list(zip(*(column.canonical for column in fact.column.table.primary_key), strict=True))
        meant = [TextRow(truth.id, tuple(map(str, key)), value) for key, value in zip(keys, fact.written, strict=True)]
        found = Counter((tuple(row[:-1]), row[-1]) for row in connection.execute(truth.sql()).fetchall())
        _expect(f"values of {fact.origin} in {truth.place}", found, Counter((row.key, row.value) for row in meant))
        texts.append(truth)
        rows += meant
    return texts, rows


def _text(name: str, fact: TextFact) -> TextTruth:
    place = _place(fact.column)
    parts = ", ".join(f"nullif(regexp_extract({place.text}, {literal(regex)}, 1), '')" for regex in fact.regexes)
    return TextTruth(
        id=name, place=place, origin=fact.origin, canonical_name=fact.canonical_name, type=fact.type,
        templates=fact.templates, regexes=fact.regexes, expression=f"coalesce({parts})",
        key_expressions=tuple(expression_of(column) for column in fact.column.table.primary_key),
        rows=len(fact.written), present=sum(value is not None for value in fact.written),
    )  # fmt: skip


# --- duplicates


def _duplicates(draft: Draft, connection: duckdb.DuckDBPyConnection) -> list[DuplicateTruth]:
    clusters: dict[tuple[DraftColumn, str], list[Any]] = {}
    for duplicate in draft.duplicates:
        original = duplicate.column.reading.canonical(str(duplicate.original))
        clusters.setdefault((duplicate.column, original), []).append(duplicate)
    found = []
    held: dict[DraftColumn, dict[str, str | None]] = {}
    for number, ((column, original), copies) in enumerate(clusters.items(), start=1):
        changes = []
        keys = [original]
        for duplicate in copies:
            key = column.reading.canonical(str(duplicate.key))
            keys.append(key)
            for changed, how, before, after in duplicate.changes:
                own = next(c for c in changed.table.columns if c is column or c.copy_of is column)
                place = _place(changed)
                if changed not in held:
                    sql = place.select(expression_of(own), place.text)
                    held[changed] = dict(connection.execute(sql).fetchall())
                _expect(f"{changed.origin} of duplicate {key}", held[changed].get(key, "no such row"), after)
                _expect(f"{changed.origin} of original {original}", held[changed].get(original, "no such row"), before)
                changes.append((key, Change(place, expression_of(own), how, before, after)))
        repointed = sum(duplicate.repointed for duplicate in copies)
        found.append(
            DuplicateTruth(
                f"duplicate {number}", _place(column), expression_of(column), tuple(keys), tuple(changes), repointed
            )
        )
    return found


# --- diagnostics


def _diagnostic(planted: Planted, connection: duckdb.DuckDBPyConnection) -> DiagnosticTruth:
    place = _place(planted.column)
    items = []
    for what, meant, condition in planted.items:
        sql = _counter_sql(planted) if planted.counted else place.count(condition.replace("{}", place.text))
        rows = int(_one(connection, sql)[0])
        _expect(f"{planted.kind} '{what}' in {place}", rows, meant)
        items.append(DiagnosticItem(what, rows, sql))
    expression = planted.parameters.get("expression")
    if expression is not None:
        expression = str(expression).replace("{}", place.text)
        found = [row[0] for row in connection.execute(place.select(expression)).fetchall()]
        if not _same(found, list(planted.parameters["clean"])):
            raise TruthBroken(f"{planted.kind} in {place}: {expression} does not give the clean values back")
    return DiagnosticTruth(
        kind=planted.kind, place=place, origin=planted.column.origin, items=tuple(items),
        table_rows=planted.column.table.rows, expression=expression, units=planted.parameters.get("units", {}),
        counts=planted.parameters.get("counts"),
    )  # fmt: skip


def _counter_sql(planted: Planted) -> str:
    assert planted.counted is not None
    place = _place(planted.column)
    table = planted.column.table
    key = next(c for c in table.columns if planted.counted.parent[0] in {c, c.copy_of})
    claims = place.select(f"{expression_of(key)} AS k1, CAST({place.text} AS BIGINT) AS claimed")
    return (
        f"WITH counted AS (SELECT k1, count(*) AS n FROM ({_side(planted.counted.child).keys()}) AS c GROUP BY k1), "
        f"claims AS ({claims}) SELECT count(*) FROM claims LEFT JOIN counted ON claims.k1 = counted.k1 "
        "WHERE claims.claimed <> coalesce(counted.n, 0)"
    )


def _same(found: list[Any], meant: list[Any]) -> bool:
    """Equal as collections; numbers may differ in their last digits."""
    if any(isinstance(value, float) for value in meant):
        ordered = [sorted(value for value in side if value is not None) for side in (found, meant)]
        pairs = zip(*ordered, strict=False)
        return [len(side) for side in ordered] == [len(ordered[1])] * 2 and all(
            math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9) for one, other in pairs
        )
    return Counter(found) == Counter(meant)
