"""Facets of marked text: codes, contacts (addresses, links, phone numbers), key-value pairs and lists.

In: some texts of a column. Out: candidates, each with the expression that reads it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from coset.evidence.facets.candidate import (
    MONTH_WORDS,
    SMALL_WORDS,
    STATE_CODES,
    Candidate,
    Kind,
    as_number,
    escaped,
    extract,
    trimmed,
)
from coset.sql_text import literal

_LINK = r"(?:\s*(?:\b(?:of|is|was|are|number|no|nr|num|id|code)\b\.?|[:#=]))*\s*"
_CODE = r"[A-Za-z]{0,6}[\-_]?\d[A-Za-z0-9]*(?:[\-_/][A-Za-z0-9]+)*"
_TOKEN = re.compile(rf"(?<![\w.,$€£\-/@])({_CODE})(?!\w|[,.:]\d|@)")
_BEFORE = re.compile(rf"\b([A-Za-z][A-Za-z]+(?:-\d{{1,2}})?)({_LINK})$")
_SHAPED = re.compile(r"(?<![\w\-/.@])([A-Z]{1,6})([\-_]?)(\d{3,12})(?![\w@]|-\w|\.\w)")
_UUID = r"\b([0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12})\b"
# Not the "&#8211;" of a web page.
_HASHED = r"(?:^|[^&\w])#\s?(\d{2,})\b"


def code_candidates(column: str, values: Sequence[str], floor: int) -> list[Candidate]:
    found = [*_after_words(column, values, floor), *_shaped(column, values, floor)]
    for name, pattern, words in (
        ("uuid", _UUID, "the first UUID"),
        ("number sign", _HASHED, 'the first number after "#"'),
    ):
        matches = [match.group(1) for match in (re.search(pattern, value) for value in values) if match]
        if len(matches) >= floor and _differ(matches):
            expression = extract(column, pattern)
            found.append(Candidate(name, "identifier", expression, "VARCHAR", words, 0.8, expression, varied=True))
    return found


def _differ(codes: Sequence[str]) -> bool:
    return len(set(codes)) >= 0.3 * len(codes)


def _after_words(column: str, values: Sequence[str], floor: int) -> list[Candidate]:
    codes: dict[str, list[str]] = {}
    spellings: dict[str, Counter[str]] = {}
    for value in values:
        seen = set()
        for match in _TOKEN.finditer(value):
            code = match.group(1)
            before = _BEFORE.search(value[max(0, match.start() - 60) : match.start()])
            if before is None or not _is_code(code, before.group(2)):
                continue
            word = before.group(1)
            key = word.lower()
            if key in seen or key in SMALL_WORDS or key in MONTH_WORDS or word in STATE_CODES:
                continue
            seen.add(key)
            codes.setdefault(key, []).append(code)
            spellings.setdefault(key, Counter())[word] += 1
    found = []
    for key in sorted(codes, key=lambda key: (-len(codes[key]), key))[:12]:
        read = codes[key]
        if len(read) < floor or not _differ(read):
            continue
        word = spellings[key].most_common(1)[0][0]
        expression = extract(column, rf"(?i)\b{escaped(word)}{_LINK}\b({_pattern(read)})")
        note = f'the code after "{word}"'
        found.append(Candidate(word, "identifier", expression, "VARCHAR", note, 0.94, expression, varied=True))
    return found


def _is_code(code: str, link: str) -> bool:
    """More than a small number or a year, unless the text itself calls it a number."""
    digits = sum(letter.isdigit() for letter in code)
    if re.fullmatch(r"(?:19|20)\d\d(?:[\-/].*)?", code):
        return False
    return digits >= 4 or (digits >= 3 and bool(re.search(r"[#:]|\b(?:number|no|nr|id|code)\b", link)))


def _pattern(codes: Sequence[str]) -> str:
    """The characters that the codes are made of, as many as the shortest and the longest have."""
    letters = "".join(sorted({sign for code in codes for sign in code if not sign.isalnum()}))
    signs = "".join("\\" + sign for sign in letters)
    tail_letter = all(re.fullmatch(r"[\d\-_/]+[Xx]?", code) for code in codes)
    body = rf"[\d{signs}]" if tail_letter else rf"[A-Za-z0-9{signs}]"
    last = r"[\dXx]" if tail_letter and any(code[-1] in "Xx" for code in codes) else "[A-Za-z0-9]"
    last = r"\d" if tail_letter and last == "[A-Za-z0-9]" else last
    lengths = [len(code) for code in codes]
    return rf"{body}{{{min(lengths) - 1},{max(lengths) - 1}}}{last}"


def _shaped(column: str, values: Sequence[str], floor: int) -> list[Candidate]:
    prefixes: dict[tuple[str, str], list[str]] = {}
    for value in values:
        seen = set()
        for match in _SHAPED.finditer(value):
            key = (match.group(1), match.group(2))
            if key not in seen:
                seen.add(key)
                prefixes.setdefault(key, []).append(match.group(3))
    found = []
    for prefix, sign in sorted(prefixes, key=lambda key: (-len(prefixes[key]), key))[:4]:
        numbers = prefixes[prefix, sign]
        if len(numbers) >= floor and _differ(numbers):
            lengths = [len(number) for number in numbers]
            pattern = rf"\b({prefix}{re.escape(sign)}\d{{{min(lengths)},{max(lengths)}}})\b"
            expression = extract(column, pattern)
            note = f'the first code that begins with "{prefix}{sign}"'
            name = f"{prefix} code"
            found.append(Candidate(name, "identifier", expression, "VARCHAR", note, 0.92, expression, varied=True))
    return found


_URL = r"\bhttps?://[^\s<>\"'\\)\]}]*[^\s<>\"'\\)\]}.,;:!?]"
_EMAIL = r"\b[A-Za-z0-9._%+\-]+@[A-Za-z0-9.\-]+\.[A-Za-z]{2,}\b"
_PHONE = (
    r"(?:^|[^\w.+\-])(\+\d{1,3}[\s.\-]?(?:\(\d{1,4}\)[\s.\-]?)?\d{1,4}(?:[\s.\-]\d{2,4}){1,4}"
    r"|\(\d{3}\)\s?\d{3}[\s.\-]\d{4}|\d{3}[.\-]\d{3}[.\-]\d{4})(?:\b|$)"
)
_QUOTED = r"(?:^|[\s(\[])[\"“«]([\p{Lu}\d][^\"“”«»\n]{1,60}?)[,.]?[\"”»]"
# What may not stand in it is listed, not what may: \p{L} thirty times over takes RE2 a tenth of a second to compile.
_BRACKETED = r"\(([\p{Lu}][^\d()\[\]{}<>,;:!?\"“”$%#@*+=~|\\^_`\n]{1,30})\)"
_TITLED = r"\b((?:Mr|Mrs|Ms|Dr|Prof)\.?\s+[A-Z][\w'’\-]+(?:\s+[A-Z][\w'’\-]+){0,2})"

_Reading = tuple[str, Kind, str, str, float]
"""Name, kind, pattern with one group, what it is, weight."""


def contact_candidates(column: str, values: Sequence[str], floor: int) -> list[Candidate]:
    """Addresses of the web, of mail and of telephones, and people by their titles."""
    readings: tuple[_Reading, ...] = (
        ("url", "url", f"({_URL})", "the first web address", 0.95),
        ("email", "email", f"({_EMAIL})", "the first e-mail address", 0.95),
        ("phone", "phone", _PHONE, "the first telephone number", 0.9),
        ("titled person", "person", _TITLED, "the first person with a title (Mr, Dr, ...)", 0.8),
    )
    return _candidates(column, values, floor, readings)


def mark_candidates(column: str, values: Sequence[str], floor: int) -> list[Candidate]:
    """What stands in quotes or in brackets."""
    readings: tuple[_Reading, ...] = (
        ("in brackets", "other", _BRACKETED, "the first words in round brackets", 0.55),
        ("quoted", "other", _QUOTED, "the first words in quotes", 0.5),
    )
    return _candidates(column, values, floor, readings)


def _candidates(column: str, values: Sequence[str], floor: int, readings: Sequence[_Reading]) -> list[Candidate]:
    candidates = []
    for name, kind, pattern, words, weight in readings:
        compiled = re.compile(pattern.replace(r"\p{Lu}", "A-ZÀ-Þ").replace(r"\p{L}", "A-Za-zÀ-ÿ"))
        if sum(compiled.search(value) is not None for value in values) >= floor:
            expression = extract(column, pattern)
            candidates.append(Candidate(name, kind, expression, "VARCHAR", words, weight, expression, varied=True))
    return candidates


_SEPARATORS = r"\n;|,&\t"
_PAIR = re.compile(
    rf"(?:^|[{_SEPARATORS}(\[]|<[^<>]{{1,80}}>|\\n|[.!?]\s)\s*"
    r"([^\W\d_][\w \-/.']{0,30}?)\s*(=|:(?!//))\s*(?=([^\s]?))"
)
_NUMBER = re.compile(r"-?\d+(?:,\d{3})*(?:\.\d+)?")
_ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


def key_value_candidates(column: str, values: Sequence[str], floor: int) -> list[Candidate]:
    documents: Counter[str] = Counter()
    signs: Counter[str] = Counter()
    spellings: dict[str, Counter[str]] = {}
    pairs = 0
    for value in values:
        seen = set()
        for match in _PAIR.finditer(value):
            key = match.group(1).lower()
            clock = key[-1].isdigit() and match.group(3).isdigit()
            if key not in seen and len(key.split()) <= 4 and not clock:
                seen.add(key)
                signs[match.group(2)] += 1
                spellings.setdefault(key, Counter())[match.group(1)] += 1
        pairs += len(seen)
        documents.update(sorted(seen))
    often = [key for key, count in documents.most_common(40) if count >= floor]
    keys = [spellings[key].most_common(1)[0][0] for key in often]
    # Speakers of a talk, or words before a colon in prose, are many and rare; the keys of a list are few and come back.
    if not keys or sum(documents[key] for key in often) < 0.3 * pairs:
        return []
    sign = signs.most_common(1)[0][0]
    return [_candidate(column, key, keys, sign, values) for key in keys[:15]]


def _candidate(column: str, key: str, keys: Sequence[str], sign: str, values: Sequence[str]) -> Candidate:
    others = "|".join(escaped(other) for other in keys)
    start = rf"(?:^|[{_SEPARATORS}(\[>.!?]|\\n)\s*{escaped(key)}\s*{sign}\s*"
    after = rf"\s*(?:[{_SEPARATORS})\]]|\\n|<[^<>]*>|[.!?])?\s*(?:{others})\s*{sign}"
    # One key alone stands in prose: what it says ends with the sentence.
    sentence = r"|[.!?]\s" if len(keys) == 1 else ""
    pattern = rf"(?i){start}(.*?)(?:{after}{sentence}|\n|\\n|[;|]|<|$)"
    text = trimmed(extract(column, pattern))
    compiled = re.compile(pattern)
    read = [match.group(1).strip() for match in map(compiled.search, values) if match and match.group(1).strip()]
    expression, kind = text, "VARCHAR"
    if read and sum(_NUMBER.fullmatch(value) is not None for value in read) >= 0.95 * len(read):
        padded = any(len(value) > 1 and value[0] == "0" and "." not in value for value in read)
        if not padded:
            expression, kind = as_number(text), "DOUBLE"
    elif read and sum(_ISO_DATE.fullmatch(value) is not None for value in read) >= 0.95 * len(read):
        expression, kind = f"try_cast({text} AS DATE)", "DATE"
    return Candidate(key, "key_value", expression, kind, f'what stands after "{key}{sign}"', 0.98, text)


_LIST_SEPARATORS = (";", "|", "\n", " / ", "<br>", ",")
_NAMES = {"\n": "a new line", " / ": '" / "'}


def list_candidates(column: str, values: Sequence[str], floor: int) -> list[Candidate]:
    for separator in _LIST_SEPARATORS:
        holding = [value for value in values if separator in value.strip(separator + " ")]
        if len(holding) < max(floor, 0.3 * len(values)):
            continue
        lists = [[element.strip() for element in value.split(separator) if element.strip()] for value in values]
        if not _look_like_names([elements for elements in lists if elements]):
            continue
        split = f"str_split({column}, {literal(separator)})"
        cleaned = f"list_filter(list_transform({split}, lambda x: trim(x)), lambda x: x <> '')"
        several = f"CASE WHEN contains({column}, {literal(separator)}) THEN {cleaned} ELSE [trim({column})] END"
        shown = _NAMES.get(separator, f'"{separator}"')
        note = f"the elements of the list, separated by {shown}; a value without it is a list of one"
        return [Candidate("elements", "list", several, "VARCHAR[]", note, 0.9, "CAST(NULL AS VARCHAR)")]
    return []


def _look_like_names(lists: Sequence[Sequence[str]]) -> bool:
    short = sum(all(len(element.split()) <= 5 for element in elements) for elements in lists)
    sentences = sum(elements[-1].endswith((".", "!", "?")) for elements in lists)
    elements = [element for one in lists for element in one]
    words = sum(len(element.split()) for element in elements)
    if short < 0.9 * len(lists) or sentences > 0.3 * len(lists) or words > 3.5 * len(elements):
        return False
    lettered = sum(any(letter.isalpha() for letter in element) for element in elements)
    come_back = len(elements) - len(set(elements))
    return lettered >= 0.8 * len(elements) and come_back >= 0.4 * len(elements)
