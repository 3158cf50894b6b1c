"""What `coset.yaml` says of the environment and its sources, and what dbt's `schema.yml` files say of tables.

In: settings and files. Out: rows for the state's `documents`, each with what it is about. Comments of the engines come
with their tables; passages of document-like tables too.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from coset.environment.configuration import Environment
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


def environment_documents(environment: Environment) -> list[dict[str, Any]]:
    """What the user said of the environment as a whole."""
    text = environment.description
    return [document("description", None, None, "description", "all sources", text, "stated")] if text else []


def dbt_documents(source: str, path: Path, tables: Iterable[Table]) -> list[dict[str, Any]]:
    """What dbt's `schema.yml` says of a source's tables and columns, by their names."""
    by_name = {table.name.lower(): table for table in tables}
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"source '{source}': cannot read its document '{path.name}'") from error
    except yaml.YAMLError as error:
        raise UserError(f"source '{source}': '{path.name}' is not valid YAML") from error
    content = content if isinstance(content, dict) else {}
    models = list(content.get("models") or [])
    for group in content.get("sources") or []:
        models += list((group or {}).get("tables") or [])
    found = []
    for model in models:
        table = by_name.get(str((model or {}).get("name", "")).lower())
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
