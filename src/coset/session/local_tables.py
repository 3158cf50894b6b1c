"""Tables that DuckDB can read on this machine: files in place, and local copies; as SQL that a view can be made of.

In: a source, a table, and its local copy where it has one. Out: a query over it, and what the query needs: DuckDB files
to attach read-only, files to read. Whether a copy is still good is for the caller to know.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from coset.environment.source import InPlace, Source, Table
from coset.errors import CosetError
from coset.session.guard import ATTACHED
from coset.session.snapshots import file_type
from coset.sql_text import identifier, literal


@dataclass(frozen=True)
class LocalTable:
    """A query that gives the table's columns, and what must be there for it to run."""

    query: str
    attach: tuple[tuple[str, str], ...] = ()
    """(alias, path) of DuckDB files to attach read-only."""
    files: tuple[str, ...] = ()


def in_place(source: Source, table: Table, place: InPlace) -> LocalTable:
    """A table that DuckDB reads where it lies."""
    if place.attach is not None and place.relation is not None:
        alias = f"{ATTACHED}{source.settings.name.lower()}"
        schema, name = place.relation
        columns = ", ".join(
            identifier(column.native_name)
            + ("" if column.native_name == column.name else f" AS {identifier(column.name)}")
            for column in table.columns
        )
        query = f"SELECT {columns} FROM {identifier(alias)}.{identifier(schema)}.{identifier(name)}"
        return LocalTable(query, attach=((alias, str(place.attach)),))
    if place.sql is None:
        raise CosetError(f"'{source.settings.name}.{table.name}' cannot be read in place")
    names = ", ".join(identifier(column.name) for column in table.columns)
    return LocalTable(f"SELECT * FROM {place.sql} AS place({names})", files=tuple(map(str, place.paths)))


def from_copy(table: Table, path: Path) -> LocalTable:
    """A table of which a Parquet file holds all columns."""
    return LocalTable(from_file(((column.name, column.type, True) for column in table.columns), path))


def from_file(columns: Iterable[tuple[str, str, bool]], path: Path) -> str:
    """A query over a Parquet file of ours; columns are (name, type, whether the file has it): NULL where it has not,
    cast where it keeps another type."""
    outputs = []
    for name, kind, held in columns:
        if not held:
            outputs.append(f"CAST(NULL AS {kind}) AS {identifier(name)}")
        elif file_type(kind) == kind:
            outputs.append(identifier(name))
        else:
            outputs.append(f"CAST({identifier(name)} AS {kind}) AS {identifier(name)}")
    return f"SELECT {', '.join(outputs)} FROM read_parquet({literal(str(path))})"
