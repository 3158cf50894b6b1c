"""What the tools give back: one small model each. Its schema is sent with the tool, so every field earns its tokens.

In: nothing. Out: pydantic models whose values JSON can hold, and for each the text that a model reads. Values out of
databases stand in data blocks in the text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel

from coset.answering.quoting import data_block, grid, one_line

LETTERS = 20_000
"""The most letters of rows in one answer."""


class Output(BaseModel):
    """What a tool gave."""

    def to_text(self) -> str:
        raise NotImplementedError


class TextOutput(Output):
    """Evidence as text."""

    text: str

    def to_text(self) -> str:
        return self.text


class ViewOutput(TextOutput):
    matched: bool
    """False when nothing of the question was found in the data."""
    cost: int


class RecoverOutput(TextOutput):
    left_out: int
    """Lines that a larger budget would show."""


class SourcesOutput(Output):
    sources: list[str]

    def to_text(self) -> str:
        return "\n".join(self.sources)


class ReadOutput(TextOutput):
    page: str
    left: int
    """Pages that nobody has read."""


class SqlOutput(Output):
    columns: list[str]
    types: list[str]
    rows: list[list[Any]]
    truncated: bool
    """True when there are more rows than these, or a value was cut."""

    def to_text(self) -> str:
        if not self.rows:
            return f"0 rows; the statement ran and found nothing. Columns: {', '.join(self.columns)[:400]}"
        text, _ = grid(self.columns, self.types, self.rows, LETTERS)
        more = "; truncated: aggregate, filter, or ask for more with `rows`" if self.truncated else ""
        return f"{len(self.rows)} rows{more}\n{data_block('rows', text)}"


class CalcOutput(Output):
    value: str

    def to_text(self) -> str:
        return self.value


class JoinOutput(BaseModel):
    reference: str
    condition: str
    left_match: float
    right_match: float
    cardinality: str
    confidence: float


class RelationsOutput(Output):
    joins: list[JoinOutput]
    total: int

    def to_text(self) -> str:
        lines = [
            f"{join.condition} -- {join.left_match:.0%}/{join.right_match:.0%} {join.cardinality} "
            f"{join.confidence:.2f}, {join.reference}"
            for join in self.joins
        ]
        head = f"{len(self.joins)} of {self.total} joins (matched rows left/right, cardinality, confidence)"
        return "\n".join([head, *lines]) if lines else "no join is known"


class TeachOutput(Output):
    statements: list[int]
    changes: list[str]

    def to_text(self) -> str:
        numbers = ", ".join(map(str, self.statements))
        return "\n".join([f"kept as {numbers}" if numbers else "nothing kept", *self.changes])


class CheckOutput(Output):
    verdict: str
    checks: list[str]
    """Those that apply, the worst first."""

    def to_text(self) -> str:
        return "\n".join([self.verdict, *self.checks])


class AskOutput(Output):
    answer: str
    columns: list[str]
    rows: list[list[Any]]
    truncated: bool
    sql: list[str]
    assumptions: list[str]
    confidence: float
    mode: str
    run: int

    def to_text(self) -> str:
        parts = [self.answer] if self.answer else []
        if self.rows:
            text, _ = grid(self.columns, [""] * len(self.columns), self.rows, LETTERS)
            parts.append(f"{'the first ' if self.truncated else ''}{len(self.rows)} rows\n{data_block('rows', text)}")
        parts += [f"assumed: {one_line(assumption)}" for assumption in self.assumptions]
        parts += [f"SQL: {statement}" for statement in self.sql]
        how = "without a model, " if self.mode == "offline" else ""
        return "\n".join([*parts, f"confidence {self.confidence:.2f}, {how}run {self.run}"])


def bounded_rows(rows: Sequence[Sequence[Any]], letters: int = LETTERS) -> tuple[list[list[Any]], bool]:
    """Rows as JSON can hold them, as many as fit, and whether anything was cut: results must not flood a context."""
    from coset.surfaces.command_line.output import json_value

    longest = max(200, letters // 20)
    found: list[list[Any]] = []
    used, cut = 0, False
    for row in rows:
        values = []
        for cell in row:
            value = json_value(cell)
            size = len(value) if isinstance(value, str) else len(str(value))
            if size > longest:
                value, cut = f"{str(value)[:longest]}…(+{size - longest} characters)", True
            values.append(value)
        used += sum(len(str(value)) + 3 for value in values)
        if used > letters and found:
            return found, True
        found.append(values)
    return found, cut
