"""DuckDB connections in which a user's files are read: every file is treated as hostile.

In: the files and folders that may be read. Out: a connection that reaches nothing else: no other file, no network, no
extension, and no setting that could be changed any more. A DuckDB file brings code of its own (views, macros, generated
columns); whatever that code asks for, it is asked here. Knows nothing of sources.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import duckdb

from coset.sql_text import literal

MEMORY = "1GB"
_BESIDE = ("", ".wal", ".wal.recovery", ".wal.checkpoint")
"""What DuckDB looks for beside a database file when it attaches it."""


def confined_connection(
    files: Iterable[Path] = (), folders: Iterable[Path] = (), *, spill: Path | None = None, memory: str = MEMORY
) -> duckdb.DuckDBPyConnection:
    """A connection that may read (and attach) these files, and read and write below these folders, alone. `spill` is
    where it may put what does not fit into memory."""
    connection = duckdb.connect(
        ":memory:",
        config={
            "memory_limit": memory,
            "temp_directory": str(spill) if spill else "",
            "python_enable_replacements": "false",
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            "allow_community_extensions": "false",
        },
    )
    paths = [f"{file}{end}" for file in files for end in _BESIDE]
    connection.execute(f"SET allowed_paths = [{', '.join(map(literal, paths))}]::VARCHAR[]")
    within = [f"{str(folder).rstrip('/')}/" for folder in folders]
    connection.execute(f"SET allowed_directories = [{', '.join(map(literal, within))}]::VARCHAR[]")
    # Where Python runs without a script, DuckDB would draw its progress on standard output.
    connection.execute("SET TimeZone = 'UTC'; SET enable_progress_bar = false")
    connection.execute("SET enable_external_access = false; SET lock_configuration = true")
    return connection


def open_database(path: Path) -> duckdb.DuckDBPyConnection:
    """A user's DuckDB file, read-only, from which nothing else can be reached."""
    return duckdb.connect(
        path,
        read_only=True,
        config={
            "enable_external_access": "false",
            "lock_configuration": "true",
            "python_enable_replacements": "false",
            "memory_limit": MEMORY,
        },
    )
