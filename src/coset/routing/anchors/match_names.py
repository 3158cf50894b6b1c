"""Names of tables, columns, sources, paths and facets in a question: equal in some form, misspelt, in part.

In: a question being looked up. Out: sightings of kind `name`, and, in the lookup, how strongly each object is named.
Keys are looked up by hash, all forms of all phrases at once; nothing walks over the names.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coset.readings.words import singular
from coset.routing.anchors.hashed_texts import Postings, Rows, hashes_of, weight_of_one
from coset.routing.anchors.phrases import Phrase
from coset.routing.anchors.sightings import Lookup, Sighting, rarity
from coset.routing.anchors.spelling import ASKING_WORDS, in_full, stem
from coset.routing.anchors.stored import KIND_WEIGHTS, ORIGIN_WEIGHTS, Form, NamedObjects
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
MOST_FORMED = 6
"""Names are looked for in phrases of so many words at most."""


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
    origins: list[tuple[Phrase, dict[str, Form]]] = []
    known: dict[str, PhraseForms] = {}
    for phrase in lookup.runs:
        if phrase.normal.count(" ") >= MOST_FORMED:
            continue
        forms = _forms(phrase.normal, known)
        keys += forms
        origins += [(phrase, forms)] * len(forms)
    hits = []
    for number, name, form in lookup.index.objects.found(hashes_of(keys)):
        phrase, forms = origins[number]
        asked = forms[keys[number]]
        if not _may_be_initials(phrase, asked, form, keys[number]):
            continue
        weaker = asked if STRENGTH[asked] < STRENGTH[form] else form
        strength, match = STRENGTH[weaker], MATCH[weaker]
        if match == "exact" and keys[number] in ASKING_WORDS:
            strength *= 0.5
        hits.append(NameHit(phrase.text, phrase.first, phrase.last, name, strength, match))
    return hits


PhraseForms = tuple[int, str, str, str, str, str]
"""How many words a phrase has; its words in the singular, the same as one word, with abbreviations written out, their
stems, their initials."""


@lru_cache(maxsize=50_000)
def _word_forms(word: str) -> PhraseForms:
    alone = singular(word)
    full = in_full((alone,))
    return 1, alone, alone, " ".join(map(singular, full)), " ".join(map(stem, full)), word[:1]


def _phrase_forms(text: str, known: dict[str, PhraseForms]) -> PhraseForms:
    """The forms of a phrase from those of its words; runs of words begin alike, so each adds a word to another."""
    found = known.get(text)
    if found is None:
        before, _, last = text.rpartition(" ")
        found = _word_forms(last)
        if before:
            count, alone, compact, full, stems, initials = _phrase_forms(before, known)
            _, own, _, own_full, own_stem, own_initial = found
            found = (
                count + 1, f"{alone} {own}", compact + own, f"{full} {own_full}", f"{stems} {own_stem}",
                initials + own_initial,
            )  # fmt: skip
        known[text] = found
    return found


def _forms(text: str, known: dict[str, PhraseForms]) -> dict[str, Form]:
    """The keys of a phrase with their forms, each once, the strongest form first."""
    count, alone, compact, full, stems, initials = _phrase_forms(text, known)
    made: dict[str, Form] = {text: "plain"}
    made.setdefault(alone, "singular")
    if count <= 3:
        made.setdefault(compact, "compact")
    made.setdefault(full, "in full")
    made.setdefault(stems, "stem")
    if 3 <= count <= 5:
        made.setdefault(initials, "initials")
    return made


def _may_be_initials(phrase: Phrase, asked: Form, form: Form, key: str) -> bool:
    """Initials are letters in common by chance unless they are written as such, or are the whole other name."""
    if form == "initials":
        return asked == "plain" and phrase.text.isupper()
    return asked != "initials" or (form == "plain" and len(key) >= 3)


def _corrected(lookup: Lookup) -> list[NameHit]:
    variants = lookup.corrected_runs
    if not variants:
        return []
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
    known = lookup.index.objects.vocabulary.postings.places(lookup.shortened_hashes) >= 0
    written = {word.normal for word in lookup.question.words}
    by_place: dict[int, list[str]] = {}
    for (place, way), is_known in zip(lookup.shortened, known.tolist(), strict=True):
        if is_known and way not in written:
            by_place.setdefault(place, []).append(way)
    if not by_place:
        return []
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
    weights = np.zeros(len(totals))
    for place, at in zip(lookup.roots.values(), postings.places(lookup.root_hashes).tolist(), strict=True):
        count = postings.count(at) if at >= 0 else 0
        if 0 < count <= COMMON_STEM:
            rows = rows_at(at)
            weights[rows] += weight_of_one(count)  # Once, though a text may have a word twice.
            held.append((place, rows))
    texts = (weights > 0.0).nonzero()[0]
    if least_words > 1:
        counts = np.zeros(len(totals), dtype=np.int16)
        for _, rows in held:
            counts[rows] += 1
        texts = texts[counts[texts] >= least_words]
    shares = weights[texts] / totals[texts]
    likely = (shares >= least_share).nonzero()[0]
    likely = likely[(-shares[likely]).argsort(kind="stable")][:MOST_PARTS]
    best: list[int] = texts[likely].tolist()
    if not best:
        return []
    is_best = np.zeros(len(totals), dtype=bool)
    is_best[best] = True
    places: dict[int, list[int]] = {text: [] for text in best}
    for place, rows in held:
        for text in dict.fromkeys(rows[is_best[rows]].tolist()):
            places[text].append(place)
    return list(zip(best, np.minimum(1.0, shares[likely]).tolist(), places.values(), strict=True))


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
    borne_by = objects.bearers([hit.name for hit in hits])
    first_ones = [bearers[: MOST_BEARERS * 4].tolist() for bearers in borne_by]
    tables: dict[int, float] = {}
    for hit, numbers in zip(hits, first_ones, strict=True):
        if objects.origins[hit.name] == "name":
            for number in numbers:
                if objects.kinds[number] == "table":
                    tables[number] = max(tables.get(number, 0.0), hit.strength)
    is_named = np.zeros(len(objects) + 1, dtype=bool)  # The last stands for the table of a source: none.
    is_named[list(tables)] = True
    surely = {table for table, strength in tables.items() if strength >= 0.5}
    named, spans, references = lookup.named, lookup.named_spans, objects.references
    sightings = []
    for hit, bearers, numbers in zip(hits, borne_by, first_ones, strict=True):
        phrase, first, last, name, strength, match, note = hit
        worth = rarity(len(bearers), 4, 0.35)
        weight = strength * ORIGIN_WEIGHTS[objects.origins[name]]
        if len(bearers) > MOST_BEARERS:
            numbers = _nearest(objects, bearers, is_named)
        best = 0.0
        for number in numbers:
            kind = objects.kinds[number]
            close = surely and kind != "table" and int(objects.tables[number]) in surely
            score = weight * KIND_WEIGHTS[kind] * (max(worth, 0.9) if close else worth)
            if score > named.get(number, 0.0):
                named[number] = score
            best = max(best, score)
            sightings.append(
                Sighting(phrase, first, last, number, references[number], "name", match, score, None, note)
            )
        spans[first, last] = max(spans.get((first, last), 0.0), best)
    return sightings


def _nearest(objects: NamedObjects, bearers: Rows, is_named: NDArray[np.bool_]) -> list[int]:
    """Some of many bearers, those whose table is named first."""
    near = is_named[objects.tables[bearers]]
    found: list[int] = np.concatenate((bearers[near], bearers[~near]))[:MOST_BEARERS].tolist()
    return found


def _described(lookup: Lookup) -> list[Sighting]:
    """Objects whose description the question's words cover, two of them at least."""
    objects, describing = lookup.index.objects, lookup.index.objects.describing
    sightings = []
    for row, share, places in _covered(
        lookup, describing.postings, describing.rows, objects.description_weights, 2, LEAST_DESCRIBED
    ):
        number = objects.described[row]
        first, last, text = _stretch(lookup, places)
        score = 0.15 + 0.35 * share
        lookup.named[number] = max(lookup.named.get(number, 0.0), score)
        sightings.append(
            Sighting(text, first, last, number, objects.references[number], "name", "fuzzy", score, None,
                     "its description says so")
        )  # fmt: skip
    return sightings
