"""The arbiter's records: what the question means in terms of this environment, one decision each, typed.

In: nothing; these are the types that `parse_records` fills and the agent reads. Out: the records as lines, each under
the number by which it can be read alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

MOST_OF_A_KIND = 12
MOST_QUERIES = 1

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
        return tuple(getattr(self, "references", ()))


class Shape(Record):
    """What the answer looks like, pinned before anything is computed."""

    meaning: str
    form: Literal["value", "row", "list", "table", "text"]
    grain: Text = ""
    columns: References = []
    unit: Text = ""
    order: Text = ""


class FieldChoice(Record):
    """Which column a word of the question means, and which one it does not."""

    meaning: str
    references: References = []
    expression: Text = ""
    rejected: Text = ""
    """The strongest competitor: its reference, or words."""


class JoinRule(Record):
    """How two tables are joined."""

    references: References = []
    """The relation, or the columns joined."""
    condition: str
    why: Text = ""


class Filter(Record):
    """Which rows count: a phrase of the question as a condition over stored values."""

    phrase: str
    references: References = []
    condition: str
    """SQL, values exactly as stored."""


class Formula(Record):
    """How a number is made."""

    name: str
    expression: str
    references: References = []


class TextOperation(Record):
    """A fact that stands only in free text."""

    operation: Literal["classify", "extract"]
    references: References = []
    into: References
    """Categories, or fields to extract."""
    about: Text = ""


class Ambiguity(Record):
    """A question that can be read in more than one way."""

    about: str
    readings: list[str]
    """The likeliest first."""
    references: References = []


class Check(Record):
    """Something to make sure of: in words, or as a statement that finds rows when something is wrong."""

    what: str
    sql: Text = ""
    references: References = []


class Missing(Record):
    """Something that the question needs and the evidence lacks, and words to search for it by."""

    what: str
    words: References = []


class Query(Record):
    """A statement that is ready to run."""

    purpose: str
    sql: str


class Records(BaseModel):
    """All decisions of one arbiter call. `sure` says that whatever rows its statement gives are the answer; without a
    statement, that what is missing keeps the data from answering."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    shape: Shape
    fields: Annotated[list[FieldChoice], Field(max_length=MOST_OF_A_KIND)] = []
    joins: Annotated[list[JoinRule], Field(max_length=MOST_OF_A_KIND)] = []
    filters: Annotated[list[Filter], Field(max_length=MOST_OF_A_KIND)] = []
    formulas: Annotated[list[Formula], Field(max_length=MOST_OF_A_KIND)] = []
    text_operations: Annotated[list[TextOperation], Field(max_length=MOST_OF_A_KIND)] = []
    ambiguities: Annotated[list[Ambiguity], Field(max_length=MOST_OF_A_KIND)] = []
    checks: Annotated[list[Check], Field(max_length=MOST_OF_A_KIND)] = []
    missing: Annotated[list[Missing], Field(max_length=MOST_OF_A_KIND)] = []
    queries: Annotated[list[Query], Field(max_length=MOST_QUERIES)] = []
    sure: bool = False

    def each(self) -> Iterator[tuple[str, Record]]:
        """Every record with the place it has in the call: `fields[0]`."""
        yield "shape", self.shape
        for kind in KINDS:
            for number, record in enumerate(getattr(self, kind)):
                yield f"{kind}[{number}]", record

    def each_decision(self) -> Iterator[Record]:
        """Every record but the shape."""
        return (record for place, record in self.each() if place != "shape")

    @property
    def cited(self) -> frozenset[str]:
        return frozenset(reference for _, record in self.each() for reference in record.cited)


KINDS = tuple(name for name in Records.model_fields if name not in {"shape", "sure"})


def records_text(records: Records) -> str:
    """The records for the agent, one line each, with the number by which it can be recovered. The statement is not
    among them: it is shown with what it gave."""
    lines = [(number, line) for number, line in enumerate(_lines(records), start=1) if not line.startswith("queries")]
    return "\n".join(f"R{number} {line}" for number, line in lines)


def record_text(records: Records, written: str) -> str | None:
    """One record by its number: `R3`."""
    lines = _lines(records)
    number = int(written[1:]) if written[:1] in "Rr" and written[1:].isdecimal() else 0
    return f"R{number} {lines[number - 1]}" if 1 <= number <= len(lines) else None


def _lines(records: Records) -> list[str]:
    return [f"{place.partition('[')[0]}: {_line(record)}" for place, record in records.each()]


def _line(record: Record) -> str:
    content = record.model_dump(exclude_defaults=True)
    return "; ".join(f"{key}: {_plain(value)}" for key, value in content.items() if value not in ("", []))


def _plain(value: object) -> str:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return " / ".join(str(item) for item in value)
    return " ".join(str(value).split())
