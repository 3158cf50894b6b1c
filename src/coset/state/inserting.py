"""Rows of Python into tables of DuckDB, many at once.

In: a connection, the name of one of its tables, rows as dictionaries that all have the same keys. Lone surrogates,
which cannot be written anywhere, are replaced.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import duckdb

_KNOWN_TYPES: dict[str, dict[str, Any]] = {}
"""Of tables by their names, which have the same columns in every database that rows are written to."""


def insert_rows(connection: duckdb.DuckDBPyConnection, name: str, rows: Sequence[dict[str, Any]]) -> None:
    if not rows:
        return
    import pyarrow as pa

    types = _types(connection, name)
    columns = list(rows[0])
    content = pa.table(
        [_array([row[column] for row in rows], types[column]) for column in columns],
        schema=pa.schema([(column, types[column]) for column in columns]),
    )
    connection.register("arriving", content)
    names = ", ".join(columns)
    connection.execute(f"INSERT INTO {name} ({names}) SELECT {names} FROM arriving").fetchall()
    connection.unregister("arriving")


def _types(connection: duckdb.DuckDBPyConnection, name: str) -> dict[str, Any]:
    """The types of a table's columns, as Arrow calls them."""
    if name not in _KNOWN_TYPES:
        import pyarrow as pa

        scalars = {"VARCHAR": pa.string(), "BIGINT": pa.int64(), "UBIGINT": pa.uint64(), "INTEGER": pa.int32(),
                   "DOUBLE": pa.float64(), "BOOLEAN": pa.bool_(), "TIMESTAMP": pa.timestamp("us"),
                   "DATE": pa.date32(), "JSON": pa.string()}  # fmt: skip
        rows = connection.execute(
            "SELECT column_name, data_type FROM duckdb_columns() WHERE table_name = $1", [name]
        ).fetchall()
        _KNOWN_TYPES[name] = {
            str(column): pa.list_(scalars[kind[:-2]]) if kind.endswith("[]") else scalars[kind] for column, kind in rows
        }
    return _KNOWN_TYPES[name]


def _array(values: list[Any], type: Any) -> Any:
    import pyarrow as pa

    try:
        return pa.array(values, type)
    except UnicodeEncodeError:
        return pa.array([_clean(value) for value in values], type)


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, list):
        return [_clean(each) for each in value]
    return value
