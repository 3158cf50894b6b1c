"""The ways to look at a column's values so that they may meet others: whole, without a constant start or end, a piece.

In: columns with sampled values. Out: `Variant`s, each with the SQL that makes a key of a value. `aid_7` is whole
`aid7` and, without its start, `7`; `EMP/2019/0012` has the piece `12`. Which variant joins what is not known here.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from coset.evidence.column_expressions import literal
from coset.evidence.relations.column_values import SAMPLED, VALUES, key_of
from coset.evidence.relations.dates import ISO, date_format, date_sql
from coset.evidence.relations.joinable import JoinColumn

if TYPE_CHECKING:
    import duckdb

Form = Literal["whole", "date", "affix", "piece"]
SEPARATORS = "-/_.:|@#"
_SHARE = 0.9
KEYS = "coset_join_keys"
STATEMENTS_AT_ONCE = 40
_EDGES = re.compile(r"^[\W_]+|[\W_]+$")


@dataclass(frozen=True)
class Variant:
    """A way to look at a column. `keys` and `uniqueness` count what `key` makes of its values."""

    number: int
    column: JoinColumn
    form: Form
    prefix: str = ""
    suffix: str = ""
    separator: str = ""
    piece: int = 0
    format: str = ISO
    keys: int = 0
    uniqueness: float = 0.0
    specificity: float = 0.0
    """How many bits the presence of one key among those of this column tells: 0 for the numbers from 1 to n."""
    code_share: float = 0.0
    """The share of keys that look made up by a machine: with a digit among few words."""
    is_number: bool = False
    minimum: int = 0
    maximum: int = 0
    numbers: tuple[int, ...] = field(default=(), repr=False)
    """Some of its numbers, in order."""

    def density_within(self, low: int, high: int) -> float:
        """Of numbers: which share of those from `low` to `high` the column holds, as far as its sample tells."""
        inside = bisect_right(self.numbers, high) - bisect_left(self.numbers, low)
        expected = max(inside, 0.5) / len(self.numbers) * self.keys
        return min(1.0, expected / (high - low + 1))

    @property
    def key(self) -> str:
        """The key of `raw`, in SQL."""
        if self.form == "whole":
            return "key"
        if self.form == "date":
            return f"strftime({date_sql('raw', self.format)}, '%Y%m%d')"
        if self.form == "piece":
            return key_of(f"split_part(stripped, {literal(self.separator)}, {self.piece})")
        return key_of(f"regexp_extract(stripped, {literal(affix_pattern(self.prefix, self.suffix))}, 1, 'i')")


def affix_pattern(prefix: str, suffix: str) -> str:
    """A pattern of RE2 whose group is what stands between a constant start and end."""
    return f"^{re.escape(prefix)}(.+){re.escape(suffix)}$"


def variants_of(connection: duckdb.DuckDBPyConnection, columns: Sequence[JoinColumn]) -> list[Variant]:
    """All variants of all columns that have values, counted."""
    found: list[Variant] = []
    for column in columns:
        if not column.keys:
            continue
        for variant in _forms(column):
            found.append(replace(variant, number=len(found)))
    return _counted(connection, found)


def _forms(column: JoinColumn) -> list[Variant]:
    if column.kind == "date":
        return [Variant(0, column, "date", format=date_format(column.sample) or ISO)]
    forms = [Variant(0, column, "whole")]
    values = [stripped for value in column.sample if (stripped := _EDGES.sub("", value))]
    if column.kind == "number" or len(values) < 2:
        return forms
    affixes = _affixes(values)
    forms += [Variant(0, column, "affix", prefix=prefix, suffix=suffix) for prefix, suffix in affixes]
    forms += [Variant(0, column, "piece", separator=sign, piece=place) for sign, place in _pieces(values)]
    return forms


def _affixes(values: Sequence[str]) -> list[tuple[str, str]]:
    lowered = [value.lower() for value in values]
    starts = _constant_starts(lowered)
    ends = [end[::-1] for end in _constant_starts([value[::-1] for value in lowered])]
    found = [(start, "") for start in starts] + [("", end) for end in ends]
    if starts and ends:
        found.append((starts[0], ends[0]))
    return found


def _constant_starts(values: Sequence[str]) -> list[str]:
    """What nearly all values start with: all before the first digit, or all up to a separator."""
    ordered = sorted(values)
    margin = int(len(ordered) * (1 - _SHARE) / 2)
    first, last = ordered[margin], ordered[-1 - margin]
    common = 0
    while common < min(len(first), len(last)) and first[common] == last[common]:
        common += 1
    found: list[str] = []
    heads = Counter(match[0] for value in values if (match := re.match(r"[^0-9]+(?=[0-9])", value)))
    if heads:
        head, count = heads.most_common(1)[0]
        if count >= _SHARE * len(values):
            found.append(head)
    separated = re.match(rf".*[{re.escape(SEPARATORS)} ]", first[:common])
    if separated and separated[0] not in found:
        found.append(separated[0])
    return [start for start in found if any(letter.isalpha() for letter in start)]


def _pieces(values: Sequence[str]) -> list[tuple[str, int]]:
    """Places of codes that are put together in the same way; a constant part and what remains of it are affixes."""
    for sign in SEPARATORS:
        counts = Counter(value.count(sign) + 1 for value in values)
        parts, count = counts.most_common(1)[0]
        if not 2 <= parts <= 5 or count < _SHARE * len(values):
            continue
        split = [value.split(sign) for value in values if value.count(sign) + 1 == parts]
        varying = [place for place in range(parts) if len({pieces[place] for pieces in split}) > 1]
        if len(varying) >= 2:
            return [(sign, place + 1) for place in varying]
    return []


def _counted(connection: duckdb.DuckDBPyConnection, variants: list[Variant]) -> list[Variant]:
    """Make the keys of all variants, count them, and estimate from a sample how much one shared key tells."""
    connection.execute(f"CREATE OR REPLACE TEMP TABLE {KEYS} (variant INTEGER, source INTEGER, key VARCHAR, n BIGINT)")
    whole = ", ".join(f"({v.number}, {v.column.number})" for v in variants if v.form == "whole")
    parts = [
        f"SELECT {v.number} AS variant, number AS source, {v.key} AS key, n FROM {VALUES} "
        f"WHERE number = {v.column.number}"
        for v in variants
        if v.form != "whole"
    ]
    if whole:
        parts.insert(
            0,
            f"SELECT w.variant AS variant, v.number AS source, v.key AS key, v.n AS n FROM {VALUES} v "
            f"JOIN (VALUES {whole}) AS w(variant, number) ON v.number = w.number",
        )
    for start in range(0, len(parts), STATEMENTS_AT_ONCE):
        together = " UNION ALL ".join(parts[start : start + STATEMENTS_AT_ONCE])
        connection.execute(
            f"INSERT INTO {KEYS} SELECT variant, source, key, sum(n) FROM ({together}) WHERE key IS NOT NULL "
            "GROUP BY variant, source, key"
        ).fetchall()
    answers = connection.execute(
        f"SELECT variant, count(*), sum(n), arg_min(key, hash(key), {SAMPLED}) FROM {KEYS} GROUP BY variant"
    ).fetchall()
    by_variant = {row[0]: row[1:] for row in answers}
    held = {v.column.number: by_variant[v.number][0] for v in variants if v.form == "whole" and v.number in by_variant}
    counted: list[Variant] = []
    for variant in variants:
        keys, rows, sample = by_variant.get(variant.number, (0, 0, ()))
        if not keys or (variant.form != "whole" and keys < 2):
            continue
        # Scaled up where only a part of the values is kept.
        total = round(keys * variant.column.keys / max(1, held.get(variant.column.number, variant.column.keys)))
        counted.append(_with_counts(variant, total, keys / rows, sample))
    return counted


def _with_counts(variant: Variant, keys: int, uniqueness: float, sample: Sequence[str]) -> Variant:
    whole = [int(key) for key in sample if key.isascii() and key.isdigit() and len(key) <= 18]
    if variant.form != "date" and len(whole) >= 0.95 * len(sample):
        column = variant.column
        exact = variant.form == "whole" and column.minimum is not None and column.maximum is not None
        low, high = (column.minimum, column.maximum) if exact else (min(whole), max(whole))
        span = (high or 0) - (low or 0) + 1
        return replace(
            variant, keys=keys, uniqueness=uniqueness, specificity=max(0.0, math.log2(span / keys)), is_number=True,
            minimum=low or 0, maximum=high or 0, numbers=tuple(sorted(whole)),
        )  # fmt: skip
    bits = entropy(sample) if variant.form != "date" else math.log2(20_000)
    codes = sum(any(letter.isdigit() for letter in key) for key in sample) / len(sample)
    wordy = sum(" " in value.strip() for value in variant.column.sample) / max(1, len(variant.column.sample))
    return replace(
        variant, keys=keys, uniqueness=uniqueness, specificity=max(0.0, bits - math.log2(max(1, keys))),
        code_share=codes * (1 - wordy) if variant.form != "date" else 0.0,
    )  # fmt: skip


def entropy(sample: Sequence[str]) -> float:
    """Bits that a key of this sample tells, letter by letter: what is the same in all tells nothing."""
    longest = max((len(key) for key in sample), default=0)
    bits = 0.0
    for place in range(min(longest, 40)):
        counts = Counter(key[place : place + 1] for key in sample)
        total = sum(counts.values())
        bits -= sum(count / total * math.log2(count / total) for count in counts.values())
    # Of a single key nothing can be learned; digits and letters of it are taken as they come.
    return bits if len(sample) > 2 else max(bits, 2.0 * longest)
