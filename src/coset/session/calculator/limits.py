"""How much one calculation may cost, so that no expression can hang the process or fill its memory.

The limits on size are constants. The limit on work is a `Work` counter that each calculation owns: whatever loops
calls `spend` with its number of steps first, and a step takes a small part of a microsecond.
Nothing here knows what is calculated.
"""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass

from coset.errors import UserError

MAX_CHARACTERS = 2_000_000
MAX_TOKENS = 250_000
"""Numbers, names, texts, operators and brackets; commas are free, so a list of 100,000 negative numbers fits."""
MAX_BRACKETS = 50
MAX_OPERATORS = 1_000
"""Operators in a row that no bracket or comma separates: this bounds the depth of the tree Python parses."""
MAX_DEPTH = 100
MAX_DIGITS = 4_000
"""Below the 4,300 digits at which Python itself refuses to print a whole number."""
MAX_BITS = int(MAX_DIGITS * 3.3219)
MAX_TEXT = 1_000_000
MAX_STEPS = 4_000_000


@dataclass
class Work:
    """The steps that are left to one calculation."""

    steps: int = MAX_STEPS


current_work: ContextVar[Work] = ContextVar("current_work")


def spend(steps: int) -> None:
    """Take `steps` from the running calculation, before doing them."""
    work = current_work.get()
    work.steps -= steps
    if work.steps < 0:
        raise UserError("the calculation needs too much work: use shorter lists, shorter texts or smaller numbers")


def too_large() -> UserError:
    return UserError(f"a number in the calculation would have more than {MAX_DIGITS:,} digits: use smaller numbers")


def too_long() -> UserError:
    return UserError(f"a text in the calculation would have more than {MAX_TEXT:,} characters: use shorter texts")
