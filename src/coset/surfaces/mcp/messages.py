"""What the tools take and give back: small pydantic models, whose schemas are sent with the tools.

Arguments are strict, so that a wrong name is an error and not passed over. Outputs hold what JSON can hold, and for
each there is the text that a model reads, in which values from databases stand in data blocks. Every field costs tokens
in every conversation: a test counts them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from coset.answering.models.client import schema_of
from coset.answering.quoting import data_block, grid, one_line
from coset.routing.views.budgets import DETAILS, RECOVERED

Budget = Annotated[int, Field(ge=60, le=50_000, description="tokens")]


class Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ViewArguments(Arguments):
    question: str = Field(min_length=1, max_length=8_000)
    budget: Budget = DETAILS


class SqlArguments(Arguments):
    query: str = Field(min_length=1, max_length=200_000)
    rows: int = Field(default=50, ge=1, le=1_000, description="most to return, default 50")


class CalcArguments(Arguments):
    expression: str = Field(min_length=1, max_length=20_000)


class RecoverArguments(Arguments):
    what: str = Field(min_length=1, max_length=1_000, description="reference, SQL name, or words")
    budget: Budget = RECOVERED


class OpenArguments(Arguments):
    tables: list[str] = Field(min_length=1, max_length=40)


class SourcesArguments(Arguments):
    pass


class CorrectArguments(Arguments):
    about: str = Field(min_length=1, max_length=1_000, description="table or column")
    note: str = Field(default="", max_length=4_000)
    reading: str = Field(default="", max_length=200, description="its name in plain words")
    meaning: str = Field(default="", max_length=1_000, description="of one row or value")
    join_with: list[str] = Field(default=[], max_length=8, description="columns")
    copy_of: str = Field(default="", max_length=1_000, description="table")
    reject: bool = Field(default=False, description="it is none")


class ReadArguments(Arguments):
    page: str = Field(default="", max_length=100, description="key")
    lines: str = Field(default="", max_length=60_000)


class RelationsArguments(Arguments):
    about: str = Field(default="", max_length=1_000, description="source, table or column")
    least: float = Field(default=0.0, ge=0, le=1, description="least confidence")
    most: int = Field(default=30, ge=1, le=500)


class TeachArguments(Arguments):
    reference: str = Field(default="", max_length=1_000)
    role: str = Field(default="", max_length=200, description="entity.attribute, `entity.` or `.attribute`")
    negative: bool = Field(default=False, description="it does not play that role")
    revoke: int = Field(default=0, ge=0, description="number of a statement to take back instead")


class CheckArguments(Arguments):
    sql: str = Field(min_length=1, max_length=200_000)
    answer: Any = Field(default=None, description="leave out when the rows are the answer")
    form: Literal["value", "row", "list", "table", "text"] = "table"
    grain: str = Field(default="", max_length=400, description="one row per what")
    rows: int = Field(default=0, ge=0, description="rows asked for, as in `the five largest`")
    unit: str = Field(default="", max_length=100)


class AskArguments(Arguments):
    question: str = Field(min_length=1, max_length=8_000)


_BOUNDS = {"maxLength", "minLength", "maximum", "minimum"}


def input_schema(model: type[BaseModel]) -> dict[str, Any]:
    schema = schema_of(model)
    for described in schema.get("properties", {}).values():
        for bound in _BOUNDS & set(described):
            del described[bound]
    return schema


def output_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Every field is always there, so that none has to be marked as required."""
    schema: dict[str, Any] = _without_required(schema_of(model))
    return schema


def _without_required(node: Any) -> Any:
    if isinstance(node, list):
        return [_without_required(item) for item in node]
    if not isinstance(node, dict):
        return node
    return {
        key: _without_required(value)
        for key, value in node.items()
        if not (key == "required" and isinstance(value, list))
    }


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
