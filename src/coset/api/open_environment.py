"""An environment, opened: comprehend it, view it, query it, ask it, correct it.

In: the path of a `coset.yaml`. Out: an `OpenEnvironment`, which threads may share. It opens sources, indexes and the
evidence state when they are first needed, and reads them anew when they changed. Nothing of the user's data is written.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from coset.api.evidence_rows import memberships_table, reference_of, relations_table
from coset.api.long_call import LongCall, Report, await_for, wait_for
from coset.api.reasoning import Reasoner
from coset.api.sessions import Sessions
from coset.api.shown import Answered, Rows, SqlResult, View, html_table
from coset.api.state_access import StateAccess
from coset.api.teaching import Teaching, revoke_statement, teach_role
from coset.environment.configuration import load_environment
from coset.errors import CosetError, UserError
from coset.identities.inventory import load_inventory
from coset.routing.budgets import DETAILS, RECOVERED
from coset.routing.objects_of_state import StateObjects
from coset.routing.recover import Recovered, recover
from coset.routing.search import search
from coset.session.worker_process import WorkerLimits
from coset.state import EvidenceState

if TYPE_CHECKING:
    from coset.answering.checks import CheckResult, PinnedShape
    from coset.answering.offline import Declined, OfflineAnswer
    from coset.api.comprehending import Comprehension
    from coset.routing.explanation import Explanation
    from coset.routing.router import Router

THREADS = 32


def open(path: Path | str | None = None, *, limits: WorkerLimits | None = None) -> OpenEnvironment:
    """The environment that a `coset.yaml` describes. `path` is that file or its folder; the nearest one, here or
    above, when it is left out. `limits` are those of each SQL statement."""
    return OpenEnvironment(path, limits=limits)


class OpenEnvironment:
    """One environment. Close it, or open it with `with`."""

    def __init__(self, path: Path | str | None = None, *, limits: WorkerLimits | None = None) -> None:
        self.environment = load_environment(path)
        self._sessions = Sessions(self.environment, limits)
        self._state = StateAccess()
        # Looking for values at their source is part of a view, and must not wait for somebody's long statement.
        self._looking = Sessions(self.environment, limits, most=1)
        self.threads = ThreadPoolExecutor(THREADS, thread_name_prefix="coset")
        self._routing = threading.Lock()
        self._router: Router | None = None
        self._reasoner = Reasoner(self.environment)
        self._objects: StateObjects | None = None

    def __enter__(self) -> OpenEnvironment:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End what was started: processes, connections, threads."""
        self._sessions.close()
        self._looking.close()
        self.threads.shutdown(wait=False, cancel_futures=True)

    # Comprehension

    def comprehend(self, *, jobs: int = 2, everything: bool = False, report: Report | None = None) -> Comprehension:
        """Read the environment and build its evidence state; later, only what changed. `jobs` processes share the
        work: a script that uses more than one starts it under `if __name__ == "__main__":`."""
        return self._comprehend(LongCall(report), jobs, everything)

    async def comprehend_async(
        self, *, jobs: int = 2, everything: bool = False, report: Report | None = None
    ) -> Comprehension:
        """`comprehend` for callers with an event loop."""
        return await await_for(self.threads, lambda call: self._comprehend(call, jobs, everything), report)

    def _comprehend(self, call: LongCall, jobs: int, everything: bool) -> Comprehension:
        from coset.api.comprehending import comprehend_all

        with self._routing, self._state.writing():
            self._router = self._objects = None
            return comprehend_all(self.environment, call, jobs, everything)

    # Evidence

    def view(self, question: str, budget: int = DETAILS) -> View:
        """What a question gets to see: the tables, columns, joins and values that answer it, in at most `budget`
        tokens. No language model is asked."""
        with self._routed() as router:
            return View(router.view(question, budget))

    @contextmanager
    def _routed(self) -> Iterator[Router]:
        with self._routing, self._state.reading():
            if self._router is None:
                from coset.routing.router import Router

                self._router = Router.open(self.environment)
            with self._looking.lent() as session:
                self._router.session = session
                try:
                    yield self._router
                finally:
                    self._router.session = None

    def explain(self, question: str, budget: int = DETAILS) -> Explanation:
        """The view of a question with how it came about: requirements, demand, anchors, scores, and what fell out."""
        with self._routed() as router:
            return router.explain(question, budget)

    def recover(self, reference: str, budget: int = RECOVERED) -> Recovered:
        """All that is known of one thing that a view names, or that it left out."""
        with self._routing, self._state.reading():
            objects = self._read_objects()
            try:
                return recover(objects, reference_of(objects, reference), budget)
            except UserError as mistake:
                try:  # Joins and documents have references of their own.
                    return recover(objects, reference, budget)
                except UserError:
                    raise mistake from None

    def search(self, words: str, budget: int = RECOVERED) -> Recovered:
        """What has these words in its name, its values or its text."""
        with self._routing, self._state.reading():
            return search(self._read_objects(), words, budget)

    def relations(self, about: str | None = None, *, least: float = 0.0) -> Rows:
        """The joins that were found, the surest first; those of one source, table or column when it is named.
        `least` is the least confidence."""
        with self._routing, self._state.reading():
            return Rows(relations_table(self._read_objects(), about, least))

    def memberships(self) -> Rows:
        """The role of every table and column in both coordinates, with its whole soft profile."""
        with self.reading() as state:
            return Rows(memberships_table(state, load_inventory(self.environment.identities_file)))

    @contextmanager
    def reading(self) -> Iterator[EvidenceState]:
        """The evidence state itself, for looking, as long as the block lasts: `state.rows("SELECT ...")`."""
        with self._state.reading(), EvidenceState.read(self.environment.state_folder) as state:
            yield state

    def sources(self) -> Rows:
        """The sources that were comprehended, with how many tables each has and what stands in the way."""
        import pyarrow as pa

        schema = pa.schema([("source", pa.string()), ("kind", pa.string()), ("tables", pa.int64()),
                            ("schema_only", pa.bool_()), ("problem", pa.string())])  # fmt: skip
        with self._routing, self._state.reading():
            rows = [
                {"source": each.name, "kind": each.kind, "tables": each.tables, "schema_only": each.schema_only,
                 "problem": each.problem}
                for each in self._read_objects().sources.values()
            ]  # fmt: skip
        return Rows(pa.Table.from_pylist(rows, schema=schema))

    def _read_objects(self) -> StateObjects:
        """The objects of the state as it is now; the router's own where it has been opened."""
        known = self._router.objects if self._router is not None else self._objects
        if known is None or known.is_stale():
            known = self._objects = StateObjects(self.environment.state_folder)
        return known

    # Queries

    def sql(
        self, text: str, *, max_rows: int | None = None, seconds: float | None = None, report: Report | None = None
    ) -> SqlResult:
        """Run one read-only SELECT, in DuckDB's SQL, over all sources; a table is `source.table`."""
        return self._sql(LongCall(report), text, max_rows, seconds)

    async def sql_async(
        self, text: str, *, max_rows: int | None = None, seconds: float | None = None, report: Report | None = None
    ) -> SqlResult:
        """`sql` for callers with an event loop: others run meanwhile, and cancelling it ends the statement."""
        return await await_for(self.threads, lambda call: self._sql(call, text, max_rows, seconds), report)

    def _sql(self, call: LongCall, text: str, max_rows: int | None, seconds: float | None) -> SqlResult:
        with self._sessions.lent(call) as session:
            return SqlResult.of(session.sql(text, max_rows=max_rows, seconds=seconds))

    def check(self, sql: str, answer: Any = None, shape: PinnedShape | None = None) -> tuple[CheckResult, ...]:
        """What counting can tell of an answer and the statement behind it: rows lost or multiplied by a join, dirt that
        was not cleaned, duplicates, a wrong shape. `answer` is left out where the rows themselves are it."""
        return self._check(LongCall(), sql, answer, shape)

    async def check_async(
        self, sql: str, answer: Any = None, shape: PinnedShape | None = None, *, report: Report | None = None
    ) -> tuple[CheckResult, ...]:
        """`check` for callers with an event loop."""
        return await await_for(self.threads, lambda call: self._check(call, sql, answer, shape), report)

    def _check(self, call: LongCall, sql: str, answer: Any, shape: PinnedShape | None) -> tuple[CheckResult, ...]:
        from coset.answering.checks import Proposal, run_checks

        with self._sessions.lent(call) as session, self.reading() as state:
            call.tell("running the statement")
            result = session.sql(sql)
            call.tell("counting")
            value = [list(row) for row in result.rows()] if answer is None else answer
            return run_checks(Proposal(value, (sql,), shape, result), session, state)

    # Questions

    def ask(self, question: str, *, model: str | None = None, report: Report | None = None, **options: Any) -> Answered:
        """Answer a question with a language model, with the statements behind the answer. `model` is written as for
        `coset ask`; `options` are the fields of `coset.answering.ask.AskOptions`."""
        work = self._asking(question, model, options)
        return wait_for(self.threads, work, report)

    async def ask_async(
        self, question: str, *, model: str | None = None, report: Report | None = None, **options: Any
    ) -> Answered:
        """`ask` for callers with an event loop; cancelling it calls the model off."""
        return await await_for(self.threads, self._asking(question, model, options), report)

    def ask_offline(self, question: str, *, report: Report | None = None) -> OfflineAnswer | Declined:
        """Answer a question without a language model, where coset is sure of it; otherwise say why not."""
        return wait_for(self.threads, self._reasoning(question), report)

    async def ask_offline_async(self, question: str, *, report: Report | None = None) -> OfflineAnswer | Declined:
        """`ask_offline` for callers with an event loop."""
        return await await_for(self.threads, self._reasoning(question), report)

    def _reasoning(self, question: str) -> Callable[[LongCall], OfflineAnswer | Declined]:
        def work(call: LongCall) -> OfflineAnswer | Declined:
            with self._sessions.lent(call) as session, self.reading() as state:
                call.tell("reading the question")
                return self._reasoner.answer(question, session, state)

        return work

    def _asking(self, question: str, model: str | None, options: dict[str, Any]) -> Callable[[LongCall], Answered]:
        def work(call: LongCall) -> Answered:
            from coset.answering.ask import AskOptions
            from coset.api.asking import ask_and_tell

            try:
                chosen = AskOptions(model=model, **options)
            except TypeError as error:
                raise UserError(f"ask has no such option: {error}") from None
            with self._sessions.lent(call) as session, self._state.reading():
                return ask_and_tell(question, self.environment, chosen, session, call)

        return work

    # Corrections

    def teach(self, reference: str, role: str, *, negative: bool = False) -> Teaching:
        """Say which role a table or column plays (`customer.identifier`, `customer.`, `.identifier`), or with
        `negative` that it does not. It wins over what was inferred; look-alikes follow."""
        with self._routing:
            with self._state.reading():
                about = reference_of(self._read_objects(), reference)
            with self._state.writing():
                return teach_role(self.environment, about, role, negative)

    def revoke(self, number: int) -> Teaching:
        """Take back what was taught, by its number."""
        with self._routing, self._state.writing():
            return revoke_statement(self.environment, number)

    # Display

    def __repr__(self) -> str:
        return f"<coset environment of {', '.join(self.environment.names)}>"

    def _repr_html_(self) -> str:
        try:
            return self.sources()._repr_html_()
        except CosetError as error:
            rows = [(name, str(error)) for name in self.environment.names]
            return html_table(("source", "state"), rows, len(rows))
