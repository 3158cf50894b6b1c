"""Expressions that read a field out of a text column: known facets, and patterns made from texts whose field is known.

In: texts with their field, and the facets that comprehension found. Out: expressions with how well each reads the field
on texts it was not made from.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from coset.errors import CosetError
from coset.session.query_session import QuerySession
from coset.sql_text import identifier, literal
from coset.state import EvidenceState
from coset.state.tables import facets_of_column

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


Origin = Literal["facet", "pattern"]
LONGEST_PATTERN = 500
LEAST_RIGHT = 4
LEAST_AGREEMENT = 0.9
MOST_TOGETHER = 3
TRIED = "texts_to_read"
"""The temporary table that holds the texts while expressions run over them."""
_FOLD = re.compile(r"[\s,]+")


@dataclass(frozen=True)
class Candidate:
    """A DuckDB expression over the quoted text column."""

    sql: str
    origin: Origin


@dataclass(frozen=True)
class KeptExpression:
    """Expressions that read one field, tried one after the other."""

    candidates: tuple[Candidate, ...]
    agreement: float
    """Of the held-out texts in which it read something, the share in which it read what the model did."""
    tested_on: int
    silence: float
    """Of the labelled texts in which it read nothing, the share in which there is nothing to read."""

    @property
    def sql(self) -> str:
        parts = [f"CAST({each.sql} AS VARCHAR)" for each in self.candidates]
        return parts[0] if len(parts) == 1 else f"coalesce({', '.join(parts)})"


def facet_candidates(state: EvidenceState, column_reference: str) -> tuple[Candidate, ...]:
    """What the state already knows how to read out of a column."""
    facets = facets_of_column(state, column_reference)
    return tuple(Candidate(each.expression, "facet") for each in sorted(facets, key=lambda each: -each.coverage))


def pattern_candidate(pattern: Any, column: str) -> Candidate | None:
    """A pattern as an expression; None for what is no pattern. Without a group, all that it matches is read."""
    if not isinstance(pattern, str) or not pattern or len(pattern) > LONGEST_PATTERN or "\x00" in pattern:
        return None
    group = 1 if re.search(r"(?<!\\)\((?!\?)", pattern) else 0
    call = f"regexp_extract({identifier(column)}, {literal(pattern)}, {group})"
    return Candidate(f"nullif(trim({call}), '')", "pattern")


def read_with(
    session: QuerySession, texts: Sequence[str], column: str, expressions: Sequence[str]
) -> list[tuple[str | None, ...] | None]:
    """What each expression reads out of each text; None for an expression that cannot be run."""
    import pyarrow as pa

    table = pa.table({"number": pa.array(range(len(texts)), pa.int64()), column: pa.array(texts, pa.string())})
    name = session.add_table(TRIED, table)
    found: list[tuple[str | None, ...] | None] = []
    for expression in expressions:
        try:
            result = session.sql(
                f"SELECT CAST({expression} AS VARCHAR) FROM {name} ORDER BY number", max_rows=len(texts)
            )
        except CosetError:
            found.append(None)
            continue
        values = tuple(row[0] for row in result.rows())
        found.append(values if len(values) == len(texts) else None)
    return found


def choose(
    field: str,
    labels: Sequence[Mapping[str, Any]],
    readings: Mapping[Candidate, Sequence[str | None]],
) -> KeptExpression | None:
    """The expressions for a field that agree with its labels, the widest first; None when none does.

    They are chosen on two thirds of the labels and measured on the rest: of many guesses one fits by chance.
    """
    wanted = [folded(label.get(field)) for label in labels]
    choosing = [number for number in range(len(labels)) if number % 3]
    read = {candidate: [folded(value) for value in values] for candidate, values in readings.items()}
    taken = _agreeing(read, wanted, choosing)
    while taken:
        if kept := _measured(taken, read, wanted):
            return kept
        taken.pop()
    return None


def _agreeing(
    read: Mapping[Candidate, Sequence[str | None]], wanted: Sequence[str | None], numbers: Sequence[int]
) -> list[Candidate]:
    """The candidates that agree with most of these labels, each chosen for what those before it leave unread."""
    taken: list[Candidate] = []
    open_ = list(numbers)
    while len(taken) < MOST_TOGETHER:
        best: tuple[int, Candidate] | None = None
        for candidate, values in read.items():
            spoke = [number for number in open_ if values[number] is not None]
            right = sum(values[number] == wanted[number] for number in spoke)
            if right >= LEAST_RIGHT and right >= LEAST_AGREEMENT * len(spoke) and (best is None or right > best[0]):
                best = (right, candidate)
        if best is None:
            break
        taken.append(best[1])
        open_ = [number for number in open_ if read[best[1]][number] is None]
    return taken


def _measured(
    taken: Sequence[Candidate], read: Mapping[Candidate, Sequence[str | None]], wanted: Sequence[str | None]
) -> KeptExpression | None:
    """The candidates as one expression, measured on the labels that it was not chosen by; None where it fails them."""
    everyone = range(len(wanted))
    values = [next((read[each][n] for each in taken if read[each][n] is not None), None) for n in everyone]
    spoke = [number for number in everyone if not number % 3 and values[number] is not None]
    right = sum(values[number] == wanted[number] for number in spoke)
    if not spoke or right < (LEAST_AGREEMENT - 0.05) * len(spoke):
        return None
    silent = [number for number in everyone if values[number] is None]
    nothing = sum(wanted[number] is None for number in silent)
    return KeptExpression(tuple(taken), right / len(spoke), len(spoke), nothing / len(silent) if silent else 1.0)


def folded(value: Any) -> str | None:
    """A value for comparison: without case, blanks and signs at its ends; numbers by what they are."""
    if value is None:
        return None
    text = _FOLD.sub(" ", str(value)).strip(" .;:'\"").casefold()
    bare = text.replace(" ", "").lstrip("$€£").rstrip("%")
    try:
        return f"{float(bare):.10g}" if bare and bare[0] in "0123456789-+." else text or None
    except ValueError:
        return text or None
