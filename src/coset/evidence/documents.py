"""Texts about the data: descriptions, hints, data dictionaries in tables, dbt `schema.yml` files.

In: what the user wrote in `coset.yaml`, and tables that describe other tables. Out: rows for the state's `documents`,
each with what it is about. Comments of the engines come with their tables; passages of document-like tables too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from coset.environment.source import SourceSettings, Table
from coset.errors import UserError
from coset.state.objects import Reference
from coset.state.rows import document


def source_documents(settings: SourceSettings) -> list[dict[str, Any]]:
    """What the user said of a source: its description and its hints."""
    name = settings.name
    found = []
    if settings.description:
        found.append(document(f"{name}#description", None, name, "description", name, settings.description, "stated"))
    for number, hint in enumerate(settings.hints):
        found.append(document(f"{name}#hint{number}", None, name, "hint", f"hint {number + 1}", hint, "stated"))
    return found


def file_documents(source: str, path: Path, tables: Iterable[Table]) -> list[dict[str, Any]]:
    """A document file of a source: a dbt `schema.yml` by model and column, any other text as a whole."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"source '{source}': cannot read its document '{path.name}'") from error
    if path.suffix.lower() in {".yml", ".yaml"}:
        return _dbt_documents(source, path, text, {table.name.lower(): table for table in tables})
    return [document(f"{source}#{path.name}", None, source, "file", path.name, text, "stated")]


def _dbt_documents(source: str, path: Path, text: str, tables: Mapping[str, Table]) -> list[dict[str, Any]]:
    try:
        content = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise UserError(f"source '{source}': '{path.name}' is not valid YAML") from error
    content = content if isinstance(content, dict) else {}
    models = list(content.get("models") or [])
    for group in content.get("sources") or []:
        models += list((group or {}).get("tables") or [])
    found = []
    for model in models:
        table = tables.get(str((model or {}).get("name", "")).lower())
        if table is None:
            continue
        place = Reference(source, table.schema, table.name)
        if described := model.get("description"):
            found.append(_dbt(place, path.name, str(described)))
        names = {column.name.lower(): column.name for column in table.columns}
        for column in model.get("columns") or []:
            name = names.get(str((column or {}).get("name", "")).lower())
            if name and column.get("description"):
                found.append(
                    _dbt(
                        Reference(place.source, place.schema, place.table, (name,)),
                        path.name,
                        str(column["description"]),
                    )
                )
    return found


def _dbt(place: Reference, title: str, text: str) -> dict[str, Any]:
    return document(f"{place}#{title}", None, str(place), "dbt", title, text.strip(), "stated")
