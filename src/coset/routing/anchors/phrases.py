"""A question as phrases: words and runs of words, quoted strings, names, codes, numbers, dates.

In: a question in any language. Out: `Phrase`s with their place in it, in a fixed order. A question that is longer than
`MOST_CHARACTERS` is cut, and says so. Knows no environment: nothing here says which phrases mean anything.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, NamedTuple

from coset.errors import UserError
from coset.routing.anchors.dates import DateRange, Quantity, date_ranges, quantities
from coset.routing.anchors.spelling import STOP_WORDS, normalised

MOST_CHARACTERS = 8_000
MOST_WORDS = 6
"""Runs of words are so long at most; a quoted string may be longer."""
LONGEST_QUOTED = 200

PhraseKind = Literal["word", "words", "quoted", "name", "code", "number", "date"]


class Phrase(NamedTuple):
    """A piece of the question: `begin` and `end` are characters of it, `first` and `last` the words it covers. A
    question has dozens: they must be cheap."""

    text: str
    kind: PhraseKind
    begin: int
    end: int
    first: int
    last: int
    """The word after the last one of the phrase."""
    normal: str
    quantity: Quantity | None = None
    dates: DateRange | None = None

    @property
    def names_something(self) -> bool:
        """Whether it is written as one writes a value: in quotes, with capitals, as a code."""
        return self.kind in ("quoted", "name", "code")


class Word(NamedTuple):
    """A word of the question, as written and normalised."""

    text: str
    normal: str
    begin: int
    end: int

    @property
    def is_stop(self) -> bool:
        return self.normal in STOP_WORDS

    @property
    def is_capital(self) -> bool:
        """Whether it is written as a name is; `iShares` and `eBay` are."""
        begin = self.text[:3]
        # Of plain letters, those that are not their own small form are capitals: a question asks this often.
        return begin != begin.lower() if begin.isascii() else any(letter.isupper() for letter in begin)


@dataclass(frozen=True)
class ReadQuestion:
    """The words and phrases of a question, and what was left out of it."""

    text: str
    words: tuple[Word, ...]
    phrases: tuple[Phrase, ...]
    note: str = ""


def phrases_of(question: str) -> tuple[Phrase, ...]:
    """All phrases: first what is written as a value (quoted, names, codes), numbers and dates, then runs of words."""
    return read_question(question).phrases


def read_question(question: str) -> ReadQuestion:
    if not question.strip():
        raise UserError("the question is empty: ask something, such as `how many orders were placed in March 2020?`")
    text, note = question, ""
    if len(question) > MOST_CHARACTERS:
        cut = question.rfind(" ", MOST_CHARACTERS // 2, MOST_CHARACTERS)
        text = question[: cut if cut > 0 else MOST_CHARACTERS]
        note = f"the question has {len(question):,} characters: only the first {len(text):,} were looked up"
    words = _words(text)
    marked = [*_quoted(text, words), *_codes(text, words), *_names(text, words)]
    seen: set[tuple[int, int]] = set()
    special = []
    for phrase in marked:  # The first reading of a place holds: a quoted string is not a name as well.
        if (phrase.first, phrase.last) not in seen and phrase.normal:
            seen.add((phrase.first, phrase.last))
            special.append(phrase)
    dates = [_at(text, words, "date", begin, end, dates=found) for begin, end, found in date_ranges(text)]
    numbers = [_at(text, words, "number", begin, end, quantity=found) for begin, end, found in quantities(text)]
    # The parts of a date are no names and no numbers; a year alone may be an id all the same.
    numbers = [phrase for phrase in numbers if not any(_is_part(phrase, date) for date in dates)]
    special = [
        phrase
        for phrase in special
        if phrase.kind == "quoted" or not any(_is_part(phrase, date) or _covers(phrase, date) for date in dates)
    ]
    return ReadQuestion(text, words, (*special, *dates, *numbers, *_runs(text, words, seen)), note)


def _is_part(phrase: Phrase, whole: Phrase) -> bool:
    inside = whole.begin <= phrase.begin and phrase.end <= whole.end
    return inside and phrase.end - phrase.begin < whole.end - whole.begin


def _covers(phrase: Phrase, other: Phrase) -> bool:
    return phrase.begin == other.begin and phrase.end == other.end


_WORD = re.compile(r"[^\W_]+|&")


def _words(text: str) -> tuple[Word, ...]:
    found: list[Word] = []
    for match in _WORD.finditer(text):
        parts = normalised(match.group()).split()
        if len(parts) == 1:
            found.append(Word(match.group(), parts[0], match.start(), match.end()))
            continue
        # A run of a script without spaces: its letters are looked up one by one and together.
        place = match.start()
        for part in parts:
            begin = text.find(part, place, match.end())
            begin = place if begin < 0 else begin
            place = min(begin + len(part), match.end())
            found.append(Word(text[begin:place] or part, part, begin, place))
    return tuple(found)


def _runs(text: str, words: tuple[Word, ...], taken: set[tuple[int, int]]) -> list[Phrase]:
    """Runs of one to six words. A stop word alone is none; at the beginning or end it is part of short ones only
    (`not started`, `out of stock`)."""
    found = []
    normals = [word.normal for word in words]
    is_stop = [normal in STOP_WORDS for normal in normals]
    for length in range(MOST_WORDS, 0, -1):
        kind: PhraseKind = "word" if length == 1 else "words"
        for first in range(len(words) - length + 1):
            last = first + length
            if (first, last) in taken:
                continue
            edges = is_stop[first] or is_stop[last - 1]
            if edges and (length > 3 or length == 1 or all(is_stop[first:last])):
                continue
            begin, end = words[first].begin, words[last - 1].end
            found.append(Phrase(text[begin:end], kind, begin, end, first, last, " ".join(normals[first:last])))
    return found


_QUOTED = re.compile(
    r"\"([^\"\n]{1,200})\"|“([^”\n]{1,200})”|«([^»\n]{1,200})»|„([^“”\n]{1,200})[“”]|`([^`\n]{1,200})`"
    r"|(?<!\w)'([^'\n]{1,200}(?:'\w[^'\n]{0,60})?)'(?!\w)|(?<!\w)‘([^’\n]{1,200})’(?!\w)"
)


def _quoted(text: str, words: tuple[Word, ...]) -> list[Phrase]:
    found = []
    for match in _QUOTED.finditer(text):
        group = next(number for number, content in enumerate(match.groups(), start=1) if content is not None)
        # A comma or full stop before the closing mark belongs to the sentence.
        content = match.group(group).rstrip(" ,.;")
        begin = match.start(group)
        if content:
            found.append(_at(text, words, "quoted", begin, begin + len(content)))
    return found


_CODE = re.compile(
    r"(?<!\w)[\w.+-]+@[\w-]+(?:\.[\w-]+)+"  # an e-mail address
    r"|(?<![\w-])#?(?=[\w./-]*\d)(?=[\w./-]*[A-Za-z])\w+(?:[-./]\w+)*(?![\w-])"  # letters and digits: A-12, 00Q7x
    r"|(?<![\w-])[A-Z]{2,}(?:[-_./][A-Z0-9]+)*(?![\w-])"  # capitals: LGG, TCGA-BRCA
    r"|(?<![\w-])#?\d+(?:-\d+)+(?![\w-])|(?<![\w.,-])#\d+\b"  # digits with dashes: 978-0975315729
)


def _codes(text: str, words: tuple[Word, ...]) -> list[Phrase]:
    return [
        _at(text, words, "code", match.start() + (match.group()[0] == "#"), match.end())
        for match in _CODE.finditer(text)
        if not _IS_ORDINAL.fullmatch(match.group())
    ]


_IS_ORDINAL = re.compile(
    r"\d+(?:st|nd|rd|th|s|k|m|bn|x|am|pm)|\d{4}-\d{2}(?:-\d{2})?|\d{4}-\d{4}|[QH]\d", re.IGNORECASE
)
_JOINING = frozenset(("of", "the", "and", "&", "for", "de", "la", "von", "van", "der", "in", "on", "to", "a"))


def _names(text: str, words: tuple[Word, ...]) -> list[Phrase]:
    """Runs of capitalised words; small joining words may stand between them. The first word of a sentence is not a
    name by its capital alone."""
    found = []
    first = 0
    while first < len(words):
        if not words[first].is_capital or (words[first].is_stop and _begins_sentence(text, words[first])):
            first += 1
            continue
        last = first + 1
        ahead = last
        while ahead < len(words) and _adjacent(text, words[ahead - 1], words[ahead]):
            if words[ahead].is_capital or words[ahead].text[0].isdigit():
                last = ahead + 1
            elif words[ahead].normal not in _JOINING or ahead - last >= 2:
                break
            ahead += 1
        alone = last == first + 1
        if not (alone and (words[first].is_stop or _begins_sentence(text, words[first]))):
            found.append(_between(text, words, "name", first, last))
        if not alone and _begins_sentence(text, words[first]):
            found.append(_between(text, words, "name", first + 1, last))
        first = last
    return [phrase for phrase in found if phrase.last - phrase.first <= 12]


def _begins_sentence(text: str, word: Word) -> bool:
    before = text[: word.begin].rstrip()
    return not before or before[-1] in ".?!:\n"


def _adjacent(text: str, before: Word, after: Word) -> bool:
    between = text[before.end : after.begin]
    # An apostrophe alone stands within a name (O'Neil); with a space beside it, it is a quotation mark.
    return len(between) <= 2 and (between == "'" or not set(between) & set(".,;:?!()\n\"“”'‘’«»"))


def _between(text: str, words: tuple[Word, ...], kind: PhraseKind, first: int, last: int) -> Phrase:
    begin, end = words[first].begin, words[last - 1].end
    normal = " ".join(word.normal for word in words[first:last])
    return Phrase(text[begin:end], kind, begin, end, first, last, normal)


def _at(
    text: str,
    words: tuple[Word, ...],
    kind: PhraseKind,
    begin: int,
    end: int,
    *,
    quantity: Quantity | None = None,
    dates: DateRange | None = None,
) -> Phrase:
    """A phrase by its characters; the words that it touches are its words."""
    inside = [number for number, word in enumerate(words) if word.begin < end and word.end > begin]
    first, last = (inside[0], inside[-1] + 1) if inside else (0, 0)
    content = text[begin:end]
    return Phrase(content, kind, begin, end, first, last, normalised(content), quantity, dates)
