"""The demo company put to coset: comprehended once, then asked its five questions without a language model.

In: the environment of a demo folder, and what is true of the company. Out: each question's true answer beside what was
found. Knows nothing of how either is shown, and gives whoever answers no more than the question's words.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from coset.answering.offline import Declined, OfflineAnswer, answer
from coset.demo.questions import Truth
from coset.environment.configuration import Environment
from coset.errors import CosetError
from coset.routing.router import Router
from coset.session.query_session import QuerySession
from coset.state import EvidenceState
from coset.use_cases.comprehend import Progress, comprehend


@dataclass(frozen=True)
class Tried:
    """One question: what is true, and what was found."""

    known: Truth
    found: OfflineAnswer | Declined

    @property
    def right(self) -> bool:
        return isinstance(self.found, OfflineAnswer) and self.known.agrees(self.found.rows)


def comprehend_demo(environment: Environment, progress: Progress | None = None) -> None:
    """Read everything and realise the roles. A source that cannot be read ends it: the demo made them all."""
    summary = comprehend(environment, progress=progress)
    for name, problem in summary.all_problems:
        raise CosetError(f"the demo's '{name}' could not be read: {problem}")


def ask_questions(environment: Environment, truths: tuple[Truth, ...]) -> Iterator[Tried]:
    """Each question in turn, as soon as it is answered."""
    with EvidenceState.read(environment.state_folder) as state, QuerySession(environment) as session:
        router = Router.open(environment, session)
        for known in truths:
            yield Tried(known, answer(known.question.text, router, session, state))
