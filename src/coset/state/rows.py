"""Evidence of one table as rows of the state's tables."""

from __future__ import annotations

import datetime
import hashlib
import json
from dataclasses import asdict
from typing import Any

from coset.environment.source import Table
from coset.state.objects import ColumnEvidence, Diagnostic, Reference, Relation, TableEvidence

Rows = dict[str, list[dict[str, Any]]]


def identifier(kind: str, reference: str) -> str:
    """A stable id: the same thing has the same one in every run and on every machine."""
    return f"{kind}_{hashlib.sha256(reference.encode()).hexdigest()[:12]}"


def reference_of(source: str, table: Table) -> Reference:
    return Reference(source, table.schema, table.name)


def shape_of(table: Table) -> str:
    """A digest of a table's columns and keys: when it changes, the table is looked at again whatever its token says."""
    columns = [[column.name, column.type, column.comment] for column in table.columns]
    text = json.dumps([columns, table.primary_key, [asdict(key) for key in table.foreign_keys]])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def table_rows(evidence: TableEvidence) -> Rows:
    table = evidence.table
    place = reference_of(evidence.source, table)
    reference = str(place)
    family = reference if "{}" in table.name else None
    rows: Rows = {
        "tables": [
            {
                "reference": reference, "id": identifier("table", reference), "source": evidence.source,
                "schema_name": table.schema, "name": table.name, "kind": table.kind, "rows": evidence.rows,
                "sampled_rows": evidence.sampled, "bytes": table.bytes, "comment": table.comment,
                "primary_key": list(table.primary_key),
                "foreign_keys": json.dumps([asdict(key) for key in table.foreign_keys]), "family": family,
                "shape": shape_of(table), "token": evidence.token, "digest": evidence.digest,
                "seconds": evidence.seconds,
                "problem": evidence.problem, "comprehended_at": now(),
            }
        ],
        "columns": [], "paths": [], "value_groups": [], "group_values": [], "facets": [], "diagnostics": [],
        "duplicates": [], "documents": [],
    }  # fmt: skip
    for position, column in enumerate(evidence.columns):
        _add_column(rows, place, position, column)
    if signs := evidence.duplicates:
        rows["duplicates"].append(
            {
                "table_reference": reference, "id": identifier("duplicates", reference), "columns": list(signs.columns),
                "key_expression": signs.key, "clusters": signs.clusters, "rows": signs.rows, "share": signs.share.value,
                "share_error": signs.share.error, "detail": signs.detail, "evidence": json.dumps(asdict(signs)),
            }
        )  # fmt: skip
    if table.comment:
        rows["documents"].append(
            document(reference, reference, reference, "comment", table.name, table.comment, "declared")
        )
    for number, (title, text) in enumerate(evidence.passages):
        about = f"{reference}#{number}"
        rows["documents"].append(document(about, reference, reference, "passage", title, text, "measured"))
    return rows


def document(
    reference: str, table_reference: str | None, about: str | None, kind: str, title: str, text: str, provenance: str
) -> dict[str, Any]:
    return {
        "reference": reference, "id": identifier("document", f"{kind}:{reference}:{title}"),
        "table_reference": table_reference, "about": about, "kind": kind, "title": title, "text": text,
        "provenance": provenance,
    }  # fmt: skip


def relation_row(relation: Relation) -> dict[str, Any]:
    left, right = [str(part) for part in relation.left], [str(part) for part in relation.right]
    key = f"{','.join(left)}={','.join(right)}"
    return {
        "id": identifier("relation", key), "left_table": str(table_of(relation.left[0])),
        "right_table": str(table_of(relation.right[0])), "left_columns": left, "right_columns": right,
        "kind": relation.kind, "left_expression": relation.left_expression,
        "right_expression": relation.right_expression, "left_match": relation.left_match.value,
        "left_match_error": relation.left_match.error, "right_match": relation.right_match.value,
        "right_match_error": relation.right_match.error, "cardinality": relation.cardinality,
        "provenance": relation.provenance, "confidence": relation.confidence,
        "unmatched_left": list(relation.unmatched_left), "unmatched_right": list(relation.unmatched_right),
        "reasons": list(relation.reasons),
    }  # fmt: skip


def diagnostic_row(column: Reference, diagnostic: Diagnostic) -> dict[str, Any]:
    return {
        "id": identifier("diagnostic", f"{column}:{diagnostic.kind}:{diagnostic.detail}"),
        "table_reference": str(table_of(column)), "column_reference": str(column), "kind": diagnostic.kind,
        "share": diagnostic.share.value, "share_error": diagnostic.share.error, "detail": diagnostic.detail,
        "expression": diagnostic.expression, "type": diagnostic.type, "examples": list(diagnostic.examples),
    }  # fmt: skip


def now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC).replace(tzinfo=None)


def table_of(reference: Reference) -> Reference:
    """The table that a column, or a place within one, belongs to."""
    return Reference(reference.source, reference.schema, reference.table)


def _add_column(rows: Rows, table: Reference, position: int, evidence: ColumnEvidence) -> None:
    column, profile = evidence.column, evidence.profile
    place = Reference(table.source, table.schema, table.table, (column.name,))
    reference, owner = str(place), str(table)
    rows["columns"].append(
        {
            "reference": reference, "id": identifier("column", reference), "table_reference": owner,
            "position": position, "name": column.name, "type": column.type, "native_type": column.native_type,
            "comment": column.comment, "nullable": column.nullable, "personal": evidence.personal,
            "nulls": profile.nulls.value if profile else None, "nulls_error": profile.nulls.error if profile else None,
            "distinct_values": profile.distinct if profile else None,
            "distinct_exact": profile.distinct_exact if profile else None,
            "is_unique": profile.unique if profile else None, "minimum": profile.minimum if profile else None,
            "maximum": profile.maximum if profile else None, "mean": profile.mean if profile else None,
            "deviation": profile.deviation if profile else None,
            "mean_length": profile.mean_length if profile else None,
            "maximum_length": profile.maximum_length if profile else None,
            "shapes": json.dumps(profile.shapes) if profile else None,
            "examples": list(profile.examples) if profile else [],
            "profile": json.dumps(asdict(profile)) if profile else None,
        }
    )  # fmt: skip
    if column.comment:
        rows["documents"].append(
            document(reference, owner, reference, "comment", column.name, column.comment, "declared")
        )
    for path in evidence.paths:
        inner = str(Reference(table.source, table.schema, table.table, (column.name, *path.path)))
        rows["paths"].append(
            {
                "reference": inner, "id": identifier("path", inner), "table_reference": owner,
                "column_reference": reference, "path": list(path.path), "type": path.type,
                "expression": path.expression, "coverage": path.coverage.value, "coverage_error": path.coverage.error,
                "description": path.description, "keys_expression": path.keys_expression,
                "examples": list(path.examples),
            }
        )  # fmt: skip
    if group := evidence.values:
        rows["value_groups"].append(
            {
                "reference": reference, "id": identifier("values", reference), "table_reference": owner,
                "complete": group.complete, "distinct_values": group.distinct, "role": group.role,
            }
        )  # fmt: skip
        for part, values in (("top", group.values), ("tail", group.tail)):
            rows["group_values"] += [
                {
                    "table_reference": owner, "column_reference": reference, "position": number, "value": value,
                    "count": count, "part": part,
                }
                for number, (value, count) in enumerate(values)
            ]  # fmt: skip
    for facet in evidence.facets:
        inner = f"{reference}#{facet.name}"
        rows["facets"].append(
            {
                "reference": inner, "id": identifier("facet", inner), "table_reference": owner,
                "column_reference": reference, "name": facet.name, "kind": facet.kind, "expression": facet.expression,
                "type": facet.type, "coverage": facet.coverage.value, "coverage_error": facet.coverage.error,
                "distinct_values": facet.distinct, "description": facet.description,
                "examples": json.dumps(facet.examples),
            }
        )  # fmt: skip
    rows["diagnostics"] += [diagnostic_row(place, diagnostic) for diagnostic in evidence.diagnostics]
