"""What coset says beyond a format's own keys, as plain mappings under `coset` in its `meta` or extensions.

In: parts of a model. Out: mappings without empty entries, and the parts again.
"""

from __future__ import annotations

from typing import Any

from coset.semantics.model import Code, Dataset, Field, Metric, Relationship, Rule, SemanticModel
from coset.semantics.parts import Parts, of_kind, texts, without_empty


def model_said(model: SemanticModel) -> dict[str, Any]:
    """What holds for the whole model."""
    return without_empty({
        "name": model.name,
        "description": model.description,
        "rules": [
            without_empty({"text": rule.text, "about": list(rule.about), "source": rule.source}) for rule in model.rules
        ],
        "metrics": [
            without_empty({
                "name": each.name, "expression": each.expression, "description": each.description,
                "datasets": list(each.datasets), "condition": each.condition,
            }) for each in model.metrics
        ],
    })  # fmt: skip


def read_rules(said: Parts) -> list[Rule]:
    return [Rule(each.text("text"), texts(each.get("about")), each.text("source")) for each in said.all("rules")]


def read_metrics(said: Parts) -> list[Metric]:
    return [
        Metric(
            each.text("name"), each.text("expression"), each.text("description"), texts(each.get("datasets")),
            each.text("condition"),
        ) for each in said.all("metrics")
    ]  # fmt: skip


def dataset_said(dataset: Dataset) -> dict[str, Any]:
    return without_empty({
        "label": dataset.label, "description": dataset.description if dataset.label else "",
        "synonyms": list(dataset.synonyms), "entity": dataset.entity, "rows": dataset.rows,
        "primary_key": list(dataset.primary_key), "copies": list(dataset.copies),
    })  # fmt: skip


def read_dataset(name: str, description: str, said: Parts, fields: tuple[Field, ...]) -> Dataset:
    """A dataset whose format has a description alone."""
    return Dataset(
        name, said.text("label"), said.text("description") if said.text("label") else description,
        texts(said.get("synonyms")), said.text("entity"), of_kind(said.get("rows"), int),
        texts(said.get("primary_key")), fields, texts(said.get("copies")),
    )  # fmt: skip


def field_said(field: Field) -> dict[str, Any]:
    return without_empty({
        "label": field.label, "description": field.description if field.label else "", "type": field.type,
        "synonyms": list(field.synonyms), "role": field.role, "code_list": field.code_list,
        "codes": {code.value: code.label for code in field.codes}, "cleaned_by": field.cleaned_by,
        "problems": list(field.problems),
    })  # fmt: skip


def read_field(name: str, type_: str, description: str, said: Parts) -> Field:
    """A field whose format has a description alone."""
    return Field(
        name, said.text("type") or type_, said.text("label"),
        said.text("description") if said.text("label") else description, texts(said.get("synonyms")),
        said.text("role"), tuple(Code(str(value), str(label)) for value, label in said.part("codes").items()),
        said.text("code_list"), said.text("cleaned_by"), texts(said.get("problems")),
    )  # fmt: skip


def join_said(join: Relationship) -> dict[str, Any]:
    return without_empty({
        "left_columns": list(join.left_columns), "right": join.right, "right_columns": list(join.right_columns),
        "left_expression": join.left_expression, "right_expression": join.right_expression,
        "cardinality": join.cardinality, "left_match": join.left_match, "right_match": join.right_match,
        "confidence": join.confidence,
    })  # fmt: skip


def read_join(left: str, said: Parts) -> Relationship:
    return Relationship(
        left, texts(said.get("left_columns")), said.text("right"), texts(said.get("right_columns")),
        said.text("left_expression"), said.text("right_expression"), said.text("cardinality"),
        of_kind(said.get("left_match"), float), of_kind(said.get("right_match"), float),
        of_kind(said.get("confidence"), float),
    )  # fmt: skip


def described(label: str, description: str) -> str:
    """Both in one text, for formats that have no label."""
    if not label or description.lower().startswith(label.lower()):
        return description
    return f"{label}: {description}" if description else label
