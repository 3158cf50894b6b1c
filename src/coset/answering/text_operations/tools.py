"""The agent's `classify`, `extract` and `resolve_entities`: what texts say, as a table that later SQL reads.

In: a SELECT of keys and a text column, and what is wanted of the texts; or a table in which several rows may be one
thing. Out: a temporary table of the rows with the new columns. The text operations ask the model for few of the texts,
and none flows through the agent. The table is kept with the run, because no statement could make it again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any

import sqlglot
from pydantic import Field

from coset.answering.agent.results import NamedResults
from coset.answering.agent.tools import Arguments, Outcome, ToolOffer
from coset.answering.arbiter.records import References, Text
from coset.answering.quoting import cell, data_block, one_line
from coset.answering.recorder import Recorder
from coset.answering.text_operations.classify import Classified, Encode, classify
from coset.answering.text_operations.expressions import Candidate, facet_candidates
from coset.answering.text_operations.extract import Extracted, Proposer, extract
from coset.answering.text_operations.labels import Budget, LabelCache, Labeller, TextReader, estimate
from coset.environment.configuration import Environment
from coset.environment.source import unique_names
from coset.errors import LimitReached, UserError
from coset.session.query_session import QuerySession
from coset.session.result import Result
from coset.state import EvidenceState
from coset.state.names import resolve

if TYPE_CHECKING:
    import pyarrow as pa


MOST_ROWS = 100_000


@dataclass(frozen=True)
class ClassifiedColumn:
    """`name` is what SQL writes; the columns are those of the SELECT, then category, confidence, labelled_by."""

    name: str
    table: pa.Table
    found: Classified


@dataclass(frozen=True)
class ExtractedColumns:
    """`name` is what SQL writes; the columns are those of the SELECT, then each field, and `<field>_read_by`."""

    name: str
    table: pa.Table
    found: Extracted


async def classify_column(
    session: QuerySession,
    select: str,
    column: str,
    categories: Sequence[str],
    labeller: Labeller,
    encode: Encode,
    *,
    name: str = "classified",
    model: str = "",
    instruction: str = "",
    budget: Budget | None = None,
    cache: LabelCache | None = None,
) -> ClassifiedColumn:
    result, texts = _texts(session, select, column)
    found = await classify(
        texts, categories, labeller, encode, model=model, instruction=instruction, budget=budget, cache=cache
    )
    added = {
        "category": (list(found.labels), "VARCHAR"),
        "confidence": (found.confidence.tolist(), "DOUBLE"),
        "labelled_by": ([who or None for who in found.by], "VARCHAR"),
    }
    table, written = _kept(session, name, result, added)
    return ClassifiedColumn(written, table, found)


async def extract_columns(
    session: QuerySession,
    select: str,
    column: str,
    fields: Sequence[str],
    labeller: Labeller,
    *,
    name: str = "extracted",
    candidates: Sequence[Candidate] = (),
    proposer: Proposer | None = None,
    model: str = "",
    instruction: str = "",
    budget: Budget | None = None,
    cache: LabelCache | None = None,
) -> ExtractedColumns:
    """`candidates` are expressions over `column`, such as `facet_candidates` gives."""
    result, texts = _texts(session, select, column)
    found = await extract(
        texts, fields, labeller, session, column=column, candidates=candidates, proposer=proposer, model=model,
        instruction=instruction, budget=budget, cache=cache,
    )  # fmt: skip
    added: dict[str, tuple[list[Any], str]] = {}
    for field in found.fields:
        added[field] = (list(found.values[field]), "VARCHAR")
        added[f"{field}_read_by"] = ([who or None for who in found.by[field]], "VARCHAR")
    table, written = _kept(session, name, result, added)
    return ExtractedColumns(written, table, found)


def _texts(session: QuerySession, select: str, column: str) -> tuple[Result, list[str | None]]:
    result = session.sql(select, max_rows=MOST_ROWS)
    if result.truncated:
        raise LimitReached(
            f"the SELECT gives more than {MOST_ROWS:,} rows, or more than fit: filter it, or take the texts in parts"
        )
    lowered = [each.lower() for each in result.columns]
    if column.lower() not in lowered:
        raise UserError(f"the SELECT gives no column '{column}': it gives {', '.join(result.columns)}")
    place = lowered.index(column.lower())
    if result.types[place] != "VARCHAR" and not result.types[place].startswith("ENUM("):
        raise UserError(f"'{column}' is of type {result.types[place]}: name a text column, or cast it to VARCHAR")
    return result, result.table.column(place).cast("string").to_pylist()


def _kept(
    session: QuerySession, name: str, result: Result, added: dict[str, tuple[list[Any], str]]
) -> tuple[pa.Table, str]:
    import pyarrow as pa

    table = result.table
    for column, (values, kind) in added.items():
        table = table.append_column(column, pa.array(values, pa.float64() if kind == "DOUBLE" else pa.string()))
    table = table.rename_columns(unique_names(table.column_names))
    return table, session.add_table(name, table, (*result.types, *(kind for _, kind in added.values())))


EXAMPLES = 5


class ClassifyArguments(Arguments):
    query: Annotated[str, Field(description="SELECT of keys and the text column")]
    column: str
    categories: References
    question: Annotated[Text, Field(description="what tells them apart, in a sentence")] = ""
    only_cost: Annotated[bool, Field(description="only say what it would cost")] = False


class ExtractArguments(Arguments):
    query: Annotated[str, Field(description="SELECT of keys and the text column")]
    column: str
    fields: References
    question: Annotated[Text, Field(description="what the fields mean, in a sentence")] = ""
    only_cost: Annotated[bool, Field(description="only say what it would cost")] = False


class ResolveArguments(Arguments):
    table: str
    named_by: References = Field(default=[], description="the columns that name a thing; empty: as diagnosed")


class TextTools:
    """Text operations of one question."""

    def __init__(
        self,
        reader: TextReader,
        session: QuerySession,
        results: NamedResults,
        environment: Environment,
        recorder: Recorder,
    ) -> None:
        self._reader, self._session, self._results = reader, session, results
        self._environment, self._recorder = environment, recorder
        self._made = self._resolved = 0

    @property
    def offers(self) -> dict[str, ToolOffer]:
        return {
            "classify": ToolOffer(ClassifyArguments, self._classify),
            "extract": ToolOffer(ExtractArguments, self._extract),
            "resolve_entities": ToolOffer(ResolveArguments, self._resolve_entities),
        }

    async def _classify(self, arguments: ClassifyArguments) -> Outcome:
        if told := self._cost("classify", arguments):
            return told
        made = await classify_column(
            self._session,
            self._results.whole(arguments.query),
            arguments.column,
            arguments.categories,
            lambda batch: self._reader.classify(batch, arguments.categories, arguments.question),
            self._encoder.encode,
            name=self._next_name(),
            model=self._reader.client.model.choice.text,
            instruction=arguments.question,
            cache=LabelCache(self._environment.state_folder),
        )
        self._keep_accuracy("classify", arguments, made.found.expected_accuracy, made.found.texts)
        return self._outcome(made.name, made.table, made.found, _categories(made.found))

    async def _extract(self, arguments: ExtractArguments) -> Outcome:
        if told := self._cost("extract", arguments):
            return told
        made = await extract_columns(
            self._session,
            self._results.whole(arguments.query),
            arguments.column,
            arguments.fields,
            lambda batch: self._reader.extract(batch, arguments.fields, arguments.question),
            name=self._next_name(),
            candidates=self._known_expressions(arguments.query, arguments.column),
            model=self._reader.client.model.choice.text,
            instruction=arguments.question,
            cache=LabelCache(self._environment.state_folder),
        )
        known = [each for each in made.found.expected_accuracy.values() if each is not None]
        self._keep_accuracy("extract", arguments, min(known, default=None), made.found.texts)
        return self._outcome(made.name, made.table, made.found, _fields(made.found))

    def _cost(self, operation: str, arguments: ClassifyArguments | ExtractArguments) -> Outcome | None:
        """What it would cost, where that is asked for, or is more than is left; None to go on."""
        _, texts = _texts(self._session, self._results.whole(arguments.query), arguments.column)
        found = estimate(texts, Budget())
        ledger = self._reader.client.ledger
        left = None if ledger.limits.tokens is None else ledger.limits.tokens - ledger.tokens
        too_much = left is not None and found.tokens > left
        if not arguments.only_cost and not too_much:
            return None
        before = LabelCache(self._environment.state_folder).accuracy(operation, arguments.column)
        sure = f"; over {before[1]:,} texts of such a column it was right in about {before[0]:.0%}" if before else ""
        told = (
            f"It would read {found.read:,} of {found.texts:,} different texts, in some {found.requests:,} requests and "
            f"{found.tokens:,} tokens at most{sure}."
        )
        more = f" Only {left:,} tokens are left: filter the SELECT." if too_much else ""
        return Outcome(f"{told}{more}", too_much)

    def _keep_accuracy(
        self, operation: str, arguments: ClassifyArguments | ExtractArguments, accuracy: float | None, texts: int
    ) -> None:
        if accuracy is not None:
            LabelCache(self._environment.state_folder).keep_accuracy(operation, arguments.column, accuracy, texts)

    async def _resolve_entities(self, arguments: ResolveArguments) -> Outcome:
        from coset.answering.text_operations.entity_resolution import resolve_entities

        written = arguments.table.replace('"', "").strip()
        with EvidenceState.read(self._environment.state_folder) as state:
            try:
                reference = resolve(state, written)
            except UserError:
                # As SQL writes it, source.table; what is still unknown is told with the nearest names.
                reference = resolve(state, written.replace(".", "/", 1))
            self._resolved += 1
            made = resolve_entities(
                self._session, state, reference, named_by=arguments.named_by, name=f"entities_{self._resolved}"
            )
        name = made.name.replace('"', "")
        self._recorder.keep_table(name.rpartition(".")[2], made.table)
        together = [" = ".join(cell(each, 60) for each in spellings[:4]) for spellings in made.examples[:EXAMPLES]]
        apart = [f"{cell(one, 60)}, {cell(two, 60)}: {share:.0%}" for one, two, share in made.doubtful[:EXAMPLES]]
        lines = [*(f"one: {each}" for each in together), *(f"left apart: {each}" for each in apart)]
        told = (
            f"{name} ({one_line(', '.join(made.table.column_names))}): {made.rows:,} rows, {made.entities:,} things, "
            f"{made.merged:,} of them with several rows. Join it by {one_line(', '.join(made.keys))}, count by cluster."
        )
        return Outcome(
            f"{told}\n{data_block(name, chr(10).join(lines))}" if lines else told,
            kept={"name": name, "rows": made.rows, "entities": made.entities},
        )

    def _known_expressions(self, query: str, column: str) -> tuple[Candidate, ...]:
        """The text facets that the evidence state has of the column, where the statement says whose column it is."""
        try:
            tables = sqlglot.parse_one(query, dialect="duckdb").find_all(sqlglot.exp.Table)
            names = {table.name for table in tables}
        except (sqlglot.errors.SqlglotError, RecursionError):
            return ()
        with EvidenceState.read(self._environment.state_folder) as state:
            for name in sorted(names):
                try:
                    return facet_candidates(state, resolve(state, f"{name}.{column}"))
                except UserError:
                    continue  # Not a table of the environment, or not its column.
        return ()

    def _next_name(self) -> str:
        self._made += 1
        return f"labels_{self._made}"

    def _outcome(self, written: str, table: pa.Table, found: Classified | Extracted, told: str) -> Outcome:
        name = written.replace('"', "")
        self._recorder.keep_table(name.rpartition(".")[2], table)
        problem = f" Not all could be asked: {one_line(found.problem, 160)}" if found.problem else ""
        columns = ", ".join(table.column_names)
        return Outcome(
            f"{name} ({one_line(columns)}): {table.num_rows:,} rows, {found.texts:,} different texts, {found.asked:,} "
            f"read by the model. {told}.{problem}",
            kept={"name": name, "rows": table.num_rows, "asked": found.asked, "calls": found.calls},
        )

    @cached_property
    def _encoder(self) -> Any:
        from coset.identities.model import load_model

        return load_model(self._environment.identities_file).text_encoder


def _categories(found: Classified) -> str:
    names = {label: "none of them" if label is None else cell(label, 60) for label in found.counts}
    counts = ", ".join(f"{names[label]} {count:,}{_expected(found, label)}" for label, count in found.counts.items())
    return f"{counts}; {_sure(found.expected_accuracy)}"


def _expected(found: Classified, label: str | None) -> str:
    """How many there are by the probabilities, where that is another number: the better one for `how many`."""
    expected = round(found.expected_counts.get(label, found.counts[label]))
    return f" (likelier {expected:,})" if expected != found.counts[label] else ""


def _fields(found: Extracted) -> str:
    told = []
    for field in found.fields:
        read = sum(1 for value in found.values[field] if value is not None)
        unread = f", {found.unread(field):,} texts unread" if found.unread(field) else ""
        told.append(f"{cell(field, 60)} in {read:,} rows{unread}, {_sure(found.expected_accuracy[field])}")
    return "; ".join(told)


def _sure(accuracy: float | None) -> str:
    return f"expected accuracy {accuracy:.0%}" if accuracy is not None else "accuracy unknown"
