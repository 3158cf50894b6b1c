"""Comprehension from start to end: evidence, then what is made of it.

In: an environment. Out: its evidence state, up to date, and what was done. Interrupted at any moment it has kept what
was done, and the next run goes on.
"""

from __future__ import annotations

from dataclasses import dataclass

from coset.api.long_call import LongCall
from coset.environment.configuration import Environment
from coset.evidence.comprehend import Summary, comprehend
from coset.evidence.work import over_processes
from coset.identities.comprehension import RoleSummary
from coset.routing.comprehension import MeaningSummary, comprehend_meaning


@dataclass(frozen=True)
class Comprehension:
    """What a run did. `problems` names what could not be read, with why; the rest is there all the same."""

    evidence: Summary
    meaning: MeaningSummary

    @property
    def roles(self) -> RoleSummary:
        return self.meaning.roles

    @property
    def problems(self) -> tuple[tuple[str, str], ...]:
        return (*self.evidence.unreachable, *self.evidence.problems, *self.evidence.damaged)

    def __str__(self) -> str:
        return (
            f"{self.evidence.looked_at:,} of {self.evidence.units:,} tables and families read, "
            f"{self.evidence.relations:,} relations, {self.roles.objects:,} objects have roles"
        )


def comprehend_all(environment: Environment, call: LongCall, jobs: int, everything: bool) -> Comprehension:
    """Bring the evidence state of an environment up to date."""

    def progress(done: int, total: int, name: str) -> None:
        call.tell(f"read {name}" if done < total else "finding relations", done, total)

    evidence = comprehend(environment, spread=over_processes(jobs), progress=progress, everything=everything)
    call.tell("realising the identities, indexing values and words")
    return Comprehension(evidence, comprehend_meaning(environment))
