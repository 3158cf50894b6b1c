"""Assemble the answer: rows from the result itself, statements that stand alone, the references they read.

In: how a run ended, its results and records. Out: an `Answer`. Of a run that stopped, the best result is what it has.
Rows that only led to an answer in words are left out, and ties beyond the places asked for are told.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from coset.answering.agent.loop import Ending
from coset.answering.agent.results import NamedResult, NamedResults, best_result
from coset.answering.answer import Answer, Mode, Proposal, rows_of_answer, ties_told
from coset.answering.arbiter.records import Records
from coset.answering.audit.store import kept_result
from coset.answering.checks import CheckResult
from coset.answering.checks.statement import Statement, TablesOfState, columns_read, read_statement
from coset.answering.checks.verification import RECOMPUTATION
from coset.answering.models.client import StepUsage
from coset.answering.recorder import Recorder
from coset.errors import CosetError
from coset.routing.views.view import EvidenceView, ViewRelation
from coset.session.query_session import QuerySession
from coset.state import EvidenceState

MOST_CONFIRMED, MOST_UNCONFIRMED, MOST_OF_DOUBT, MOST_OF_FAILED = 0.95, 0.9, 0.85, 0.6
"""No higher confidence is stated: two computations agree; nothing speaks against it; a doubt stands; a check failed."""


@dataclass(frozen=True)
class Grounds:
    """What an answer stands on, besides its results."""

    records: Records | None
    cited: frozenset[str]
    """References that the records and the arbiter's statement name."""
    view: EvidenceView | None
    state_folder: Path
    assumptions: tuple[str, ...]
    checks: tuple[CheckResult, ...]
    steps: tuple[StepUsage, ...]


def assemble(
    question: str,
    mode: Mode,
    ending: Ending,
    results: NamedResults,
    grounds: Grounds,
    session: QuerySession,
    recorder: Recorder,
) -> Answer:
    proposal, records = ending.proposal, grounds.records
    names = proposal.results if proposal else best_result(results, records.shape if records else None)
    named = [results.find(name) for name in names]
    final = named[-1] if named else None
    result = None
    if final is not None:
        result = final.result or session.sql(final.whole)
        recorder.keep_result(kept_result(final.whole, result))
    ambiguous = [reading for each in records.ambiguities for reading in each.readings] if records else []
    said = list(proposal.assumptions) if proposal else []
    text = proposal.text.strip() if proposal else ""
    rows = rows_of_answer(text, result.rows()) if result else ()
    tied = ties_told(final.whole, len(rows)) if final else None
    return Answer(
        question=question,
        mode=mode,
        text=text,
        columns=result.columns if result else (),
        rows=rows,
        truncated=result.truncated if result else False,
        sql=tuple(each.whole for each in named),
        references=references_of_answer(named, grounds.cited, grounds.view, grounds.state_folder),
        assumptions=tuple(dict.fromkeys([*said, *([tied] if tied else []), *grounds.assumptions, *ending.objections])),
        readings=tuple((proposal.readings if proposal else []) or ambiguous),
        confidence=stated_confidence(proposal, grounds.checks),
        shape=records.shape if records else None,
        stopped=ending.stopped,
        checks=grounds.checks,
        steps=grounds.steps,
    )


def stated_confidence(proposal: Proposal | None, checks: Sequence[CheckResult]) -> float:
    """What was proposed, and no more than the checks allow: a model is as sure of a wrong answer as of a right one."""
    if proposal is None:
        return 0.0
    outcomes = {check.outcome for check in checks}
    confirmed = any(check.name == RECOMPUTATION and check.outcome == "passed" for check in checks)
    most = MOST_OF_FAILED if "failed" in outcomes else MOST_OF_DOUBT if "doubt" in outcomes else MOST_UNCONFIRMED
    return min(proposal.confidence, MOST_CONFIRMED if confirmed and "failed" not in outcomes else most)


def references_of_answer(
    statements: Sequence[NamedResult], cited: Iterable[str], view: EvidenceView | None, state_folder: Path
) -> tuple[str, ...]:
    """Sorted; tables that the state does not know stand last, as SQL names them. An answer without a statement stands
    on what is cited."""
    if not statements:
        return tuple(sorted(cited))
    found: set[str] = set()
    columns: set[str] = set()
    unknown: list[str] = []
    joined: list[set[str]] = []
    try:
        with EvidenceState.read(state_folder) as state:
            tables = TablesOfState(state)
            for each in statements:
                statement = read_statement(each.whole, tables)
                if statement is None:
                    known, others = _read_tables(each, tables)
                    found |= known
                    unknown += others
                    continue
                found |= set(statement.tables)
                columns |= columns_read(statement)
                unknown += statement.unknown
                joined += _joined(statement)
    except CosetError:  # Without a state there is nothing that a name could be resolved by.
        unknown += [use.table for each in statements if each.result for use in each.result.uses]
    # The column that tells a family's members apart has the family's own reference.
    found |= columns | {reference for reference in cited if _is_part(reference, columns - found)}
    if view is not None:
        found |= {passage.reference for passage in view.passages} & set(cited)
        found |= {relation.reference for relation in view.relations if _is_joined(relation, joined)}
    return tuple(dict.fromkeys([*sorted(found), *unknown]))


def _read_tables(named: NamedResult, tables: TablesOfState) -> tuple[set[str], list[str]]:
    """Of a statement that is not to be taken apart, the tables that were read when it ran."""
    uses = [use.table for use in named.result.uses] if named.result else []
    known = {use: tables.find(tuple(use.split("."))) for use in uses}
    return {table.reference for table in known.values() if table}, [use for use, table in known.items() if not table]


def _joined(statement: Statement) -> list[set[str]]:
    """For each equation between tables, the columns in it."""
    equations: dict[int, set[str]] = {}
    for use in statement.uses:
        if use.place == "join":
            equations.setdefault(id(use.within[-1]), set()).add(use.reference)
    return list(equations.values())


def _is_joined(relation: ViewRelation, joined: Sequence[set[str]]) -> bool:
    """Whether each of its pairs of columns stands in an equation."""
    pairs = list(zip(relation.left, relation.right, strict=False))
    return bool(pairs) and all(
        any(_in(left, columns) and _in(right, columns) for columns in joined) for left, right in pairs
    )


def _in(reference: str, columns: set[str]) -> bool:
    return reference in columns or _is_part(reference, columns)


def _is_part(reference: str, columns: set[str]) -> bool:
    """Whether it is a path or a facet (`notes#year`, `tags[]`) of one of the columns."""
    return any(reference.startswith((f"{column}#", f"{column}[", f"{column}.")) for column in columns)
