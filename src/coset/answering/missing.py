"""What the arbiter misses: searched for at once, and where it is nowhere, said to be so without asking anyone again.

In: records, the view they were made over, and what finds evidence. Out: what the searches gave, for the agent; or the
answer that the data cannot answer, when the arbiter is sure of it and nothing outside the view is called so or holds
it. Asks no model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from coset.answering.answer import Proposal
from coset.answering.quoting import one_line
from coset.answering.recorder import Recorder
from coset.answering.records import Missing, Records
from coset.errors import CosetError

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
