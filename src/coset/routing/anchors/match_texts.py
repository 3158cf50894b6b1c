"""Phrases looked for where values are not held: long texts, and sources that are asked for a value.

In: a lookup with what was found so far, and a session. Out: further sightings, the words of the question with how well
each was found, and what was not searched. Bounded in time and in the number of statements.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass

from coset.errors import CosetError
from coset.routing.anchors.hashed_texts import hashes_of
from coset.routing.anchors.index import MemberKey, Searchable, TextColumn
from coset.routing.anchors.indexed_columns import SearchSettings
from coset.routing.anchors.match_values import ID_BESIDE
from coset.routing.anchors.phrases import Phrase, PhraseKind
from coset.routing.anchors.sightings import Lookup, Sighting
from coset.routing.anchors.spelling import ASKING_WORDS, normalised
from coset.routing.request import AnchorKind, AnchorMatch
from coset.session.query_session import QuerySession, stays_at_source
from coset.sql_text import identifier, literal

NAMED, HELD = 0.3, 0.45
"""From these scores on a name, or a value, is a finding of its words."""
SURELY_NAMED = 0.75
"""A word that says little counts all the same when something is called so."""
SLIP = 0.55
"""What a word counts that was found as a slip for another, beside one that was found as it is."""
MOST_WORDS = 60


@dataclass(frozen=True)
class FoundWord:
    """A word of the question, at its place among all words."""

    text: str
    normal: str
    begin: int
    end: int
    """The characters of the question that it takes."""
    place: int
    named: float
    held: float
    """The best score by which it, or a phrase around it, is a value or a code."""
    is_dated: bool
    """Whether it belongs to a date or a number."""
    is_filling: bool = False
    """Whether it only says how, or how much: `most productive`, `from 2020 onwards`."""

    @property
    def is_found(self) -> bool:
        return self.is_dated or self.named >= NAMED or self.held >= HELD


def found_words(lookup: Lookup, sightings: Sequence[Sighting]) -> tuple[FoundWord, ...]:
    named: dict[int, float] = {}
    held: dict[int, float] = {}
    for sighting in sightings:
        _, first, last, _, reference, kind, match, score, value, note, _ = sighting
        if kind in ("name", "value", "code"):
            scores = named if kind == "name" else held
            if note.startswith("read as"):
                score *= SLIP
            loose = match == "fuzzy" and last - first > 2 and lookup.capitals
            others = lookup.names_apart(first, last, normalised(f"{reference} {value or ''}").split()) if loose else ()
            for place in range(first, last):
                if score > scores.get(place, 0.0) and place not in others:
                    scores[place] = score
    dated = {
        place
        for phrase in lookup.question.phrases
        if phrase.kind in ("date", "number")
        for place in range(phrase.first, phrase.last)
    }
    written = lookup.question.words
    return tuple(
        FoundWord(
            written[place].text, word, written[place].begin, written[place].end, place,
            named.get(place, 0.0), held.get(place, 0.0), place in dated or word.isdigit(),
            word in FILLING or (place > 0 and written[place - 1].normal in DEGREES and word.endswith(OF_QUALITY)),
        )
        for place, word, _ in lookup.telling
        if word not in SAYING_LITTLE or named.get(place, 0.0) >= SURELY_NAMED
    )[:MOST_WORDS]  # fmt: skip


def unfound_states(lookup: Lookup, words: Sequence[FoundWord], sightings: Sequence[Sighting]) -> tuple[FoundWord, ...]:
    """Words that say little by themselves, but say which things are meant where they stand before what is named here
    (`won opportunities`), and that nothing is called or holds."""
    written = lookup.question.words
    states = [place for place, word in enumerate(written) if word.normal in STATES]
    if not states:
        return ()
    named = {word.place for word in words if word.named >= NAMED}
    seen = {word.place for word in words} | {
        place
        for each in sightings
        if each.score >= (NAMED if each.kind == "name" else HELD)
        for place in range(each.first, each.last)
    }
    return tuple(
        FoundWord(word.text, word.normal, word.begin, word.end, place, 0.0, 0.0, is_dated=False)
        for place, word in ((place, written[place]) for place in states)
        if place + 1 in named and place not in seen
    )


def unfound_dates(lookup: Lookup, sightings: Sequence[Sighting]) -> tuple[FoundWord, ...]:
    """The words of dates that no column here can have: it has no dates, or none near them, and no such value."""
    found = {
        place
        for each in sightings
        if each.kind == "date" or (each.kind in ("value", "code") and each.score >= HELD)
        for place in range(each.first, each.last)
    }
    return tuple(
        FoundWord(word.text, word.normal, word.begin, word.end, place, 0.0, 0.0, is_dated=True)
        for phrase in lookup.question.phrases
        if phrase.dates is not None and found.isdisjoint(range(phrase.first, phrase.last))
        for place, word in enumerate(lookup.question.words[phrase.first : phrase.last], start=phrase.first)
    )


FILLING = frozenset(("onward", "onwards", "matching", "combined", "altogether", "namely"))
DEGREES = frozenset(("most", "least", "more", "less", "very", "how"))
OF_QUALITY = ("ive", "ific", "ous", "ful", "able", "ible", "ent", "ant")
STATES = frozenset(
    """broken closed covered dropped ended fallen handled lost open opened placed received released selected sent sold
    started won""".split()  # noqa: SIM905 - a list of words is read best as words
)
SAYING_LITTLE = frozenset(
    """across actually ago ahead allow allowed almost alone along already also always amongst another answer anyone
    anything anywhere appear appeared appears apply arranged ascending ask asked associated available back bad based
    became become becomes began begin beginning behind belonging best better big bigger biggest bought break bring
    broken brought buy call called came can cannot capitalisation capitalization case change changed cheap cheaper
    cheapest check choose come comes coming common commonly compared complain complained complains consider
    considered corresponding cost costs count counts cover covered covers create created current currently daily
    data database dataset day days decade decades decrease descending describe described describes detail details
    determine did different display distribution divided does doesn doing don done double doubled drop dropped drops
    earn earned earns either end ended ends enough entire equal especially estimate even ever everyone everything
    except expensive explain explained explains expressed extract fall fallen falls far fast faster fell few fewer
    fewest five follow followed following format former found four frequent frequently full gain gained gave general
    generate getting given gives giving go goes going good got great group grouped grow growth had half handle
    handled handles happen happened happens having help high highest hold holds hour hours however immediately
    important improve increase increased increases indicate individual information instead involved isn item items
    just keep kept kind kinds know known large larger last later leading least leave left less level levels likely
    limit live long longer look lose loss lost lot lots low lowest made main maintain make makes making many match
    matched maximum mean means meant median mention mentioned mentioning mentions minimum minute minutes month
    monthly months more most mostly move much multiple named need needs never new newer next nine non noted now
    number numbers occur occurred occurs often old older once open opened order ordered originally others output
    overall own pair part particular past pay pays people per percent percentage perform performed period person
    place placed play please popular positive possible present previous previously print proportion provide provided
    put quarter quickly range rate rather reached read reads really receive received recent recently recorded
    records regarding regardless related relative release released remain report reported represent require required
    respective result results rise rises rose run said saw say says second see seem selected sell sent separate
    separately serve set seven several share similar since single six size small smaller sold sort sorted sorts
    specific specified spend spent start started state stated still sum sung take taken takes tell ten than think
    thinks third three throughout thus ticked time times together told took top total toward trend try turn two type
    types typical typically unique upon use used uses using usual usually value values versus very via vs want
    wanted way week weekly weeks well went whether whole win within without won word work worked works worse worst
    write written wrote year yearly years yes yet youngest
    """.split()  # noqa: SIM905 - a list of words is read best as words
)
"""Words of asking, doing and comparing that a question may have whatever it is about."""


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


ALREADY_IN_TEXTS = 0.5
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
    known = [each for each in sightings if each.score >= ALREADY_IN_TEXTS and each.kind != "document"]
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
        wanted = wanted and each.score >= (MENTIONED if each.match == "fuzzy" else ALREADY_IN_TEXTS)
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
