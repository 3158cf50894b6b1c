"""How good the identities are where names do not speak: the same validation databases under four kinds of names.

In: a corpus, weights. Out: attribute and entity, top-1, top-3 and calibration error, for readable, abbreviated,
translated and numbered names, with what offline readers read and without. Needs no torch. By itself:
`python -m coset.training.disguised_figures --corpus DIR [--weights DIR] [--part validation]`.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from coset.errors import CosetError, UserError
from coset.identities.inventory import COORDINATES, Coordinate
from coset.identities.model import IdentityModel, load_model
from coset.training.disguised import MEASURED, Conditions, disguised_set
from coset.training.evaluate import Quality, quality
from coset.training.identity_stage import Prepared, seen_plainly, weigh
from coset.training.naming import KINDS, Kind
from coset.training.objects import TrainingSet, read_training_set

SEED = "measured"
DOCUMENTED = Conditions(described=0.0, keys_told=1.0, documented=1.0)
"""As measured, and every table stands on a page of documentation with what it holds."""
WAYS: tuple[tuple[Kind, str, Conditions, float], ...] = (
    ("readable", "as it is", MEASURED, 0.0),
    *((kind, way, MEASURED, readings) for kind in KINDS[1:] for way, readings in (("names alone", 0.0), ("read", 1.0))),
    ("numbered", "read, tables documented", DOCUMENTED, 1.0),
)
Report = Callable[[str], None]


def figures_of(training: TrainingSet, prepared: Prepared, model: IdentityModel, part: str) -> dict[str, Quality]:
    """The quality of each coordinate, every database realised by itself from its own signed evidence."""
    found: dict[str, Quality] = {}
    for coordinate in COORDINATES:
        own = model.coordinates[coordinate]
        distance, targets = weigh(training, prepared, model.inventory, coordinate, own.labels).measured(part, own)
        found[coordinate] = quality(own.profile(distance), targets)
    return found


def disguised_sets(training: TrainingSet, part: str) -> Iterator[tuple[str, str, TrainingSet]]:
    """The databases of a part under each kind of names."""
    for kind, way, conditions, readings in WAYS:
        found = disguised_set(
            training, SEED, kind=kind, parts=(part,), conditions=conditions, readings=readings, one_in=1
        )
        yield kind, way, found


def measure(training: TrainingSet, model: IdentityModel, part: str, report: Report) -> list[dict[str, Any]]:
    """All kinds of names, a row each."""
    rows = []
    for kind, way, hidden in disguised_sets(training, part):
        prepared = seen_plainly(hidden, (model.text_encoder, model.table_encoder), model.inventory)
        found = figures_of(hidden, prepared, model, part)
        rows.append({"names": kind, "seen": way, **{name: asdict(each) for name, each in found.items()}})
        report(f"{kind}, {way}: " + "; ".join(f"{name} {each}" for name, each in found.items()))
    return rows


def as_table(rows: Sequence[dict[str, Any]]) -> str:
    """The figures as a table of the documentation."""
    names: tuple[Coordinate, ...] = COORDINATES
    lines = ["| names | seen | " + " | ".join(f"{name} (calibration)" for name in names) + " |", "|---|---|---|---|"]
    for row in rows:
        cells = [
            f"{row[name]['top_1']:.3f} / {row[name]['top_3']:.3f} ({row[name]['calibration_error']:.3f})"
            for name in names
        ]
        lines.append(f"| {row['names']} | {row['seen']} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m coset.training.disguised_figures", description="Measure identities under disguised names."
    )
    parser.add_argument("--corpus", type=Path, required=True, help="folder with the schemas")
    parser.add_argument("--weights", type=Path, help="folder of weights; else those that ship")
    parser.add_argument("--part", choices=("dev", "validation"), default="validation")
    parser.add_argument("--json", type=Path, help="file for the figures")
    chosen = parser.parse_args(arguments)
    try:
        if not chosen.corpus.is_dir():
            raise UserError(f"'{chosen.corpus}' is no folder: --corpus names the folder with the schemas")
        model = load_model(folder=chosen.weights, threads=1)
        training = read_training_set(chosen.corpus, model.inventory, written=10_000)
        rows = measure(training, model, chosen.part, lambda text: print(text, file=sys.stderr))
    except CosetError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    if chosen.json:
        chosen.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    print(as_table(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
