"""Relations found in environments with known joins: recall, precision, and every reported join that is not listed.

    python benchmarks/relations.py [../shared/environments] [--only NAME] [--list] [--json]
    python benchmarks/relations.py --dirty 6            # generated environments with known truth

A join counts as found whichever side is called left. Relations that only names propose (`inferred`) count too, for
recall and against precision. Unlisted ones are printed with their evidence, so that a person can judge them.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import yaml
from benchmarks.relations_loading import open_environment
from benchmarks.report import report

from coset.relations.joins import find_relations
from coset.state.objects import Relation

Side = tuple[str, str, str]
RECALL, PRECISION = 0.95, 0.85
TABLE_NAME = "<table name>"


def truth_of(environments: Path, name: str) -> list[tuple[Side, Side]]:
    lines = (environments / "relations.tsv").read_text(encoding="utf-8").splitlines()[1:]
    found = []
    for line in lines:
        environment, left, right, _ = line.split("\t")
        if environment == name:
            found.append((side_of_text(left), side_of_text(right)))
    return found


def side_of_text(text: str) -> Side:
    parts = text.lower().split(".")
    return (parts[0], TABLE_NAME, "") if len(parts) == 2 else (parts[0], parts[1], parts[2])


def side_of(relation: Relation, which: str) -> Side:
    reference = getattr(relation, which)[0]
    if not reference.path:
        return reference.source.lower(), TABLE_NAME, ""
    return reference.source.lower(), str(reference.table).lower(), reference.path[0].lower()


def configuration(folder: Path, work: Path) -> Path:
    """A `coset.yaml` for an environment in the layout of a `db_config.yaml`."""
    clients = yaml.safe_load((folder / "db_config.yaml").read_text(encoding="utf-8"))["db_clients"]
    sources = {}
    for name, settings in clients.items():
        location = folder / (settings.get("db_path") or settings.get("sql_file") or settings.get("dump_folder"))
        if not location.exists():
            packed = location.with_name(location.name + ".zst")
            location = work / location.name
            if not location.exists():
                subprocess.run(["zstd", "-q", "-d", str(packed), "-o", str(location)], check=True)
        sources[name] = {"location": str(location)}
    path = work / folder.name / "coset.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump({"sources": sources}), encoding="utf-8")
    return path


def shown(relation: Relation) -> str:
    left, right = (" + ".join(str(each) for each in side) for side in (relation.left, relation.right))
    return (
        f"    {left} -> {right}\n        {relation.kind}, {relation.provenance}, {relation.confidence:.2f}, "
        f"{relation.left_match.value:.1%} of the left, {relation.right_match.value:.1%} of the right, "
        f"{relation.cardinality}\n"
        f"        {relation.left_expression[:300]} = {relation.right_expression[:300]}\n"
        f"        {'; '.join(relation.reasons)}"
    )


def evaluate(environments: Path, names: list[str], show_all: bool, work: Path) -> None:
    total = {"truths": 0, "found": 0, "reported": 0, "right": 0}
    seconds = 0.0
    figures: dict[str, float | str] = {}
    for name in names:
        started = time.monotonic()
        connection, tables = open_environment(configuration(environments / name, work))
        loaded = time.monotonic() - started
        started = time.monotonic()
        relations = find_relations(connection, tables)
        spent = time.monotonic() - started
        connection.close()
        seconds += spent
        truths = {frozenset(pair) for pair in truth_of(environments, name)}
        pairs = [frozenset((side_of(each, "left"), side_of(each, "right"))) for each in relations]
        found, right = truths & set(pairs), [pair in truths for pair in pairs]
        print(f"{name}: {len(found)} of {len(truths)} found, {sum(right)} of {len(pairs)} reported are listed, "
              f"{spent:.1f} s (and {loaded:.1f} s to read)")  # fmt: skip
        for pair in sorted(map(sorted, truths - found)):
            print("  MISSED", " -> ".join(".".join(side) for side in pair))
        for relation, listed in zip(relations, right, strict=True):
            if not listed or show_all:
                print("  listed" if listed else "  UNLISTED")
                print(shown(relation))
        total["truths"] += len(truths)
        total["found"] += len(found)
        total["reported"] += len(pairs)
        total["right"] += sum(right)
    recall, precision = total["found"] / max(1, total["truths"]), total["right"] / max(1, total["reported"])
    figures |= {"recall": recall, "precision": precision, **{k: str(v) for k, v in total.items()}, "seconds": seconds}
    met = recall >= RECALL and precision >= PRECISION
    report(
        "relations",
        figures,
        f"recall at least {RECALL}, precision at least {PRECISION} with all unlisted ones wrong",
        met,
    )


def evaluate_dirty(count: int, first: int, work: Path, show_all: bool) -> None:
    """Generated companies: declared and split joins must be found; implied ones may be."""
    from benchmarks.dirty_environment import make_company, make_dirty_environment
    from benchmarks.relations_training import truth_pairs

    total = {"truths": 0, "found": 0, "reported": 0, "right": 0}
    for seed in range(first, first + count):
        dirt = ("light", "medium", "heavy")[seed % 3]
        folder = work / f"company{seed}"
        truth = make_dirty_environment(make_company(seed), folder, seed=seed, dirt=dirt)
        connection, tables = open_environment(folder / "coset.yaml")
        started = time.monotonic()
        relations = find_relations(connection, tables)
        spent = time.monotonic() - started
        connection.close()
        wanted, further = truth_pairs(truth, tables)
        true = {frozenset(pair) for pair in wanted}
        allowed = true | {frozenset(pair) for pair in further}
        pairs = [
            frozenset(
                (side.source, str(side.table), side.path[0] if side.path else "*table name*")
                for side in (each.left[0], each.right[0])
            )
            for each in relations
            if len(each.left) == 1
        ]
        found = true & set(pairs)
        print(f"company {seed} ({dirt}): {len(found)} of {len(true)} found, "
              f"{sum(pair in allowed for pair in pairs)} of {len(pairs)} reported are true, {spent:.1f} s")  # fmt: skip
        if show_all:
            kinds = {frozenset((place(j.left), place(j.right))): j for j in truth.joins if len(j.left.columns) == 1}
            for pair in sorted(map(sorted, true - set(pairs))):
                join = kinds.get(frozenset(pair))
                print(
                    "  MISSED",
                    pair,
                    join and (join.kind, join.left_counts.match_share, join.left.written_as, join.right.written_as),
                )
            for each, pair in zip([r for r in relations if len(r.left) == 1], pairs, strict=True):
                if pair not in allowed:
                    print("  WRONG\n" + shown(each))
        total["truths"] += len(true)
        total["found"] += len(found)
        total["reported"] += len(pairs)
        total["right"] += sum(pair in allowed for pair in pairs)
    recall, precision = total["found"] / max(1, total["truths"]), total["right"] / max(1, total["reported"])
    # There is no bar for these, so nothing is said to be met.
    report("relations of generated environments", {"recall": recall, "precision": precision, **total})


def place(side) -> tuple[str, str, str]:
    return side.source, side.tables[0], "*table name*" if side.columns[0] == "_table_value" else side.columns[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    shared = Path(__file__).parents[2] / "shared" / "environments"
    parser.add_argument("environments", nargs="?", type=Path, default=shared)
    parser.add_argument("--only", action="append", help="one environment; may be given again")
    parser.add_argument("--list", action="store_true", help="print every relation, not only the unlisted ones")
    parser.add_argument("--dirty", type=int, default=0, help="evaluate on so many generated environments instead")
    parser.add_argument("--seed", type=int, default=100, help="the first seed of the generated environments")
    parser.add_argument("--work", type=Path, help="a folder to keep unpacked files in")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        work = given.work or Path(temporary)
        work.mkdir(parents=True, exist_ok=True)
        if given.dirty:
            evaluate_dirty(given.dirty, given.seed, Path(temporary), given.list)
            return
        names = sorted(path.parent.name for path in given.environments.glob("*/db_config.yaml"))
        evaluate(given.environments, [name for name in names if not given.only or name in given.only], given.list, work)


if __name__ == "__main__":
    main()
