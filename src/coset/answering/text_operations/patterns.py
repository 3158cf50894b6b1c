"""Patterns that read a field out of texts, made from a few texts in which the field is known.

In: pairs of a text and the value that stands in it. Out: regular expressions with one group, likeliest first: what
commonly stands before the value, the form that the values share, and what commonly follows. They are guesses: whoever
uses one tests it. RE2's syntax, which reads any text in linear time.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

MOST_PATTERNS = 24
LEAST_COMMON = 3
"""So many values must stand behind the same words before they are taken for a rule."""
LONGEST_VALUE = 120
_BEFORE = re.compile(r"(?:[^\W_]+|[^\w\s]|_)\s*$")
_AFTER = re.compile(r"^\s*(?:[^\W_]+|[^\w\s]|_)")
_SPECIAL = re.compile(r"([\\.^$|?*+()\[\]{}])")

FORMS = (
    (r"\d{4}-\d{2}-\d{2}", r"\d{4}-\d{2}-\d{2}"),
    (r"\d{1,2}[/.]\d{1,2}[/.]\d{2,4}", r"\d{1,2}[/.]\d{1,2}[/.]\d{2,4}"),
    (r"\d+", r"\d+"),
    (r"[-+]?[$€£]?\s?\d[\d.,]*(?:%)?", r"[-+]?[$€£]?\s?\d(?:[\d.,]*\d)?%?"),
    (r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+", r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+"),
    (r"[A-Z0-9]+(?:[-_/#][A-Z0-9]+)*", r"[A-Z0-9]+(?:[-_/#][A-Z0-9]+)*"),
    (r"[A-Z][\w'’.&-]*(?: [A-Z&][\w'’.&-]*)*", r"\p{Lu}[\pL\pN'’&-]*(?:[ .]+[\p{Lu}&][\pL\pN'’&-]*)*"),
    (r"[^\s,;.]+", r"[^\s,;.]+"),
)
"""(what every value matches, the pattern that then finds one)."""


def patterns_from(pairs: Sequence[tuple[str, str]]) -> list[str]:
    """`pairs`: texts with the value that was read out of each; those whose value is not in the text teach nothing."""
    found = [(text, place, value) for text, value in pairs if value and (place := text.find(value)) >= 0]
    found = [each for each in found if len(each[2]) <= LONGEST_VALUE]
    if len(found) < LEAST_COMMON:
        return []
    form = _form([value for _, _, value in found])
    patterns = list(dict.fromkeys(_with_context(found, form)))
    if form is not None:
        patterns.append(f"({form})")
    return patterns[:MOST_PATTERNS]


def _form(values: Sequence[str]) -> str | None:
    """The narrowest form that nearly all values have."""
    for whole, finds in FORMS:
        if sum(re.fullmatch(whole, value) is not None for value in values) >= 0.9 * len(values):
            return finds
    return None


def _with_context(found: Sequence[tuple[str, int, str]], form: str | None) -> Iterator[str]:
    before = _common([_words_before(text[:place]) for text, place, _ in found])
    after = _common([_words_after(text[place + len(value) :]) for text, place, value in found])
    for left in before:
        start = rf"(?i:{escaped(left)})\s*"
        if left[:1].isalnum():
            start = rf"\b{start}"
        if form is not None:
            yield f"{start}({form})"
        for right in after[:3]:
            yield rf"{start}(\S.*?)\s*(?i:{escaped(right)})"
        yield rf"{start}(\S[^\n.;]*[^\s.;,])"
    if form is not None:
        for right in after[:3]:
            yield rf"({form})\s*(?i:{escaped(right)})"


def _common(contexts: Sequence[Sequence[str]]) -> list[str]:
    """Contexts that several values share, those of more words first where they are as common."""
    counts = Counter(context for each in contexts for context in set(each))
    shared = [(count, context) for context, count in counts.items() if count >= LEAST_COMMON]
    shared.sort(key=lambda each: (-each[0], -len(each[1]), each[1]))
    return [context for _, context in shared[:6]]


def _words_before(text: str) -> list[str]:
    """What stands right before a value: one, two and three words or signs."""
    contexts, taken = [], ""
    for _ in range(3):
        match = _BEFORE.search(text)
        if match is None:
            break
        taken = match[0] + taken
        text = text[: match.start()]
        contexts.append(" ".join(taken.lower().split()))
    return contexts


def _words_after(text: str) -> list[str]:
    match = _AFTER.search(text)
    return [" ".join(match[0].lower().split())] if match else []


def escaped(words: str) -> str:
    """Words as a pattern: signs taken literally, any blanks between them."""
    return r"\s+".join(_SPECIAL.sub(r"\\\1", word) for word in words.split())
