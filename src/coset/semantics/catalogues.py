"""Exports of data catalogues: DataHub's metadata files and OpenMetadata's tables. Read, not written.

In: what their JSON holds. Out: a `SemanticModel` of descriptions, keys and foreign keys.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from coset.semantics.model import Dataset, Field, Relationship, SemanticModel
from coset.semantics.parts import Parts, texts

_DATASET = re.compile(r"urn:li:dataset:\(urn:li:dataPlatform:[^,]+,(.+),[A-Z_]+\)$")
_FIELD = re.compile(r"urn:li:schemaField:\((urn:li:dataset:\(.+\)),(.+)\)$")
_VERSIONED = re.compile(r"\[(?:version|type|key)=[^\]]*\]\.?")


def is_datahub(document: Any) -> bool:
    return isinstance(document, list) and any(
        isinstance(each, Mapping) and ("proposedSnapshot" in each or "entityUrn" in each) for each in document
    )


def from_datahub(document: Sequence[Any]) -> SemanticModel:
    """Change events (`proposedSnapshot`) or change proposals (`aspectName`), as DataHub's file sink writes them."""
    aspects: dict[str, list[tuple[str, Parts]]] = defaultdict(list)
    for event in map(Parts, document):
        for urn, name, aspect in _aspects(event):
            if found := _DATASET.match(urn):
                aspects[found[1]].append((name, aspect))
    datasets = tuple(_dataset(name, found) for name, found in aspects.items())
    relationships = tuple(
        each
        for name, found in aspects.items()
        for aspect in _of_kind(found, "schemametadata")
        for each in _foreign_keys(name, aspect)
    )
    return SemanticModel("DataHub", "", datasets, relationships, format="DataHub")


def _of_kind(aspects: Sequence[tuple[str, Parts]], *kinds: str) -> list[Parts]:
    return [aspect for kind, aspect in aspects if kind in kinds]


def _dataset(name: str, aspects: Sequence[tuple[str, Parts]]) -> Dataset:
    label = description = ""
    for aspect in _of_kind(aspects, "datasetproperties", "editabledatasetproperties"):
        label, description = aspect.text("name") or label, aspect.text("description") or description
    key: tuple[str, ...] = ()
    fields: dict[str, Field] = {}
    for aspect in _of_kind(aspects, "schemametadata"):
        key = tuple(_path(each) for each in texts(aspect.get("primaryKeys")))
        for each in aspect.all("fields"):
            path = _path(each.text("fieldPath"))
            fields[path] = Field(path, each.text("nativeDataType"), each.text("label"), each.text("description"))
    for aspect in _of_kind(aspects, "editableschemametadata"):  # What people wrote there wins.
        for each in aspect.all("editableSchemaFieldInfo"):
            path = _path(each.text("fieldPath"))
            if each.text("description"):
                known = fields.get(path, Field(path))
                fields[path] = Field(path, known.type, known.label, each.text("description"))
    label = "" if label.lower() in (name.lower(), name.rsplit(".", maxsplit=1)[-1].lower()) else label
    return Dataset(name, label, description, primary_key=key, fields=tuple(fields.values()))


def _aspects(event: Parts) -> Iterator[tuple[str, str, Parts]]:
    if event.text("entityUrn"):
        aspect = event.part("aspect")
        yield event.text("entityUrn"), event.text("aspectName").lower(), aspect.part("json") or aspect
    for snapshot in event.part("proposedSnapshot").items():
        content = Parts(snapshot[1])
        for aspect in content.get("aspects") or ():
            for name, said in Parts(aspect).items():
                yield content.text("urn"), name.rsplit(".", 1)[-1].lower(), Parts(said)


def _foreign_keys(name: str, aspect: Parts) -> Iterator[Relationship]:
    for each in aspect.all("foreignKeys"):
        own = [found for urn in texts(each.get("sourceFields")) if (found := _FIELD.match(urn))]
        others = [found for urn in texts(each.get("foreignFields")) if (found := _FIELD.match(urn))]
        target = _DATASET.match(each.text("foreignDataset") or (others[0][1] if others else ""))
        if own and len(own) == len(others) and target:
            columns, names = tuple(_path(each[2]) for each in own), tuple(_path(each[2]) for each in others)
            yield Relationship(name, columns, target[1], names, cardinality="n:1")


def _path(written: str) -> str:
    """`[version=2.0].[type=struct].address.[type=string].city` as `address.city`."""
    return _VERSIONED.sub("", written).strip(".")


def is_openmetadata(document: Any) -> bool:
    first = next(iter(_tables(document)), None)
    return first is not None and bool(first.text("fullyQualifiedName")) and bool(first.all("columns"))


def from_openmetadata(document: Any) -> SemanticModel:
    """One table entity, a list of them, or a page of the API (`data`)."""
    datasets, relationships = [], []
    for table in _tables(document):
        name = _without_service(table.text("fullyQualifiedName"))
        fields = list(_fields(table.all("columns")))
        key = tuple(each.text("name") for each in table.all("columns") if each.text("constraint") == "PRIMARY_KEY")
        for constraint in table.all("tableConstraints"):
            columns = texts(constraint.get("columns"))
            kind = constraint.text("constraintType")
            if kind == "PRIMARY_KEY":
                key = columns
            targets = [_split(each) for each in texts(constraint.get("referredColumns"))]
            if kind == "FOREIGN_KEY" and columns and len(columns) == len(targets):
                right = _without_service(".".join(targets[0][:-1]))
                relationships.append(
                    Relationship(name, columns, right, tuple(each[-1] for each in targets), cardinality="n:1")
                )
        label = table.text("displayName")
        label = "" if label.lower() == table.text("name").lower() else label
        datasets.append(Dataset(name, label, table.text("description"), primary_key=key, fields=tuple(fields)))
    return SemanticModel("OpenMetadata", "", tuple(datasets), tuple(relationships), format="OpenMetadata")


def _tables(document: Any) -> Iterable[Parts]:
    given = document.get("data", [document]) if isinstance(document, Mapping) else document
    return [Parts(each) for each in given if isinstance(each, Mapping)] if isinstance(given, list) else []


def _fields(columns: Iterable[Parts], prefix: str = "") -> Iterator[Field]:
    for each in columns:
        name = f"{prefix}{each.text('name')}"
        label = each.text("displayName")
        label = "" if label.lower() == each.text("name").lower() else label
        yield Field(name, each.text("dataTypeDisplay", "dataType"), label, each.text("description"))
        yield from _fields(each.all("children"), f"{name}.")


def _split(qualified: str) -> list[str]:
    return [quoted or plain for quoted, plain in re.findall(r'"([^"]*)"|([^.\"]+)', qualified)]


def _without_service(qualified: str) -> str:
    """`service.database.schema.table` as the database knows it."""
    parts = _split(qualified)
    return ".".join(parts[1:] if len(parts) > 3 else parts)
