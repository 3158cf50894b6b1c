"""Tables and columns as short texts for the routing encoder: what a question could mean by them.

In: an observed table or column. Out: one text each. Shorter than the texts of the identities, because a question speaks
of names and meanings, seldom of neighbours and samples; those are for the anchors.
"""

from __future__ import annotations

from coset.readings.observed import ObservedColumn, ObservedTable
from coset.readings.words import words_of

LONGEST_NAME, LONGEST_DESCRIPTION, SHOWN_COLUMNS = 60, 80, 12


def column_text(table: ObservedTable, column: ObservedColumn) -> str:
    """`customer order: total amount. what it is about`."""
    text = f"{spoken(table.name, table.label)}: {spoken(column.name, column.label)}"
    return f"{text}. {_cut(column.description, LONGEST_DESCRIPTION)}" if column.description else text


def table_text(table: ObservedTable) -> str:
    """`customer order. what it is about. columns order id, total amount`."""
    parts = [spoken(table.name, table.label)]
    if table.description:
        parts.append(_cut(table.description, LONGEST_DESCRIPTION))
    parts.append(", ".join(spoken(column.name, column.label) for column in table.columns[:SHOWN_COLUMNS]))
    return ". ".join(parts)


def spoken(name: str, label: str = "") -> str:
    """A name in words; with the label that people gave it, where it says something else."""
    words = " ".join(words_of(name[:LONGEST_NAME])) or name[:LONGEST_NAME]
    other = _cut(label, LONGEST_NAME).lower()
    if not other or other == words:
        return words
    return other if set(words.split()) <= set(other.split()) else f"{other} ({words})"


def _cut(text: str, longest: int) -> str:
    clean = " ".join(text[: longest * 4].split())
    return clean if len(clean) <= longest else clean[:longest].rsplit(" ", 1)[0]
