"""Stage 1: fine-tune a text encoder so that texts of one identity lie together, with the prior prototypes alone.

In: a text model to begin with, and labelled columns, or labelled tables: each kind has an encoder of its own, because
there are many columns, of which a short text says enough, and few tables, of which it does not. Out: the model,
trained. The head on top is the encoder of stage 2 in small; it is thrown away, because stage 2 trains its own on what
the quantised file gives.
"""

from __future__ import annotations

import copy
import itertools
import math
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from coset.identities.text_encoder import WordPieces
from coset.training.annotation import Key
from coset.training.data.labelled_objects import TrainingSet, plain, variant
from coset.training.data.written_databases import INVENTED
from coset.training.encoders.text_model import WIDTH, TextModel, batches_of_like_length
from coset.training.settings import FineTuneSettings

KEPT_AFTER = 200
"""Steps between two checkpoints: what an interruption costs at most."""


class Head(nn.Module):
    """Text vector and numbers to the distances to one centre per identity, for each coordinate."""

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
    model: TextModel,
    identities: dict[str, int],
    seed: int,
    settings: FineTuneSettings,
    report: Callable[[str, float], None],
    checkpoint: Path | None = None,
    name: str = "text encoder",
) -> TextModel:
    """Train `model` on the objects numbered by `parts`. Goes on from `checkpoint` where there is one."""
    torch.manual_seed(seed)
    for kept in (model.words, *model.layers[: settings.frozen]):
        kept.requires_grad_(False)
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
    rounds = [_in_turn(training, parts, epoch, settings.rotation) for epoch in range(settings.epochs)]
    ends = list(itertools.accumulate((math.ceil(len(each) / settings.batch) for each in rounds), initial=0))
    steps = ends[-1]
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda step: min(1.0, (step + 1) / (0.06 * steps)) * max(0.02, 1 - step / steps)
    )
    begin, at, mean = 0, 0, copy.deepcopy(model)
    if checkpoint is not None and checkpoint.exists():
        stored = torch.load(checkpoint, weights_only=True)
        model.load_state_dict(stored["model"]), head.load_state_dict(stored["head"])
        mean.load_state_dict(stored["mean"])
        optimiser.load_state_dict(stored["optimiser"]), schedule.load_state_dict(stored["schedule"])
        begin, at = int(stored["epoch"]), int(stored["batch"])
    model.train(), head.train()
    started, done = time.monotonic(), ends[begin] + at
    before = done
    for epoch in range(begin, settings.epochs):
        generator = random.Random(f"{seed}:{epoch}")
        seen: list[Any] = []
        for number in rounds[epoch]:
            item = training.objects[number]
            look = plain(item) if generator.random() < 0.25 else variant(item, generator, training.synonyms)
            targets = {"entity": item.label.entity, "attribute": item.label.attribute}
            seen.append((pieces.encode(look.text, settings.longest), look.numbers, targets))
        for number, batch in enumerate(
            batches_of_like_length(seen, settings.batch, generator, lambda entry: len(entry[0]))
        ):
            if epoch == begin and number < at:
                continue
            torch.manual_seed((seed * 1000 + epoch) * 100_000 + number)
            tokens, mask = pieces.batch([entry[0] for entry in batch])
            numbers = torch.from_numpy((np.stack([entry[1] for entry in batch]) - numbers_mean) / numbers_scale)
            scores = head(model(torch.from_numpy(tokens), torch.from_numpy(mask)), numbers)
            loss = torch.zeros(())
            for coordinate, score in scores.items():
                known = [-1 if entry[2][coordinate] is None else entry[2][coordinate] for entry in batch]
                if any(target >= 0 for target in known):
                    loss = loss + functional.cross_entropy(
                        score, torch.tensor(known), ignore_index=-1, label_smoothing=settings.smoothing
                    )
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_([*model.parameters(), *head.parameters()], 1.0)
            optimiser.step(), schedule.step()
            done += 1
            if done > settings.average_from * steps:
                _into(mean, model, settings.average if done - 1 > settings.average_from * steps else 0.0)
            if done % 20 == 0:
                rate = (time.monotonic() - started) / (done - before)
                report(f"{name}, epoch {epoch + 1} of {settings.epochs}, loss {loss.item():.2f}, "
                       f"{(steps - done) * rate / 60:.0f} min left", done / steps)  # fmt: skip
            if checkpoint is not None and (done % KEPT_AFTER == 0 or done == ends[epoch + 1]):
                ended = done == ends[epoch + 1]
                torch.save(
                    {"model": model.state_dict(), "head": head.state_dict(), "mean": mean.state_dict(),
                     "optimiser": optimiser.state_dict(), "schedule": schedule.state_dict(),
                     "epoch": epoch + ended, "batch": 0 if ended else number + 1},
                    checkpoint.with_suffix(".part"),
                )  # fmt: skip
                checkpoint.with_suffix(".part").replace(checkpoint)
    return mean.eval()


def _in_turn(training: TrainingSet, parts: list[int], epoch: int, rotation: int) -> list[int]:
    """The objects of one epoch: all but the invented databases whose turn it is not."""
    turns: dict[Key, int] = {}
    found = []
    for number in parts:
        database = training.objects[number].label.database
        turn = turns.setdefault(database, len(turns))
        if database[0] != INVENTED or turn % rotation == epoch % rotation:
            found.append(number)
    return found


def _into(mean: TextModel, model: TextModel, weight: float) -> None:
    """Bring the mean up to date; with weight 0 it begins here."""
    with torch.no_grad():
        for own, other in zip(mean.parameters(), model.parameters(), strict=True):
            own.lerp_(other, 1.0 - weight)


def _standardise(training: TrainingSet, parts: list[int]) -> tuple[np.ndarray, np.ndarray]:
    rows = np.stack([plain(training.objects[number]).numbers for number in parts])
    return rows.mean(axis=0), np.maximum(rows.std(axis=0), 0.05)
