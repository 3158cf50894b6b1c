"""Copies found against copies that are known: python benchmarks/copies.py ENVIRONMENT TRUTH.tsv [--list]

Reads the `copies` of the environment's state, and a file with the columns `table`, `copy_of` and `kind` (`copy_of` is
empty for what is left over). Prints the share of copies found, how many have the right original (an original of the
original counts), how many the right kind, and which tables are called a copy though they are none: those that `--live`
(a file with the columns `table` and `kind`) calls real, else all that the truth does not name.
"""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Collection
from pathlib import Path

from coset.environment.configuration import load_environment
from coset.state import EvidenceState
from coset.state.read_model import ReadModel

Place = tuple[str, ...]


def place_of(name: str, only: Collection[Place] = ()) -> Place:
    """A name's parts, without a schema that is the only one of its source (`only`: source and schema)."""
    parts = tuple(part for part in re.split(r"[./]", name.strip().lower()) if part not in ("", "main"))
    return (parts[0], *parts[2:]) if len(parts) > 2 and parts[:2] in only else parts


def only_schemas(state: EvidenceState) -> set[Place]:
    """The sources that have a single schema, with it: a list of truths may leave it out."""
    schemas: dict[str, set[str]] = {}
    for reference in ReadModel(state).tables:
        source, *rest = reference.lower().split("/")
        schemas.setdefault(source, set()).add(rest[0] if len(rest) > 1 else "")
    return {(source, next(iter(found))) for source, found in schemas.items() if len(found) == 1}


def main(environment_path: Path, truth_path: Path, live_path: Path | None, listed: bool) -> None:
    environment = load_environment(environment_path / "coset.yaml")
    with EvidenceState.read(environment.state_folder) as state:
        copies, only = state.copies(), only_schemas(state)
    with truth_path.open(encoding="utf-8") as file:
        truth = {place_of(row["table"]): row for row in csv.DictReader(file, delimiter="\t")}
    live: set[Place] | None = None
    if live_path:
        with live_path.open(encoding="utf-8") as file:
            rows = csv.DictReader(file, delimiter="\t")
            live = {place_of(row["table"]) for row in rows if row["kind"] == "real"}
    found = {}
    for copy in copies:
        place = place_of(copy.table, only)
        pattern = re.compile(re.escape("/".join(place)).replace(r"\{\}", ".+"))
        members = [each for each in truth if "{}" in copy.table and pattern.fullmatch("/".join(each))]
        for each in members or [place]:
            found.setdefault(each, copy)
    hits = [place for place in truth if place in found]
    wrong = [place for place in found if place not in truth and (live is None or place in live)]
    with_original = [place for place in hits if truth[place]["copy_of"]]
    right = [place for place in with_original if is_right(found[place].original, truth[place]["copy_of"], truth, only)]
    kinds = sum(found[place].kind == truth[place]["kind"] for place in hits)
    whole = sum(bool(row["copy_of"]) for row in truth.values())
    print(
        f"{len(hits)} of {len(truth)} copies found: {len(hits) / len(truth):.3f}; of those with an original here "
        f"{len(with_original)} of {whole}: {len(with_original) / whole:.3f}\n"
        f"{len(right)} of {len(with_original)} have the right original, {kinds} of {len(hits)} the right kind\n"
        f"{len(wrong)} originals are called copies: {', '.join('.'.join(place) for place in wrong)}"
    )
    if listed:
        for place, row in truth.items():
            if place not in found:
                print("missed", ".".join(place), row["copy_of"], row["kind"], sep="\t")
            elif place in with_original and place not in right:
                print("other original", ".".join(place), row["copy_of"], found[place].original, sep="\t")


def is_right(found: str | None, wanted: str, truth: dict[Place, dict[str, str]], only: Collection[Place]) -> bool:
    seen: set[Place] = set()
    place = place_of(wanted)
    while found is not None and place not in seen:
        pattern = re.escape("/".join(place_of(found, only))).replace(r"\{\}", ".+")
        if re.fullmatch(pattern, "/".join(place)):
            return True
        seen.add(place)
        place = place_of(truth[place]["copy_of"]) if place in truth else place
    return False


if __name__ == "__main__":
    arguments = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    chosen = Path(sys.argv[sys.argv.index("--live") + 1]) if "--live" in sys.argv else None
    main(Path(arguments[0]), Path(arguments[1]), chosen, "--list" in sys.argv)
