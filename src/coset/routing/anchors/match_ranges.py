"""Numbers and dates of a question: the columns whose range holds them, where that tells anything.

In: a question being looked up, its names found already. Out: sightings of kind `number` and `date`. A number alone is
in most number columns; it is an anchor only beside a name: an id after the name of its table (`order 4711`), or a
number column that the question names. A span of days leads to columns of times that overlap it.
"""

from __future__ import annotations

from collections.abc import Iterable

from coset.routing.anchors.phrases import Phrase
from coset.routing.anchors.sightings import Lookup, Sighting, rarity

BESIDE = 3
"""So many words may stand between a number and the name that it belongs to."""
ID_BESIDE, NAMED, ID_ALONE = 0.75, 0.5, 0.3
FEW_KEYS = 3
MOST_COLUMNS = 8
IN_NAMED_TABLE, SOMEWHERE, NOT_KNOWN = 0.7, 0.4, 0.6


def range_sightings(lookup: Lookup, names: list[Sighting]) -> list[Sighting]:
    found: list[Sighting] = []
    for phrase in lookup.question.phrases:
        if phrase.quantity is not None:
            found += _numbers(lookup, phrase, names)
        elif phrase.dates is not None:
            found += _dates(lookup, phrase)
    return found


def _numbers(lookup: Lookup, phrase: Phrase, names: list[Sighting]) -> Iterable[Sighting]:
    ranges, objects = lookup.index.ranges, lookup.index.objects
    quantity = phrase.quantity
    if quantity is None:
        return
    beside = {
        name.object
        for name in names
        if name.score >= 0.3 and (0 <= phrase.first - name.last <= BESIDE or 0 <= name.first - phrase.last <= BESIDE)
    }
    told: set[int] = set()
    is_year = any(
        each.dates is not None and each.begin <= phrase.begin and phrase.end <= each.end
        for each in lookup.question.phrases
    )
    if quantity.whole:
        keys = ranges.keys_with(quantity.value)
        for number in keys:
            if int(number) in beside or int(objects.tables[number]) in beside:
                told.add(int(number))
                yield _number(lookup, phrase, int(number), ID_BESIDE, "an id in its range")
        if not told and not is_year and len(keys) <= FEW_KEYS and abs(quantity.value) >= 1_000:
            for number in keys:
                told.add(int(number))
                yield _number(lookup, phrase, int(number), ID_ALONE, "an id in its range")
    for number in () if is_year else sorted(lookup.named, key=lambda each: (-lookup.named[each], each)):
        if number not in told and ranges.holds_number(number, quantity.value) and number not in ranges.keys:
            told.add(number)
            near = 1.0 if number in beside else 0.7
            yield _number(lookup, phrase, number, NAMED * near * lookup.named[number], "in its range")
        if len(told) >= MOST_COLUMNS:
            return


def _number(lookup: Lookup, phrase: Phrase, number: int, score: float, note: str) -> Sighting:
    quantity = phrase.quantity
    value = f"{quantity.value:.15g}{' ' + quantity.unit if quantity.unit else ''}" if quantity else ""
    reference = lookup.index.objects.references[number]
    return Sighting(phrase.text, phrase.first, phrase.last, number, reference, "number", "range", score, value, note)


def _dates(lookup: Lookup, phrase: Phrase) -> Iterable[Sighting]:
    ranges = lookup.index.ranges
    if phrase.dates is None:
        return
    fitting, asked = ranges.overlapping(phrase.dates), str(phrase.dates)
    worth = rarity(len(fitting), 4, 0.3)
    for number in lookup.nearest(fitting, MOST_COLUMNS):
        span = ranges.span_of(number)
        close = lookup.closeness(number)
        score = IN_NAMED_TABLE * (0.5 + 0.5 * close) if close >= 0.3 else SOMEWHERE * worth
        score *= 1.0 if span else NOT_KNOWN
        reference = lookup.index.objects.references[number]
        note = f"within its {span}, rows not counted" if span else ""
        yield Sighting(phrase.text, phrase.first, phrase.last, number, reference, "date", "range", score, asked, note)
