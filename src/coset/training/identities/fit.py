"""Stage 2: the encoder and the prior of one coordinate, trained on episodes.

In: features and signed evidence of the objects of many databases, targets. Out: an `Encoder` and a `Prior` in NumPy.
One episode is one database, of which a random part realises the bank and the rest is asked.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from coset.identities.encoder import WAYS, Encoder, Mixture, Perceptron
from coset.identities.prototypes import Prior
from coset.training.settings import Database, FitSettings, ObjectiveSettings


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


LOWEST, HIGHEST = 0.25, 4.0


class TorchPerceptron(nn.Module):
    """`coset.identities.encoder.Perceptron`, trainable."""

    def __init__(self, inputs: int, settings: FitSettings) -> None:
        super().__init__()
        self.first, self.hidden = nn.Linear(inputs, settings.hidden), nn.Linear(settings.hidden, settings.hidden)
        self.out = nn.Linear(settings.hidden, settings.embedding)
        self.dropout = settings.dropout

    def forward(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        first = functional.gelu(self.first(rows), approximate="tanh")
        first = functional.dropout(first, self.dropout, self.training)
        hidden = first + functional.gelu(self.hidden(first), approximate="tanh")
        hidden = functional.dropout(hidden, self.dropout, self.training)
        return self.out(hidden), hidden


class TorchEncoder(nn.Module):
    """`coset.identities.encoder.Encoder`, trainable. Texts come with a length of the root of their width."""

    def __init__(self, texts: int, numbers: int, settings: FitSettings) -> None:
        super().__init__()
        width = texts // WAYS
        self.own = TorchPerceptron(2 * width + numbers, settings)
        self.tables = TorchPerceptron(width, settings) if settings.mixture else None
        self.gate = nn.Linear(texts + numbers, settings.mixture) if settings.mixture else None
        self.share = nn.Linear(settings.mixture, WAYS) if settings.mixture else None
        self.precision = nn.Linear(settings.hidden, settings.embedding if settings.diagonal else 1)
        nn.init.zeros_(self.precision.weight), nn.init.zeros_(self.precision.bias)
        self.dropout, self.text_dropout = settings.dropout, settings.text_dropout

    def forward(self, texts: Tensor, numbers: Tensor) -> tuple[Tensor, Tensor]:
        own, table, referred = texts.chunk(WAYS, dim=1)
        is_table, refers = (own == table).all(dim=1), (referred != 0).any(dim=1)
        own, table, referred = (
            functional.dropout(part, self.text_dropout, self.training) for part in (own, table, referred)
        )
        embedding, hidden = self.own(torch.cat([own, table, numbers], dim=1))
        if self.tables is not None and self.gate is not None and self.share is not None:
            first = functional.gelu(self.gate(torch.cat([own, table, referred, numbers], dim=1)), approximate="tanh")
            scores = self.share(functional.dropout(first, self.dropout, self.training))
            nowhere = torch.zeros_like(scores, dtype=torch.bool)
            nowhere[:, 1] = ~refers | is_table
            nowhere[:, 2] = is_table
            share = scores.masked_fill(nowhere, -math.inf).softmax(dim=1)
            of_table, hidden_of_table = self.tables(table)
            of_referred, _ = self.tables(referred)
            embedding = share[:, :1] * of_table + share[:, 1:2] * of_referred + share[:, 2:] * embedding
            hidden = share[:, :1] * hidden_of_table + (1 - share[:, :1]) * hidden
        return embedding, bounded(self.precision(hidden))


def bounded(raw: Tensor) -> Tensor:
    """A precision within its bounds: vanishing and exploding ones are out of reach."""
    return LOWEST * (HIGHEST / LOWEST) ** torch.sigmoid(raw)


def unbounded(precision: Tensor) -> Tensor:
    """What `bounded` makes a precision of."""
    share = torch.log(precision / LOWEST) / math.log(HIGHEST / LOWEST)
    return torch.logit(share.clamp(1e-4, 1 - 1e-4))


def fit(
    databases: Sequence[Database],
    identities: int,
    seed: int,
    settings: FitSettings,
    report: Callable[[str, float], None],
    begin: tuple[Encoder, Prior] | None = None,
) -> tuple[Encoder, Prior]:
    """Encoder and prior, from the beginning or from what was learned before and learns further."""
    torch.manual_seed(seed)
    generator = random.Random(f"fit:{seed}")
    rows = np.concatenate([database.numbers[0] for database in databases])
    mean, scale = rows.mean(axis=0), np.maximum(rows.std(axis=0), 0.05)
    width = databases[0].texts.shape[2]
    encoder = TorchEncoder(width, len(mean), settings)
    centres = nn.Parameter(torch.randn(identities, settings.embedding))
    raw = nn.Parameter(torch.zeros(identities, settings.embedding if settings.diagonal else 1))
    if begin is not None:
        mean, scale = begin[0].number_mean.astype(np.float32), begin[0].number_scale.astype(np.float32)
        _learned_before(encoder, begin[0], width)
        with torch.no_grad():
            centres.copy_(torch.from_numpy(begin[1].centres))
            raw.copy_(unbounded(torch.from_numpy(begin[1].precisions)))
    optimiser = torch.optim.AdamW(
        [
            {"params": encoder.parameters(), "weight_decay": 0.02},
            {"params": [centres, raw], "weight_decay": 0.0},
        ],
        lr=settings.rate,
    )
    episodes = [_episodes(len(databases), databases, settings, generator) for _ in range(settings.epochs)]
    steps, done = sum(map(len, episodes)), 0
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda step: min(1.0, (step + 1) / 100) * 0.5 * (1 + math.cos(math.pi * min(1.0, step / steps)))
    )
    encoder.train()
    for epoch, chosen in enumerate(episodes):
        for group in chosen:
            texts, numbers, supporting, opposing, targets = _gathered([databases[n] for n in group], generator)
            embeddings, precisions = encoder(
                torch.from_numpy(texts * math.sqrt(width // WAYS)),
                torch.from_numpy(((numbers - mean) / scale).astype(np.float32)),
            )
            # Sometimes nothing is support: the prior must stand alone where an environment says little.
            share = 0.0 if generator.random() < 0.25 else generator.uniform(0.3, 0.7)
            support = torch.from_numpy(np.array([generator.random() < share for _ in targets]))
            episode = Episode(
                embeddings, precisions, torch.from_numpy(supporting), torch.from_numpy(opposing),
                torch.from_numpy(targets), support,
            )  # fmt: skip
            loss, _ = objective(episode, centres, bounded(raw), settings.objective)
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_([*encoder.parameters(), centres, raw], 2.0)
            optimiser.step(), schedule.step()
            done += 1
        report(f"episodes, round {epoch + 1} of {settings.epochs}, loss {loss.item():.2f}", done / steps)
    return _as_numpy(encoder.eval(), mean, scale, width), Prior(
        centres.detach().double().numpy(), bounded(raw).detach().double().numpy()
    )


def _episodes(
    count: int, databases: Sequence[Database], settings: FitSettings, generator: random.Random
) -> list[list[int]]:
    order = list(range(count))
    generator.shuffle(order)
    groups: list[list[int]] = [[]]
    size = 0
    for number in order:
        groups[-1].append(number)
        size += len(databases[number].targets)
        if size >= settings.objects:
            groups.append([])
            size = 0
    return [group for group in groups if group]


def _gathered(group: Sequence[Database], generator: random.Random) -> tuple[np.ndarray, ...]:
    texts, numbers = [], []
    for database in group:
        variants = np.array([generator.randrange(len(database.texts)) for _ in database.targets])
        at = np.arange(len(database.targets))
        texts.append(database.texts[variants, at])
        numbers.append(database.numbers[variants, at])
    return (
        np.concatenate(texts),
        np.concatenate(numbers),
        np.concatenate([database.supporting for database in group]),
        np.concatenate([database.opposing for database in group]),
        np.concatenate([database.targets for database in group]),
    )


def _learned_before(encoder: TorchEncoder, learned: Encoder, width: int) -> None:
    """Put the weights of an encoder in NumPy into one in torch: what `_as_numpy` does, the other way."""
    one = width // WAYS

    def put(layer: nn.Linear, weight: NDArray[np.float64], bias: NDArray[np.float64], texts: int = 0) -> None:
        own = weight.copy()
        own[:texts] /= math.sqrt(one)
        layer.weight.copy_(torch.from_numpy(own.T.copy()))
        layer.bias.copy_(torch.from_numpy(bias))

    def perceptron(part: TorchPerceptron, told: Perceptron, texts: int) -> None:
        put(part.first, told.first_weight, told.first_bias, texts)
        put(part.hidden, told.hidden_weight, told.hidden_bias)
        put(part.out, told.out_weight, told.out_bias)

    with torch.no_grad():
        perceptron(encoder.own, learned.own, 2 * one)
        put(encoder.precision, learned.precision_weight, learned.precision_bias)
        mixture = learned.mixture
        if (
            mixture is not None
            and encoder.tables is not None
            and encoder.gate is not None
            and encoder.share is not None
        ):
            perceptron(encoder.tables, mixture.tables, one)
            put(encoder.gate, mixture.first_weight, mixture.first_bias, width)
            put(encoder.share, mixture.share_weight, mixture.share_bias)


def _as_numpy(encoder: TorchEncoder, mean: NDArray[np.float32], scale: NDArray[np.float32], width: int) -> Encoder:
    """The same encoder over text vectors of length 1."""
    one = width // WAYS
    length = math.sqrt(one)

    def array(tensor: Tensor) -> NDArray[np.float64]:
        return tensor.detach().double().numpy()

    def first(layer: nn.Linear, texts: int) -> NDArray[np.float64]:
        weight = array(layer.weight).T.copy()
        weight[:texts] *= length
        return weight

    def perceptron(part: TorchPerceptron, texts: int) -> Perceptron:
        return Perceptron(
            first(part.first, texts), array(part.first.bias), array(part.hidden.weight).T, array(part.hidden.bias),
            array(part.out.weight).T, array(part.out.bias),
        )  # fmt: skip

    mixture = None
    if encoder.tables is not None and encoder.gate is not None and encoder.share is not None:
        mixture = Mixture(
            perceptron(encoder.tables, one), first(encoder.gate, width), array(encoder.gate.bias),
            array(encoder.share.weight).T, array(encoder.share.bias),
        )  # fmt: skip
    return Encoder(
        mean.astype(np.float64), scale.astype(np.float64), perceptron(encoder.own, 2 * one),
        array(encoder.precision.weight).T, array(encoder.precision.bias), mixture, LOWEST, HIGHEST,
    )  # fmt: skip
