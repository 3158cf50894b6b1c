"""What lies at a location: the kind of a source, from a URL's scheme, a file's first bytes or a folder's content.

In: what the user typed. Out: the kind (a key of `sources.KINDS`) and the location made absolute.
Looks at names and at the first bytes only; opens no connection.
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from urllib.parse import urlsplit

from coset.entry_points import SOURCES, added
from coset.errors import UserError

SCHEMES = {
    "postgresql": "postgresql",
    "postgres": "postgresql",
    "mysql": "mysql",
    "mariadb": "mysql",
    "mongodb": "mongodb",
    "mongodb+srv": "mongodb",
}
OBJECT_STORES = {"s3", "s3a", "gs", "gcs", "az", "azure", "abfs", "abfss", "adl", "https", "http"}
FLIGHT = {"grpc", "grpc+tls", "grpc+tcp", "flightsql"}
ADBC_FIRST = {"snowflake": "adbc_driver_snowflake", "bigquery": "adbc_driver_bigquery"}
"""Read through ADBC where its driver is installed, which hands over Arrow; else through SQLAlchemy."""
DIALECTS = {
    "snowflake", "bigquery", "mssql", "oracle", "trino", "presto", "databricks", "redshift", "clickhouse",
    "clickhousedb", "db2", "ibm_db_sa", "exa", "teradatasql", "cockroachdb", "awsathena", "hana", "firebird", "hive",
    "vertica", "crate", "risingwave", "monetdb",
}  # fmt: skip
PATH_SCHEMES = {"sqlite": "sqlite", "duckdb": "duckdb", "file": None}
FILE_SUFFIXES = {
    ".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".parquet", ".xlsx", ".xlsm", ".xls", ".xlsb", ".ods",
}  # fmt: skip
COMPRESSED = {".gz", ".zst"}


@dataclass(frozen=True)
class Location:
    kind: str
    absolute: str


def recognise(location: str, folder: Path, kind: str | None = None) -> Location:
    """The kind and absolute form of a location; relative paths start at `folder`. `kind`, where given, is believed."""
    scheme, separator, rest = location.partition("://")
    if separator:
        scheme = scheme.lower()
        if scheme in SCHEMES:
            _check_url(location)
            return Location(kind or SCHEMES[scheme], location)
        if scheme not in PATH_SCHEMES or kind == "sqlalchemy":
            found = _kind_of_scheme(scheme, kind)
            if found in {"sqlalchemy", "adbc"}:
                _check_url(location)
            return Location(found, _with_absolute_file(location, folder))
        kind = kind or PATH_SCHEMES[scheme]
        # sqlite:///relative and sqlite:////absolute, as SQLAlchemy writes them; file:///absolute as browsers do.
        location = rest[1:] if rest.startswith("/") and scheme != "file" else rest
    path = Path(location).expanduser()
    path = path if path.is_absolute() else folder / path
    path = Path(path.absolute())
    return Location(kind or _kind_of_path(path), str(path))


def _kind_of_scheme(scheme: str, kind: str | None) -> str:
    if kind is not None:
        return kind
    base = scheme.partition("+")[0]
    if base in {"delta", "iceberg", "adbc"} and base != scheme:
        return base
    if scheme in OBJECT_STORES:
        return "object_store"
    if scheme in FLIGHT:
        return "adbc"
    if base in ADBC_FIRST and importlib.util.find_spec(ADBC_FIRST[base]) is not None:
        return "adbc"
    for name, source_class in added(SOURCES).items():
        if scheme in getattr(source_class, "schemes", ()):
            return name
    registered = {point.name.partition(".")[0] for point in metadata.entry_points(group="sqlalchemy.dialects")}
    if base in DIALECTS or base in registered or (base != scheme and base in {*SCHEMES, *PATH_SCHEMES}):
        return "sqlalchemy"
    known = ", ".join(
        f"{name}://"
        for name in (*SCHEMES, *PATH_SCHEMES, *sorted(OBJECT_STORES), "adbc+...", "delta+...", "iceberg+...")
    )
    raise UserError(
        f"'{scheme}://' is not a kind of source that coset knows; it knows {known}, paths, and every dialect of "
        "SQLAlchemy that is installed"
    )


def _with_absolute_file(location: str, folder: Path) -> str:
    """A URL that names a file on this machine, with the whole path: `sqlite+pysqlite:///shop.db`, `adbc+duckdb:///x`."""
    scheme, _, rest = location.partition("://")
    if not rest.startswith("/") or rest.startswith("//") or not rest[1:]:
        return location
    path, mark, query = rest[1:].partition("?")
    absolute = Path(path).expanduser() if Path(path).is_absolute() else Path((folder / path).absolute())
    return f"{scheme}:///{absolute}{mark}{query}" if not rest.startswith("//") else location


def _check_url(location: str) -> None:
    try:
        parts = urlsplit(location)
        if "," not in parts.netloc:  # Several hosts, as PostgreSQL and MongoDB allow, are left to their drivers.
            parts.port  # noqa: B018 - a port that is no number raises here
    except ValueError:
        # Neither the URL nor Python's words for it are repeated: both may hold a password.
        scheme = location.partition("://")[0]
        raise UserError(f"the {scheme}:// URL is not well-formed: write {scheme}://user@host:port/database") from None


def _lakehouse(path: Path) -> str | None:
    """`delta` or `iceberg` for a table of that format, or a folder that holds nothing but such tables."""
    if (path / "_delta_log").is_dir():
        return "delta"
    if any((path / "metadata").glob("*.metadata.json")):
        return "iceberg"
    inside = [entry for entry in path.iterdir() if not entry.name.startswith(".")]
    if inside and all((entry / "_delta_log").is_dir() for entry in inside):
        return "delta"
    if inside and all(any((entry / "metadata").glob("*.metadata.json")) for entry in inside):
        return "iceberg"
    return None


def _kind_of_path(path: Path) -> str:
    if not path.exists():
        raise UserError(f"there is no file or folder at '{path}'")
    if path.is_dir():
        if (lakehouse := _lakehouse(path)) is not None:
            return lakehouse
        has_bson = any(path.glob("*.bson")) or any(path.glob("*.bson.gz"))
        return "mongodump" if has_bson or any(path.glob("*/*.bson")) or any(path.glob("*/*.bson.gz")) else "files"
    with path.open("rb") as file:
        head = file.read(4096)
    if head.startswith(b"SQLite format 3\x00"):
        return "sqlite"
    if head[8:12] == b"DUCK":
        return "duckdb"
    if head.startswith(b"PGDMP"):
        raise UserError(
            f"'{path.name}' is a pg_dump archive; coset reads plain dumps: pg_restore -f dump.sql '{path.name}'"
        )
    suffixes = [suffix.lower() for suffix in path.suffixes[-2:]]
    name_suffix = suffixes[-2] if len(suffixes) == 2 and suffixes[-1] in COMPRESSED else (suffixes or [""])[-1]
    if name_suffix in FILE_SUFFIXES:
        return "files"
    if name_suffix == ".sql" or b"PostgreSQL database dump" in head:
        return "postgresql_dump"
    if name_suffix == ".bson":
        raise UserError(f"'{path.name}' is one collection of a MongoDB dump: name the folder that holds it")
    if name_suffix in {".db", ".sqlite", ".sqlite3", ".duckdb", ".ddb"}:
        what = "is empty" if not head else "is neither a SQLite nor a DuckDB database"
        raise UserError(f"'{path.name}' {what}; if it is one, it is damaged")
    raise UserError(
        f"'{path.name}' is of no kind that coset knows: name a database URL, a SQLite or DuckDB file, a plain pg_dump, "
        "a mongodump folder, or CSV, TSV, JSON, JSONL, Parquet or Excel files"
    )
