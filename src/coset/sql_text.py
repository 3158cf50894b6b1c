"""Names and values as SQL text: the one place where they are quoted.

In: a name, its parts, or a value of Python. Out: the text that stands for it in a statement, whatever letters it holds.
DuckDB, SQLite and PostgreSQL quote alike; MySQL has its own quotes and reads backslashes in texts. Where a parameter or
a tree of sqlglot can be passed, that is better still. What people and models read is quoted only where it must be,
because every quote costs tokens and eyes. Knows no statement.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable
from decimal import Decimal
from functools import lru_cache
from typing import Literal

Dialect = Literal["duckdb", "sqlite", "postgres", "mysql"]
Value = bool | int | float | Decimal | str | datetime.date | datetime.datetime | None
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_VALUES_WITHOUT_BRACKETS = frozenset(
    {
        "user", "current_user", "session_user", "current_date", "current_time", "current_timestamp", "localtime",
        "localtimestamp", "rowid", "current_role", "current_catalog", "current_schema", "lambda",
    }
)  # fmt: skip


def identifier(name: str, dialect: Dialect = "duckdb") -> str:
    """A name as SQL writes it, always quoted."""
    quote = "`" if dialect == "mysql" else '"'
    return quote + name.replace(quote, quote * 2) + quote


def qualified(parts: Iterable[str | None], dialect: Dialect = "duckdb") -> str:
    """A name of several parts (source, schema, table); parts that are None are left out."""
    return ".".join(identifier(part, dialect) for part in parts if part is not None)


def name(written: str) -> str:
    """An identifier, in quotes only where DuckDB would read it as something else."""
    lowered = written.lower()
    plain = _PLAIN.fullmatch(written) and lowered not in _VALUES_WITHOUT_BRACKETS and lowered not in _key_words()
    return written if plain else identifier(written)


def table_name(source: str, schema: str | None, table: str) -> str:
    """What to write after FROM; `schema` is None where the short name is enough."""
    return ".".join(name(part) for part in (source, schema, table) if part is not None)


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


@lru_cache(maxsize=1)
def _key_words() -> frozenset[str]:
    """The words that DuckDB keeps for itself where a name may stand."""
    import duckdb

    with duckdb.connect(":memory:") as connection:
        rows = connection.execute(
            "SELECT keyword_name FROM duckdb_keywords() WHERE keyword_category <> 'unreserved'"
        ).fetchall()
    return frozenset(row[0] for row in rows)
