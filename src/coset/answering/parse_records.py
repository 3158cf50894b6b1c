"""From the arbiter's tool call to typed records whose references are all in the view.

In: the arguments of the call, and the view that the arbiter saw. Out: `Records`, and what is wrong with entries that
say too little or name something outside the view. One form serves all kinds of record, because every word of a tool's
schema is sent with every request.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from coset.answering.records import (
    KINDS,
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
from coset.routing.view import EvidenceView

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


@dataclass(frozen=True)
class Names:
    """Every way in which the things of a view may be written, and the one reference each means."""

    references: dict[str, str]
    more: Mapping[str, str]

    @classmethod
    def of(cls, view: EvidenceView, more: Mapping[str, str]) -> Names:
        names = {reference.lower(): reference for reference in view.references}
        for table in view.tables:
            names.setdefault(_bare(table.sql_name), table.reference)
            if table.family:  # The column that tells its members apart stands for the family itself.
                for told in ("table_name", "schema_name"):
                    names.setdefault(_bare(f"{table.sql_name}.{told}"), table.reference)
                    names.setdefault(_bare(f"{table.reference}.{told}"), table.reference)
            for column in table.columns:
                inner = column.reference.removeprefix(table.reference).lstrip(".")
                for written in (column.expression, inner, inner.rsplit("#", 1)[-1]):
                    names.setdefault(_bare(f"{table.sql_name}.{written}"), column.reference)
        short = [(_bare(name).rsplit(".", 1)[-1], reference) for name, reference in names.items()]
        counted = Counter(name for name, _ in set(short))
        for name, reference in short:
            if counted[name] == 1:  # A name that only one thing of the view has needs no table before it.
                names.setdefault(name, reference)
        return cls(names, more)

    def find(self, written: str) -> str | None:
        """The reference that is meant, by its own name or by its name in SQL."""
        bare = _bare(written)
        return (
            self.references.get(written.strip().lower())
            or self.references.get(bare)
            or self.references.get(bare.strip("[]"))
            or self.more.get(bare)
            or self.more.get(bare.rsplit(".", 1)[-1])
        )

    def nearest(self, written: str) -> str:
        near = difflib.get_close_matches(written.lower(), list(self.references), n=1, cutoff=0.5)
        return f"; nearest: {self.references[near[0]]}" if near else ""


def resolved(
    records: Records, view: EvidenceView, more: Mapping[str, str] | None = None
) -> tuple[Records, tuple[str, ...]]:
    """The records with every reference in its own form, without those that name anything outside the view; and what
    was wrong with each of those. `more` are other names of things that the view has."""
    names = Names.of(view, more or {})
    problems: list[str] = []
    changed: dict[str, Any] = {}
    for kind in KINDS:
        kept = []
        for number, record in enumerate(getattr(records, kind)):
            wrong = [
                f'{kind} {number + 1} names "{written}", which is not in the evidence{names.nearest(written)}'
                for written in record.cited
                if names.find(written) is None
            ]
            problems += wrong
            if not wrong:
                kept.append(_with_references(record, names))
        changed[kind] = kept
    return records.model_copy(update=changed), tuple(problems)


def _with_references(record: Record, names: Names) -> Record:
    update: dict[str, Any] = {
        key: names.find(getattr(record, key)) or "" for key in ("reference", "rejected") if getattr(record, key, "")
    }
    if listed := getattr(record, "references", []):
        update["references"] = [names.find(written) or written for written in listed]
    return record.model_copy(update=update)


def _bare(written: str) -> str:
    return written.replace('"', "").strip().lower()
