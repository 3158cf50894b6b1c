"""One module per kind of source. To add a kind: write its `Source` subclass in a module here and name it in `KINDS`.

Packages of others bring kinds of their own by an entry point `coset.sources`, whose name is the kind and whose value is
the subclass; a kind of ours cannot be replaced by one.
"""

from __future__ import annotations

from importlib import import_module

from coset.entry_points import SOURCES, added, added_names
from coset.environment.source import Source, SourceSettings
from coset.errors import UserError

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
    "sqlalchemy": "any_sql.source:AnySQL",
    "adbc": "adbc:ADBC",
    "delta": "lakehouse.delta:DeltaTables",
    "iceberg": "lakehouse.iceberg:IcebergTables",
    "object_store": "object_store:ObjectStore",
}


def known_kinds() -> list[str]:
    """All kinds, ours and those of installed packages."""
    return [*KINDS, *(name for name in added_names(SOURCES) if name not in KINDS)]


def open_source(settings: SourceSettings) -> Source:
    """The source that the settings name. Nothing is connected to until it is asked for something."""
    if settings.kind in KINDS:
        module, name = KINDS[settings.kind].split(":")
        source_class: type[Source] = getattr(import_module(f"{__name__}.{module}"), name)
    else:
        source_class = added(SOURCES)[settings.kind]
        if not (isinstance(source_class, type) and issubclass(source_class, Source)):
            raise UserError(f"the kind '{settings.kind}' of an installed package is no subclass of coset's Source")
    return source_class(settings)
