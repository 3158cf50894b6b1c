"""One module per kind of source. To add a kind: write its `Source` subclass in a module here and name it in `KINDS`."""

from __future__ import annotations

from importlib import import_module

from coset.environment.source import Source, SourceSettings

# kind -> module : class. Modules load when a source of that kind is opened, so an unused driver costs nothing.
KINDS = {
    "duckdb": "duckdb_file:DuckDBFile",
    "sqlite": "sqlite.source:SQLiteFile",
    "postgresql": "postgresql.source:PostgreSQL",
    "postgresql_dump": "postgresql_dump.source:PostgreSQLDump",
    "mysql": "mysql.source:MySQL",
    "mongodb": "mongodb.server:MongoDB",
    "mongodump": "mongodb.dump:Mongodump",
    "files": "files.source:Files",
}


def open_source(settings: SourceSettings) -> Source:
    """The source that the settings name. Nothing is connected to until it is asked for something."""
    module, name = KINDS[settings.kind].split(":")
    source_class: type[Source] = getattr(import_module(f"{__name__}.{module}"), name)
    return source_class(settings)
