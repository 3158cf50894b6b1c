"""Stage 1: fine-tune the text encoder so that texts of one identity lie together, with the prior prototypes alone.

In: labelled objects. Out: a text model. The head on top is the encoder of stage 2 in small; it is thrown away, because
stage 2 trains its own on what the quantised file gives.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from coset.identities.text_encoder import LONGEST
from coset.identities.wordpieces import WordPieces
from coset.training.objects import TrainingSet, plain, variant
from coset.training.text_model import WIDTH, TextModel


@dataclass(frozen=True)
class FineTuneSettings:
    layers: int = 3
    epochs: int = 3
    batch: int = 32
    text_rate: float = 2e-4
    head_rate: float = 2e-3
    smoothing: float = 0.05
    hidden: int = 256
    embedding: int = 64


class Head(nn.Module):
    """Text vector and numbers to the distances to one centre per identity, for both coordinates."""

    def __init__(self, numbers: int, identities: dict[str, int], settings: FineTuneSettings) -> None:
        super().__init__()
        self.first = nn.Linear(WIDTH + numbers, settings.hidden)
        self.out = nn.ModuleDict({name: nn.Linear(settings.hidden, settings.embedding) for name in identities})
        self.centres = nn.ParameterDict(
            {name: nn.Parameter(torch.randn(count, settings.embedding) * 0.5) for name, count in identities.items()}
        )
        self.scale = nn.ParameterDict({name: nn.Parameter(torch.tensor(1.0)) for name in identities})

    def forward(self, vectors: Tensor, numbers: Tensor) -> dict[str, Tensor]:
        hidden = functional.gelu(self.first(torch.cat([vectors * math.sqrt(WIDTH), numbers], dim=1)))
        hidden = functional.dropout(hidden, 0.1, self.training)
        return {
            name: -self.scale[name].exp() * torch.cdist(out(hidden), self.centres[name])
            for name, out in self.out.items()
        }


def fine_tune(
    training: TrainingSet,
    parts: list[int],
    pieces: WordPieces,
    published: Path,
    identities: dict[str, int],
    seed: int,
    settings: FineTuneSettings,
    report: Callable[[str, float], None],
    checkpoint: Path | None = None,
) -> TextModel:
    """Train on the objects numbered by `parts`. Goes on from `checkpoint` where there is one."""
    torch.manual_seed(seed)
    model = TextModel.published(published, layers=settings.layers)
    model.words.weight.requires_grad_(False)
    numbers_mean, numbers_scale = _standardise(training, parts)
    head = Head(len(numbers_mean), identities, settings)
    optimiser = torch.optim.AdamW(
        [
            {
                "params": [p for p in model.parameters() if p.requires_grad],
                "lr": settings.text_rate,
                "weight_decay": 0.01,
            },
            {"params": head.parameters(), "lr": settings.head_rate, "weight_decay": 0.001},
        ]
    )
    steps = math.ceil(len(parts) / settings.batch) * settings.epochs
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda step: min(1.0, (step + 1) / (0.06 * steps)) * max(0.02, 1 - step / steps)
    )
    begin = 0
    if checkpoint is not None and checkpoint.exists():
        stored = torch.load(checkpoint, weights_only=True)
        model.load_state_dict(stored["model"]), head.load_state_dict(stored["head"])
        optimiser.load_state_dict(stored["optimiser"]), schedule.load_state_dict(stored["schedule"])
        begin = int(stored["epoch"])
    model.train(), head.train()
    started, done = time.monotonic(), begin * math.ceil(len(parts) / settings.batch)
    for epoch in range(begin, settings.epochs):
        torch.manual_seed(seed * 1000 + epoch)
        generator = random.Random(f"{seed}:{epoch}")
        seen = []
        for number in parts:
            item = training.objects[number]
            look = plain(item) if generator.random() < 0.25 else variant(item, generator, training.synonyms)
            seen.append((pieces.encode(look.text, LONGEST), look.numbers, item.label.entity, item.label.attribute))
        for batch in _batches(seen, settings.batch, generator):
            tokens, mask = pieces.batch([entry[0] for entry in batch])
            numbers = torch.from_numpy((np.stack([entry[1] for entry in batch]) - numbers_mean) / numbers_scale)
            scores = head(model(torch.from_numpy(tokens), torch.from_numpy(mask)), numbers)
            entity = torch.tensor([entry[2] for entry in batch])
            attribute = torch.tensor([-100 if entry[3] is None else entry[3] for entry in batch])
            loss = functional.cross_entropy(
                scores["entity"], entity, ignore_index=-1, label_smoothing=settings.smoothing
            )
            loss = loss + functional.cross_entropy(
                scores["attribute"], attribute, ignore_index=-100, label_smoothing=settings.smoothing
            )
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_([*model.parameters(), *head.parameters()], 1.0)
            optimiser.step(), schedule.step()
            done += 1
            if done % 20 == 0:
                rate = (time.monotonic() - started) / max(1, done - begin * steps / settings.epochs)
                report(f"text encoder, epoch {epoch + 1} of {settings.epochs}, loss {loss.item():.2f}, "
                       f"{(steps - done) * rate / 60:.0f} min left", done / steps)  # fmt: skip
        if checkpoint is not None:
            torch.save(
                {"model": model.state_dict(), "head": head.state_dict(), "optimiser": optimiser.state_dict(),
                 "schedule": schedule.state_dict(), "epoch": epoch + 1}, checkpoint.with_suffix(".part"),
            )  # fmt: skip
            checkpoint.with_suffix(".part").replace(checkpoint)
    return model.eval()


def _standardise(training: TrainingSet, parts: list[int]) -> tuple[np.ndarray, np.ndarray]:
    rows = np.stack([plain(training.objects[number]).numbers for number in parts])
    return rows.mean(axis=0), np.maximum(rows.std(axis=0), 0.05)


def _batches(seen: list, size: int, generator: random.Random) -> list[list]:
    """Batches of like length, so that little is spent on padding, in random order."""
    generator.shuffle(seen)
    found = []
    for begin in range(0, len(seen), size * 40):
        pool = sorted(seen[begin : begin + size * 40], key=lambda entry: len(entry[0]))
        found += [pool[at : at + size] for at in range(0, len(pool), size)]
    generator.shuffle(found)
    return found
