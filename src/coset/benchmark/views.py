"""How much of what a question needs its view shows: the view as it is printed, scored against known answers.

In: an open router, and a file of questions with the tables, columns and documents that each needs. Out: a `ViewScore` a
question and a `ViewSummary` of all. A table counts as detailed where the view describes it, as listed where only the
directory names it; a family counts for its members. Nothing of the answers reaches the router.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from coset.errors import UserError
from coset.routing.views.text import is_bare
from coset.routing.views.view import EvidenceView

_FILE_ENDING = re.compile(r"\.(csv|xlsx|jsonl|parquet)$")


class ViewQuestion(BaseModel):
    """A question with what it needs. Tables are `source.table` or `source.schema.table`, columns the same with
    `.column`, documents file names; `alternatives` are others that serve as well."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    id: str
    question: str = Field(min_length=1)
    tables: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    documents: tuple[str, ...] = ()
    alternatives: Mapping[str, tuple[str, ...]] = {}


@dataclass(frozen=True)
class ViewScore:
    """What the view of one question shows. Lists hold what is missing."""

    id: str
    tables: int
    detailed: int
    not_detailed: tuple[str, ...]
    not_named: tuple[str, ...]
    columns: int
    """Of gold tables that are detailed."""
    not_shown: tuple[str, ...]
    bare: tuple[str, ...]
    """Shown by name and reading alone, and part of no shown join."""
    documents: int
    without_documents: tuple[str, ...]
    cost: int
    prefix_cost: int


@dataclass(frozen=True)
class ViewSummary:
    """Shares of questions but where it says otherwise."""

    questions: int
    all_detailed: float
    all_named: float
    all_columns: float
    """Of questions with a detailed gold table: all gold columns of those tables are shown."""
    all_documents: float
    """Of questions that documents govern: all of them are shown."""
    tables_detailed: float
    """Share of gold tables."""
    columns_shown: float
    """Share of the gold columns of detailed tables."""
    columns_told: float
    """The same, told with values, codes, a range or how to clean them, or as part of a shown join."""
    details_cost: float
    prefix_cost: float

    @property
    def text(self) -> str:
        return (
            f"{self.questions} questions: all tables in details {self.all_detailed:.3f}, in details or directory "
            f"{self.all_named:.3f}; all columns where detailed {self.all_columns:.3f}; all documents "
            f"{self.all_documents:.3f}; of gold tables {self.tables_detailed:.3f} detailed, of their columns "
            f"{self.columns_shown:.3f} shown, {self.columns_told:.3f} with facts; {self.details_cost:.0f} tokens of "
            f"details after {self.prefix_cost:.0f}"
        )


def read_view_questions(path: Path) -> list[ViewQuestion]:
    try:
        return TypeAdapter(list[ViewQuestion]).validate_python(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise UserError(f"cannot read the questions of {path}: {error}") from None
    except ValidationError as error:
        raise UserError(f"{path} is not a list of questions: {error.errors()[0]['msg']}") from None


def score_view(asked: ViewQuestion, view: EvidenceView) -> ViewScore:
    tables = [_FILE_ENDING.sub("", table) for table in asked.tables]
    detailed = [table.reference for table in view.tables]
    listed = [entry.reference for entry in view.directory]

    def is_in(table: str, shown: Sequence[str]) -> bool:
        own = (table, *asked.alternatives.get(table, ()))
        return any(is_same_table(each, reference) for each in own for reference in shown)

    not_detailed = tuple(table for table in tables if not is_in(table, detailed))
    columns = [(column, table) for column in asked.columns if (table := _owner(column, tables, detailed))]
    shown = {table.reference: {column.reference for column in table.columns} for table in view.tables}
    not_shown = [column for column, table in columns if not _has_column(column, table, shown)]
    joined = {column for relation in view.relations for column in (*relation.left, *relation.right)}
    told = {
        table.reference: {each.reference for each in table.columns if not is_bare(each) or each.reference in joined}
        for table in view.tables
    }
    bare = [pair[0] for pair in columns if pair[0] not in not_shown and not _has_column(*pair, told)]
    seen = [f"{passage.reference} {passage.title}" for passage in view.passages] + [
        rule.reference for rule in view.rules
    ]
    written = " ".join(seen).lower()
    return ViewScore(
        id=asked.id,
        tables=len(tables),
        detailed=len(tables) - len(not_detailed),
        not_detailed=not_detailed,
        not_named=tuple(table for table in not_detailed if not is_in(table, listed)),
        columns=len(columns),
        not_shown=tuple(not_shown),
        bare=tuple(bare),
        documents=len(asked.documents),
        without_documents=tuple(each for each in asked.documents if each.lower() not in written),
        cost=view.cost,
        prefix_cost=view.prefix_cost,
    )


def summary_of(scores: Sequence[ViewScore]) -> ViewSummary:
    columns = max(1, sum(each.columns for each in scores))
    return ViewSummary(
        questions=len(scores),
        all_detailed=_share([not score.not_detailed for score in scores]),
        all_named=_share([not score.not_named for score in scores]),
        all_columns=_share([not score.not_shown for score in scores if score.columns]),
        all_documents=_share([not score.without_documents for score in scores if score.documents]),
        tables_detailed=sum(score.detailed for score in scores) / max(1, sum(score.tables for score in scores)),
        columns_shown=1 - sum(len(each.not_shown) for each in scores) / columns,
        columns_told=1 - sum(len(each.not_shown) + len(each.bare) for each in scores) / columns,
        details_cost=_share([score.cost - score.prefix_cost for score in scores]),
        prefix_cost=_share([score.prefix_cost for score in scores]),
    )


def is_same_table(gold: str, reference: str) -> bool:
    """Sources and last names agree; a schema may be missing on either side; the slot of a family is anything."""
    wanted, shown = _parts(gold), _parts(reference)
    if not wanted or not shown or wanted[0] != shown[0]:
        return False
    return bool(re.fullmatch(re.escape(shown[-1]).replace(r"\{\}", ".+"), wanted[-1]))


def _parts(name: str) -> list[str]:
    return [part.lower() for part in re.split(r"[./]", name.replace('"', "")) if part]


def _owner(column: str, tables: Sequence[str], detailed: Sequence[str]) -> str | None:
    """The detailed table that a gold column lies in; None where its table is not detailed."""
    own = [table for table in tables if column.lower().startswith(f"{table.lower()}.")]
    return own[0] if own and any(is_same_table(own[0], reference) for reference in detailed) else None


def _has_column(column: str, table: str, shown: Mapping[str, set[str]]) -> bool:
    first = column[len(table) + 1 :].lower().partition(".")[0]
    return any(
        re.split(r"[./\[#]", each[len(reference) + 1 :].replace('"', "").lower(), maxsplit=1)[0] == first
        for reference, columns in shown.items()
        if is_same_table(table, reference)
        for each in columns
    )


def _share(values: Sequence[Any]) -> float:
    return float(sum(values) / len(values)) if values else 1.0
