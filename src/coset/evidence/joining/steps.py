"""Ways to rewrite a value so that it meets its partner, each in Python and in DuckDB SQL with the same outcome.

A step takes a text and gives a text, or None where it does not apply; its `sql` wraps an SQL expression and gives
NULL there. A recipe is a few steps in a row. Nothing here knows which step suits which column.
"""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass
from typing import Protocol

from sqlglot import exp

from coset.evidence.joining.text import without_accents

BLANKS = "\t\n\f\r \u00a0"
BLANK_CLASS = r"[\t\n\f\r \x{00A0}]"


def quoted(text: str) -> str:
    """A text as an SQL literal."""
    return exp.Literal.string(text).sql(dialect="duckdb")


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
        return f"trim(regexp_replace({expression}, {quoted(BLANK_CLASS + '+')}, ' ', 'g'))"


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
        return f"regexp_replace({expression}, {quoted(self.duckdb_pattern)}, {quoted(self.replacement)}, 'g')"


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
        return f"CASE WHEN regexp_full_match(trim({expression}), {quoted(self._shape)}) THEN {short} END"


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
# DuckDB's format -> the shape a text must have for it. The shape is tested on both sides, so that neither
# Python nor DuckDB is more lenient than the other.
DATE_SHAPES = {
    "%Y-%m-%d": r"([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})(?:[ T]00:00:00(?:\.0+)?)?",
    "%Y/%m/%d": r"([0-9]{4})/([0-9]{1,2})/([0-9]{1,2})",
    "%Y%m%d": r"([0-9]{4})([0-9]{2})([0-9]{2})",
    "%d/%m/%Y": r"([0-9]{1,2})/([0-9]{1,2})/([0-9]{4})",
    "%m/%d/%Y": r"([0-9]{1,2})/([0-9]{1,2})/([0-9]{4})",
    "%d.%m.%Y": r"([0-9]{1,2})\.([0-9]{1,2})\.([0-9]{4})",
    "%d-%m-%Y": r"([0-9]{1,2})-([0-9]{1,2})-([0-9]{4})",
    "%m-%d-%Y": r"([0-9]{1,2})-([0-9]{1,2})-([0-9]{4})",
    "%d %B %Y": rf"([0-9]{{1,2}}) ({'|'.join(MONTHS)}) ([0-9]{{4}})",
    "%B %d, %Y": rf"({'|'.join(MONTHS)}) ([0-9]{{1,2}}), ([0-9]{{4}})",
    "%d %b %Y": rf"([0-9]{{1,2}}) ({'|'.join(month[:3] for month in MONTHS)}) ([0-9]{{4}})",
    "%b %d, %Y": rf"({'|'.join(month[:3] for month in MONTHS)}) ([0-9]{{1,2}}), ([0-9]{{4}})",
    "%d-%b-%Y": rf"([0-9]{{1,2}})-({'|'.join(month[:3] for month in MONTHS)})-([0-9]{{4}})",
}


@dataclass(frozen=True)
class Date:
    """A date in one format, as `2024-03-15`."""

    format: str

    @property
    def words(self) -> str:
        return f"as a date written {self.format}"

    def apply(self, text: str) -> str | None:
        match = re.fullmatch(DATE_SHAPES[self.format], text)
        if match is None:
            return None
        fields = dict(zip(re.findall(r"%(\w)", self.format), match.groups(), strict=True))
        name = fields.get("B") or fields.get("b")
        month = [m[:3] for m in MONTHS].index(name[:3]) + 1 if name else int(fields["m"])
        try:
            return datetime.date(int(fields["Y"]), month, int(fields["d"])).isoformat()
        except ValueError:
            return None

    def sql(self, expression: str) -> str:
        # Only the date part goes to strptime; the shape lets a midnight follow it.
        plain = f"regexp_extract({expression}, '^[^T:]*')" if self.format == "%Y-%m-%d" else expression
        plain = f"regexp_replace({plain}, ' 00$', '')" if self.format == "%Y-%m-%d" else plain
        parsed = f"strftime(try_strptime({plain}, {quoted(self.format)}), '%Y-%m-%d')"
        return f"CASE WHEN regexp_full_match({expression}, {quoted(DATE_SHAPES[self.format])}) THEN {parsed} END"


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
            tests.append(f"starts_with({expression}, {quoted(self.prefix)})")
        if self.suffix:
            tests.append(f"ends_with({expression}, {quoted(self.suffix)})")
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
