"""More evidence for the agent, by reference, by its name in SQL, or by words.

In: what the agent wrote. Out: text: in learned mode what `coset recover` gives, within a budget of tokens; in core mode
what the plain schema has. Knows no question.
"""

from __future__ import annotations

from coset.answering.core_evidence import core_recover
from coset.environment.configuration import Environment
from coset.errors import UserError
from coset.evidence.state import EvidenceState
from coset.routing.objects_of_state import StateObjects
from coset.routing.recover import recover
from coset.routing.search import holding, search

RECOVERED = 1_000
"""Tokens, unless more are asked for."""


class LearnedRecover:
    """Reads the state when it is first asked, and again when it was written since."""

    def __init__(self, environment: Environment) -> None:
        self._folder = environment.state_folder
        self._objects: StateObjects | None = None

    def __call__(self, what: str, budget: int = RECOVERED) -> str:
        objects = self._known()
        try:
            return recover(objects, _reference(objects, what), budget).text
        except UserError:
            return search(objects, what, budget).text

    def holding(self, words: str) -> frozenset[str]:
        """References of what is called so, or holds it."""
        return holding(self._known(), words)

    def _known(self) -> StateObjects:
        if self._objects is None or self._objects.is_stale():
            self._objects = StateObjects(self._folder)
        return self._objects


class CoreRecover:
    """Reads the state each time."""

    def __init__(self, environment: Environment) -> None:
        self._folder = environment.state_folder

    def __call__(self, what: str, budget: int = RECOVERED) -> str:
        with EvidenceState.read(self._folder) as state:
            return core_recover(state, what, budget)


def _reference(objects: StateObjects, what: str) -> str:
    """The reference behind a name as SQL writes it: `shop.orders`, `shop.orders.amount`."""
    written = what.replace('"', "").strip()
    bare = written.lower()
    for reference, table in objects.tables.items():
        name = table.sql_name.replace('"', "").lower()
        if bare == name:
            return reference
        if bare.startswith(f"{name}."):
            return f"{reference}.{written[len(name) + 1 :]}"
        if table.family is not None and bare.partition(".")[0] == table.source.lower():
            member = bare.rpartition(".")[2]
            if any(member == each.lower() for each in table.family.members):
                return reference
    return what.strip().strip("[]")
