"""Trains the identities further, on databases in disguise: stage 2 goes on from the weights that ship.

In: a corpus, a folder of weights, an output folder, a seed. Out: weights in the output folder: the text encoders as
they were, label models, encoders, priors and calibration anew. A third of what is learned from are databases as they
are, two thirds the same databases in disguise, most of them as offline readers read them. What a kind of names is worth
is said for dev databases, by which settings are chosen. By itself:
`python -m coset.training.identities.learn_disguised --corpus DIR --out DIR [--begin-with DIR] [--seed N]`.
"""

from __future__ import annotations

import argparse
import pickle
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path

import numpy as np
import torch

from coset.errors import CosetError, UserError
from coset.identities.encoder import Committee, Encoder, as_one
from coset.identities.inventory import COORDINATES, Coordinate, Inventory
from coset.identities.model import (
    TABLE_FILE,
    TEXT_FILE,
    VOCABULARY_FILE,
    WORDS_FILE,
    CoordinateModel,
    IdentityModel,
    load_model,
    save_model,
)
from coset.identities.prototypes import Prior
from coset.identities.signals import LabelModel, Signal, fit_label_model
from coset.training.data.disguised_databases import AS_IN_COMPANIES, disguised_set
from coset.training.data.labelled_objects import TrainingSet, read_training_set
from coset.training.identities.evaluate import best_calibration, quality
from coset.training.identities.fit import fit
from coset.training.identities.stage import Encoders, Prepared, own_signals, seen_plainly, weigh
from coset.training.settings import OF_ATTRIBUTES, OF_ENTITIES, FitSettings

Report = Callable[[str, float], None]
SEEN_FILE = "seen.pickle"
CALIBRATED_ON = {"plain": 1, "disguised": 1}
"""How often the dev databases of each kind count where the temperature is chosen."""


@dataclass(frozen=True)
class FurtherSettings:
    seed: int = 1
    written: int = 24
    """One in so many of the written databases."""
    one_in: int = 3
    """One in so many training databases is seen as it is, the next one in each of two disguises."""
    readings: float = 0.67
    epochs: int = 5
    rate: float = 7e-4


@dataclass(frozen=True)
class ObjectSet:
    """Objects with what the encoders and labelers say of them."""

    name: str
    training: TrainingSet
    prepared: Prepared


def sets_of(
    corpus: Path, encoders: Encoders, inventory: Inventory, settings: FurtherSettings, report: Report
) -> list[ObjectSet]:
    """A third of the databases as they are, the others in disguise."""
    training = read_training_set(corpus, inventory, written=settings.written)
    parts, third = ("train", "dev"), settings.one_in
    chosen = [("plain", disguised_set(training, "plain", kind="readable", parts=parts, one_in=third))]
    for number in range(2):
        hidden = disguised_set(
            training, f"further:{settings.seed}:{number}", parts=parts if number == 0 else ("train",),
            conditions=AS_IN_COMPANIES, readings=settings.readings, one_in=third, first=number + 1,
        )  # fmt: skip
        chosen.append(("disguised", hidden))
        report(f"disguise {number + 1} of 2: {len(hidden.objects):,} objects", 0.0)
    found = []
    for name, each in chosen:
        report(f"{name}: {len(each.objects):,} objects", 0.0)
        found.append(ObjectSet(name, each, seen_plainly(each, encoders, inventory)))
    return found


def learn_coordinate(
    sets: Sequence[ObjectSet],
    model: IdentityModel,
    coordinate: Coordinate,
    settings: FurtherSettings,
    report: Report,
    *,
    support: bool = True,
    opposition: bool = True,
    soft: bool = True,
) -> CoordinateModel:
    """One coordinate further: trust of labelers, encoders and prior, calibration."""
    before = model.coordinates[coordinate]
    count = len(model.inventory.of(coordinate))
    labels = fit_label_model(_train_signals(sets, coordinate, opposition), count)
    databases = [
        database
        for each in sets
        for database in weigh(
            each.training, each.prepared, model.inventory, coordinate, labels, support=support, opposition=opposition
        ).databases("train")
    ]
    chosen = replace(
        OF_ENTITIES if coordinate == "entity" else OF_ATTRIBUTES, epochs=settings.epochs, rate=settings.rate
    )
    if not soft:
        chosen = replace(chosen, objective=replace(chosen.objective, soft=0.0))
    members = [
        fit(databases, count, settings.seed + number, chosen, _named(report, f"{coordinate} {number + 1}"), begin)
        for number, begin in enumerate(_members(before, chosen))
    ]
    learned = replace(
        before,
        encoder=Committee(tuple(encoder for encoder, _ in members)),
        prior=Prior(*as_one([(prior.centres, prior.precisions) for _, prior in members])),
        labels=labels,
    )
    return calibrated(learned, sets, model.inventory, coordinate, support=support, opposition=opposition)


def calibrated(
    part: CoordinateModel, sets: Sequence[ObjectSet], inventory: Inventory, coordinate: Coordinate, **flags: bool
) -> CoordinateModel:
    """The same with the temperature that fits dev databases, as they are and in disguise."""
    found = [
        weigh(each.training, each.prepared, inventory, coordinate, part.labels, **flags).measured("dev", part)
        for each in sets
        if each.name in CALIBRATED_ON and each.training.part("dev")
        for _ in range(CALIBRATED_ON[each.name])
    ]
    distance, targets = (np.concatenate(list(each)) for each in zip(*found, strict=True))
    return replace(part, calibration=best_calibration(distance, part.settings.temperature, targets))


def _train_signals(sets: Sequence[ObjectSet], coordinate: Coordinate, opposition: bool) -> list[list[Signal]]:
    found = []
    for each in sets:
        own = own_signals(each.prepared, coordinate, opposition)
        found += [own[number] for number in each.training.part("train")]
    return found


def _members(part: CoordinateModel, settings: FitSettings) -> list[tuple[Encoder, Prior]]:
    """Each encoder of a committee with its own part of the prior."""
    members, width = part.encoder.members, settings.embedding
    size = np.sqrt(len(members))
    return [
        (member, Prior(part.prior.centres[:, n * width : (n + 1) * width] * size, part.prior.precisions))
        for n, member in enumerate(members)
    ]


def _named(report: Report, name: str) -> Report:
    return lambda text, share: report(f"{name}: {text}", share)


def trusts(labels: LabelModel) -> str:
    return ", ".join(
        f"{name} {'for' if supports else 'against'} {value:.2f}"
        for (name, supports), value in sorted(labels.accuracies.items())
    )


def dev_figures(sets: Sequence[ObjectSet], parts: dict[Coordinate, CoordinateModel], inventory: Inventory) -> list[str]:
    lines = []
    for each in sets:
        for coordinate, part in parts.items() if each.training.part("dev") else ():
            weighed = weigh(each.training, each.prepared, inventory, coordinate, part.labels)
            distance, targets = weighed.measured("dev", part)
            lines.append(f"dev, {each.name}, {coordinate}: {quality(part.profile(distance), targets)}")
    return lines


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m coset.training.identities.learn_disguised",
        description="Learn from disguises.",
    )
    parser.add_argument("--corpus", type=Path, required=True, help="folder with the schemas")
    parser.add_argument("--out", type=Path, required=True, help="folder for the weights")
    parser.add_argument("--begin-with", type=Path, help="folder of weights; else those that ship")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--one-in", type=int, default=FurtherSettings.one_in, help="training databases that take part")
    parser.add_argument("--written", type=int, default=FurtherSettings.written, help="one in so many written ones")
    parser.add_argument("--epochs", type=int, default=FurtherSettings.epochs)
    parser.add_argument("--rate", type=float, default=FurtherSettings.rate)
    chosen = parser.parse_args(arguments)
    settings = FurtherSettings(
        seed=chosen.seed, written=chosen.written, one_in=chosen.one_in, epochs=chosen.epochs, rate=chosen.rate
    )
    torch.set_num_threads(1)
    try:
        if not chosen.corpus.is_dir():
            raise UserError(f"'{chosen.corpus}' is no folder: --corpus names the folder with the schemas")
        begin = chosen.begin_with or Path(str(files("coset.identities").joinpath("weights")))
        model = load_model(folder=begin, threads=1)
        chosen.out.mkdir(parents=True, exist_ok=True)
        for file in (TEXT_FILE, TABLE_FILE, VOCABULARY_FILE, WORDS_FILE):
            shutil.copy(begin / file, chosen.out / file)
        learned = _learned(chosen.corpus, chosen.out, model, settings, lambda text, _: print(text, file=sys.stderr))
    except CosetError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    save_model(chosen.out, learned)
    return 0


def _learned(corpus: Path, out: Path, model: IdentityModel, settings: FurtherSettings, report: Report) -> IdentityModel:
    encoders = (model.text_encoder, model.table_encoder)
    if (out / SEEN_FILE).exists():
        sets: list[ObjectSet] = pickle.loads((out / SEEN_FILE).read_bytes())  # noqa: S301  (made by this program)
    else:
        sets = sets_of(corpus, encoders, model.inventory, settings, report)
        (out / SEEN_FILE).write_bytes(pickle.dumps(sets))
    for line in dev_figures(sets, model.coordinates, model.inventory):
        report(f"before: {line}", 0.0)
    parts: dict[Coordinate, CoordinateModel] = {}
    for coordinate in COORDINATES:
        parts[coordinate] = learn_coordinate(sets, model, coordinate, settings, report)
        report(f"{coordinate}: {trusts(parts[coordinate].labels)}", 1.0)
    for line in dev_figures(sets, parts, model.inventory):
        report(line, 1.0)
    return replace(model, coordinates=parts, name=f"{model.name}-disguised-{settings.seed}")


if __name__ == "__main__":
    sys.exit(main())
