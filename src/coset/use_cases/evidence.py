"""What the evidence state holds: sources, tables, joins, roles, quality, documents, one thing whole, and views of it.

In: a workspace, and names or questions as people write them. Out: rows, a description, or a view within a budget of
tokens. No language model is asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from coset.errors import CosetError, UserError
from coset.identities.explain import explain as explain_roles
from coset.identities.explain import realised_identities
from coset.identities.inventory import Inventory, load_inventory
from coset.identities.store import IdentityStore
from coset.routing.objects.data_as_text import runnable
from coset.routing.objects.facts import RelationFacts
from coset.routing.objects.objects_of_state import StateObjects
from coset.routing.search.recover import Recovered
from coset.routing.views.budgets import DETAILS, RECOVERED
from coset.routing.views.details import Width, view_relation
from coset.routing.views.parts import ViewParts
from coset.sql_text import identifier
from coset.state import EvidenceState
from coset.state import memberships as stored
from coset.state.documents import DocumentSummary, RuleRow, document_counts, mentioned, rules_of, sections
from coset.state.listings import everything_about, joins_of, quality_of
from coset.state.names import resolve
from coset.state.read_model import ReadModel
from coset.state.tables import ColumnRow, table_overviews
from coset.use_cases.results import Rows, View
from coset.use_cases.workspace import Workspace

if TYPE_CHECKING:
    from coset.routing.views.explanation import Explanation


ANY_QUESTION = "what is there"
"""The directory is the same whatever is asked."""


@dataclass(frozen=True)
class DocumentSection:
    reference: str
    title: str
    text: str
    status: str
    superseded_by: str | None
    rules: tuple[RuleRow, ...]
    mentions: tuple[tuple[str, str], ...]
    """What it names: reference, and the words."""


def documents_of(workspace: Workspace) -> tuple[DocumentSummary, ...]:
    with workspace.reading() as state:
        return tuple(document_counts(state))


def sections_of(workspace: Workspace, document: str) -> tuple[DocumentSection, ...]:
    """The sections of a document in their order. Raises `UserError` for one that is not there."""
    with workspace.reading() as state:
        rows, rules = sections(state, [document]), rules_of(state, document)
        mentions = mentioned(state, document)
    if not rows:
        names = ", ".join(each.name for each in documents_of(workspace)[:5])
        raise UserError(f"there is no document '{document}'" + (f": there are {names}" if names else ""))
    return tuple(
        DocumentSection(
            row.reference, " / ".join(row.title_path), row.text, row.status, row.superseded_by,
            tuple(each for each in rules if each.section_reference == row.reference),
            tuple((target, words) for section, target, words in mentions if section == row.reference),
        )
        for row in rows
    )  # fmt: skip


def document_of(workspace: Workspace, document: str) -> str:
    """A document as text, its sections with their titles; what no longer holds is marked."""
    lines = []
    for section in sections_of(workspace, document):
        mark = "" if section.status == "current" else f" ({section.status})"
        lines += [f"# {section.title}{mark}" if section.title else mark.strip(), section.text, ""]
    return "\n".join(line for line in lines if line is not None)


def directory_of(workspace: Workspace) -> str:
    """What every view begins with: what was written of the data, general rules, and a line for each table."""
    from coset.routing.views.text import prefix_text

    with workspace.routed() as router:
        return prefix_text(router.view(ANY_QUESTION))


RELATION_SCHEMA = pa.schema(
    [("reference", pa.string()), ("left", pa.string()), ("right", pa.string()), ("condition", pa.string()),
     ("kind", pa.string()), ("left_match", pa.float64()), ("right_match", pa.float64()),
     ("cardinality", pa.string()), ("confidence", pa.float64()), ("provenance", pa.string())]
)  # fmt: skip


SOURCE_SCHEMA = pa.schema(
    [("source", pa.string()), ("kind", pa.string()), ("tables", pa.int64()), ("schema_only", pa.bool_()),
     ("problem", pa.string())]
)  # fmt: skip


def show(workspace: Workspace, name: str) -> dict[str, Any]:
    """All that is known of a source, table, column, path or facet, with its roles, by section."""
    with workspace.objects() as objects:
        reference = reference_of(objects, name)
    with workspace.reading() as state:
        known = everything_about(state, reference)
        roles = explain_roles(state, reference, load_inventory(workspace.configuration.identities_file))
    for coordinate, role in roles.items():
        known[f"role: {coordinate}"] = role
    return known


def sources(workspace: Workspace) -> Rows:
    """The sources that were comprehended, with how many tables each has and what stands in the way."""
    with workspace.objects() as objects:
        rows = [
            {"source": each.name, "kind": each.kind, "tables": each.tables, "schema_only": each.schema_only,
             "problem": each.problem}
            for each in objects.sources.values()
        ]  # fmt: skip
    return Rows(pa.Table.from_pylist(rows, schema=SOURCE_SCHEMA))


def relations(workspace: Workspace, about: str | None = None, least: float = 0.0) -> Rows:
    """The joins that were found, the surest first; those of one source, table or column when it is named."""
    with workspace.objects() as objects:
        return Rows(relations_table(objects, about, least))


@dataclass(frozen=True)
class TableLine:
    """One table of a list. `copy_of` is None where it is no copy, empty where its original is not here."""

    reference: str
    reading: str
    rows: int | None
    columns: int
    joins: int
    copies: int
    copy_of: str | None
    copy_kind: str
    problem: str | None


def tables(workspace: Workspace, find: str = "", *, copies: bool = True) -> tuple[TableLine, ...]:
    """The tables whose name or reading has all the words of `find`; those that most joins touch first."""
    with workspace.reading() as state:
        rows = table_overviews(state)
    words = find.lower().split()
    return tuple(
        TableLine(
            row.reference, row.reading or "", row.rows, row.columns, row.joins, row.copies,
            (row.original_reference or "") if row.is_copy else None, row.copy_kind or "", row.problem,
        )
        for row in rows
        if (copies or not row.is_copy)
        and all(word in f"{row.reference} {row.reading or ''}".lower() for word in words)
    )  # fmt: skip


@dataclass(frozen=True)
class Preview:
    """The first rows of a table; `problem` says why there are none."""

    columns: tuple[str, ...] = ()
    rows: Sequence[tuple[Any, ...]] = ()
    masked: tuple[str, ...] = ()
    problem: str = ""


def preview(workspace: Workspace, name: str, most: int = 20) -> Preview:
    """The first rows of a table, without its personal columns; of a schema-only source none."""
    with workspace.objects() as objects:
        reference = reference_of(objects, name)
        table = objects.tables.get(reference)
        sql_name = table.sql_name if table else ""
    if table is None:
        raise UserError(f"'{name}' is no table")
    if table.schema_only:
        return Preview(problem="Its source is schema only: no values are shown.")
    with workspace.reading() as state:
        columns = ReadModel(state).of_tables(ColumnRow, [reference])
    masked = tuple(row.name for row in columns if row.personal)
    shown = [identifier(row.name) for row in columns if not row.personal]
    if not shown:
        return Preview(masked=masked, problem="All its columns are personal: no values are shown.")
    try:
        with workspace.sessions.lent() as session:
            result = session.sql(f"SELECT {', '.join(shown)} FROM {sql_name} LIMIT {most}", seconds=20)
    except CosetError as error:
        return Preview(problem=str(error))
    return Preview(result.columns, result.rows(), masked)


def copies_and_codes(workspace: Workspace, reference: str) -> tuple[str, ...]:
    """What is known of an object as a copy, an original, or a column of codes, in sentences."""
    with workspace.reading() as state:
        copies = [each for each in state.copies() if reference in (each.table, each.original)]
        lists = [each for each in state.code_lists() if each.column == reference]
    found = []
    for copy in copies:
        of = f" of {copy.original}" if copy.original else ""
        found.append(f"{copy.table} is a {copy.kind}{of} ({copy.confidence:.2f}). {copy.drift or ''}")
    for each in sorted(lists, key=lambda each: -each.confidence):
        where = f" where {each.condition}" if each.condition else ""
        found.append(
            f"Its codes are in {each.list}: {each.code_column} is {each.label_column}{where} "
            f"({each.status}, {each.confidence:.2f})."
        )
    return tuple(found)


def joins(workspace: Workspace, about: str | None = None, least: float = 0.0) -> list[dict[str, Any]]:
    """The same joins with their expressions and reasons, as the state holds them."""
    reference = resolved(workspace, about)
    with workspace.reading() as state:
        return joins_of(state, reference, least)


def diagnostics(workspace: Workspace, about: str | None = None, kind: str | None = None) -> list[dict[str, Any]]:
    """The dirt that was seen, everywhere or within a source, table or column, with what cleans it."""
    reference = resolved(workspace, about)
    with workspace.reading() as state:
        return quality_of(state, reference, kind)


def memberships(workspace: Workspace) -> Rows:
    """The role of every table and column in both coordinates, with its whole soft profile."""
    with workspace.reading() as state:
        return Rows(memberships_table(state, load_inventory(workspace.configuration.identities_file)))


def realised(workspace: Workspace, role: str | None = None) -> list[dict[str, Any]]:
    """The roles that columns play here, those that span several sources first; of one role alone when it is named."""
    inventory = load_inventory(workspace.configuration.identities_file)
    with workspace.reading() as state:
        IdentityStore(state).require()
        found = realised_identities(state, inventory)
    if role is None:
        return found
    names = {coordinate: inventory.of(coordinate)[place].id for coordinate, place in inventory.role(role).items()}
    found = [row for row in found if _plays(row["role"], names.get("entity"), names.get("attribute"))]
    if not found:
        raise UserError(f"no column of this environment plays '{role}'")
    return found


def _plays(role: str, entity: str | None, attribute: str | None) -> bool:
    its_entity, _, its_attribute = role.partition(".")
    return entity in (None, its_entity) and attribute in (None, its_attribute)


def resolved(workspace: Workspace, name: str | None) -> str | None:
    """The reference that a name means; None stays None."""
    if name is None:
        return None
    with workspace.objects() as objects:
        return reference_of(objects, name)


def memberships_table(state: EvidenceState, inventory: Inventory) -> pa.Table:
    """One row an object and coordinate: its role, the runner-up, the certified radius (infinite where nothing can
    change the role), whether a person said so, and the whole profile in the order of the inventory."""
    IdentityStore(state).require()
    widths = {"entity": len(inventory.entities), "attribute": len(inventory.attributes)}
    if any(width != widths[coordinate] for coordinate, width in stored.widths_of_profiles(state)):
        raise UserError("the inventory has changed since the roles were realised: run `coset comprehend`")
    return stored.memberships_table(state)


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
    """The full reference behind what somebody wrote; `UserError` with the nearest references when it is none."""
    with objects.reading() as state:
        return resolve(state, written)


def sql_names(workspace: Workspace) -> dict[str, Any]:
    """Sources, schemas where they are written, tables and their columns, as SQL names them: for completion."""
    with workspace.objects() as objects:
        tables = list(objects.tables.values())
    with workspace.reading() as state:
        columns = ReadModel(state).columns_of
        names = {reference: [row.name for row in rows] for reference, rows in columns.items()}
    found: dict[str, Any] = {}
    for table in sorted(tables, key=lambda each: each.schema is None):
        place = found.setdefault(table.source, {})
        if table.schema is not None:
            place = place.setdefault(table.schema, {})
        place[table.family.relation if table.family else table.name] = names.get(table.reference, [])
    return found


__all__ = ["DETAILS", "RECOVERED", "explain", "open_tables", "recover", "recover_or_search", "search", "view"]


def view(workspace: Workspace, question: str, budget: int = DETAILS, *, directory: bool = True) -> View:
    """The directory, and the tables, columns, joins and values that answer a question."""
    with workspace.routed() as router:
        return View(router.view(question, budget, directory=directory))


def explain(workspace: Workspace, question: str, budget: int = DETAILS, *, directory: bool = True) -> Explanation:
    """The view with how it came about: requirements, demand, anchors, scores, and what fell out."""
    with workspace.routed() as router:
        return router.explain(question, budget, directory=directory)


def open_tables(workspace: Workspace, names: Sequence[str], beside: View | None = None) -> View:
    """The details of tables that a directory lists, without what the view beside them shows already. Raises `UserError`
    with the nearest names where none of them is there."""
    with workspace.routed() as router:
        found = router.opened(names, beside=beside.evidence if beside else None)
    if not found.tables and not found.passages and beside is None:
        with workspace.objects() as objects:
            for name in names:
                reference_of(objects, name)
    return View(found)


def recover(workspace: Workspace, name: str, budget: int = RECOVERED) -> Recovered:
    """All that is known of one thing that a view names, or that it left out."""
    from coset.routing.search.recover import recover as recovered

    with workspace.objects() as objects:
        try:
            return recovered(objects, reference_of(objects, name), budget)
        except UserError as mistake:
            try:  # Joins and documents have references of their own.
                return recovered(objects, name, budget)
            except UserError:
                raise mistake from None


def search(workspace: Workspace, words: str, budget: int = RECOVERED) -> Recovered:
    """What has these words in its name, its values or its text."""
    from coset.routing.search.recover import search as searched

    with workspace.objects() as objects:
        return searched(objects, words, budget)


def recover_or_search(workspace: Workspace, what: str, budget: int = RECOVERED) -> Recovered:
    """What is known of a name; where nothing is called so, what has these words."""
    try:
        return recover(workspace, what, budget)
    except UserError:
        return search(workspace, what, budget)
