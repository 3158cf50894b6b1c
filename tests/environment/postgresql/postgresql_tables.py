"""What a PostgreSQL source gives of its tables, for tests."""

from __future__ import annotations

import duckdb

from coset.environment.scan import EVERYTHING


def table_of(source, name):
    return next(table for table in source.tables() if table.native_name == name)


def as_declared(source, table, scan=EVERYTHING):
    """A DuckDB connection with `rows`: what was read, cast to the types that were listed."""
    connection = duckdb.connect()
    connection.execute("SET timezone = 'UTC'").fetchall()
    read = source.read(table, scan).read_all()
    connection.register("arrived", read)
    casts = ", ".join(f'"{c.name}"::{c.type} AS "{c.name}"' for c in table.columns if c.name in read.column_names)
    connection.execute(f"CREATE TABLE rows AS SELECT {casts} FROM arrived").fetchall()
    return connection


def values(source, table, column, scan=EVERYTHING):
    """One column as DuckDB prints it."""
    name = '"' + column.replace('"', '""') + '"'
    return [value for (value,) in as_declared(source, table, scan).execute(f"SELECT {name}::VARCHAR FROM rows").fetchall()]  # fmt: skip
