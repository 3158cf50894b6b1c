"""The demo company put to coset: comprehended once, then asked its five questions without a language model.

In: the environment of a demo folder, and what is true of the company. Out: each question's true answer beside what was
found. Knows nothing of how either is shown, and gives whoever answers no more than the question's words.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from coset.api.environment import Environment
from coset.demo.questions import Truth
from coset.errors import CosetError
from coset.use_cases.cancellation import Report
from coset.use_cases.results import Answer


@dataclass(frozen=True)
class Tried:
    """One question: what is true, and what was found."""

    known: Truth
    found: Answer

    @property
    def right(self) -> bool:
        return not self.found.stopped and self.known.agrees(self.found.rows)


def comprehend_demo(environment: Environment, report: Report | None = None) -> None:
    """Read everything and realise the roles. A source that cannot be read ends it: the demo made them all."""
    for name, problem in environment.comprehend(report=report).all_problems:
        raise CosetError(f"the demo's '{name}' could not be read: {problem}")


def ask_questions(environment: Environment, truths: tuple[Truth, ...]) -> Iterator[Tried]:
    """Each question in turn, as soon as it is answered."""
    for known in truths:
        yield Tried(known, environment.ask_offline(known.question.text))
