"""What is true of a dirty environment, and the SQL that shows it.

`truth.json` holds all of it in sentences that a person can read, except the values that went into texts, which stand in
`truth.jsonl`, one line a row. Tables are named `"source"."table"`, so the same statement runs in a coset session over
the environment and in the DuckDB by which the generator itself counted. Every number was counted in the written files.
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .sql import identifier, literal

TRUTH_FILE, FACTS_FILE = "truth.json", "truth.jsonl"
TABLE_VALUE = "_table_value"


@dataclass(frozen=True)
class TableTruth:
    """A table, or a family of tables of one shape: then `table_values` says which value each name holds."""

    source: str
    engine: str
    names: tuple[str, ...]
    canonical_name: str
    renaming: tuple[str, ...]
    rows: int
    primary_key: tuple[str, ...]
    table_values: dict[str, str] = field(default_factory=dict)
    half_of: str | None = None


@dataclass(frozen=True)
class Place:
    """A column: of one table, or the same column of every table of a family."""

    source: str
    tables: tuple[str, ...]
    column: str

    def select(self, *expressions: str, where: str = "") -> str:
        condition = f" WHERE {where}" if where else ""
        return " UNION ALL ".join(
            f"SELECT {', '.join(expressions)} FROM {identifier(self.source)}.{identifier(table)}{condition}"
            for table in self.tables
        )

    def count(self, condition: str) -> str:
        return f"SELECT count(*) FROM ({self.select('1', where=condition)})"

    @property
    def text(self) -> str:
        return as_text(self.column)


@dataclass(frozen=True)
class ColumnTruth:
    """`origin` is where the values come from, `identity` the root of all columns that hold the same thing."""

    place: Place
    engine: str
    name: str
    canonical_name: str
    origin: str | None
    identity: str | None
    planted: str | None
    renaming: tuple[str, ...]
    type: str
    is_key: bool
    written_as: tuple[str, ...]
    """Of a key: the layers by which it is written, the first one first."""


@dataclass(frozen=True)
class Side:
    """One side of a join: key columns with the expressions that read them. A family's tables are taken together.

    The column `_table_value` stands for the value in the table's name (`table_values`).
    """

    source: str
    tables: tuple[str, ...]
    columns: tuple[str, ...]
    expressions: tuple[str, ...]
    origins: tuple[str, ...]
    written_as: tuple[tuple[str, ...], ...]
    table_values: dict[str, str] = field(default_factory=dict)

    def keys(self, *, as_is: bool = False) -> str:
        """A SELECT of k1, k2, ...: the keys as read, or (`as_is`) the plain text that stands there."""
        expressions = tuple(as_text(column) for column in self.columns) if as_is else self.expressions
        listed = ", ".join(f"{expression} AS k{number}" for number, expression in enumerate(expressions, start=1))
        parts = []
        for table in self.tables:
            relation = f"{identifier(self.source)}.{identifier(table)}"
            if self.table_values:
                value = literal(self.table_values[table])
                relation = f"(SELECT *, {value} AS {identifier(TABLE_VALUE)} FROM {relation})"
            parts.append(f"SELECT {listed} FROM {relation}")
        return " UNION ALL ".join(parts)

    @property
    def reference(self) -> str:
        table = self.tables[0] if len(self.tables) == 1 else f"{{{len(self.tables)} tables}}"
        return f"{self.source}.{table}({', '.join(self.columns)})"


@dataclass(frozen=True)
class Counts:
    """Of one side: all rows, those whose key is not null, those that find a partner, as read and as they stand."""

    rows: int
    known: int
    matched: int
    matched_as_is: int
    distinct: int
    touched: int
    """Rows whose text is not what the expression gives."""

    @property
    def match_share(self) -> float:
        return self.matched / self.known if self.known else 0.0

    @property
    def dangling_share(self) -> float:
        return 1 - self.match_share if self.known else 0.0


@dataclass(frozen=True)
class JoinTruth:
    """Two sides that join where all expressions are equal.

    `status`: declared (a foreign key of the clean database), split (the halves of a table), implied (both hold keys of
    one parent), component (only a part of a composite key: equal values mean the same, but join many to many).
    `kind` is the most telling of `kinds`, the differences between the two ways of writing.
    """

    id: str
    status: str
    kind: str
    kinds: tuple[str, ...]
    left: Side
    right: Side
    left_counts: Counts
    right_counts: Counts
    cardinality: str

    def sql(self) -> str:
        return count_sql(self.left, self.right)


@dataclass(frozen=True)
class TextTruth:
    """An attribute that exists only inside a text. Its values by row stand in `truth.jsonl` under `id`."""

    id: str
    place: Place
    origin: str
    canonical_name: str
    type: str
    templates: tuple[str, ...]
    regexes: tuple[str, ...]
    expression: str
    """DuckDB SQL for the value; null where the text holds none."""
    key_expressions: tuple[str, ...]
    rows: int
    present: int

    def sql(self) -> str:
        """The key of each row and the value that the expression finds."""
        return self.place.select(*self.key_expressions, self.expression)


@dataclass(frozen=True)
class TextRow:
    """One row's value in a text."""

    text: str
    key: tuple[str, ...]
    value: str | None


@dataclass(frozen=True)
class Change:
    place: Place
    key_expression: str
    how: str
    original: str | None
    copy: str | None


@dataclass(frozen=True)
class DuplicateTruth:
    """Rows that are one entity, by the keys that `key_expression` gives; the first is the original."""

    id: str
    place: Place
    key_expression: str
    keys: tuple[str, ...]
    changes: tuple[tuple[str, Change], ...]
    """(key of the copy, what was changed in it)"""
    repointed_rows: int


@dataclass(frozen=True)
class DiagnosticItem:
    what: str
    rows: int
    sql: str
    """A statement whose one number is `rows`."""


@dataclass(frozen=True)
class DiagnosticTruth:
    """Planted dirt. `expression` gives the clean value as text (a number for units); None: nothing to clean."""

    kind: str
    place: Place
    origin: str | None
    items: tuple[DiagnosticItem, ...]
    table_rows: int
    expression: str | None = None
    units: dict[str, float] = field(default_factory=dict)
    counts: str | None = None


@dataclass(frozen=True)
class DanglingTruth:
    """Rows of a foreign key that were made to point nowhere."""

    place: Place
    origin: str
    rows: int


@dataclass(frozen=True)
class Truth:
    database: str
    seed: int
    sources: dict[str, str]
    """Name of each source and its engine."""
    tables: tuple[TableTruth, ...]
    columns: tuple[ColumnTruth, ...]
    joins: tuple[JoinTruth, ...]
    texts: tuple[TextTruth, ...]
    duplicates: tuple[DuplicateTruth, ...]
    diagnostics: tuple[DiagnosticTruth, ...]
    dangling: tuple[DanglingTruth, ...]
    text_rows: tuple[TextRow, ...] = ()

    def column(self, origin: str) -> ColumnTruth:
        """The first column with this origin."""
        return next(column for column in self.columns if column.origin == origin)


def as_text(column: str) -> str:
    return f"CAST({identifier(column)} AS VARCHAR)"


def count_sql(left: Side, right: Side) -> str:
    """One row: rows, known, matched and distinct keys of the left, then of the right."""
    return count_keys_sql(f"({left.keys()})", f"({right.keys()})", len(left.columns))


def count_keys_sql(left: str, right: str, width: int) -> str:
    """`count_sql` for two relations with the columns k1, k2, ... up to `width`."""
    names = [f"k{number}" for number in range(1, width + 1)]
    listed = ", ".join(names)
    known = " AND ".join(f"{name} IS NOT NULL" for name in names)
    partners = " AND ".join(f"l.{name} = r.{name}" for name in names)

    def counted(side: str) -> str:
        return (
            f"(SELECT CAST(coalesce(sum(n), 0) AS BIGINT) FROM {side}), "
            f"(SELECT CAST(coalesce(sum(n), 0) AS BIGINT) FROM {side} WHERE {known}), "
            f"{side}_matched, (SELECT count(*) FROM {side} WHERE {known})"
        )

    return (
        f"WITH left_keys AS (SELECT {listed}, count(*) AS n FROM {left} AS l GROUP BY {listed}), "
        f"right_keys AS (SELECT {listed}, count(*) AS n FROM {right} AS r GROUP BY {listed}), "
        "matched AS (SELECT CAST(coalesce(sum(l.n), 0) AS BIGINT) AS left_keys_matched, "
        "CAST(coalesce(sum(r.n), 0) AS BIGINT) AS right_keys_matched "
        f"FROM left_keys AS l JOIN right_keys AS r ON {partners}) "
        f"SELECT {counted('left_keys')}, {counted('right_keys')} FROM matched"
    )


def write_truth(truth: Truth, folder: Path) -> None:
    content = dataclasses.asdict(dataclasses.replace(truth, text_rows=()))
    content.pop("text_rows")
    text = json.dumps(content, indent=1, ensure_ascii=False)
    (folder / TRUTH_FILE).write_text(text + "\n", encoding="utf-8", newline="\n")
    lines = [
        json.dumps({"text": row.text, "key": row.key, "value": row.value}, ensure_ascii=False) + "\n"
        for row in truth.text_rows
    ]
    (folder / FACTS_FILE).write_text("".join(lines), encoding="utf-8", newline="\n")


def load_truth(folder: Path | str) -> Truth:
    """The truth that was written into an environment's folder."""
    content = json.loads((Path(folder) / TRUTH_FILE).read_text(encoding="utf-8"))
    lines = (Path(folder) / FACTS_FILE).read_text(encoding="utf-8").split("\n")
    rows = [json.loads(line) for line in lines if line]
    return Truth(
        database=content["database"],
        seed=content["seed"],
        sources=content["sources"],
        tables=tuple(TableTruth(**_tuples(item)) for item in content["tables"]),
        columns=tuple(_placed(ColumnTruth, item) for item in content["columns"]),
        joins=tuple(_join(item) for item in content["joins"]),
        texts=tuple(_placed(TextTruth, item) for item in content["texts"]),
        duplicates=tuple(_duplicate(item) for item in content["duplicates"]),
        diagnostics=tuple(
            _placed(DiagnosticTruth, {**item, "items": [DiagnosticItem(**one) for one in item["items"]]})
            for item in content["diagnostics"]
        ),
        dangling=tuple(_placed(DanglingTruth, item) for item in content["dangling"]),
        text_rows=tuple(TextRow(**_tuples(row)) for row in rows),
    )


def _tuples(item: dict[str, Any]) -> dict[str, Any]:
    return {key: _tuple(value) for key, value in item.items()}


def _tuple(value: Any) -> Any:
    return tuple(_tuple(part) for part in value) if isinstance(value, list) else value


def _placed(kind: Any, item: dict[str, Any]) -> Any:
    return kind(**{**_tuples(item), "place": Place(**_tuples(item["place"]))})


def _join(item: dict[str, Any]) -> JoinTruth:
    sides = {name: Side(**_tuples(item[name])) for name in ("left", "right")}
    counts = {name: Counts(**item[name]) for name in ("left_counts", "right_counts")}
    return JoinTruth(**{**_tuples(item), **sides, **counts})


def _duplicate(item: dict[str, Any]) -> DuplicateTruth:
    changes = [(key, _placed(Change, change)) for key, change in item["changes"]]
    return _placed(DuplicateTruth, {**item, "changes": changes})  # type: ignore[no-any-return]
