"""What of a question was found in the data, and what was not, as lines of a view.

In: anchors, phrases that nothing was found for, and the shown tables. Out: lines. Everything quoted is data and stays
on its line. Decides nothing about what is shown.
"""

from __future__ import annotations

from collections.abc import Sequence

from coset.routing.data_as_text import literal, one_line, percent, runnable
from coset.routing.request import Anchor
from coset.routing.view import ViewTable


def unfound_lines(unfound: Sequence[str], unread: Sequence[str]) -> list[str]:
    """What the question speaks of and nothing here does. A reader should say so rather than answer something else."""
    if not unfound:
        return []
    listed = ", ".join('"' + one_line(phrase, 40).replace('"', "'") + '"' for phrase in unfound)
    texts = f" (long texts not read: {', '.join(runnable(place) for place in unread)})" if unread else ""
    return [f"NOT FOUND no name, value or role here is like: {listed}{texts}"]


ANCHORS = "FOUND IN THE DATA"


def places_of(tables: Sequence[ViewTable]) -> dict[str, str]:
    """How each shown object is written in SQL, its table before it."""
    places = {table.reference: table.sql_name for table in tables}
    for table in tables:
        for column in table.columns:
            if column.kind == "column":
                places[column.reference] = f"{table.sql_name}.{column.expression}"
            else:
                inner = column.reference[len(table.reference) + 1 :]
                places[column.reference] = inner_place(column.kind, table.sql_name, inner, column.coverage)
    return places


def inner_place(kind: str, table: str, inner: str, coverage: float | None) -> str:
    """A path or facet is no name that runs; how many rows have it says how far it leads."""
    return f"{kind} {table}.{one_line(inner, 80)}" + (f" in {percent(coverage)} of rows" if coverage else "")


def anchor_line(anchor: Anchor, places: dict[str, str]) -> str:
    place = places.get(anchor.reference)
    is_member = anchor.kind == "name" and anchor.value is not None
    where = runnable(place) if place and not is_member else f"[{one_line(anchor.reference, 200)}]"
    phrase = one_line(anchor.phrase, 80).replace('"', "'")
    value = f" = {literal(anchor.value, 120)}" if anchor.value is not None and anchor.kind in ("value", "code") else ""
    if anchor.value is not None and not value:
        value = f": {one_line(anchor.value, 120)}"
    others = f" also written {', '.join(literal(each, 60) for each in anchor.variants)}" if anchor.variants else ""
    note = f", {one_line(anchor.note, 200)}" if anchor.note else ""
    return f'  "{phrase}" {anchor.kind} {where}{value}{others} ({anchor.match} {anchor.score:.2f}{note})'
