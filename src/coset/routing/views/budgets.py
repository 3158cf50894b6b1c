"""Tokens: what a text costs by one fixed rule, and how many each part of a view may cost by default.

A view has two floors. The prefix (documents, main tables, directory) is the same for every question, so that prompt
caches hold it and it is paid for once; the details are made for one question. Each has a budget of its own, but the
main tables take theirs from that of the details, of which they are the part that no question changes. Every surface
takes its defaults from here (how they were chosen: docs/routing_view.md). The rule for texts gives the same number on
every machine and for every model, and costs of lines add up.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
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


DETAILS = 6_000
DIRECTORY = 4_000
CODES = 1_000
DOCUMENTS = 6_000
OPENED = 3_000
"""For the details of references that a reader opens afterwards."""
RECOVERED = 2_000
MAIN_SHARE, LEAST_WITH_MAIN = 0.45, 2_000
"""The share of the details that tells of tables that matter whatever is asked, where there is room for so much."""
PREFIX_SHARE = 2
"""Directory and documents take at most so many times the details' budget each: who asks for little gets little."""


@dataclass(frozen=True)
class Budget:
    """The most tokens of each part."""

    details: int = DETAILS
    directory: int = DIRECTORY
    documents: int = DOCUMENTS
    codes: int = CODES
    main: int = int(MAIN_SHARE * DETAILS)
    """Of the details."""

    @classmethod
    def of(cls, details: int = DETAILS, *, directory: bool = True) -> Budget:
        """The budget of a view with so many tokens of details; without a directory all of it is for the details."""
        if not directory:
            return cls(details, 0, 0, 0, 0)
        most = PREFIX_SHARE * details
        main = int(MAIN_SHARE * details) if details >= LEAST_WITH_MAIN else 0
        return cls(details, min(DIRECTORY, most), min(DOCUMENTS, most), min(CODES, most // 6), main)
