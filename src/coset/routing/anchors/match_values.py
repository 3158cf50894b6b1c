"""Values in a question: equal to a held one, equal but for the way of writing, misspelt, or part of a longer one.

In: a question being looked up, its names found already. Out: sightings of kind `value`; of kind `name` for the members
of a family of tables. A value that very many columns hold is weak; so is a plain word that nothing marks as a value.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from coset.routing.anchors.hashed_texts import Rows, hashes_of
from coset.routing.anchors.phrases import Phrase
from coset.routing.anchors.sightings import Lookup, Sighting, rarity
from coset.routing.anchors.text_forms import ASKING_WORDS
from coset.routing.anchors.variants import variants_of
from coset.routing.request import AnchorKind, AnchorMatch

AS_WRITTEN, NORMALISED, MISSPELT = 1.0, 0.93, 0.8
MOST_HOLDERS = 8
LEAST_COVERED, WELL_COVERED, MOST_COVERED = 0.45, 0.6, 12
MOST_APART = 2
"""So many words of the question may stand between those of a longer value."""
A_NAME = 0.85
CALLED, FEW_TEXTS = 0.3, 40


def value_sightings(lookup: Lookup) -> list[Sighting]:
    runs = lookup.runs
    found: list[Sighting] = []
    for number, rows, count in lookup.index.values.equal([run.normal for run in runs], lookup.run_hashes):
        found += _held(lookup, runs[number], rows, count, 1.0, None)
    variants = lookup.corrected_runs
    texts = [text for _, text, _ in variants]
    for number, rows, count in lookup.index.values.equal(texts, hashes_of(texts)):
        phrase, text, slips = variants[number]
        found += _held(lookup, phrase, rows, count, MISSPELT * (1.0 - slips / max(6, len(text))), text)
    return [*found, *_covered(lookup)]


def _held(
    lookup: Lookup, phrase: Phrase, rows: Rows, count: int, strength: float, read_as: str | None
) -> Iterable[Sighting]:
    """One sighting for each object that holds the value, the objects that the question names first."""
    likely = _likelihood(lookup, phrase)
    if likely <= 0.0:
        return
    values = lookup.index.values
    holders = values.objects[rows]
    objects = np.unique(holders)
    worth = rarity(max(len(objects), count - len(rows)))
    for number in lookup.nearest(objects, MOST_HOLDERS):
        written = [values.value(int(row)) for row in rows[holders == number]]
        written.sort(key=lambda value: (value != phrase.text, value))
        same = written[0] == phrase.text
        match: AnchorMatch = "fuzzy" if read_as else "exact" if same else "normalised"
        # A word that nothing marks as a value is one when its column is named beside it.
        closeness = lookup.closeness(number)
        if _is_noun_in_texts(lookup, phrase, int(number)):
            continue
        factor = min(1.0, likely + 0.35 * closeness)
        score = strength * (AS_WRITTEN if same else NORMALISED) * factor * max(worth, 0.8 * closeness)
        note = f"read as '{read_as}'" if read_as else ""
        variants = variants_of(values, int(number), written[0], written)
        kind: AnchorKind = "name" if lookup.index.objects.kinds[number] == "table" else "value"
        yield Sighting(
            phrase.text, phrase.first, phrase.last, number, lookup.index.objects.references[number], kind, match, score,
            written[0], note, variants,
        )  # fmt: skip


def _is_noun_in_texts(lookup: Lookup, phrase: Phrase, number: int) -> bool:
    """Whether a plain word that names something here is the whole of one of very many texts: a review called `Review`
    is not what a question about reviews means."""
    if phrase.kind not in ("word", "words") or any(
        lookup.question.words[place].is_capital for place in range(phrase.first, phrase.last)
    ):
        return False
    inside = [place for place in range(phrase.first, phrase.last) if not lookup.question.words[place].is_stop]
    named = all(lookup.named_spans.get((place, place + 1), 0.0) >= CALLED for place in inside)
    named = named or lookup.named_spans.get((phrase.first, phrase.last), 0.0) >= CALLED
    first, last = np.searchsorted(lookup.index.values.objects, [number, number + 1])
    return named and int(last - first) > FEW_TEXTS


def _likelihood(lookup: Lookup, phrase: Phrase) -> float:
    """How likely a phrase is meant as a value, by the way it is written."""
    if phrase.kind == "quoted":
        return 1.0
    text = phrase.normal
    if text.replace(" ", "").isdigit() and phrase.kind != "code":
        return 0.8 if len(text) >= 5 else 0.5 if len(text) == 4 else 0.1
    if phrase.kind == "code":
        return 1.0 if len(text) >= 3 else 0.7
    if phrase.kind == "name":
        return 1.0 if " " in text else 0.95
    if len(text) == 1 and text.isascii():
        return 0.0
    if phrase.kind == "words":
        only_asking = all(word in ASKING_WORDS for word in text.split())
        return 0.0 if only_asking else 0.85
    if text in ASKING_WORDS:
        return 0.0
    if lookup.question.words[phrase.first].is_capital:
        return 0.7
    # What names a table is hardly meant as the value of a column as well.
    return 0.55 if lookup.named_spans.get((phrase.first, phrase.last), 0.0) < A_NAME else 0.2


def _covered(lookup: Lookup) -> Iterable[Sighting]:
    """Longer values of which the question has the telling words: `Masimo` for `Masimo Corporation`."""
    places: dict[str, list[int]] = {}
    for place, word, _ in lookup.telling:
        places.setdefault(word, []).append(place)
    words = list(places)
    everything = {word.normal for word in lookup.question.words}
    values = lookup.index.values
    taken: dict[tuple[int, int], int] = {}
    for row, share in values.covered([*everything], lookup.places_in_values, LEAST_COVERED, MOST_COVERED):
        inside = values.normal.text(row).split()
        spots = sorted(place for word in set(inside) & set(words) for place in places[word])
        stretch = _closest(spots, len(inside) + MOST_APART)
        if not stretch or share > 0.999:  # All words in another order are no value that was meant.
            continue
        first, last = stretch
        # Less than most of a value must be its beginning: people leave out the end of a name.
        if share < WELL_COVERED and lookup.question.words[first].normal != inside[0]:
            continue
        if lookup.names_apart(first, last, inside):
            continue  # `Quantum Circuits Inc` is no `Quantum Innovations Inc`.
        alone = last - first == 1
        capital = any(lookup.question.words[place].is_capital for place in range(first, last))
        if alone and not capital:
            continue
        number = int(values.objects[row])
        taken[first, last] = taken.get((first, last), 0) + 1
        score = (0.3 + 0.4 * share) * rarity(taken[first, last], 2) * (1.0 if capital else 0.8)
        yield Sighting(
            lookup.question.text[lookup.question.words[first].begin : lookup.question.words[last - 1].end],
            first, last, number, lookup.index.objects.references[number],
            "name" if lookup.index.objects.kinds[number] == "table" else "value", "fuzzy", score, values.value(row),
            "a part of the value",
        )  # fmt: skip


def _closest(spots: list[int], most: int) -> tuple[int, int] | None:
    """The longest run of places within so many words."""
    best: tuple[int, int] | None = None
    held = 0
    for begin in range(len(spots)):
        inside = [spot for spot in spots[begin:] if spot - spots[begin] < most]
        if len(inside) > held:
            held, best = len(inside), (inside[0], inside[-1] + 1)
    return best
