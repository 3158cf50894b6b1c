"""How sure a short form is spelled out right: learned from names that others abbreviated.

In: the signs of one short form where it stands. Out: a probability. The weights were fitted by
`python benchmarks/short_forms.py --corpus DIR --part train --part dev --company STATE MEANINGS.tsv --fit` on databases
whose makers wrote what their names mean, and on one company. Knows no name and no word.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Signs:
    """What speaks for and against one short form as it was read."""

    guessed: bool
    """From its letters alone: it is on no list."""
    foreign: bool
    glued: bool
    """Written together with others."""
    letters: int
    begins: bool
    """The word begins with it."""
    several: bool
    """It stands for more than one word."""
    meanings: float
    """A logarithm of what it may stand for."""
    cost: float
    near: float
    """A logarithm of how often the environment uses the words."""
    rival: float
    """The same of the likeliest other meaning."""
    rarity: float
    before: float
    """A logarithm of how often the word before it stands before these words."""
    after: float
    fit: float
    """What the values say of the last word: below 0 they speak for it."""
    lead: float
    """By how much the next meaning of the whole name costs more."""

    def inputs(self) -> tuple[float, ...]:
        """What the weights are of: letters and cost tell something else of a guess than of a listed form."""
        guessed, listed, long = float(self.guessed), float(not self.guessed), min(self.letters, 7)
        return (
            guessed, float(self.foreign), float(self.glued), guessed * (long - 4), listed * (long - 3),
            guessed * self.begins, listed * self.begins, float(self.several), listed * self.meanings,
            guessed * self.cost, listed * self.cost, min(self.near, 3.0), float(self.near == 0), min(self.rival, 3.0),
            self.rarity, min(self.before, 4.0), min(self.after, 4.0), self.fit, self.lead,
        )  # fmt: skip


WEIGHTS = (
    0.0, 2.82, -0.51, 1.45, 1.27, 0.56, -0.62, -0.73, -0.16, -0.73, -0.82, 0.26, -0.28, -0.34, -0.05, 0.22, 0.76,
    -0.92, 0.15,
)  # fmt: skip
BIAS = 1.81


def certainty(signs: Signs) -> float:
    odds = BIAS + sum(weight * each for weight, each in zip(WEIGHTS, signs.inputs(), strict=True))
    return 1.0 / (1.0 + math.exp(-odds))
