"""Memberships and joins of an environment as rows.

In: an open state, or the objects read from it. Out: Arrow tables with one row an object and coordinate, or one row a
join. What they say is what the state holds; nothing is computed anew.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from coset.errors import UserError
from coset.evidence.lookup import resolve
from coset.identities.inventory import Inventory
from coset.identities.store import IdentityStore
from coset.routing.data_as_text import runnable
from coset.routing.details import Width, view_relation
from coset.routing.facts import RelationFacts
from coset.routing.objects_of_state import StateObjects
from coset.routing.view_parts import ViewParts
from coset.state import EvidenceState

RELATION_SCHEMA = pa.schema(
    [("reference", pa.string()), ("left", pa.string()), ("right", pa.string()), ("condition", pa.string()),
     ("kind", pa.string()), ("left_match", pa.float64()), ("right_match", pa.float64()),
     ("cardinality", pa.string()), ("confidence", pa.float64()), ("provenance", pa.string())]
)  # fmt: skip


def memberships_table(state: EvidenceState, inventory: Inventory) -> pa.Table:
    """One row an object and coordinate: its role, the runner-up, the certified radius (infinite where nothing can
    change the role), whether a person said so, and the whole profile in the order of the inventory."""
    IdentityStore(state).require()
    widths = {"entity": len(inventory.entities), "attribute": len(inventory.attributes)}
    held = state.rows("SELECT DISTINCT coordinate, len(profile) AS width FROM memberships")
    if any(row["width"] != widths[row["coordinate"]] for row in held):
        raise UserError("the inventory has changed since the roles were realised: run `coset comprehend`")
    return state.connection.sql(
        "SELECT reference, CASE WHEN is_table THEN 'table' ELSE 'column' END AS object, coordinate, identity, "
        "membership, runner_up, runner_up_membership, CASE WHEN radius < 0 THEN 'inf'::DOUBLE ELSE radius END AS "
        "radius, pinned AS taught, profile FROM memberships ORDER BY reference, coordinate DESC"
    ).to_arrow_table()


def relations_table(objects: StateObjects, about: str | None, least: float) -> pa.Table:
    """The joins that touch a source, table or column (all, for None), the surest first, with their ON conditions."""
    wanted = objects.relations if about is None else _touching(objects, about)
    chosen = [relation for relation in wanted if relation.confidence >= least]
    chosen.sort(key=lambda relation: (-relation.confidence, relation.reference))
    draft = ViewParts(objects, Width(), {}, {})
    rows = []
    for relation in chosen:
        shown = view_relation(relation, draft.sql_names([relation.left_table, relation.right_table]), in_plan=False)
        rows.append(
            {
                "reference": shown.reference, "left": ", ".join(shown.left), "right": ", ".join(shown.right),
                "condition": runnable(shown.condition), "kind": shown.kind, "left_match": shown.left_match,
                "right_match": shown.right_match, "cardinality": shown.cardinality, "confidence": shown.confidence,
                "provenance": shown.provenance,
            }
        )  # fmt: skip
    return pa.Table.from_pylist(rows, schema=RELATION_SCHEMA)


def _touching(objects: StateObjects, about: str) -> Sequence[RelationFacts]:
    reference = reference_of(objects, about)
    if reference in objects.tables:
        return objects.relations_of.get(reference, ())
    if reference in objects.sources:
        return [
            relation
            for relation in objects.relations
            if reference in {objects.tables[table].source for table in (relation.left_table, relation.right_table)}
        ]
    return [each for each in objects.relations if reference in (*each.left_columns, *each.right_columns)]


def reference_of(objects: StateObjects, written: str) -> str:
    """The full reference behind what somebody wrote: a reference or a short form of it, or a name as SQL has it
    (`shop.orders`, `shop.orders.amount`). Raises `UserError` with the nearest references when it is none."""
    wanted = written.strip().strip("[]").strip()
    if not wanted:
        raise UserError("nothing is named: give a reference, such as one that a view shows in brackets")
    bare = wanted.replace('"', "").lower()
    for reference, table in objects.tables.items():
        sql_name = table.sql_name.replace('"', "").lower()
        if bare == sql_name:
            return reference
        if bare.startswith(f"{sql_name}."):
            inner = bare[len(sql_name) + 1 :]
            for column in objects.columns(reference):
                if column.reference[len(reference) + 1 :].lower() == inner:
                    return column.reference
    with objects.reading() as state:
        return resolve(state, wanted)
