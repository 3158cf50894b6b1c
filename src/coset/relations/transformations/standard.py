"""The rewritings that are tried on every two columns, from the plainest to the boldest.

In go the distinct values of both columns, out come (kind, left recipe, right recipe) to measure. Prefixes, suffixes
and date formats are read off the columns; everything else is fixed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from coset.relations.transformations.rule import Kind
from coset.relations.transformations.steps import (
    DATE_SHAPES,
    WITHOUT_SEPARATORS,
    WITHOUT_STRAY,
    WITHOUT_ZEROS,
    Affix,
    Date,
    Lower,
    Number,
    Recipe,
    Step,
    Trim,
    Unaccented,
)
from coset.relations.transformations.synthesis import common_prefix

LOOKED_AT = 200
NO_DIGITS = re.compile(r"^[^0-9]+")
NO_DIGITS_AT_END = re.compile(r"[^0-9]+\Z")

BOTH_SIDES: tuple[tuple[Kind, tuple[Step, ...]], ...] = (
    ("identity", ()),
    ("trim", (Trim(),)),
    ("case", (Trim(), Lower())),
    ("accents", (Trim(), Lower(), Unaccented())),
    ("stray_characters", (WITHOUT_STRAY,)),
    ("stray_characters", (WITHOUT_STRAY, Trim(), Lower(), Unaccented())),
    ("zero_padding", (WITHOUT_ZEROS,)),
    ("zero_padding", (WITHOUT_STRAY, WITHOUT_ZEROS, Lower())),
    ("numeric", (Number(),)),
    ("separators", (WITHOUT_SEPARATORS,)),
    ("separators", (WITHOUT_SEPARATORS, Lower(), Unaccented())),
    ("separators", (WITHOUT_ZEROS, WITHOUT_SEPARATORS, Lower(), Unaccented())),
)


def candidates(
    left: Sequence[str], right: Sequence[str], *, strangers: bool = False
) -> Iterator[tuple[Kind, Recipe, Recipe]]:
    """`strangers` are columns that even the last of `BOTH_SIDES` does not match; only numbers are worth a try then."""
    for kind, steps in BOTH_SIDES:
        if not strangers or kind == "numeric":
            yield kind, Recipe(steps), Recipe(steps)
    right_dates = date_formats(right)
    for one in date_formats(left) if right_dates else ():
        for other in right_dates:
            if one != other and Date(one).fields == Date(other).fields:
                outcome = date_outcome(one, other)
                yield "date", Recipe((Date(one, outcome),)), Recipe((Date(other, outcome),))
    left_affixes, right_affixes = affixes(left), affixes(right)
    for after in ((), (WITHOUT_ZEROS,), (Lower(),)):
        for affix in left_affixes:
            yield affix_kind(affix), Recipe((affix, *after)), Recipe(after)
        for affix in right_affixes:
            yield affix_kind(affix), Recipe(after), Recipe((affix, *after))
        for one_affix in left_affixes:
            for other_affix in right_affixes:
                if one_affix != other_affix:
                    yield "prefix_swap", Recipe((one_affix, *after)), Recipe((other_affix, *after))


def affix_kind(affix: Affix) -> Kind:
    return "prefix" if affix.prefix else "suffix"


def affixes(values: Sequence[str]) -> list[Affix]:
    """Constant starts and ends: shared by all values, or the text before or after the digits of half of them."""
    looked = [value for value in values[:LOOKED_AT] if value]
    if len(looked) < 2:
        return []
    prefixes = [common_prefix(looked).rstrip("0123456789")]
    suffixes = [common_prefix([value[::-1] for value in looked])[::-1].lstrip("0123456789")]
    for pattern, found in ((NO_DIGITS, prefixes), (NO_DIGITS_AT_END, suffixes)):
        counts = Counter(match[0] for value in looked if (match := pattern.search(value)) and match[0] != value)
        for text, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:1]:
            if count >= len(looked) / 2:
                found.append(text)
    prefixes = [text for text in dict.fromkeys(prefixes) if text and text.isprintable()]
    suffixes = [text for text in dict.fromkeys(suffixes) if text and text.isprintable()]
    found_affixes = [Affix(prefix) for prefix in prefixes] + [Affix("", suffix) for suffix in suffixes]
    return found_affixes + [Affix(prefix, suffix) for prefix in prefixes for suffix in suffixes]


def date_outcome(one: str, other: str) -> str:
    """What both formats can say: without the century where one of them leaves it out."""
    fields = Date(one).fields
    if "t" in fields:
        return "%H:%M:%S" if "%S" in one and "%S" in other else "%H:%M"
    year = [] if "y" not in fields else ["%y"] if "%y" in one or "%y" in other else ["%Y"]
    return "-".join([*year, "%m"] + (["%d"] if "d" in fields else []))


def date_formats(values: Sequence[str]) -> list[str]:
    """Formats that read at least nine in ten of the values looked at; day first and month first may both."""
    looked = [value for value in values[:LOOKED_AT] if value]
    if not looked or not any(value[:1].isdigit() or value[:3].isalpha() for value in looked[:20]):
        return []
    return [
        format
        for format in DATE_SHAPES
        if Date(format).apply(looked[0]) or Date(format).apply(looked[-1])
        if sum(Date(format).apply(value) is not None for value in looked) >= 0.9 * len(looked)
    ]
