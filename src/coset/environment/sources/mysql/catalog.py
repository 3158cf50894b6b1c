"""What tables a MySQL or MariaDB server has, from its information_schema: a few statements, however many tables.

In: a connection, and the one database to look at or None for all. Out: `Table`s with columns, keys, comments, sizes and
numbers of rows: counted where the table is small, the server's estimate where not. A table whose columns the user may
not see is left out, and so is a reference that leads out of what is listed. Nothing here reads rows.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from coset.environment.source import Column, ForeignKey, Table, unique_names
from coset.environment.sources.mysql.columns import TEXT_TYPES, base_type, duckdb_type, may_hold_no_date
from coset.environment.sources.mysql.connection import LOST, error_code, fetch, is_mariadb

if TYPE_CHECKING:
    from pymysql.connections import Connection

SYSTEM_DATABASES = ("information_schema", "mysql", "performance_schema", "sys")
COUNTED_BYTES, COUNTED_ROWS, COUNTED_AT_ONCE = 256_000_000, 100_000, 200


@dataclass(frozen=True)
class _Listed:
    """A row of information_schema.tables."""

    database: str
    name: str
    is_view: bool
    rows: int | None
    bytes: int | None
    comment: str | None


def list_tables(connection: Connection[Any], database: str | None) -> list[Table]:
    """The tables of one database, or of all that are not the server's own when it is None."""
    where, arguments = _scope(database)
    listed = _listed(connection, database, where, arguments)
    columns = _columns(connection, where, arguments)
    listed = [item for item in listed if (item.database, item.name) in columns]
    primary, references = _keys(connection, where, arguments)
    counts = _row_counts(connection, [item for item in listed if not item.is_view])

    schemas: dict[str, str | None] = defaultdict(lambda: None)
    if database is None:
        schemas.update({native: name for name, native in schema_names(connection).items()})
    names: dict[tuple[str, str], str] = {}
    by_database: dict[str, list[str]] = defaultdict(list)
    for item in listed:
        by_database[item.database].append(item.name)
    for owner, natives in by_database.items():
        names.update(zip(((owner, name) for name in natives), unique_names(natives), strict=True))

    exposed = {key: {column.native_name: column.name for column in of_table} for key, of_table in columns.items()}
    tables = []
    for item in listed:
        key = (item.database, item.name)
        foreign_keys = []
        for own, other, theirs in references.get(key, ()):
            if other in names and all(name in exposed[other] for name in theirs):
                foreign_keys.append(
                    ForeignKey(
                        columns=tuple(exposed[key][name] for name in own),
                        references_schema=schemas[other[0]],
                        references_table=names[other],
                        references_columns=tuple(exposed[other][name] for name in theirs),
                    )
                )
        tables.append(
            Table(
                name=names[key],
                native_name=item.name,
                columns=tuple(columns[key]),
                schema=schemas[item.database],
                kind="view" if item.is_view else "table",
                rows=counts.get(key, item.rows),
                rows_exact=key in counts,
                bytes=item.bytes,
                primary_key=tuple(exposed[key][name] for name in primary.get(key, ())),
                foreign_keys=tuple(foreign_keys),
                comment=item.comment,
            )
        )
    return tables


def _scope(database: str | None) -> tuple[str, tuple[str, ...]]:
    if database is not None:
        return "TABLE_SCHEMA = %s", (database,)
    return f"TABLE_SCHEMA NOT IN ({', '.join(['%s'] * len(SYSTEM_DATABASES))})", SYSTEM_DATABASES


def _listed(connection: Connection[Any], database: str | None, where: str, arguments: tuple[str, ...]) -> list[_Listed]:
    rows = fetch(
        connection,
        "SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE, TABLE_ROWS, DATA_LENGTH, TABLE_COMMENT "
        "FROM information_schema.TABLES "
        f"WHERE {where} AND TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED', 'VIEW')",
        arguments,
    )
    listed = []
    for schema, name, table_type, count, size, comment in rows:
        is_view = table_type == "VIEW"
        listed.append(
            _Listed(
                schema or "",
                name or "",
                is_view,
                None if count is None or is_view else int(count),
                None if size is None or is_view else int(size),
                (comment or None) if not is_view else None,
            )
        )
    # MariaDB's information_schema ignores case where its databases may differ by nothing else.
    exact = [item for item in listed if item.database == database]
    return sorted(exact or listed, key=lambda item: (item.database, item.name))


def _columns(
    connection: Connection[Any], where: str, arguments: tuple[str, ...]
) -> dict[tuple[str, str], list[Column]]:
    json_columns: set[tuple[str | None, ...]] = set()
    if is_mariadb(connection):
        checks = fetch(
            connection,
            "SELECT CONSTRAINT_SCHEMA, TABLE_NAME, CHECK_CLAUSE FROM information_schema.CHECK_CONSTRAINTS "
            f"WHERE CHECK_CLAUSE LIKE 'json_valid(%%)' AND {where.replace('TABLE_SCHEMA', 'CONSTRAINT_SCHEMA')}",
            arguments,
        )
        for database, table, clause in checks:
            column = (clause or "")[len("json_valid(") : -1]
            json_columns.add((database, table, column[1:-1].replace("``", "`")))
    rows = fetch(
        connection,
        "SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, COLUMN_TYPE, CHARACTER_SET_NAME, IS_NULLABLE, "
        "COLUMN_COMMENT "
        f"FROM information_schema.COLUMNS WHERE {where} ORDER BY TABLE_SCHEMA, TABLE_NAME, ORDINAL_POSITION",
        arguments,
    )
    found: dict[tuple[str, str], list[tuple[str | None, ...]]] = defaultdict(list)
    for row in rows:
        found[(row[0] or "", row[1] or "")].append(row)
    columns: dict[tuple[str, str], list[Column]] = {}
    for key, of_table in found.items():
        names = unique_names(row[2] or "" for row in of_table)
        columns[key] = [_column(name, row, row[:3] in json_columns) for name, row in zip(names, of_table, strict=True)]
    return columns


def _keys(
    connection: Connection[Any], where: str, arguments: tuple[str, ...]
) -> tuple[
    dict[tuple[str, str], list[str]],
    dict[tuple[str, str], list[tuple[list[str], tuple[str, str], list[str]]]],
]:
    """Primary keys, and references as (own columns, (database, table), its columns), by (database, table)."""
    rows = fetch(
        connection,
        "SELECT TABLE_SCHEMA, TABLE_NAME, CONSTRAINT_NAME, COLUMN_NAME, REFERENCED_TABLE_SCHEMA, "
        "REFERENCED_TABLE_NAME, REFERENCED_COLUMN_NAME FROM information_schema.KEY_COLUMN_USAGE "
        f"WHERE {where} AND (CONSTRAINT_NAME = 'PRIMARY' OR REFERENCED_TABLE_NAME IS NOT NULL) "
        "ORDER BY TABLE_SCHEMA, TABLE_NAME, CONSTRAINT_NAME, ORDINAL_POSITION",
        arguments,
    )
    primary: dict[tuple[str, str], list[str]] = defaultdict(list)
    references: dict[tuple[str, str], dict[str | None, tuple[list[str], tuple[str, str], list[str]]]] = defaultdict(
        dict
    )
    for database, table, constraint, column, other_database, other_table, other_column in rows:
        key = (database or "", table or "")
        if other_table is None:
            primary[key].append(column or "")
            continue
        own, _, theirs = references[key].setdefault(constraint, ([], (other_database or "", other_table), []))
        own.append(column or "")
        theirs.append(other_column or "")
    return primary, {key: list(by_name.values()) for key, by_name in references.items()}


def _row_counts(connection: Connection[Any], listed: list[_Listed]) -> dict[tuple[str, str], int]:
    """Exact numbers of rows for small tables, many to a statement."""
    from pymysql import err

    from coset.environment.sources.mysql.statements import row_counts

    small: list[tuple[str, str]] = []
    size = 0
    for item in sorted(listed, key=lambda item: item.bytes or 0):
        size += item.bytes or 0
        if size <= COUNTED_BYTES and item.rows is not None and item.rows <= COUNTED_ROWS:
            small.append((item.database, item.name))
    counts: dict[tuple[str, str], int] = {}
    batches = [small[start : start + COUNTED_AT_ONCE] for start in range(0, len(small), COUNTED_AT_ONCE)]
    while batches:
        batch = batches.pop()
        try:
            rows = fetch(connection, row_counts(batch))
        except err.MySQLError as error:
            if error_code(error) in LOST:
                raise
            # One of them cannot be read, or was dropped just now: the estimate has to do for that one.
            middle = len(batch) // 2
            batches += [half for half in (batch[:middle], batch[middle:]) if half and len(batch) > 1]
            continue
        counts.update({batch[int(position or 0)]: int(count or 0) for position, count in rows})
    return counts


def schema_names(connection: Connection[Any]) -> dict[str, str]:
    """The database behind each schema name."""
    rows = fetch(connection, "SELECT SCHEMA_NAME FROM information_schema.SCHEMATA")
    databases = sorted(name for (name,) in rows if name and name not in SYSTEM_DATABASES)
    return dict(zip(unique_names(databases), databases, strict=True))


def _column(name: str, row: tuple[str | None, ...], is_json: bool) -> Column:
    _, _, native_name, native_type, charset, is_nullable, comment = row
    native = native_type or ""
    if charset not in {None, "utf8mb4"} and base_type(native) in TEXT_TYPES:
        native += f" character set {charset}"
    return Column(
        name=name,
        type="JSON" if is_json else duckdb_type(native),
        native_name=native_name or "",
        native_type=native,
        nullable=is_nullable == "YES" or may_hold_no_date(native),
        comment=comment or None,
    )
