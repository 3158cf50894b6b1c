"""Steps of learning: batches, a loss for each, a rate that rises and falls, checkpoints.

In: a text model and what a step's loss is. Out: the model has learned. Goes on from a checkpoint where there is one, as
if nothing had been, if the loss of a step depends on its number alone.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import torch
from torch import Tensor, nn

from coset.training.text_model import TextModel

Report = Callable[[str, float], None]
T = TypeVar("T")
KEPT_AFTER = 100
"""Steps between two checkpoints."""


@dataclass(frozen=True)
class Pace:
    rate: float
    weight_decay: float = 0.0
    rising: float = 0.06
    """The share of the steps in which the rate rises; then it falls."""
    lowest: float = 0.02
    """The share of the rate that is left at the end."""


def learn_in_steps(
    model: TextModel,
    steps: int,
    loss_of: Callable[[int], Tensor],
    pace: Pace,
    name: str,
    report: Report,
    checkpoint: Path | None,
) -> None:
    learned = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimiser = torch.optim.AdamW(learned, lr=pace.rate, weight_decay=pace.weight_decay)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda step: min(1.0, (step + 1) / (pace.rising * steps)) * max(pace.lowest, 1 - step / steps)
    )
    begin = 0
    if checkpoint is not None and checkpoint.exists():
        stored = torch.load(checkpoint, weights_only=True)
        model.load_state_dict(stored["model"]), optimiser.load_state_dict(stored["optimiser"])
        schedule.load_state_dict(stored["schedule"])
        begin = int(stored["step"])
    model.train()
    started, mean = time.monotonic(), 0.0
    for step in range(begin, steps):
        loss = loss_of(step)
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(learned, 1.0)
        optimiser.step(), schedule.step()
        mean = loss.item() if step == begin else 0.98 * mean + 0.02 * loss.item()
        if step % 10 == 0:
            left = (time.monotonic() - started) / (step - begin + 1) * (steps - step) / 60
            report(f"{name}, step {step + 1} of {steps}, loss {mean:.3f}, {left:.0f} min left", step / steps)
        if checkpoint is not None and step % KEPT_AFTER == KEPT_AFTER - 1:
            torch.save(
                {"model": model.state_dict(), "optimiser": optimiser.state_dict(), "schedule": schedule.state_dict(),
                 "step": step + 1}, checkpoint.with_suffix(".part"),
            )  # fmt: skip
            checkpoint.with_suffix(".part").replace(checkpoint)
    model.eval()


def batches_of_like_length(
    entries: list[T], size: int, generator: random.Random, length: Callable[[T], int]
) -> list[list[T]]:
    """Batches of like length, so that little is spent on padding, in random order."""
    generator.shuffle(entries)
    found = []
    for begin in range(0, len(entries), size * 40):
        pool = sorted(entries[begin : begin + size * 40], key=length)
        found += [pool[at : at + size] for at in range(0, len(pool), size)]
    generator.shuffle(found)
    return found
