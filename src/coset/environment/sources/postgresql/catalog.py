"""What a PostgreSQL database holds, from its catalog in three queries, however many tables there are.

In: a function that runs a query. Out: `Table`s for tables, partitioned tables (as one), views, materialised views and
foreign tables that the user may read, with the columns he may read, in every schema but the system's own.

Rows are counted where that is cheap (a table under 8 MB, or one under 64 MB that was never analysed) and estimated from
the last ANALYZE and the present size elsewhere. The same pass looks at the values of `numeric` columns without a
precision (tables under 64 MB) to choose a type that holds them; see `postgresql_types`. A table that another session
has locked exclusively is listed without being touched.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from coset.environment.source import Column, ForeignKey, Table, unique_names
from coset.environment.sources.postgresql.types import UNDECIDED, NativeType, Reading, decimal_for, reading
from coset.errors import CosetError

Query = Callable[[str], list[tuple[Any, ...]]]

COUNTED_BYTES = 8_000_000
LOOKED_AT_BYTES = 64_000_000
COUNTED_TOGETHER = 200

SCHEMAS = """
SELECT nspname::text FROM pg_catalog.pg_namespace
WHERE nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast') AND nspname !~ '^pg_(toast_)?temp_'
ORDER BY nspname COLLATE "C"
"""

# A partition is left out when its parent is listed. `tree` has every table with those that inherit from it, itself too.
RELATIONS = """
WITH RECURSIVE
listed AS (
  SELECT c.oid, c.relname, c.relkind, c.relispopulated, n.nspname
  FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')
    AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast') AND n.nspname !~ '^pg_(toast_)?temp_'
    AND has_schema_privilege(n.oid, 'USAGE') AND has_any_column_privilege(c.oid, 'SELECT')
    AND NOT (c.relispartition AND EXISTS (
      SELECT FROM pg_catalog.pg_inherits i
      WHERE i.inhrelid = c.oid AND has_any_column_privilege(i.inhparent, 'SELECT')))
),
tree AS (
  SELECT oid AS root, oid AS member FROM listed
  UNION
  SELECT tree.root, i.inhrelid FROM tree JOIN pg_catalog.pg_inherits i ON i.inhparent = tree.member
),
locked AS (
  SELECT DISTINCT relation FROM pg_catalog.pg_locks
  WHERE granted AND mode = 'AccessExclusiveLock' AND relation IS NOT NULL
),
sizes AS (
  SELECT tree.root, bool_or(locked.relation IS NOT NULL) AS locked, bool_or(m.relkind = 'f') AS foreign_part,
    bool_or(m.relkind IN ('r', 'm') AND m.reltuples < 0) AS never_analysed,
    sum(CASE WHEN m.relkind NOT IN ('r', 'm') THEN 0 WHEN locked.relation IS NOT NULL THEN m.relpages * b.bytes
      ELSE pg_relation_size(m.oid) END) AS main_bytes,
    sum(CASE WHEN m.relkind NOT IN ('r', 'm') THEN 0 WHEN locked.relation IS NOT NULL THEN m.relpages * b.bytes
      ELSE pg_total_relation_size(m.oid) END) AS all_bytes,
    sum(CASE WHEN m.reltuples < 0 OR m.relkind = 'p' THEN 0
      WHEN m.relkind NOT IN ('r', 'm') OR m.relpages = 0 OR locked.relation IS NOT NULL THEN m.reltuples::float8
      ELSE m.reltuples::float8 / m.relpages * (pg_relation_size(m.oid) / b.bytes) END) AS estimate
  FROM tree JOIN pg_catalog.pg_class m ON m.oid = tree.member LEFT JOIN locked ON locked.relation = m.oid
  CROSS JOIN (SELECT current_setting('block_size')::bigint AS bytes) b
  GROUP BY tree.root
)
SELECT l.oid::bigint, l.nspname::text, l.relname::text, l.relkind::text, l.relispopulated,
  s.locked, s.foreign_part, s.never_analysed, s.main_bytes::bigint, s.all_bytes::bigint,
  s.estimate::float8, d.description
FROM listed l JOIN sizes s ON s.root = l.oid
LEFT JOIN pg_catalog.pg_description d
  ON d.objoid = l.oid AND d.classoid = 'pg_catalog.pg_class'::regclass AND d.objsubid = 0
ORDER BY l.nspname COLLATE "C", l.relname COLLATE "C"
"""

# {where} narrows to one table when it is read. to_jsonb asks for what older servers do not have without failing there.
COLUMNS = """
WITH RECURSIVE chain AS (
  SELECT oid AS domain, typbasetype AS target, typtypmod AS modifier, typndims AS dimensions
  FROM pg_catalog.pg_type WHERE typtype = 'd'
  UNION ALL
  SELECT chain.domain, t.typbasetype, CASE WHEN chain.modifier = -1 THEN t.typtypmod ELSE chain.modifier END,
    greatest(chain.dimensions, t.typndims)
  FROM chain JOIN pg_catalog.pg_type t ON t.oid = chain.target WHERE t.typtype = 'd'
),
collations AS (
  SELECT co.oid, CASE WHEN co.collname = 'default'
      THEN db.datcollate IN ('C', 'POSIX') AND coalesce(to_jsonb(db) ->> 'datlocprovider', 'c') = 'c'
        OR to_jsonb(db) ->> 'datlocprovider' = 'b'
      ELSE co.collcollate IN ('C', 'POSIX') OR co.collprovider = 'b' END AS bytewise,
    coalesce((to_jsonb(co) ->> 'collisdeterministic')::boolean, true) AS deterministic
  FROM pg_catalog.pg_collation co CROSS JOIN pg_catalog.pg_database db WHERE db.datname = current_database()
)
SELECT a.attrelid::bigint, a.attnum::int, a.attname::text, format_type(a.atttypid, a.atttypmod), a.attnotnull,
  d.description, t.typname::text, tn.nspname = 'pg_catalog', t.typtype::text,
  (CASE WHEN a.atttypmod = -1 THEN coalesce(chain.modifier, -1) ELSE a.atttypmod END)::int,
  greatest(a.attndims, chain.dimensions)::int, e.typname::text, en.nspname = 'pg_catalog', e.typtype::text,
  coalesce(co.bytewise, false), coalesce(co.deterministic, true), scale(1::money::numeric)::int
FROM pg_catalog.pg_attribute a
JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN chain ON chain.domain = a.atttypid
  AND NOT EXISTS (SELECT FROM pg_catalog.pg_type x WHERE x.oid = chain.target AND x.typtype = 'd')
JOIN pg_catalog.pg_type t ON t.oid = coalesce(chain.target, a.atttypid)
JOIN pg_catalog.pg_namespace tn ON tn.oid = t.typnamespace
LEFT JOIN pg_catalog.pg_type e ON e.oid = t.typelem AND t.typcategory = 'A'
  AND t.typname NOT IN ('int2vector', 'oidvector')
LEFT JOIN pg_catalog.pg_namespace en ON en.oid = e.typnamespace
LEFT JOIN collations co ON co.oid = a.attcollation
LEFT JOIN pg_catalog.pg_description d
  ON d.objoid = a.attrelid AND d.classoid = 'pg_catalog.pg_class'::regclass AND d.objsubid = a.attnum
WHERE a.attnum > 0 AND NOT a.attisdropped AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
  AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast') AND n.nspname !~ '^pg_(toast_)?temp_'
  AND has_column_privilege(a.attrelid, a.attnum, 'SELECT') AND {where}
ORDER BY a.attrelid, a.attnum
"""

KEYS = """
SELECT contype::text, conrelid::bigint, confrelid::bigint,
  array_to_string(conkey, ' '), coalesce(array_to_string(confkey, ' '), '')
FROM pg_catalog.pg_constraint WHERE contype IN ('p', 'f') ORDER BY conrelid, conname COLLATE "C"
"""


@dataclass(frozen=True)
class NativeColumn:
    """A column as the catalog has it."""

    number: int
    name: str
    type_text: str
    not_null: bool
    comment: str | None
    reading: Reading
    bytewise: bool
    """Its collation sorts by bytes."""
    deterministic: bool
    """Its collation calls equal only what has the same bytes."""


@dataclass
class _Listing:
    """One table while it is being put together."""

    table: Table
    native_schema: str
    columns: list[NativeColumn]
    touchable: bool
    """Has rows of its own to look at, and nobody holds them locked."""
    never_analysed: bool
    main_bytes: int
    looked_at: list[int] = field(default_factory=list)
    """Positions of the columns whose values are looked at."""


def native_columns(query: Query, where: str = "TRUE") -> dict[int, list[NativeColumn]]:
    """The readable columns of each table by its oid; `where` is a condition on pg_class `c` and pg_namespace `n`."""
    found: dict[int, list[NativeColumn]] = defaultdict(list)
    for row in query(COLUMNS.format(where=where)):
        oid, number, name, text, not_null, comment, kind_name, built_in, kind, modifier, dimensions = row[:11]
        element_name, element_built_in, element_kind, bytewise, deterministic, money_scale = row[11:]
        element = None
        if element_name is not None:
            element = NativeType(element_name, element_built_in, element_kind, modifier)
        native = NativeType(kind_name, built_in, kind, modifier, dimensions, element)
        read_as = reading(native, money_scale)
        found[oid].append(NativeColumn(number, name, text, not_null, comment, read_as, bytewise, deterministic))
    return found


def exposed_schemas(query: Query) -> dict[str, str]:
    """The native name of each schema by its exposed one, which differs where another has the same name but for case."""
    native = [name for (name,) in query(SCHEMAS)]
    return dict(zip(unique_names(native), native, strict=True))


def list_tables(
    query: Query, relation_text: Callable[[str, str], str], column_text: Callable[[str], str]
) -> list[Table]:
    """All tables by schema and name. `relation_text` and `column_text` quote names for use in a statement."""
    exposed = {native: name for name, native in exposed_schemas(query).items()}
    columns = native_columns(query)
    listings: dict[int, _Listing] = {}
    # A schema or table made between two queries is left for the next listing.
    rows = [row for row in query(RELATIONS) if row[1] in exposed and columns.get(row[0])]
    names = _names_by_schema(rows)
    for row in rows:
        (
            oid,
            schema,
            name,
            kind,
            populated,
            locked,
            foreign,
            never_analysed,
            main_bytes,
            all_bytes,
            estimate,
            comment,
        ) = row
        has_storage = kind in {"r", "p", "m"}
        known = (has_storage and not never_analysed) or (kind == "f" and estimate > 0)
        table = Table(
            name=names[schema, name],
            native_name=name,
            columns=_columns(columns[oid]),
            schema=exposed[schema],
            kind="view" if kind in {"v", "m"} else "table",
            rows=round(estimate) if known else None,
            bytes=all_bytes if has_storage else None,
            comment=comment,
        )
        touchable = has_storage and populated and not locked and not foreign
        listings[oid] = _Listing(table, schema, columns[oid], touchable, never_analysed, main_bytes)
    _add_keys(listings, query)
    _look_at_values(list(listings.values()), query, relation_text, column_text)
    return [listing.table for listing in listings.values()]


def _names_by_schema(rows: list[tuple[Any, ...]]) -> dict[tuple[str, str], str]:
    by_schema: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        by_schema[row[1]].append(row[2])
    return {
        (schema, native): name
        for schema, natives in by_schema.items()
        for native, name in zip(natives, unique_names(natives), strict=True)
    }


def _columns(natives: list[NativeColumn]) -> tuple[Column, ...]:
    names = unique_names(native.name for native in natives)
    return tuple(
        Column(
            name=name,
            type="DOUBLE" if native.reading.type == UNDECIDED else native.reading.type,
            native_name=native.name,
            native_type=native.type_text,
            nullable=not native.not_null,
            comment=native.comment,
        )
        for name, native in zip(names, natives, strict=True)
    )


def _add_keys(listings: dict[int, _Listing], query: Query) -> None:
    exposed = {
        oid: {native.number: column.name for native, column in zip(item.columns, item.table.columns, strict=True)}
        for oid, item in listings.items()
    }
    for kind, oid, other, numbers, other_numbers in query(KEYS):
        if oid not in listings:
            continue
        item = listings[oid]
        columns = tuple(exposed[oid].get(int(number), "") for number in numbers.split())
        if not all(columns):
            continue  # A key over a column that the user may not read.
        if kind == "p":
            item.table = replace(item.table, primary_key=columns)
        elif other in listings:
            target = listings[other].table
            there = tuple(exposed[other].get(int(number), "") for number in other_numbers.split())
            key = ForeignKey(columns, target.schema, target.name, there)
            # A key to a partitioned table is noted once more for each partition, which is not listed.
            if all(there) and key not in item.table.foreign_keys:
                item.table = replace(item.table, foreign_keys=(*item.table.foreign_keys, key))


def _look_at_values(
    items: list[_Listing], query: Query, relation_text: Callable[[str, str], str], column_text: Callable[[str], str]
) -> None:
    """Count small tables and choose types for what the catalog leaves open, many tables to a query."""
    chosen: list[tuple[_Listing, str]] = []
    for item in items:
        small = item.main_bytes < COUNTED_BYTES
        for position, native in enumerate(item.columns):
            decimal = native.reading.how == "plain" and native.reading.type.startswith("DECIMAL")
            if native.reading.type == UNDECIDED or (small and (decimal or native.reading.how == "list")):
                item.looked_at.append(position)
        undecided = any(native.reading.type == UNDECIDED for native in item.columns)
        wanted = small or (item.main_bytes < LOOKED_AT_BYTES and (item.never_analysed or undecided))
        if item.touchable and wanted:
            numbers = [_numbers(item.columns[position], column_text) for position in item.looked_at]
            array = f"ARRAY[{', '.join(numbers)}]::bigint[]"
            relation = relation_text(item.native_schema, item.table.native_name)
            chosen.append((item, f"count(*) AS n, {array} AS numbers FROM {relation}"))
    for batch in (chosen[start : start + COUNTED_TOGETHER] for start in range(0, len(chosen), COUNTED_TOGETHER)):
        for answered, count, answer in _answers(batch, query):
            _use_answer(answered, count, answer)


def _numbers(native: NativeColumn, column_text: Callable[[str], str]) -> str:
    """Three aggregates that tell how much room a column's values need; -1 stands for no value."""
    name = column_text(native.name)
    if native.reading.how == "list":
        return f"coalesce(max(array_ndims({name})), 0), 0, 0"
    # scale() is NULL for NaN and infinity alone.
    return (
        f"coalesce(length(trunc(max(abs({name})) FILTER (WHERE scale({name}) IS NOT NULL))::text), -1), "
        f"coalesce(max(scale({name})), -1), count({name}) - count(scale({name}))"
    )


def _answers(batch: list[tuple[_Listing, str]], query: Query) -> Iterator[tuple[_Listing, int, list[int]]]:
    together = " UNION ALL ".join(f"SELECT {number} AS i, {select}" for number, (_, select) in enumerate(batch))
    try:
        rows = query(f"SELECT i, n, numbers FROM ({together}) AS t")
    except CosetError:
        # One table that cannot be read (dropped meanwhile, a broken partition) must not spoil the others.
        if len(batch) == 1:
            return
        half = len(batch) // 2
        yield from _answers(batch[:half], query)
        yield from _answers(batch[half:], query)
        return
    for number, count, numbers in rows:
        yield batch[number][0], count, numbers


def _use_answer(item: _Listing, count: int, numbers: list[int]) -> None:
    columns = list(item.table.columns)
    for index, position in enumerate(item.looked_at):
        first, second, third = numbers[3 * index : 3 * index + 3]
        read_as = item.columns[position].reading
        if read_as.type == UNDECIDED:
            digits, scale = (None, None) if first < 0 else (first, second)
            columns[position] = replace(columns[position], type=decimal_for(digits, scale, third))
        elif read_as.how == "list" and first > 1:
            columns[position] = replace(columns[position], type="JSON")
        elif read_as.how == "plain" and third:
            columns[position] = replace(columns[position], type="DOUBLE")
    item.table = replace(item.table, columns=tuple(columns), rows=count, rows_exact=True)
