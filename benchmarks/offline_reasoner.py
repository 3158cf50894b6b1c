"""The offline reasoner on databases of the corpora that have rows: execution match with the gold SQL on the same rows.

    python benchmarks/offline_reasoner.py --corpus DIR --work DIR [--part validation] [--databases 12] [--questions 15]

Each database is written to SQLite with its declared keys, comprehended once under `--work`, and asked. An answer is
right when its rows are those of the gold statement: as a bag, in order where the gold statement orders them; columns
may stand in another order, and numbers agree to seven digits. Precision counts what was answered, coverage what was
asked. Questions whose gold statement does not run on the rows are left out, and counted.
"""

from __future__ import annotations

import argparse
import itertools
import sqlite3
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).parent))

from report import report

from coset.answering.offline import Answered, answer
from coset.environment.configuration import load_environment
from coset.errors import CosetError
from coset.evidence.comprehend import comprehend
from coset.evidence.state import EvidenceState
from coset.identities.json_lines import json_lines
from coset.routing.comprehension import comprehend_meaning
from coset.routing.router import Router
from coset.session.query_session import QuerySession
from coset.training.annotation import split_databases
from coset.training.corpora import SCHEMAS, read_questions

CORPUS = "spider"
MOST_COLUMNS_MATCHED = 6
Rows = list[tuple[Any, ...]]


@dataclass(frozen=True)
class Outcome:
    """What became of one question."""

    database: str
    question: str
    gold: str
    answered: bool
    right: bool
    said: str


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True, help="where the databases are made; kept between runs")
    parser.add_argument("--part", default="validation", choices=["train", "dev", "validation"])
    parser.add_argument("--databases", type=int, default=12)
    parser.add_argument("--questions", type=int, default=15)
    parser.add_argument("--only", default="", help="names of databases, with commas between them")
    parser.add_argument("--show", action="store_true", help="print every question with what became of it")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    only = frozenset(options.only.split(",")) - {""}
    outcomes: list[Outcome] = []
    unusable = 0
    for name, schema in chosen(options.corpus, options.part, options.databases, only):
        folder = prepared(options.corpus, options.work, name, schema)
        for outcome in asked(folder, name, questions_of(options.corpus, name, options.questions)):
            if outcome is None:
                unusable += 1
                continue
            outcomes.append(outcome)
            if options.show:
                mark = "right" if outcome.right else "WRONG" if outcome.answered else "declined"
                print(f"{mark:8} {name} | {outcome.question} | {outcome.said} | {outcome.gold}", flush=True)
    answered = [outcome for outcome in outcomes if outcome.answered]
    right = sum(outcome.right for outcome in answered)
    precision = right / max(1, len(answered))
    figures: dict[str, float | str] = {
        "databases": float(len({outcome.database for outcome in outcomes})),
        "questions": float(len(outcomes)),
        "questions left out: gold does not run": float(unusable),
        "answered": float(len(answered)),
        "right": float(right),
        "precision when it answers": precision,
        "coverage": len(answered) / max(1, len(outcomes)),
    }
    report(f"offline reasoner, {options.part}", figures, "precision at least 0.90", precision >= 0.9)


def chosen(corpus: Path, part: str, most: int, only: frozenset[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Databases of a part of which every table has rows at hand, always the same ones."""
    entries = {(str(entry["corpus"]), str(entry["db"])): entry for _, entry in json_lines(corpus / SCHEMAS)}
    names = {key: frozenset(str(table["name"]).lower() for table in each["tables"]) for key, each in entries.items()}
    parts = split_databases(entries, names)
    fitting = []
    for key in sorted(entries):
        folder = corpus / "rows" / key[0] / key[1]
        there = {path.stem.lower() for path in folder.glob("*.parquet")} if folder.is_dir() else set()
        if key[0] == CORPUS and parts[key] == part and names[key] <= there and (not only or key[1] in only):
            fitting.append(key)
    order = np.random.default_rng(1).permutation(len(fitting))[:most]
    for number in sorted(order):
        yield fitting[number][1], entries[fitting[number]]


def questions_of(corpus: Path, name: str, most: int) -> list[tuple[str, str]]:
    own = sorted({(q.text, q.sql) for q in read_questions(corpus) if q.database == (CORPUS, name) and q.sql})
    order = np.random.default_rng(2).permutation(len(own))[:most]
    return [own[number] for number in sorted(order)]


def prepared(corpus: Path, work: Path, name: str, schema: dict[str, Any]) -> Path:
    """The folder of a database, comprehended; made when it is not there."""
    folder = work / name
    if (folder / "ready").exists():
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.sqlite"
    path.unlink(missing_ok=True)
    rows = {each.stem.lower(): each for each in (corpus / "rows" / CORPUS / name).glob("*.parquet")}
    with sqlite3.connect(path) as connection:
        for table in schema["tables"]:
            load_table(connection, table, schema, pq.read_table(rows[table["name"].lower()]))
    connection.close()
    (folder / "coset.yaml").write_text(f"sources:\n  data:\n    location: {path.name}\n", encoding="utf-8")
    environment = load_environment(folder)
    comprehend(environment)
    comprehend_meaning(environment)
    (folder / "ready").touch()
    return folder


def load_table(connection: sqlite3.Connection, table: dict[str, Any], schema: dict[str, Any], content: Any) -> None:
    by_name = {name.lower(): content.column(name).to_pylist() for name in content.column_names}
    columns = [str(column["name"]) for column in table["columns"]]
    values = [by_name.get(column.lower(), [None] * content.num_rows) for column in columns]
    types = [sql_type(column["type"], cells) for column, cells in zip(table["columns"], values, strict=True)]
    parts = [f"{quoted(column)} {kind}" for column, kind in zip(columns, types, strict=True)]
    for link in schema.get("foreign_keys") or ():
        if link["table"] == table["name"]:
            here, there = (", ".join(map(quoted, link[side])) for side in ("columns", "ref_columns"))
            parts.append(f"FOREIGN KEY ({here}) REFERENCES {quoted(link['ref_table'])} ({there})")
    connection.execute(f"CREATE TABLE {quoted(table['name'])} ({', '.join(parts)})")
    marks = ", ".join("?" for _ in columns)
    connection.executemany(f"INSERT INTO {quoted(table['name'])} VALUES ({marks})", zip(*values, strict=True))


def sql_type(kind: str | None, cells: Sequence[Any]) -> str:
    """The corpora keep every value as text: a column of numbers gets the narrowest type that holds them all."""
    if kind not in ("number", "boolean"):
        return "TEXT"
    present = [cell for cell in cells if cell is not None]
    for name, reads in (("INTEGER", int), ("REAL", float)):
        try:
            for cell in present:
                reads(cell)
        except ValueError:
            continue
        return name
    return "TEXT"


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def asked(folder: Path, name: str, questions: Sequence[tuple[str, str]]) -> Iterator[Outcome | None]:
    environment = load_environment(folder)
    with QuerySession(environment) as session, sqlite3.connect(folder / f"{name}.sqlite") as database:
        router = Router.open(environment, session)
        with EvidenceState.read(environment.state_folder) as state:
            for question, gold in questions:
                try:
                    expected = database.execute(gold).fetchall()
                except sqlite3.Error:
                    yield None
                    continue
                try:
                    found = answer(question, router, session, state)
                except CosetError as error:
                    yield Outcome(name, question, gold, True, False, f"broke: {error}")
                    continue
                if isinstance(found, Answered):
                    right = same_rows([*found.rows], expected, in_order="order by" in gold.lower())
                    yield Outcome(name, question, gold, True, right, found.sql)
                else:
                    yield Outcome(name, question, gold, False, False, found.reason)


def same_rows(found: Rows, expected: Rows, *, in_order: bool) -> bool:
    if len(found) != len(expected):
        return False
    if not found:
        return True
    width = len(expected[0])
    if len(found[0]) != width:
        return False
    right = [tuple(map(plain, row)) for row in expected]
    left = [tuple(map(plain, row)) for row in found]
    orders = itertools.permutations(range(width)) if width <= MOST_COLUMNS_MATCHED else [tuple(range(width))]
    for order in orders:
        turned = [tuple(row[place] for place in order) for row in left]
        if turned == right if in_order else Counter(turned) == Counter(right):
            return True
    return False


def plain(cell: Any) -> str:
    """A cell as it is compared: numbers to seven digits, whatever type they have."""
    try:
        return f"{float(cell):.7g}"
    except (TypeError, ValueError):
        return "" if cell is None else str(cell)


if __name__ == "__main__":
    main()
