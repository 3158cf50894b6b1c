"""The answer to a question: short, in the shape that was pinned, with everything it stands on.

In: what the agent proposed and the results it named. Out: an `Answer`. Rows come from the result itself and never
through the model, so they are exactly as stored.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import sqlglot
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from sqlglot import exp
from sqlglot.errors import SqlglotError

from coset.answering.arbiter.records import References, Shape, Text
from coset.answering.checks import CheckResult
from coset.answering.models.client import StepUsage

Mode = Literal["learned", "core"]
_REFUSES = re.compile(r"\b(?:cannot|can not|can't) be (?:answered|determined|computed|told)\b", re.IGNORECASE)
# A number is an answer too, and models send it as one.
Written = Annotated[Text, BeforeValidator(lambda value: value if isinstance(value, str | None) else str(value))]


class Proposal(BaseModel):
    """The arguments of the tool that ends a run."""

    model_config = ConfigDict(extra="ignore", frozen=True)
    text: Written = Field(
        default="",
        description="the answer alone, short, in the shape asked for; empty when the rows of a result are it",
    )
    results: References = Field(default=[], description="names of the results it comes from, the final one last")
    columns: References = Field(default=[], description="of the final result only these columns; empty: all")
    order: References = Field(default=[], description="columns of the final result to order by, such as `total desc`")
    limit: int | None = Field(default=None, ge=1, description="of the final result only so many rows")
    assumptions: References = []
    readings: References = Field(default=[], description="other readings of an ambiguous question")
    confidence: float = Field(default=0.5, ge=0, le=1)

    @property
    def refuses(self) -> bool:
        """Whether it says that the data cannot answer: in words, out of no result. There is nothing to check in it."""
        said = bool(self.text.strip()) and not self.results
        return said and (self.confidence == 0 or _REFUSES.search(self.text) is not None)


@dataclass(frozen=True)
class Answer:
    """What `ask` gives. `stopped` says why a run ended without an answer of its own; it is empty otherwise."""

    question: str
    mode: Mode
    text: str
    """For people. Empty when the rows are the answer."""
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    """The rows of the final result; empty when the answer came from no statement."""
    truncated: bool
    """True when the final result has more rows than these."""
    sql: tuple[str, ...]
    """Each statement behind the answer, standing alone, the final one last."""
    references: tuple[str, ...]
    assumptions: tuple[str, ...]
    readings: tuple[str, ...]
    confidence: float
    shape: Shape | None
    stopped: str
    checks: tuple[CheckResult, ...]
    steps: tuple[StepUsage, ...]

    @property
    def value(self) -> Any:
        """The answer for programs, in one form whoever gave it: of rows of one cell that cell, of others a list of
        rows, each a list. Words where there are no rows, or where they say something else than the rows (a rounded
        number, yes or no). None when the run stopped."""
        if self.stopped:
            return None
        if not self.rows or (self.text and not self._says_rows):
            return self.text
        return self.rows[0][0] if len(self.rows) == len(self.rows[0]) == 1 else [list(row) for row in self.rows]

    @property
    def _says_rows(self) -> bool:
        return (self.shape is None or self.shape.form != "text") and says_all(self.text, self.rows)

    @property
    def tokens(self) -> int:
        return sum(step.input_tokens + step.output_tokens for step in self.steps)

    @property
    def cost(self) -> float | None:
        """US dollars, or None when the price of a step is unknown."""
        costs = [step.cost for step in self.steps if step.cost is not None]
        return sum(costs) if len(costs) == len(self.steps) else None


def misfit(shape: Shape | None, rows: int) -> str | None:
    """How many rows a final result has too many for the shape that was pinned, in words, or None. Columns that nobody
    asked for are a doubt at most, and an empty result fits any shape: it is told as empty."""
    if shape is None or shape.form not in {"value", "row"} or rows <= 1:
        return None
    return f"the pinned shape is one {shape.form}, but the final result has {rows:,} rows"


def ties_told(sql: str, rows: int) -> str | None:
    """That more rows came than there are places, because some tie; None where a statement keeps no ties."""
    try:
        tree = sqlglot.parse_one(sql, dialect="duckdb")
    except (SqlglotError, RecursionError):
        return None
    for qualify in tree.find_all(exp.Qualify):
        compared = qualify.this
        if not isinstance(compared, exp.LTE | exp.EQ) or not isinstance(compared.expression, exp.Literal):
            continue
        ranked = any(isinstance(each, exp.Rank | exp.DenseRank) for each in compared.this.find_all(exp.Expression))
        places = int(compared.expression.this) if str(compared.expression.this).isdecimal() else 0
        if ranked and 0 < places < rows:
            first = "the first place" if places == 1 else f"the first {places} places"
            return f"{rows:,} rows share {first}: those that tie are all kept"
    return None


def rows_of_answer(text: str, rows: Sequence[tuple[Any, ...]]) -> tuple[tuple[Any, ...], ...]:
    """The rows whose every value stands in the text; all of them where there is no text, or no such row."""
    if not text.strip() or len(rows) < 2:
        return tuple(rows)
    told = [
        row
        for row in rows
        if any(value is not None for value in row) and all(value is None or plain_value(value) in text for value in row)
    ]
    return tuple(told) if told else tuple(rows)


def says_all(text: str, rows: Sequence[tuple[Any, ...]]) -> bool:
    """Whether a text has every value of the rows, each as a word or number of its own: then they are what it says."""
    values = {plain_value(value) for row in rows for value in row if value is not None} - {""}
    return bool(values) and all(
        re.search(rf"(?<!\w)(?<!\d[.,]){re.escape(value)}(?!\w|[.,]\d)", text) is not None for value in values
    )


def plain_value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat(" ") if isinstance(value, datetime.datetime) else value.isoformat()
    return str(value)
