"""Phi_D(e): what an object looks like, as texts for the text encoder and a row of numbers.

In: an observed column or table with its neighbours and the table it refers to (declared, or by its name). Out: short
texts, and numbers about type, values and keys. Which identity it may be is not known here; names enter through the
texts alone, so that no list of names decides.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from coset.identities.text_encoder import ObjectTexts
from coset.readings.observed import ObservedColumn, ObservedEnvironment, ObservedTable, TypeFamily
from coset.readings.value_patterns import PATTERNS, numbers_in, pattern_shares, present
from coset.readings.words import readable, singular

POINTING = frozenset(
    ("id", "ids", "key", "code", "number", "no", "num", "nbr", "uuid", "guid", "name", "ref", "fk", "sk", "pk", "sid")
)
LAYERS = frozenset(("stg", "dim", "fact", "fct", "tbl", "raw", "src", "int", "base", "tmp", "t", "v", "f", "d"))
"""Words before a table's name that say how it is kept and not what it is."""


def referred_tables(tables: Sequence[ObservedTable]) -> dict[tuple[int, int], int]:
    """The place of the table that a column refers to, by the places of its table and of itself in it. Where tables of
    several sources have one name, that of the column's own source is meant."""
    by_reference = {table.reference: place for place, table in enumerate(tables) if table.reference}
    by_name = _places(tables, lambda table: (_last(table.name).lower(),))
    by_words = _places(tables, lambda table: table_words(table.name))
    found: dict[tuple[int, int], int] = {}
    for place, table in enumerate(tables):
        own = table_words(table.name)
        names, words = by_name[table.source], by_words[table.source]
        for position, column in enumerate(table.columns):
            target = by_reference.get(column.target)
            if target is None and column.refers_to:
                target = names.get((_last(column.refers_to[0]).lower(),))
            if target is None:
                target = _table_named(pointing_words(column.name), own, words)
            if target is not None and target != place:
                found[place, position] = target
    return found


def _places(
    tables: Sequence[ObservedTable], key: Callable[[ObservedTable], tuple[str, ...]]
) -> dict[str, ChainMap[tuple[str, ...], int]]:
    """For each source the places of tables by a key: of its own tables, then of all; the first of equal ones."""
    everywhere: dict[tuple[str, ...], int] = {}
    own: dict[str, dict[tuple[str, ...], int]] = {}
    for place, table in enumerate(tables):
        here = own.setdefault(table.source, {})
        if words := key(table):
            everywhere.setdefault(words, place)
            here.setdefault(words, place)
    return {source: ChainMap(here, everywhere) for source, here in own.items()}


def table_words(name: str) -> tuple[str, ...]:
    """What a table is called, in the singular, without layers and numbers."""
    words = _singular(_last(name))
    return words[1:] if len(words) > 1 and words[0] in LAYERS else words


def pointing_words(name: str) -> tuple[str, ...]:
    """The words of a column's name before those that say that it refers; none where nothing does."""
    words = _singular(name)
    end = len(words)
    while end > 1 and words[end - 1] in POINTING:
        end -= 1
    return words[:end] if end < len(words) else ()


def _table_named(words: tuple[str, ...], own: tuple[str, ...], tables: Mapping[tuple[str, ...], int]) -> int | None:
    """The table of which the name ends the words: a `billing_customer_id` refers to customers too."""
    for begin in range(len(words)):
        if words[begin:] == own:
            return None
        if words[begin:] in tables:
            return tables[words[begin:]]
    return None


def _singular(name: str) -> tuple[str, ...]:
    return tuple(singular(word) for word in readable(name) if not word.isdigit())


def _last(name: str) -> str:
    return name.rsplit(".", 1)[-1]


LONGEST_NAME, LONGEST_DESCRIPTION, SHOWN_SAMPLES, LONGEST_SAMPLE, SHOWN_NEIGHBOURS = 120, 90, 3, 20, 2
LONGEST_TABLE_DESCRIPTION, SHOWN_COLUMNS = 300, 30
LARGEST = 1e30
"""Numbers beyond it count as this one, so that squares and sums of them stay finite."""
TYPES: tuple[str, ...] = get_args(TypeFamily)
_OTHERS = (
    "is_table", "is_key", "refers", "referred", "has_samples", "unique_samples", "log_length", "length_spread",
    "log_magnitude", "log_spread", "all_small", "in_degrees", "in_half_degrees", "in_unit", "in_percent", "rising",
    "nulls_known", "nulls", "distinct_known", "few_distinct", "distinct_share", "unique", "first_column", "position",
    "described", "columns",
)  # fmt: skip
NUMBER_NAMES: tuple[str, ...] = (
    *(f"type_{name}" for name in TYPES),
    *(f"pattern_{name}" for name in PATTERNS),
    *_OTHERS,
)


def text_of(table: ObservedTable, column: ObservedColumn | None, position: int = 0) -> str:
    """The object in words: its name first, then what else is known, the most telling first.

    The name of the database is not told: a model learns by it which database has which entities, and errs in others.
    """
    if column is None:
        return _text_of_table(table)
    parts = [f"{_named(column.name, column.label)} | {_named(table.name, table.label)}"]
    if column.refers_to:
        parts.append(f"refers to {_spaced(column.refers_to[0])}")
    if column.description:
        parts.append(_cut(column.description, LONGEST_DESCRIPTION))
    parts.append(column.type)
    values = present(column.samples)[:SHOWN_SAMPLES]
    if values:
        # The row of numbers tells of numbers; one in the text is enough.
        shown = values if any(letter.isalpha() for value in values for letter in value) else values[:1]
        parts.append("; ".join(_cut(value, LONGEST_SAMPLE) for value in shown))
    beside = neighbours(table, position)
    if beside:
        parts.append("with " + ", ".join(beside))
    return " | ".join(parts)


def _text_of_table(table: ObservedTable) -> str:
    parts = [_named(table.name, table.label)]
    if table.description:
        parts.append(_cut(table.description, LONGEST_TABLE_DESCRIPTION))
    parts.append("columns " + ", ".join(_told(column) for column in table.columns[:SHOWN_COLUMNS]))
    return ". ".join(parts)


def _told(column: ObservedColumn) -> str:
    """What a column is called where another object speaks of it: by its reading, where it has one."""
    return _cut(column.label.lower(), 40) if column.label else _spaced(column.name)


def neighbours(table: ObservedTable, here: int) -> list[str]:
    """What the columns beside a column are called, the nearest first. The text of its table has the others."""
    order = [here - 1, here + 1, 0, here + 2]
    found: list[str] = []
    for other in order:
        if 0 <= other < len(table.columns) and other != here and (told := _told(table.columns[other])) not in found:
            found.append(told)
    return found[:SHOWN_NEIGHBOURS]


def numbers_of(table: ObservedTable, column: ObservedColumn | None, position: int = 0) -> NDArray[np.float32]:
    """The row of numbers, in the order of `NUMBER_NAMES`."""
    row = dict.fromkeys(NUMBER_NAMES, 0.0)
    row["columns"] = np.log1p(len(table.columns)) / 5
    if column is None:
        row["is_table"] = 1.0
        row["described"] = float(bool(table.description))
        return np.array(list(row.values()), dtype=np.float32)
    row[f"type_{column.type}"] = 1.0
    row["is_key"], row["refers"] = float(column.is_key), float(column.refers_to is not None)
    row["referred"] = float(column.referred_by > 0)
    row["first_column"], row["position"] = float(position == 0), position / max(1, len(table.columns))
    row["described"] = float(bool(column.description))
    values = present(column.samples)
    if values:
        row |= {f"pattern_{name}": share for name, share in pattern_shares(column.samples).items()}
        lengths = np.array([len(value) for value in values], dtype=np.float64)
        row["has_samples"], row["unique_samples"] = 1.0, len(set(values)) / len(values)
        row["log_length"] = float(np.log1p(lengths.mean())) / 5
        row["length_spread"] = float(lengths.std() / (1 + lengths.mean()))
        row |= _magnitudes(numbers_in(values))
    if column.nulls is not None:
        row["nulls_known"], row["nulls"] = 1.0, column.nulls
    if column.distinct is not None and column.rows:
        row["distinct_known"] = 1.0
        row["few_distinct"] = float(column.distinct <= 12)
        row["distinct_share"] = min(1.0, column.distinct / column.rows)
        row["unique"] = float(bool(column.unique))
    return np.array(list(row.values()), dtype=np.float32)


@dataclass(frozen=True)
class Features:
    """Texts and numbers of all objects of an environment, in its order."""

    texts: list[ObjectTexts]
    numbers: NDArray[np.float32]


def features_of(environment: ObservedEnvironment) -> Features:
    """The features of all objects. An object's own text and those of the tables about it are encoded side by side."""
    of_tables = [text_of(table, None) for table in environment.tables]
    referred = referred_tables(environment.tables)
    texts: list[ObjectTexts] = []
    rows: list[NDArray[np.float32]] = []
    for place, table in enumerate(environment.tables):
        for position, column in enumerate((None, *table.columns), start=-1):
            own = of_tables[place] if column is None else text_of(table, column, position)
            target = referred.get((place, position))
            texts.append(ObjectTexts(own, of_tables[place], "" if target is None else of_tables[target]))
            rows.append(numbers_of(table, column, max(0, position)))
    return Features(texts, np.stack(rows) if rows else np.zeros((0, len(NUMBER_NAMES)), dtype=np.float32))


def _magnitudes(numbers: NDArray[np.float64]) -> dict[str, float]:
    if not len(numbers):
        return {}
    numbers = np.clip(numbers, -LARGEST, LARGEST)
    size = np.abs(numbers)
    return {
        "log_magnitude": float(np.log1p(size.mean())) / 20,
        "log_spread": float(np.log1p(numbers.std())) / 20,
        "all_small": float(size.max() <= 12),
        "in_degrees": float(size.max() <= 180 and bool((numbers % 1 != 0).any())),
        "in_half_degrees": float(size.max() <= 90 and bool((numbers % 1 != 0).any())),
        "in_unit": float(numbers.min() >= 0 and numbers.max() <= 1),
        "in_percent": float(numbers.min() >= 0 and numbers.max() <= 100),
        "rising": float(len(numbers) > 2 and bool((np.diff(numbers) > 0).all())),
    }


def _named(name: str, label: str) -> str:
    """What it is called by its reading, first, and in its source."""
    spaced = _spaced(name)
    return spaced if not label or _spaced(label) == spaced else f"{_cut(label, 40)} ({spaced})"


def _spaced(name: str) -> str:
    return " ".join(readable(name[:LONGEST_NAME])) or name[:40]


def _cut(text: str, longest: int) -> str:
    clean = " ".join(text.split())
    return clean if len(clean) <= longest else clean[:longest].rsplit(" ", 1)[0]
