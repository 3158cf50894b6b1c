"""Stage 3: the query model, from the corpora's questions and the identities of the columns that their queries read.

In: a training set, questions, a trained identity model. Out: a `QueryModel` and figures on databases that were not
trained on. Deterministic under its seed. By itself: `python -m coset.training.routing.query_stage --corpus DIR
--weights DIR --out DIR` makes `query.safetensors` again for the routing encoder in a folder of weights.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from coset.errors import CosetError, UserError
from coset.identities.inventory import COORDINATES, Coordinate, Inventory
from coset.identities.model import VOCABULARY_FILE, WORDS_FILE, IdentityModel, load_model
from coset.identities.prototypes import Array
from coset.identities.text_encoder import TextEncoder
from coset.routing.ranking.model import ENCODER_FILE, encoder_name
from coset.routing.ranking.query_model import QueryModel, question_vectors
from coset.training.data.corpora import Question, read_questions
from coset.training.data.labelled_objects import TrainingSet, read_training_set
from coset.training.routing.query_fit import (
    QuerySettings,
    Unfactorised,
    fit_compatibility,
    fit_projection,
    place_prototypes,
    taught_demands,
)
from coset.training.routing.query_targets import (
    DemandQuality,
    QuestionSet,
    demand_quality,
    home_of_question,
    meanings,
    prior_demand,
    prototype_use,
    read_targets,
)

__all__ = ["QuerySettings", "main", "readable", "train_queries"]
Report = Callable[[str, float], None]
FIGURES = "query_figures.json"
CHUNK = 500


def train_queries(
    training: TrainingSet,
    questions: Iterable[Question],
    text_encoder: TextEncoder,
    inventory: Inventory,
    identity_model: IdentityModel,
    seed: int,
    settings: QuerySettings,
    report: Report,
) -> tuple[QueryModel, dict[str, Any]]:
    """The query model, and its figures on dev and validation databases."""
    asked = read_targets(training, questions, identity_model, settings.cap, report)
    vectors = _vectors(asked, text_encoder, report)
    train = asked.rows("train")
    weights, targets = asked.weights[train], {name: target[train] for name, target in asked.targets.items()}
    unfactorised = fit_projection(vectors[train], weights, targets, seed, settings, report)
    projection = unfactorised.projection.as_numpy()
    embedded = projection.project(vectors[train].astype(np.float64))
    report("query prototypes", 0.6)
    prototypes, nearness = place_prototypes(embedded, weights, settings.prototypes, seed)
    model = QueryModel(
        projection,
        prototypes,
        settings.softness * nearness,
        {name: np.zeros((len(prototypes), len(inventory.of(name)))) for name in COORDINATES},
        {name: inventory.ids(name) for name in COORDINATES},
        identity_model.name,
    )
    requirements = model.profile(embedded)
    taught = taught_demands(unfactorised, vectors[train])
    for name in COORDINATES:
        report(f"query compatibility, {name}", 0.8)
        # The head's demands are smoother than the gold of one question: what M learns from them transfers better.
        known = targets[name].sum(axis=1, keepdims=True) > 0
        model.compatibility[name][:] = fit_compatibility(requirements, weights, taught[name] * known, settings)
    return model, _figures(model, unfactorised, asked, vectors, requirements, inventory, seed, settings)


def _vectors(asked: QuestionSet, text_encoder: TextEncoder, report: Report) -> NDArray[np.float32]:
    """One text at a time, as when somebody asks, but on all cores."""
    texts = [question.text for question in asked.questions]
    chunks = [texts[begin : begin + CHUNK] for begin in range(0, len(texts), CHUNK)]
    found = []
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for number, vectors in enumerate(pool.map(lambda chunk: question_vectors(chunk, text_encoder), chunks)):
            report(f"encoding questions, {number * CHUNK:,} of {len(texts):,}", 0.4 * number / len(chunks))
            found.append(vectors)
    return np.concatenate(found)


def _figures(
    model: QueryModel,
    unfactorised: Unfactorised,
    asked: QuestionSet,
    vectors: NDArray[np.float32],
    requirements: Array,
    inventory: Inventory,
    seed: int,
    settings: QuerySettings,
) -> dict[str, Any]:
    train = asked.rows("train")
    names: dict[Coordinate, list[str]] = {name: [each.id for each in inventory.of(name)] for name in COORDINATES}
    figures: dict[str, Any] = {
        "seed": seed,
        "settings": asdict(settings),
        "temperature": model.temperature,
        "prototypes": prototype_use(requirements, asked.weights[train]),
        "meanings": meanings(model, asked, train, requirements, names),
    }
    for part in ("train", "dev", "validation"):
        rows = asked.rows(part)
        homes = {home_of_question(asked.questions[int(row)]) for row in rows}
        found: dict[str, Any] = {"questions": len(rows), "databases": len(homes)}
        if len(rows):
            ceiling = taught_demands(unfactorised, vectors[rows])
            own = model.demand(model.requirements(vectors[rows])).identities
            for name in COORDINATES:
                prior = np.broadcast_to(prior_demand(asked.targets[name][train], asked.weights[train]), own[name].shape)
                kinds = {"demand": own[name], "prior": prior, "unfactorised": ceiling[name]}
                found[name] = {
                    kind: asdict(demand_quality(value, asked.targets[name][rows], asked.weights[rows]))
                    for kind, value in kinds.items()
                }
        figures[part] = found
    return figures


def readable(figures: dict[str, Any]) -> str:
    """The figures as lines for a terminal."""
    lines = []
    for part in ("dev", "validation"):
        for name in COORDINATES:
            for kind, values in figures[part].get(name, {}).items():
                quality = DemandQuality(**values)
                recall = ", ".join(f"@{cut} {share:.3f}" for cut, share in quality.recall.items())
                lines.append(
                    f"{part} {name} {kind}: cross-entropy {quality.cross_entropy:.3f}, recall {recall} "
                    f"({quality.questions} questions)"
                )
    use = figures["prototypes"]
    lines.append(f"{use['live']} of {use['prototypes']} prototypes live, {use['effective']:.1f} in effect")
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m coset.training.routing.query_stage",
        description="Make the query weights.",
    )
    parser.add_argument("--corpus", type=Path, required=True, help="folder with schemas and questions")
    parser.add_argument("--weights", type=Path, required=True, help="folder with the routing encoder")
    parser.add_argument("--out", type=Path, required=True, help="folder for query.safetensors and its figures")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--prototypes", type=int, default=QuerySettings.prototypes)
    chosen = parser.parse_args(arguments)
    torch.set_num_threads(1)
    try:
        if not chosen.corpus.is_dir():
            raise UserError(f"'{chosen.corpus}' is no folder: --corpus names the folder with the schemas and questions")
        identity_model = load_model(threads=1)
        name = encoder_name(chosen.weights)
        shared = Path(str(files("coset.identities").joinpath("weights")))
        encoder = TextEncoder(chosen.weights / ENCODER_FILE, shared / VOCABULARY_FILE, shared / WORDS_FILE, threads=1)
        training = read_training_set(chosen.corpus, identity_model.inventory)
        model, figures = train_queries(
            training, read_questions(chosen.corpus), encoder, identity_model.inventory,
            identity_model, chosen.seed, QuerySettings(prototypes=chosen.prototypes),
            lambda text, share: print(text, file=sys.stderr),
        )  # fmt: skip
        replace(model, made_with=name).save(chosen.out, identity_model.inventory)
    except CosetError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    (chosen.out / FIGURES).write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    print(readable(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
