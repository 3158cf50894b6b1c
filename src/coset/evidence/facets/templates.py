"""Sentences that were made from a template: which words are fixed, and what stands between them.

In: a quoted column and a sample of its values. Out: one candidate for each slot. A slot begins after words that often
stand together ("published by") where the next word differs from text to text, and ends at the words or signs that
follow it. Several templates in one column are found together, since a slot is known by the words around it, not by
the whole sentence. Natural prose has no such places: its words seldom stand together that often.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from coset.evidence.facets.candidate import (
    MONTH_WORDS,
    SMALL_WORDS,
    Candidate,
    Token,
    as_number,
    escaped,
    extract,
    tokens,
    trimmed,
)

_WINDOW = 14
_LONGEST_SLOT = 8
_SLOTS = 24
_FEWEST_PLACES = 10
_INSIDE_NAMES = frozenset({"and", "of", "the", "for", "de", "or", "in", "to", "at"})
_NEVER_LAST = frozenset({"and", "or", "und", "et", "y", "oder", "ou"}) | MONTH_WORDS
_LINKS = r"(?:,\s*(?:and\s+|or\s+|&\s*)?|\s+(?:and|or|&)\s+)"
_ITEM = r"[\w&'’/\-]+(?: [\w&'’/\-]+){0,3}"
_ENUMERATION = re.compile(
    rf"\s*:?\s*{_ITEM}(?:, {_ITEM}){{1,}},? (?:and|or|&) {_ITEM}|\s*:?\s*{_ITEM}(?:, {_ITEM}){{2,}}"
)


@dataclass(frozen=True)
class _Place:
    """Where a phrase ends in one of the values: the text from there, and its tokens."""

    text: str
    following: tuple[Token, ...]


def template_candidates(column: str, values: Sequence[str], floor: int) -> list[Candidate]:
    texts = [(value, tokens(value)) for value in values]
    length = sum(len(words) for _, words in texts) / max(len(texts), 1)
    # The longer the texts, the more often two words meet by chance.
    often = max(floor, _FEWEST_PLACES, math.ceil(len(texts) * min(0.5, 0.08 + length / 2000)))
    found = []
    places = _phrases(texts, often)
    for phrase in sorted(places, key=lambda phrase: (-len(places[phrase]), phrase)):
        here = places[phrase]
        slot = _enumeration(column, phrase, here)
        if slot is None and (len(phrase) > 1 or _counts(here)):
            slot = _slot(column, phrase, here, len(here) / len(texts))
        if slot is not None:
            found.append(slot)
        if len(found) >= _SLOTS:
            break
    beginning = _beginning(column, texts)
    return [*found, beginning] if beginning else found


def _phrases(texts: Sequence[tuple[str, list[Token]]], often: int) -> dict[tuple[str, ...], list[_Place]]:
    """Words that often stand together, each with the places where it first ends in a text."""
    single: Counter[str] = Counter()
    for _, words in texts:
        single.update({word.lower for word in words})
    places: dict[tuple[str, ...], list[_Place]] = defaultdict(list)
    for text, words in texts:
        seen: set[tuple[str, ...]] = set()
        for end in range(len(words)):
            for phrase in _ending_at(words, end, single, often):
                if phrase not in seen:
                    seen.add(phrase)
                    following = tuple(words[end + 1 : end + 1 + _WINDOW])
                    places[phrase].append(_Place(text[words[end].end :][:400], following))
    return {
        phrase: here
        for phrase, here in places.items()
        if len(here) >= often and len(here) >= 0.5 * min(single[word] for word in phrase if word not in SMALL_WORDS)
    }


def _ending_at(words: Sequence[Token], end: int, single: Counter[str], often: int) -> list[tuple[str, ...]]:
    """The phrases that end here: two words with one that says something, three where the last two are small."""
    last = words[end]
    if (
        last.lower in _NEVER_LAST
        or single[last.lower] < often
        or not (last.is_word or last.text in ":#(")
        or end + 1 == len(words)
    ):
        return []
    phrases: list[tuple[str, ...]] = []
    if last.says_something:
        phrases.append((last.lower,))
    if end and words[end - 1].is_word and single[words[end - 1].lower] >= often:
        before = words[end - 1]
        if before.says_something or last.says_something:
            phrases.append((before.lower, last.lower))
        elif end > 1 and words[end - 2].says_something and single[words[end - 2].lower] >= often:
            phrases.append((words[end - 2].lower, before.lower, last.lower))
    return phrases


def _counts(places: Sequence[_Place]) -> bool:
    """Whether a number follows nearly everywhere ("season 3"): then one word is phrase enough."""
    return sum(bool(place.following) and place.following[0].text.isdigit() for place in places) >= 0.95 * len(places)


def _left(phrase: Sequence[str]) -> str:
    pattern = ""
    for word in phrase:
        pattern += (r"\s+" if pattern and word[0].isalnum() else r"\s*" if pattern else "") + re.escape(word)
    return rf"(?i)\b{pattern}" + (r"\s+" if phrase[-1][0].isalnum() else r"\s*")


def _name(phrase: Sequence[str]) -> str:
    return " ".join(word for word in phrase if word[0].isalnum())


def _enumeration(column: str, phrase: tuple[str, ...], places: Sequence[_Place]) -> Candidate | None:
    """What follows is mostly a list of short names."""
    nexts = Counter(place.following[0].lower for place in places if place.following)
    if not nexts or nexts.most_common(1)[0][1] > 0.8 * len(places):
        return None
    lists = [match.group().strip(" :") for match in (_ENUMERATION.match(place.text) for place in places) if match]
    if len(lists) < 0.6 * len(places):
        return None
    items = [item for text in lists for item in re.split(_LINKS, text)]
    odd = sum(item[0].isdigit() or item.split()[0].lower() in SMALL_WORDS for item in items)
    if (
        odd > 0.1 * len(items)
        or len(set(items)) > 0.7 * len(items)
        or sum(len(item.split()) for item in items) > 3 * len(items)
    ):
        return None
    pattern = _left(phrase) + rf":?\s*({_ITEM}(?:,? (?:and|or|&) {_ITEM}|, (?:and |or |& )?{_ITEM})+)"
    text = extract(column, pattern)
    expression = f"string_split_regex({text}, '{_LINKS}')"
    note = f'the list after "{_name(phrase)}"; its last element may hold the words that follow the list'
    return Candidate(_name(phrase), "list", expression, "VARCHAR[]", note, 0.88, text, varied=True)


def _slot(column: str, phrase: tuple[str, ...], places: Sequence[_Place], share: float) -> Candidate | None:
    nexts = Counter(place.following[0].lower for place in places if place.following)
    # After a small word ("written in") a capital letter begins a name, even where it is nearly always the same one.
    capitals = sum(place.following[0].text[0].isupper() for place in places if place.following)
    named = phrase[-1] in SMALL_WORDS and capitals >= 0.6 * len(places)
    if not nexts or not _branches(nexts, len(places), 1.15 if named else 2.0):
        return None
    ends = _ends(places)
    read = _read(places, ends)
    if not _worth_reading(read, len(places), share):
        return None
    pattern = _left(phrase) + rf"([^\n]+?)\s*(?:{'|'.join(_end_pattern(end) for end in ends)})"
    text = trimmed(extract(column, pattern))
    name = _name(phrase)
    stops = ", ".join("the end" if end == "" else f'"{end}"' for end in ends)
    note = f'what stands between "{name}" and {stops}'
    if sum(re.fullmatch(r"\d+(?:,\d{3})*(?:\.\d+)?", value) is not None for value in read) >= 0.95 * len(read):
        return Candidate(name, "number", as_number(text), "DOUBLE", note, 0.75, text, varied=True)
    if _lists_things(read):
        expression = f"string_split_regex({text}, '{_LINKS}')"
        note = f"the list that {note.removeprefix('what ')}; unnest() gives a row for each element"
        return Candidate(name, "list", expression, "VARCHAR[]", note, 0.75, text, varied=True)
    return Candidate(name, "slot", text, "VARCHAR", note, 0.7, text, varied=True)


def _lists_things(read: Sequence[str]) -> bool:
    """Whether texts are lists of few things that come back in many of them: `A, B and C`, `A`, `B and A`. A name with
    an *and* in it is none: its parts do not come back without each other."""
    lists = [re.split(_LINKS, value) for value in read]
    items = [item for each in lists for item in each]
    several = sum(len(each) > 1 for each in lists)
    if several < 0.3 * len(lists) or len(items) < 1.5 * len(lists):
        return False
    long = sum(len(item.split()) > 4 or item[:1].isdigit() or not item for item in items)
    return long <= 0.1 * len(items) and 2 * len(set(items)) <= len(set(read)) and 2 * len(set(items)) <= len(items)


def _branches(nexts: Counter[str], places: int, least: float = 2.0) -> bool:
    """Whether the next word differs enough to be the beginning of a slot."""
    total = sum(nexts.values())
    entropy = -sum(count / total * math.log(count / total) for count in nexts.values())
    small = sum(count for word, count in nexts.items() if word in SMALL_WORDS or not word[0].isalnum())
    return total >= 0.6 * places and math.exp(entropy) >= least and small <= 0.4 * total


def _ends(places: Sequence[_Place]) -> list[str]:
    """The fewest words or signs at which what follows the phrase ends; "" is the end of the text."""
    at: dict[str, dict[int, int]] = defaultdict(dict)
    for number, place in enumerate(places):
        for position, token in enumerate(place.following[1 : _LONGEST_SLOT + 1], start=1):
            at[token.lower].setdefault(number, position)
        if len(place.following) <= _LONGEST_SLOT:
            at[""].setdefault(number, len(place.following))
    open_places = set(range(len(places)))
    ends: list[str] = []
    while open_places and len(ends) < 6:
        best, gain = "", 0.0
        for end in sorted(at):
            here = [at[end][number] for number in at[end].keys() & open_places]
            if here and len(here) >= 0.04 * len(places) and not (end and end[0].isdigit()):
                score = len(here) / (1 + 0.05 * sum(here) / len(here))
                if score > gain:
                    best, gain = end, score
        if gain == 0:
            break
        ends.append(best)
        open_places -= at[best].keys()
    return ends


def _read(places: Sequence[_Place], ends: Sequence[str]) -> list[str]:
    read = []
    for place in places:
        for position, token in enumerate(place.following[: _LONGEST_SLOT + 1]):
            if position and token.lower in ends:
                first = place.following[0]
                offset = first.start - (len(place.text) - len(place.text.lstrip()))
                read.append(place.text[first.start - offset : token.start - offset].strip())
                break
        else:
            if "" in ends and len(place.following) <= _LONGEST_SLOT:
                read.append(place.text.strip())
    return read


def _worth_reading(read: Sequence[str], places: int, share: float) -> bool:
    if len(read) < 0.7 * places:
        return False
    counts = Counter(read)
    words = [value.split() for value in read if value]
    small = sum(value[0].lower().strip(".,") in SMALL_WORDS for value in words)
    names = sum(value[0][:1].isupper() or value[0][:1].isdigit() for value in words)
    few = share >= 0.4 and sum(count for _, count in counts.most_common(10)) >= 0.95 * len(read)
    if len(counts) < 2 or counts.most_common(1)[0][1] > 0.95 * len(read) or small > 0.3 * len(read):
        return False
    if all(value.lower() in MONTH_WORDS for value in counts):
        return False
    few = few and counts.most_common(1)[0][1] <= 0.8 * len(read)
    # Free words after a phrase are prose; names, numbers and values that come back are what a template is filled with.
    return sum(map(len, words)) <= 5 * len(words) and (names >= 0.6 * len(read) or few)


def _end_pattern(end: str) -> str:
    if end == "":
        return "$"
    if end[0].isalnum():
        return rf"\b{re.escape(end)}\b"
    if end == "\n":
        return r"\n"
    return escaped(end) + (r"(?:\s|$)" if end in ".,:;" else "")


def _beginning(column: str, texts: Sequence[tuple[str, list[Token]]]) -> Candidate | None:
    """The name with which texts begin, where a handful of words follow it ("Acme Ltd provides ...")."""
    places = [_Place(text[:400], tuple(words[:_WINDOW])) for text, words in texts if len(words) > 4]
    if len(places) < 0.8 * len(texts) or not places:
        return None
    nexts = Counter(place.following[0].lower for place in places)
    if not _branches(nexts, len(places)) or len(nexts) < 5:
        return None
    verbs: Counter[str] = Counter()
    for place in places:
        # In order: a set would give equal counts another order in every run.
        verbs.update(sorted({word.lower for word in place.following[1:_LONGEST_SLOT] if word.text.islower()}))
    ends = [word for word, count in verbs.most_common(40) if count >= 0.02 * len(places) and len(word) > 1]
    ends = [word for word in ends if word not in _INSIDE_NAMES][:12]
    name = r"(?:[A-Z0-9][\w.'’&\-]*|&|of|and|the|for|de)"
    pattern = rf"^\s*([A-Z0-9][\w.'’&\-]*(?:,? {name})*?),? (?:{'|'.join(map(re.escape, ends))})\b"
    read = [match.group(1) for match in (re.match(pattern, place.text) for place in places) if match]
    if not ends or len(read) < 0.5 * len(places) or len(set(read)) < max(10, 0.1 * len(read)):
        return None
    if sum(value.split()[0].lower() in SMALL_WORDS for value in read) > 0.2 * len(read):
        return None
    text = extract(column, pattern)
    shown = ", ".join(f'"{end}"' for end in ends[:6])
    note = f"the name that the text begins with, before {shown} and the like"
    return Candidate("beginning", "slot", text, "VARCHAR", note, 0.72, text, varied=True)
