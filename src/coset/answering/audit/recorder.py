"""Keeps one run while it happens: every step is on disk before the next one begins.

In: what the run tells (`start`, `step`, `keep_messages`, `keep_result`, `finish`), as data that JSON can hold. Out:
rows of the audit file, without any secret. A run that is killed keeps all steps it had; `resume` goes on with it under
its number. Does not know what a step means; docs/answering_checks.md says which keys have a column of their own.
"""

from __future__ import annotations

import datetime
import json
import math
import os
import socket
import sqlite3
import threading
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, is_dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

from coset.answering.audit.store import KeptResult, canonical, open_audit, redactor
from coset.environment.configuration import Environment
from coset.errors import CosetError, UserError
from coset.people import acting_name
from coset.tracing import past

Status = Literal["answered", "declined", "stopped", "failed", "asked back"]
"""answered: with a value; declined: not sure enough without a model; stopped: a limit ended it with what it had;
failed: an error; asked back: it waits."""
NUMBERS = ("rows", "bytes", "truncated", "input_tokens", "output_tokens", "cost", "seconds")
LONGEST_TEXT = 200_000
"""Of a longer text in a step the beginning is kept."""


class RunRecorder:
    """Open it for an environment, `start` a run or `resume` one, and `finish` it. Threads may share it."""

    def __init__(self, environment: Environment) -> None:
        environment.prepare_state_folder()
        self._folder = environment.state_folder
        self._redact = redactor(environment)
        self._lock = threading.Lock()
        self._connection = open_audit(self._folder, create=True)
        self.run: int | None = None

    def __enter__(self) -> RunRecorder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    def start(
        self,
        question: str,
        *,
        environment_version: str | None = None,
        mode: str = "learned",
        models: Mapping[str, str] | None = None,
        options: Mapping[str, Any] | None = None,
        started_at: datetime.datetime | None = None,
    ) -> int:
        """Begin a run; its number. `models` says which model plays which part, `options` how the question was asked,
        to which is added `by`, the name of the person who asks, where one is known."""
        told = {**(options or {}), **({"by": name} if (name := acting_name()) else {})}
        with self._lock:
            connection = self._connection
            connection.execute("BEGIN IMMEDIATE")
            try:
                cursor = connection.execute(
                    "INSERT INTO runs (started_at, question, environment_version, mode, models, options) "
                    "VALUES (?, ?, ?, ?, ?, ?)",
                    [_written(started_at) if started_at else _now(), self._redact(question), environment_version, mode,
                     self._json(dict(models or {})), self._json(told)],
                )  # fmt: skip
                self.run = int(cursor.lastrowid or 0)
                self._hold(connection)
                connection.execute("COMMIT")
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            return self.run

    def resume(self, number: int) -> None:
        """Go on with a run that was not answered, under its number."""
        from coset.answering.audit.runs import Runs

        summary = Runs(self._folder).summary(number)
        if summary.status == "answered":
            raise UserError(f"run {number} was answered: `coset run {number}` shows it, `coset ask` asks again")
        if summary.status == "running":
            raise UserError(f"run {number} is still going on in another process: wait for it, or end that process")
        with self._lock:
            self.run = number
            self._hold(self._connection)

    def step(self, kind: str, data: Mapping[str, Any]) -> None:
        """Keep a step. What `data` has of `tool`, `model`, rows, bytes, tokens, cost and seconds can be summed up."""
        run = self._current()
        values = [_number(data.get(name)) for name in NUMBERS]
        with self._lock:
            self._connection.execute(
                "INSERT INTO steps (run, number, at, kind, tool, model, rows, bytes, truncated, input_tokens, "
                "output_tokens, cost, seconds, data) SELECT ?, coalesce(max(number), 0) + 1, ?, ?, ?, ?, ?, ?, ?, ?, "
                "?, ?, ?, ? FROM steps WHERE run = ?",
                [run, _now(), kind, _text(data.get("tool")), _text(data.get("model")), *values,
                 self._json(dict(data)), run],
            )  # fmt: skip
        if (tool := _text(data.get("tool"))) is not None:
            rows = _number(data.get("rows"))
            past(
                f"execute_tool {tool}", _number(data.get("seconds")) or 0.0, gen_ai__operation__name="execute_tool",
                gen_ai__tool__name=tool, coset__rows=rows, coset__run=run,
            )  # fmt: skip

    def keep_messages(self, messages: bytes | str) -> None:
        """Keep the conversation as it is now (JSON), so that a run which breaks off can go on from here."""
        run = self._current()
        try:
            content = json.loads(messages)
        except ValueError as error:
            raise CosetError("the messages to keep are not JSON") from error
        packed = zlib.compress(json.dumps(self._redact(content), ensure_ascii=False).encode("utf-8", "surrogatepass"))
        with self._lock:
            self._connection.execute(
                "INSERT INTO messages SELECT ?, coalesce(max(number), 0), ?, ? FROM steps WHERE run = ?",
                [run, _now(), packed, run],
            )

    def keep_result(self, result: KeptResult) -> None:
        """Keep what a statement of the answer gave, so that a replay can tell whether it still gives the same."""
        run = self._current()
        with self._lock:
            self._connection.execute(
                "INSERT INTO results VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                [run, _now(), self._redact(result.sql), result.digest, result.rows, int(result.truncated),
                 self._json(list(result.columns)), self._json([list(row) for row in result.preview])],
            )  # fmt: skip

    def keep_table(self, name: str, table: Any) -> None:
        """Keep a temporary table that a statement of the answer reads and that no statement can make again: labels of
        texts, clusters of rows. A replay puts it back as it was."""
        from pyarrow import parquet

        path = table_path(self._folder, self._current(), name)
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        part = path.with_suffix(f".{os.getpid()}.part")
        parquet.write_table(table, part)
        part.replace(path)

    def finish(
        self, status: Status, answer: Mapping[str, Any] | None = None, checks: Sequence[Any] = (), detail: str = ""
    ) -> None:
        """Say how the run ended. `answer` has its `value` and its `sql`; `checks` are results of checks."""
        run = self._current()
        told = [asdict(check) if is_dataclass(check) and not isinstance(check, type) else check for check in checks]
        with self._lock:
            self._connection.execute(
                "INSERT INTO endings VALUES (?, ?, ?, ?, ?, ?)",
                [run, _now(), status, None if answer is None else self._json(dict(answer)), self._json(told),
                 self._redact(detail)],
            )  # fmt: skip

    def _current(self) -> int:
        if self.run is None:
            raise CosetError("no run was started: call start before step")
        return self.run

    def _hold(self, connection: sqlite3.Connection) -> None:
        connection.execute("INSERT INTO holders VALUES (?, ?, ?, ?)", [self.run, _now(), socket.gethostname(), me()])

    def _json(self, value: Any) -> str:
        return json.dumps(self._redact(_plain(value)), ensure_ascii=False)


def table_path(folder: Path, run: int, name: str) -> Path:
    return folder / "runs" / str(run) / f"{name.lower()}.parquet"


def me() -> str:
    return process_name(os.getpid()) or str(os.getpid())


def process_name(number: int) -> str | None:
    """A process by its number and, where the system tells it, the moment it began: numbers are given again."""
    try:
        stat = Path(f"/proc/{number}/stat").read_text(encoding="utf-8", errors="replace")
        return f"{number}-{stat.rpartition(')')[2].split()[19]}"
    except (OSError, IndexError):
        pass
    try:
        os.kill(number, 0)
    except PermissionError:
        return str(number)
    except OSError:
        return None
    return str(number)


def _now() -> str:
    return _written(datetime.datetime.now(datetime.UTC))


def _written(moment: datetime.datetime) -> str:
    return moment.isoformat(timespec="milliseconds")


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _number(value: Any) -> int | float | None:
    if isinstance(value, bool):
        return int(value)
    return value if isinstance(value, int | float) else None


def _plain(value: Any) -> Any:
    """Data as JSON can hold it; long texts are cut, and say so."""
    if isinstance(value, str):
        more = len(value) - LONGEST_TEXT
        return value if more <= 0 else f"{value[:LONGEST_TEXT]}… ({more:,} letters more)"
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if is_dataclass(value) and not isinstance(value, type):
        return _plain(asdict(value))
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item) for item in (sorted(value, key=str) if isinstance(value, set | frozenset) else value)]
    if hasattr(value, "model_dump"):
        return _plain(value.model_dump(mode="json"))
    return canonical(value)
