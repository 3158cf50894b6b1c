"""Codes by what they stand for, and documents by their titles and terms.

In: a question being looked up. Out: sightings of kind `code`: the column that holds the code, the code as stored, and
the place that says so; columns that join with it; and other columns that hold the same code. And of kind `document`.
"""

from __future__ import annotations

from collections.abc import Iterable

from coset.routing.anchors.hashed_texts import HashedTexts, Hashes, hashes_of
from coset.routing.anchors.index import LabelledCode
from coset.routing.anchors.phrases import Phrase
from coset.routing.anchors.sightings import NOTHING, Lookup, Sighting, rarity
from coset.routing.anchors.text_forms import ASKING_WORDS, normalised

SAID, JOINED, ELSEWHERE = 0.92, 0.85, 0.6
MOST_MEANINGS = 8
FEW_COLUMNS = 5
MISSPELT = 0.8


def code_sightings(lookup: Lookup) -> list[Sighting]:
    if not lookup.index.codes:
        return []
    runs = [(run, run.normal, 1.0) for run in lookup.runs]
    runs += [(run, text, MISSPELT) for run, text, _ in lookup.corrected_runs]
    found: list[Sighting] = []
    texts = [text for _, text, _ in runs]
    for number, rows in _equal(lookup.index.labels, texts, hashes_of(texts)):
        phrase, _, strength = runs[number]
        meant = [lookup.index.codes[row] for row in rows]
        meant.sort(key=lambda code: (-lookup.closeness(code.object), code.object, code.code))
        strength *= _likelihood(lookup, phrase) * rarity(len({code.object for code in meant}))
        for code in meant[:MOST_MEANINGS]:
            found += _of_code(lookup, phrase, code, strength)
    return found


def _equal(texts: HashedTexts, keys: list[str], hashes: Hashes) -> Iterable[tuple[int, list[int]]]:
    places = texts.whole.places(hashes).tolist()
    for number, place in enumerate(places):
        if place >= 0:
            rows = texts.whole.rows(place, 64).tolist()
            if texts.text(rows[0]) == keys[number]:
                yield number, rows


def _likelihood(lookup: Lookup, phrase: Phrase) -> float:
    if phrase.kind in ("word", "words") and all(word in ASKING_WORDS for word in phrase.normal.split()):
        return 0.4
    return 0.85 if phrase.kind == "word" and not lookup.question.words[phrase.first].is_capital else 1.0


def _of_code(lookup: Lookup, phrase: Phrase, code: LabelledCode, strength: float) -> Iterable[Sighting]:
    note = f'{code.code}: "{code.label}" ({code.origin})'
    yield _sighting(lookup, phrase, code.object, code.code, SAID * strength, note)
    joined = dict.fromkeys(lookup.index.related.get(code.object, ()))
    stored = _stored(lookup, code.code)
    for number in joined:
        # A join may rewrite its keys (a prefix, a stray letter): the code as that column has it, where it is held.
        if values := stored.get(number):
            yield _sighting(lookup, phrase, number, values[0], JOINED * strength, note)
        elif number in lookup.index.ranges.keys or not stored:
            yield _sighting(lookup, phrase, number, code.code, 0.9 * JOINED * strength, note)
    same = [number for number, values in stored.items() if code.code in values]
    if len(code.code) >= 2 and len(same) <= FEW_COLUMNS:
        for number in same:
            if number != code.object and number not in joined:
                yield _sighting(lookup, phrase, number, code.code, ELSEWHERE * strength, note)


def _stored(lookup: Lookup, code: str) -> dict[int, list[str]]:
    """The held values that are the code, or hold it as a word, by object; the exact one first."""
    values = lookup.index.values
    key = normalised(code)
    found: dict[int, set[str]] = {}
    if not key:
        return {}
    hashes = hashes_of([key])
    for _, rows, _ in values.equal([key], hashes):
        for row in rows:
            found.setdefault(int(values.objects[row]), set()).add(values.value(int(row)))
    place = int(values.words.postings.places(hashes)[0])
    if place >= 0:
        for row in values.words.rows(place, 64):
            if key in values.normal.text(int(row)).split():
                found.setdefault(int(values.objects[row]), set()).add(values.value(int(row)))
    return {
        number: sorted(each, key=lambda value: (value != code, len(value), value)) for number, each in found.items()
    }  # fmt: skip


def _sighting(lookup: Lookup, phrase: Phrase, number: int, value: str, score: float, note: str) -> Sighting:
    reference = lookup.index.objects.references[number]
    return Sighting(phrase.text, phrase.first, phrase.last, number, reference, "code", "dictionary", score, value, note)


TITLE, TERM, CALLED = 0.75, 0.6, 0.3


def document_sightings(lookup: Lookup) -> list[Sighting]:
    if not lookup.index.documents:
        return []
    found = []
    for number, rows in _equal(lookup.index.terms, [run.normal for run in lookup.runs], lookup.run_hashes):
        phrase = lookup.runs[number]
        if phrase.kind == "word" and phrase.normal in ASKING_WORDS:
            continue
        titles = sum(lookup.index.documents[row].kind == "title" for row in rows)
        plain = phrase.kind == "word" and not lookup.question.words[phrase.first].is_capital
        if titles > 1 or (titles and plain and lookup.named_spans.get((phrase.first, phrase.last), 0.0) >= CALLED):
            continue  # Many texts of one title are rows, and a text called `Reviews` explains no reviews.
        for row in rows[:MOST_MEANINGS]:
            document = lookup.index.documents[row]
            score = (TITLE if document.kind == "title" else TERM) * rarity(len(rows))
            score *= 0.6 if phrase.kind == "word" else 1.0
            found.append(
                Sighting(
                    phrase.text, phrase.first, phrase.last, NOTHING, document.reference, "document",
                    "exact" if document.term == phrase.text else "normalised", score, document.term,
                    "its title" if document.kind == "title" else "a term that it explains",
                )
            )  # fmt: skip
    return found
