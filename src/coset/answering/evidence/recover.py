"""More evidence by reference, by a name in SQL, or by words; and what the arbiter says is missing, searched for.

In: what a model wrote: several references or words at once. Out: text within a budget of tokens: each reference whole,
as far as its share goes, and for words what they are found in, with the details of the best of it. Or the answer that
the data cannot answer, when the arbiter is sure of it and nothing outside the view is called so or holds it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from coset.answering.answer import Proposal
from coset.answering.arbiter.records import Missing, Records
from coset.answering.evidence.core import core_recover
from coset.answering.quoting import one_line
from coset.answering.recorder import Recorder
from coset.environment.configuration import Environment
from coset.errors import CosetError, UserError
from coset.routing.objects.objects_of_state import StateObjects
from coset.routing.search.recover import holding, recover, search
from coset.routing.views.budgets import cost
from coset.state import EvidenceState

RECOVERED = 2_000
"""Tokens, unless more are asked for."""
LEAST = 200
"""Tokens that each of several things gets at least; those for which nothing is left are named."""
MOST_SEARCHED = 8
SEARCHED = 3_000
"""Tokens for all that the arbiter misses together."""
DETAILED = 2
"""Of what words are found in, so many tables or documents are shown whole."""
CANNOT = "The data cannot answer this: "


class LearnedRecover:
    """Reads the state when it is first asked, and again when it was written since."""

    def __init__(self, environment: Environment) -> None:
        self._folder = environment.state_folder
        self._objects: StateObjects | None = None

    def __call__(self, what: str, budget: int = RECOVERED) -> str:
        objects = self.objects()
        try:
            return recover(objects, self.reference(what), budget).text
        except UserError:
            return self._found(what, budget)

    def holding(self, words: str) -> frozenset[str]:
        """References of what is called so, or holds it."""
        return holding(self.objects(), words)

    def objects(self) -> StateObjects:
        if self._objects is None or self._objects.is_stale():
            self._objects = StateObjects(self._folder)
        return self._objects

    def reference(self, what: str) -> str:
        """The reference behind a name as SQL writes it: `shop.orders`, `shop.orders.amount`; others as they are."""
        written = what.replace('"', "").strip()
        bare = written.lower()
        for reference, table in self.objects().tables.items():
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

    def _found(self, words: str, budget: int) -> str:
        """What the words are found in, and as much of the best of it as there is room for."""
        objects = self.objects()
        found = search(objects, words, budget)
        text = found.text
        tables: list[str] = []
        for reference in sorted(self.holding(words)):
            table = reference if reference in objects.tables else objects.table_of(reference)
            tables += [table] if table is not None and table not in tables else []
        documents = [
            line.split(": ")[0] for title, lines in found.sections if title == "DOCUMENTS" for line in lines[:DETAILED]
        ]
        for reference in [*documents, *tables[:DETAILED]]:
            left = budget - cost(text)
            if left < LEAST:
                break
            try:
                text += recover(objects, reference, left).text
            except UserError:
                continue
        return text


class CoreRecover:
    """Reads the state each time."""

    def __init__(self, environment: Environment) -> None:
        self._folder = environment.state_folder

    def __call__(self, what: str, budget: int = RECOVERED) -> str:
        with EvidenceState.read(self._folder) as state:
            return core_recover(state, what, budget)


def recover_all(recover: Callable[[str, int], str], wanted: Sequence[str], budget: int) -> list[tuple[str, str]]:
    """Each of several things with what is found of it. What one leaves of its share is for those after it; for what
    there is no room it says so."""
    found: list[tuple[str, str]] = []
    left = budget
    asked = list(dict.fromkeys(each.strip() for each in wanted if each.strip()))
    for number, what in enumerate(asked):
        share = left // (len(asked) - number)
        if share < LEAST and found:
            found.append((what, "not looked up: no room left, ask for it alone or with a larger budget"))
            continue
        try:
            text = recover(what, max(share, LEAST))
        except CosetError as error:
            text = str(error)
        left -= cost(text)
        found.append((what, text))
    return found


def searched(records: Records, recover: Callable[[str, int], str], recorder: Recorder) -> list[tuple[str, str]]:
    """What is missing, and what is found for the words that were given for it: a phrase of each record first, then the
    others. What was not searched for is said."""
    by_record = [_phrases(missing) for missing in records.missing]
    longest = max(map(len, by_record), default=0)
    phrases = list(dict.fromkeys(each[place] for place in range(longest) for each in by_record if place < len(each)))
    found = [(one_line(words, 120), text) for words, text in recover_all(recover, phrases[:MOST_SEARCHED], SEARCHED)]
    found += [(one_line(words, 120), "not searched for: `recover` it") for words in phrases[MOST_SEARCHED:]]
    for words, text in found:
        recorder.step("searched", {"what": words, "text": text})
    return found


def unanswerable(
    records: Records, shown: frozenset[str], holding: Callable[[str], Iterable[str]], recorder: Recorder
) -> Proposal | None:
    """The answer that there is none; None where the arbiter does not say so, or where something not `shown` may be what
    is missing. `holding` gives references of what is named by words, or holds them."""
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
