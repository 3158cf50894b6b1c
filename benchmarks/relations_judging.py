"""Learn by what joins are judged once roles and readings are known, and say how well the likelihoods are calibrated.

    python benchmarks/relations_pools.py ../shared/corpora POOLS
    python benchmarks/relations_judging.py --pools POOLS --company ENVIRONMENT TRUTH [--company ...] [--write]
    python benchmarks/relations_judging.py --pools POOLS --company A TRUTH_A --test B TRUTH_B   # A and pools teach

Every environment must be comprehended as far as its roles. Pools have all their declared keys as truth (`joins.json`);
a company has `relations.tsv`, which is not complete: of pairs that the list lacks, those between columns of the same
meaning teach nothing. Figures for pools are cross-fitted by pool. A logistic regression by Newton's method; a feature
that speaks for a join never counts against it.
"""

from __future__ import annotations

import argparse
import csv
import json
import pickle
import re
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np

from coset.environment.source import Column
from coset.relations.copies import copies_with_originals
from coset.relations.joins.column_values import JoinableTable
from coset.relations.joins.features import Candidate
from coset.relations.joins.find import judged_candidates
from coset.relations.joins.judging import JUDGED, Background, Sides, features_of
from coset.relations.joins.memory import JoinMemory
from coset.relations.joins.selection import Scored, choose
from coset.state import EvidenceState
from coset.state.joins import JoinTables, profiles, read_names, written_joins
from coset.state.objects import Reference
from coset.state.read_model import ReadModel

WEIGHTS = Path(__file__).parents[1] / "src/coset/relations/joins/judging.json"
FOR = frozenset((
    "containment", "coverage", "right_is_main", "left_key", "right_key", "keys_meet", "same_attribute", "same_entity",
    "entity_of_table", "meaning", "means_table", "said", "said_lead", "bits", "hub", "same_things", "collects_keys",
    "telling_keys", "own_table", "same_serials", "prefix", "proposed", "proven", "proven_agreed", "same_source",
    "tightest", "few_rivals", "equal", "telling_each", "said_in_source", "keys_in_source",
))  # fmt: skip
AGAINST = frozenset((
    "left_is_key", "piece", "measure_meets_key", "description_meets_key", "measures_meet", "descriptions_meet",
    "chance", "chance_unsaid", "unsaid",
))  # fmt: skip
RIDGE = 3.0
FALSE_PART = 5


@dataclass
class Case:
    """An environment: its candidates with features, and for each whether it holds (None: nobody knows)."""

    name: str
    candidates: list[Candidate]
    sides: list[Sides]
    features: np.ndarray
    labels: list[bool | None]
    truths: int

    @property
    def weight(self) -> float:
        return 8.0 if not self.name[:2].isdigit() else 1.0


def opened(environment: Path) -> tuple[list[Candidate], list[Sides], np.ndarray]:
    """The candidates of a comprehended environment; its state is copied, since opening one may write."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(environment / ".coset" / "state.duckdb", folder)
        with EvidenceState.open(Path(folder)) as state:
            copies = copies_with_originals(state)
            model = ReadModel(state)
            tables = [
                JoinableTable(
                    Reference(row.source, row.schema_name, row.name), "", tuple(
                        Column(each.name, each.type, each.name, each.native_type)
                        for each in model.columns_of[reference]
                    ), row.held_rows, tuple(row.primary_key or ()),
                )
                for reference, row in sorted(model.tables.items())
                if reference in model.columns_of and reference not in copies
            ]  # fmt: skip
            memory = JoinMemory(JoinTables.of(state))
            candidates, sides = judged_candidates(memory, tables, memory.columns(tables))
            background = Background(
                profiles(state, "attribute"), profiles(state, "entity"), read_names(state), written_joins(state)
            )
            return candidates, sides, features_of(candidates, sides, background)


def pool(folder: Path) -> Case:
    truth = json.loads((folder / "joins.json").read_text(encoding="utf-8"))
    joins = {frozenset(pair) for pair in truth["joins"]}
    directed = {tuple(pair) for pair in truth["joins"]}
    same = {member: number for number, members in enumerate(truth["same"]) for member in members}
    candidates, sides, features = opened(folder)
    labels: list[bool | None] = []
    for side in sides:
        if (side.left, side.right) in directed:
            labels.append(True)
        elif frozenset((side.left, side.right)) in joins or same.get(side.left, -1) == same.get(side.right, -2):
            labels.append(None)
        else:
            labels.append(False)
    return Case(folder.name, candidates, sides, features, labels, len(joins))


def cached(folder: Path) -> Case:
    """What was seen of a pool the last time, or is seen now."""
    path, digest = folder / "case.pickle", repr((JUDGED, Sides._fields))
    if path.exists():
        known, case = pickle.loads(path.read_bytes())
        if known == digest:
            return case
    case = pool(folder)
    path.write_bytes(pickle.dumps((digest, case)))
    return case


def flat(name: str) -> tuple[str, ...]:
    return tuple(part for part in re.split(r"[./]", name.lower().replace("[]", "")) if part)


def company(environment: Path, truth: Path) -> Case:
    with (truth / "relations.tsv").open(encoding="utf-8") as lines:
        rows = [list(row.values()) for row in csv.DictReader(lines, delimiter="\t")]
    gold = [(flat(row[0]), flat(row[1])) for row in rows]
    parent: dict[tuple[str, ...], tuple[str, ...]] = {}

    def root(item: tuple[str, ...]) -> tuple[str, ...]:
        while parent.setdefault(item, item) != item:
            item = parent[item]
        return item

    for left, right in gold:
        parent[root(left)] = root(right)
    known = {item for pair in gold for item in pair}
    pairs = {frozenset(pair) for pair in gold}
    candidates, sides, features = opened(environment)
    labels: list[bool | None] = []
    for row, side in zip(features, sides, strict=True):
        left, right = _named(side.left, known), _named(side.right, known)
        if frozenset((left, right)) in pairs:
            labels.append(True)
        elif left in known and right in known and root(left) == root(right):
            labels.append(None)  # It holds, but goes round the key that both refer to.
        else:
            labels.append(None if _may_hold(row) else False)
    return Case(environment.name, candidates, sides, features, labels, len(gold))


def _named(reference: str, known: set[tuple[str, ...]]) -> tuple[str, ...]:
    """A column as the truth calls it, where schemas of sources that have one alone are left out."""
    name = flat(reference)
    return name if name in known or (name[0], *name[2:]) not in known else (name[0], *name[2:])


def _may_hold(row: np.ndarray) -> bool:
    """Whether a pair that the truth lacks may well hold: it is called alike and nearly all of it is found."""
    value = dict(zip(JUDGED, row, strict=True))
    return bool(value["containment"] >= 0.9 and value["said"] >= 0.75 and value["right_is_main"])


def fit(cases: list[Case]) -> tuple[float, np.ndarray]:
    out: set[int] = set()
    while True:
        constant, weights = newton(cases, out)
        wrong = [
            (abs(weight), place)
            for place, (name, weight) in enumerate(zip(JUDGED, weights, strict=True))
            if (name in FOR and weight < 0) or (name in AGAINST and weight > 0)
        ]
        if not wrong:
            return constant, weights
        largest = max(wrong)[0]
        out |= {place for weight, place in wrong if weight >= largest / 1.2}


def newton(cases: list[Case], out: set[int], rounds: int = 25) -> tuple[float, np.ndarray]:
    rows, labels, weights = [], [], []
    for case in cases:
        # Of the many that do not hold, one in a few teaches as much.
        chosen = [
            place
            for place, label in enumerate(case.labels)
            if label or (label is False and (place % FALSE_PART == 0 or case.features[place][0] >= 0.8))
        ]
        part = [1.0 if case.labels[place] or case.features[place][0] >= 0.8 else FALSE_PART for place in chosen]
        rows.append(case.features[chosen])
        labels.append(np.array([float(bool(case.labels[place])) for place in chosen]))
        weights.append(case.weight * np.array(part))
    x, y, w = np.vstack(rows), np.concatenate(labels), np.concatenate(weights)
    x = np.hstack([np.ones((len(x), 1)), x])
    beta = np.zeros(x.shape[1])
    penalty = np.full(x.shape[1], RIDGE)
    penalty[0] = 1e-6
    penalty[[place + 1 for place in out]] = 1e9
    for _ in range(rounds):
        p = 1 / (1 + np.exp(-np.clip(x @ beta, -30, 30)))
        gradient = x.T @ (w * (y - p)) - penalty * beta
        hessian = (x * (w * p * (1 - p))[:, None]).T @ x + np.diag(penalty)
        step = np.linalg.solve(hessian, gradient)
        beta += step
        if np.abs(step).max() < 1e-3:
            break
    beta[[place + 1 for place in out]] = 0.0
    return float(beta[0]), beta[1:]


def scored(case: Case, fitted: tuple[float, np.ndarray]) -> list[Scored]:
    p = 1 / (1 + np.exp(-np.clip(fitted[0] + case.features @ fitted[1], -30, 30)))
    return [Scored(each, float(value)) for each, value in zip(case.candidates, p, strict=True)]


Outcome = tuple[float, bool | None]


def outcome(case: Case, fitted: tuple[float, np.ndarray], least: float, wrong: bool) -> tuple[list[Outcome], int]:
    """The joins chosen, each with its likelihood and whether it holds, and how many truths are among them."""
    places = {(each.left.number, each.right.number): place for place, each in enumerate(case.candidates)}
    shown: list[Outcome] = []
    found: set[frozenset[str]] = set()
    for each in choose(scored(case, fitted), least):
        place = places[each.candidate.left.number, each.candidate.right.number]
        shown.append((each.likelihood, case.labels[place]))
        side = case.sides[place]
        back = places.get((each.candidate.right.number, each.candidate.left.number))
        if case.labels[place] or (case.labels[place] is None and back is not None and case.labels[back]):
            found.add(frozenset((side.left, side.right)))
        if wrong and case.labels[place] is not True:
            print(f"  {each.likelihood:.2f} {'?' if case.labels[place] is None else 'wrong'} {side.left} {side.right}")
    return shown, len(found)


def told(title: str, shown: list[Outcome], found: int, truths: int) -> None:
    known = [label for _, label in shown]
    bound = sum(label is True for label in known) / max(1, len(known))
    right = sum(label is not False for label in known) / max(1, len(known))
    print(
        f"{title}: recall {found / max(1, truths):.3f} of {truths}, "
        f"precision {bound:.3f} to {right:.3f} of {len(known)}"
    )


def reliability(shown: list[Outcome]) -> None:
    print("| shown at | joins | hold, at least | hold, with those nobody lists |\n|---|---|---|---|")
    for low, high in ((0.5, 0.6), (0.6, 0.7), (0.7, 0.8), (0.8, 0.9), (0.9, 0.95), (0.95, 1.01)):
        part = [label for likelihood, label in shown if low <= likelihood < high]
        if part:
            sure = sum(label is True for label in part) / len(part)
            perhaps = sum(label is not False for label in part) / len(part)
            print(f"| {low:.2f} to {min(high, 1):.2f} | {len(part)} | {sure:.2f} | {perhaps:.2f} |")


def cross_fitted(pools: list[Case], companies: list[Case], least: float, folds: int) -> None:
    numbers = sorted({case.name.split("-")[0] for case in pools})
    shown: dict[str, list[Outcome]] = {"plain": [], "cryptic": []}
    counts = {style: [0, 0] for style in shown}
    for fold in range(folds):
        out = set(numbers[fold::folds])
        fitted = fit([case for case in pools if case.name.split("-")[0] not in out] + companies)
        for case in pools:
            if case.name.split("-")[0] in out:
                style = case.name.split("-")[1]
                one, right = outcome(case, fitted, least, False)
                shown[style] += one
                counts[style][0] += right
                counts[style][1] += case.truths
    for style, each in shown.items():
        told(f"pools, {style}, cross-fitted", each, *counts[style])
    reliability([one for each in shown.values() for one in each])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pools", type=Path)
    parser.add_argument("--company", nargs=2, type=Path, action="append", default=[], metavar=("ENVIRONMENT", "TRUTH"))
    parser.add_argument("--test", nargs=2, type=Path, action="append", default=[], metavar=("ENVIRONMENT", "TRUTH"))
    parser.add_argument("--least", type=float, default=0.5)
    parser.add_argument("--folds", type=int, default=4)
    parser.add_argument("--list", action="store_true", help="print what is shown and not known to hold")
    parser.add_argument("--write", action="store_true", help=f"replace {WEIGHTS.name}")
    given = parser.parse_args()
    pools = [cached(folder) for folder in sorted(given.pools.iterdir()) if (folder / ".coset").exists()]
    pools = [case for case in pools if case.candidates]
    companies = [company(*each) for each in given.company]
    cross_fitted(pools, companies, given.least, given.folds)
    fitted = fit(pools + companies)
    for case in (*companies, *(company(*each) for each in given.test)):
        one, right = outcome(case, fitted, given.least, given.list)
        told(f"{case.name}{' (taught)' if case in companies else ''}", one, right, case.truths)
        reliability(one)
    for name, weight in sorted(zip(JUDGED, fitted[1], strict=True), key=lambda item: -abs(item[1])):
        print(f"  {name:22} {weight:7.2f}")
    if given.write:
        content = {
            "made_by": "python benchmarks/relations_judging.py --pools POOLS --company ENVIRONMENT TRUTH --write",
            "constant": round(fitted[0], 3),
            "weights": {name: round(float(weight), 3) for name, weight in zip(JUDGED, fitted[1], strict=True)},
        }
        WEIGHTS.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
