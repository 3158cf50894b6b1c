"""More evidence by reference, by a name in SQL, or by words; and what the arbiter says is missing, searched for.

In: what the agent wrote, or the `missing` records. Out: text within a budget of tokens; or the answer that the data
cannot answer, when the arbiter is sure of it and nothing outside the view is called so or holds it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from coset.answering.answer import Proposal
from coset.answering.core_evidence import core_recover
from coset.answering.quoting import one_line
from coset.answering.recorder import Recorder
from coset.answering.records import Missing, Records
from coset.environment.configuration import Environment
from coset.errors import CosetError, UserError
from coset.routing.objects_of_state import StateObjects
from coset.routing.recover import recover
from coset.routing.search import holding, search
from coset.state import EvidenceState

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


MOST_SEARCHED, SEARCHED_LETTERS = 3, 2_000
CANNOT = "The data cannot answer this: "

Holding = Callable[[str], Iterable[str]]
"""References of what is named by words, or holds them."""


def searched(records: Records, recover: Callable[[str], str], recorder: Recorder) -> list[tuple[str, str]]:
    """What is missing, and what is found for the words that were given for it."""
    found = []
    for missing in records.missing[:MOST_SEARCHED]:
        for words in _phrases(missing):
            try:
                text = recover(words)
            except CosetError as error:
                text = str(error)
            text = text if len(text) <= SEARCHED_LETTERS else f"{text[:SEARCHED_LETTERS]}\n… (truncated)"
            found.append((one_line(words, 120), text))
            recorder.step("searched", {"what": one_line(words, 120), "text": text})
    return found[:MOST_SEARCHED]


def unanswerable(records: Records, shown: frozenset[str], holding: Holding, recorder: Recorder) -> Proposal | None:
    """The answer that there is none; None where the arbiter does not say so, or where something not `shown` may be what
    is missing."""
    if not records.sure or records.queries or not records.missing:
        return None
    for missing in records.missing:
        for words in _phrases(missing):
            elsewhere = sorted(set(holding(words)) - shown)
            recorder.step("searched", {"what": one_line(words, 120), "text": "\n".join(elsewhere) or "nothing more"})
            if elsewhere:
                return None
    lacks = "; ".join(one_line(missing.what, 200).rstrip(".") for missing in records.missing)
    return Proposal(text=f"{CANNOT}{lacks}.", confidence=0.0)


def _phrases(missing: Missing) -> list[str]:
    return [words for words in missing.words if words.strip()] or [missing.what]
