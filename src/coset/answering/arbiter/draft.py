"""The arbiter's statement, run before the agent is asked: most questions need no other, and many no agent.

In: records, and the tools and checks of the question. Out: a `Draft`: what it gave in words for the agent, and the
answer itself when the arbiter was sure, the rows fit the pinned shape and no check has anything against them. Other
readings travel with it. Asks no model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from coset.answering.agent.results import NamedResult
from coset.answering.agent.tools import Statements, told
from coset.answering.answer import Proposal, misfit, plain_value
from coset.answering.arbiter.records import Records
from coset.answering.checks.verification import Verification
from coset.answering.quoting import cell, data_block, one_line
from coset.answering.recorder import Recorder
from coset.errors import CosetError
from coset.routing.views.view import EvidenceView

LONGEST_STATEMENT = 2_000
SURE, AMBIGUOUS = 0.9, 0.7
MOST_CHECKS = 3
FOUND_ROWS = 3


@dataclass(frozen=True)
class Draft:
    """What came of the arbiter's statement."""

    text: str
    """For the agent: the statement, what it gave, what speaks against it."""
    name: str = ""
    """The name of its result, when it gave rows."""
    against: tuple[str, ...] = ()
    """What the checks of every answer and those of the arbiter found."""
    settled: Proposal | None = None
    """The answer, when there is nothing left to decide."""

    def doubted(self, against: Sequence[str]) -> Draft:
        """The same with something to decide after all."""
        return Draft("\n".join([self.text, *against]), self.name, (*self.against, *against))


def run_draft(
    records: Records,
    view: EvidenceView,
    statements: Statements,
    verification: Verification | None,
    recorder: Recorder,
    can_ask: bool = False,
) -> Draft | None:
    """Run the statement of the records over a view and look at what it gives; None when they have none. Where a person
    can be asked which reading is meant, an ambiguity is left to them."""
    if not records.queries:
        return None
    sql = records.queries[0].sql
    try:
        named = statements.run(sql)
    except CosetError as error:
        recorder.step("draft", {"sql": sql, "failed": True, "text": told(error)})
        return Draft(f"{one_line(sql, LONGEST_STATEMENT)}\nIt failed: {statements.told_error(error, sql)}")
    result = named.result
    rows = result.table.num_rows if result else 0
    recorder.step("draft", {"name": named.name, "sql": named.whole, "rows": rows, "failed": False})
    text = f"{one_line(sql, LONGEST_STATEMENT)}\n{statements.shown(named)}"
    if result is None or not rows:
        return Draft(text)
    proposal = Proposal(text=_said(result.rows()), results=[named.name], confidence=SURE)
    wrong = misfit(records.shape, rows)
    against = [wrong] if wrong and verification is None else []
    if verification is not None:
        shown_nulls = {each.reference for table in view.tables for each in table.columns if each.nulls}
        against += verification.tell(proposal, shown_nulls)
    remarks, musts = _own_checks(records, statements)
    against += musts
    if against or remarks:
        text += f"\n{data_block('checks', chr(10).join([*against, *remarks]))}"
    if records.ambiguities:
        proposal = proposal.model_copy(update={"confidence": AMBIGUOUS})
    proposal = proposal.model_copy(update={"assumptions": remarks})
    open_ = (can_ask and records.ambiguities) or records.text_operations or records.missing
    settled = records.sure and not open_ and not against and not result.truncated and not _says_nothing(named)
    return Draft(text, named.name, tuple(against), proposal if settled else None)


def _own_checks(records: Records, statements: Statements) -> tuple[list[str], list[str]]:
    """What the arbiter's own checks find, each a statement that gives rows, or a count, when something is wrong: "
    "what is
    to be told, and what keeps the answer back because the check says that it must hold."""
    told_only: list[str] = []
    musts: list[str] = []
    for check in [each for each in records.checks if each.sql.strip()][:MOST_CHECKS]:
        what = one_line(check.what, 160)
        try:
            result = statements.session.sql(statements.results.whole(check.sql), max_rows=FOUND_ROWS)
        except CosetError as error:
            told_only.append(f"{what}: could not be checked: {told(error)}")
            continue
        rows = [row for row in result.rows() if any(value not in (None, 0, False) for value in row)]
        if rows:
            shown_rows = "; ".join(", ".join(cell(value, 60) for value in row) for row in rows)
            found = f"{what}: found {shown_rows}" + (", ..." if result.truncated else "")
            (musts if what.lower().startswith("must") else told_only).append(found)
    return told_only, musts


def _says_nothing(named: NamedResult) -> bool:
    """Whether one row of nothing came: an aggregate over no rows looks like an answer and is none."""
    rows = named.result.rows() if named.result else []
    return len(rows) == 1 and any(value is None or value == 0 for value in rows[0])


def _said(rows: list[tuple[Any, ...]]) -> str:
    """One row in words, as stored; of several rows the rows themselves are the answer."""
    return ", ".join(map(plain_value, rows[0])) if len(rows) == 1 else ""
