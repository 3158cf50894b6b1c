"""The form in which the arbiter gives its records: one short list, each entry with its kind, and the statement.

In: the arguments of the arbiter's one tool call. Out: typed `Records`, and what is wrong with entries that say too
little. One form for all kinds, because every word of a tool's schema is sent with every request. Looks at no reference:
`record_names` does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from coset.answering.records import (
    MOST_OF_A_KIND,
    Ambiguity,
    Check,
    FieldChoice,
    Filter,
    Formula,
    JoinRule,
    Missing,
    Query,
    Record,
    Records,
    References,
    Shape,
    Text,
    TextOperation,
)

Kind = Literal["field", "join", "filter", "formula", "classify", "extract", "ambiguity", "check", "missing"]


class Entry(BaseModel):
    """One record as it is written."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    kind: Kind
    about: Text = ""
    references: References = []
    rejected: Text = ""
    sql: Text = ""
    options: References = []


class RecordsForm(BaseModel):
    """All that the arbiter gives."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    shape: Shape
    sql: Annotated[Text, Field(description="the statement that answers, whole")] = ""
    records: list[Entry] = []
    sure: bool = False


def typed(form: RecordsForm) -> tuple[Records, list[str]]:
    """The records, each of its kind, and what keeps an entry from being one."""
    kinds: dict[str, list[Record]] = {}
    problems = []
    for number, entry in enumerate(form.records):
        key, make = _KINDS[entry.kind]
        if entry.kind in _OF_A_COLUMN and not entry.references:
            problems.append(f"records[{number}], a {entry.kind}, names no reference")
            continue
        made = make(entry)
        if not made:
            problems.append(f"records[{number}], of kind {entry.kind}, needs options")
        kinds.setdefault(key, []).extend(made)
    queries = [Query(purpose="answer", sql=form.sql)] if form.sql.strip() else []
    kept: dict[str, Any] = {key: records[:MOST_OF_A_KIND] for key, records in kinds.items()}
    return Records(shape=form.shape, queries=queries, sure=form.sure, **kept), problems


def _fields(entry: Entry) -> list[Record]:
    return [
        FieldChoice(meaning=entry.about, reference=each, expression=entry.sql, rejected=entry.rejected)
        for each in entry.references
    ]


def _joins(entry: Entry) -> list[Record]:
    return [JoinRule(references=entry.references, condition=entry.sql, why=entry.about)]


def _filters(entry: Entry) -> list[Record]:
    return [Filter(phrase=entry.about, reference=entry.references[0], condition=entry.sql)]


def _formulas(entry: Entry) -> list[Record]:
    return [Formula(name=entry.about, expression=entry.sql, references=entry.references)]


def _text_operations(entry: Entry) -> list[Record]:
    if not entry.options or entry.kind not in {"classify", "extract"}:
        return []
    operation: Literal["classify", "extract"] = "classify" if entry.kind == "classify" else "extract"
    return [TextOperation(operation=operation, reference=entry.references[0], into=entry.options)]


def _ambiguities(entry: Entry) -> list[Record]:
    if len(entry.options) < 2:
        return []
    return [Ambiguity(about=entry.about, readings=entry.options, references=entry.references)]


def _checks(entry: Entry) -> list[Record]:
    return [Check(what=entry.about, sql=entry.sql, references=entry.references)]


def _missing(entry: Entry) -> list[Record]:
    return [Missing(what=entry.about or ", ".join(entry.options), words=entry.options)]


_KINDS: dict[Kind, tuple[str, Callable[[Entry], list[Record]]]] = {
    "field": ("fields", _fields),
    "join": ("joins", _joins),
    "filter": ("filters", _filters),
    "formula": ("formulas", _formulas),
    "classify": ("text_operations", _text_operations),
    "extract": ("text_operations", _text_operations),
    "ambiguity": ("ambiguities", _ambiguities),
    "check": ("checks", _checks),
    "missing": ("missing", _missing),
}
_OF_A_COLUMN = {"field", "join", "filter", "classify", "extract"}
