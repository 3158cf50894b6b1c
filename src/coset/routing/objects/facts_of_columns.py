"""The facts of a table's columns, nested paths and facets, read from the state for several tables at once.

In: an open state and references of tables. Out: `ColumnFacts` by table, in the table's order. Personal columns keep the
masked examples that the state has and lose every sentence that could quote a value; a table of a schema-only source has
names, types and roles only. Makes no choice.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from coset.evidence.personal import mask, personal_data
from coset.identities.inventory import Coordinate
from coset.routing.objects.facts import ColumnFacts, RoleFacts, ValuesFacts
from coset.routing.objects.sql_names import name
from coset.routing.views.view import Cleaning
from coset.state import EvidenceState

AMONG = "IN (SELECT unnest($1::VARCHAR[]))"
MOST_VALUES = 200
REASONS = 2
SEEN_BY_THE_READER = (
    "('whole name', 'name ending', 'name beginning', 'table name', 'written label', 'flag name', 'text type', "
    "'fraction type', 'number type', 'time type', 'nested type')"
)
"""Labelers that say what the name and the type on the same line say already."""


def columns_of_tables(
    state: EvidenceState, tables: Sequence[str], hidden: set[str], notes: dict[str, tuple[str, ...]]
) -> dict[str, tuple[ColumnFacts, ...]]:
    """The facts of these tables; of those `hidden` no value."""
    wanted = [list(tables)]
    values = _values(state, wanted)
    cleaning = _cleaning(state, wanted)
    words = _descriptions(state, wanted)
    keys = {
        (row["reference"], column)
        for row in state.rows(f"SELECT reference, primary_key FROM tables WHERE reference {AMONG}", wanted)
        for column in (row["primary_key"] or ())
        if len(row["primary_key"]) == 1
    }
    found: dict[str, list[ColumnFacts]] = defaultdict(list)
    personal: dict[str, str | None] = {}
    for row in state.rows(
        f"SELECT * EXCLUDE (profile) FROM columns WHERE table_reference {AMONG} ORDER BY table_reference, position",
        wanted,
    ):
        reference, table = row["reference"], row["table_reference"]
        personal[reference] = row["personal"]
        open_to_view = table not in hidden
        found[table].append(
            ColumnFacts(
                reference=reference,
                table=table,
                kind="column",
                order=len(found[table]),
                name=row["name"],
                expression=name(row["name"]),
                type=row["type"] or "",
                description=words.get(reference) or row["comment"] or "",
                said=" ".join(notes.get(reference, ())),
                nulls=row["nulls"],
                distinct=row["distinct_values"],
                unique=bool(row["is_unique"]) or (table, row["name"]) in keys,
                minimum=row["minimum"] if open_to_view else None,
                maximum=row["maximum"] if open_to_view else None,
                mean_length=row["mean_length"],
                examples=tuple(row["examples"] or ()) if open_to_view else (),
                personal=row["personal"],
                values=values.get(reference) if open_to_view and not row["personal"] else None,
                cleaning=_shown(cleaning.get(reference, []), row["personal"]) if open_to_view else (),
            )
        )
    _add_paths(state, wanted, found, hidden, notes)
    _add_facets(state, wanted, found, hidden, notes)
    return _with_roles(state, found, list(tables))


def _add_paths(
    state: EvidenceState,
    wanted: list[list[str]],
    found: dict[str, list[ColumnFacts]],
    hidden: set[str],
    notes: dict[str, tuple[str, ...]],
) -> None:
    for row in state.rows(f"SELECT * FROM paths WHERE table_reference {AMONG} ORDER BY reference", wanted):
        table = row["table_reference"]
        steps = [step for step in row["path"] or () if step != "[]"]
        last = steps[-1] if steps else row["column_reference"].rsplit(".", 1)[-1]
        examples = tuple(row["examples"] or ())
        sort = personal_data(last, "VARCHAR", examples)
        masked = tuple(mask(value, sort.kind) for value in examples) if sort else examples
        found[table].append(
            ColumnFacts(
                reference=row["reference"], table=table, kind="path", order=len(found[table]),
                name=row["reference"][len(table) + 1 :], expression=row["expression"] or "", type=row["type"] or "",
                description=row["description"] or "", said=" ".join(notes.get(row["reference"], ())),
                examples=() if table in hidden else masked, personal=sort.kind if sort else None,
                coverage=row["coverage"],
            )
        )  # fmt: skip


def _add_facets(
    state: EvidenceState,
    wanted: list[list[str]],
    found: dict[str, list[ColumnFacts]],
    hidden: set[str],
    notes: dict[str, tuple[str, ...]],
) -> None:
    for row in state.rows(f"SELECT * FROM facets WHERE table_reference {AMONG} ORDER BY reference", wanted):
        table = row["table_reference"]
        if table in hidden:
            continue
        found[table].append(
            ColumnFacts(
                reference=row["reference"], table=table, kind="facet", order=len(found[table]),
                name=row["reference"][len(table) + 1 :], expression=row["expression"] or "", type=row["type"] or "",
                description=row["description"] or "", said=" ".join(notes.get(row["reference"], ())),
                distinct=row["distinct_values"], coverage=row["coverage"],
            )
        )  # fmt: skip


def _values(state: EvidenceState, wanted: list[list[str]]) -> dict[str, ValuesFacts]:
    listed: dict[str, list[tuple[str | None, int]]] = defaultdict(list)
    for row in state.rows(
        f"SELECT column_reference, value, count FROM group_values WHERE table_reference {AMONG} AND part <> 'tail' "
        f"AND position < {MOST_VALUES} ORDER BY column_reference, position",
        wanted,
    ):
        listed[row["column_reference"]].append((row["value"], int(row["count"] or 0)))
    return {
        row["reference"]: ValuesFacts(
            bool(row["complete"]),
            int(row["distinct_values"] or 0),
            tuple(listed.get(row["reference"], ())),
            row["role"] or "",
        )
        for row in state.rows(f"SELECT * FROM value_groups WHERE table_reference {AMONG}", wanted)
    }


def _cleaning(state: EvidenceState, wanted: list[list[str]]) -> dict[str, list[Cleaning]]:
    found: dict[str, list[Cleaning]] = defaultdict(list)
    for row in state.rows(
        "SELECT column_reference, kind, share, detail, expression, type FROM diagnostics "
        f"WHERE table_reference {AMONG} ORDER BY column_reference, share DESC, kind, detail",
        wanted,
    ):
        found[row["column_reference"]].append(
            Cleaning(row["kind"], row["share"] or 0.0, row["detail"] or "", row["expression"], row["type"])
        )
    return found


def _shown(found: Sequence[Cleaning], personal: str | None) -> tuple[Cleaning, ...]:
    """Sentences about dirt quote values: of a personal column only its kind and the expression are left."""
    if personal is None:
        return tuple(found)
    return tuple(Cleaning(each.kind, each.share, "", each.expression, each.type) for each in found)


def _descriptions(state: EvidenceState, wanted: list[list[str]]) -> dict[str, str]:
    """What dictionaries and people wrote of columns; what was stated comes last, so that it wins."""
    rows = state.rows(
        "SELECT d.about, d.text FROM documents d JOIN columns c ON c.reference = d.about "
        f"WHERE c.table_reference {AMONG} AND d.kind <> 'passage' "
        "ORDER BY d.provenance = 'stated', d.reference, d.kind DESC",
        wanted,
    )
    return {row["about"]: row["text"] or "" for row in rows}


def _with_roles(
    state: EvidenceState, found: dict[str, list[ColumnFacts]], tables: Sequence[str]
) -> dict[str, tuple[ColumnFacts, ...]]:
    roles = roles_of(state, [column.reference for several in found.values() for column in several])
    return {
        table: tuple(replace(column, roles=roles.get(column.reference, {})) for column in found.get(table, ()))
        for table in tables
    }


def roles_of(state: EvidenceState, references: Sequence[str]) -> dict[str, dict[Coordinate, RoleFacts]]:
    """The roles of objects in both coordinates, with the strongest reasons for and against."""
    reasons: dict[tuple[str, str, bool], list[str]] = defaultdict(list)
    rows: list[dict[str, Any]] = state.rows(
        "SELECT s.reference, s.coordinate, s.supports, s.reason FROM signals s JOIN memberships m "
        "ON m.reference = s.reference AND m.coordinate = s.coordinate AND list_contains(s.identities, m.identity) "
        f"WHERE s.reference {AMONG} AND s.coordinate = 'attribute' AND s.labeler NOT IN {SEEN_BY_THE_READER} "
        "ORDER BY s.reference, s.coordinate, len(s.identities), s.labeler, s.reason",
        [list(references)],
    )
    for row in rows:
        kept = reasons[row["reference"], row["coordinate"], row["supports"]]
        if len(kept) < REASONS and row["reason"] not in kept:
            kept.append(row["reason"])
    found: dict[str, dict[Coordinate, RoleFacts]] = defaultdict(dict)
    for row in state.rows(
        "SELECT reference, coordinate, identity, membership, runner_up, runner_up_membership, profile "
        f"FROM memberships WHERE reference {AMONG}",
        [list(references)],
    ):
        key = row["reference"], row["coordinate"]
        found[row["reference"]][row["coordinate"]] = RoleFacts(
            row["identity"], row["membership"], row["runner_up"], row["runner_up_membership"], tuple(row["profile"]),
            tuple(reasons.get((*key, True), ())), tuple(reasons.get((*key, False), ())),
        )  # fmt: skip
    return found
