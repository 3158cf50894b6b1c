"""The file of a team's questions: YAML, each with an expected value or the SQL that gives it.

In: the file. Out: `Expectation`s; every mistake is named with its place. Runs nothing and knows no model.
"""

from __future__ import annotations

import datetime
import hashlib
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from coset.errors import UserError

Cell = str | int | float | bool | Decimal | datetime.date | datetime.datetime | None
LONGEST_NAME = 80


class QuestionEntry(BaseModel):
    """One entry under `questions:`."""

    model_config = ConfigDict(extra="forbid")
    question: str = Field(min_length=1)
    name: str | None = Field(default=None, min_length=1, max_length=LONGEST_NAME)
    expected: Any = None
    sql: str | None = None
    tolerance: float | str | None = None
    ordered: bool = False


class QuestionFile(BaseModel):
    model_config = ConfigDict(extra="forbid")
    questions: list[QuestionEntry] = Field(min_length=1)


@dataclass(frozen=True)
class Tolerance:
    """How far a number may be off: by an amount, or by a share of the expected one."""

    amount: float = 0.0
    share: float = 0.0


@dataclass(frozen=True)
class Expectation:
    """A question with what its answer must be: rows, or the SQL that gives them."""

    name: str
    question: str
    rows: tuple[tuple[Cell, ...], ...]
    sql: str | None
    tolerance: Tolerance
    ordered: bool

    def fingerprint(self) -> str:
        return hashlib.sha256(repr(self).encode()).hexdigest()[:16]


def read_questions(path: Path) -> list[Expectation]:
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(f"there is no file of questions at '{path}'") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"cannot read '{path}': {error}") from None
    except yaml.MarkedYAMLError as error:
        where = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise UserError(f"{path.name}{where}: {error.problem or 'is not valid YAML'}") from None
    except yaml.YAMLError:
        raise UserError(f"{path.name} is not valid YAML") from None
    try:
        file = QuestionFile.model_validate(content if isinstance(content, dict) else {"questions": content})
    except ValidationError as error:
        told = "; ".join(f"'{'.'.join(map(str, each['loc']))}': {each['msg']}" for each in error.errors()[:3])
        raise UserError(f"{path.name}: {told}") from None
    found = [_expectation(path.name, number, entry) for number, entry in enumerate(file.questions, start=1)]
    names = [each.name for each in found]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UserError(f"{path.name}: two questions are called '{twice}': give one of them another name")
    return found


def _expectation(file: str, number: int, entry: QuestionEntry) -> Expectation:
    where = f"{file}, question {number}"
    given = "expected" in entry.model_fields_set
    if given == (entry.sql is not None):
        raise UserError(f"{where}: give either expected or sql")
    text = " ".join(entry.question.split())
    # A slash parts datasets from questions in what is kept.
    name = (entry.name or text[:LONGEST_NAME]).replace("/", "-")
    rows = _rows(where, entry.expected) if given else ()
    return Expectation(name, text, rows, entry.sql, _tolerance(where, entry.tolerance), entry.ordered)


def _rows(where: str, value: Any) -> tuple[tuple[Cell, ...], ...]:
    """A value is one row of one column; a list is a column; a list of lists is a table."""
    if not isinstance(value, list):
        return ((_cell(where, value),),)
    if not value:
        return ()
    if all(isinstance(row, list) for row in value):
        rows = tuple(tuple(_cell(where, cell) for cell in row) for row in value)
        if len({len(row) for row in rows}) > 1 or not rows[0]:
            raise UserError(f"{where}: the rows of expected differ in length")
        return rows
    return tuple((_cell(where, cell),) for cell in value)


def _cell(where: str, value: Any) -> Cell:
    if isinstance(value, str | int | float | bool | datetime.date | None):
        return value
    raise UserError(f"{where}: expected must be a value, a list of values, or a list of rows")


def _tolerance(where: str, value: float | str | None) -> Tolerance:
    if value is None:
        return Tolerance()
    text = str(value).strip()
    try:
        number = float(text.removesuffix("%"))
    except ValueError:
        number = -1.0
    if not 0 <= number < float("inf"):
        raise UserError(f"{where}: the tolerance is a number such as 0.01, or a share such as 1%")
    return Tolerance(share=number / 100) if text.endswith("%") else Tolerance(amount=number)
