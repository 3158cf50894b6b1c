"""Names of tables, columns, sources, paths and facets in a question: equal in some form, misspelt, in part.

In: a question being looked up. Out: sightings of kind `name`, and, in the lookup, how strongly each object is named.
Keys are looked up by hash, all forms of all phrases at once; nothing walks over the names.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coset.identities.words import singular
from coset.routing.anchors.hashed_texts import Postings, Rows, hashes_of, weight_of
from coset.routing.anchors.named_objects import KIND_WEIGHTS, ORIGIN_WEIGHTS, Form, NamedObjects
from coset.routing.anchors.phrases import Phrase
from coset.routing.anchors.sightings import Lookup, Sighting, rarity
from coset.routing.anchors.text_forms import ASKING_WORDS, in_full, shortened, stem
from coset.routing.request import AnchorMatch

STRENGTH: dict[Form, float] = {
    "plain": 1.0, "singular": 0.95, "compact": 0.9, "in full": 0.82, "stem": 0.78, "initials": 0.7,
}  # fmt: skip
MATCH: dict[Form, AnchorMatch] = {
    "plain": "exact", "singular": "normalised", "compact": "normalised", "in full": "abbreviation",
    "stem": "normalised", "initials": "abbreviation",
}  # fmt: skip
SHORTENED, MISSPELT = 0.62, 0.72
MOST_BEARERS = 12
COMMON_STEM = 4_000
"""A word in more names than this leads to none of them by itself."""
LEAST_PART, MOST_PARTS = 0.45, 24
LEAST_DESCRIBED = 0.5


class NameHit(NamedTuple):
    """A phrase that equals a name in some form."""

    phrase: str
    first: int
    last: int
    name: int
    strength: float
    match: AnchorMatch
    note: str = ""


def name_sightings(lookup: Lookup) -> list[Sighting]:
    hits = [*_equal(lookup), *_corrected(lookup), *_shortened(lookup)]
    whole = {(hit.first, hit.last, hit.name) for hit in hits}
    hits += [hit for hit in _in_part(lookup) if (hit.first, hit.last, hit.name) not in whole]
    strongest: dict[tuple[int, int, int], NameHit] = {}
    for hit in hits:
        place = (hit.first, hit.last, hit.name)
        if place not in strongest or hit.strength > strongest[place].strength:
            strongest[place] = hit
    return [*_borne(lookup, list(strongest.values())), *_described(lookup)]


def _equal(lookup: Lookup) -> list[NameHit]:
    keys: list[str] = []
    origins: list[tuple[Phrase, Form]] = []
    known: dict[str, WordForms] = {}
    for phrase in lookup.runs:
        words = phrase.normal.split()
        if len(words) > 6:
            continue
        for word in words:
            if word not in known:
                known[word] = _word_forms(word)
        for form, key in _forms([known[word] for word in words]):
            keys.append(key)
            origins.append((phrase, form))
    hits = []
    for number, name, form in lookup.index.objects.found(hashes_of(keys)):
        phrase, asked = origins[number]
        if not _may_be_initials(phrase, asked, form, keys[number]):
            continue
        weaker = asked if STRENGTH[asked] < STRENGTH[form] else form
        strength, match = STRENGTH[weaker], MATCH[weaker]
        if match == "exact" and keys[number] in ASKING_WORDS:
            strength *= 0.5
        hits.append(NameHit(phrase.text, phrase.first, phrase.last, name, strength, match))
    return hits


WordForms = tuple[str, str, str, str]
"""A word as it is, in the singular, with abbreviations written out, and its stem."""


def _word_forms(word: str) -> WordForms:
    alone = singular(word)
    full = in_full((alone,))
    return word, alone, " ".join(map(singular, full)), " ".join(map(stem, full))


def _forms(words: list[WordForms]) -> list[tuple[Form, str]]:
    """The forms of a phrase, each once, the strongest first."""
    plain, alone, full, stems = zip(*words, strict=True)
    made: dict[str, Form] = {" ".join(plain): "plain"}
    made.setdefault(" ".join(alone), "singular")
    if len(words) <= 3:
        made.setdefault("".join(alone), "compact")
    made.setdefault(" ".join(full), "in full")
    made.setdefault(" ".join(stems), "stem")
    if 3 <= len(words) <= 5:
        made.setdefault("".join([word[0] for word in plain]), "initials")
    return [(form, key) for key, form in made.items()]


def _may_be_initials(phrase: Phrase, asked: Form, form: Form, key: str) -> bool:
    """Initials are letters in common by chance unless they are written as such, or are the whole other name."""
    if form == "initials":
        return asked == "plain" and phrase.text.isupper()
    return asked != "initials" or (form == "plain" and len(key) >= 3)


def _corrected(lookup: Lookup) -> list[NameHit]:
    variants = lookup.corrected_runs
    keys = [" ".join(stem(word) for word in in_full(tuple(map(singular, text.split())))) for _, text, _ in variants]
    hits = []
    for number, name, form in lookup.index.objects.found(hashes_of(keys)):
        phrase, text, slips = variants[number]
        if form != "initials":
            strength = MISSPELT * (1.0 - slips / max(6, len(text)))
            hits.append(NameHit(phrase.text, phrase.first, phrase.last, name, strength, "fuzzy", f"read as '{text}'"))
    return hits


def _shortened(lookup: Lookup) -> list[NameHit]:
    """Names whose words shorten the question's: `prdct` and `prod` for product."""
    known = lookup.index.objects.vocabulary.postings
    words = {place: word for place, word, _ in lookup.telling}
    ways = [(place, way) for place, word in words.items() for way in shortened(singular(word))]
    present = known.places(hashes_of([way for _, way in ways])) >= 0
    written = {word.normal for word in lookup.question.words}
    by_place: dict[int, list[str]] = {}
    for (place, way), is_known in zip(ways, present, strict=True):
        if is_known and way not in written:
            by_place.setdefault(place, []).append(way)
    variants: list[tuple[Phrase, str]] = []
    for phrase in lookup.runs:
        if phrase.last - phrase.first > 3:
            continue
        for place in range(phrase.first, phrase.last):
            for way in by_place.get(place, ()):
                texts = [singular(word.normal) for word in lookup.question.words[phrase.first : phrase.last]]
                texts[place - phrase.first] = way
                variants.append((phrase, " ".join(texts)))
    found = lookup.index.objects.found(hashes_of([text for _, text in variants]))
    return [
        NameHit(variants[number][0].text, variants[number][0].first, variants[number][0].last, name, SHORTENED,
                "abbreviation")
        for number, name, form in found
        if form in ("plain", "singular")
    ]  # fmt: skip


def _in_part(lookup: Lookup) -> list[NameHit]:
    """Names of which the question has some words, or all in another order."""
    objects = lookup.index.objects
    hits = []
    for name, share, places in _covered(lookup, objects.stems, objects.stems.rows, objects.name_weights, 1, LEAST_PART):
        first, last, text = _stretch(lookup, places)
        strength = 0.2 + 0.45 * share
        note = "" if share > 0.99 else f"a part of the name '{objects.names[name]}'"
        hits.append(NameHit(text, first, last, name, strength, "fuzzy", note))
    return hits


def _covered(
    lookup: Lookup,
    postings: Postings,
    rows_at: Callable[[int], Rows],
    totals: NDArray[np.float64],
    least_words: int,
    least_share: float,
) -> list[tuple[int, float, list[int]]]:
    """(text, share of its weight, places of the words) of the texts that the question's words cover best. `rows_at`
    gives the texts that hold a word, in order; `totals` what all words of each text weigh."""
    held: list[tuple[int, Rows]] = []
    weights, counts = np.zeros(len(totals)), np.zeros(len(totals), dtype=np.int16)
    for place, at in zip(lookup.roots.values(), postings.places(lookup.root_hashes).tolist(), strict=True):
        count = postings.count(at) if at >= 0 else 0
        if 0 < count <= COMMON_STEM:
            rows = rows_at(at)
            rows = rows[np.append(True, rows[1:] != rows[:-1])]  # A text may have a word twice.
            weights[rows] += weight_of(count)
            counts[rows] += 1
            held.append((place, rows))
    texts = np.flatnonzero(counts >= least_words)
    shares = weights[texts] / totals[texts]
    likely = np.flatnonzero(shares >= least_share)
    likely = likely[np.argsort(-shares[likely], kind="stable")][:MOST_PARTS]
    best = texts[likely]
    places: list[list[int]] = [[] for _ in best]
    for place, rows in sorted(held, key=lambda each: each[0]):
        at_most = np.minimum(np.searchsorted(rows, best), len(rows) - 1)
        for number in np.flatnonzero(rows[at_most] == best).tolist():
            places[number].append(place)
    return list(zip(best.tolist(), np.minimum(1.0, shares[likely]).tolist(), places, strict=True))


def _stretch(lookup: Lookup, places: list[int]) -> tuple[int, int, str]:
    """The words from the first to the last of some, when they stand together; else the first of them alone."""
    words = lookup.question.words
    first, last = places[0], places[-1] + 1
    if last - first > len(places) + 3:
        last = first + 1
    return first, last, lookup.question.text[words[first].begin : words[last - 1].end]


def _borne(lookup: Lookup, hits: list[NameHit]) -> list[Sighting]:
    """The objects that bear the names. Of many, those whose table is named too come first."""
    objects = lookup.index.objects
    tables: dict[int, float] = {}
    for hit in hits:
        if objects.origins[hit.name] == "name":
            for number in objects.bearers(hit.name)[: MOST_BEARERS * 4].tolist():
                if objects.kinds[number] == "table":
                    tables[number] = max(tables.get(number, 0.0), hit.strength)
    is_named = np.zeros(len(objects) + 1, dtype=bool)  # The last stands for the table of a source: none.
    is_named[list(tables)] = True
    sightings = []
    for hit in hits:
        bearers = objects.bearers(hit.name)
        worth = rarity(len(bearers), 4, 0.35)
        weight = hit.strength * ORIGIN_WEIGHTS[objects.origins[hit.name]]
        span = (hit.first, hit.last)
        for number in _nearest(objects, bearers, is_named):
            kind = objects.kinds[number]
            close = kind != "table" and tables.get(int(objects.tables[number]), 0.0) >= 0.5
            score = weight * KIND_WEIGHTS[kind] * (max(worth, 0.9) if close else worth)
            lookup.named[number] = max(lookup.named.get(number, 0.0), score)
            lookup.named_spans[span] = max(lookup.named_spans.get(span, 0.0), score)
            sightings.append(
                Sighting(
                    hit.phrase, hit.first, hit.last, number, objects.references[number], "name", hit.match, score,
                    None, hit.note,
                )
            )  # fmt: skip
    return sightings


def _nearest(objects: NamedObjects, bearers: Rows, is_named: NDArray[np.bool_]) -> list[int]:
    if len(bearers) > MOST_BEARERS:
        near = is_named[objects.tables[bearers]]
        bearers = np.concatenate((bearers[near], bearers[~near]))[:MOST_BEARERS]
    found: list[int] = bearers.tolist()
    return found


def _described(lookup: Lookup) -> list[Sighting]:
    """Objects whose description the question's words cover, two of them at least."""
    objects, describing = lookup.index.objects, lookup.index.objects.describing
    sightings = []
    for row, share, places in _covered(
        lookup, describing.postings, describing.rows, objects.description_weights, 2, LEAST_DESCRIBED
    ):
        number = int(objects.described[row])
        first, last, text = _stretch(lookup, places)
        score = 0.15 + 0.35 * share
        lookup.named[number] = max(lookup.named.get(number, 0.0), score)
        sightings.append(
            Sighting(text, first, last, number, objects.references[number], "name", "fuzzy", score, None,
                     "its description says so")
        )  # fmt: skip
    return sightings
