"""Which columns, nested paths and facets have values worth finding, and what the state already knows of them.

In: tables of an evidence state. Out: one `IndexedColumn` for each text-like object with the values at hand, whether
these are all, and why not. Decides what may be held: nothing of personal data, nothing of schema-only sources.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from coset.evidence.column_expressions import SHOWN_CHARACTERS, column_kind
from coset.evidence.personal import personal_data
from coset.routing.anchors.settings import ValueIndexSettings
from coset.sql_text import identifier
from coset.state import EvidenceState

Status = Literal["held", "searched", "partly", "prose", "personal", "schema only"]
"""held: all values; searched: the rest at the source on demand; partly: some, and no more can be had."""
TEXTS = ("text", "enum", "uuid")
READ_FACETS = ("slot", "place", "list", "key_value", "identifier", "other")
PERSONAL_FACETS = ("person", "email", "phone")


@dataclass
class IndexedColumn:
    """A column, path or facet while the index is built."""

    reference: str
    kind: Literal["column", "path", "facet"]
    expression: str
    """What to select in its table."""
    status: Status
    distinct: int | None = None
    values: set[str] = field(default_factory=set)
    wanted: bool = False
    """Whether reading its values from the source would complete it."""
    is_list: bool = False
    reason: str = ""


def columns_of(
    state: EvidenceState, tables: Sequence[Mapping[str, Any]], settings: ValueIndexSettings
) -> dict[str, list[IndexedColumn]]:
    """The text-like objects of some tables, by the table's reference."""
    chosen = [table["reference"] for table in tables]
    by_place = {table["reference"]: table for table in tables}
    groups = _groups(state, chosen)
    found: dict[str, list[IndexedColumn]] = {place: [] for place in chosen}
    inner: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in state.rows(
        "SELECT * FROM paths WHERE list_contains($1::VARCHAR[], table_reference) ORDER BY reference", [chosen]
    ):
        inner[row["column_reference"]].append(row)
    personal: set[str] = set()
    for row in state.rows(
        "SELECT c.*, g.complete FROM columns c LEFT JOIN value_groups g ON g.reference = c.reference "
        "WHERE list_contains($1::VARCHAR[], c.table_reference) ORDER BY c.table_reference, c.position",
        [chosen],
    ):
        table = by_place[row["table_reference"]]
        if row["personal"]:
            personal.add(row["reference"])
        if column_kind(row["type"]) in TEXTS:
            own = _column(row, table, groups.get(row["reference"], ()), settings, inner[row["reference"]])
            found[row["table_reference"]].append(own)
        for path in inner[row["reference"]]:
            if below := _path(path, row, table, settings):
                found[row["table_reference"]].append(below)
    for row in state.rows(
        "SELECT * FROM facets WHERE list_contains($1::VARCHAR[], table_reference) ORDER BY reference", [chosen]
    ):
        if facet := _facet(row, by_place[row["table_reference"]], row["column_reference"] in personal, settings):
            found[row["table_reference"]].append(facet)
    return found


def _groups(state: EvidenceState, tables: Sequence[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for reference, value in state.connection.execute(
        "SELECT column_reference, value FROM group_values WHERE value IS NOT NULL "
        "AND list_contains($1::VARCHAR[], table_reference) ORDER BY column_reference, part DESC, position",
        [list(tables)],
    ).fetchall():
        found[reference].append(value)
    return found


def _column(
    row: Mapping[str, Any],
    table: Mapping[str, Any],
    group: Sequence[str],
    settings: ValueIndexSettings,
    paths: Sequence[object],
) -> IndexedColumn:
    column = IndexedColumn(row["reference"], "column", identifier(row["name"]), "held", row["distinct_values"])
    if withheld := _withheld(column, table, row["personal"] is not None):
        return withheld
    if (row["mean_length"] or 0.0) > settings.longest_mean or paths:
        column.status, column.reason = "prose", "its values are long texts" if not paths else "its values are nested"
        return column
    if row["complete"]:
        column.values.update(group)
        return column
    # What is cut or masked is no value; the state's examples are whole up to a length.
    examples = [value for value in row["examples"] or () if len(value) < SHOWN_CHARACTERS]
    column.values.update(group, examples)
    if row["distinct_values"] == 0:
        return column
    return _incomplete(column, table, settings)


def _incomplete(column: IndexedColumn, table: Mapping[str, Any], settings: ValueIndexSettings) -> IndexedColumn:
    """A column of which the state knows some values only."""
    if table["family"]:
        column.status, column.reason = "partly", "its table is a family of tables"
    elif table["problem"]:
        column.status, column.reason = "partly", "its table could not be read"
    else:
        column.status = "searched"
        # An estimate may be off by a few per cent.
        column.wanted = column.distinct is None or column.distinct <= 1.1 * settings.most_values
        column.reason = "" if column.wanted else f"it has about {column.distinct:,} distinct values"
    return column


def _withheld(column: IndexedColumn, table: Mapping[str, Any], personal: bool) -> IndexedColumn | None:
    if table["schema_only"]:
        column.status, column.reason = "schema only", "its source is schema-only"
        return column
    if personal:
        column.status, column.reason = "personal", "it holds personal data"
        return column
    return None


def _path(
    row: Mapping[str, Any], parent: Mapping[str, Any], table: Mapping[str, Any], settings: ValueIndexSettings
) -> IndexedColumn | None:
    is_list = str(row["type"]).endswith("[]")
    base = str(row["type"]).removesuffix("[]")
    if not row["expression"] or column_kind(base) not in TEXTS:
        return None
    column = IndexedColumn(row["reference"], "path", row["expression"], "held", is_list=is_list)
    examples = [value for value in row["examples"] or () if value]
    steps = [step for step in row["path"] if step != "[]"]
    name = steps[-1] if steps else parent["name"]
    # A name below an author is a person's, though the path is called `name`: the column stands for its table.
    told = personal_data(name, "VARCHAR", examples, table=parent["name"] if steps else table["name"])
    if withheld := _withheld(column, table, bool(told or parent["personal"])):
        return withheld
    if examples and sum(map(len, examples)) / len(examples) > settings.longest_mean / 2:
        column.status, column.reason = "prose", "its values are long texts"
        return column
    return _unread(column, table, settings)


def _facet(
    row: Mapping[str, Any], table: Mapping[str, Any], personal: bool, settings: ValueIndexSettings
) -> IndexedColumn | None:
    is_list = str(row["type"]).endswith("[]")
    if column_kind(str(row["type"]).removesuffix("[]")) not in TEXTS or not row["expression"]:
        return None
    if row["kind"] not in (*READ_FACETS, *PERSONAL_FACETS):
        return None
    column = IndexedColumn(
        row["reference"], "facet", row["expression"], "held", row["distinct_values"], is_list=is_list
    )
    read = [pair[1] for pair in json.loads(row["examples"] or "[]") if len(pair) > 1]
    told = personal_data(row["name"], "VARCHAR", read, table=table["name"])
    if withheld := _withheld(column, table, bool(personal or told or row["kind"] in PERSONAL_FACETS)):
        return withheld
    return _unread(column, table, settings)


def _unread(column: IndexedColumn, table: Mapping[str, Any], settings: ValueIndexSettings) -> IndexedColumn:
    """What is computed from a column is read where it can be, and never searched at a source: no source has it."""
    column = _incomplete(column, table, settings)
    if column.status == "searched":
        column.status = "partly"
        column.reason = column.reason or "its values were not read"
    return column
