"""The audit file: one SQLite file in the state folder, to which rows are only ever added.

In: the state folder. Out: a connection to its newest version. Triggers refuse to change or delete a row, so what a run
said of itself stays as it was; how a run ended is a row of its own. Does not know what the rows mean.
"""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from coset.errors import CosetError, UserError

FILE_NAME = "runs.sqlite"
WAIT_SECONDS = 30.0
TABLES = ("runs", "holders", "steps", "messages", "results", "endings")

_FIRST = """
CREATE TABLE runs (
    number INTEGER PRIMARY KEY AUTOINCREMENT, started_at TEXT NOT NULL, question TEXT NOT NULL,
    environment_version TEXT, mode TEXT NOT NULL, models TEXT NOT NULL, options TEXT NOT NULL
);
CREATE TABLE steps (
    run INTEGER NOT NULL REFERENCES runs (number), number INTEGER NOT NULL, at TEXT NOT NULL, kind TEXT NOT NULL,
    tool TEXT, model TEXT, rows INTEGER, bytes INTEGER, truncated INTEGER, input_tokens INTEGER, output_tokens INTEGER,
    cost REAL, seconds REAL, data TEXT NOT NULL, PRIMARY KEY (run, number)
);
CREATE TABLE messages (
    run INTEGER NOT NULL REFERENCES runs (number), after_step INTEGER NOT NULL, at TEXT NOT NULL, content BLOB NOT NULL
);
CREATE TABLE results (
    run INTEGER NOT NULL REFERENCES runs (number), at TEXT NOT NULL, sql TEXT NOT NULL, digest TEXT NOT NULL,
    rows INTEGER NOT NULL, truncated INTEGER NOT NULL, columns TEXT NOT NULL, preview TEXT NOT NULL
);
CREATE TABLE endings (
    run INTEGER NOT NULL REFERENCES runs (number), at TEXT NOT NULL, status TEXT NOT NULL, answer TEXT, checks TEXT,
    detail TEXT
);
CREATE TABLE holders (run INTEGER NOT NULL REFERENCES runs (number), at TEXT NOT NULL, host TEXT, process TEXT);
"""
STEPS = (
    _FIRST
    + "".join(
        f"CREATE TRIGGER {table}_{verb} BEFORE {verb.upper()} ON {table} "
        f"BEGIN SELECT RAISE(ABORT, 'the audit is only added to'); END;\n"
        for table in TABLES
        for verb in ("update", "delete")
    ),
)


def open_audit(folder: Path, *, create: bool) -> sqlite3.Connection:
    """The file of a state folder. Without `create`, one that is not there yet is a mistake of the user's."""
    path = folder / FILE_NAME
    if not create and not path.exists():
        raise UserError("no question was asked in this environment yet: `coset ask` keeps every run")
    try:
        if create and not path.exists():
            # Made with its final mode: questions and answers are for the eyes of its owner.
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
        # A reader writes nothing, and may have no right to.
        where = path.absolute().as_uri() + ("?mode=rw" if create else "?mode=ro")
        connection = sqlite3.connect(
            where, uri=True, timeout=WAIT_SECONDS, isolation_level=None, check_same_thread=False
        )
        connection.execute("PRAGMA foreign_keys = ON")
        version = int(connection.execute("PRAGMA user_version").fetchone()[0])
        if version > len(STEPS):
            connection.close()
            raise UserError(f"'{path.name}' was written by a newer coset (version {version}): upgrade this one")
        if create and version < len(STEPS):
            _migrate(connection)
    except (OSError, sqlite3.Error) as error:
        raise CosetError(f"the audit '{path}' cannot be opened ({error}): make it writable or move it away") from error
    return connection


def _migrate(connection: sqlite3.Connection) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Asked again within the transaction: another process may have been first.
        version = int(connection.execute("PRAGMA user_version").fetchone()[0])
        for number, step in enumerate(STEPS[version:], start=version + 1):
            for statement in _statements(step):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {number}")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def _statements(script: str) -> list[str]:
    """The statements of a script, one by one: `executescript` would end the transaction."""
    found, current = [], ""
    for line in script.splitlines(keepends=True):
        current += line
        if sqlite3.complete_statement(current):
            found.append(current)
            current = ""
    return found
