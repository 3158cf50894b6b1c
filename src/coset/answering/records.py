"""The arbiter's records: what the question means in terms of this environment, one decision each, typed.

In: the arguments of one tool call. Out: `Records`, or what is wrong with them, record by record. Every reference must
be in the view that the arbiter saw: one that is not is refused here, so nothing invented gets any further.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from coset.routing.view import EvidenceView

MOST_OF_A_KIND = 12
MOST_QUERIES = 3

# Small models leave out the list around a single thing, and write null for nothing.
References = Annotated[
    list[str], BeforeValidator(lambda value: [] if value is None else [value] if isinstance(value, str) else value)
]
Text = Annotated[str, BeforeValidator(lambda value: "" if value is None else value)]


class Record(BaseModel):
    """One decision. Unknown keys are refused: a model that invents a key meant something by it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @property
    def cited(self) -> tuple[str, ...]:
        """The references it names."""
        single = [getattr(self, key, "") for key in ("reference", "rejected")]
        return tuple(each for each in [*single, *getattr(self, "references", [])] if each)


class Shape(Record):
    """What the answer looks like, pinned before anything is computed."""

    meaning: Annotated[str, Field(description="the question restated, every term resolved")]
    form: Literal["value", "row", "list", "table", "text"]
    grain: Annotated[Text, Field(description="one row per what")] = ""
    columns: Annotated[References, Field(description="columns of the answer, in order")] = []
    unit: Annotated[Text, Field(description="unit and rounding")] = ""
    order: Annotated[Text, Field(description="order, limit, ties")] = ""


class FieldChoice(Record):
    """Which column a word of the question means, and which one it does not."""

    meaning: str
    reference: str
    expression: Annotated[Text, Field(description="SQL over the column, cleaned where it is dirty")] = ""
    rejected: Annotated[Text, Field(description="reference of the strongest competitor")] = ""
    why: Text = ""


class JoinRule(Record):
    """How two tables are joined."""

    references: Annotated[References, Field(description="the relation, or the columns joined", min_length=1)]
    condition: Annotated[str, Field(description="ON condition")]
    why: Text = ""


class Filter(Record):
    """Which rows count: a phrase of the question as a condition over stored values."""

    phrase: str
    reference: str
    condition: Annotated[str, Field(description="SQL condition, values exactly as stored")]


class Formula(Record):
    """How a number is made."""

    name: str
    expression: str
    references: References = []


class TextOperation(Record):
    """A fact that stands only in free text."""

    operation: Literal["classify", "extract"]
    reference: str
    into: Annotated[References, Field(description="categories, or fields to extract", min_length=1)]


class Ambiguity(Record):
    """A question that can be read in more than one way."""

    about: str
    readings: Annotated[list[str], Field(description="likeliest first", min_length=2)]
    references: References = []


class Check(Record):
    """Something to make sure of before answering."""

    what: str
    references: References = []


class Query(Record):
    """A statement that is ready to run."""

    purpose: str
    sql: str


class Records(BaseModel):
    """All decisions of one arbiter call."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    shape: Shape
    fields: Annotated[list[FieldChoice], Field(max_length=MOST_OF_A_KIND)] = []
    joins: Annotated[list[JoinRule], Field(max_length=MOST_OF_A_KIND)] = []
    filters: Annotated[list[Filter], Field(max_length=MOST_OF_A_KIND)] = []
    formulas: Annotated[list[Formula], Field(max_length=MOST_OF_A_KIND)] = []
    text_operations: Annotated[list[TextOperation], Field(max_length=MOST_OF_A_KIND)] = []
    ambiguities: Annotated[list[Ambiguity], Field(max_length=MOST_OF_A_KIND)] = []
    checks: Annotated[list[Check], Field(max_length=MOST_OF_A_KIND)] = []
    queries: Annotated[
        list[Query],
        Field(max_length=MOST_QUERIES, description="only when the evidence suffices; run before the analyst starts"),
    ] = []

    def each(self) -> Iterator[tuple[str, Record]]:
        """Every record with the place it has in the call: `fields[0]`."""
        yield "shape", self.shape
        for kind in KINDS:
            for number, record in enumerate(getattr(self, kind)):
                yield f"{kind}[{number}]", record

    @property
    def cited(self) -> frozenset[str]:
        return frozenset(reference for _, record in self.each() for reference in record.cited)


KINDS = tuple(name for name in Records.model_fields if name != "shape")


@dataclass(frozen=True)
class Names:
    """Every way in which the things of a view may be written, and the one reference each means."""

    references: dict[str, str]

    @classmethod
    def of(cls, view: EvidenceView) -> Names:
        names = {reference.lower(): reference for reference in view.references}
        for table in view.tables:
            names.setdefault(_bare(table.sql_name), table.reference)
            for column in table.columns:
                inner = column.reference.removeprefix(table.reference).lstrip(".")
                for written in (column.expression, inner, inner.rsplit("#", 1)[-1]):
                    names.setdefault(_bare(f"{table.sql_name}.{written}"), column.reference)
        short = [(_bare(name).rsplit(".", 1)[-1], reference) for name, reference in names.items()]
        counted = Counter(name for name, _ in set(short))
        for name, reference in short:
            if counted[name] == 1:  # A name that only one thing of the view has needs no table before it.
                names.setdefault(name, reference)
        return cls(names)

    def find(self, written: str) -> str | None:
        """The reference that is meant, by its own name or by its name in SQL."""
        return self.references.get(written.strip().lower()) or self.references.get(_bare(written))

    def nearest(self, written: str) -> str:
        near = difflib.get_close_matches(written.lower(), list(self.references), n=1, cutoff=0.5)
        return f"; nearest: {self.references[near[0]]}" if near else ""


def resolved(records: Records, view: EvidenceView) -> tuple[Records, tuple[str, ...]]:
    """The records with every reference in its own form, without those that name anything outside the view; and what
    was wrong with each of those."""
    names = Names.of(view)
    problems: list[str] = []
    changed: dict[str, Any] = {}
    for kind in KINDS:
        kept = []
        for number, record in enumerate(getattr(records, kind)):
            wrong = [
                f'{kind}[{number}] names "{written}", which is not in the evidence{names.nearest(written)}'
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


def records_text(records: Records) -> str:
    """The records for the agent, one line each, with the number by which it can be recovered."""
    return "\n".join(f"R{number} {line}" for number, line in enumerate(_lines(records), start=1))


def record_text(records: Records, written: str) -> str | None:
    """One record by its number: `R3`."""
    lines = _lines(records)
    number = int(written[1:]) if written[:1] in "Rr" and written[1:].isdecimal() else 0
    return f"R{number} {lines[number - 1]}" if 1 <= number <= len(lines) else None


def _lines(records: Records) -> list[str]:
    return [f"{place.partition('[')[0]}: {_line(record)}" for place, record in records.each()]


def _line(record: Record) -> str:
    content = record.model_dump(exclude_defaults=True)
    return "; ".join(f"{key}: {_plain(value)}" for key, value in content.items())


def _plain(value: object) -> str:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return " / ".join(str(item) for item in value)
    return " ".join(str(value).split())


def _bare(written: str) -> str:
    return written.replace('"', "").strip().lower()
