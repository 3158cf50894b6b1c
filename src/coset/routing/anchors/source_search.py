"""Asks columns whose values are not held, at their source, for the literals of one question.

In: a question being looked up, a session, bounds. Out: sightings with the match `searched`, and for each column that
was not asked, why. One statement a column: `SELECT DISTINCT column ... WHERE column IN (...)`. A source that keeps its
rows gets plain comparisons, which it can answer by itself; case is then tried in four ways. A table that is here is
compared without case. Nothing that comes back is kept.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from coset.errors import CosetError
from coset.routing.anchors.index import Searchable
from coset.routing.anchors.match_ranges import ID_BESIDE
from coset.routing.anchors.phrases import Phrase, PhraseKind
from coset.routing.anchors.settings import SearchSettings
from coset.routing.anchors.sightings import Lookup, Sighting
from coset.routing.request import AnchorKind
from coset.session.query_session import QuerySession, stays_at_source

LONGEST_LITERAL = 200
MOST_FOUND = 20
FOUND = 0.9
ALREADY = 0.5
"""A phrase that was found as a value or code so well is not searched again."""
LITERAL_ORDER: dict[PhraseKind, int] = {"quoted": 0, "code": 1, "name": 2}
"""The phrases that are written as values, in the order in which they are searched."""


@dataclass(frozen=True)
class NotSearched:
    """A column that was not asked, with why, in words."""

    reference: str
    reason: str


def search_sources(
    lookup: Lookup, sightings: list[Sighting], session: QuerySession | None, settings: SearchSettings
) -> tuple[list[Sighting], tuple[NotSearched, ...]]:
    index = lookup.index
    texts, numbers = _literals(lookup, sightings, settings)
    asked = [column for column in index.searchable if (texts if column.is_text else numbers)]
    if not texts and not numbers:
        return [], ()
    skipped = [NotSearched(reference, reason) for reference, reason in index.unsearchable] if texts else []
    references = index.objects.references
    allowed = [column for column in asked if settings.personal or not column.personal]
    skipped += [
        NotSearched(references[column.object], "it holds personal data")
        for column in asked
        if column.personal and not settings.personal
    ]
    # Numbers are in every id column: only those that the question names beside the number are worth asking.
    beside = {each.object for each in sightings if each.kind == "number" and each.score >= ID_BESIDE}
    fitting = [column for column in allowed if column.is_text or column.object in beside]
    if session is None:
        return [], (*skipped, *(NotSearched(references[each.object], "no session was given") for each in fitting))
    ordered = sorted(fitting, key=lambda each: (-lookup.closeness(each.object), each.personal is not None, each.object))
    found: list[Sighting] = []
    end = time.monotonic() + settings.seconds
    for number, column in enumerate(ordered):
        left = end - time.monotonic()
        if number >= settings.most_columns or left <= 0:
            why = f"the search ended after {number} columns" if left > 0 else f"the search took {settings.seconds:g} s"
            skipped += [NotSearched(references[each.object], why) for each in ordered[number:]]
            break
        try:
            found += _ask(lookup, session, column, texts if column.is_text else numbers, left)
        except CosetError as error:
            skipped.append(NotSearched(references[column.object], str(error)))
    return found, tuple(skipped)


def _literals(lookup: Lookup, sightings: list[Sighting], settings: SearchSettings) -> tuple[list[Phrase], list[Phrase]]:
    """The phrases that are written as values, and the whole numbers, that were not found yet; quoted ones first."""
    numbers = [phrase for phrase in lookup.question.phrases if phrase.quantity is not None and phrase.quantity.whole]
    texts = [
        phrase
        for phrase in lookup.question.phrases
        if phrase.kind in LITERAL_ORDER and len(phrase.text) <= LONGEST_LITERAL
    ]  # fmt: skip
    if texts:
        known = {
            (each.first, each.last)
            for each in sightings
            if each.kind in ("value", "code") and each.match != "fuzzy" and each.score >= ALREADY
        }  # fmt: skip
        texts = [phrase for phrase in texts if (phrase.first, phrase.last) not in known]
    texts.sort(key=lambda phrase: (LITERAL_ORDER[phrase.kind], phrase.first - phrase.last, phrase.first))
    return texts[: settings.most_phrases], numbers[: settings.most_phrases]


def _ask(
    lookup: Lookup, session: QuerySession, column: Searchable, phrases: list[Phrase], seconds: float
) -> list[Sighting]:
    parts = tuple(part for part in (column.source, column.schema, column.table) if part is not None)
    remote = stays_at_source(*session.catalogue.find(parts))
    by_key: dict[str, Phrase] = {}
    for phrase in phrases:
        if _fits(phrase, column):
            by_key.setdefault(_key(phrase, column), phrase)
            for word in _names_in(lookup, phrase) if column.personal == "person_name" else ():
                by_key.setdefault(word.text.lower(), word)
    if not by_key:
        return []
    result = session.sql(_statement(column, parts, by_key, remote), max_rows=MOST_FOUND, seconds=seconds)
    found = []
    for (stored,) in result.rows():
        key = str(stored) if not column.is_text else str(stored).strip().lower()
        if meant := by_key.get(key):
            found.append(_sighting(lookup, column, meant, str(stored)))
    return found


def _fits(phrase: Phrase, column: Searchable) -> bool:
    """Whether a phrase can be a value of the column: names of people are no codes, and other personal data is."""
    if column.personal is None or phrase.kind == "quoted":
        return True
    return phrase.kind == ("name" if column.personal in ("person_name", "address") else "code")


def _names_in(lookup: Lookup, phrase: Phrase) -> list[Phrase]:
    """The words of a name: given and family names may lie in columns of their own."""
    words = lookup.question.words
    return [
        phrase._replace(text=words[place].text, normal=words[place].normal, first=place, last=place + 1)
        for place in range(phrase.first, phrase.last)
        if words[place].is_capital and len(words[place].text) > 1
    ]


def _key(phrase: Phrase, column: Searchable) -> str:
    if column.is_text or phrase.quantity is None:
        return phrase.text.strip().lower()
    return str(int(phrase.quantity.value))


def _statement(column: Searchable, parts: tuple[str, ...], keys: dict[str, Phrase], remote: bool) -> str:
    import sqlglot.expressions as sge

    name = sge.column(column.column, quoted=True)
    table = sge.Table(
        this=sge.to_identifier(parts[-1], quoted=True),
        db=sge.to_identifier(parts[-2], quoted=True) if len(parts) > 1 else None,
        catalog=sge.to_identifier(parts[-3], quoted=True) if len(parts) > 2 else None,
    )
    if not column.is_text:
        values = [sge.Literal.number(int(key)) for key in keys]
        condition = sge.In(this=name, expressions=values)
    elif remote:
        written = {way for phrase in keys.values() for way in _cases(phrase.text.strip())}
        condition = sge.In(this=name, expressions=[sge.Literal.string(way) for way in sorted(written)])
    else:
        compared = sge.func("lower", sge.func("trim", sge.Cast(this=name, to=sge.DataType.build("VARCHAR"))))
        condition = sge.In(this=compared, expressions=[sge.Literal.string(key) for key in keys])
    return sge.select(name).distinct().from_(table).where(condition).limit(MOST_FOUND).sql("duckdb")


def _cases(text: str) -> set[str]:
    return {text, text.lower(), text.upper(), text.title()}


def _sighting(lookup: Lookup, column: Searchable, phrase: Phrase, stored: str) -> Sighting:
    reference = lookup.index.objects.references[column.object]
    kind: AnchorKind = "number" if phrase.quantity is not None else "value"
    return Sighting(
        phrase.text, phrase.first, phrase.last, column.object, reference, kind, "searched",
        FOUND + 0.1 * (stored == phrase.text), stored, "found at the source",
    )  # fmt: skip
