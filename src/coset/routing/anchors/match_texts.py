"""Names of a question inside longer texts, and the members of families of tables that rows lead to.

In: a question being looked up, what was found already, and a session where there is one. Out: sightings that say how
many texts of a column mention a name; and where each row of a table names a member of a family of tables, the members
of the rows that hold what the question names (`Masimo`, in a description, leads to the table `MASI`). Held values are
looked through by their words; long texts are not held, so they are asked at their source, one statement a column,
within bounds. A plain word is looked for too when nothing else was found for it, and counts for little.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence

from coset.errors import CosetError
from coset.routing.anchors.found_words import found_words
from coset.routing.anchors.hashed_texts import hashes_of
from coset.routing.anchors.index import MemberKey, TextColumn
from coset.routing.anchors.phrases import Phrase
from coset.routing.anchors.settings import SearchSettings
from coset.routing.anchors.sightings import Lookup, Sighting
from coset.routing.anchors.text_forms import ASKING_WORDS
from coset.routing.request import AnchorMatch
from coset.session.query_session import QuerySession, stays_at_source
from coset.sql_text import identifier, literal

ALREADY = 0.5
"""A phrase that was found so well is not looked for in texts."""
MENTIONED, MEMBER = 0.62, 0.95
SAID = 0.4
"""That texts have a plain word is no finding of it; a reader who looks into them should know it all the same."""
MOST_COLUMNS, MOST_PHRASES, MOST_MEMBERS, MOST_ROWS = 6, 6, 5, 300_000
SHORTEST = 3


def text_sightings(
    lookup: Lookup, sightings: Sequence[Sighting], session: QuerySession | None, settings: SearchSettings
) -> tuple[list[Sighting], tuple[str, ...]]:
    """The sightings, and the columns whose long texts were not read though they might mention a name."""
    if not lookup.index.has_rows:
        return [], ()
    phrases = _phrases(lookup, sightings)
    found = [each for phrase in phrases for each in _in_values(lookup, phrase)]
    columns = sorted(lookup.index.texts, key=lambda each: (-lookup.closeness(each.object), each.object))
    unread = {column.object for column in columns} if phrases else set()
    if session is not None:
        end = time.monotonic() + settings.text_seconds
        for column in [each for each in columns if each.rows <= MOST_ROWS][:MOST_COLUMNS] if phrases else ():
            left = end - time.monotonic()
            try:
                found += _in_texts(lookup, phrases, column, session, left) if left > 0 else []
            except CosetError:
                continue  # It stays among those that were not read.
            unread.discard(column.object)
        found += _members(lookup, [*sightings, *found], session, end)
    return found, tuple(lookup.index.objects.references[number] for number in sorted(unread))


def _phrases(lookup: Lookup, sightings: Sequence[Sighting]) -> list[Phrase]:
    """What was not found yet: first what is written as a name, the longest first, never a part of one that is taken;
    then plain words that tell something."""
    known = [each for each in sightings if each.score >= ALREADY and each.kind != "document"]
    taken: list[Phrase] = []
    fitting = [
        phrase
        for phrase in lookup.question.phrases
        if phrase.names_something and len(phrase.text) >= SHORTEST and phrase.normal not in ASKING_WORDS
    ]
    for phrase in sorted(fitting, key=lambda each: (each.first - each.last, each.first)):
        inside = any(other.first <= phrase.first and phrase.last <= other.last for other in taken)
        if not inside and not any(each.first <= phrase.first and phrase.last <= each.last for each in known):
            taken.append(phrase)
    open_words = {each.place for each in found_words(lookup, sightings) if not each.is_found}
    for phrase in lookup.question.phrases:
        inside = any(other.first <= phrase.first and phrase.last <= other.last for other in taken)
        if phrase.kind == "word" and phrase.first in open_words and not inside and len(phrase.text) >= SHORTEST:
            taken.append(phrase)
    return taken[:MOST_PHRASES]


def _in_values(lookup: Lookup, phrase: Phrase) -> list[Sighting]:
    """Columns of which some held values hold the phrase as words."""
    values = lookup.index.values
    words = phrase.normal.split()
    places = values.words.postings.places(hashes_of(words))
    if not words or (places < 0).any():
        return []
    rarest = min((int(place) for place in places), key=values.words.postings.count)
    counts: dict[int, int] = {}
    for row in dict.fromkeys(int(row) for row in values.words.rows(rarest)):
        text = values.normal.text(row)
        if text != phrase.normal and f" {phrase.normal} " in f" {text} ":
            number = int(values.objects[row])
            counts[number] = counts.get(number, 0) + 1
    strongest = sorted(counts, key=lambda number: (-counts[number], number))[:3]
    return [
        _mention(
            lookup, phrase, number, f"{counts[number]:,} of its values hold it as a word; longer ones too", "fuzzy"
        )
        for number in strongest
    ]


def _in_texts(
    lookup: Lookup, phrases: Sequence[Phrase], column: TextColumn, session: QuerySession, seconds: float
) -> list[Sighting]:
    """How many texts of a column mention each phrase. Raises `CosetError` where they cannot be read here."""
    if stays_at_source(*session.catalogue.find(column.table)):
        raise CosetError("its texts stay at their source")
    text = identifier(column.column)
    asked = ", ".join(
        f"count_if({_mentions(text, phrase.text)}), count_if({_says(text, phrase.text)})" for phrase in phrases
    )
    [row] = session.sql(f"SELECT {asked} FROM {_table(column.table)}", seconds=seconds).rows()
    found = []
    for phrase, mentions, says in zip(phrases, row[::2], row[1::2], strict=True):
        # A plain word that only stands inside others (`age` in `page`) is not said at all.
        if mentions and (says or phrase.names_something):
            apart = "" if says == mentions else f", {says:,} as a word of its own"
            note = f"{mentions:,} of {column.rows:,} texts say it{apart}"
            found.append(_mention(lookup, phrase, column.object, note, "searched"))
    return found


def _members(lookup: Lookup, sightings: Sequence[Sighting], session: QuerySession, end: float) -> list[Sighting]:
    """The members of a family whose rows hold a value, or mention a name, that the question has."""
    found: list[Sighting] = []
    known = {(each.first, each.last) for each in sightings if each.kind == "name" and each.value is not None}
    for each in sorted(sightings, key=lambda one: (-one.score, one.first, one.reference, one.value or "")):
        key = lookup.index.member_keys.get(each.object)
        wanted = each.kind == "value" and (each.first, each.last) not in known
        wanted = wanted and each.score >= (MENTIONED if each.match == "fuzzy" else ALREADY)
        if key is None or not wanted or len(found) >= MOST_PHRASES * MOST_MEMBERS or time.monotonic() >= end:
            continue
        known.add((each.first, each.last))
        try:
            found += _members_of(lookup, each, key, session, max(0.1, end - time.monotonic()))
        except CosetError:
            continue  # What cannot be asked now leads nowhere; the value itself is still an anchor.
    return found


def _members_of(
    lookup: Lookup, value: Sighting, key: MemberKey, session: QuerySession, seconds: float
) -> list[Sighting]:
    holder = key.expressions[value.object]
    holds = f"({holder}) = {_text(value.value)}" if value.value is not None else _mentions(holder, value.phrase)
    statement = (
        f"SELECT DISTINCT CAST({identifier(key.column)} AS VARCHAR) FROM {_table(key.table)} WHERE {holds} ORDER BY 1"
    )
    rows = session.sql(statement, max_rows=10 * MOST_MEMBERS, seconds=seconds).rows()
    members = [str(member) for (member,) in rows if str(member) in key.members]
    reference = lookup.index.objects.references[key.family]
    score = MEMBER if len(members) == 1 else MENTIONED
    said = f"{key.table[-1]} has it for {'this one' if len(members) == 1 else f'{len(members)} members'}"
    if len(members) > MOST_MEMBERS:
        return []  # Too many to be meant one by one: the condition that finds them is told.
    return [
        Sighting(
            value.phrase, value.first, value.last, key.family, reference, "name", "searched", score, member, said
        )
        for member in members
    ]  # fmt: skip


def _mentions(text: str, phrase: str) -> str:
    """That a text has every word of a phrase: `iShares Timber` means `iShares Global Timber`."""
    return " AND ".join(f"contains(lower({text}), {_text(word)})" for word in _words(phrase))


def _says(text: str, phrase: str) -> str:
    """The same, every word by itself and not as a part of another. Only what has them all is looked at closely."""
    words = " AND ".join(f"regexp_matches(lower({text}), {_text(_apart(word))})" for word in _words(phrase))
    return f"CASE WHEN {_mentions(text, phrase)} THEN {words} ELSE FALSE END"


def _apart(word: str) -> str:
    return rf"(^|[^\pL\pN]){re.escape(word)}($|[^\pL\pN])"


def _words(phrase: str) -> list[str]:
    return list(dict.fromkeys(phrase.lower().split())) or [phrase.lower()]


def _text(value: str) -> str:
    """A value as SQL writes it."""
    import sqlglot.expressions as sge

    return sge.Literal.string(value).sql("duckdb")


def _table(parts: tuple[str, ...]) -> str:
    return ".".join(identifier(part) for part in parts)


def _mention(lookup: Lookup, phrase: Phrase, number: int, note: str, match: AnchorMatch) -> Sighting:
    patterns = [literal(f"%{word}%") for word in _words(phrase.text)]
    pattern = " AND ILIKE ".join(patterns)
    return Sighting(
        phrase.text, phrase.first, phrase.last, number, lookup.index.objects.references[number], "value", match,
        MENTIONED if phrase.names_something else SAID, None, f"{note}: ILIKE {pattern}",
    )  # fmt: skip
