"""Ways to rewrite a value so that it meets its partner, in Python and DuckDB SQL alike; two of them make a `JoinRule`.

A step takes a text and gives a text, or None where it does not apply; its `sql` wraps an SQL expression and gives
NULL there. A recipe is a few steps in a row. Nothing here knows which step suits which column.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from coset.relations.transformations.text import without_accents
from coset.sql_text import literal

BLANKS = "\t\n\f\r \u00a0"
BLANK_CLASS = r"[\t\n\f\r \x{00A0}]"


def lower(text: str) -> str:
    """Lower case letter by letter, as DuckDB does it (no special endings, one letter stays one letter)."""
    return text.lower() if text.isascii() else "".join(letter.lower()[:1] for letter in text)


def upper(text: str) -> str:
    if text.isascii():
        return text.upper()
    return "".join(
        "\u1e9e" if letter == "\u00df" else letter.upper() if len(letter.upper()) == 1 else letter for letter in text
    )


class Step(Protocol):
    """One rewriting. `words` says in plain language what it does."""

    @property
    def words(self) -> str: ...

    def apply(self, text: str) -> str | None: ...

    def sql(self, expression: str) -> str: ...


@dataclass(frozen=True)
class Trim:
    """Blanks at both ends removed, runs of blanks inside made one."""

    words = "without extra blanks"

    def apply(self, text: str) -> str | None:
        return re.sub(f"[{BLANKS}]+", " ", text).strip(" ")

    def sql(self, expression: str) -> str:
        return f"trim(regexp_replace({expression}, {literal(BLANK_CLASS + '+')}, ' ', 'g'))"


@dataclass(frozen=True)
class Lower:
    words = "in lower case"

    def apply(self, text: str) -> str | None:
        return lower(text)

    def sql(self, expression: str) -> str:
        return f"lower({expression})"


@dataclass(frozen=True)
class Unaccented:
    words = "without accents"

    def apply(self, text: str) -> str | None:
        return without_accents(text)

    def sql(self, expression: str) -> str:
        return f"strip_accents({expression})"


@dataclass(frozen=True)
class Rewrite:
    """A regular expression replaced everywhere. The pattern is written twice, for Python and for DuckDB (RE2)."""

    pattern: str
    duckdb_pattern: str
    replacement: str
    words: str

    def apply(self, text: str) -> str | None:
        return re.sub(self.pattern, self.replacement, text)

    def sql(self, expression: str) -> str:
        return f"regexp_replace({expression}, {literal(self.duckdb_pattern)}, {literal(self.replacement)}, 'g')"


WITHOUT_STRAY = Rewrite(
    r"^[\W_]+|[\W_]+\Z", r"^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$", "", "without stray characters at the ends"
)
WITHOUT_SEPARATORS = Rewrite(r"[\W_]+", r"[^\p{L}\p{N}]+", "", "without separators")
BLANK_SEPARATORS = Rewrite(r"[\W_]+", r"[^\p{L}\p{N}]+", " ", "with a blank for each separator")
WITHOUT_ZEROS = Rewrite(
    r"(^|[^0-9])0+([0-9])", r"(^|[^0-9])0+([0-9])", r"\1\2", "without leading zeros"
)  # fmt: skip


@dataclass(frozen=True)
class Number:
    """A number in its shortest spelling: without thousands separators, plus sign, needless zeros."""

    words = "as a number"
    _shape = r"[+-]?(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]+)?"

    def apply(self, text: str) -> str | None:
        text = text.strip(" ")
        if not re.fullmatch(self._shape, text):
            return None
        text = text.replace(",", "").removeprefix("+")
        text = re.sub(r"^(-?)0+([0-9])", r"\1\2", text)
        return re.sub(r"\.0*\Z", "", re.sub(r"(\.[0-9]*?)0+\Z", r"\1", text))

    def sql(self, expression: str) -> str:
        plain = f"ltrim(replace(trim({expression}), ',', ''), '+')"
        short = f"regexp_replace({plain}, '^(-?)0+([0-9])', '\\1\\2')"
        short = f"regexp_replace(regexp_replace({short}, '(\\.[0-9]*?)0+$', '\\1'), '\\.0*$', '')"
        return f"CASE WHEN regexp_full_match(trim({expression}), {literal(self._shape)}) THEN {short} END"


MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
SHORT_MONTHS = [month[:3] for month in MONTHS]
DAY, TWO_DIGITS, YEAR = "([0-9]{1,2})", "([0-9]{2})", "([0-9]{4})"
# Before a date in words may stand its weekday, after its day an ordinal ending (`Friday, 3rd May 2024`).
WEEKDAY = "(?:(?:Mon|Tue|Tues|Wed|Wednes|Thu|Thurs|Fri|Sat|Satur|Sun)(?:day)?,? )?"
WORDED_DAY = f"{DAY}(?:st|nd|rd|th)?"
NAME, SHORT_NAME = f"({'|'.join(MONTHS)})", f"({'|'.join(SHORT_MONTHS)})"
# DuckDB's format -> the shape a text must have for it. The shape is tested on both sides, so that neither
# Python nor DuckDB is more lenient than the other.
DATE_SHAPES = {
    "%Y-%m-%d": rf"{YEAR}-{DAY}-{DAY}(?:[ T]00:00:00(?:\.0+)?)?",
    "%Y/%m/%d": f"{YEAR}/{DAY}/{DAY}",
    "%Y.%m.%d": rf"{YEAR}\.{DAY}\.{DAY}",
    "%Y%m%d": f"{YEAR}{TWO_DIGITS}{TWO_DIGITS}",
    "%d/%m/%Y": f"{DAY}/{DAY}/{YEAR}",
    "%m/%d/%Y": f"{DAY}/{DAY}/{YEAR}",
    "%d.%m.%Y": rf"{DAY}\.{DAY}\.{YEAR}",
    "%d-%m-%Y": f"{DAY}-{DAY}-{YEAR}",
    "%m-%d-%Y": f"{DAY}-{DAY}-{YEAR}",
    "%d/%m/%y": f"{DAY}/{DAY}/{TWO_DIGITS}",
    "%m/%d/%y": f"{DAY}/{DAY}/{TWO_DIGITS}",
    "%d.%m.%y": rf"{DAY}\.{DAY}\.{TWO_DIGITS}",
    "%y%m%d": f"{TWO_DIGITS}{TWO_DIGITS}{TWO_DIGITS}",
    "%d %B %Y": f"{WEEKDAY}{WORDED_DAY} {NAME},? {YEAR}",
    "%B %d %Y": f"{WEEKDAY}{NAME} {WORDED_DAY},? {YEAR}",
    "%d %b %Y": f"{WEEKDAY}{WORDED_DAY} {SHORT_NAME},? {YEAR}",
    "%b %d %Y": f"{WEEKDAY}{SHORT_NAME} {WORDED_DAY},? {YEAR}",
    "%d-%b-%Y": f"{DAY}-{SHORT_NAME}-{YEAR}",
    "%d-%b-%y": f"{DAY}-{SHORT_NAME}-{TWO_DIGITS}",
    "%Y-%m": f"{YEAR}-{DAY}",
    "%m/%Y": f"{DAY}/{YEAR}",
    "%B %Y": f"{NAME},? {YEAR}",
    "%b %Y": f"{SHORT_NAME},? {YEAR}",
    "%b-%y": f"{SHORT_NAME}-{TWO_DIGITS}",
    "%B": NAME,
    "%b": SHORT_NAME,
    "%m": DAY,
    "%H:%M": "([0-9]{1,2}):([0-9]{2})",
    "%H:%M:%S": "([0-9]{1,2}):([0-9]{2}):([0-9]{2})",
    "%I:%M %p": "([0-9]{1,2}):([0-9]{2}) ([AP]M)",
    "%I:%M:%S %p": "([0-9]{1,2}):([0-9]{2}):([0-9]{2}) ([AP]M)",
}
COMPILED_SHAPES = {format: re.compile(shape) for format, shape in DATE_SHAPES.items()}


@dataclass(frozen=True)
class Date:
    """A date, a month or a time of day in one format, written as `outcome` says: `2024-03-15`."""

    format: str
    outcome: str = "%Y-%m-%d"

    @property
    def words(self) -> str:
        return f"as a {'time' if '%M' in self.format else 'date'} written {self.format}"

    @property
    def fields(self) -> frozenset[str]:
        """What the format says, whatever its spelling: letters out of `ymdt`."""
        kinds = {"Y": "y", "y": "y", "B": "m", "b": "m", "m": "m", "d": "d"}
        return frozenset(kinds.get(letter, "t") for letter in re.findall(r"%(\w)", self.format))

    def apply(self, text: str) -> str | None:
        match = COMPILED_SHAPES[self.format].fullmatch(text)
        if match is None:
            return None
        fields = dict(zip(re.findall(r"%(\w)", self.format), match.groups(), strict=True))
        name = fields.get("B") or fields.get("b")
        month = SHORT_MONTHS.index(name[:3]) + 1 if name else int(fields.get("m", 1))
        year = int(fields["Y"]) if "Y" in fields else century(int(fields["y"])) if "y" in fields else 1900
        hour = int(fields.get("H", 0))
        if "I" in fields:
            hour = int(fields["I"]) % 12 + (12 if fields["p"] == "PM" else 0) if 1 <= int(fields["I"]) <= 12 else 99
        try:
            moment = datetime.datetime(
                year, month, int(fields.get("d", 1)), hour, int(fields.get("M", 0)), int(fields.get("S", 0))
            )
        except ValueError:
            return None
        # Python's strftime writes early years without zeros on some platforms.
        return moment.strftime(self.outcome.replace("%Y", f"{year:04d}"))

    def sql(self, expression: str) -> str:
        plain = expression
        if self.format == "%Y-%m-%d":
            # Only the date part goes to strptime; the shape lets a midnight follow it.
            plain = f"regexp_replace(regexp_extract({expression}, '^[^T:]*'), ' 00$', '')"
        elif "%B" in self.format or "%b " in self.format or " %b" in self.format:
            plain = f"regexp_replace({expression}, {literal('^' + WEEKDAY)}, '')"
            plain = f"replace(regexp_replace({plain}, '([0-9])(st|nd|rd|th)', '\\1'), ',', '')"
        parsed = f"strftime(try_strptime({plain}, {literal(self.format)}), {literal(self.outcome)})"
        return f"CASE WHEN regexp_full_match({expression}, {literal(DATE_SHAPES[self.format])}) THEN {parsed} END"


def century(year: int) -> int:
    """The full year of two digits, as DuckDB reads it."""
    return 2000 + year if year < 69 else 1900 + year


@dataclass(frozen=True)
class Affix:
    """A constant start and end taken off; does not apply to a value without them."""

    prefix: str = ""
    suffix: str = ""

    @property
    def words(self) -> str:
        parts = [
            f"without the {name} '{text}'" for name, text in (("prefix", self.prefix), ("suffix", self.suffix)) if text
        ]
        return " and ".join(parts)

    def apply(self, text: str) -> str | None:
        if len(text) <= len(self.prefix) + len(self.suffix):
            return None
        if not (text.startswith(self.prefix) and text.endswith(self.suffix)):
            return None
        return text[len(self.prefix) : len(text) - len(self.suffix)]

    def sql(self, expression: str) -> str:
        fixed = len(self.prefix) + len(self.suffix)
        tests = [f"length({expression}) > {fixed}"]
        if self.prefix:
            tests.append(f"starts_with({expression}, {literal(self.prefix)})")
        if self.suffix:
            tests.append(f"ends_with({expression}, {literal(self.suffix)})")
        cut = f"substr({expression}, {len(self.prefix) + 1}, length({expression}) - {fixed})"
        return f"CASE WHEN {' AND '.join(tests)} THEN {cut} END"


@dataclass(frozen=True)
class Recipe:
    """Steps in a row; the empty recipe leaves a value as it is. An empty outcome is no key and counts as none."""

    steps: tuple[Step, ...] = ()

    @property
    def words(self) -> str:
        return ", ".join(step.words for step in self.steps) or "as it is"

    def apply(self, text: str) -> str | None:
        current: str | None = text
        for step in self.steps:
            current = step.apply(current) if current is not None else None
        return current or None

    def sql(self, column: str) -> str:
        expression = column
        for step in self.steps:
            expression = step.sql(expression)
        return f"nullif({expression}, '')" if self.steps else expression


Kind = Literal[
    "identity", "trim", "case", "accents", "stray_characters", "prefix", "suffix", "prefix_swap", "zero_padding",
    "numeric", "date", "separators", "piece", "program",
]  # fmt: skip
Cardinality = Literal["one-to-one", "one-to-many", "many-to-one", "many-to-many"]
FAILURES_KEPT = 5


@dataclass(frozen=True)
class JoinRule:
    """`left` and `right` rewrite the values of each side; rows join where the outcomes are equal and not null.

    Rates are shares of the distinct values given. Cardinality counts distinct values too: `one-to-many` is one left
    value to many right values.
    """

    kind: Kind
    left: Recipe
    right: Recipe
    left_rate: float
    right_rate: float
    matches: int
    cardinality: Cardinality
    left_failures: tuple[str, ...] = field(default=(), compare=False)
    right_failures: tuple[str, ...] = field(default=(), compare=False)

    @property
    def description(self) -> str:
        if self.left == self.right:
            return "equal" if not self.left.steps else f"equal when both are taken {self.left.words}"
        if not self.right.steps:
            return f"the right value is made of the left: {self.left.words}"
        if not self.left.steps:
            return f"the left value is made of the right: {self.right.words}"
        return f"equal when the left is taken {self.left.words} and the right {self.right.words}"

    def left_sql(self, column: str) -> str:
        return self.left.sql(column)

    def right_sql(self, column: str) -> str:
        return self.right.sql(column)

    def condition(self, left_column: str, right_column: str) -> str:
        """The join condition in DuckDB SQL."""
        return f"{self.left_sql(left_column)} = {self.right_sql(right_column)}"


Keyed = dict[str, list[int]]


def keys(values: Sequence[str], recipe: Recipe) -> Keyed:
    """Positions of the values by what the recipe makes of them."""
    keyed: Keyed = {}
    for position, value in enumerate(values):
        key = recipe.apply(value)
        if key:
            keyed.setdefault(key, []).append(position)
    return keyed


@dataclass(frozen=True)
class Outcome:
    """What two recipes match: pairs of positions, and how ambiguous they are."""

    left: Recipe
    right: Recipe
    shared: tuple[str, ...]
    left_matched: frozenset[int]
    right_matched: frozenset[int]
    left_fan: float
    right_fan: float
    # Keys that lead to one value on at least one side; a key shared by many values on both counts for little.
    strength: float


def compare(left_keys: Keyed, right_keys: Keyed, left: Recipe, right: Recipe) -> Outcome:
    shared = [key for key in left_keys if key in right_keys]
    left_matched = frozenset(position for key in shared for position in left_keys[key])
    right_matched = frozenset(position for key in shared for position in right_keys[key])
    count = max(1, len(shared))
    fans = len(left_matched) / count, len(right_matched) / count
    strength = sum(min(len(left_keys[key]), len(right_keys[key])) ** -2.0 for key in shared)
    return Outcome(
        left, right, tuple(shared), left_matched, right_matched, max(1.0, fans[0]), max(1.0, fans[1]), strength
    )


def measure(left_values: Sequence[str], right_values: Sequence[str], left: Recipe, right: Recipe) -> Outcome:
    return compare(keys(left_values, left), keys(right_values, right), left, right)


def as_rule(kind: Kind, outcome: Outcome, left_values: Sequence[str], right_values: Sequence[str]) -> JoinRule:
    many_left, many_right = outcome.left_fan > 1, outcome.right_fan > 1
    cardinality: Cardinality = (
        "many-to-many" if many_left and many_right
        else "many-to-one" if many_left
        else "one-to-many" if many_right
        else "one-to-one"
    )  # fmt: skip
    return JoinRule(
        kind,
        outcome.left,
        outcome.right,
        len(outcome.left_matched) / max(1, len(left_values)),
        len(outcome.right_matched) / max(1, len(right_values)),
        len(outcome.shared),
        cardinality,
        failures(left_values, outcome.left_matched),
        failures(right_values, outcome.right_matched),
    )


def failures(values: Sequence[str], matched: frozenset[int]) -> tuple[str, ...]:
    found: list[str] = []
    for position, value in enumerate(values):
        if position not in matched:
            found.append(value if len(value) <= 80 else value[:79] + "…")
            if len(found) == FAILURES_KEPT:
                break
    return tuple(found)
