"""The runs that were kept, read back: as data, and as the trace that a person reads.

In: a state folder. Out: summaries, whole runs with their steps, and a run as text: what was asked, shown and done, what
it cost, what came out.
"""

from __future__ import annotations

import json
import socket
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coset.answering.audit.recorder import process_name
from coset.answering.audit.store import KeptResult, open_audit
from coset.errors import CosetError, UserError


@dataclass(frozen=True)
class RunSummary:
    """One line of `coset runs`."""

    number: int
    started_at: str
    question: str
    mode: str
    status: str
    answer: Any
    """The answer's value; None while there is none."""
    steps: int
    input_tokens: int
    output_tokens: int
    cost: float | None
    """None where the price of a model is not known."""
    seconds: float | None
    """From the start to the last ending, or to the last step while there is none."""
    doubts: int
    """Checks that failed or left doubt."""
    by: str | None = None
    """Who asked, where a server knows its people."""


@dataclass(frozen=True)
class Step:
    """One thing that happened."""

    number: int
    at: str
    kind: str
    data: dict[str, Any]


@dataclass(frozen=True)
class Run:
    """Everything that was kept of one run."""

    summary: RunSummary
    environment_version: str | None
    models: dict[str, str]
    options: dict[str, Any]
    steps: tuple[Step, ...]
    results: tuple[KeptResult, ...]
    answer: dict[str, Any] | None
    checks: tuple[dict[str, Any], ...]
    detail: str

    def last(self, kind: str) -> Step | None:
        """The last step of a kind, such as the view or the records."""
        return next((step for step in reversed(self.steps) if step.kind == kind), None)


_SUMMARIES = """
SELECT r.number, r.started_at, r.question, r.mode, json_extract(r.options, '$.by') AS by_whom,
    (SELECT status FROM endings e WHERE e.run = r.number ORDER BY rowid DESC LIMIT 1) AS status,
    (SELECT at FROM endings e WHERE e.run = r.number ORDER BY rowid DESC LIMIT 1) AS ended_at,
    (SELECT answer FROM endings e WHERE e.run = r.number ORDER BY rowid DESC LIMIT 1) AS answer,
    (SELECT checks FROM endings e WHERE e.run = r.number ORDER BY rowid DESC LIMIT 1) AS checks,
    (SELECT host FROM holders h WHERE h.run = r.number ORDER BY rowid DESC LIMIT 1) AS host,
    (SELECT process FROM holders h WHERE h.run = r.number ORDER BY rowid DESC LIMIT 1) AS process,
    (SELECT max(at) FROM holders h WHERE h.run = r.number) AS held_at,
    count(s.number) AS steps, coalesce(sum(s.input_tokens), 0) AS input_tokens,
    coalesce(sum(s.output_tokens), 0) AS output_tokens, sum(s.cost) AS cost,
    coalesce(sum(s.cost IS NULL AND s.input_tokens > 0), 0) AS without_price, max(s.at) AS last_at
FROM runs r LEFT JOIN steps s ON s.run = r.number
WHERE ?1 IS NULL OR r.number = ?1
GROUP BY r.number ORDER BY r.number DESC LIMIT ?2
"""


class Runs:
    """The runs of one environment."""

    def __init__(self, state_folder: Path) -> None:
        self.folder = state_folder

    def summaries(self, limit: int = 50) -> tuple[RunSummary, ...]:
        """The newest first."""
        with self._reading() as connection:
            return tuple(_summary(row) for row in connection.execute(_SUMMARIES, [None, limit]))

    def summary(self, number: int) -> RunSummary:
        with self._reading() as connection:
            return _summary(self._row(connection, number))

    def run(self, number: int) -> Run:
        with self._reading() as connection:
            summary = _summary(self._row(connection, number))
            head = connection.execute("SELECT * FROM runs WHERE number = ?", [number]).fetchone()
            steps = connection.execute("SELECT * FROM steps WHERE run = ? ORDER BY number", [number]).fetchall()
            results = connection.execute("SELECT * FROM results WHERE run = ? ORDER BY rowid", [number]).fetchall()
            ending = connection.execute(
                "SELECT * FROM endings WHERE run = ? ORDER BY rowid DESC LIMIT 1", [number]
            ).fetchone()
        return Run(
            summary,
            head["environment_version"],
            json.loads(head["models"]),
            json.loads(head["options"]),
            tuple(Step(row["number"], row["at"], row["kind"], json.loads(row["data"])) for row in steps),
            tuple(
                KeptResult(
                    row["sql"], row["digest"], row["rows"], bool(row["truncated"]), tuple(json.loads(row["columns"])),
                    tuple(tuple(each) for each in json.loads(row["preview"])),
                )
                for row in results
            ),
            json.loads(ending["answer"]) if ending and ending["answer"] else None,
            tuple(json.loads(ending["checks"])) if ending and ending["checks"] else (),
            ending["detail"] if ending and ending["detail"] else "",
        )  # fmt: skip

    def messages(self, number: int) -> bytes | None:
        """The conversation as it was last kept, as JSON; None when none was."""
        with self._reading() as connection:
            self._row(connection, number)
            row = connection.execute(
                "SELECT content FROM messages WHERE run = ? ORDER BY rowid DESC LIMIT 1", [number]
            ).fetchone()
        return zlib.decompress(row["content"]) if row else None

    def _row(self, connection: sqlite3.Connection, number: int) -> sqlite3.Row:
        row: sqlite3.Row | None = connection.execute(_SUMMARIES, [number, 1]).fetchone()
        if row is None:
            last = connection.execute("SELECT max(number) AS last FROM runs").fetchone()["last"]
            raise UserError(
                f"there is no run {number}: " + (f"the last one is {last}" if last else "none was kept yet")
            )
        return row

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        connection = open_audit(self.folder, create=False)
        connection.row_factory = sqlite3.Row
        try:
            yield connection
        except (sqlite3.Error, ValueError, zlib.error) as error:
            raise CosetError(f"the audit in '{self.folder}' cannot be read: {error}") from error
        finally:
            connection.close()


def _summary(row: sqlite3.Row) -> RunSummary:
    # A run that was taken up again after it had ended is going on, until it ends once more.
    ended = row["ended_at"] is not None and row["ended_at"] >= (row["held_at"] or "")
    checks = json.loads(row["checks"]) if ended and row["checks"] else []
    answer = json.loads(row["answer"]) if ended and row["answer"] else None
    end = row["ended_at"] if ended else row["last_at"]
    return RunSummary(
        row["number"], row["started_at"], row["question"], row["mode"],
        row["status"] if ended else _unended(row["host"], row["process"]),
        answer.get("value") if isinstance(answer, dict) else None,
        row["steps"], row["input_tokens"], row["output_tokens"],
        None if row["without_price"] else row["cost"],
        _between(row["started_at"], end) if end else None,
        sum(1 for check in checks if check.get("outcome") in {"doubt", "failed"}),
        row["by_whom"],
    )  # fmt: skip


def _unended(host: str | None, process: str | None) -> str:
    if host != socket.gethostname() or not process:
        return "broken off"
    number = int(process.partition("-")[0])
    return "running" if process_name(number) == process else "broken off"


def _between(start: str, end: str) -> float:
    import datetime

    return (datetime.datetime.fromisoformat(end) - datetime.datetime.fromisoformat(start)).total_seconds()


LONGEST = 400
_IN_HEAD = ("input_tokens", "output_tokens", "cost", "seconds", "rows", "bytes", "truncated", "tool", "model")
_MARKS = {"passed": "ok", "doubt": "doubt", "failed": "FAILED", "not applicable": "-"}


def trace(run: Run, *, whole: bool = False) -> Iterator[str]:
    """The lines; `whole` cuts no text."""
    summary, longest = run.summary, 10**9 if whole else LONGEST
    yield f"run {summary.number}: {summary.question}"
    asked_by = f"  asked by {summary.by}" if summary.by else ""
    yield f"  {summary.started_at}  {summary.mode} mode  {summary.status}{asked_by}"
    for part, model in run.models.items():
        yield f"  {part}: {model}"
    if run.environment_version:
        yield f"  environment {run.environment_version}"
    yield f"  {spent(summary.input_tokens, summary.output_tokens, summary.cost, summary.seconds)}"
    for step in run.steps:
        yield ""
        yield from _step(step, longest)
    yield ""
    if run.answer is not None:
        yield "answer"
        for key, value in run.answer.items():
            yield from _entry(key, value, longest)
    if run.detail:
        yield f"  {run.detail}"
    if run.checks:
        yield "checks"
        for check in run.checks:
            mark = _MARKS.get(str(check.get("outcome")), str(check.get("outcome")))
            yield f"  {mark:7} {check.get('name')}: {_short(check.get('detail'), longest)}"


def spent(input_tokens: int, output_tokens: int, cost: float | None, seconds: float | None) -> str:
    parts = [f"{input_tokens:,} + {output_tokens:,} tokens"] if input_tokens or output_tokens else []
    parts += [f"${cost:.4f}"] if cost is not None else []
    parts += [f"{seconds:.1f} s"] if seconds is not None else []
    return ", ".join(parts) or "no model was called"


def _step(step: Step, longest: int) -> Iterator[str]:
    data = step.data
    name = " ".join(str(part) for part in (step.kind, data.get("tool")) if part)
    facts = []
    if data.get("input_tokens") or data.get("output_tokens"):
        facts.append(f"{data.get('input_tokens') or 0:,} + {data.get('output_tokens') or 0:,} tokens")
    if isinstance(data.get("cost"), int | float):
        facts.append(f"${data['cost']:.4f}")
    if isinstance(data.get("rows"), int):
        facts.append(f"{data['rows']:,} rows" + (", truncated" if data.get("truncated") else ""))
    if isinstance(data.get("bytes"), int):
        facts.append(f"{data['bytes']:,} bytes")
    if isinstance(data.get("seconds"), int | float):
        facts.append(f"{data['seconds']:.2f} s")
    if data.get("model"):
        facts.append(str(data["model"]))
    yield f"{step.number}. {name}" + (f"  ({'; '.join(facts)})" if facts else "")
    for key, value in data.items():
        if key not in _IN_HEAD and key not in {"digest", "columns"}:
            yield from _entry(key, value, longest)


def _entry(key: str, value: Any, longest: int) -> Iterator[str]:
    if value in (None, "", [], {}):
        return
    text = value if isinstance(value, str) else _listed(value)
    lines = text.splitlines() or [""]
    if len(lines) == 1 and len(text) <= 100:
        yield f"   {key}: {text}"
        return
    yield f"   {key}:"
    used = 0
    for number, line in enumerate(lines):
        if used + len(line) > longest and number:
            yield f"     … ({len(lines) - number:,} lines more, see --whole)"
            return
        yield f"     {_short(line, longest)}"
        used += len(line)


def _listed(value: Any) -> str:
    if isinstance(value, list) and any(isinstance(item, dict | list) for item in value):
        return "\n".join(item if isinstance(item, str) else json.dumps(item, ensure_ascii=False) for item in value)
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return "\n".join(value)
    return json.dumps(value, ensure_ascii=False)


def _short(value: Any, longest: int) -> str:
    text = str(value)
    return text if len(text) <= longest else text[: longest - 1] + "…"
