"""Names and values as SQL text: the one place where they are quoted.

In: a name, its parts, or a value of Python. Out: the text that stands for it in a statement, whatever letters it holds.
DuckDB, SQLite and PostgreSQL quote alike; MySQL has its own quotes and reads backslashes in texts. Where a parameter or
a tree of sqlglot can be passed, that is better still. Knows no statement.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from decimal import Decimal
from typing import Literal

Dialect = Literal["duckdb", "sqlite", "postgres", "mysql"]
Value = bool | int | float | Decimal | str | datetime.date | datetime.datetime | None


def identifier(name: str, dialect: Dialect = "duckdb") -> str:
    """A name as SQL writes it, always quoted."""
    quote = "`" if dialect == "mysql" else '"'
    return quote + name.replace(quote, quote * 2) + quote


def qualified(parts: Iterable[str | None], dialect: Dialect = "duckdb") -> str:
    """A name of several parts (source, schema, table); parts that are None are left out."""
    return ".".join(identifier(part, dialect) for part in parts if part is not None)


def literal(value: Value, dialect: Dialect = "duckdb") -> str:
    """A value as SQL writes it."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(value) if value - value == 0 else f"CAST('{value}' AS DOUBLE)"
    if isinstance(value, int | Decimal):
        return str(value)
    if isinstance(value, datetime.datetime):
        return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
    if isinstance(value, datetime.date):
        return f"DATE '{value.isoformat()}'"
    text = value.replace("\\", "\\\\") if dialect == "mysql" else value
    return "'" + text.replace("'", "''") + "'"
