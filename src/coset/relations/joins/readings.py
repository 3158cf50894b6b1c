"""How a side of a join is read: the expressions that are tried for a variant, from the plainest to the boldest.

In: a variant. Out: `Reading`s, each an SQL template over the value with the kind of transformation it is. All give text
except those that give a number or a date; none raises on any value. Which reading is right is measured elsewhere.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from coset.evidence.column_expressions import column_kind
from coset.relations.joins.column_values import STRIPPED, access, elements_of_json, names_of
from coset.relations.joins.dates import date_sql
from coset.relations.joins.joinable import JoinColumn
from coset.relations.joins.variants import DIGIT_KEYS, Variant
from coset.sql_text import literal

Gives = Literal["own", "text", "number", "date"]
_ORDER = (
    "identity", "trim", "case", "stray_characters", "zero_padding", "numeric", "date", "prefix", "suffix", "separators",
    "digits", "check_digit", "piece",
)  # fmt: skip


@dataclass(frozen=True)
class Reading:
    """`template` has `{value}` where the value stands, as text unless `gives` is `own` (the column as it is)."""

    kinds: tuple[str, ...]
    template: str
    gives: Gives
    cost: int

    def sql(self, value: str) -> str:
        return self.template.replace("{value}", value)

    @property
    def kind(self) -> str:
        return max(self.kinds, key=_ORDER.index, default="identity")


PLAIN = Reading((), "{value}", "own", 0)
"""The value as it is."""


def readings_of(variant: Variant) -> list[Reading]:
    """The readings of a variant, by rising cost."""
    column = variant.column
    stripped = STRIPPED.format(raw="{value}")
    if variant.form == "date":
        if column_kind(column.type) == "date":
            return [PLAIN]
        return [Reading(("date",), date_sql("{value}", variant.format), "date", 6)]
    if variant.form in DIGIT_KEYS:
        kind = "check_digit" if variant.form == "head" else "digits"
        return [Reading((kind,), DIGIT_KEYS[variant.form].replace("{text}", "{value}"), "text", 9)]
    if column.kind == "number" and column_kind(column.type) == "integer":
        return [PLAIN]
    if variant.form == "whole":
        return _whole(variant, stripped)
    if variant.form == "piece":
        piece = f"split_part({{value}}, {literal(variant.separator)}, {variant.piece})"
        return _with_more(("piece",), piece, stripped_piece=piece.replace("{value}", stripped), cost=10)
    return _affix(variant)


def _whole(variant: Variant, stripped: str) -> list[Reading]:
    """Only what some value of the column gives a reason for; the other side's capitals are not known here."""
    dirt = variant.column.dirt
    found = [PLAIN, Reading(("case",), "lower({value})", "text", 2)]
    if "blanks" in dirt:
        found += [
            Reading(("trim",), "trim({value})", "text", 1),
            Reading(("trim", "case"), "lower(trim({value}))", "text", 3),
        ]
    if "stray" in dirt:
        found += [
            Reading(("stray_characters",), stripped, "text", 4),
            Reading(("stray_characters", "case"), f"lower({stripped})", "text", 5),
        ]
    if "zeros" in dirt:
        zeros = "regexp_extract({value}, '^0*(.+)$', 1)"
        found += [
            Reading(("zero_padding",), zeros, "text", 6),
            Reading(("zero_padding",), zeros.replace("{value}", stripped), "text", 7),
            Reading(("zero_padding", "case"), f"lower({zeros.replace('{value}', stripped)})", "text", 8),
        ]
    if variant.is_number:
        found += [
            Reading(("numeric",), "TRY_CAST({value} AS BIGINT)", "number", 5),
            Reading(("numeric", "stray_characters"), f"TRY_CAST({stripped} AS BIGINT)", "number", 7),
        ]
    if "separators" in dirt:
        everything = r"regexp_replace({value}, '[^\p{L}\p{N}]+', '', 'g')"
        found += [
            Reading(("separators",), everything, "text", 8),
            Reading(("separators", "case"), f"lower({everything})", "text", 9),
        ]
    return found


def _affix(variant: Variant) -> list[Reading]:
    """One pattern takes off the start and the end; text without them reads as NULL."""
    kind = "prefix" if variant.prefix else "suffix"
    edge = r"[^\p{L}\p{N}]*"
    found: list[Reading] = []
    spelled = variant.spelled
    for cost, (before, zeros, after) in enumerate((("", "", ""), (edge, "", edge), ("", "0*", ""), (edge, "0*", edge))):
        body = "(.+?)" if after else "(.+)"
        pattern = f"^{before}{re.escape(spelled[0])}{zeros}{body}{re.escape(spelled[1])}{after}$"
        kinds = (kind, *(("stray_characters",) if before else ()), *(("zero_padding",) if zeros else ()))
        sql = f"nullif(regexp_extract({{value}}, {literal(pattern)}, 1), '')"
        found.append(Reading(kinds, sql, "text", 8 + 2 * cost))
        any_case = f"nullif(lower(regexp_extract({{value}}, {literal(pattern)}, 1, 'i')), '')"
        found.append(Reading((*kinds, "case"), any_case, "text", 9 + 2 * cost))
    return sorted(found, key=lambda reading: reading.cost)


def _with_more(kinds: tuple[str, ...], sql: str, *, stripped_piece: str, cost: int) -> list[Reading]:
    found: list[Reading] = []
    for more, text in ((0, sql), (2, stripped_piece)):
        zeros = f"regexp_extract({text}, '^0*(.+)$', 1)"
        stray = ("stray_characters",) if more else ()
        found += [
            Reading((*kinds, *stray), f"nullif({text}, '')", "text", cost + more),
            Reading((*kinds, *stray, "case"), f"nullif(lower({text}), '')", "text", cost + more + 1),
            Reading((*kinds, *stray, "zero_padding"), f"nullif({zeros}, '')", "text", cost + more + 4),
            Reading((*kinds, *stray, "zero_padding", "case"), f"nullif(lower({zeros}), '')", "text", cost + more + 5),
        ]
    return sorted(found, key=lambda reading: reading.cost)


def value_sql(column: JoinColumn) -> str:
    """The column as it is; the elements of a list one by one; the names of a family's tables, over no table."""
    if column.is_names:
        return names_of(column.members)
    name = access(column.name)
    if not column.elements:
        return name
    if column_kind(column.type) == "text":
        return elements_of_json(name)
    return f"unnest({name})"


def expression(column: JoinColumn, reading: Reading, other: Gives) -> str:
    """The reading over the column itself, as a type that compares with what the other side gives."""
    value = value_sql(column)
    kind = column_kind(column.type[:-2] if column.elements and column.type.endswith("[]") else column.type)
    textual = kind == "text"
    if reading.gives == "own":
        if other == "number" and kind in ("integer", "decimal", "float"):
            return value if kind == "integer" else f"TRY_CAST({value} AS BIGINT)"
        if other == "date" and kind == "date":
            return value
        return value if textual or other == "own" else f"CAST({value} AS VARCHAR)"
    if reading.gives in ("number", "date") and not textual:
        return f"TRY_CAST({value} AS {'BIGINT' if reading.gives == 'number' else 'DATE'})"
    return reading.sql(value if textual else f"CAST({value} AS VARCHAR)")
