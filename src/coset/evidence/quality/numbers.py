"""Numbers kept as text: separators, currency signs, percent, k and M, parentheses for negatives.

In: a text column as observed, without null tokens. Out: `number_as_text`, `mixed_types` when words stand among the
numbers, with an expression that was run over the values. Units of measure are in `units.py`. Nothing here knows what
is counted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import duckdb

from coset.evidence.quality.observed import Observed, tried
from coset.sql_text import literal
from coset.state.objects import Diagnostic

CURRENCY = r"(?:US\$|A\$|C\$|R\$|[$€£¥₹₽₩₺₪₫฿]|USD|EUR|GBP|JPY|CHF|INR|CAD|AUD|CNY|SEK|NOK|DKK|PLN|BRL|Rs\.?)"
NUMBER = r"(?:\d{1,3}(?:[ \x{00a0}\x{202f}']\d{3})+(?:[.,]\d+)?|\d[\d.,]*|\.\d+)"
"""Digits with any separators, in RE2's and, after `_python`, in Python's syntax."""
MULTIPLIER = r"(?:[kKmMbB]|bn|mn|mio|thousand|million|billion|trillion|lakh|crore)"
_FACTORS = {
    "k": 1e3, "thousand": 1e3, "m": 1e6, "mn": 1e6, "mio": 1e6, "million": 1e6, "b": 1e9, "bn": 1e9, "billion": 1e9,
    "trillion": 1e12, "lakh": 1e5, "crore": 1e7,
}  # fmt: skip
_PATTERN = (
    rf"[(]?[-+−–]?\s*{CURRENCY}?\s*[-+−–]?(?:{NUMBER})(?:[eE][-+]?\d{{1,3}})?"
    rf"\s*{MULTIPLIER}?\s*{CURRENCY}?\s*%?\s*[-]?[)]?"
)


def python_pattern(pattern: str) -> str:
    return re.sub(r"\\x\{([0-9a-f]{4})\}", r"\\u\1", pattern)


_WHOLE = re.compile(python_pattern(_PATTERN))
_BODY = re.compile(python_pattern(NUMBER))
_CURRENCY = re.compile(CURRENCY)
_MULTIPLIER = re.compile(rf"\d\s*({MULTIPLIER})(?![a-z])")
_THOUSANDS_COMMA = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_THOUSANDS_DOT = re.compile(r"\d{1,3}(?:\.\d{3})+(?:,\d+)?")
_ONE_DOT, _ONE_COMMA = re.compile(r"[1-9]\d{0,2}\.\d{3}"), re.compile(r"[1-9]\d{0,2},\d{3}")
_DECIMAL_COMMA = re.compile(r"\d+,\d+")
_INDIAN = re.compile(r"\d{1,2}(?:,\d{2})+,\d{3}(?:\.\d+)?")


@dataclass(frozen=True)
class Style:
    """How a column writes its numbers, with rows for each trait."""

    total: int
    numbers: int
    plain: int
    whole: bool
    decimal_comma: int
    decimal_point: int
    grouped_comma: int
    grouped_dot: int
    grouped_other: int
    undecided: int
    """Rows like 1,234 whose separator could be either, in a column that never settles it."""
    currencies: Counter[str]
    percent: int
    multiplied: Counter[str]
    parentheses: int
    leading_zeros: int
    longest: int
    lengths: frozenset[int]
    texts: frozenset[str]


class _Writing:
    """The traits of a column's numbers, gathered text by text."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.currencies: Counter[str] = Counter()
        self.multiplied: Counter[str] = Counter()
        self.read: set[str] = set()
        self.lengths: set[int] = set()
        self.whole, self.longest, self.numbers = True, 0, 0

    def add(self, text: str, count: int) -> None:
        if text.isascii() and text.isdigit():
            self._add_digits(text, count)
        elif len(text) <= 40 and any(letter.isdigit() for letter in text) and _WHOLE.fullmatch(text):
            match = _BODY.search(text)
            separators = None if match is None else _separators(match[0])
            if match is not None and separators is not None and text.startswith("(") == text.endswith(")"):
                self._add_written(text, match[0], separators, count)

    def _add_digits(self, text: str, count: int) -> None:
        """By far the commonest case, and all is known of it at once."""
        self._seen(text, len(text), count)
        self.counts["integer"] += count
        self.counts["plain"] += count
        self.counts["leading_zeros"] += count if len(text) > 1 and text[0] == "0" else 0
        self.currencies[""] += count

    def _add_written(self, text: str, body: str, separators: str, count: int) -> None:
        self._seen(text, sum(letter.isdigit() for letter in body), count)
        self.counts[separators] += count
        self.counts["plain"] += count if body == text.lstrip("+-") and separators in ("integer", "point") else 0
        self.counts["parentheses"] += count if text.startswith("(") else 0
        self.counts["percent"] += count if "%" in text else 0
        if separators == "grouped_other" and body[-1] != "," and ("," in body or "." in body):
            self.counts["comma" if "," in body else "point"] += count
            self.whole = False
        if separators not in _WITHOUT_FRACTION or "e" in text.lower():
            self.whole = False
        currency, factor = _CURRENCY.search(text), _MULTIPLIER.search(text)
        self.currencies[currency[0] if currency else ""] += count
        if factor:
            self.multiplied[factor[1].lower()] += count

    def _seen(self, text: str, digits: int, count: int) -> None:
        self.numbers += count
        self.read.add(text)
        self.lengths.add(len(text))
        self.longest = max(self.longest, digits)

    def style(self, texts: list[tuple[str, int]]) -> Style:
        counts = self.counts
        undecided = 0 if self._says_what_a_comma_is() else counts["either_comma"]
        self._settle_commas()
        self._settle_points(texts)
        return Style(
            total=sum(count for _, count in texts),
            numbers=self.numbers,
            plain=counts["plain"],
            whole=self.whole and not self.multiplied,
            decimal_comma=counts["comma"] + counts["dot_comma"],
            decimal_point=counts["point"] + counts["comma_point"],
            grouped_comma=counts["grouped_comma"] + counts["comma_point"],
            grouped_dot=counts["grouped_dot"] + counts["dot_comma"],
            grouped_other=counts["grouped_other"],
            undecided=undecided,
            currencies=self.currencies,
            percent=counts["percent"],
            multiplied=self.multiplied,
            parentheses=counts["parentheses"],
            leading_zeros=counts["leading_zeros"],
            longest=self.longest,
            lengths=frozenset(self.lengths),
            texts=frozenset(self.read),
        )

    def _has(self, *separators: str) -> bool:
        return any(self.counts[each] for each in separators)

    def _says_what_a_comma_is(self) -> bool:
        return self._has("comma", "dot_comma", "point", "comma_point", "grouped_comma", "grouped_dot")

    def _settle_commas(self) -> None:
        """1,234 alone says nothing: the rest of the column settles it, else it is the commoner thousands separator."""
        if not self.counts["either_comma"]:
            return
        is_decimal = self._has("comma", "dot_comma", "grouped_dot")
        if is_decimal and not self._has("grouped_comma", "comma_point", "point"):
            self.counts["comma"] += self.counts["either_comma"]
            self.whole = False
        else:
            self.counts["grouped_comma"] += self.counts["either_comma"]

    def _settle_points(self, texts: list[tuple[str, int]]) -> None:
        if not self.counts["either_dot"]:
            return
        if self._has("comma", "dot_comma", "grouped_dot") and not self.counts["point"]:
            self.counts["grouped_dot"] += self.counts["either_dot"]
            return
        self.counts["point"] += self.counts["either_dot"]
        self.counts["plain"] += sum(
            count for text, count in texts if text in self.read and _separators(text.lstrip("+-")) == "either_dot"
        )
        self.whole = False


_WITHOUT_FRACTION = ("integer", "grouped_comma", "grouped_dot", "either_comma", "either_dot", "grouped_other")


def style_of(texts: list[tuple[str, int]]) -> Style:
    writing = _Writing()
    for text, count in texts:
        writing.add(text, count)
    return writing.style(texts)


def _separators(body: str) -> str | None:
    """How the digits are separated, or None when they are no number (1.2.3, 1,2)."""
    if body.isdigit():
        return "integer"
    if any(letter in body for letter in " '\u00a0\u202f"):
        return "grouped_other"
    commas, dots = body.count(","), body.count(".")
    if dots <= 1 and not commas:
        return "either_dot" if _ONE_DOT.fullmatch(body) else "point"
    if commas and dots:
        if _THOUSANDS_COMMA.fullmatch(body) or _INDIAN.fullmatch(body):
            return "comma_point"
        return "dot_comma" if _THOUSANDS_DOT.fullmatch(body) else None
    if commas == 1:
        if _ONE_COMMA.fullmatch(body):
            return "either_comma"
        return "comma" if _DECIMAL_COMMA.fullmatch(body) else None
    if commas > 1:
        return "grouped_comma" if _THOUSANDS_COMMA.fullmatch(body) or _INDIAN.fullmatch(body) else None
    return "grouped_dot" if _THOUSANDS_DOT.fullmatch(body) else None


def digits_expression(text: str, style: Style, also: str = "") -> str:
    """`text` as a DOUBLE: the column's separators taken out, and whatever the pattern `also` names. NULL for words."""
    unwanted = "".join(sign for sign, present in ((",", style.grouped_comma), (".", style.grouped_dot)) if present)
    if style.grouped_other:
        unwanted += r"\s\x{00a0}\x{202f}'"
    mixed = style.decimal_comma and (style.decimal_point or style.grouped_comma)
    patterns = [also] if also else []
    if unwanted and not mixed:
        patterns.append(f"[{unwanted}]")
    bare = f"regexp_replace({text}, {literal('|'.join(patterns))}, '', 'g')" if patterns else text
    if patterns == ["[,]"]:
        bare = f"replace({text}, ',', '')"
    if mixed:
        # Both kinds occur: a comma with other than three digits behind it, or behind a point, is the decimal one.
        decimal = f"replace(replace({bare}, '.', ''), ',', '.')"
        is_decimal = rf"regexp_matches({bare}, ',\d{{1,2}}$|,\d{{4,}}$|\..*,')"
        bare = f"CASE WHEN {is_decimal} THEN {decimal} ELSE replace({bare}, ',', '') END"
    elif style.decimal_comma:
        bare = f"replace({bare}, ',', '.')"
    return f"try_cast({bare} AS DOUBLE)"


def number_expression(text: str, style: Style, *, guarded: bool = False) -> tuple[str, str]:
    """The expression that reads the column's numbers (NULL for all else), and its type.

    `guarded` adds the whole pattern of a number, for columns in which the short expression would read too much.
    """
    if style.plain == style.numbers:
        kind = "BIGINT" if style.whole else "DOUBLE"
        return f"try_cast({text} AS {kind})", kind
    source = text
    if any(sign in each for each in style.texts for sign in "−–"):
        source = f"translate({source}, '−–', '--')"
    if style.parentheses:
        source = rf"regexp_replace({source}, '^\((.*)\)$', '-\1')"
    if any(each.endswith("-") for each in style.texts):
        source = rf"regexp_replace({source}, '^(.*)-$', '-\1')"
    signs = sorted((sign for sign in style.currencies if sign), key=lambda sign: (-len(sign), sign))
    also = [re.sub(r"([$.])", r"\\\1", sign) for sign in signs]
    also += ["%"] if style.percent else []
    also += [r"\s"] if any(" " in each for each in style.texts) and not style.grouped_other else []
    if style.multiplied:
        words = "|".join(sorted(style.multiplied, key=lambda word: (-len(word), word)))
        word = rf"lower(regexp_extract({text}, '(?i)\d\s*({words})\b', 1))"
        also.append(rf"(?i:{words})\b")
    value = digits_expression(source, style, "|".join(also))
    if style.multiplied:
        cases = " ".join(f"WHEN {literal(each)} THEN {_FACTORS[each]:.0f}" for each in sorted(style.multiplied))
        value = f"{value} * CASE {word} {cases} ELSE 1 END"
    if style.percent and style.percent < style.numbers:
        value = f"{value} / CASE WHEN contains({text}, '%') THEN 100 ELSE 1 END"
    kind = "DOUBLE"
    if style.whole and not style.percent:
        value, kind = value.replace(" AS DOUBLE)", " AS BIGINT)"), "BIGINT"
    if guarded:
        value = f"CASE WHEN regexp_full_match({text}, {literal(_PATTERN)}) THEN {value} END"
    return value, kind


def numbers(
    connection: duckdb.DuckDBPyConnection, observed: Observed, texts: list[tuple[str, int]]
) -> list[tuple[Diagnostic, list[tuple[float, int]]]]:
    """Diagnostics, each with the numbers that its expression reads and their counts."""
    total = sum(count for _, count in texts)
    glance = texts[:200]
    if not total or style_of(glance).numbers < 0.15 * sum(count for _, count in glance):
        return []
    style = style_of(texts)
    words = [(text, count) for text, count in texts if text not in style.texts]
    kind = _kind(style, words, texts)
    if kind is None:
        return []
    expression, type_name, parsed = _tried(connection, observed, texts, style)
    pairs = [(float(value), count) for (_, count), value in zip(texts, parsed, strict=True) if value is not None]
    read, word_rows = sum(count for _, count in pairs), sum(count for _, count in words)
    if read < 0.98 * style.numbers:
        return []
    diagnostics = Diagnostic(
        kind=kind,
        share=observed.share(word_rows if kind == "mixed_types" else read),
        detail=_detail(style, words, word_rows, total, kind),
        expression=expression,
        type=type_name,
        examples=tuple(text for text, _ in (words if kind == "mixed_types" else texts)[:5]),
    )
    return [(diagnostics, pairs)]


def _kind(
    style: Style, words: list[tuple[str, int]], texts: list[tuple[str, int]]
) -> Literal["number_as_text", "mixed_types"] | None:
    """What is wrong with a column of such texts, if anything; `words` are those that are no numbers."""
    if style.multiplied.keys() == {"b"} and not any(style.currencies.keys()):
        return None  # room 224B, third base 3B
    if not style.numbers or style.leading_zeros >= 0.01 * style.numbers or style.longest > 15:
        return None
    is_plain = style.plain == style.numbers
    if style.numbers >= 0.95 * style.total:
        return None if is_plain and _reads_as_codes(style) else "number_as_text"
    least = 0.2 if len(words) <= 20 else 0.5
    if style.numbers < least * style.total or not _only_words(words, sum(count for _, count in words)):
        return None
    return None if is_plain and style.whole and len(words) > 0.5 * len(texts) else "mixed_types"


def _tried(
    connection: duckdb.DuckDBPyConnection, observed: Observed, texts: list[tuple[str, int]], style: Style
) -> tuple[str, str, Sequence[Any]]:
    """The shortest expression that reads no words, its type, and what it makes of the texts."""
    for guarded in (False, True):
        expression, type_name = number_expression(observed.bare_text(), style, guarded=guarded)
        parsed = tried(connection, observed.name, [text for text, _ in texts], expression)
        if all(value is None for (text, _), value in zip(texts, parsed, strict=True) if text not in style.texts):
            break
    return expression, type_name, parsed


def _reads_as_codes(style: Style) -> bool:
    """Whole numbers of one length sort and compare as text as they do as numbers: codes, years, flags; so do long ones
    with a point at one place (600.101)."""
    return len(style.lengths) == 1 and (style.whole or style.longest >= 6)


def _only_words(words: list[tuple[str, int]], rows: int) -> bool:
    plain = sum(count for text, count in words if not any(letter.isdigit() for letter in text))
    return bool(words) and plain >= 0.7 * rows


def _detail(style: Style, words: list[tuple[str, int]], word_rows: int, total: int, kind: str) -> str:
    traits = []
    for rows, name in (
        (style.grouped_comma, "comma between thousands"),
        (style.grouped_dot, "point between thousands"),
        (style.grouped_other, "blank or apostrophe between thousands"),
        (style.decimal_comma, "decimal comma"),
        (style.percent, "percent"),
        (style.parentheses, "parentheses for negatives"),
        (sum(style.multiplied.values()), f"multipliers {', '.join(sorted(style.multiplied))}"),
        (
            sum(rows for sign, rows in style.currencies.items() if sign),
            f"currency {', '.join(sorted(sign for sign in style.currencies if sign))}",
        ),
    ):
        if rows:
            traits.append(f"{name} {rows / total:.1%}")
    detail = "Numbers are kept as text"
    detail += f" ({'; '.join(traits)})" if traits else ", so they sort and compare wrongly"
    if kind == "mixed_types":
        shown = ", ".join(f"'{text[:40]}'" for text, _ in sorted(words, key=lambda pair: -pair[1])[:4])
        detail = (
            f"{style.numbers / total:.1%} are numbers and {word_rows / total:.1%} are words such as {shown};"
            " the words become NULL"
        )
    elif word_rows:
        detail += f"; {word_rows / total:.1%} are no numbers and become NULL"
    if style.undecided:
        detail += "; nothing tells whether the comma stands between thousands (as read here) or is a decimal comma"
    if style.percent:
        detail += (
            "; percent are divided by 100"
            if style.percent < style.numbers
            else "; percent are given as they are written (12 for 12 %)"
        )
    return detail + "."
