"""The Gaussian realisation: prior and support make a prototype bank; distances make memberships (paper, Section 3.3).

In: embeddings z_e with precisions s_e, supporting weights, priors. Out: a `PrototypeBank`, distances, soft memberships,
hard assignments, fibers. Precision is one number per identity (the paper's case) or one per dimension (diagonal); the
same formulas serve both, because everything is written over an axis that has length 1 or p. Knows no names.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
_BLOCK = 1024
"""So many objects at a time stay in the processor's cache."""
NEXT, LEAST_GAP = 3, 1e-3
"""The gap of an object is between its nearest prototype and so many next ones, and never less than this."""


@dataclass(frozen=True)
class Prior:
    """What each identity looks like before an environment is seen: mu0 (identities x p), s0 (identities x 1 or p)."""

    centres: Array
    precisions: Array


@dataclass(frozen=True)
class PrototypeBank:
    """Each identity as one environment realises it: mu_{c,D}, the diagonal of Lambda_{c,D}, and how it came about."""

    centres: Array
    precisions: Array
    support: Array
    """s_sup: the total precision-weighted support of each identity."""
    interpolation: Array
    """alpha: 0 is the prior alone, 1 the support alone."""

    @property
    def sensitivities(self) -> Array:
        """L_c: the operator norm of the square root of each precision matrix."""
        result: Array = np.sqrt(self.precisions.max(axis=1))
        return result


@dataclass(frozen=True)
class RealisationSettings:
    """The coefficients that the paper leaves open; `docs/identities.md` has the formulas."""

    temperature: float = 1.0
    shrinkage: float = 1.0
    """k in alpha = s_sup / (s_sup + k s0): how much support weighs as much as the prior."""
    support_cap: float = 1.0
    """The most that the supporting weights of one identity may sum to, so that precision does not grow without end."""
    epsilon: float = 1e-3


def realise(
    embeddings: Array,
    precisions: Array,
    supporting: Array,
    prior: Prior,
    settings: RealisationSettings,
    interpolation: Array | None = None,
) -> PrototypeBank:
    """P_{c,D} for every identity. `supporting` is omega+ (objects x identities); `precisions` is (objects x 1 or p).

    `interpolation` gives alpha for the identities where it is a number; elsewhere alpha follows from the support.
    """
    capped = cap_support(supporting, settings.support_cap)
    support = capped.T @ precisions
    weighted = capped.T @ (precisions * embeddings)
    supported = support.sum(axis=1, keepdims=True) > 0
    centres = np.where(supported, weighted / np.maximum(support, 1e-300), prior.centres)
    # alpha is one number per identity, also in the diagonal case.
    total, base = support.mean(axis=1, keepdims=True), prior.precisions.mean(axis=1, keepdims=True)
    alpha = np.where(supported, total / np.maximum(total + settings.shrinkage * base, 1e-300), 0.0)
    if interpolation is not None:
        given = interpolation[:, None]
        alpha = np.where(supported & np.isfinite(given), given, alpha)
    return PrototypeBank(
        centres=alpha * centres + (1 - alpha) * prior.centres,
        precisions=alpha * (settings.epsilon + support) + (1 - alpha) * prior.precisions,
        support=total[:, 0],
        interpolation=alpha[:, 0],
    )


def cap_support(supporting: Array, most: float) -> Array:
    """Scale the supporting weights of an identity down to a sum of `most` where they exceed it."""
    totals = supporting.sum(axis=0, keepdims=True)
    result: Array = supporting * np.minimum(1.0, most / np.maximum(totals, 1e-300))
    return result


def distances(embeddings: Array, bank: PrototypeBank) -> Array:
    """d_{c,D}(z) = |A (z - mu)| with A the square root of the precision: objects x identities."""
    return lengths(embeddings, bank.centres, np.sqrt(bank.precisions))


def lengths(embeddings: Array, centres: Array, roots: Array) -> Array:
    """|A_c (z_e - mu_c)| for every e and c; `roots` is the diagonal of A_c (identities x 1 or p).

    Differences are taken before they are squared. The expanded square is faster, but it loses every digit where a
    centre is near, which is where certificates matter; and equal prototypes would not always get equal distances.
    """
    squares = np.empty((len(embeddings), len(centres)))
    if len(embeddings) < len(centres):  # A question, or a few objects: the same numbers in fewer steps.
        for embedding, row in zip(embeddings, squares, strict=True):
            away = (embedding - centres) * roots
            np.einsum("cp,cp->c", away, away, out=row)
        return np.sqrt(squares)
    for begin in range(0, len(embeddings), _BLOCK):
        block = embeddings[begin : begin + _BLOCK]
        for identity, (centre, root) in enumerate(zip(centres, roots, strict=True)):
            away = (block - centre) * root
            np.einsum("ep,ep->e", away, away, out=squares[begin : begin + _BLOCK, identity])
    result: Array = np.sqrt(squares)
    return result


@dataclass(frozen=True)
class Calibration:
    """What makes memberships read as probabilities, fitted on databases that were not trained on.

    Under one temperature, an object with a clear nearest prototype is surer than it should be, and one between several
    less sure. So the temperature of an object is `factor * gap ** exponent`, with the gap between its nearest
    prototype and the mean of the next few. With exponent 0 it is one number for all.
    """

    factor: float = 1.0
    exponent: float = 0.0

    def temperatures(self, distance: Array) -> Array:
        """One temperature for each object, as a column."""
        nearest = np.partition(distance, min(NEXT, distance.shape[1] - 1), axis=1)[:, : NEXT + 1]
        nearest = np.sort(nearest, axis=1)
        gap = nearest[:, 1:].mean(axis=1) - nearest[:, 0] if nearest.shape[1] > 1 else np.ones(len(distance))
        result: Array = self.factor * np.maximum(gap, LEAST_GAP)[:, None] ** self.exponent
        return result


def memberships(distance: Array, temperature: float | Array) -> Array:
    """rho_D: the softmax of negative distances, a point of the simplex for every object."""
    scores = -distance / temperature
    scores = scores - scores.max(axis=1, keepdims=True)
    weights = np.exp(scores)
    result: Array = weights / weights.sum(axis=1, keepdims=True)
    return result


def assign(distance: Array) -> NDArray[np.int64]:
    """kappa_D: the nearest identity; of several equally near ones the first of the inventory (the selector T)."""
    result: NDArray[np.int64] = distance.argmin(axis=1)
    return result


def fibers(assignment: NDArray[np.int64], identities: int) -> list[NDArray[np.int64]]:
    """Q_{c,D} for each identity: the objects assigned to it. Together they partition the objects."""
    return [np.flatnonzero(assignment == identity) for identity in range(identities)]


def membership_distance(left: Array, right: Array) -> float:
    """d_mem: the Euclidean distance of two profiles. A pseudometric on objects."""
    return float(np.linalg.norm(left - right))


def joint(entity: Array, attribute: Array) -> Array:
    """The joint profile over pairs of identities: the product of both coordinates, flattened; again on a simplex."""
    result: Array = (entity[:, :, None] * attribute[:, None, :]).reshape(len(entity), -1)
    return result
