"""How well each telling word of a question was found, by name, by value, or as part of a date or number.

In: a question being looked up, and all its sightings. Out: one `FoundWord` for each word that tells something.
Words that questions of any data have (`earned`, `common`, `opened`) are left out: that nothing is called so says
nothing. Knows no vectors; likeness of meaning is for `coverage` to see.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from coset.routing.anchors.sightings import Lookup, Sighting
from coset.routing.anchors.text_forms import normalised

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
