"""What lies at a location: the kind of a source, from a URL's scheme, a file's first bytes or a folder's content.

In: what the user typed. Out: the kind (a key of `sources.KINDS`) and the location made absolute.
Looks at names and at the first bytes only; opens no connection.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from coset.errors import UserError

SCHEMES = {
    "postgresql": "postgresql",
    "postgres": "postgresql",
    "mysql": "mysql",
    "mariadb": "mysql",
    "mongodb": "mongodb",
    "mongodb+srv": "mongodb",
}
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
        if scheme not in PATH_SCHEMES:
            known = ", ".join(f"{name}://" for name in (*SCHEMES, *PATH_SCHEMES))
            raise UserError(f"'{scheme}://' is not a kind of source that coset knows; it knows {known} and paths")
        kind = kind or PATH_SCHEMES[scheme]
        # sqlite:///relative and sqlite:////absolute, as SQLAlchemy writes them; file:///absolute as browsers do.
        location = rest[1:] if rest.startswith("/") and scheme != "file" else rest
    path = Path(location).expanduser()
    path = path if path.is_absolute() else folder / path
    path = Path(path.absolute())
    return Location(kind or _kind_of_path(path), str(path))


def _check_url(location: str) -> None:
    try:
        parts = urlsplit(location)
        if "," not in parts.netloc:  # Several hosts, as PostgreSQL and MongoDB allow, are left to their drivers.
            parts.port  # noqa: B018 - a port that is no number raises here
    except ValueError:
        # Neither the URL nor Python's words for it are repeated: both may hold a password.
        scheme = location.partition("://")[0]
        raise UserError(f"the {scheme}:// URL is not well-formed: write {scheme}://user@host:port/database") from None


def _kind_of_path(path: Path) -> str:
    if not path.exists():
        raise UserError(f"there is no file or folder at '{path}'")
    if path.is_dir():
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
