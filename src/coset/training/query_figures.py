"""How good demand is on databases that were not trained on, and what the query prototypes mean.

In: demands, targets, weights. Out: figures and readable lines. Knows no torch.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coset.identities.inventory import COORDINATES, Coordinate
from coset.identities.prototypes import Array
from coset.routing.ranking.query_model import QueryModel
from coset.training.query_targets import QuestionSet

CUTS = (1, 3, 5, 10)
SHOWN_IDENTITIES, SHOWN_QUESTIONS = 3, 3


@dataclass(frozen=True)
class DemandQuality:
    """Figures of one coordinate over one part; every mean is weighted as in training (no database dominates)."""

    questions: int
    cross_entropy: float
    recall: dict[int, float]
    """The share of a question's gold identities among the first 1, 3, 5, 10 of its demand."""


def demand_quality(demand: Array, target: Array, weights: Array) -> DemandQuality:
    """Questions without a target do not count."""
    known = target.sum(axis=1) > 0
    if not known.any():
        return DemandQuality(0, float("nan"), {cut: float("nan") for cut in CUTS})
    demand, target, share = demand[known], target[known], weights[known] / weights[known].sum()
    loss = -(target * np.log(np.maximum(demand, 1e-300))).sum(axis=1)
    gold = target > 0
    ranked = np.take_along_axis(gold, np.argsort(-demand, axis=1, kind="stable"), axis=1)
    recall = {cut: float(share @ (ranked[:, :cut].sum(axis=1) / gold.sum(axis=1))) for cut in CUTS}
    return DemandQuality(int(known.sum()), float(share @ loss), recall)


def prior_demand(target: Array, weights: Array) -> Array:
    """What is asked for on average: the demand of someone who does not read the question."""
    total: Array = weights @ target + 1e-4
    return total / total.sum()


def prototype_use(requirements: Array, weights: Array) -> dict[str, float]:
    """How many prototypes are some question's nearest, and how many they are in effect (exp of the entropy of use)."""
    use = weights @ requirements / weights.sum()
    entropy = -float((use * np.log(np.maximum(use, 1e-300))).sum())
    return {
        "prototypes": requirements.shape[1],
        "live": len(np.unique(requirements.argmax(axis=1))),
        "effective": float(np.exp(entropy)),
        "mean_largest": float(requirements.max(axis=1).mean()),
    }


def meanings(
    model: QueryModel,
    questions: QuestionSet,
    rows: NDArray[np.int64],
    requirements: Array,
    names: dict[Coordinate, list[str]],
) -> list[str]:
    """One line per prototype, the most used first: the identities its questions demand beyond the average, and the
    training questions that require it most. `requirements` are those of `rows`."""
    demand = model.demand(requirements).identities
    weights = questions.weights[rows]
    nearest = requirements.argmax(axis=1)
    use = weights @ requirements
    lines = []
    for prototype in np.argsort(-use, kind="stable"):
        own = nearest == prototype
        if not own.any():
            continue
        parts = []
        for coordinate in COORDINATES:
            overall = weights @ demand[coordinate] / weights.sum()
            here = weights[own] @ demand[coordinate][own] / weights[own].sum()
            top = np.argsort(-here * np.log(here / overall), kind="stable")[:SHOWN_IDENTITIES]
            parts.append(", ".join(names[coordinate][identity] for identity in top))
        first = np.argsort(-requirements[:, prototype], kind="stable")[:SHOWN_QUESTIONS]
        asked = " / ".join(questions.questions[int(rows[number])].text.strip() for number in first)
        lines.append(f"{prototype}: {parts[0]} | {parts[1]} | {asked}")
    return lines
