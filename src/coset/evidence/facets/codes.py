"""Identifiers inside text: the code after a word ("order number 4711", "ISBN-10 of 3161484100") or of one shape.

In: a quoted column and a sample of its values. Out: candidates. A code holds digits and differs from text to text;
what they stand for is only known by the word before them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from coset.evidence.facets.candidate import Candidate, escaped, extract
from coset.evidence.facets.places import STATE_CODES
from coset.evidence.facets.words import MONTH_WORDS, SMALL_WORDS

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
