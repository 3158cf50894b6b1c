"""What a text costs, in tokens, by one fixed rule: the same number on every machine and for every model.

In: a text. Out: a whole number. The rule follows how byte-pair tokenizers of today's models cut text: a short word with
the blank before it is one token, a long or rare one several; digits go by threes; marks by twos; a line's end is one.
No model's own vocabulary is read and none was at hand to calibrate against, so it is an estimate: the text encoder's
word pieces, which cut at every mark, count 5 to 16 % more on views and as many on prose. Leave room where a hard limit
is near. Costs of lines add up: the cost of a text is the sum over its lines, and one for each line's end.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

_TOKEN = re.compile(
    r"[A-Z][a-z]{1,7}|[a-z]{1,8}|[A-Z]{1,8}(?![a-z])"  # at most eight letters of a word; `orderId` is two words
    r"|[0-9]{1,3}"
    r"|\n|[ \t\r\f\v]{2,}"  # a single blank belongs to the word after it
    r"|[!-/:-@\[-`{-~]{1,2}"
    r"|[^\x00-\x7f]"
)


def cost(text: str) -> int:
    """The tokens of a text, estimated."""
    return len(_TOKEN.findall(text))


_line_cost = lru_cache(maxsize=100_000)(cost)
"""Most lines of a view are those of other views of the same environment."""


def lines_cost(lines: Sequence[str]) -> int:
    """The tokens of lines, each with its end."""
    return sum(map(_line_cost, lines)) + len(lines)
