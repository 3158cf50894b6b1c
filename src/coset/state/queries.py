"""SQL on the state file: how the modules of this package read and write, and no other package does.

In: an open state and a statement of ours. Out: frozen rows, whose fields are the columns of the result by name; lists
come as tuples; lone surrogates, which cannot be written anywhere, are replaced. Knows none of the state's tables.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

    from coset.state.evidence_state import EvidenceState


FEW_VALUES = 300
"""So many values are written without Arrow."""
_KNOWN_TYPES: dict[str, dict[str, Any]] = {}
"""Of tables by their names, which have the same columns in every database that rows are written to."""


def insert_rows(connection: duckdb.DuckDBPyConnection, name: str, rows: Sequence[dict[str, Any]]) -> None:
    if not rows:
        return
    columns = list(rows[0])
    if len(rows) * len(columns) <= FEW_VALUES:
        _insert_few(connection, name, columns, rows)
        return
    import pyarrow as pa

    types = _types(connection, name)
    content = pa.table(
        [_array([row[column] for row in rows], types[column]) for column in columns],
        schema=pa.schema([(column, types[column]) for column in columns]),
    )
    connection.register("arriving", content)
    names = ", ".join(columns)
    connection.execute(f"INSERT INTO {name} ({names}) SELECT {names} FROM arriving").fetchall()
    connection.unregister("arriving")


def _insert_few(
    connection: duckdb.DuckDBPyConnection, name: str, columns: Sequence[str], rows: Sequence[dict[str, Any]]
) -> None:
    """As parameters of one statement: an Arrow array begins with the import of pandas, where that is installed."""
    row = f"({', '.join('?' * len(columns))})"
    statement = f"INSERT INTO {name} ({', '.join(columns)}) VALUES {', '.join([row] * len(rows))}"
    values = [each[column] for each in rows for column in columns]
    try:
        connection.execute(statement, values).fetchall()
    except UnicodeEncodeError:
        connection.execute(statement, [_clean(value) for value in values]).fetchall()


def _types(connection: duckdb.DuckDBPyConnection, name: str) -> dict[str, Any]:
    """The types of a table's columns, as Arrow calls them."""
    if name not in _KNOWN_TYPES:
        import pyarrow as pa

        scalars = {"VARCHAR": pa.string(), "BIGINT": pa.int64(), "UBIGINT": pa.uint64(), "INTEGER": pa.int32(),
                   "DOUBLE": pa.float64(), "BOOLEAN": pa.bool_(), "TIMESTAMP": pa.timestamp("us"),
                   "DATE": pa.date32(), "JSON": pa.string(), "BLOB": pa.binary()}  # fmt: skip
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


Row = TypeVar("Row")


def execute(state: EvidenceState, sql: str, parameters: Sequence[object] = ()) -> duckdb.DuckDBPyConnection:
    """Run a statement; its result can be fetched from what this answers with."""
    return state._connection.execute(sql, list(parameters))


def fetch(state: EvidenceState, sql: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
    """The result as plain tuples: for a column or two, which the caller names at once."""
    return execute(state, sql, parameters).fetchall()


def texts(state: EvidenceState, sql: str, parameters: Sequence[object] = ()) -> list[str]:
    """The only column of a result of texts."""
    return [row[0] for row in fetch(state, sql, parameters)]


def number(state: EvidenceState, sql: str, parameters: Sequence[object] = ()) -> int:
    """The only value of a result that is one whole number."""
    return int(fetch(state, sql, parameters)[0][0])


def has_table(state: EvidenceState, name: str) -> bool:
    """Whether a state, which may be of an older coset and open to look at only, has a table."""
    return bool(fetch(state, "SELECT 1 FROM duckdb_tables() WHERE table_name = $1", [name]))


def select(state: EvidenceState, kind: type[Row], sql: str, parameters: Sequence[object] = ()) -> list[Row]:
    """The result as frozen rows of a kind: `sql` has a column for each of its fields, in any order."""
    names, lists = fields_of(kind)  # type: ignore[arg-type]
    result = execute(state, sql, parameters)
    found = [column[0] for column in result.description or []]
    places = [found.index(name) for name in names]
    make: Callable[..., Row] = kind
    if places == list(range(len(found))) and not lists:
        return [make(*row) for row in result.fetchall()]
    fields = [(place, number in lists) for number, place in enumerate(places)]
    return [
        make(*(tuple(row[place] or ()) if is_list else row[place] for place, is_list in fields))
        for row in result.fetchall()
    ]


def arrow(state: EvidenceState, sql: str, parameters: Sequence[object] = ()) -> pa.Table:
    """The result as an Arrow table."""
    return state._connection.sql(sql, params=list(parameters)).to_arrow_table()


def insert_arrow(state: EvidenceState, table: str, rows: pa.Table) -> None:
    """Add rows of an Arrow table, whose columns are some of the table's by name."""
    if rows.num_rows:
        with registered(state, "arriving_rows", rows):
            names = ", ".join(rows.column_names)
            execute(state, f"INSERT INTO {table} ({names}) SELECT {names} FROM arriving_rows").fetchall()


@contextmanager
def registered(state: EvidenceState, name: str, rows: pa.Table) -> Iterator[None]:
    """An Arrow table under a name, as long as the block lasts."""
    state._connection.register(name, rows)
    try:
        yield
    finally:
        state._connection.unregister(name)


def insert(state: EvidenceState, table: str, rows: Iterable[Mapping[str, Any]]) -> None:
    """Add rows, given by the names of the table's columns, all with the same."""
    insert_rows(state._connection, table, [dict(row) for row in rows])


def add(state: EvidenceState, table: str, rows: Iterable[Any]) -> None:
    """Add frozen rows whose fields are columns of the table."""
    insert(state, table, ({name: _plain(value) for name, value in _values(row)} for row in rows))


def _values(row: Any) -> Iterable[tuple[str, Any]]:
    return ((field.name, getattr(row, field.name)) for field in dataclasses.fields(row))


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


@functools.cache
def fields_of(kind: type[Any]) -> tuple[tuple[str, ...], frozenset[int]]:
    """The columns of a kind of row, and the places of those that are lists."""
    fields = dataclasses.fields(kind)
    lists = frozenset(place for place, field in enumerate(fields) if str(field.type).startswith(("Texts", "tuple[")))
    return tuple(field.name for field in fields), lists
