"""Runs one attempt in its isolated process: `ask` with a session, a state folder and a recorder of its own.

In: a `Request`: a folder, a question, how to ask. Out: an `Outcome`, whatever happens, and on the way each step to
whoever listens, so that an attempt which is killed has left its trace. The process is never told where a benchmark's
checkout, its validators or its ground truth are.
"""

from __future__ import annotations

import re
import resource
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coset.benchmark.attempts import Status
from coset.benchmark.trace_recorder import Prompt
from coset.benchmark.written_values import proper
from coset.environment.configuration import Environment
from coset.errors import CosetError
from coset.routing.router import Router
from coset.session.query_session import QuerySession

if TYPE_CHECKING:
    from coset.answering.answer import Answer
    from coset.answering.ask import AskOptions


MOST_ROWS = 10_000


@dataclass(frozen=True)
class Request:
    """What to ask, or with no question: an environment to comprehend."""

    environment: Path
    question: str | None
    options: AskOptions | None = None
    jobs: int = 2


@dataclass(frozen=True)
class Outcome:
    """What came of a request."""

    status: Status
    text: str = ""
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Any, ...], ...] = ()
    sql: str = ""
    """The statement whose rows are the answer."""
    from_rows: bool = False
    """True when the text is the rows, because the answer had no words of its own."""
    error: str = ""
    error_kind: str = ""
    seconds: float = 0.0
    model_seconds: float = 0.0
    cpu_seconds: float = 0.0
    """Of the attempt's own process and of the one that ran its statements."""
    requests: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    tool_calls: int = 0
    tool_errors: dict[str, int] = field(default_factory=dict)
    prompts: tuple[Prompt, ...] = ()
    trace: tuple[dict[str, Any], ...] = ()


def attempt(request: Request, tell: Callable[[dict[str, Any]], None] | None = None) -> Outcome:
    """Ask one question. Never raises for anything that the question, the model or the data did."""
    from coset.answering.ask import AskOptions, ask
    from coset.answering.audit.store import redactor
    from coset.benchmark.attempt_process import own_state
    from coset.benchmark.trace_recorder import TraceRecorder
    from coset.environment.configuration import load_environment
    from coset.session.query_session import QuerySession

    started, started_cpu = time.monotonic(), _cpu_seconds()
    recorder: TraceRecorder | None = None
    answer: Answer | None = None
    error, kind = "", ""
    try:
        environment = load_environment(request.environment)
        recorder = TraceRecorder(redactor(environment), tell)
        options = request.options or AskOptions()
        with ExitStack() as stack:
            own = stack.enter_context(own_state(environment))
            session = stack.enter_context(QuerySession(own))
            router = None if options.core else stack.enter_context(held_router.lent(environment, session))
            answer = ask(request.question or "", own, options, recorder, session=session, router=router)
    except CosetError as raised:
        error, kind = str(raised), type(raised).__name__
    except Exception as raised:
        error, kind = f"unexpected {type(raised).__name__}: {raised}", "Unexpected"
    error = error or (answer.stopped if answer else "")
    told = Outcome(
        status="failed" if answer is None else "stopped" if answer.stopped else "answered",
        text=proper(answer_text(answer)) if answer and not answer.stopped else "",
        columns=answer.columns if answer and not answer.stopped else (),
        rows=answer.rows[:MOST_ROWS] if answer and not answer.stopped else (),
        sql=str(recorder.redact(answer.sql[-1])) if recorder and answer and answer.sql and not answer.stopped else "",
        from_rows=bool(answer and not answer.text),
        error=proper(str(recorder.redact(error)) if recorder else error),
        error_kind=kind,
        seconds=time.monotonic() - started,
        cpu_seconds=_cpu_seconds() - started_cpu,
    )
    return with_steps(told, recorder.steps, recorder.all_prompts()) if recorder else told


def with_steps(outcome: Outcome, steps: Sequence[dict[str, Any]], prompts: Sequence[Prompt] | None = None) -> Outcome:
    """The outcome with its trace, and with what the steps say was used."""
    from coset.benchmark.trace_recorder import prompts_of

    counted = [step for step in steps if step["kind"] == "model"]
    calls = [step for step in steps if step["kind"] in {"tool", "draft"}]
    costs = [step.get("cost") for step in counted]
    known = bool(costs) and all(cost is not None for cost in costs)
    errors: dict[str, int] = {}
    for call in calls:
        if call.get("failed"):
            errors[kind_of(call)] = errors.get(kind_of(call), 0) + 1
    return replace(
        outcome,
        model_seconds=sum(float(step.get("seconds") or 0) for step in counted),
        requests=len(counted),
        input_tokens=sum(int(step.get("input_tokens") or 0) for step in counted),
        cached_tokens=sum(int(step.get("cached_tokens") or 0) for step in counted),
        output_tokens=sum(int(step.get("output_tokens") or 0) for step in counted),
        cost=sum(float(cost or 0) for cost in costs) if known else None,
        tool_calls=len(calls),
        tool_errors=errors,
        prompts=tuple(prompts_of(steps) if prompts is None else prompts),
        trace=tuple(steps),
    )


def _cpu_seconds() -> float:
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in used)


def answer_text(answer: Answer) -> str:
    """The answer as one text: its own words, or the rows of its result, a line for each."""
    if answer.text:
        return answer.text
    return "\n".join(", ".join("" if value is None else str(value) for value in row) for row in answer.rows)


def comprehend_environment(request: Request) -> Outcome:
    """Bring the evidence state of an environment up to date."""
    from coset.environment.configuration import load_environment
    from coset.evidence.work import over_processes
    from coset.use_cases.comprehend import Settings, comprehend

    started = time.monotonic()
    try:
        environment = load_environment(request.environment)
        summary = comprehend(environment, Settings(spread=over_processes(request.jobs)))
        problems = (*summary.unreachable, *summary.damaged)
    except CosetError as raised:
        return Outcome("failed", error=str(raised), error_kind=type(raised).__name__)
    except Exception as raised:
        return Outcome("failed", error=f"unexpected {type(raised).__name__}: {raised}", error_kind="Unexpected")
    if problems:
        told = "; ".join(f"'{name}' cannot be read: {why}" for name, why in problems[:3])
        return Outcome("failed", error=told, error_kind="SourceUnreachable")
    return Outcome("answered", seconds=time.monotonic() - started)


class CachedRouter:
    """Holds one: datasets are asked one after the other."""

    def __init__(self) -> None:
        self._path: Path | None = None
        self._router: Router | None = None

    @contextmanager
    def lent(self, environment: Environment, session: QuerySession) -> Iterator[Router]:
        router = self._router
        if router is None or self._path != environment.path:
            router = Router.open(environment)
            self._router, self._path = router, environment.path
        router.session = session
        try:
            yield router
        finally:
            router.session = None


held_router = CachedRouter()
"""Of this process."""


KINDS = (
    "unknown table or column", "does not parse", "types do not fit", "not grouped", "not allowed", "limit reached",
    "source not reachable", "repeated statement", "wrong arguments", "unknown tool", "other",
)  # fmt: skip
_BY_TEXT = (
    ("repeated statement", re.compile(r"^This ran before")),
    ("wrong arguments", re.compile(r"^(Wrong arguments|The arguments are not|Not run: at most)")),
    ("unknown tool", re.compile(r"^There is no tool")),
    ("not allowed", re.compile(r"^not allowed:")),
    ("source not reachable", re.compile(r"^not reachable:")),
    ("limit reached", re.compile(r"stopped after|more memory|process that ran the statement ended|allow more", re.I)),
    ("does not parse", re.compile(r"syntax error|does not parse|not a valid|parser", re.I)),
    ("unknown table or column", re.compile(
        r"(table|column|function|source|schema|name)\b.{0,80}(not exist|not found|unknown|no such|does not have)"
        r"|there is no (table|column|source|function)|not found in FROM|is not a known|no (table|column) named"
        r"|names no (table|column)|ambiguous",
        re.I | re.S,
    )),
    ("not grouped", re.compile(r"GROUP BY clause", re.I)),
    ("types do not fit", re.compile(
        r"could not convert|cannot (cast|compare|mix)|type mismatch|no function matches", re.I
    )),
)  # fmt: skip


def kind_of(step: Mapping[str, Any]) -> str:
    """The kind of a failed call."""
    if step.get("error") == "LimitReached":
        return "limit reached"
    text = str(step.get("text") or "")
    return next((kind for kind, pattern in _BY_TEXT if pattern.search(text)), "other")
