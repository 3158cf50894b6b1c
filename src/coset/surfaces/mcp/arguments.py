"""What the tools take: one small model each, strict, so that a wrong name is told and not passed over.

In: nothing. Out: pydantic models. Their schemas are sent with the tools.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from coset.answering.models.client import schema_of
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
