"""The corpora: schemas of many databases as observed environments, and their questions.

In: a folder with `schemas.jsonl.zst` (one database a line) and, where there are any, `rows/<corpus>/<db>/*.parquet`,
`synonyms.jsonl.zst` and `questions.jsonl.zst`. Out: observed environments. A broken line is named with its number.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from coset.errors import Mistake
from coset.identities.features import home_of
from coset.identities.json_lines import json_lines
from coset.identities.observed import ObservedColumn, ObservedEnvironment, ObservedTable, type_family

Key = tuple[str, str]
"""A database: corpus and name."""
SCHEMAS, QUESTIONS, SYNONYMS = "schemas.jsonl.zst", "questions.jsonl.zst", "synonyms.jsonl.zst"


@dataclass(frozen=True)
class Question:
    """A question with the columns that its query reads."""

    database: Key
    text: str
    tables: tuple[str, ...]
    columns: tuple[tuple[str, str], ...]
    sql: str = ""


def read_environments(folder: Path, *, rows: bool = True) -> dict[Key, ObservedEnvironment]:
    """All databases of the corpora, in the order of the file."""
    found: dict[Key, ObservedEnvironment] = {}
    for number, entry in json_lines(folder / SCHEMAS):
        try:
            key = (str(entry["corpus"]), str(entry["db"]))
            environment = _environment(key, entry)
        except (KeyError, TypeError) as error:
            raise Mistake(f"'{SCHEMAS}' line {number} is not a schema: {error!r} is missing or wrong") from None
        if rows:
            environment = _with_rows(environment, folder / "rows" / key[0] / key[1])
        found[key] = environment
    return found


def read_questions(folder: Path) -> Iterator[Question]:
    for _, entry in json_lines(folder / QUESTIONS):
        pairs = [column.split(".", 1) for column in entry["columns"]]
        yield Question(
            (str(entry["corpus"]), str(entry["db"])),
            str(entry["question"]),
            tuple(entry["tables"]),
            tuple((pair[0], pair[1]) for pair in pairs if len(pair) == 2),
            str(entry.get("sql") or ""),
        )


def read_synonyms(folder: Path) -> dict[tuple[str, str, str | None], list[str]]:
    """Other names of Spider's tables and columns, those made by hand first."""
    found: dict[tuple[str, str, str | None], list[str]] = {}
    if not (folder / SYNONYMS).exists():
        return found
    entries = [entry for _, entry in json_lines(folder / SYNONYMS)]
    for entry in sorted(entries, key=lambda entry: str(entry.get("source")) != "ManualMAS"):
        names = found.setdefault((entry["db"], entry["table"], entry["column"]), [])
        names += [name for name in entry["names"] if name not in names]
    return found


def _environment(key: Key, entry: dict[str, Any]) -> ObservedEnvironment:
    points: dict[tuple[str, str], tuple[str, str]] = {}
    pointed: dict[tuple[str, str], int] = {}
    for link in entry["foreign_keys"]:
        for left, right in zip(link["columns"], link["ref_columns"], strict=False):
            points[(link["table"], left)] = (link["ref_table"], right)
            pointed[(link["ref_table"], right)] = pointed.get((link["ref_table"], right), 0) + 1
    tables = []
    names = [str(table["name"]) for table in entry["tables"]][:200]
    for table in entry["tables"]:
        keys = set(table.get("primary_key") or ()) if len(table.get("primary_key") or ()) == 1 else set()
        columns = tuple(
            ObservedColumn(
                name=str(column["name"]),
                type=type_family(column.get("type")),
                reference=f"{table['name']}.{column['name']}",
                label=str(column.get("natural_name") or ""),
                description=str(column.get("description") or ""),
                samples=tuple(str(sample) for sample in column.get("samples") or ()),
                is_key=column["name"] in keys,
                refers_to=points.get((table["name"], column["name"])),
                referred_by=pointed.get((table["name"], column["name"]), 0),
            )
            for column in table["columns"]
        )
        tables.append(
            ObservedTable(
                str(table["name"]), columns, str(table["name"]), str(table.get("natural_name") or ""),
                str(table.get("description") or ""), None, home_of(key[1], names, str(table["name"])),
            )
        )  # fmt: skip
    return ObservedEnvironment("/".join(key), tuple(tables))


def _with_rows(environment: ObservedEnvironment, folder: Path) -> ObservedEnvironment:
    """Counts of rows, nulls and distinct values where the corpora hold rows."""
    if not folder.is_dir():
        return environment
    return replace(environment, tables=tuple(_counted(table, folder) for table in environment.tables))


def _counted(table: ObservedTable, folder: Path) -> ObservedTable:
    path = folder / f"{table.name}.parquet"
    if not path.exists():
        return table
    content = pq.read_table(path)
    by_name = {name.lower(): name for name in content.column_names}
    columns = []
    for column in table.columns:
        name = by_name.get(column.name.lower())
        if name is None or not content.num_rows:
            columns.append(column)
            continue
        values = content.column(name)
        columns.append(
            replace(
                column,
                rows=content.num_rows,
                nulls=values.null_count / content.num_rows,
                distinct=len(values.drop_null().unique()),
                samples=column.samples or tuple(str(value) for value in values.drop_null().unique()[:12].to_pylist()),
            )
        )
    return replace(table, columns=tuple(columns), rows=content.num_rows)
