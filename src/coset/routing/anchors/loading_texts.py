"""Columns of long texts, and tables whose rows name the members of a family, from an evidence state.

In: an open state, the numbers of its objects. Out: `TextColumn`s and `MemberKey`s of an anchor index. Nothing of
schema-only sources and no personal column is among them.
"""

from __future__ import annotations

from coset.routing.anchors.index import IndexParts, MemberKey, TextColumn
from coset.sql_text import identifier
from coset.state import EvidenceState

LONG = 80
_OPEN = (
    "FROM tables t JOIN sources s ON s.source = t.source "
    "WHERE t.family IS NULL AND t.problem IS NULL AND NOT coalesce(s.schema_only, false)"
)


def add_texts(state: EvidenceState, parts: IndexParts, numbers: dict[str, int]) -> None:
    fetch = state.connection.execute
    tables = {
        reference: (tuple(part for part in place if part is not None), int(rows or 0))
        for reference, *place, rows in fetch(
            f"SELECT t.reference, t.source, t.schema_name, t.name, t.rows {_OPEN} ORDER BY t.reference"
        ).fetchall()
    }
    for reference, place, name in fetch(
        "SELECT reference, table_reference, name FROM columns WHERE type = 'VARCHAR' AND personal IS NULL "
        f"AND mean_length > {LONG} ORDER BY reference"
    ).fetchall():
        if place in tables and reference in numbers:
            parts.texts.append(TextColumn(numbers[reference], tables[place][0], name, tables[place][1]))
    _add_member_keys(state, parts, numbers, {place: names for place, (names, _) in tables.items()})


def _add_member_keys(
    state: EvidenceState, parts: IndexParts, numbers: dict[str, int], tables: dict[str, tuple[str, ...]]
) -> None:
    fetch = state.connection.execute
    for key, owner, family, members in fetch(
        "SELECT r.key, r.owner, r.family, f.members FROM ("
        "SELECT left_columns[1] AS key, left_table AS owner, right_table AS family, confidence, id FROM relations "
        "WHERE kind = 'table_name' UNION ALL "
        "SELECT right_columns[1], right_table, left_table, confidence, id FROM relations WHERE kind = 'table_name') r "
        "JOIN families f ON f.reference = r.family WHERE r.key <> r.owner ORDER BY r.confidence DESC, r.id"
    ).fetchall():
        if owner not in tables or family not in numbers or any(owner == known for known in _owners(parts, tables)):
            continue
        found = fetch(
            "SELECT reference, name, true, personal IS NULL FROM columns WHERE table_reference = $1 UNION ALL "
            "SELECT reference, expression, false, true FROM paths WHERE table_reference = $1 UNION ALL "
            "SELECT reference, expression, false, true FROM facets WHERE table_reference = $1 ORDER BY 1",
            [owner],
        ).fetchall()
        names = {reference: name for reference, name, is_column, _ in found if is_column}
        expressions = {
            numbers[reference]: identifier(text) if is_column else text
            for reference, text, is_column, is_open in found
            if is_open and text and reference in numbers
        }
        if key in names:
            parts.member_keys.append(
                MemberKey(tables[owner], names[key], numbers[family], frozenset(members or ()), expressions)
            )


def _owners(parts: IndexParts, tables: dict[str, tuple[str, ...]]) -> list[str]:
    taken = {key.table for key in parts.member_keys}
    return [reference for reference, names in tables.items() if names in taken]
