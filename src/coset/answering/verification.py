"""Deterministic checks between the agent's answer and the person: what speaks against it goes back to the agent once.

In: what the agent proposes and the results it names. Out: sentences to send back, and every check's result for the
audit. The checks themselves are in `checks`; a check that cannot be made is no objection.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from coset.answering.answer import Proposal
from coset.answering.checks import CheckResult, PinnedShape, run_checks
from coset.answering.checks import Proposal as Checked
from coset.answering.named_results import NamedResults
from coset.answering.quoting import one_line
from coset.answering.recorder import Recorder
from coset.answering.records import Shape
from coset.environment.configuration import Environment
from coset.errors import CosetError
from coset.evidence.state import EvidenceState
from coset.session.query_session import QuerySession

MOST_TOLD = 4


@dataclass
class Verification:
    """The checks of one question. `found` is what the last look gave."""

    environment: Environment
    session: QuerySession
    results: NamedResults
    recorder: Recorder
    shape: Shape | None = None
    found: tuple[CheckResult, ...] = ()
    _seen: set[str] = field(default_factory=set)

    def __call__(self, proposal: Proposal) -> list[str]:
        """What speaks against a proposal and was not said before."""
        self.check(proposal)
        told = [
            check for check in self.found if check.outcome in {"failed", "doubt"} and check.detail not in self._seen
        ]
        self._seen.update(check.detail for check in told)
        said = [one_line(f"{check.name}, {check.outcome}: {check.detail}", 300) for check in told[:MOST_TOLD]]
        return [*said, "Mend it, or compute it in another way; if the answer stands, give it again."] if said else []

    def check(self, proposal: Proposal) -> tuple[CheckResult, ...]:
        """Look at a proposal; the results are kept."""
        named = [self.results.find(name) for name in proposal.results]
        final = named[-1] if named else None
        rows = [list(row) for row in final.result.rows()] if final and final.result else []
        checked = Checked(
            value=proposal.text or rows,
            sql=tuple(each.whole for each in named),
            shape=_pinned(self.shape),
            result=final.result if final else None,
        )
        try:
            with EvidenceState.read(self.environment.state_folder) as state:
                self.found = run_checks(checked, self.session, state)
        except CosetError as error:
            self.found = (CheckResult("checks", "doubt", f"they could not be made: {error}"),)
        self.recorder.step("checks", {"checks": [vars(check) for check in self.found]})
        return self.found


def _pinned(shape: Shape | None) -> PinnedShape | None:
    if shape is None:
        return None
    return PinnedShape(shape.form, tuple(shape.columns), grain=shape.grain, unit=shape.unit)
