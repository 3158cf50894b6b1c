"""Comprehension for callers of the Python API: the use case, with progress told through a call that can be stopped."""

from __future__ import annotations

from coset.api.long_call import LongCall
from coset.environment.configuration import Environment
from coset.evidence.work import over_processes
from coset.use_cases.comprehend import Settings, Summary, comprehend

Comprehension = Summary


def comprehend_all(environment: Environment, call: LongCall, jobs: int, everything: bool) -> Comprehension:
    """Bring the evidence state of an environment up to date."""

    def progress(done: int, total: int, name: str) -> None:
        if total:
            call.tell(f"read {name}", done, total)
        else:
            call.tell(name)

    return comprehend(environment, Settings(everything=everything, spread=over_processes(jobs)), progress)
