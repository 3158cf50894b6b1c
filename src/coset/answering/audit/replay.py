"""Does an answer still hold? The statements behind it run again, on today's data, without a model.

In: a run and an open session. Out: for each statement whether it gives the same, something else, or cannot be run, and
one verdict. Temporary tables that statements made are made again; labels and clusters are put back as they were kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from coset.answering.audit.recorder import table_path
from coset.answering.audit.runs import Run, Runs
from coset.answering.audit.store import KeptResult, kept_result
from coset.errors import CosetError, NotAllowed, UserError
from coset.session.query_session import QuerySession

Verdict = Literal["same", "changed", "cannot be run"]


@dataclass(frozen=True)
class ReplayedStatement:
    """One statement of the answer, then and now."""

    sql: str
    verdict: Verdict
    detail: str
    before: KeptResult | None = None
    now: KeptResult | None = None


@dataclass(frozen=True)
class Replay:
    """All statements of an answer; `verdict` is the worst of theirs."""

    run: int
    verdict: Verdict
    statements: tuple[ReplayedStatement, ...]


def replay(runs: Runs, number: int, session: QuerySession) -> Replay:
    run = runs.run(number)
    kept = _kept(run)
    if not kept:
        raise UserError(f"run {number} kept no statement to run again: `coset run {number}` shows what it did")
    problem = _restore_tables(runs, run, session)
    statements = tuple(_again(each, session, problem) for each in kept.values())
    verdicts = {each.verdict for each in statements}
    worst: Verdict = "cannot be run" if "cannot be run" in verdicts else "changed" if "changed" in verdicts else "same"
    return Replay(number, worst, statements)


def _kept(run: Run) -> dict[str, KeptResult]:
    """What is known of the answer's statements: kept with the answer, or as the last step that ran the same one."""
    kept = {_squeezed(each.sql): each for each in run.results}
    wanted = _listed((run.answer or {}).get("sql"))
    if not wanted:
        return kept
    for step in run.steps:
        sql = _sql_of(step.data)
        if sql and step.data.get("digest") and _squeezed(sql) not in kept:
            kept[_squeezed(sql)] = KeptResult(
                sql, str(step.data["digest"]), int(step.data.get("rows") or 0), bool(step.data.get("truncated")),
                tuple(step.data.get("columns") or ()), tuple(tuple(row) for row in step.data.get("preview") or ()),
            )  # fmt: skip
    return {
        _squeezed(sql): kept.get(_squeezed(sql), KeptResult(sql, "", 0, False, (), ())) for sql in wanted
    }  # fmt: skip


def _restore_tables(runs: Runs, run: Run, session: QuerySession) -> dict[str, str]:
    """Make the run's temporary tables again; those that cannot be made, with why."""
    from pyarrow import parquet

    problems: dict[str, str] = {}
    kept = {
        path.stem: path for path in sorted(table_path(runs.folder, run.summary.number, "any").parent.glob("*.parquet"))
    }
    for name, path in kept.items():
        session.add_table(name, parquet.read_table(path))
    for step in run.steps:
        name = str(step.data.get("saved_as") or "").rpartition(".")[2].strip('"')
        if not name or name.lower() in kept:
            continue
        sql = _sql_of(step.data)
        try:
            if sql:
                result = session.sql(sql, max_rows=10_000_000)
                session.add_table(name, result.table, result.types)
            else:
                problems[name.lower()] = f"the temporary table '{name}' was not kept"
        except CosetError as error:
            problems[name.lower()] = str(error)
    return problems


def _again(before: KeptResult, session: QuerySession, problems: dict[str, str]) -> ReplayedStatement:
    try:
        # As many rows as then, where it was cut: otherwise the digest would be of other rows.
        result = session.sql(before.sql, max_rows=before.rows if before.truncated else None)
    except CosetError as error:
        why = next((text for name, text in problems.items() if f"result.{name}" in before.sql.lower()), str(error))
        word = "not allowed" if isinstance(error, NotAllowed) else "cannot be run"
        return ReplayedStatement(before.sql, "cannot be run", f"{word}: {why}", before)
    now = kept_result(before.sql, result)
    if not before.digest:
        return ReplayedStatement(
            before.sql, "cannot be run", "runs, but its earlier result was not kept to compare with", None, now
        )
    if now.digest == before.digest:
        return ReplayedStatement(before.sql, "same", f"the same {_rows(now.rows)}", before, now)
    return ReplayedStatement(before.sql, "changed", _difference(before, now), before, now)


def _difference(before: KeptResult, now: KeptResult) -> str:
    if before.rows == now.rows == 1 and before.preview and now.preview:
        return f"was {_row(before.preview[0])}, is {_row(now.preview[0])}"
    if before.rows != now.rows:
        return f"had {_rows(before.rows)}, has {_rows(now.rows)}"
    old, new = {_row(row) for row in before.preview}, {_row(row) for row in now.preview}
    gone, come = sorted(old - new), sorted(new - old)
    example = f": {gone[0]} is not there any more" if gone else f": {come[0]} is new" if come else ""
    return f"still {_rows(now.rows)}, but other values{example}"


def _row(row: tuple[Any, ...]) -> str:
    return ", ".join("NULL" if value is None else str(value) for value in row)


def _rows(count: int) -> str:
    return f"{count:,} row" if count == 1 else f"{count:,} rows"


def _sql_of(data: dict[str, Any]) -> str | None:
    arguments = data.get("arguments")
    sql = data.get("sql") or (arguments.get("sql") if isinstance(arguments, dict) else None)
    return sql if isinstance(sql, str) else None


def _listed(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else [str(each) for each in value or []]


def _squeezed(sql: str) -> str:
    return " ".join(sql.split()).rstrip("; ")
