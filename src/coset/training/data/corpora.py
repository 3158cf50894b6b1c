"""The corpora: schemas of many databases as observed environments, and their questions.

In: a folder with `schemas.jsonl.zst` (one database a line) and, where there are any, `rows/<corpus>/<db>/*.parquet`,
`synonyms.jsonl.zst` and `questions.jsonl.zst`. Out: observed environments. A broken line is named with its number.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow.parquet as pq

from coset.errors import UserError
from coset.json_lines import json_lines
from coset.readings.observed import ObservedEnvironment, ObservedTable
from coset.routing.schema_files import Key, read_schemas, with_hint
from coset.training.annotation import FOLDER

WRITTEN_QUESTIONS = FOLDER / "questions.jsonl.zst"
SCHEMAS, QUESTIONS, SYNONYMS = "schemas.jsonl.zst", "questions.jsonl.zst", "synonyms.jsonl.zst"


@dataclass(frozen=True)
class Question:
    """A question with the columns that its query reads."""

    database: Key
    text: str
    tables: tuple[str, ...]
    columns: tuple[tuple[str, str], ...]
    sql: str = ""
    evidence: str = ""
    """A hint that came with the question."""

    @property
    def hinted(self) -> str:
        return with_hint(self.text, self.evidence)


def read_environments(folder: Path, *, rows: bool = True) -> dict[Key, ObservedEnvironment]:
    """All databases of the corpora, in the order of the file."""
    found: dict[Key, ObservedEnvironment] = {}
    for database in read_schemas(folder / SCHEMAS):
        environment = database.environment
        if rows:
            environment = _with_rows(environment, folder / "rows" / database.key[0] / database.key[1])
        found[database.key] = environment
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
            str(entry.get("evidence") or ""),
        )


def read_written_questions(path: Path = WRITTEN_QUESTIONS) -> Iterator[Question]:
    """Questions that language models wrote over databases of the corpora that came without any."""
    for number, entry in json_lines(path):
        try:
            columns = tuple((str(table), str(column)) for table, column in entry["columns"])
            yield Question(
                (str(entry["corpus"]), str(entry["db"])), str(entry["question"]),
                tuple(dict.fromkeys(table for table, _ in columns)), columns,
            )  # fmt: skip
        except (KeyError, TypeError, ValueError) as error:
            raise UserError(f"'{path.name}' line {number} is not a written question: {error!r}") from None


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
