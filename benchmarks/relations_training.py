"""Learn the weights of the relation model from databases with declared foreign keys, and say how it does on others.

    python benchmarks/relations_training.py ../shared/corpora --write

Every database of the corpus with rows and foreign keys is seen four times: as it is; with rows left out and no declared
keys; with its keys written as random codes; and dirty (`dirty_environment`: several engines, other names, keys written
differently). Databases are split by a hash of their name; two thirds teach, the rest tests. Declared keys are the
truth, so a true join that nobody declared counts as wrong: precision is a lower bound.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import pickle
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import duckdb
import numpy as np
import pyarrow as pa
from benchmarks.dirty_environment import CleanDatabase, make_dirty_environment, read_corpus
from benchmarks.relations_loading import open_environment

from coset.environment.source import Column
from coset.relations.joins.column_values import JoinableTable, JoinColumn
from coset.relations.joins.features import FEATURES, Candidate, with_rules
from coset.relations.joins.find import empty_memory, remember
from coset.relations.joins.neighbours import Neighbours, overlaps_of
from coset.relations.joins.overlap import TableReader, pair_key_sets
from coset.relations.joins.selection import Scored, choose
from coset.state.objects import Reference

WEIGHTS = Path(__file__).parents[1] / "src/coset/relations/joins/weights.json"
DIRT = ("light", "medium", "heavy")
DIRTY_WEIGHT = 3.0
"""Dirty environments are what relations are looked for in, and there are fewer of them to learn from."""
Place = tuple[str, str, str]
Pair = tuple[Place, Place]


@dataclass
class Case:
    """One database as seen once: candidates, and which of them are true (None: true, but not worth reporting)."""

    database: str
    mode: str
    candidates: list[Candidate]
    labels: list[bool | None]
    truths: set[Pair]
    reachable: int
    tables: list[JoinableTable]


def held_out(database: str) -> bool:
    return int(hashlib.sha256(database.encode()).hexdigest(), 16) % 3 == 0


def place(tables: list[JoinableTable], column: JoinColumn) -> Place:
    reference = tables[column.table].reference
    name = "*table name*" if column.is_names else column.name
    return reference.source, str(reference.table), name


def a_case(
    connection: duckdb.DuckDBPyConnection, tables: list[JoinableTable], database: str, mode: str,
    truths: set[Pair], further: set[Pair],
) -> Case:  # fmt: skip
    tables = sorted(tables, key=lambda table: str(table.reference))
    candidates = candidates_of(connection, tables)
    labels: list[bool | None] = []
    for candidate in candidates:
        pair = place(tables, candidate.left), place(tables, candidate.right)
        back = pair[1], pair[0]
        true = pair in truths
        labels.append(True if true else None if back in truths or pair in further or back in further else False)
    found = {(place(tables, c.left), place(tables, c.right)) for c in candidates}
    return Case(database, mode, candidates, labels, truths, len(truths & found), tables)


def candidates_of(connection: duckdb.DuckDBPyConnection, tables: list[JoinableTable]) -> list[Candidate]:
    """Every two columns that are compared; the tables stand in the order of their references."""
    memory = empty_memory()
    with contextlib.closing(memory.tables):
        remember(memory, connection, tables)
        known = memory.columns(tables)
        variants = [variant for each in known.variants.values() for variant in each]
        pair_key_sets(memory.tables, TableReader(connection, tables), variants)
        lefts = [column for column in known.columns if column.number in known.variants]
        neighbours = Neighbours(tables, known, overlaps_of(memory, known, lefts))
        return [candidate for left in lefts for candidate in neighbours.candidates(neighbours.rights(left))]


def loaded(database: CleanDatabase, mode: str) -> tuple[duckdb.DuckDBPyConnection, list[JoinableTable]]:
    rng = random.Random(f"{database.name} {mode}")
    connection = duckdb.connect()
    keys = {table.name: table.primary_key for table in database.tables}
    roots = domains(database) if mode == "codes" else {}
    alphabet = "0123456789abcdefghijkmnpqrstuvwxyz"
    tables = []
    for number, table in enumerate(database.tables):
        kept = range(table.rows)
        if mode != "clean":
            share = rng.choice([1.0, 0.6, 0.3, 0.12, 0.05])
            kept = sorted(rng.sample(kept, max(min(5, table.rows), int(share * table.rows))))
        arrays, names = [], []
        for column in table.columns:
            values = [column.values[row] for row in kept]
            root = roots.get((table.name, column.name))
            if root:
                digest = [hashlib.sha256(f"{root} {value}".encode()).digest() for value in values]
                values = [
                    None if v is None else root[2][:3] + "".join(alphabet[b % 34] for b in d[:9])
                    for v, d in zip(values, digest, strict=True)
                ]
            arrays.append(pa.array(values))
            names.append(column.name)
        arrow = pa.table(arrays, names=[f"c{n}" for n in range(len(names))])
        connection.register("incoming", arrow)
        listed = ", ".join(f'c{n} AS "{name}"' for n, name in enumerate(names))
        connection.execute(f'CREATE TABLE "t{number}" AS SELECT {listed} FROM incoming').fetchall()
        connection.unregister("incoming")
        types = connection.execute(f'DESCRIBE "t{number}"').fetchall()
        columns = tuple(Column(name, row[1], name, row[1]) for name, row in zip(names, types, strict=True))
        key = keys[table.name] if mode == "clean" else ()
        tables.append(JoinableTable(Reference("db", None, table.name), f'"t{number}"', columns, len(kept), key))
    return connection, tables


def domains(database: CleanDatabase) -> dict[tuple[str, str], tuple[str, str, str]]:
    """Columns that take part in a foreign key, each with a common root: the same root writes the same codes."""
    root: dict[tuple[str, str], tuple[str, str]] = {}

    def find(item: tuple[str, str]) -> tuple[str, str]:
        while root.setdefault(item, item) != item:
            item = root[item]
        return item

    for key in database.foreign_keys:
        for one, other in zip(key.columns, key.parent_columns, strict=True):
            root[find((key.table, one))] = find((key.parent_table, other))
    return {item: (*find(item), hashlib.sha256(str(find(item)).encode()).hexdigest()) for item in list(root)}


def cases_of(database: CleanDatabase) -> Iterator[Case]:
    truths = {
        (("db", key.table, key.columns[0]), ("db", key.parent_table, key.parent_columns[0]))
        for key in database.foreign_keys
        if len(key.columns) == 1
    }
    members: dict[tuple[str, str, str], list[Place]] = {}
    for (table, column), root in domains(database).items():
        members.setdefault(root, []).append(("db", table, column))
    siblings = {(one, other) for each in members.values() for one in each for other in each}
    for mode in ("clean", "sampled", "codes"):
        connection, tables = loaded(database, mode)
        with connection:
            yield a_case(connection, tables, database.name, mode, truths, siblings - truths)


def dirty_cases(database: CleanDatabase, dirt: str, seed: int) -> Iterator[Case]:
    with tempfile.TemporaryDirectory() as folder:
        truth = make_dirty_environment(database, Path(folder) / "environment", seed=seed, dirt=dirt)  # type: ignore[arg-type]
        connection, tables = open_environment(Path(folder) / "environment" / "coset.yaml")
        true, further = truth_pairs(truth, tables)
        with connection:
            yield a_case(connection, tables, database.name, dirt, true, further)


def truth_pairs(truth, tables: list[JoinableTable]) -> tuple[set[Pair], set[Pair]]:
    """What must be found, and what is true as well."""
    family = {
        (table.reference.source, member): str(table.reference.table)
        for table in tables
        for member in (table.members or (str(table.reference.table),))
    }

    def side(one) -> Place:
        table = family.get((one.source, one.tables[0]), one.tables[0])
        return one.source, table, "*table name*" if one.columns[0] == "_table_value" else one.columns[0]

    true: set[Pair] = set()
    further: set[Pair] = set()
    for join in truth.joins:
        if len(join.left.columns) > 1:
            continue
        pair = side(join.left), side(join.right)
        (true if join.status in ("declared", "split") else further).add(pair)
    return true, further - true


FOR = frozenset((
    "containment", "contained", "coverage", "evidence", "code_evidence", "range", "right_uniqueness", "right_is_main",
    "right_is_first", "columns_agree", "names_table", "name_lead", "named_fully", "left_key_name", "right_key_name",
    "right_plain_id", "types_agree",
))  # fmt: skip
AGAINST = frozenset((
    "label_missing", "number_missing", "left_is_key", "left_key_unnamed", "serials", "unnamed_missing",
    "numbers_unnamed", "rivals", "few_values", "same_table", "piece",
))  # fmt: skip


def fit(cases: list[Case]) -> tuple[float, np.ndarray]:
    """Weights whose signs make sense: a feature that speaks for a join never counts against it. Where the data say
    otherwise (keys that nobody declared), the feature is left out."""
    out: set[int] = set()
    while True:
        constant, weights = newton(cases, out)
        wrong = [
            (abs(weight), place)
            for place, (name, weight) in enumerate(zip(FEATURES, weights, strict=True))
            if (name in FOR and weight < 0) or (name in AGAINST and weight > 0)
        ]
        if not wrong:
            return constant, weights
        out.add(max(wrong)[1])


def newton(cases: list[Case], out: set[int], ridge: float = 1.0, rounds: int = 60) -> tuple[float, np.ndarray]:
    """Logistic regression by Newton's method; every database weighs the same, true and false alike."""
    rows, labels, weights = [], [], []
    for case in cases:
        known = [
            (c.features, label) for c, label in zip(case.candidates, case.labels, strict=True) if label is not None
        ]
        true = sum(label for _, label in known)
        for features, label in known:
            rows.append((1.0, *features))
            labels.append(float(label))
            weight = 1.0 / max(1, true) ** 0.5 if label else 1.0 / max(1, len(known)) ** 0.25
            weights.append(weight * (DIRTY_WEIGHT if case.mode in DIRT else 1.0))
    x, y, w = np.array(rows), np.array(labels), np.array(weights)
    w *= len(w) / w.sum()
    beta = np.zeros(x.shape[1])
    penalty = np.full(x.shape[1], ridge)
    penalty[0] = 1e-6
    penalty[[place + 1 for place in out]] = 1e9
    for _ in range(rounds):
        p = 1 / (1 + np.exp(-np.clip(x @ beta, -30, 30)))
        gradient = x.T @ (w * (y - p)) - penalty * beta
        hessian = (x * (w * p * (1 - p))[:, None]).T @ x + np.diag(penalty)
        step = np.linalg.solve(hessian, gradient)
        beta += step
        if np.abs(step).max() < 1e-6:
            break
    beta[[place + 1 for place in out]] = 0.0
    return float(beta[0]), beta[1:]


def scored(case: Case, constant: float, weights: np.ndarray) -> list[Scored]:
    if not case.candidates:
        return []
    total = constant + np.array([c.features for c in case.candidates]) @ weights
    learned = 1 / (1 + np.exp(-np.clip(total, -30, 30)))
    return [Scored(c, with_rules(c, float(p))) for c, p in zip(case.candidates, learned, strict=True)]


def measure(cases: list[Case], constant: float, weights: np.ndarray, least: float) -> dict[str, float]:
    found = reported = right = truths = reachable = 0
    for case in cases:
        label = {(c.left.number, c.right.number): label for c, label in zip(case.candidates, case.labels, strict=True)}
        for each in choose(scored(case, constant, weights), least):
            pair = each.candidate.left.number, each.candidate.right.number
            reported += 1
            right += label[pair] is not False
            found += label[pair] is True or (label[pair] is None and label.get((pair[1], pair[0])) is True)
        truths += len(case.truths)
        reachable += case.reachable
    return {
        "truths": truths, "reachable": reachable / max(1, truths), "recall": found / max(1, truths),
        "precision": right / max(1, reported), "reported": reported,
    }  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpora", type=Path)
    parser.add_argument("--write", action="store_true", help="replace weights.json")
    parser.add_argument("--cache", type=Path, help="a folder for the cleaned databases, to run again sooner")
    parser.add_argument("--dirty", type=int, default=1, help="of so many databases one is made dirty")
    parser.add_argument("--least", type=float, default=0.5)
    given = parser.parse_args()
    cases: list[Case] = []
    started = time.monotonic()
    for number, folder in enumerate(sorted((given.corpora / "rows" / "spider").iterdir())):
        database = cached(given, folder.name)
        if not database.foreign_keys:
            continue
        try:
            cases += cases_of(database)
            if number % given.dirty == 0:
                cases += dirty_cases(database, DIRT[number // given.dirty % 3], number)
        except ValueError as error:
            print(f"{folder.name}: {error}", file=sys.stderr)
    print(f"{len(cases)} cases in {time.monotonic() - started:.0f} s", file=sys.stderr)
    if given.cache:
        (given.cache / "cases.pickle").write_bytes(pickle.dumps(cases))
    learn(cases, given.least, given.write)
    return 0


def learn(cases: list[Case], least: float, write: bool) -> None:
    constant, weights = fit([case for case in cases if not held_out(case.database)])
    figures = {}
    for mode in sorted({case.mode for case in cases}):
        for part in (False, True):
            chosen = [case for case in cases if case.mode == mode and held_out(case.database) == part]
            result = measure(chosen, constant, weights, least)
            figures[f"{mode}, {'held out' if part else 'learned from'}"] = result
            print(f"{mode:8} {'held out' if part else 'learned ':9}", {k: round(v, 3) for k, v in result.items()})
    for name, weight in sorted(zip(FEATURES, weights, strict=True), key=lambda item: -abs(item[1])):
        print(f"  {name:18} {weight:7.2f}")
    if write:
        content = {
            "made_by": "python benchmarks/relations_training.py CORPORA --write",
            "constant": round(constant, 3),
            "weights": {name: round(float(weight), 3) for name, weight in zip(FEATURES, weights, strict=True)},
            "held_out": {
                name: {key: round(value, 3) for key, value in result.items()}
                for name, result in figures.items()
                if name.endswith("held out")
            },
        }
        WEIGHTS.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def cached(given: argparse.Namespace, name: str) -> CleanDatabase:
    path = given.cache / f"{name}.pickle" if given.cache else None
    if path and path.is_file():
        return pickle.loads(path.read_bytes())
    database = read_corpus(given.corpora, name, "spider")
    if path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(pickle.dumps(database))
    return database


if __name__ == "__main__":
    sys.exit(main())
