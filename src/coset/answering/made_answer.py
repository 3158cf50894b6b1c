"""The answer out of what was proposed: rows from the result itself, statements that stand alone, what it stands on.

In: how a run ended, its results and records. Out: an `Answer`. Of a run that stopped, the best result is what it has.
Rows that only led to an answer in words are left out of it, and ties beyond the places asked for are told.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from coset.answering.agent import Ending
from coset.answering.answer import Answer, Mode
from coset.answering.audit.kept_result import kept_result
from coset.answering.best_result import best_result
from coset.answering.checks import CheckResult
from coset.answering.named_results import NamedResults
from coset.answering.recorder import Recorder
from coset.answering.records import Records
from coset.answering.references_of_answer import references_of_answer
from coset.answering.ties import rows_of_answer, ties_told
from coset.answering.usage import StepUsage
from coset.routing.view import EvidenceView
from coset.session.query_session import QuerySession


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


def made_answer(
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
        confidence=proposal.confidence if proposal else 0.0,
        shape=records.shape if records else None,
        stopped=ending.stopped,
        checks=grounds.checks,
        steps=grounds.steps,
    )
