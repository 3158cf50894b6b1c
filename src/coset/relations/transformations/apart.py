"""What tells two rows of one column apart: the differences in words between left values that are near each other.

The left column names different things, however alike they are written. A difference that lies between two of its own
values (`2008` and `2009`, `Senate` and `House`) therefore speaks against a match when it lies between a left and a
right value; a difference that never does (`the`, `Inc.`) is only another way to write the same. Nothing is known here
of which values match. (The idea of Auto-FuzzyJoin, which reads off a reference table how near is near enough.)
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable

from coset.relations.transformations.nearest import Index
from coset.relations.transformations.text import grams
from coset.relations.transformations.value import Value

NEIGHBOURS = 10
# Longer numbers are codes, of which no two differ by an amount that means anything.
LONGEST_NUMBER = 4
NUMBER = "#"

Words = frozenset[str]


def difference(one: Words, other: Words) -> tuple[Words, Words, int]:
    """The words that only one side has; where each has one number only, by how much these differ."""
    one_only, other_only = one - other, other - one
    numbers = [[word for word in words if word.isdigit()] for words in (one_only, other_only)]
    if all(len(found) == 1 and len(found[0]) <= LONGEST_NUMBER for found in numbers):
        (first,), (second,) = numbers
        return one_only - {first} | {NUMBER}, other_only - {second} | {NUMBER}, int(second) - int(first)
    return one_only, other_only, 0


class Differences:
    """How often each difference lies between two near values of a column."""

    def __init__(self, values: list[Value], words: Index, letters: Index, positions: Iterable[int]) -> None:
        """`positions` are the values whose neighbours are looked at."""
        self.swaps: Counter[tuple[Words, Words, int]] = Counter()
        self.sides: Counter[Words] = Counter()
        for position in positions:
            value = values[position]
            near = {
                *words.nearest(value.words, NEIGHBOURS + 1).positions.tolist(),
                *letters.nearest(grams(value.folded), NEIGHBOURS + 1).positions.tolist(),
            }
            for other in near - {position}:
                one_only, other_only, amount = difference(value.bag, values[other].bag)
                self.swaps[one_only, other_only, amount] += 1
                self.swaps[other_only, one_only, -amount] += 1
                self.sides[one_only] += 1
                self.sides[other_only] += 1

    def features(self, left: Words, right: Words) -> list[float]:
        """How often the whole difference, the left half of it and the right half tell two values apart."""
        left_only, right_only, amount = difference(left, right)
        return [
            math.log1p(self.swaps[left_only, right_only, amount]),
            math.log1p(self.sides[left_only]),
            math.log1p(self.sides[right_only]),
        ]
