"""The arbiter's statement, run before the agent is asked: most questions need no other, and many no agent.

In: records, and the tools and checks of the question. Out: a `Draft`: what it gave in words for the agent, and the
answer itself when the arbiter was sure, the rows fit the pinned shape and no check has anything against them that it
has not seen. Other readings travel with it. Asks no model.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from coset.answering.agent.results import NamedResult
from coset.answering.agent.tools import Statements, told
from coset.answering.answer import Proposal, misfit, plain_value
from coset.answering.arbiter.records import Records
from coset.answering.checks import CheckResult, Outcome
from coset.answering.checks.verification import Verification
from coset.answering.quoting import cell, data_block, one_line
from coset.answering.recorder import Recorder
from coset.errors import CosetError
from coset.routing.views.view import EvidenceView

LONGEST_STATEMENT = 2_000
SURE, REMARKED, DOUBTED, AMBIGUOUS, OF_NOTHING = 0.9, 0.85, 0.75, 0.7, 0.6
"""Stated confidence: nothing speaks against it; a check of its own found rows; a check of ours does; several readings;
one row of nothing."""
MOST_CHECKS = 10
FOUND_ROWS = 3
OWN = "arbiter's check"


@dataclass(frozen=True)
class Draft:
    """What came of the arbiter's statement."""

    text: str
    """For whoever decides: what it gave, what speaks against it."""
    sql: str = ""
    """The statement, in one line."""
    name: str = ""
    """The name of its result, when it gave rows."""
    against: tuple[str, ...] = ()
    """What the checks of every answer and those of the arbiter found."""
    proposal: Proposal | None = None
    """Its rows as an answer, for what they are worth."""
    settled: Proposal | None = None
    """The answer, when there is nothing left to decide."""
    own: tuple[CheckResult, ...] = ()
    """The arbiter's own checks, those that passed too."""
    is_open: bool = False
    """A person or an agent is to go on: texts to read, something missing, a reading to choose."""

    @property
    def is_checked(self) -> bool:
        """Whether a check of the arbiter's own was made, and none found anything."""
        outcomes = {check.outcome for check in self.own}
        return "passed" in outcomes and not outcomes & {"failed", "doubt"}

    def doubted(self, against: Sequence[str]) -> Draft:
        """The same with something to decide after all."""
        text = "\n".join([self.text, *against])
        return dataclasses.replace(self, text=text, against=(*self.against, *against), settled=None)

    def at_the_limit(self) -> Proposal | None:
        """Its rows as the answer where nobody can be asked any more: what speaks against them travels with them."""
        if self.proposal is None:
            return None
        told = list(dict.fromkeys([*self.proposal.assumptions, *self.against]))
        confidence = min(self.proposal.confidence, DOUBTED if self.against or self.settled is None else SURE)
        return self.proposal.model_copy(update={"assumptions": told, "confidence": confidence})

    def after(self, before: Draft | None) -> Draft:
        """The same where its writer stands by a result that something was found against: what was found travels with
        it."""
        if self.settled is None or before is None or before.name != self.name or not before.against:
            return self
        told = [*self.settled.assumptions, *before.against]
        confidence = min(self.settled.confidence, DOUBTED)
        settled = self.settled.model_copy(update={"assumptions": told, "confidence": confidence})
        return dataclasses.replace(self, settled=settled)


def run_draft(
    records: Records,
    view: EvidenceView,
    statements: Statements,
    verification: Verification | None,
    recorder: Recorder,
    can_ask: bool = False,
    is_seen: bool = False,
) -> Draft | None:
    """Run the statement of the records over a view and look at what it gives; None when they have none. Where a person
    can be asked which reading is meant, an ambiguity is left to them. Where the arbiter has seen the result (`is_seen`)
    what was told does not hold it back."""
    if not records.queries:
        return None
    sql = records.queries[0].sql
    line = one_line(sql, LONGEST_STATEMENT)
    try:
        named = statements.run(sql)
    except CosetError as error:
        recorder.step("draft", {"sql": sql, "failed": True, "text": told(error)})
        return Draft(f"It failed: {statements.told_error(error, sql)}", line)
    result = named.result
    rows = result.table.num_rows if result else 0
    recorder.step("draft", {"name": named.name, "sql": named.whole, "rows": rows, "failed": False})
    text = statements.shown(named)
    if result is None or not rows:
        return Draft(text, line, proposal=Proposal(results=[named.name], confidence=OF_NOTHING) if result else None)
    proposal = Proposal(text=_said(result.rows()), results=[named.name], confidence=SURE)
    new, standing = _found(records, view, proposal, verification, rows)
    own = _own_checks(records, statements)
    remarks = [f"{check.detail}" for check in own if check.outcome == "doubt"]
    musts = [f"{check.detail}" for check in own if check.outcome == "failed"]
    against = [*new, *musts]
    if against or own:
        lines = [*against, *(check.detail for check in own if check.outcome != "failed")]
        text += f"\n{data_block('checks', chr(10).join(lines))}"
    nothing = _says_nothing(named)
    doubts = [AMBIGUOUS] * bool(records.ambiguities) + [DOUBTED] * bool(standing) + [OF_NOTHING] * nothing
    confidence = min([SURE, *doubts, *([REMARKED] * bool(remarks))])
    proposal = proposal.model_copy(update={"assumptions": remarks, "confidence": confidence})
    is_open = bool((can_ask and records.ambiguities) or records.text_operations or records.missing)
    settled = records.sure and not is_open and not against and not result.truncated and (is_seen or not nothing)
    return Draft(text, line, named.name, tuple(against), proposal, proposal if settled else None, tuple(own), is_open)


def _found(
    records: Records, view: EvidenceView, proposal: Proposal, verification: Verification | None, rows: int
) -> tuple[list[str], bool]:
    """What the checks of every answer say of it that was not said before, and whether any doubt stands."""
    if verification is None:
        wrong = misfit(records.shape, rows)
        return ([wrong] if wrong else []), bool(wrong)
    shown_nulls = {each.reference for table in view.tables for each in table.columns if each.nulls}
    new = verification.tell(proposal, shown_nulls, records.cited)
    return new, verification.stands(proposal, shown_nulls, records.cited)


def _own_checks(records: Records, statements: Statements) -> list[CheckResult]:
    """The arbiter's own checks, each a statement that gives rows, or a count, when something is wrong: failed where it
    says that it must hold and rows are found, a doubt where others find some."""
    found = []
    asked = [each for each in records.checks if each.sql.strip()]
    for check in asked[:MOST_CHECKS]:
        what = one_line(check.what, 160)
        must = what.lower().startswith("must")
        try:
            result = statements.session.sql(statements.results.whole(check.sql), max_rows=FOUND_ROWS)
        except CosetError as error:
            outcome: Outcome = "failed" if must else "doubt"
            found.append(CheckResult(OWN, outcome, f"{what}: could not be checked: {told(error)}"))
            continue
        rows = [row for row in result.rows() if any(value not in (None, 0, False) for value in row)]
        if not rows:
            found.append(CheckResult(OWN, "passed", f"{what}: 0 rows"))
            continue
        shown_rows = "; ".join(", ".join(cell(value, 60) for value in row) for row in rows)
        more = ", ..." if result.truncated else ""
        found.append(CheckResult(OWN, "failed" if must else "doubt", f"{what}: found {shown_rows}{more}"))
    if left := asked[MOST_CHECKS:]:
        names = "; ".join(one_line(each.what, 60) for each in left)
        found.append(CheckResult(OWN, "not applicable", f"not run, at most {MOST_CHECKS} are: {names}"))
    return found


def _says_nothing(named: NamedResult) -> bool:
    """Whether one row of nothing came: an aggregate over no rows looks like an answer and is none."""
    rows = named.result.rows() if named.result else []
    return len(rows) == 1 and any(value is None or value == 0 for value in rows[0])


def _said(rows: list[tuple[Any, ...]]) -> str:
    """One row in words, as stored; of several rows the rows themselves are the answer."""
    return ", ".join(map(plain_value, rows[0])) if len(rows) == 1 else ""
