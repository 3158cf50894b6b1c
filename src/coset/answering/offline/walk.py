"""Where one stands in a question: the chunks, the place, and what was said and not used yet.

In: chunks from left to right. Out: `Walk`, which the parts of the grammar go on with. Knows no form of question.
"""

from __future__ import annotations

from collections.abc import Sequence

from coset.answering.offline.chunks import Chunk
from coset.answering.offline.plan import Function
from coset.answering.offline.slots import Asked, Slots

FUNCTIONS = ("avg", "sum", "max", "min")
ORDERING = (">", ">=", "<", "<=")
COMPARISONS = (*ORDERING, "between", "like")
NOUNS = ("table", "column")


class Walk:
    """Goes through the chunks once. `in_clause` is true after a word that opens a clause (with, whose, that, have)."""

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        self.chunks, self.at = list(chunks), 0
        self.slots = Slots()
        self.in_clause = self.in_part = self.after_order = False
        self.functions: list[Function] = []
        self.superlative: str | None = None
        self.distinct = self.negated = self.both = self.either = False
        self.before_stop: list[Asked] = []
        self.hint: Chunk | None = None
        self.last_table: Chunk | None = None
        self.waiting: Chunk | None = None
        """A column that was set aside for the comparison or value that follows it."""

    def _next(self, offset: int = 0) -> Chunk | None:
        place = self.at + offset
        return self.chunks[place] if place < len(self.chunks) else None

    def _before(self) -> Chunk | None:
        return self.chunks[self.at - 2] if self.at > 1 else None

    def _skip(self, *operators: str) -> None:
        while (chunk := self._next()) is not None and chunk.is_operator(*operators):
            self.at += 1

    def _last_column(self) -> Chunk | None:
        """The column just before a comparison, which was set aside for it."""
        column, self.waiting = self.waiting, None
        return column

    def _negation(self) -> bool:
        negated, self.negated = self.negated, False
        return negated

    def _placed(self, noun: Chunk) -> Chunk:
        self.slots.places[id(noun)] = self.at
        return noun

    def _is_distinct_next(self) -> bool:
        chunk = self._next()
        if chunk is not None and chunk.is_operator("distinct"):
            self.at += 1
            self.distinct = True
            return True
        return False
