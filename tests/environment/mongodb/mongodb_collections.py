"""The commands that MongoDB sources send, and what they give of their collections."""

from __future__ import annotations

import math
from collections import Counter

import duckdb
import pymongo
import pymongo.monitoring
import sqlglot.expressions as sge

from coset.environment.scan import EVERYTHING, family, needed_operations, scan_to_sql
from coset.environment.sources.mongodb.server import MongoDB

READING = {
    "aggregate",
    "find",
    "getMore",
    "killCursors",
    "listCollections",
    "listDatabases",
    "hello",
    "endSessions",
    "saslStart",
    "saslContinue",
}


class Commands(pymongo.monitoring.CommandListener):
    """Keeps the name of every command that a client sends while it records."""

    def __init__(self) -> None:
        self.recording, self.names = False, set()

    def started(self, event):
        if self.recording:
            self.names.add(event.command_name)

    def succeeded(self, event):
        pass

    def failed(self, event):
        pass


COMMANDS = Commands()


def rows_of(source, table, scan=EVERYTHING):
    return source.read(table, scan).read_all().to_pylist()


def only_table(source):
    (table,) = source.tables()
    return table


def shown(value):
    """Equal for values that SQL takes as equal, also for NaN and the two zeros."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    return str(value) if isinstance(value, dict | list) else value


_references = {}


def reference(source, table):
    """The whole table, as a DuckDB that holds it would have it."""
    key = (source.settings.location, source.change_token(table))
    if key not in _references:
        _references.clear()
        _references[key] = copied(source, table)
    return _references[key]


def copied(source, table):
    data = source.read(table).read_all()  # noqa: F841
    connection = duckdb.connect()
    casts = ", ".join(f'CAST("{column.name}" AS {column.type}) AS "{column.name}"' for column in table.columns)
    connection.execute(f"CREATE TABLE reference AS SELECT {casts} FROM data")
    return connection


def check_all(source, table, scans):
    connection = reference(source, table)
    for scan in scans:
        assert needed_operations(scan, lambda name: family(table.column(name).type)) <= MongoDB.pushes, scan
        sql = scan_to_sql(
            scan,
            sge.to_table("reference"),
            "duckdb",
            lambda name: sge.column(name, quoted=True),
            all_columns=tuple(c.name for c in table.columns),
        )
        wanted = [tuple(shown(value) for value in row) for row in connection.execute(sql).fetchall()]
        read = source.read(table, scan).read_all()
        outputs = (
            (*scan.group_by, *(item.alias for item in scan.aggregates))
            if scan.is_aggregate
            else (scan.columns or tuple(c.name for c in table.columns))
        )
        assert tuple(read.column_names) == outputs
        types = {
            description[0]: str(description[1]) for description in connection.execute(f"DESCRIBE {sql}").fetchall()
        }
        casts = ", ".join(f'CAST("{name}" AS {types[name]})' for name in outputs)
        got = [
            tuple(shown(value) for value in row) for row in connection.execute(f"SELECT {casts} FROM read").fetchall()
        ]
        rounded = {
            item.alias
            for item in scan.aggregates
            if item.function in {"sum", "avg"} and table.column(item.column).type == "DOUBLE"
        }
        for number, name in enumerate(outputs):
            if name in rounded:
                wanted, got = (
                    [
                        (
                            *row[:number],
                            row[number] if row[number] is None else f"{float(row[number]):.12g}",
                            *row[number + 1 :],
                        )
                        for row in some
                    ]
                    for some in (wanted, got)
                )
        if scan.order:
            assert got == wanted, (scan, sql)
        else:
            assert Counter(got) == Counter(wanted), (scan, sql)
