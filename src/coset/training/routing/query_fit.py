"""The query side in torch: the projection, the query prototypes, and the compatibility with identities.

In: vectors of questions, weights, soft targets per coordinate. Out: a `Projection`, prototypes with their temperature,
compatibility matrices. Three steps, each with one task: the projection learns with a linear head; k-means places
the prototypes where questions are; the compatibility learns that head's demands, a convex problem with one answer.
Trained all at once, prototypes fall together and the demand is worse: docs/routing_query.md has the figures.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from coset.identities.inventory import COORDINATES, Coordinate
from coset.identities.prototypes import Array
from coset.routing.ranking.query_model import EPSILON, Projection

Report = Callable[[str, float], None]


@dataclass(frozen=True)
class QuerySettings:
    """What the paper leaves open. The values were chosen on dev databases."""

    prototypes: int = 128
    width: int = 256
    epochs: int = 4
    batch: int = 256
    rate: float = 2e-3
    decay: float = 0.05
    dropout: float = 0.3
    softness: float = 0.5
    """tau_Q as a share of the median distance of a question to its nearest prototype."""
    ridge: float = 1e-4
    """On the compatibility, in units of the requirements' own spread."""
    rounds: int = 40
    cap: int = 150
    """So many questions of one database count in full; more share that weight."""


class TorchProjection(nn.Module):
    """`coset.routing.ranking.query_model.Projection`, trainable."""

    def __init__(self, texts: int, settings: QuerySettings) -> None:
        super().__init__()
        self.linear, self.norm = nn.Linear(texts, settings.width), nn.LayerNorm(settings.width, eps=EPSILON)
        self.dropout = settings.dropout

    def forward(self, vectors: Tensor) -> Tensor:
        # Vectors of length 1 are scaled to a spread of 1 per number, which is what the layers are initialised for.
        seen = functional.dropout(vectors * math.sqrt(vectors.shape[1]), self.dropout / 2, self.training)
        return self.norm(functional.gelu(self.linear(seen), approximate="tanh"))

    def as_numpy(self) -> Projection:
        scale = math.sqrt(self.linear.in_features)
        weight, bias, gain, shift = (
            tensor.detach().double().numpy()
            for tensor in (self.linear.weight.T * scale, self.linear.bias, self.norm.weight, self.norm.bias)
        )
        return Projection(np.ascontiguousarray(weight), bias, gain, shift)


class Unfactorised(nn.Module):
    """The projection with a linear head per coordinate: the teacher, and about the best the factorised model can be."""

    def __init__(self, texts: int, identities: dict[Coordinate, int], settings: QuerySettings) -> None:
        super().__init__()
        self.projection = TorchProjection(texts, settings)
        self.heads = nn.ModuleDict({name: nn.Linear(settings.width, count) for name, count in identities.items()})

    def forward(self, vectors: Tensor) -> dict[Coordinate, Tensor]:
        embedded = functional.dropout(self.projection(vectors), self.projection.dropout, self.training)
        return {name: functional.log_softmax(self.heads[name](embedded), dim=1) for name in COORDINATES}


def fit_projection(
    vectors: NDArray[np.float32],
    weights: Array,
    targets: dict[Coordinate, Array],
    seed: int,
    settings: QuerySettings,
    report: Report,
) -> Unfactorised:
    """Cross-entropy to the soft targets of both coordinates; a target of zeros does not count."""
    torch.manual_seed(seed)
    model = Unfactorised(vectors.shape[1], {name: target.shape[1] for name, target in targets.items()}, settings)
    optimiser = torch.optim.AdamW(model.parameters(), lr=settings.rate, weight_decay=settings.decay)
    seen, weight = torch.from_numpy(vectors), torch.from_numpy(weights).float()
    wanted = {name: torch.from_numpy(target).float() for name, target in targets.items()}
    steps = max(1, settings.epochs * math.ceil(len(seen) / settings.batch))
    rising = max(1, min(100, steps // 4))
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda step: min(1.0, (step + 1) / rising) * 0.5 * (1 + math.cos(math.pi * min(1.0, step / steps)))
    )
    model.train()
    for epoch in range(settings.epochs):
        for rows in torch.randperm(len(seen)).split(settings.batch):
            found = model(seen[rows])
            loss = sum(_cross_entropy(found[name], wanted[name][rows], weight[rows]) for name in COORDINATES)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step(), schedule.step()
        report(f"query projection, round {epoch + 1} of {settings.epochs}, loss {loss.item():.2f}", 0.0)
    return model.eval()


def taught_demands(model: Unfactorised, vectors: NDArray[np.float32]) -> dict[Coordinate, Array]:
    """What the unfactorised model says of questions."""
    with torch.no_grad():
        return {name: value.exp().double().numpy() for name, value in model(torch.from_numpy(vectors)).items()}


def place_prototypes(embedded: Array, weights: Array, count: int, seed: int, rounds: int = 12) -> tuple[Array, float]:
    """eta: weighted k-means with spread-out seeds, and the median distance of a question to its nearest prototype."""
    generator = np.random.default_rng(seed)
    share = weights / weights.sum()
    centres = embedded[generator.choice(len(embedded), 1, p=share)]
    squares = ((embedded - centres[0]) ** 2).sum(axis=1)
    while len(centres) < count and (share * squares).sum() > 0:
        chance = share * squares
        chosen = embedded[generator.choice(len(embedded), p=chance / chance.sum())]
        centres = np.vstack([centres, chosen])
        squares = np.minimum(squares, ((embedded - chosen) ** 2).sum(axis=1))
    for _ in range(rounds):
        nearest = _squares(embedded, centres).argmin(axis=1)
        mass = np.bincount(nearest, weights, minlength=len(centres))
        sums = np.zeros_like(centres)
        np.add.at(sums, nearest, embedded * weights[:, None])
        centres = np.where(mass[:, None] > 0, sums / np.maximum(mass, 1e-12)[:, None], centres)
    return centres, float(np.median(np.sqrt(_squares(embedded, centres).min(axis=1))))


def fit_compatibility(requirements: Array, weights: Array, target: Array, settings: QuerySettings) -> Array:
    """M of one coordinate: the weighted cross-entropy of softmax(M^T beta), with a ridge, at its one minimum.

    Soft profiles differ little, so the problem is posed in their own spread: beta = mean + z S with z of unit spread.
    As the entries of beta sum to 1, what is constant goes into every row of M, and M^T beta is the same function.
    """
    known = target.sum(axis=1) > 0
    share = weights[known] / weights[known].sum()
    middle = share @ requirements[known]
    away = requirements[known] - middle
    values, directions = np.linalg.eigh((away * share[:, None]).T @ away)
    kept = values > max(1e-6 * values[-1], 1e-14)
    whitening = directions[:, kept] / np.sqrt(values[kept])
    spread = torch.from_numpy(away @ whitening)
    wanted, weight = torch.from_numpy(target[known]), torch.from_numpy(share)
    prior = share @ target[known] + 1e-4
    slope = torch.zeros(int(kept.sum()), target.shape[1], dtype=torch.float64, requires_grad=True)
    constant = torch.from_numpy(np.log(prior / prior.sum())).requires_grad_(True)
    optimiser = torch.optim.LBFGS([slope, constant], max_iter=settings.rounds, line_search_fn="strong_wolfe")

    def closure() -> Tensor:
        optimiser.zero_grad()
        logarithms = functional.log_softmax(spread @ slope + constant, dim=1)
        loss = -(weight * (wanted * logarithms).sum(1)).sum() + settings.ridge * (slope**2).sum()
        loss.backward()
        return loss

    optimiser.step(closure)
    matrix = whitening @ slope.detach().numpy()
    result: Array = matrix + (constant.detach().numpy() - middle @ matrix)
    return result


def _cross_entropy(logarithms: Tensor, target: Tensor, weight: Tensor) -> Tensor:
    counted = weight * (target.sum(1) > 0)
    return -(counted * (target * logarithms).sum(1)).sum() / counted.sum().clamp(min=1e-9)


def _squares(embedded: Array, centres: Array) -> Array:
    """Squared distances by the expanded square: quick, and near enough to choose a centre."""
    result: Array = (embedded**2).sum(axis=1)[:, None] - 2 * embedded @ centres.T + (centres**2).sum(axis=1)[None]
    return np.maximum(result, 0.0)
