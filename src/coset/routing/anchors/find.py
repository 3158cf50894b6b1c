"""Links a question to the data: its phrases found as names, values, codes, numbers, dates and in documents.

In: a question, an index, and a session where columns that are not held may be asked at their source. Out: the anchors,
the strongest first; with `look_up` also what was not searched, and what was cut. Knows no demand and makes no view.
"""

from __future__ import annotations

from dataclasses import dataclass

from coset.routing.anchors.index import AnchorIndex
from coset.routing.anchors.indexed_columns import SearchSettings
from coset.routing.anchors.match_names import name_sightings
from coset.routing.anchors.match_texts import (
    FoundWord,
    NotSearched,
    found_words,
    search_sources,
    text_sightings,
    unfound_dates,
    unfound_states,
)
from coset.routing.anchors.match_values import code_sightings, document_sightings, range_sightings, value_sightings
from coset.routing.anchors.phrases import Phrase, read_question
from coset.routing.anchors.sightings import Lookup, choose
from coset.routing.request import Anchor
from coset.session.query_session import QuerySession


@dataclass(frozen=True)
class FoundAnchors:
    """The anchors of a question, with what could not be looked at."""

    anchors: tuple[Anchor, ...]
    phrases: tuple[Phrase, ...]
    not_searched: tuple[NotSearched, ...]
    """Columns whose values are not held and that were not asked for the question's literals, each with why."""
    note: str = ""
    """What was left out of the question, when it was too long."""
    words: tuple[FoundWord, ...] = ()
    """The words that tell something, each with how well it was found."""
    unread: tuple[str, ...] = ()
    """Columns of long texts that were not read for the names of the question."""
    absent: tuple[FoundWord, ...] = ()
    """Words for a state of something named here (`won opportunities`) that nothing is called or holds; and dates that
    no column can have."""


def find_anchors(
    question: str, index: AnchorIndex, session: QuerySession | None = None, settings: SearchSettings | None = None
) -> tuple[Anchor, ...]:
    """The names and values of a question found in the environment, the strongest first."""
    return look_up(question, index, session, settings).anchors


def look_up(
    question: str, index: AnchorIndex, session: QuerySession | None = None, settings: SearchSettings | None = None
) -> FoundAnchors:
    """The same, with what was not searched for lack of budget."""
    settings = settings or SearchSettings()
    read = read_question(question)
    lookup = Lookup(read, index)
    names = name_sightings(lookup)
    sightings = [*names, *value_sightings(lookup), *code_sightings(lookup), *document_sightings(lookup)]
    sightings += range_sightings(lookup, names)
    searched, not_searched = search_sources(lookup, sightings, session, settings)
    sightings += searched
    mentioned, unread = text_sightings(lookup, sightings, session, settings)
    sightings += mentioned
    words = found_words(lookup, sightings)
    return FoundAnchors(
        choose(sightings, settings.most_anchors), read.phrases, not_searched, read.note,
        words, unread, (*unfound_states(lookup, words, sightings), *unfound_dates(lookup, sightings)),
    )  # fmt: skip
