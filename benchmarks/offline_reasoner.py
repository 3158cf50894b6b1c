"""The offline reasoner on databases of the corpora that have rows: execution match with the gold SQL on the same rows.

    python benchmarks/offline_reasoner.py --corpus DIR --work DIR [--part validation] [--databases 20] [--questions 20]

Each database is written to SQLite with its declared foreign keys, comprehended once under `--work`, and asked. An
answer is right when its rows are those of the gold statement: as a bag, in order where the gold statement orders them
(rows that its order does not tell apart may stand in any); columns may stand in another order, and numbers agree to
seven digits. Precision counts what was answered, coverage what was asked. Questions whose gold statement does not run
on the rows are left out, and counted. `--curve` shows precision and coverage for other confidences than the one from
which answers are given, `--reasons` why the rest was declined, `--fit` the weights of doubts as a regression gives
them: of the train and dev parts only.

    python benchmarks/offline_reasoner.py --written FILE [--written FILE]

asks questions that people wrote about environments that are comprehended: a list of {environment, question, answer},
where the answer is a value, a list of values or of rows, or null where the data cannot answer.

What `coset ask --quick` saves with it is measured by `quick_savings.py`.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import re
import sqlite3
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

sys.path.insert(0, str(Path(__file__).parent))

from report import report

from coset.answering.offline import OfflineAnswer, answer
from coset.answering.offline.reasoner import ENOUGH
from coset.environment.configuration import load_environment
from coset.errors import CosetError
from coset.json_lines import json_lines
from coset.routing.router import Router
from coset.session.query_session import QuerySession
from coset.state import EvidenceState
from coset.training.annotation import split_databases
from coset.training.data.corpora import SCHEMAS, read_questions
from coset.use_cases.comprehend import comprehend

CORPUS = "spider"
MOST_COLUMNS_MATCHED = 6
Rows = list[tuple[Any, ...]]


@dataclass(frozen=True)
class Outcome:
    """What became of one question."""

    database: str
    question: str
    gold: str
    confidence: float | None
    """None where no answer was found at all."""
    right: bool
    right_once: bool
    """Right, or right but for how often a row repeats."""
    said: str
    doubts: tuple[str, ...] = ()

    @property
    def answered(self) -> bool:
        return self.confidence is not None and self.confidence >= ENOUGH


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--written", type=Path, action="append", help="questions that people wrote, as JSON")
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--work", type=Path, help="where the databases are made; kept between runs")
    parser.add_argument("--part", default="validation", help="train, dev, validation, or several with commas between")
    parser.add_argument("--databases", type=int, default=20)
    parser.add_argument("--questions", type=int, default=20, help="of each database at most")
    parser.add_argument("--only", default="", help="names of databases, with commas between them")
    parser.add_argument("--show", action="store_true", help="print every question with what became of it")
    parser.add_argument("--curve", action="store_true", help="precision and coverage for other confidences")
    parser.add_argument("--reasons", action="store_true", help="count why questions were declined")
    parser.add_argument("--fit", action="store_true", help="print the weights of doubts as a regression gives them")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.written:
        return of_people(options.written)
    if options.corpus is None or options.work is None:
        parser.error("give --corpus and --work, or --written")
    parts = options.part.split(",")
    if unknown := set(parts) - {"train", "dev", "validation"}:
        parser.error(f"there is no part '{min(unknown)}': choose train, dev or validation")
    if options.fit and "validation" in parts:
        parser.error("weights are not fitted on the part that is measured: choose --part train,dev")
    only = frozenset(options.only.split(",")) - {""}
    outcomes: list[Outcome] = []
    unusable = 0
    databases = [each for part in parts for each in chosen(options.corpus, part, options.databases, only)]
    for name, schema in databases:
        folder = prepared(options.corpus, options.work, name, schema)
        for outcome in asked(folder, name, questions_of(options.corpus, name, options.questions)):
            if outcome is None:
                unusable += 1
                continue
            outcomes.append(outcome)
            if options.show:
                mark = ("right" if outcome.right else "WRONG") if outcome.answered else "declined"
                print(f"{mark:8} {name} | {outcome.question} | {outcome.said} | {outcome.gold}", flush=True)
    figures = measured(outcomes)
    figures["questions left out: gold does not run"] = float(unusable)
    if options.curve:
        figures |= curve(outcomes)
    if options.reasons:
        figures |= reasons(outcomes)
    if options.fit:
        figures |= fitted(outcomes)
    met = float(figures["precision when it answers"]) >= 0.9
    report(f"offline reasoner, {options.part}", figures, "precision at least 0.90", met)


def of_people(files: Sequence[Path]) -> None:
    """Right, wrong and declined of questions that people wrote."""
    counted: Counter[str] = Counter()
    questions = [each for file in files for each in json.loads(file.read_text(encoding="utf-8"))]
    for folder, theirs in itertools.groupby(questions, key=lambda each: each["environment"]):
        environment = load_environment(Path(folder))
        with QuerySession(environment) as session, EvidenceState.read(environment.state_folder) as state:
            router = Router.open(environment, session)
            for each in theirs:
                found = answer(each["question"], router, session, state)
                if not isinstance(found, OfflineAnswer):
                    said, mark = found.reason, "declined"
                else:
                    said = str(found.rows[:3])
                    mark = "right" if says_same(found.rows, each["answer"]) else "WRONG"
                counted[mark] += 1
                print(f"{mark:8} {each['question']} | {said[:160]} | {each['answer']}", flush=True)
    answered = counted["right"] + counted["WRONG"]
    figures: dict[str, float | str] = {
        "questions": float(len(questions)),
        "answered": float(answered),
        "right when it answers": counted["right"] / max(answered, 1),
    }
    report("offline reasoner, questions of people", figures, "at least 0.97", not counted["WRONG"])


def says_same(rows: Sequence[tuple[Any, ...]], wanted: Any) -> bool:
    """Whether rows hold the wanted values, in any order of rows; numbers to seven digits."""
    if wanted is None:
        return False
    listed = wanted if isinstance(wanted, list) else [wanted]
    right = sorted(tuple(map(_plain, each if isinstance(each, list) else [each])) for each in listed)
    width = len(right[0]) if right else 0
    return any(
        sorted(tuple(_plain(row[place]) for place in places) for row in rows) == right
        for places in itertools.permutations(range(len(rows[0]) if rows else 0), width)
    )


def _plain(value: Any) -> str:
    try:
        return f"{float(value):.7g}"
    except (TypeError, ValueError):
        return str(value).strip().lower()


def measured(outcomes: Sequence[Outcome]) -> dict[str, float | str]:
    answered = [outcome for outcome in outcomes if outcome.answered]
    right = sum(outcome.right for outcome in answered)
    low, high = interval(right, len(answered))
    return {
        "databases": float(len({outcome.database for outcome in outcomes})),
        "questions": float(len(outcomes)),
        "answered": float(len(answered)),
        "right": float(right),
        "precision when it answers": right / max(1, len(answered)),
        "precision, 95 % interval": f"{low:.3f} to {high:.3f}",
        "precision but for repeated rows": sum(outcome.right_once for outcome in answered) / max(1, len(answered)),
        "coverage": len(answered) / max(1, len(outcomes)),
    }


def interval(right: int, of: int) -> tuple[float, float]:
    """Wilson's interval of a share."""
    if not of:
        return 0.0, 1.0
    share, z = right / of, 1.96
    middle, spread = share + z * z / (2 * of), z * math.sqrt(share * (1 - share) / of + z * z / (4 * of * of))
    return (middle - spread) / (1 + z * z / of), (middle + spread) / (1 + z * z / of)


def curve(outcomes: Sequence[Outcome]) -> dict[str, float | str]:
    """What would be if answers were given from another confidence on."""
    found: dict[str, float | str] = {}
    for least in (0.0, 0.7, 0.8, 0.85, 0.9, 0.92, 0.94):
        given = [each.right for each in outcomes if each.confidence is not None and each.confidence >= least]
        precision, coverage = sum(given) / max(1, len(given)), len(given) / max(1, len(outcomes))
        found[f"from confidence {least:.2f}: precision, coverage"] = f"{precision:.3f}, {coverage:.3f}"
    return found


def reasons(outcomes: Sequence[Outcome]) -> dict[str, float | str]:
    """Why questions were declined, the names in them left out."""
    counts: Counter[str] = Counter()
    for each in outcomes:
        if each.confidence is None:
            counts[re.sub(r"'[^']*'|\b\S+[/.]\S+|\b\d[\d,.]*", "...", each.said)[:50]] += 1
        elif not each.answered:
            counts["not sure enough"] += 1
    return {f"declined: {reason}": float(number) for reason, number in counts.most_common(25)}


def fitted(outcomes: Sequence[Outcome], held_back: float = 1.0) -> dict[str, float | str]:
    """Log-odds of being right: what all answers have, and what each doubt adds (ridge logistic regression)."""
    found = [each for each in outcomes if each.confidence is not None]
    names = sorted({doubt for each in found for doubt in each.doubts})
    inputs = np.array([[1.0, *(float(name in each.doubts) for name in names)] for each in found])
    right = np.array([float(each.right) for each in found])
    ridge = held_back * np.diag([1e-6, *(1.0 for _ in names)])
    weights = np.zeros(len(names) + 1)
    for _ in range(50):
        chance = 1 / (1 + np.exp(-inputs @ weights))
        slope = inputs.T @ (chance - right) + ridge @ weights
        weights -= np.linalg.solve((inputs.T * (chance * (1 - chance))) @ inputs + ridge, slope)
    seen = Counter((doubt, each.right) for each in found for doubt in set(each.doubts))
    figures: dict[str, float | str] = {"weight of no doubt": float(weights[0])}
    for name, weight in zip(names, weights[1:], strict=True):
        figures[f"weight of '{name}', right, wrong"] = f"{weight:.2f}, {seen[name, True]}, {seen[name, False]}"
    return figures


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
                    expected = gold_of(database, gold)
                except sqlite3.Error:
                    yield None
                    continue
                try:
                    found = answer(question, router, session, state, enough=0.0)
                except CosetError as error:
                    yield Outcome(name, question, gold, 1.0, False, False, f"broke: {error}")
                    continue
                if isinstance(found, OfflineAnswer):
                    right = same_rows([*found.rows], expected)
                    once = right or same_rows([*dict.fromkeys(found.rows)], Gold([*dict.fromkeys(expected.rows)], ()))
                    yield Outcome(name, question, gold, found.confidence, right, once, found.sql, found.doubts)
                else:
                    yield Outcome(name, question, gold, None, False, False, found.reason)


@dataclass(frozen=True)
class Gold:
    """The rows of a gold statement; `runs` are the lengths of the runs of rows that its order does not tell apart, and
    empty where any order is right."""

    rows: Rows
    runs: tuple[int, ...]


def gold_of(database: sqlite3.Connection, sql: str) -> Gold:
    rows = database.execute(sql).fetchall()
    keys = order_keys(database, sql)
    if keys is None or len(keys) != len(rows):
        return Gold(rows, (1,) * len(rows) if "order by" in sql.lower() else (len(rows),))
    return Gold(rows, tuple(len(list(run)) for _, run in itertools.groupby(keys)))


def order_keys(database: sqlite3.Connection, sql: str) -> Rows | None:
    """What the gold statement orders its rows by, row by row; None where it does not, or where it cannot be told."""
    try:
        tree = parse_one(sql, read="sqlite")
        order = tree.args.get("order")
        if not isinstance(tree, exp.Select) or order is None or tree.args.get("distinct"):
            return None
        tree.set("expressions", [each.this.copy() for each in order.expressions])
        return database.execute(tree.sql(dialect="sqlite")).fetchall()
    except (SqlglotError, sqlite3.Error):
        return None


def same_rows(found: Rows, gold: Gold) -> bool:
    expected = gold.rows
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
    runs = gold.runs or (len(right),)
    return any(_in_runs([tuple(row[place] for place in order) for row in left], right, runs) for order in orders)


def _in_runs(left: Rows, right: Rows, runs: tuple[int, ...]) -> bool:
    begin = 0
    for length in runs:
        if Counter(left[begin : begin + length]) != Counter(right[begin : begin + length]):
            return False
        begin += length
    return True


def plain(cell: Any) -> str:
    """A cell as it is compared: numbers to seven digits, whatever type they have."""
    try:
        return f"{float(cell):.7g}"
    except (TypeError, ValueError):
        return "" if cell is None else str(cell)


if __name__ == "__main__":
    main()
