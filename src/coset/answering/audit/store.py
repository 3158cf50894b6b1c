"""The audit file: one SQLite file in the state folder to which rows are only ever added, with secrets taken out.

In: a state folder; texts and results to keep. Out: an open file with its tables; texts without any secret of the
environment; of a result what is needed to compare it with a later run of its statement.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import math
import os
import re
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import quote

from coset.environment.configuration import Environment
from coset.environment.secrets import read_secrets_file
from coset.errors import CosetError, UserError
from coset.session.result import Result

PREVIEW_ROWS = 20
PREVIEW_LETTERS = 200
DIGITS = 12
"""Parallel sums of floating point numbers differ in the last of their 16 digits."""


@dataclass(frozen=True)
class KeptResult:
    """A statement and what it gave."""

    sql: str
    digest: str
    rows: int
    truncated: bool
    columns: tuple[str, ...]
    preview: tuple[tuple[Any, ...], ...]
    """The first rows, as JSON can hold them."""


def kept_result(sql: str, result: Result) -> KeptResult:
    return kept_rows(sql, result.columns, result.rows(), result.truncated)


def kept_rows(sql: str, columns: tuple[str, ...], rows: Sequence[Sequence[Any]], truncated: bool) -> KeptResult:
    preview = tuple(tuple(_short(value) for value in row) for row in rows[:PREVIEW_ROWS])
    return KeptResult(sql, digest(rows), len(rows), truncated, columns, preview)


def digest(rows: Sequence[Sequence[Any]]) -> str:
    """Equal for the same rows in any order. Columns count by their place: an alias may be another one next time."""
    lines = sorted(json.dumps([canonical(value) for value in row], ensure_ascii=False) for row in rows)
    return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def canonical(value: Any) -> Any:
    """A value as text or JSON that is the same for numbers that are the same."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int | float | Decimal):
        return _number(value)
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, bytes):
        return hashlib.sha256(value).hexdigest()
    if isinstance(value, dict):
        return {str(key): canonical(item) for key, item in sorted(value.items(), key=lambda item: str(item[0]))}
    if isinstance(value, list | tuple) and not hasattr(value, "nanoseconds"):
        return [canonical(item) for item in value]
    return str(value)


def _number(value: int | float | Decimal) -> str:
    if not math.isfinite(value):
        return str(value)
    exact = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    digits = "".join(map(str, exact.as_tuple().digits)).rstrip("0")
    if isinstance(value, float) or len(digits) <= DIGITS:
        return f"{exact + 0:.{DIGITS - 1}e}"
    text = format(exact, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def _short(value: Any) -> Any:
    if isinstance(value, str):
        return value if len(value) <= PREVIEW_LETTERS else value[: PREVIEW_LETTERS - 1] + "…"
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Decimal):
        return str(value)
    text = json.dumps(canonical(value), ensure_ascii=False) if isinstance(value, dict | list) else str(canonical(value))
    return text if len(text) <= PREVIEW_LETTERS else text[: PREVIEW_LETTERS - 1] + "…"


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


HIDDEN = "***"
SHORTEST = 6
"""Shorter values of the process's environment are no keys; what a source is given as its password is always taken."""
_SECRET_NAME = re.compile(r"(^|_)(API_?KEY|KEY|TOKEN|SECRET|PASSWORD|PASSWD|PWD|CREDENTIALS?)$", re.IGNORECASE)
_KEY_FORMS = re.compile(
    r"\b(?:sk|pk|rk|xai|gsk)-[A-Za-z0-9_-]{16,}|\bAIza[0-9A-Za-z_-]{30,}|\bgh[pousr]_[A-Za-z0-9]{30,}"
    r"|\b(?:Bearer|Basic)\s+[A-Za-z0-9._~+/=-]{16,}"
    r"|(?<=://)[^/\s:@]+:[^/\s:@]+(?=@)"
)

Redact = Callable[[Any], Any]


def redactor(environment: Environment, variables: Mapping[str, str] | None = None) -> Redact:
    """A function that cleans any value made of texts, numbers, lists and dictionaries."""
    secrets = _secrets(environment, os.environ if variables is None else variables)

    def clean_text(text: str) -> str:
        for secret in secrets:
            text = text.replace(secret, HIDDEN)
        return _KEY_FORMS.sub(HIDDEN, text)

    def clean(value: Any) -> Any:
        if isinstance(value, str):
            return clean_text(value)
        if isinstance(value, dict):
            return {clean(key) if isinstance(key, str) else key: clean(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [clean(item) for item in value]
        return value

    return clean


def _secrets(environment: Environment, variables: Mapping[str, str]) -> list[str]:
    found: set[str] = set()
    for name in environment.names:
        try:
            found.update(environment.settings(name).secrets)
        except CosetError:
            continue  # A secret that is missing here cannot be written either.
    try:
        found.update(read_secrets_file(environment.secrets_file).values())
    except (CosetError, OSError, UnicodeDecodeError):
        pass
    found.update(value for name, value in variables.items() if len(value) >= SHORTEST and _SECRET_NAME.search(name))
    found |= {quote(secret, safe="") for secret in found}
    # The longest first: a secret may be a part of another.
    return sorted((secret for secret in found if secret), key=lambda secret: (-len(secret), secret))
