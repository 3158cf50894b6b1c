"""What `coset.yaml`, dbt's `schema.yml` files and data dictionaries say of sources, tables and columns.

In: settings, files and readable tables. Out: rows for the state's `documents`, each with what it is about. A table is a
data dictionary when most values of one of its text columns are names of columns, and another one holds the texts.
Comments of the engines come with their tables; passages of document-like tables too. A document that has a paragraph for
each source describes them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import duckdb
import yaml

from coset.environment.configuration import Environment
from coset.environment.source import SourceSettings, Table
from coset.errors import UserError
from coset.evidence.reading import JoinableTable
from coset.sql_text import identifier
from coset.state import EvidenceState
from coset.state.documents import sections
from coset.state.objects import Reference
from coset.state.read_model import ReadModel
from coset.state.rows import document

MOST_ROWS, LEAST_NAMES, LEAST_SHARE, LEAST_LETTERS = 20_000, 3, 0.6, 10
_ABOUT_SOURCE = re.compile(r"(?:[-*•#]\s*)?[*_`]*([\w-]+)[*_`]*\s*(?:\([^)]*\))?[*_`]*\s*[:–]\s*(\S.*)", re.DOTALL)
"""A paragraph that tells what a source is: `crm (crm.sqlite): nightly export of ...`."""


def described_sources(state: EvidenceState) -> dict[str, tuple[str, str]]:
    """The sources of which `coset.yaml` says nothing and a document does: its section, and what it says."""
    bare = {row.source.lower(): row.source for row in ReadModel(state).sources.values() if not row.description}
    found: dict[str, tuple[str, str]] = {}
    for section in sections(state):
        for paragraph in section.paragraphs if section.status == "current" else ():
            about = _ABOUT_SOURCE.match(paragraph)
            if about is not None and (source := bare.get(about[1].lower())) is not None:
                found.setdefault(source, (section.reference, about[2]))
    return found


def dictionary_documents(
    connection: duckdb.DuckDBPyConnection, tables: Sequence[JoinableTable], read: Sequence[JoinableTable]
) -> Iterable[dict[str, Any]]:
    """What the dictionaries among the tables that are `read` say of columns of all."""
    by_column: dict[str, list[Reference]] = {}
    for table in tables:
        for column in table.columns:
            place = Reference(table.reference.source, table.reference.schema, table.reference.table, (column.name,))
            by_column.setdefault(column.name.lower(), []).append(place)
    for table in read:
        texts = [column.name for column in table.columns if column.type == "VARCHAR"]
        if len(texts) < 2 or not LEAST_NAMES <= table.rows <= MOST_ROWS:
            continue
        found = _dictionary(connection, table, texts, set(by_column))
        if found:
            yield from _described(connection, table, *found, by_column)


def _dictionary(
    connection: duckdb.DuckDBPyConnection, table: JoinableTable, texts: Sequence[str], names: set[str]
) -> tuple[str, str] | None:
    """The columns that hold the names and the descriptions, when the table is a dictionary."""
    measured = connection.cursor().execute(
        "SELECT "
        + ", ".join(f"list(DISTINCT lower(left({name}, 200))), avg(length({name}))" for name in map(identifier, texts))
        + f" FROM {table.relation}"
    ).fetchall()[0]  # fmt: skip
    shares = {}
    for number, name in enumerate(texts):
        values = [value for value in measured[2 * number] or [] if value is not None]
        own = {column.name.lower() for column in table.columns}
        known = [value for value in values if value in names and value not in own]
        if len(known) >= LEAST_NAMES and len(known) >= LEAST_SHARE * len(values):
            shares[name] = len(known)
    if not shares:
        return None
    name = max(shares, key=lambda item: shares[item])
    lengths = {text: measured[2 * number + 1] or 0.0 for number, text in enumerate(texts) if text != name}
    text = max(lengths, key=lambda item: lengths[item])
    return (name, text) if lengths[text] >= LEAST_LETTERS else None


def _described(
    connection: duckdb.DuckDBPyConnection,
    table: JoinableTable,
    name: str,
    text: str,
    by_column: dict[str, list[Reference]],
) -> Iterable[dict[str, Any]]:
    others = [column.name for column in table.columns if column.type == "VARCHAR" and column.name not in {name, text}]
    outputs = ", ".join(identifier(column) for column in (name, text, *others))
    for row in connection.cursor().execute(f"SELECT {outputs} FROM {table.relation} LIMIT {MOST_ROWS}").fetchall():
        if not row[0] or not row[1]:
            continue
        places = by_column.get(str(row[0]).lower(), [])
        # Where the dictionary also names the table, its column alone is meant.
        named = [place for place in places if place.table in {str(value) for value in row[2:] if value}]
        for place in named or places:
            if (place.source, place.schema, place.table) != (
                table.reference.source, table.reference.schema, table.reference.table,
            ):  # fmt: skip
                title = f"{table.reference}"
                yield document(f"{place}#{title}", None, str(place), "dictionary", title, str(row[1]), "declared")


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
