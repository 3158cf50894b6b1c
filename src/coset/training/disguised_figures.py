"""How good the identities are where names do not speak: the same validation databases under four kinds of names.

In: a corpus, weights. Out: attribute and entity, top-1, top-3 and calibration error, for readable, abbreviated,
translated and numbered names, with what offline readers read and without. Needs no torch. By itself:
`python -m coset.training.disguised_figures --corpus DIR [--weights DIR] [--part validation] [--seen FILE]`. What the
text encoders say is kept in the file `--seen`: weights with the same text encoders are measured in seconds then.
"""

from __future__ import annotations

import argparse
import json
import pickle
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from coset.errors import CosetError, UserError
from coset.identities.inventory import COORDINATES, Coordinate
from coset.identities.model import IdentityModel, load_model
from coset.training.annotation import Part
from coset.training.disguised import MEASURED, Conditions, disguised_set
from coset.training.evaluate import Quality, quality
from coset.training.identity_stage import Prepared, seen_plainly, signals_of, weigh
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


def figures_of(training: TrainingSet, prepared: Prepared, model: IdentityModel, part: Part) -> dict[str, Quality]:
    """The quality of each coordinate, every database realised by itself from its own signed evidence."""
    found: dict[str, Quality] = {}
    for coordinate in COORDINATES:
        own = model.coordinates[coordinate]
        distance, targets = weigh(training, prepared, model.inventory, coordinate, own.labels).measured(part, own)
        found[coordinate] = quality(own.profile(distance), targets)
    return found


@dataclass(frozen=True)
class SeenSet:
    """The databases of a part under one kind of names, with what encoders and labelers say of them."""

    kind: Kind
    way: str
    training: TrainingSet
    prepared: Prepared


def seen_sets(training: TrainingSet, model: IdentityModel, part: Part, report: Report) -> list[SeenSet]:
    """The databases of a part under each kind of names."""
    found = []
    for kind, way, conditions, readings in WAYS:
        hidden = disguised_set(training, SEED, kind=kind, parts=(part,), conditions=conditions, readings=readings)
        prepared = seen_plainly(hidden, (model.text_encoder, model.table_encoder), model.inventory)
        found.append(SeenSet(kind, way, hidden, prepared))
        report(f"seen: {kind}, {way}")
    return found


def kept_sets(path: Path | None, make: Callable[[], list[SeenSet]]) -> list[SeenSet]:
    """What a file keeps, or what is made now and kept there."""
    if path is not None and path.exists():
        kept: list[SeenSet] = pickle.loads(path.read_bytes())  # noqa: S301  (made by this program)
        return kept
    found = make()
    if path is not None:
        path.write_bytes(pickle.dumps(found))
    return found


def measure(sets: Sequence[SeenSet], model: IdentityModel, part: Part) -> list[dict[str, Any]]:
    """All kinds of names, a row each. What labelers say is asked anew: they may be others than when it was kept."""
    rows = []
    for each in sets:
        prepared = replace(each.prepared, signals=signals_of(each.training, model.inventory))
        found = figures_of(each.training, prepared, model, part)
        rows.append({"names": each.kind, "seen": each.way, **{name: asdict(one) for name, one in found.items()}})
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
    parser.add_argument("--seen", type=Path, help="file that keeps what the text encoders say")
    parser.add_argument("--json", type=Path, help="file for the figures")
    chosen = parser.parse_args(arguments)
    try:
        if not chosen.corpus.is_dir():
            raise UserError(f"'{chosen.corpus}' is no folder: --corpus names the folder with the schemas")
        model = load_model(folder=chosen.weights, threads=1)
        sets = kept_sets(
            chosen.seen,
            lambda: seen_sets(
                read_training_set(chosen.corpus, model.inventory, written=10_000), model, chosen.part,
                lambda text: print(text, file=sys.stderr),
            ),
        )  # fmt: skip
        rows = measure(sets, model, chosen.part)
    except CosetError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    if chosen.json:
        chosen.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    print(as_table(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
