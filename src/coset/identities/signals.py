"""Signals: single reasons for or against "this object plays this identity", and how far each labeler is trusted.

In: labelers make signals, each with its words; an abstention is no signal. Out: for each labeler an accuracy for its
support and one for its opposition, and for each object a posterior over identities. A labeler's word is partial.
Support says "the truth is among these": with accuracy a it lies there, evenly, and else evenly among the rest.
Opposition says "it is none of these": it multiplies their odds by (1 - a) / a. Accuracies are fitted by expectation
maximisation over unlabelled objects (Dawid and Skene's idea with partial votes), and opposition is never taken for
support.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coset.identities.inventory import Coordinate, Inventory, Lexicon
from coset.identities.prototypes import Array
from coset.readings.observed import ObservedColumn, ObservedEnvironment, ObservedTable


@dataclass(frozen=True)
class Signal:
    """One labeler's word on one object: the truth is among these identities (support), or is none of them
    (opposition).
    """

    labeler: str
    coordinate: Coordinate
    identities: tuple[int, ...]
    supports: bool
    reason: str


@dataclass(frozen=True)
class Look:
    """An object with its surroundings, as a labeler sees it. `column` is None for the table itself."""

    inventory: Inventory
    lexicon: Lexicon
    environment: ObservedEnvironment
    table: ObservedTable
    column: ObservedColumn | None
    position: int

    def attributes(self, *ids: str) -> tuple[int, ...]:
        return tuple(self.inventory.position("attribute", identity) for identity in ids)


@dataclass(frozen=True)
class Labeler:
    """A small named function with one line on what it looks at."""

    name: str
    meaning: str
    look: Callable[[Look], Iterator[Signal]]


START_ACCURACY, LEAST, MOST = 0.8, {True: 0.02, False: 0.5}, 0.98
PSEUDO = 8.0
"""The weight, in objects, of the belief that a labeler is as good as it starts."""


@dataclass(frozen=True)
class LabelModel:
    """Accuracies by (labeler, supports)."""

    accuracies: dict[tuple[str, bool], float]

    def accuracy(self, signal: Signal) -> float:
        return self.accuracies.get((signal.labeler, signal.supports), START_ACCURACY)

    def posterior(self, signals: Sequence[Signal], identities: int, prior: Array | None = None) -> Array:
        """What the signals say together of one object in one coordinate, from `prior` or else from no preference."""
        scores = np.zeros(identities) if prior is None else np.log(np.maximum(prior, 1e-12))
        for signal in signals:
            scores += self._scores(signal, identities)
        scores -= scores.max()
        weights = np.exp(scores)
        result: Array = weights / weights.sum()
        return result

    def _scores(self, signal: Signal, identities: int) -> Array:
        accuracy = self.accuracy(signal)
        named = list(signal.identities)
        if signal.supports:
            result = np.full(identities, np.log((1 - accuracy) / max(1, identities - len(named))))
            result[named] = np.log(accuracy / len(named))
        else:
            result = np.zeros(identities)
            result[named] = np.log((1 - accuracy) / accuracy)
        return result


def fit_label_model(objects: Sequence[Sequence[Signal]], identities: int, rounds: int = 15) -> LabelModel:
    """Learn the accuracies from how the labelers agree over many objects of one coordinate."""
    names = sorted({(signal.labeler, signal.supports) for signals in objects for signal in signals})
    model = LabelModel(dict.fromkeys(names, START_ACCURACY))
    voted = [signals for signals in objects if len(signals) > 1]
    prior = np.full(identities, 1 / identities)
    for _ in range(rounds):
        right = dict.fromkeys(names, PSEUDO * START_ACCURACY)
        seen = dict.fromkeys(names, PSEUDO)
        total = np.full(identities, 1.0)
        for signals in voted:
            posterior = model.posterior(signals, identities, prior)
            total += posterior
            for signal in signals:
                mass = float(posterior[list(signal.identities)].sum())
                right[(signal.labeler, signal.supports)] += mass if signal.supports else 1 - mass
                seen[(signal.labeler, signal.supports)] += 1
        model = LabelModel({name: float(np.clip(right[name] / seen[name], LEAST[name[1]], MOST)) for name in names})
        prior = total / total.sum()
    return model


def signed_evidence(
    objects: Sequence[Sequence[Signal]], identities: int, model: LabelModel
) -> tuple[Array, Array, NDArray[np.bool_]]:
    """omega+ and omega- (objects x identities), and which objects any labeler spoke of.

    With p the posterior and h its confidence (1 - normalised entropy): omega+ = h p and omega- = h (1 - p). Where all
    abstain both are zero.
    """
    supporting, opposing = np.zeros((len(objects), identities)), np.zeros((len(objects), identities))
    spoken = np.array([bool(signals) for signals in objects])
    for number, signals in enumerate(objects):
        if not signals:
            continue
        posterior = model.posterior(signals, identities)
        entropy = -(posterior * np.log(np.maximum(posterior, 1e-300))).sum() / np.log(max(2, identities))
        confidence = max(0.0, 1.0 - float(entropy))
        supporting[number], opposing[number] = confidence * posterior, confidence * (1 - posterior)
    return supporting, opposing, spoken


def labeler_table(
    objects: Sequence[Sequence[Signal]], model: LabelModel, coordinate: Coordinate
) -> list[dict[str, str | float]]:
    """Per labeler: coverage (it spoke), overlap (another spoke too), conflict (another contradicts it), accuracy.

    The first three are shares of the objects; several signals of one labeler on an object count once.
    """
    names = sorted({(signal.labeler, signal.supports) for signals in objects for signal in signals})
    counts = {name: np.zeros(3) for name in names}
    for signals in objects:
        for labeler, supports in {(signal.labeler, signal.supports) for signal in signals}:
            said = [signal for signal in signals if (signal.labeler, signal.supports) == (labeler, supports)]
            others = [signal for signal in signals if signal.labeler != labeler]
            contradicted = any(_contradicts(signal, other) for signal in said for other in others)
            counts[(labeler, supports)] += (1, bool(others), contradicted)
    return [
        {
            "labeler": name, "coordinate": coordinate, "says": "for" if supports else "against",
            "coverage": float(counts[(name, supports)][0]) / max(1, len(objects)),
            "overlap": float(counts[(name, supports)][1]) / max(1, len(objects)),
            "conflict": float(counts[(name, supports)][2]) / max(1, len(objects)),
            "accuracy": model.accuracies.get((name, supports), START_ACCURACY),
        }
        for name, supports in names
    ]  # fmt: skip


def _contradicts(one: Signal, other: Signal) -> bool:
    mine, theirs = set(one.identities), set(other.identities)
    if one.supports and other.supports:
        return not mine & theirs
    if one.supports != other.supports:
        allowed, excluded = (mine, theirs) if one.supports else (theirs, mine)
        return allowed <= excluded
    return False
