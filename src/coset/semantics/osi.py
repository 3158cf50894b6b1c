"""Open Semantic Interchange (OSI, now Apache Ossie) core documents, version 0.2.0.dev0, and 0.1 where that is read.

In: a `SemanticModel`, or a document. Out: the other. What OSI has no field for (roles, codes, expressions of joins,
copies, rules about something) stands in its `custom_extensions` under the vendor COSET, and is read from there again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from coset.semantics.extension import described
from coset.semantics.model import Code, Dataset, Field, Metric, Relationship, Rule, SemanticModel
from coset.semantics.parts import Parts, listed, of_kind, texts, unquoted, without_empty

VERSION = "0.2.0.dev0"
VENDOR = "COSET"
DIALECT = "ANSI_SQL"

TYPES = {
    "VARCHAR": "String", "TEXT": "String", "UUID": "String", "TINYINT": "Integer", "SMALLINT": "Integer",
    "INTEGER": "Integer", "BIGINT": "Integer", "HUGEINT": "Integer", "UTINYINT": "Integer", "USMALLINT": "Integer",
    "UINTEGER": "Integer", "UBIGINT": "Integer", "DECIMAL": "Decimal", "FLOAT": "Float", "DOUBLE": "Float",
    "REAL": "Float", "BOOLEAN": "Boolean", "DATE": "Date", "TIME": "Time", "TIMESTAMP": "DateTime",
    "TIMESTAMP_NS": "DateTime", "TIMESTAMP_S": "DateTime", "TIMESTAMP_MS": "DateTime",
    "TIMESTAMP WITH TIME ZONE": "DateTimeTz",
}  # fmt: skip
_BACK = {
    "String": "VARCHAR", "Integer": "BIGINT", "Decimal": "DECIMAL", "Float": "DOUBLE", "Boolean": "BOOLEAN",
    "Date": "DATE", "Time": "TIME", "DateTime": "TIMESTAMP", "DateTimeTz": "TIMESTAMP WITH TIME ZONE",
}  # fmt: skip


def to_osi(model: SemanticModel) -> dict[str, Any]:
    """The document, ready for YAML or JSON."""
    general = [rule.text for rule in model.rules if not rule.about]
    extension = {
        "format": model.format if model.format != "coset" else "",
        "rules": [{"text": rule.text, "about": list(rule.about), "source": rule.source} for rule in model.rules],
    }
    content = {
        "name": model.name,
        "description": model.description,
        "ai_context": {"instructions": "\n".join(general)} if general else {},
        "datasets": [_dataset(each) for each in model.datasets],
        "relationships": [_relationship(each, number) for number, each in enumerate(model.relationships, start=1)],
        "metrics": [_metric(each) for each in model.metrics],
        "custom_extensions": _extensions(extension),
    }
    return {"version": VERSION, "semantic_model": [without_empty(content, keep=("datasets",))]}


def from_osi(document: Mapping[str, Any]) -> SemanticModel:
    """The model of a document; several are read as one."""
    names, descriptions = [], []
    datasets: list[Dataset] = []
    relationships: list[Relationship] = []
    metrics: list[Metric] = []
    rules: list[Rule] = []
    for each in listed(document, "semantic_model"):
        names.append(each.text("name"))
        descriptions.append(each.text("description"))
        known = {one.text("name"): one.text("source") or one.text("name") for one in each.all("datasets")}
        datasets += [_read_dataset(one) for one in each.all("datasets")]
        relationships += [_read_relationship(one, known) for one in each.all("relationships")]
        metrics += [_read_metric(one) for one in each.all("metrics")]
        said = _extension(each)
        if said.get("rules"):
            rules += [
                Rule(str(rule.get("text", "")), texts(rule.get("about")), str(rule.get("source", "")))
                for rule in said["rules"]
            ]
        else:
            rules += [Rule(line, (), "OSI") for line in _instructions(each)]
            rules += [
                Rule(line, (known[one.text("name")],), "OSI") for one in each.all("datasets")
                for line in _instructions(one)
            ]  # fmt: skip
    return SemanticModel(
        ", ".join(names), "\n".join(filter(None, descriptions)), tuple(datasets), tuple(relationships), tuple(metrics),
        tuple(rules), (), "OSI",
    )  # fmt: skip


def _dataset(dataset: Dataset) -> dict[str, Any]:
    extension = {
        "label": dataset.label, "entity": dataset.entity, "rows": dataset.rows, "copies": list(dataset.copies),
    }  # fmt: skip
    content = {
        "name": dataset.name,
        "source": dataset.name,
        "primary_key": list(dataset.primary_key),
        "description": described(dataset.label, dataset.description),
        "ai_context": _context(dataset.synonyms),
        "fields": [_field(each) for each in dataset.fields],
        "custom_extensions": _extensions(extension | {"description": dataset.description}),
    }
    return without_empty(content)


def _field(field: Field) -> dict[str, Any]:
    extension = {
        "type": field.type, "role": field.role, "codes": {code.value: code.label for code in field.codes},
        "code_list": field.code_list, "cleaned_by": field.cleaned_by, "problems": list(field.problems),
        "label": field.label, "description": field.description,
    }  # fmt: skip
    codes = ", ".join(f"{code.value} = {code.label}" for code in field.codes)
    said = described(field.label, field.description)
    content = {
        "name": field.name,
        "expression": _expression('"' + field.name.replace('"', '""') + '"'),
        "dimension": {"is_time": True} if field.is_time else {},
        "label": field.label,
        "description": f"{said} ({codes})" if codes and said else said or codes,
        "datatype": TYPES.get(field.type.upper().split("(")[0].strip(), ""),
        "ai_context": _context(field.synonyms),
        "custom_extensions": _extensions(extension),
    }
    return without_empty(content)


def _relationship(relationship: Relationship, number: int) -> dict[str, Any]:
    turned = relationship.cardinality == "1:n"
    many, one = (relationship.left, relationship.left_columns), (relationship.right, relationship.right_columns)
    if turned:
        many, one = one, many
    extension = {
        "turned": turned, "left_expression": relationship.left_expression, "cardinality": relationship.cardinality,
        "right_expression": relationship.right_expression, "left_match": relationship.left_match,
        "right_match": relationship.right_match, "confidence": relationship.confidence,
    }  # fmt: skip
    return {
        "name": f"join_{number}",
        "from": many[0],
        "to": one[0],
        "from_columns": list(many[1]),
        "to_columns": list(one[1]),
        **without_empty({"custom_extensions": _extensions(extension)}),
    }


def _metric(metric: Metric) -> dict[str, Any]:
    content = {
        "name": metric.name,
        "expression": _expression(metric.expression),
        "description": metric.description,
        "custom_extensions": _extensions({"datasets": list(metric.datasets), "condition": metric.condition}),
    }
    return without_empty(content)


def _read_dataset(given: Parts) -> Dataset:
    said = _extension(given)
    return Dataset(
        given.text("source") or given.text("name"), str(said.get("label", "")),
        str(said["description"]) if "description" in said else "" if said else given.text("description"),
        _synonyms(given), str(said.get("entity", "")), of_kind(said.get("rows"), int), texts(given.get("primary_key")),
        tuple(_read_field(each) for each in given.all("fields")), texts(said.get("copies")),
    )  # fmt: skip


def _read_field(given: Parts) -> Field:
    said = _extension(given)
    codes = said.get("codes") or {}
    name = unquoted(_read_expression(given))
    return Field(
        name if name.isidentifier() else given.text("name"),
        str(said.get("type") or _BACK.get(given.text("datatype"), "")),
        str(said.get("label") or given.text("label")),
        str(said.get("description", "")) if said else given.text("description"), _synonyms(given),
        str(said.get("role", "")), tuple(Code(str(value), str(label)) for value, label in codes.items()),
        str(said.get("code_list", "")), str(said.get("cleaned_by", "")), texts(said.get("problems")),
    )  # fmt: skip


def _read_relationship(given: Parts, sources: Mapping[str, str]) -> Relationship:
    said = _extension(given)
    many = (sources.get(given.text("from"), given.text("from")), texts(given.get("from_columns")))
    one = (sources.get(given.text("to"), given.text("to")), texts(given.get("to_columns")))
    if said.get("turned"):
        many, one = one, many
    return Relationship(
        *many, *one, str(said.get("left_expression", "")), str(said.get("right_expression", "")),
        str(said.get("cardinality", "")) if said else "n:1", of_kind(said.get("left_match"), float),
        of_kind(said.get("right_match"), float), of_kind(said.get("confidence"), float),
    )  # fmt: skip


def _read_metric(given: Parts) -> Metric:
    said = _extension(given)
    return Metric(
        given.text("name"), _read_expression(given), given.text("description"), texts(said.get("datasets")),
        str(said.get("condition", "")),
    )  # fmt: skip


def _context(synonyms: tuple[str, ...]) -> dict[str, Any]:
    return {"synonyms": list(synonyms)} if synonyms else {}


def _expression(sql: str) -> dict[str, Any]:
    return {"dialects": [{"dialect": DIALECT, "expression": sql}]}


def _read_expression(given: Parts) -> str:
    """The expression in plain SQL where it is given so, else in the first dialect that there is."""
    dialects = given.part("expression").all("dialects")
    plain = [each for each in dialects if each.text("dialect") == DIALECT]
    return (plain or dialects)[0].text("expression") if dialects else given.text("expression")


def _extensions(said: Mapping[str, Any]) -> list[dict[str, str]]:
    kept = without_empty(said)
    return [{"vendor_name": VENDOR, "data": json.dumps(kept, ensure_ascii=False)}] if kept else []


def _extension(given: Parts) -> dict[str, Any]:
    """What coset itself wrote there."""
    for each in given.all("custom_extensions"):
        if each.text("vendor_name") == VENDOR:
            try:
                said = json.loads(each.text("data"))
            except ValueError:
                return {}
            return said if isinstance(said, dict) else {}
    return {}


def _synonyms(given: Parts) -> tuple[str, ...]:
    return texts(given.part("ai_context").get("synonyms"))


def _instructions(given: Parts) -> list[str]:
    said = given.get("ai_context")
    text = said if isinstance(said, str) else given.part("ai_context").text("instructions")
    return [line.strip(" -*") for line in text.splitlines() if line.strip(" -*")]
