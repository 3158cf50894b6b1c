"""How well the identities know a company's tables: entity and attribute of a drawn sample, against a judgement of what
the company's own truth says each means.

    python benchmarks/company_identities.py --environment DIR --judged benchmarks/company_identities/insurer.tsv
        [--weights DIR] [--without-readings]

In: a comprehended environment (a folder with `.coset`), judged objects (`name<TAB>entity<TAB>attribute`; `;` stands
between two identities where both are true). Out: top-1 and top-3 of both coordinates. 60 tables and 110 columns were
drawn at random from each company's `meanings.tsv` and judged from the meanings alone, before any result was looked at;
part of the insurer's were left out. The judge is a language model; nobody judged a second time.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

from coset.identities.inventory import COORDINATES, Inventory
from coset.identities.model import load_model
from coset.identities.realise import realise_environment
from coset.readings.observe import observe
from coset.state import EvidenceState


def names_of(reference: str) -> set[str]:
    """An object's reference as truth writes it: with its schema and without."""
    parts = reference.replace('"', "").split("/")
    schema = [".".join(parts)]
    return {schema[0].lower(), ".".join((parts[0], parts[-1])).lower()}


def judged(path: Path, inventory: Inventory) -> dict[str, dict[str, set[int]]]:
    found: dict[str, dict[str, set[int]]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        name, *told = line.split("\t")
        found[name.lower()] = {
            coordinate: {inventory.position(coordinate, each) for each in cell.split(";") if each}
            for coordinate, cell in zip(COORDINATES, told, strict=True)
        }
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--environment", type=Path, required=True)
    parser.add_argument("--judged", type=Path, required=True)
    parser.add_argument("--weights", type=Path)
    parser.add_argument("--without-readings", action="store_true")
    parser.add_argument("--show", action="store_true", help="every object with what it was taken for")
    chosen = parser.parse_args()
    model = load_model(folder=chosen.weights, threads=1)
    wanted = judged(chosen.judged, model.inventory)
    with EvidenceState.open(chosen.environment / ".coset") as state:
        environment = observe(state, with_readings=not chosen.without_readings)
    embedded, _, realised = realise_environment(environment, model)
    rows: dict[str, int] = {}
    for number, reference in enumerate(embedded.references):
        for name in names_of(reference) & wanted.keys():
            rows.setdefault(name, number)
    missing = sorted(wanted.keys() - rows.keys())
    for coordinate in COORDINATES:
        for kind, tables in (("tables", True), ("columns", False), ("all", None)):
            hits = []
            for name, number in rows.items():
                truth = wanted[name][coordinate]
                if truth and tables in (None, bool(embedded.is_table[number])):
                    order = np.argsort(-realised[coordinate].memberships[number], kind="stable")[:3].tolist()
                    hits.append((order[0] in truth, bool(truth & set(order))))
                    if chosen.show and tables is not None:
                        ids = [model.inventory.of(coordinate)[each].id for each in order]
                        print(coordinate, name, "right" if hits[-1][0] else "", ids)
            if hits:
                first, three = np.mean(hits, axis=0)
                print(f"{coordinate}, {kind}: {first:.3f} / {three:.3f} of {len(hits)}")
    if missing:
        print(f"not in the state: {', '.join(missing)}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
