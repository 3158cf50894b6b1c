"""How many tokens each part of a view may cost by default. Every surface takes its defaults from here.

A view has two floors. The prefix (documents, directory) is the same for every question, so that prompt caches hold it
and it is paid for once; the details are made for one question. Each has a budget of its own. How the defaults were
chosen: docs/routing_view.md.
"""

from __future__ import annotations

from dataclasses import dataclass

DETAILS = 6_000
DIRECTORY = 4_000
DOCUMENTS = 6_000
OPENED = 3_000
"""For the details of references that a reader opens afterwards."""
RECOVERED = 2_000
PREFIX_SHARE = 2
"""Directory and documents take at most so many times the details' budget each: who asks for little gets little."""


@dataclass(frozen=True)
class Budget:
    """The most tokens of each part."""

    details: int = DETAILS
    directory: int = DIRECTORY
    documents: int = DOCUMENTS

    @classmethod
    def of(cls, details: int = DETAILS, *, directory: bool = True) -> Budget:
        """The budget of a view with so many tokens of details; without a directory all of it is for the details."""
        if not directory:
            return cls(details, 0, 0)
        most = PREFIX_SHARE * details
        return cls(details, min(DIRECTORY, most), min(DOCUMENTS, most))
