"""The objective of stage 2: episodic, soft, attraction, repulsion, calibration and geometry, each with its coefficient.

In: one episode (a database: embeddings, precisions, signed evidence, targets) and the prior. Out: the loss and its
terms. The formulas are the paper's; what it leaves open is defined here and in docs/identities.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional


@dataclass(frozen=True)
class ObjectiveSettings:
    """Every coefficient by name: lambda_soft, lambda_+, lambda_-, lambda_unc, lambda_reg, xi_-, and the rest."""

    soft: float = 0.3
    attraction: float = 0.002
    repulsion: float = 0.002
    calibration: float = 0.3
    regularisation: float = 0.001
    opposition_margin: float = 9.0
    temperature: float = 1.0
    shrinkage: float = 6.0
    support_cap: float = 3.0
    epsilon: float = 1e-3
    soft_share: float = 0.1
    """How much of a soft target is the label model's posterior; the rest is the annotation."""


@dataclass(frozen=True)
class Episode:
    """One database in one coordinate. `support` marks the objects that realise the bank; the others are held out."""

    embeddings: Tensor
    precisions: Tensor
    supporting: Tensor
    opposing: Tensor
    targets: Tensor
    """The identity of each object, or -1 where it has none."""
    support: Tensor


def realise(
    episode: Episode, centres: Tensor, precisions: Tensor, settings: ObjectiveSettings
) -> tuple[Tensor, Tensor]:
    """mu_{c,D} and Lambda_{c,D}: `coset.identities.prototypes.realise` in torch, differentiable."""
    weights = episode.supporting * episode.support[:, None].float()
    weights = weights * torch.clamp(settings.support_cap / weights.sum(0, keepdim=True).clamp(min=1e-12), max=1.0)
    support = weights.T @ episode.precisions
    there = support.sum(1, keepdim=True) > 0
    if episode.precisions.shape[1] == 1:
        weighted = (weights * episode.precisions).T @ episode.embeddings
    else:
        weighted = weights.T @ (episode.precisions * episode.embeddings)
    middle = torch.where(there, weighted / support.clamp(min=1e-12), centres)
    total, base = support.mean(1, keepdim=True), precisions.mean(1, keepdim=True)
    alpha = torch.where(there, total / (total + settings.shrinkage * base), torch.zeros_like(total))
    return alpha * middle + (1 - alpha) * centres, alpha * (settings.epsilon + support) + (1 - alpha) * precisions


def squared_distances(embeddings: Tensor, centres: Tensor, precisions: Tensor) -> Tensor:
    """d_{c,D}(z)^2 for every object and identity, in the scalar and the diagonal case."""
    if precisions.shape[1] == 1:
        squares = torch.cdist(embeddings, centres) ** 2 * precisions[:, 0][None]
    else:
        scaled = centres * precisions
        squares = embeddings**2 @ precisions.T - 2 * embeddings @ scaled.T + (scaled * centres).sum(1)[None]
    return squares.clamp(min=1e-9)


def objective(
    episode: Episode, centres: Tensor, precisions: Tensor, settings: ObjectiveSettings
) -> tuple[Tensor, dict[str, float]]:
    """The whole loss of one episode, per object, and its terms."""
    realised, sharpness = realise(episode, centres, precisions, settings)
    squares = squared_distances(episode.embeddings, realised, sharpness)
    logarithms = functional.log_softmax(-squares.sqrt() / settings.temperature, dim=1)
    labelled = episode.targets >= 0
    query = labelled & ~episode.support
    if not bool(query.any()):
        query = labelled
    held, target = logarithms[query], episode.targets[query]
    episodic = functional.nll_loss(held, target)

    # Soft targets: the annotation mixed with the label model's posterior; the posterior alone where nobody annotated.
    weak = episode.supporting.sum(1)
    posterior = episode.supporting / weak.clamp(min=1e-12)[:, None]
    sure = functional.one_hot(episode.targets.clamp(min=0), logarithms.shape[1]).float()
    share = torch.where(labelled, settings.soft_share, 1.0)[:, None]
    soft_target = torch.where(
        (weak > 0)[:, None], (1 - share) * sure + share * posterior, torch.where(labelled[:, None], sure, posterior)
    )
    trust = torch.where(labelled, torch.ones_like(weak), 0.2 * weak)
    soft = -(trust * (soft_target * logarithms).sum(1)).sum() / trust.sum().clamp(min=1e-9)

    attraction = (episode.supporting * squares).sum() / len(squares)
    repulsion = (episode.opposing * functional.relu(settings.opposition_margin - squares) ** 2).sum() / squares.numel()

    # Calibration: the Brier score of what is held out, and precisions that stay near 1 (attraction alone would let
    # them vanish).
    brier = ((held.exp() - functional.one_hot(target, held.shape[1])) ** 2).sum(1).mean()
    calibration = brier + 0.01 * (episode.precisions.log() ** 2).mean() + 0.01 * (precisions.log() ** 2).mean()
    geometry = (episode.embeddings**2).sum(1).mean() + (centres**2).sum(1).mean()
    loss = (
        episodic
        + settings.soft * soft
        + settings.attraction * attraction
        + settings.repulsion * repulsion
        + settings.calibration * calibration
        + settings.regularisation * geometry
    )
    terms = {"episodic": episodic, "soft": soft, "attraction": attraction, "repulsion": repulsion,
             "calibration": calibration, "geometry": geometry}  # fmt: skip
    return loss, {name: float(value.detach()) for name, value in terms.items()}
