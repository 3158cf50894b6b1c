"""Values, codes, numbers and dates of a question, found in the columns that hold them.

In: a lookup: the phrases of a question and the index. Out: sightings, each with the stored value or range and how sure
it is; other writings of a stored value beside it. Names are matched elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from coset.routing.anchors.hashed_texts import HashedTexts, Hashes, Rows, hashes_of
from coset.routing.anchors.index import LabelledCode
from coset.routing.anchors.phrases import Phrase
from coset.routing.anchors.sightings import NOTHING, Lookup, Sighting, rarity
from coset.routing.anchors.spelling import ASKING_WORDS, normalised
from coset.routing.anchors.stored import HeldValues
from coset.routing.request import AnchorKind, AnchorMatch

FEW_VALUES = 400
MOST = 8
SHORTEST, LONG, SHORTEST_BEGINNING = 5, 9, 3


def variants_of(values: HeldValues, number: int, value: str, equal: list[str]) -> tuple[str, ...]:
    """`equal` are the object's values of the same normalised form."""
    first, last = np.searchsorted(values.objects, [number, number + 1])
    near: list[tuple[int, str]] = [(0, other) for other in equal if other != value]
    meant = normalised(value)
    if last - first <= FEW_VALUES and len(meant) >= SHORTEST and not any(letter.isdigit() for letter in meant):
        for row in range(int(first), int(last)):
            form = values.normal.text(row)
            if form != meant and (rank := _rank(meant, form, values.value(row))):
                near.append((rank, values.value(row)))
    return tuple(text for _, text in sorted(dict.fromkeys(near)))[:MOST]


def _rank(meant: str, form: str, written: str) -> int:
    """1 for a misspelling, 2 for an abbreviation, 0 for something else."""
    if _is_misspelt(meant.split(), form.split()):
        return 1
    short = form.rstrip()
    abbreviated = written.strip().endswith(".") and len(short) >= SHORTEST_BEGINNING and " " not in short
    return 2 if abbreviated and " " not in meant and _may_begin(meant, short) else 0


def _is_misspelt(meant: list[str], written: list[str]) -> bool:
    """Word by word: in a short word another letter makes another word, so `US West` is not `US East`."""
    if len(meant) != len(written):
        meant, written = ["".join(meant)], ["".join(written)]
    return all(
        one == other or (min(len(one), len(other)) >= SHORTEST and slips(one, other, 2) <= 1 + (len(one) >= LONG))
        for one, other in zip(meant, written, strict=True)
    )


def _may_begin(meant: str, short: str) -> bool:
    """Whether an abbreviation, itself perhaps with a doubled letter, begins a word."""
    return meant.startswith(short) or (short[:2] == 2 * short[:1] and meant.startswith(short[1:]))


def slips(one: str, other: str, most: int) -> int:
    """How many letters differ, are missing or changed places, counted up to one more than `most`."""
    if abs(len(one) - len(other)) > most or (one[:1] != other[:1] and one[1:2] != other[1:2]):
        return most + 1
    before: list[int] = []
    row = list(range(len(other) + 1))
    for place, letter in enumerate(one, start=1):
        now = [place]
        for column, wanted in enumerate(other, start=1):
            best = min(row[column] + 1, now[-1] + 1, row[column - 1] + (letter != wanted))
            if before and column > 1 and letter == other[column - 2] and one[place - 2] == wanted:
                best = min(best, before[column - 2] + 1)
            now.append(best)
        if min(now) > most:
            return most + 1
        before, row = row, now
    return min(row[-1], most + 1)


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


SAID, JOINED, ELSEWHERE = 0.92, 0.85, 0.6
MOST_MEANINGS = 8
FEW_COLUMNS = 5
MISSPELT_CODE = 0.8


def code_sightings(lookup: Lookup) -> list[Sighting]:
    if not lookup.index.codes:
        return []
    runs = [(run, run.normal, 1.0) for run in lookup.runs]
    runs += [(run, text, MISSPELT_CODE) for run, text, _ in lookup.corrected_runs]
    found: list[Sighting] = []
    texts = [text for _, text, _ in runs]
    for number, rows in _equal(lookup.index.labels, texts, hashes_of(texts)):
        phrase, _, strength = runs[number]
        meant = [lookup.index.codes[row] for row in rows]
        meant.sort(key=lambda code: (-lookup.closeness(code.object), code.object, code.code))
        strength *= _code_likelihood(lookup, phrase) * rarity(len({code.object for code in meant}))
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


def _code_likelihood(lookup: Lookup, phrase: Phrase) -> float:
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


TITLE, TERM, CALLED_CODE = 0.75, 0.6, 0.3


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
        if titles > 1 or (titles and plain and lookup.named_spans.get((phrase.first, phrase.last), 0.0) >= CALLED_CODE):
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
