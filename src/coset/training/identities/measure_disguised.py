"""Quality of the identities under disguised names: the same validation databases under four kinds of names.

In: a corpus, weights. Out: attribute and entity, top-1, top-3 and calibration error, for readable, abbreviated,
translated and numbered names, with what offline readers read and without. Needs no torch. By itself:
`python -m coset.training.identities.measure_disguised --corpus DIR [--weights DIR] [--part validation] [--seen FILE]`.
What the text encoders say is kept in the file `--seen`: weights with the same text encoders are measured in seconds
then.
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

import numpy as np

from coset.errors import CosetError, UserError
from coset.identities.inventory import COORDINATES
from coset.identities.model import IdentityModel, load_model
from coset.training.annotation import Key, Part
from coset.training.data.disguised_databases import MEASURED, Conditions, disguised_set
from coset.training.data.disguised_names import KINDS, Kind
from coset.training.data.labelled_objects import TrainingSet, read_training_set
from coset.training.identities.evaluate import Quality, quality
from coset.training.identities.stage import Prepared, seen_plainly, signals_of, weigh

SEED = "measured"
DOCUMENTED = Conditions(described=0.0, keys_told=1.0, documented=1.0)
"""As measured, and every table stands on a page of documentation with what it holds."""
WAYS: tuple[tuple[Kind, str, Conditions, float], ...] = (
    ("readable", "as it is", MEASURED, 0.0),
    *((kind, way, MEASURED, readings) for kind in KINDS[1:] for way, readings in (("names alone", 0.0), ("read", 1.0))),
    ("numbered", "read, tables documented", DOCUMENTED, 1.0),
)
Report = Callable[[str], None]


ABLATIONS: dict[str, dict[str, bool]] = {
    "the whole": {},
    "without opposition": {"opposition": False},
    "without support realisation (prior only)": {"support": False},
}


def figures_of(
    training: TrainingSet, prepared: Prepared, model: IdentityModel, part: Part, **flags: bool
) -> dict[str, Quality]:
    """The quality of each coordinate, every database realised by itself from its own signed evidence; and of the pairs
    that columns play, by the product of both profiles."""
    found: dict[str, Quality] = {}
    profiles: dict[str, np.ndarray] = {}
    for coordinate in COORDINATES:
        own = model.coordinates[coordinate]
        weighed = weigh(training, prepared, model.inventory, coordinate, own.labels, **flags)
        distance, targets = weighed.measured(part, own)
        profiles[coordinate] = own.profile(distance)
        found[coordinate] = quality(profiles[coordinate], targets)
    found["pair"] = _pairs(training, prepared, profiles, part)
    return found


def _pairs(training: TrainingSet, prepared: Prepared, profiles: dict[str, np.ndarray], part: Part) -> Quality:
    """Both coordinates of columns together. Rows of profiles stand database by database."""
    groups: dict[Key, list[int]] = {}
    for number, item in enumerate(training.objects):
        if item.part == part and prepared.targets["entity"][number] >= 0:
            groups.setdefault(item.label.database, []).append(number)
    order = [number for _, numbers in sorted(groups.items()) for number in numbers]
    columns = np.array([training.objects[number].label.attribute is not None for number in order])
    asked = np.array(order)[columns]
    entity, attribute = profiles["entity"][columns], profiles["attribute"]
    width = attribute.shape[1]
    both = (entity[:, :, None] * attribute[:, None, :]).reshape(len(asked), -1).astype(np.float32)
    return quality(both, prepared.targets["entity"][asked] * width + prepared.targets["attribute"][asked])


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


def measure(
    sets: Sequence[SeenSet], model: IdentityModel, part: Part, *, ablations: bool = False
) -> list[dict[str, Any]]:
    """All kinds of names, a row each. What labelers say is asked anew: they may be others than when it was kept."""
    rows = []
    for each in sets:
        prepared = replace(each.prepared, signals=signals_of(each.training, model.inventory))
        for name, flags in ABLATIONS.items():
            if name == "the whole" or ablations:
                found = figures_of(each.training, prepared, model, part, **flags)
                way = each.way if name == "the whole" else f"{each.way}; {name}"
                rows.append({"names": each.kind, "seen": way, **{key: asdict(one) for key, one in found.items()}})
    return rows


def as_table(rows: Sequence[dict[str, Any]]) -> str:
    """The figures as a table of the documentation."""
    names = (*COORDINATES, "pair")
    lines = [
        "| names | seen | " + " | ".join(f"{name} (calibration)" for name in names) + " |",
        "|---|---|---|---|---|",
    ]
    for row in rows:
        cells = [
            f"{row[name]['top_1']:.3f} / {row[name]['top_3']:.3f} ({row[name]['calibration_error']:.3f})"
            for name in names
        ]
        lines.append(f"| {row['names']} | {row['seen']} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m coset.training.identities.measure_disguised",
        description="Measure identities under disguised names.",
    )
    parser.add_argument("--corpus", type=Path, required=True, help="folder with the schemas")
    parser.add_argument("--weights", type=Path, help="folder of weights; else those that ship")
    parser.add_argument("--part", choices=("dev", "validation"), default="validation")
    parser.add_argument("--ablations", action="store_true", help="without opposition, and without realisation, too")
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
        rows = measure(sets, model, chosen.part, ablations=chosen.ablations)
    except CosetError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    if chosen.json:
        chosen.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    print(as_table(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
