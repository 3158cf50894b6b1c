"""Deterministic checks between the agent's answer and the person: what failed goes back to the agent once.

In: what the agent proposes and the results it names. Out: sentences to send back, remarks to stand beside a result, and
every check's result for the audit. A doubt sends nothing back: it travels with the answer. The checks themselves are in
`checks`; a check that cannot be made is no objection.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from coset.answering.agent.results import NamedResult, NamedResults
from coset.answering.answer import Proposal
from coset.answering.arbiter.records import Shape
from coset.answering.checks import CheckResult, PinnedShape, run_checks
from coset.answering.checks import Proposal as Checked
from coset.answering.checks.knowledge import RULES
from coset.answering.checks.result_shape import GRAIN
from coset.answering.checks.result_values import NULLS
from coset.answering.quoting import one_line
from coset.answering.recorder import Recorder
from coset.environment.configuration import Environment
from coset.errors import CosetError
from coset.session.query_session import QuerySession
from coset.state import EvidenceState

MOST_TOLD = 4
MOST_REMARKS = 2
CHEAP = frozenset({"units", "cleaning", "join loss", "fan-out", "copies", "rules", "code lists"})
"""Checks of a statement that look at the evidence alone, or count the joins of tables that are small."""
SMALL = 200_000
"""Rows of a table whose joins are counted for a remark."""


@dataclass
class Verification:
    """The checks of one question. `found` is what the last look gave."""

    environment: Environment
    session: QuerySession
    results: NamedResults
    recorder: Recorder
    shape: Shape | None = None
    found: tuple[CheckResult, ...] = ()
    computed: Sequence[Any] = ()
    """What the calculator gave so far."""
    _looked_at: tuple[str, tuple[str, ...]] | None = None
    _remarked: set[str] = field(default_factory=set)
    _told: set[str] = field(default_factory=set)

    def of_shape(self, shape: Shape | None) -> Verification:
        """The same checks for a shape; what was told stays told."""
        if shape != self.shape:
            self.shape, self._looked_at = shape, None
        return self

    def __call__(self, proposal: Proposal) -> list[str]:
        """What is wrong with a proposal, without what was told before the agent began: it has decided on that."""
        failed = [
            check for check in self.check(proposal) if check.outcome == "failed" and check.detail not in self._told
        ]
        return [one_line(f"{check.name}: {check.detail}", 300) for check in failed[:MOST_TOLD]]

    def tell(self, proposal: Proposal, with_nulls: Collection[str] = (), cited: Collection[str] = ()) -> list[str]:
        """Everything that speaks against a proposal, doubts too; each is told this once. `with_nulls` are columns whose
        NULLs whoever wrote the statement had before their eyes, `cited` what they gave a reason for: a doubt about the
        NULLs of the first, or whether a rule on the second was seen, is no news."""
        found = self._doubts(proposal, with_nulls, cited)
        wrong = [check for check in found if check.detail not in self._told][:MOST_TOLD]
        self._told.update(check.detail for check in wrong)
        self._remarked.update(check.detail for check in wrong)
        return [one_line(f"{check.name}, {check.outcome}: {check.detail}", 240) for check in wrong]

    def stands(self, proposal: Proposal, with_nulls: Collection[str] = (), cited: Collection[str] = ()) -> bool:
        """Whether anything speaks against a proposal, told before or not."""
        return bool(self._doubts(proposal, with_nulls, cited))

    def _doubts(self, proposal: Proposal, with_nulls: Collection[str], cited: Collection[str]) -> list[CheckResult]:
        found = [check for check in self.check(proposal) if check.outcome in {"failed", "doubt"}]
        return [check for check in found if not _is_known(check, with_nulls, cited)]

    def is_failed(self, proposal: Proposal) -> bool:
        """Whether a check says of it that it is wrong."""
        return any(check.outcome == "failed" for check in self.check(proposal))

    def remarks(self, named: NamedResult) -> list[CheckResult]:
        """What may be wrong with a result that has just come, where that is cheap to say and was not said before."""
        checked = Checked(value=None, sql=(named.whole,), result=named.result)
        try:
            with EvidenceState.read(self.environment.state_folder) as state:
                found = run_checks(checked, self.session, state, only=CHEAP, most_rows=SMALL)
        except CosetError:
            return []
        wrong = [check for check in found if check.outcome in {"failed", "doubt"}]
        new = [check for check in wrong if check.detail not in self._remarked][:MOST_REMARKS]
        self._remarked.update(check.detail for check in new)
        return new

    def check(self, proposal: Proposal) -> tuple[CheckResult, ...]:
        """Look at a proposal; what is found is kept. There is nothing to see in one that refuses."""
        if proposal.refuses:
            self.found = ()
            return ()
        says = (proposal.text, tuple(proposal.results))
        if says == self._looked_at:
            return self.found
        self._looked_at = says
        named = [self.results.find(name) for name in proposal.results]
        final = named[-1] if named else None
        rows = [list(row) for row in final.result.rows()] if final and final.result else []
        checked = Checked(
            value=proposal.text or rows,
            sql=tuple(each.whole for each in named),
            shape=_pinned(self.shape),
            result=final.result if final else None,
            computed=tuple(self.computed),
        )
        try:
            with EvidenceState.read(self.environment.state_folder) as state:
                self.found = run_checks(checked, self.session, state)
        except CosetError as error:
            self.found = (CheckResult("checks", "doubt", f"they could not be made: {error}"),)
        self.recorder.step("checks", {"checks": [vars(check) for check in self.found]})
        return self.found


def _is_known(check: CheckResult, with_nulls: Collection[str], cited: Collection[str]) -> bool:
    """The check of the grain names references only where it speaks of rows without a key."""
    if check.outcome != "doubt" or not check.references:
        return False
    if check.name == RULES:  # Beside the columns it names the rules themselves, which are parts of documents.
        columns = [reference for reference in check.references if "#" not in reference]
        return bool(columns) and all(column in cited for column in columns)
    return check.name in {NULLS, GRAIN} and all(reference in with_nulls for reference in check.references)


def _pinned(shape: Shape | None) -> PinnedShape | None:
    if shape is None:
        return None
    return PinnedShape(shape.form, tuple(shape.columns), grain=shape.grain, unit=shape.unit)
