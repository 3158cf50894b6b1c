"""An environment: comprehend it, view it, query it, ask it, correct it.

In: the path of a `coset.yaml`. Out: an `Environment`, which threads may share. Each method calls the use case of its
name; those that may take long have a twin for callers with an event loop. Nothing of the user's data is written.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar, overload

from coset.errors import CosetError, UserError
from coset.identities.teaching import Statement
from coset.routing.search.recover import Recovered
from coset.routing.views.budgets import DETAILS, RECOVERED
from coset.session.worker_process import WorkerLimits
from coset.state import EvidenceState, Note
from coset.use_cases import ask as asking
from coset.use_cases import corrections, evidence
from coset.use_cases.cancellation import Cancellation, Report, await_for, wait_for
from coset.use_cases.corrections import Teaching
from coset.use_cases.results import Answer, Rows, SqlResult, View, html_table
from coset.use_cases.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from coset.answering.ask import AskOptions
    from coset.answering.audit.replay import Replay
    from coset.answering.audit.runs import Run, RunSummary
    from coset.answering.checks import CheckResult, PinnedShape
    from coset.environment.corrections import Correction, Corrections, Question
    from coset.evidence.work import Spread
    from coset.readings.pages import PageReply
    from coset.readings.reading import Reading
    from coset.routing.views.explanation import Explanation
    from coset.state.documents import DocumentSummary
    from coset.state.objects import CodeList, Copy
    from coset.state.relations import LinkedEntity
    from coset.use_cases.ask import Reasoner
    from coset.use_cases.comprehend import Summary as Comprehension
    from coset.use_cases.corrections import Doubt, Status
    from coset.use_cases.evidence import DocumentSection
    from coset.use_cases.readings import CataloguePage, ReadWith
    from coset.use_cases.relations import Linked

T = TypeVar("T")


def open(path: Path | str | None = None, *, limits: WorkerLimits | None = None) -> Environment:
    """The environment that a `coset.yaml` describes. `path` is that file or its folder; the nearest one, here or
    above, when it is left out. `limits` are those of each SQL statement.

    >>> with coset.open("coset.yaml") as environment:
    ...     environment.sql("SELECT count(*) FROM crm.customers").rows
    """
    return Environment(path, limits=limits)


class Environment:
    """One environment. Close it, or open it with `with`.

    Things are named as SQL names them (`shop.orders.amount`), as a view refers to them (`shop/orders.amount`), or by a
    short form while it is unambiguous (`orders.amount`).
    """

    def __init__(self, path: Path | str | None = None, *, limits: WorkerLimits | None = None) -> None:
        self.workspace = Workspace(path, limits=limits)
        self.configuration = self.workspace.configuration

    def __enter__(self) -> Environment:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End what was started: processes, connections, threads.

        >>> environment.close()
        """
        self.workspace.close()

    # Comprehension

    def comprehend(
        self,
        *,
        jobs: int = 2,
        everything: bool = False,
        mask_personal: bool = True,
        spread: Spread | None = None,
        read_with: ReadWith | None = None,
        link: bool = False,
        report: Report | None = None,
    ) -> Comprehension:
        """Read the environment and build its evidence state; later, only what changed. With `link`, records are linked
        across tables as well. `jobs` processes share the work: a script that uses more than one starts it under `if
        __name__ == "__main__":`.

        >>> print(environment.comprehend(jobs=1))
        """
        return self._comprehend(Cancellation(report), jobs, everything, mask_personal, spread, read_with, link)

    async def comprehend_async(
        self, *, jobs: int = 2, everything: bool = False, report: Report | None = None
    ) -> Comprehension:
        """`comprehend` for callers with an event loop.

        >>> summary = await environment.comprehend_async(jobs=1)
        """
        return await self.run_in_thread(lambda call: self._comprehend(call, jobs, everything), report)

    def _comprehend(
        self,
        call: Cancellation,
        jobs: int,
        everything: bool,
        mask_personal: bool = True,
        spread: Spread | None = None,
        read_with: ReadWith | None = None,
        link: bool = False,
    ) -> Comprehension:
        from coset.evidence.work import over_processes
        from coset.use_cases.comprehend import Settings, comprehend

        def progress(done: int, total: int, name: str) -> None:
            message = f"read {name}" if total else name
            call.tell(message, done if total else None, total or None)

        settings = Settings(
            everything, mask_personal, spread=spread or over_processes(jobs), read_with=read_with, link=link
        )
        return comprehend(self.configuration, settings, progress)

    # Evidence

    def view(self, question: str, budget: int = DETAILS, *, directory: bool = True) -> View:
        """What a question gets to see: a directory of the tables, and in at most `budget` tokens the details of those
        that answer it, with columns, joins and values. No language model is asked.

        >>> print(environment.view("Which customers ordered most in March?"))
        """
        return evidence.view(self.workspace, question, budget, directory=directory)

    def explain(self, question: str, budget: int = DETAILS, *, directory: bool = True) -> Explanation:
        """The view of a question with how it came about: requirements, demand, anchors, scores, and what fell out.

        >>> environment.explain("Which customers ordered most?").anchors
        """
        return evidence.explain(self.workspace, question, budget, directory=directory)

    def open_tables(self, names: Sequence[str], beside: View | None = None) -> View:
        """The details of tables that a directory lists, without what the view `beside` them shows already.

        >>> print(environment.open_tables(["crm.customers"]).details)
        """
        return evidence.open_tables(self.workspace, names, beside)

    def recover(self, name: str, budget: int = RECOVERED) -> Recovered:
        """All that is known of one thing that a view names, or that it left out.

        >>> print(environment.recover("shop.orders.amount").text)
        """
        return evidence.recover(self.workspace, name, budget)

    def search(self, words: str, budget: int = RECOVERED) -> Recovered:
        """What has these words in its name, its values or its text.

        >>> print(environment.search("invoice amount").text)
        """
        return evidence.search(self.workspace, words, budget)

    def show(self, name: str) -> dict[str, Any]:
        """All that is known of a source, table or column, by section, and how it is known.

        >>> environment.show("shop.orders.amount")["column"]
        """
        return evidence.show(self.workspace, name)

    def sources(self) -> Rows:
        """The sources that were comprehended, with how many tables each has and what stands in the way.

        >>> environment.sources().to_pandas()
        """
        return evidence.sources(self.workspace)

    def relations(self, about: str | None = None, *, least: float = 0.0) -> Rows:
        """The joins that were found, the surest first; those of one source, table or column when it is named.
        `least` is the least confidence.

        >>> for row in environment.relations("shop.orders").dictionaries():
        ...     print(row["condition"], row["left_match"])
        """
        return evidence.relations(self.workspace, about, least)

    def memberships(self) -> Rows:
        """The role of every table and column in both coordinates, with its whole soft profile.

        >>> environment.memberships().to_polars()
        """
        return evidence.memberships(self.workspace)

    def diagnostics(self, about: str | None = None, *, kind: str | None = None) -> list[dict[str, Any]]:
        """The dirt that was seen, everywhere or within one source, table or column, with the expression that cleans
        it.

        >>> environment.diagnostics("shop.orders", kind="mixed_case")
        """
        return evidence.diagnostics(self.workspace, about, kind)

    def documents(self) -> tuple[DocumentSummary, ...]:
        """The documents that were read, with how many sections, rules and mentions each has.

        >>> [(each.name, each.rules) for each in environment.documents()]
        """
        from coset.use_cases.evidence import documents_of

        return documents_of(self.workspace)

    def document(self, name: str) -> tuple[DocumentSection, ...]:
        """The sections of a document, with the rules they state and what they name.

        >>> environment.document("handbook.md")[0].rules
        """
        from coset.use_cases.evidence import sections_of

        return sections_of(self.workspace, name)

    def export(self, format: str, least: float = 0.5) -> str:
        """What is known as a draft semantic model in one format: osi, dbt, cube, markdown or json. `least` is the
        confidence that joins, readings and roles need.

        >>> Path("model.yaml").write_text(environment.export("osi"))
        """
        from coset.use_cases.export import export

        return export(self.workspace, format, least)

    def copies(self, about: str | None = None) -> list[Copy]:
        """The tables that are copies of others, with their originals, and why; those of one table when it is named.

        >>> [(each.table, each.original) for each in environment.copies()]
        """
        from coset.use_cases.relations import copies

        return copies(self.workspace, about)

    @overload
    def links(self) -> list[LinkedEntity]: ...

    @overload
    def links(self, entity: str) -> Linked: ...

    def links(self, entity: str | None = None) -> list[LinkedEntity] | Linked:
        """The entities whose records were linked across tables, or one with its clusters: SQL reads it as
        `linked.<entity>`. Records are linked when they are first asked for.

        >>> environment.links("customer").records[0].cluster
        """
        from coset.use_cases.relations import entities, links_of

        return entities(self.workspace) if entity is None else links_of(self.workspace, entity)

    def code_lists(self, about: str | None = None) -> list[CodeList]:
        """Which rows of which table decode a column, and whether they still hold.

        >>> environment.code_lists("shop.orders.status")
        """
        from coset.use_cases.relations import code_lists

        return code_lists(self.workspace, about)

    def status(self, *, look: bool = True) -> Status:
        """What is there, what is stale, how much a person could settle. With `look`, sources are asked whether they
        changed.

        >>> environment.status(look=False).tables
        """
        from coset.use_cases.corrections import status

        return status(self.workspace, look=look)

    def review(self, limit: int = 50) -> tuple[Doubt, ...]:
        """What a person could settle, what most hangs on first: contested joins, roles, copies, code lists.

        >>> [(each.kind, each.about, each.says) for each in environment.review(limit=10)]
        """
        from coset.use_cases.corrections import review

        return review(self.workspace, limit)

    def reading(self) -> AbstractContextManager[EvidenceState]:
        """The evidence state itself, for looking, as long as the block lasts: `state.rows("SELECT ...")`.

        >>> with environment.reading() as state:
        ...     state.count("tables")
        """
        return self.workspace.reading()

    # Queries

    def sql(
        self, text: str, *, max_rows: int | None = None, seconds: float | None = None, report: Report | None = None
    ) -> SqlResult:
        """Run one read-only SELECT, in DuckDB's SQL, over all sources; a table is `source.table`.

        >>> environment.sql("SELECT name, amount FROM shop.orders").to_pandas()
        """
        return self._sql(Cancellation(report), text, max_rows, seconds)

    async def sql_async(
        self, text: str, *, max_rows: int | None = None, seconds: float | None = None, report: Report | None = None
    ) -> SqlResult:
        """`sql` for callers with an event loop: others run meanwhile, and cancelling it ends the statement.

        >>> (await environment.sql_async("SELECT count(*) FROM crm.customers")).rows
        """
        return await self.run_in_thread(lambda call: self._sql(call, text, max_rows, seconds), report)

    def _sql(self, call: Cancellation, text: str, max_rows: int | None, seconds: float | None) -> SqlResult:
        return asking.sql(self.workspace, text, max_rows=max_rows, seconds=seconds, call=call)

    def check(self, sql: str, answer: Any = None, shape: PinnedShape | None = None) -> tuple[CheckResult, ...]:
        """What counting can tell of an answer and the statement behind it: rows lost or multiplied by a join, dirt that
        was not cleaned, duplicates, a wrong shape. `answer` is left out where the rows themselves are it.

        >>> [(each.name, each.outcome) for each in environment.check("SELECT count(*) FROM shop.orders")]
        """
        return asking.check(self.workspace, sql, answer, shape)

    async def check_async(
        self, sql: str, answer: Any = None, shape: PinnedShape | None = None, *, report: Report | None = None
    ) -> tuple[CheckResult, ...]:
        """`check` for callers with an event loop.

        >>> checks = await environment.check_async("SELECT count(*) FROM shop.orders")
        """
        return await self.run_in_thread(lambda call: asking.check(self.workspace, sql, answer, shape, call), report)

    # Questions

    def ask(
        self,
        question: str,
        *,
        model: str | None = None,
        reasoner: Reasoner | None = None,
        report: Report | None = None,
        **options: Any,
    ) -> Answer:
        """Answer a question, with the statements behind the answer: with a language model where one is named here, in
        `coset.yaml` or as COSET_MODEL; otherwise by the built-in reasoner, which declines what it is not sure of.
        `model` is written as in `coset.yaml`; `options` are the fields of `coset.answering.ask.AskOptions`.

        >>> answer = environment.ask("How many customers are there?")
        >>> answer.value, answer.sql, answer.confidence
        """
        return wait_for(self.workspace.threads, self._asking(question, reasoner, {"model": model, **options}), report)

    async def ask_async(
        self,
        question: str,
        *,
        model: str | None = None,
        reasoner: Reasoner | None = None,
        report: Report | None = None,
        **options: Any,
    ) -> Answer:
        """`ask` for callers with an event loop; cancelling it calls the model off.

        >>> (await environment.ask_async("How many customers are there?")).value
        """
        return await self.run_in_thread(self._asking(question, reasoner, {"model": model, **options}), report)

    def ask_offline(self, question: str, *, report: Report | None = None) -> Answer:
        """Answer a question without a language model, where coset is sure of it; otherwise `stopped` says why not.

        >>> environment.ask_offline("How many customers are there?").reading
        """
        return self.ask(question, reasoner="offline", report=report)

    async def ask_offline_async(self, question: str, *, report: Report | None = None) -> Answer:
        """`ask_offline` for callers with an event loop.

        >>> (await environment.ask_offline_async("How many customers are there?")).value
        """
        return await self.ask_async(question, reasoner="offline", report=report)

    def resume(self, run: int, *, report: Report | None = None, **options: Any) -> Answer:
        """Go on with a run that was not answered, by its number.

        >>> environment.resume(3).value
        """
        from coset.use_cases.ask import resume

        return wait_for(
            self.workspace.threads, lambda call: resume(self.workspace, run, _options(options), call=call), report
        )

    def _asking(
        self, question: str, reasoner: Reasoner | None, options: dict[str, Any]
    ) -> Callable[[Cancellation], Answer]:
        def work(call: Cancellation) -> Answer:
            from coset.use_cases.ask import ask

            return ask(self.workspace, question, _options(options), reasoner=reasoner, call=call)

        return work

    def runs(self, limit: int = 50) -> tuple[RunSummary, ...]:
        """The questions that were asked, the newest first, with how each ended and what it cost.

        >>> [(each.number, each.question, each.cost) for each in environment.runs(limit=5)]
        """
        return asking.runs(self.workspace, limit)

    def run(self, number: int) -> Run:
        """One run whole: view, records, every step, the answer and its checks.

        >>> environment.run(3).steps
        """
        return asking.run(self.workspace, number)

    def confirm(self, number: int, by: str | None = None) -> Question:
        """Keep that the answer of a run is right, with its statement, in the corrections file.

        >>> environment.confirm(3).sql
        """
        return asking.confirm(self.workspace, number, by)

    def replay(self, number: int) -> Replay:
        """Run the statements behind an answer again on today's data, without a model, and compare.

        >>> environment.replay(3).verdict
        """
        return asking.replay(self.workspace, number)

    # Corrections

    def teach(self, name: str, role: str, *, negative: bool = False) -> Teaching:
        """Say which role a table or column plays (`customer.identifier`, `customer.`, `.identifier`), or with
        `negative` that it does not. It wins over what was inferred; look-alikes follow.

        >>> environment.teach("shop.orders.buyer", "customer.identifier")
        """
        return corrections.teach(self.workspace, name, role, negative=negative)

    def revoke(self, number: int) -> Teaching:
        """Take back what was taught, by its number.

        >>> environment.revoke(1).changes
        """
        return corrections.revoke(self.workspace, number)

    def join(
        self, left: str, right: str, expression: str | None = None, *, rejected: bool = False
    ) -> dict[str, Any] | None:
        """Say that two columns join, by an equality in SQL where the usual ways of writing keys do not do, or with
        `rejected` that they do not. It is tested at once: the join with its match rates, or None.

        >>> environment.join("shop.orders.buyer", "crm.customers.id")["left_match"]
        """
        from coset.use_cases.relations import declare_join

        return declare_join(self.workspace, left, right, expression, rejected=rejected)

    def declare(self, *entries: Correction) -> None:
        """Add entries to `coset.corrections.yaml`: readings, joins (also rejected ones), copies, code lists, rules.
        Names may be written as in SQL; what stands there already is not written twice. `coset comprehend` heeds them.

        >>> from coset.environment.corrections import Reading
        >>> environment.declare(Reading(reference="shop.orders", name="web order"))
        """
        corrections.declare(self.workspace, entries)

    def withdraw(self, *entries: Correction) -> None:
        """Take entries out of `coset.corrections.yaml`.

        >>> environment.withdraw(environment.said().joins[-1])
        """
        corrections.withdraw(self.workspace, entries)

    def said(self) -> Corrections:
        """All that people said, as `coset.corrections.yaml` holds it.

        >>> environment.said().joins
        """
        return corrections.said(self.workspace)

    def readings(self, about: str | None = None, *, every: bool = False) -> list[Reading]:
        """What tables and columns are, in plain words, and who says so: the best of each, or with `every` all.

        >>> [(each.reference, each.name, each.reader) for each in environment.readings("shop.orders")]
        """
        from coset.use_cases.readings import list_readings

        return list_readings(self.configuration, about, every=every)

    def next_page(self) -> CataloguePage | None:
        """The next tables that neither a model nor an agent has read, as text for one; None when all are read.

        >>> page = environment.next_page()
        """
        from coset.use_cases.readings import next_page

        return next_page(self.configuration)

    def hand_in_page(self, key: str, lines: str) -> PageReply:
        """Keep what an agent read on a page of `next_page`, in the lines that its text asks for.

        >>> environment.hand_in_page(page.key, lines)
        """
        from coset.use_cases.readings import hand_in_page

        return hand_in_page(self.configuration, key, lines)

    def taught(self) -> tuple[Statement, ...]:
        """All that people said of roles.

        >>> [(each.reference, each.identity) for each in environment.taught()]
        """
        return corrections.taught(self.workspace)

    def note(self, name: str, text: str) -> Note:
        """Say something about a source, table or column; it is shown with it and wins over what was inferred.

        >>> environment.note("shop.orders.amount", "Gross, in Swiss francs.")
        """
        return corrections.add_note(self.workspace, name, text)

    def remove_note(self, number: int) -> None:
        """Remove a note, by its number.

        >>> environment.remove_note(1)
        """
        corrections.remove_note(self.workspace, number)

    def notes(self) -> tuple[Note, ...]:
        """All notes.

        >>> [(each.about, each.text) for each in environment.notes()]
        """
        return corrections.notes(self.workspace)

    # Threads

    async def run_in_thread(self, work: Callable[[Cancellation], T], report: Report | None = None) -> T:
        """Work for callers with an event loop, in a thread of the environment; cancelling it cancels the work.

        >>> await environment.run_in_thread(lambda call: environment.notes())
        """
        return await await_for(self.workspace.threads, work, report)

    # Display

    def __repr__(self) -> str:
        return f"<coset environment of {', '.join(self.configuration.names)}>"

    def _repr_html_(self) -> str:
        try:
            return self.sources()._repr_html_()
        except CosetError as error:
            rows = [(name, str(error)) for name in self.configuration.names]
            return html_table(("source", "state"), rows, len(rows))


def _options(options: dict[str, Any]) -> AskOptions:
    from coset.answering.ask import AskOptions

    try:
        return AskOptions(**options)
    except TypeError as error:
        raise UserError(f"ask has no such option: {error}") from None
