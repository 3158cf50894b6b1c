"""Certificates: how far an embedding, or the bank, may move before an assignment can change (paper, Appendix B).

In: distances, a bank, signed evidence. Out: radii and bounds per object. Each function is one statement of the paper
and holds for every input of its kind; property tests try to break them. They hold for the numbers as computed: what
rounding can do is taken off. They certify stability, not that a role is right.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from coset.identities.prototypes import Array, PrototypeBank, lengths

ROUNDING = 1e-12
"""More than the relative error of a distance in floating point, up to some thousand dimensions."""


def margins(distance: Array, assignment: NDArray[np.int64]) -> Array:
    """Delta_{c,D}(e) for every competitor c; infinite for the winner itself."""
    rows = np.arange(len(distance))
    gaps = distance - distance[rows, assignment][:, None]
    gaps[rows, assignment] = np.inf
    return gaps


def _certain_margins(distance: Array, assignment: NDArray[np.int64]) -> Array:
    """Margins less what rounding may have added to them, here and after a move; zero where nothing is left."""
    nearest = distance[np.arange(len(distance)), assignment][:, None]
    result: Array = np.maximum(margins(distance, assignment) - ROUNDING * (distance + nearest), 0.0)
    return result


def stability_radius(distance: Array, assignment: NDArray[np.int64], bank: PrototypeBank) -> Array:
    """r_D(e): no shift of the embedding shorter than this changes the assignment while the bank stays (Proposition 1).

    Zero at a tie. Infinite when there is one identity alone.
    """
    sensitivity = bank.sensitivities
    denominator = sensitivity[None] + sensitivity[assignment][:, None]
    radius: Array = (_certain_margins(distance, assignment) / denominator).min(axis=1)
    return radius


def conservative_radius(distance: Array, assignment: NDArray[np.int64], bank: PrototypeBank) -> Array:
    """m_D(e) / (2 L_max): simpler, never larger than the stability radius."""
    result: Array = _certain_margins(distance, assignment).min(axis=1) / (2 * bank.sensitivities.max())
    return result


def loss_to_margin_radius(
    distance: Array, supporting: Array, opposing: Array, opposition_margin: float, bank: PrototypeBank
) -> tuple[NDArray[np.int64], Array]:
    """The radius that the signed-evidence losses alone guarantee (Proposition 3), and the identity it is for.

    `opposition_margin` is xi_-. The candidate is the best supported identity; the radius is zero where the bound says
    nothing: no support, a competitor that nothing opposes, or losses too large.
    """
    rows = np.arange(len(distance))
    candidate = supporting.argmax(axis=1)
    plus = supporting[rows, candidate]
    others = opposing.copy()
    others[rows, candidate] = np.inf
    minus = others.min(axis=1)
    attraction = (supporting * distance**2).sum(axis=1)
    repulsion = (opposing * np.maximum(opposition_margin - distance**2, 0.0) ** 2).sum(axis=1)
    covered = (plus > 0) & (minus > 0) & np.isfinite(minus)
    near = np.sqrt(attraction / np.where(covered, plus, 1.0)) * (1 + ROUNDING)
    inside = np.sqrt(repulsion / np.where(covered, minus, 1.0))
    # Of two like numbers the difference is mostly rounding, and its root would make that large.
    far = np.sqrt(np.maximum(opposition_margin - inside - 2 * ROUNDING * (opposition_margin + inside), 0.0))
    radius = np.where(covered & (far > near), (far - near) / (2 * bank.sensitivities.max()), 0.0)
    return candidate, radius


def drift_bound(
    embeddings: Array, before: PrototypeBank, after: PrototypeBank, embedding_shift: Array | float = 0.0
) -> Array:
    """eta_c for every object and identity: how far a distance can have moved when the bank moved from before to after.

    `embedding_shift` is epsilon_z, one number or one per object.
    """
    centre_shift = np.linalg.norm(after.centres - before.centres, axis=1)
    root_shift = np.abs(np.sqrt(after.precisions) - np.sqrt(before.precisions)).max(axis=1)
    shift = np.broadcast_to(np.asarray(embedding_shift, dtype=np.float64), (len(embeddings),))
    away = lengths(embeddings, before.centres, np.ones((len(before.centres), 1)))
    moved = shift[:, None] + centre_shift[None]
    sharpest = (before.sensitivities + root_shift)[None]
    result: Array = sharpest * moved + root_shift[None] * away
    # Where nothing moved the distances are the same to the last digit.
    return np.where(result > 0, result + ROUNDING * sharpest * (moved + away), 0.0)


def keeps_assignment(distance: Array, assignment: NDArray[np.int64], drift: Array) -> NDArray[np.bool_]:
    """True where every competitor's margin exceeds the drift of both distances: the assignment cannot have changed."""
    rows = np.arange(len(distance))
    allowed = drift + drift[rows, assignment][:, None]
    allowed[rows, assignment] = -np.inf
    kept: NDArray[np.bool_] = margins(distance, assignment) > allowed
    return np.asarray(kept.all(axis=1))
