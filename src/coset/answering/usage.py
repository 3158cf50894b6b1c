"""What a question has cost so far, by step, and the limits that end it.

In: the usage that a provider reported for each request. Out: totals, and whether a limit leaves room for another
request. Cost is in US dollars and None where no price is known: an unknown price is never counted as nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from coset.errors import UserError


@dataclass(frozen=True)
class StepUsage:
    """One answered request."""

    step: str
    model: str
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    """How many of the input tokens the provider read from its prompt cache."""
    cost: float | None
    seconds: float
    attempts: int


@dataclass(frozen=True)
class Limits:
    """What one question may use. The tokens are input and output of all requests together."""

    steps: int = 12
    tokens: int | None = 200_000
    cost: float | None = None
    request_seconds: float = 180.0

    def __post_init__(self) -> None:
        if self.steps < 1:
            raise UserError(f"the limit of {self.steps} steps leaves none to answer in: allow at least 1")
        if self.request_seconds <= 0:
            raise UserError("the time for a request to the model must be more than 0 seconds")


@dataclass
class Ledger:
    """Every answered request of one question, in order."""

    limits: Limits = field(default_factory=Limits)
    steps: list[StepUsage] = field(default_factory=list)

    def add(self, usage: StepUsage) -> None:
        self.steps.append(usage)

    @property
    def tokens(self) -> int:
        return sum(step.input_tokens + step.output_tokens for step in self.steps)

    @property
    def cost(self) -> float | None:
        """The cost of all steps, or None as soon as one of them has no known price."""
        costs = [step.cost for step in self.steps]
        return None if any(cost is None for cost in costs) else sum(cost for cost in costs if cost is not None)

    def spent(self) -> str | None:
        """Which limit is used up, in words, or None."""
        if self.limits.tokens is not None and self.tokens >= self.limits.tokens:
            return f"the limit of {self.limits.tokens:,} tokens is used up"
        cost = self.cost
        if self.limits.cost is not None and cost is not None and cost >= self.limits.cost:
            return f"the limit of ${self.limits.cost:g} is used up"
        return None

    def room_for_one(self) -> bool:
        """Whether, after one more request like the last, there would still be room: if not, it should be the last."""
        if not self.steps:
            return True
        last = self.steps[-1]
        next_tokens = 2 * (last.input_tokens + last.output_tokens)
        if self.limits.tokens is not None and self.tokens + next_tokens > self.limits.tokens:
            return False
        cost = self.cost
        if self.limits.cost is None or cost is None or last.cost is None:
            return True
        return cost + 2 * last.cost <= self.limits.cost
