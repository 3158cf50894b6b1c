"""Teaching: what people said an object is, or is not, becomes support or opposition with them as its source.

In: statements, embeddings, the support of the labelers. Out: extra support, pinned objects, excluded pairs. The extra
support makes the statement true of the realised bank itself, so that look-alikes move too, and stops before anything
else would. No training takes place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from coset.identities.inventory import Coordinate
from coset.identities.prototypes import Array, PrototypeBank, assign, distances, realise

if TYPE_CHECKING:
    from coset.identities.model import CoordinateModel

STEPS = (0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 1.0)
"""How far a prototype may be drawn from its prior to what was taught."""
LOST = 0.25
"""The most of an identity's other objects that a statement may drive away; beyond it, it moves its object alone."""


@dataclass(frozen=True)
class Taught:
    """One statement of a person: this object is (supports) or is not this identity, by its place in the inventory."""

    reference: str
    coordinate: Coordinate
    identity: int
    supports: bool
    number: int = 0


@dataclass(frozen=True)
class Lessons:
    """What statements do to a realisation."""

    supporting: Array
    """The supporting weights with those of the statements."""
    interpolation: Array
    """alpha of the identities that were taught; not a number elsewhere."""
    pins: dict[int, int]
    excluded: list[tuple[int, int]]


def learn(
    statements: Sequence[Taught],
    places: Mapping[str, int],
    embeddings: Array,
    precisions: Array,
    weights: Array,
    part: CoordinateModel,
) -> Lessons:
    """What the statements come to. Later ones win over earlier ones that they contradict."""
    lessons = Lessons(weights.copy(), np.full(weights.shape[1], np.nan), {}, [])
    excluded: list[tuple[int, int]] = []
    for statement in statements:
        row = places.get(statement.reference)
        if row is None:
            continue
        wanted = statement.identity
        if statement.supports:
            lessons.pins[row] = wanted
        else:
            excluded.append((row, wanted))
            if lessons.pins.get(row) == wanted:
                del lessons.pins[row]
            near = distances(embeddings[row : row + 1], _bank(lessons, embeddings, precisions, part))[0]
            near[[identity for at, identity in excluded if at == row]] = np.inf
            wanted = int(near.argmin())
        lessons = _draw(row, wanted, embeddings, precisions, lessons, part)
    return replace(lessons, excluded=[pair for pair in excluded if lessons.pins.get(pair[0]) != pair[1]])


def _bank(lessons: Lessons, embeddings: Array, precisions: Array, part: CoordinateModel) -> PrototypeBank:
    # What was taught stands beside the capped support of the labelers.
    settings = replace(part.settings, support_cap=float("inf"))
    return realise(embeddings, precisions, lessons.supporting, part.prior, settings, lessons.interpolation)


def _draw(
    row: int, wanted: int, embeddings: Array, precisions: Array, lessons: Lessons, part: CoordinateModel
) -> Lessons:
    """Draw the prototype towards the taught object, as far as brings its look-alikes along and nobody else.

    A look-alike is nearer to the taught object than to its own prototype. The taught object counts as much as all other
    support together, and the whole is scaled to the prior's precision, so that distances stay comparable.
    """
    bank = _bank(lessons, embeddings, precisions, part)
    before = assign(distances(embeddings, bank))
    members = np.flatnonzero(before == wanted)
    members = members[members != row]
    away = np.linalg.norm(embeddings - embeddings[row], axis=1)
    alike = away < np.linalg.norm(embeddings - bank.centres[before], axis=1)
    support = lessons.supporting.copy()
    support[row, wanted] += max(1.0, float(support[:, wanted].sum()))
    sharpness = float((support[:, wanted] @ precisions).mean())
    support[:, wanted] *= float(part.prior.precisions[wanted].mean()) / max(sharpness, 1e-12)
    best = lessons
    for step in STEPS:
        alpha = lessons.interpolation.copy()
        alpha[wanted] = step if np.isnan(alpha[wanted]) else max(step, alpha[wanted])
        trial = replace(lessons, supporting=support, interpolation=alpha)
        after = assign(distances(embeddings, _bank(trial, embeddings, precisions, part)))
        won = (after == wanted) & (before != wanted)
        won[row] = False
        lost = float((after[members] != wanted).mean()) if len(members) else 0.0
        if lost > LOST or bool((won & ~alike).any()):
            break
        if after[row] == wanted:
            best = trial
    return best
