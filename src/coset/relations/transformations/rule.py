"""A rule that joins two columns, and how well it does so.

`measure` runs two recipes over two columns and says what they match; `JoinRule` keeps the outcome with its SQL, its
words and the values that fail, so that a person can judge it. Nothing here knows how a rule was found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from coset.relations.transformations.steps import Recipe

Kind = Literal[
    "identity", "trim", "case", "accents", "stray_characters", "prefix", "suffix", "prefix_swap", "zero_padding",
    "numeric", "date", "separators", "piece", "program",
]  # fmt: skip
Cardinality = Literal["one-to-one", "one-to-many", "many-to-one", "many-to-many"]
FAILURES_KEPT = 5


@dataclass(frozen=True)
class JoinRule:
    """`left` and `right` rewrite the values of each side; rows join where the outcomes are equal and not null.

    Rates are shares of the distinct values given. Cardinality counts distinct values too: `one-to-many` is one left
    value to many right values.
    """

    kind: Kind
    left: Recipe
    right: Recipe
    left_rate: float
    right_rate: float
    matches: int
    cardinality: Cardinality
    left_failures: tuple[str, ...] = field(default=(), compare=False)
    right_failures: tuple[str, ...] = field(default=(), compare=False)

    @property
    def description(self) -> str:
        if self.left == self.right:
            return "equal" if not self.left.steps else f"equal when both are taken {self.left.words}"
        if not self.right.steps:
            return f"the right value is made of the left: {self.left.words}"
        if not self.left.steps:
            return f"the left value is made of the right: {self.right.words}"
        return f"equal when the left is taken {self.left.words} and the right {self.right.words}"

    def left_sql(self, column: str) -> str:
        return self.left.sql(column)

    def right_sql(self, column: str) -> str:
        return self.right.sql(column)

    def condition(self, left_column: str, right_column: str) -> str:
        """The join condition in DuckDB SQL."""
        return f"{self.left_sql(left_column)} = {self.right_sql(right_column)}"


Keyed = dict[str, list[int]]


def keys(values: Sequence[str], recipe: Recipe) -> Keyed:
    """Positions of the values by what the recipe makes of them."""
    keyed: Keyed = {}
    for position, value in enumerate(values):
        key = recipe.apply(value)
        if key:
            keyed.setdefault(key, []).append(position)
    return keyed


@dataclass(frozen=True)
class Outcome:
    """What two recipes match: pairs of positions, and how ambiguous they are."""

    left: Recipe
    right: Recipe
    shared: tuple[str, ...]
    left_matched: frozenset[int]
    right_matched: frozenset[int]
    left_fan: float
    right_fan: float
    # Keys that lead to one value on at least one side; a key shared by many values on both counts for little.
    strength: float


def compare(left_keys: Keyed, right_keys: Keyed, left: Recipe, right: Recipe) -> Outcome:
    shared = [key for key in left_keys if key in right_keys]
    left_matched = frozenset(position for key in shared for position in left_keys[key])
    right_matched = frozenset(position for key in shared for position in right_keys[key])
    count = max(1, len(shared))
    fans = len(left_matched) / count, len(right_matched) / count
    strength = sum(min(len(left_keys[key]), len(right_keys[key])) ** -2.0 for key in shared)
    return Outcome(
        left, right, tuple(shared), left_matched, right_matched, max(1.0, fans[0]), max(1.0, fans[1]), strength
    )


def measure(left_values: Sequence[str], right_values: Sequence[str], left: Recipe, right: Recipe) -> Outcome:
    return compare(keys(left_values, left), keys(right_values, right), left, right)


def as_rule(kind: Kind, outcome: Outcome, left_values: Sequence[str], right_values: Sequence[str]) -> JoinRule:
    many_left, many_right = outcome.left_fan > 1, outcome.right_fan > 1
    cardinality: Cardinality = (
        "many-to-many" if many_left and many_right
        else "many-to-one" if many_left
        else "one-to-many" if many_right
        else "one-to-one"
    )  # fmt: skip
    return JoinRule(
        kind,
        outcome.left,
        outcome.right,
        len(outcome.left_matched) / max(1, len(left_values)),
        len(outcome.right_matched) / max(1, len(right_values)),
        len(outcome.shared),
        cardinality,
        failures(left_values, outcome.left_matched),
        failures(right_values, outcome.right_matched),
    )


def failures(values: Sequence[str], matched: frozenset[int]) -> tuple[str, ...]:
    found: list[str] = []
    for position, value in enumerate(values):
        if position not in matched:
            found.append(value if len(value) <= 80 else value[:79] + "…")
            if len(found) == FAILURES_KEPT:
                break
    return tuple(found)
