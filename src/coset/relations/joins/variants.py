"""The ways to look at a column's values so that they may meet others: whole, without a constant start or end, a piece.

In: the columns of tables with some of their values, and `VALUES`. Out: `Variant`s, each with the SQL that makes a
key of a value and with the hashes of its keys. `aid_7` is whole `aid7` and, without its start, `7`; `EMP/2019/0012` has
the piece `12`. Which variant joins what is not known here.
"""

from __future__ import annotations

import hashlib
import math
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import TYPE_CHECKING, Literal

from coset.relations.joins.column_values import (
    ISO,
    KEY,
    SAMPLED,
    STRIPPED,
    VALUES,
    Gathered,
    JoinColumn,
    date_format,
    date_of_stripped,
    date_sql,
    key_of,
)
from coset.sql_text import literal

if TYPE_CHECKING:
    import duckdb
    import numpy as np

Form = Literal["whole", "date", "affix", "piece", "digits", "groups", "head"]
"""`digits`: its digits alone; `groups`: its groups of digits, each without leading zeros; `head`: its digits without
the last one, which in a long number may be a check digit."""
SEPARATORS = "-/_.:|@#"
_SHARE, _MOSTLY = 0.9, 0.8
MOST_KINDS, KIND_SHARE = 4, 0.04
"""Codes of so many kinds may stand in one column, each told by its first letters and not too rare."""
LONG_NUMBER = 9
MOST_DOMAINS = 5
"""Addresses at so few domains are those of one company, which are told apart by what stands before the `@`."""
UNIQUE_HEAD = 0.95
"""A number without its last digit is looked at only where it still tells the numbers apart."""
KEYS = "coset_join_keys"
LOOKED_UP, LOOKED_UP_NUMBERS = 2_000, 500
"""About so many keys of a variant are looked up in others."""
LEAST_LOOKED_UP = 50
SHOWN_DIGITS = 5
LEAST_UNIQUE = 0.75
"""A variant whose keys are so nearly unique may be the right side of a join."""
_LETTERS_AROUND = re.compile(r"[^\d@]*[\d\W_]+[^\d@]*")
"""Letters before or after all digits say what kind of number it is; between them they belong to it."""
_EDGES = re.compile(r"^[\W_]+|[\W_]+$")


DIGITS = "ltrim(regexp_replace({text}, '[^0-9]+', '', 'g'), '0')"
DIGIT_KEYS: dict[Form, str] = {
    "digits": f"nullif({DIGITS}, '')",
    "groups": "nullif(array_to_string(list_transform(regexp_extract_all({text}, '[0-9]+'), "
    "lambda part: ltrim(part, '0')), 'x'), '')",
    "head": f"nullif(left({DIGITS}, -1), '')",
}
"""The keys of these forms, in SQL over `{text}`."""
LEAST_DIGITS, CHECKED_DIGITS, LONGEST_CODE = 4, 7, 40


@dataclass(frozen=True)
class Variant:
    """A way to look at a column. `keys` and `uniqueness` count what `key` makes of its values."""

    place: int
    """Which of the ways to look at its column this is."""
    column: JoinColumn
    form: Form
    prefix: str = ""
    suffix: str = ""
    spelled: tuple[str, str] = ("", "")
    """Prefix and suffix in the letters in which they stand most often."""
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
    numbers: Sequence[int] | np.ndarray = field(default=(), repr=False, compare=False)
    """Some of its numbers, in order, the long ones rounded: they may be somebody's."""
    key_set: int = 0
    """A digest of its keys: variants that have it in common have the same keys and are paired as one."""

    def density_within(self, low: int, high: int) -> float:
        """Of numbers: which share of those from `low` to `high` the column holds, as far as its sample tells."""
        inside = bisect_right(self.numbers, high) - bisect_left(self.numbers, low)
        expected = max(inside, 0.5) / len(self.numbers) * self.keys
        return min(1.0, expected / (high - low + 1))

    @property
    def part_of_column(self) -> float:
        """Which share of the column's keys is looked at in this way: codes of one kind among others are a part."""
        return min(1.0, self.keys / max(1, self.column.keys)) if self.form == "affix" else 1.0

    @property
    def is_key_like(self) -> bool:
        return self.uniqueness >= LEAST_UNIQUE

    @property
    def key(self) -> str:
        """The key of `raw`, in SQL."""
        if self.form == "whole":
            return "key"
        if self.form == "date":
            return f"strftime({date_sql('raw', self.format)}, '%Y%m%d')"
        if self.form in DIGIT_KEYS:
            return DIGIT_KEYS[self.form].format(text="stripped")
        if self.form == "piece":
            return key_of(f"split_part(stripped, {literal(self.separator)}, {self.piece})")
        return key_of(f"regexp_extract(stripped, {literal(affix_pattern(self.prefix, self.suffix))}, 1, 'i')")


@dataclass(frozen=True)
class KeySet:
    """The keys of variants, as hashes: all that are kept where the variant is nearly unique, else those to look up."""

    digest: int
    form: Form
    is_number: bool
    is_held: bool
    """Whether others may be looked up in it."""
    total: int
    """How many keys there are, of which `hashes` may be a part."""
    hashes: np.ndarray = field(repr=False, compare=False)


def affix_pattern(prefix: str, suffix: str) -> str:
    """A pattern of RE2 whose group is what stands between a constant start and end."""
    return f"^{re.escape(prefix)}(.+){re.escape(suffix)}$"


def variants_of(
    connection: duckdb.DuckDBPyConnection, columns: Sequence[Gathered]
) -> tuple[list[Variant], list[KeySet]]:
    """All variants of the columns that have values, counted, and the keys they have."""
    forms = [
        (gathered, replace(variant, place=place))
        for gathered in columns
        if gathered.column.keys
        for place, variant in enumerate(_forms(gathered))
    ]
    if not forms:
        return [], []
    _make_keys(connection, [variant for _, variant in forms])
    counted = _counted(connection, forms)
    return _with_key_sets(connection, counted)


def _forms(gathered: Gathered) -> list[Variant]:
    column = gathered.column
    if column.kind == "date":
        return [Variant(0, column, "date", format=date_format(gathered.sample) or ISO)]
    forms = [Variant(0, column, "whole")]
    values = [stripped for value in gathered.sample if (stripped := _EDGES.sub("", value))]
    if len(values) >= 2 and not column.elements and len({value[:-1] for value in values}) >= UNIQUE_HEAD * len(values):
        forms += [Variant(0, column, "head")] * _share(values, _may_have_check_digit)
    if len(values) < 2:
        return forms
    forms += [Variant(0, column, "groups")] * _share(values, _has_groups)
    if column.kind == "number":
        starts = _numbered_starts(values)
        return forms + [Variant(0, column, "affix", start, "", (start, "")) for start in starts]
    if _share(values, lambda value: "@" in value):
        few = len({value.rpartition("@")[2].lower() for value in values}) <= MOST_DOMAINS
        return [*forms, Variant(0, column, "piece", separator="@", piece=1)] if few else forms
    forms += [Variant(0, column, "digits")] * (_share(values, _is_mostly_digits) and not all(map(str.isdigit, values)))
    forms += [
        Variant(0, column, "affix", prefix, suffix, _spelling(gathered.sample, prefix, suffix))
        for prefix, suffix in _affixes(values)
    ]
    forms += [Variant(0, column, "piece", separator=sign, piece=place) for sign, place in _pieces(values)]
    return forms


_DIGITS = re.compile("[0-9]+")


def _share(values: Sequence[str], holds: Callable[[str], bool]) -> bool:
    """Whether it holds for nearly all values."""
    left, enough = len(values), _MOSTLY * len(values)
    for value in values:
        if not holds(value):
            left -= 1
            if left < enough:
                return False
    return left >= enough


def _is_mostly_digits(value: str) -> bool:
    if len(value) > LONGEST_CODE or not _LETTERS_AROUND.fullmatch(value):
        return False
    return sum(map(str.isdigit, value)) >= max(LEAST_DIGITS, 0.5 * sum(map(str.isalnum, value)))


def _has_groups(value: str) -> bool:
    return len(value) <= LONGEST_CODE and 2 <= len(_DIGITS.findall(value)) <= 4 and _is_mostly_digits(value)


def _may_have_check_digit(value: str) -> bool:
    return _is_mostly_digits(value) and sum(map(str.isdigit, value)) >= CHECKED_DIGITS


def _affixes(values: Sequence[str]) -> list[tuple[str, str]]:
    lowered = [value.lower() for value in values]
    starts = _constant_starts(lowered) or _several_starts(lowered)
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


def _several_starts(values: Sequence[str]) -> list[str]:
    """The letters with which codes of a few kinds start: C001723 is a customer, S00042 a supplier."""
    heads = Counter(match[0] for value in values if (match := re.match(r"[a-z]+[^a-z0-9]*(?=[0-9])", value)))
    often = [(head, count) for head, count in heads.most_common(MOST_KINDS + 1) if count >= KIND_SHARE * len(values)]
    if not 2 <= len(often) <= MOST_KINDS or sum(count for _, count in often) < _SHARE * len(values):
        return []
    return [head for head, _ in often]


def _numbered_starts(values: Sequence[str]) -> list[str]:
    """The digits with which long numbers of a few kinds start, before zeros that fill them up: 4110023871 is customer
    23871 on account 411."""
    long = [value for value in values if value.isdigit() and len(value) >= LONG_NUMBER]
    if len(long) < _MOSTLY * len(values):
        return []
    heads = Counter(match[1] for value in long if (match := re.match(r"([1-9][0-9]{1,3}?)0", value)))
    often = [(head, count) for head, count in heads.most_common(MOST_KINDS + 1) if count >= KIND_SHARE * len(long)]
    enough = len(often) <= MOST_KINDS and sum(count for _, count in often) >= _SHARE * len(long)
    return [head for head, _ in often] if enough else []


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


def _spelling(sample: Sequence[str], prefix: str, suffix: str) -> tuple[str, str]:
    """The start and end in the letters in which they stand most often (they are found in lower case)."""
    pattern = re.compile(f"({re.escape(prefix)}).+({re.escape(suffix)})", re.IGNORECASE)
    found = [match.groups() for value in sample if (match := pattern.search(value))]
    if not found:
        return prefix, suffix
    start, end = max(sorted(set(found)), key=found.count)
    return start, end


def _make_keys(connection: duckdb.DuckDBPyConnection, variants: Sequence[Variant]) -> None:
    """Fill `KEYS` with the keys of all variants (by their place in the sequence), as hashes and with their counts.

    What distinguishes variants stands in a table and not in patterns: planning a pattern costs more than many values.
    """
    rows = ", ".join(
        f"({place}, {v.column.number}, '{v.form}', {literal(v.prefix)}, {literal(v.suffix)}, {literal(v.separator)}, "
        f"{v.piece}, {literal(v.format)})"
        for place, v in enumerate(variants)
    )
    formats = sorted({v.format for v in variants if v.form == "date"})
    dates = "".join(f" WHEN {literal(name)} THEN {date_of_stripped('stripped', name)}" for name in formats)
    day = f"strftime(CASE format{dates} END, '%Y%m%d')" if dates else "NULL"
    others = "".join(f" WHEN '{form}' THEN {key.format(text='stripped')}" for form, key in DIGIT_KEYS.items())
    # What is no key is left out by the count of keys: a filter on them would be computed for all forms of all rows.
    connection.execute(
        f"CREATE OR REPLACE TEMP TABLE {KEYS} AS WITH variants AS "
        f"(FROM (VALUES {rows}) AS w(variant, number, form, prefix, suffix, separator, piece, format)), "
        "seen AS (SELECT *, CASE WHEN form = 'piece' THEN split_part(stripped, separator, piece) "
        "WHEN form = 'affix' AND starts_with(lower(stripped), prefix) AND ends_with(lower(stripped), suffix) "
        "AND length(stripped) > length(prefix) + length(suffix) "
        "THEN substring(stripped, length(prefix) + 1, length(stripped) - length(prefix) - length(suffix)) END AS cut "
        f"FROM {VALUES} JOIN variants USING (number)), "
        f"edged AS (SELECT *, {STRIPPED.format(raw='cut')} AS inner_cut FROM seen), "
        f"keys AS (SELECT variant, n, CASE form WHEN 'whole' THEN key WHEN 'date' THEN {day}{others} "
        f"ELSE {KEY.format(raw='cut', stripped='inner_cut')} END AS key FROM edged) "
        "SELECT variant, key, sum(n) AS n, hash(key) AS hash FROM keys GROUP BY variant, key HAVING count(key) > 0"
    ).fetchall()


@dataclass(frozen=True)
class _Counted:
    number: int
    variant: Variant
    held: int
    """How many keys are kept."""
    digest: int


def _counted(connection: duckdb.DuckDBPyConnection, forms: Sequence[tuple[Gathered, Variant]]) -> list[_Counted]:
    """Count the keys of each variant, and estimate from a sample how much one shared key tells."""
    answers = connection.execute(
        f"SELECT variant, count(*), sum(n), arg_min(key, hash, {SAMPLED}), hash(count(*), sum(hash::HUGEINT)) "
        f"FROM {KEYS} GROUP BY variant"
    ).fetchall()
    by_variant = {row[0]: row[1:] for row in answers}
    held = {
        variant.column.number: by_variant[number][0]
        for number, (_, variant) in enumerate(forms)
        if variant.form == "whole" and number in by_variant
    }
    counted: list[_Counted] = []
    for number, (gathered, variant) in enumerate(forms):
        keys, rows, sample, digest = by_variant.get(number, (0, 0, (), 0))
        if not keys or (variant.form != "whole" and keys < 2):
            continue
        if variant.form == "head" and keys < UNIQUE_HEAD * held.get(variant.column.number, rows):
            continue
        # Scaled up where only a part of the values is kept.
        total = round(keys * variant.column.keys / max(1, held.get(variant.column.number, variant.column.keys)))
        described = _with_counts(variant, total, keys / rows, sample, gathered.sample)
        counted.append(_Counted(number, described, keys, digest))
    return counted


def _with_counts(
    variant: Variant, keys: int, uniqueness: float, sample: Sequence[str], values: Sequence[str]
) -> Variant:
    whole = [int(key) for key in sample if key.isascii() and key.isdigit() and len(key) <= 18]
    if variant.form != "date" and len(whole) >= 0.95 * len(sample):
        column = variant.column
        exact = variant.form == "whole" and column.minimum is not None and column.maximum is not None
        low, high = (column.minimum, column.maximum) if exact else (min(whole), max(whole))
        span = (high or 0) - (low or 0) + 1
        return replace(
            variant, keys=keys, uniqueness=uniqueness, specificity=max(0.0, math.log2(span / keys)), is_number=True,
            minimum=low or 0, maximum=high or 0, numbers=tuple(sorted(map(_rounded, whole))),
        )  # fmt: skip
    bits = entropy(sample) if variant.form != "date" else math.log2(20_000)
    codes = sum(any(letter.isdigit() for letter in key) for key in sample) / len(sample)
    wordy = sum(" " in value.strip() for value in values) / max(1, len(values))
    return replace(
        variant, keys=keys, uniqueness=uniqueness, specificity=max(0.0, bits - math.log2(max(1, keys))),
        code_share=codes * (1 - wordy) if variant.form != "date" else 0.0,
    )  # fmt: skip


def _rounded(number: int) -> int:
    """Short numbers as they are; of long ones the leading digits."""
    hidden: int = 10 ** max(0, len(str(number)) - SHOWN_DIGITS)
    return number // hidden * hidden


def part_looked_up(total: int, is_number: bool, halvings: int = 0) -> int:
    """Of so many keys one in how many is looked up: a power of two, so that fewer of them are a part of more."""
    wanted = max(LEAST_LOOKED_UP, (LOOKED_UP_NUMBERS if is_number else LOOKED_UP) >> halvings)
    return 1 << math.floor(math.log2(max(1.0, total / wanted)))


def _with_key_sets(
    connection: duckdb.DuckDBPyConnection, counted: Sequence[_Counted]
) -> tuple[list[Variant], list[KeySet]]:
    """Each variant with the digest of its keys, and the key sets, each once."""
    variants: list[Variant] = []
    wanted: dict[int, tuple[_Counted, int]] = {}
    for each in counted:
        variant = each.variant
        part = 1 if variant.is_key_like else part_looked_up(each.held, variant.is_number)
        group = variant.form if variant.form in ("date", "piece", "head") else "text"
        digest = _digest(
            group, variant.is_number, variant.is_key_like, each.held, each.digest, variant.column.part
        )  # fmt: skip
        variants.append(replace(variant, key_set=digest))
        wanted.setdefault(digest, (each, part))
    if not wanted:
        return [], []
    listed = ", ".join(f"({each.number}, {part})" for each, part in wanted.values())
    rows = connection.sql(
        f"SELECT k.variant, list(k.hash) AS hashes FROM {KEYS} k JOIN (VALUES {listed}) AS w(variant, part) "
        "ON k.variant = w.variant WHERE k.hash % w.part = 0 GROUP BY k.variant"
    ).to_arrow_table()
    lists = rows.column("hashes").combine_chunks()
    by_variant = {
        number: lists[place].values.to_numpy() for place, number in enumerate(rows.column("variant").to_pylist())
    }
    empty = lists.flatten().to_numpy()[:0]
    return variants, [
        KeySet(
            digest, each.variant.form, each.variant.is_number, each.variant.is_key_like, each.held,
            by_variant.get(each.number, empty),
        )
        for digest, (each, _) in wanted.items()
    ]  # fmt: skip


def _digest(*parts: object) -> int:
    """63 bits, as DuckDB's BIGINT holds them."""
    return int.from_bytes(hashlib.blake2b(repr(parts).encode(), digest_size=8).digest()) >> 1


def entropy(sample: Sequence[str]) -> float:
    """Bits that a key of this sample tells, letter by letter: what is the same in all tells nothing."""
    longest = max((len(key) for key in sample), default=0)
    bits = 0.0
    for letters in zip_longest(*(key[:40] for key in sample), fillvalue=""):
        counts = Counter(letters)
        total = sum(counts.values())
        bits -= sum(count / total * math.log2(count / total) for count in counts.values())
    # Of a single key nothing can be learned; digits and letters of it are taken as they come.
    return bits if len(sample) > 2 else max(bits, 2.0 * longest)
