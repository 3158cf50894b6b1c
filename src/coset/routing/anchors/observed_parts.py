"""An observed environment as parts of an anchor index: schemas with or without descriptions and sample values.

In: an `ObservedEnvironment`. Out: `IndexParts`. Sample values are values that are there; that others are not cannot be
told, so nothing is searchable. A column without a reference is called `table.column`.
"""

from __future__ import annotations

from coset.readings.observed import ObservedColumn, ObservedEnvironment, ObservedTable
from coset.routing.anchors.index import IndexParts, LabelledCode
from coset.routing.anchors.label_texts import label_pairs, listed_pairs
from coset.routing.anchors.text_forms import normalised, plain_words

LONGEST_SAMPLE = 120


def parts_of_observed(environment: ObservedEnvironment) -> IndexParts:
    import numpy as np
    import pyarrow as pa

    parts = IndexParts()
    holders: list[int] = []
    values: list[str] = []
    by_table: dict[str, dict[str, int]] = {}
    for table in environment.tables:
        place = table.reference or table.name
        number = parts.objects.add("table", place, table.name)
        parts.objects.describe(number, table.label, table.description)
        columns = by_table.setdefault(table.name.lower(), {})
        for column in table.columns:
            own = parts.objects.add("column", column.reference or f"{place}.{column.name}", column.name, number)
            columns.setdefault(column.name.lower(), own)
            parts.objects.describe(own, column.label, column.description)
            _add_ranges(parts, own, column)
            _add_codes(parts, own, table, column)
            if column.type not in ("whole", "number", "date", "time", "binary", "flag"):
                samples = [text for text in column.samples if 0 < len(text) <= LONGEST_SAMPLE and normalised(text)]
                holders += [own] * len(samples)
                values += samples
    _add_relations(parts, environment, by_table)
    forms = [normalised(value) for value in values]
    parts.values = (np.asarray(holders, dtype=np.int64), pa.array(values, pa.string()), pa.array(forms, pa.string()))
    return parts


def _add_ranges(parts: IndexParts, number: int, column: ObservedColumn) -> None:
    """Schemas have no extremes: a column of times may hold any, an id any number."""
    is_year = {"year", "yr"} & set(plain_words(column.name))
    if column.type in ("date", "time") or (is_year and column.type in ("whole", "text", "unknown")):
        parts.ranges.unknown_days.append(number)
    if column.type == "whole":
        parts.ranges.numbers.append((number, float("-inf"), float("inf")))
        if column.is_key:
            parts.ranges.keys.add(number)
    elif column.type == "number":
        parts.ranges.numbers.append((number, float("-inf"), float("inf")))


def _add_codes(parts: IndexParts, number: int, table: ObservedTable, column: ObservedColumn) -> None:
    if not column.description:
        return
    known = {sample.strip().lower() for sample in column.samples}
    pairs = [*label_pairs(column.description), *listed_pairs(column.description, set(column.samples))]
    if known and len(known) < 12:  # Fewer samples than are kept may be all values.
        pairs = [pair for pair in pairs if pair[0].lower() in known]
    elif len(pairs) < 2:
        return
    origin = f"description of {table.name}.{column.name}"
    parts.codes += [LabelledCode(number, code, label, origin) for code, label in dict.fromkeys(pairs)]


def _add_relations(parts: IndexParts, environment: ObservedEnvironment, by_table: dict[str, dict[str, int]]) -> None:
    for table in environment.tables:
        for column in table.columns:
            if column.refers_to is None:
                continue
            left = by_table[table.name.lower()].get(column.name.lower())
            right = by_table.get(column.refers_to[0].lower(), {}).get(column.refers_to[1].lower())
            if left is not None and right is not None:
                parts.related.setdefault(right, []).append(left)
                parts.related.setdefault(left, []).append(right)
