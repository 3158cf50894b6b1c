"""The arbiter's records: what the question means in terms of this environment, one decision each, typed.

In: the arguments of the arbiter's tool call, and the names of the evidence. Out: records whose every reference is in
the evidence, with notes of what was dropped; and their lines, each under the number by which it can be read alone.
"""

from __future__ import annotations

import copy
import difflib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from coset.answering.quoting import one_line
from coset.routing.views.view import EvidenceView

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


Kind = Literal["field", "join", "filter", "formula", "classify", "extract", "ambiguity", "check", "missing"]
MOST_ROUNDS = 6
"""Dropping a wrong field may show another that is wrong, but not for ever."""
_DEFAULTS: dict[str, Any] = {"shape": {}, "meaning": "", "form": "table"}


class Entry(BaseModel):
    """One record as it is written."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    kind: Kind
    about: Annotated[Text, Field(description="in words")] = ""
    references: Annotated[References, Field(description="names from the evidence")] = []
    rejected: Text = ""
    sql: Text = ""
    options: References = []


class RecordsForm(BaseModel):
    """All that the arbiter gives."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    shape: Shape
    sql: Annotated[Text, Field(description="the statement that answers, whole")] = ""
    records: list[Entry] = []
    open: Annotated[References, Field(description="names, words or SELECTs to see first")] = []
    sure: bool = False


def read_form(arguments: Mapping[str, Any]) -> tuple[RecordsForm | None, list[str]]:
    """The form without the fields that are wrong, and a note for each of those; None when nothing of it says "
    "anything."""
    given: Any = copy.deepcopy(dict(arguments))
    notes: list[str] = []
    for _ in range(MOST_ROUNDS):
        try:
            form = RecordsForm.model_validate(given)
        except ValidationError as error:
            # The last place of a list first, so that the others keep theirs.
            for each in sorted(error.errors(), key=lambda wrong: [str(part) for part in wrong["loc"]], reverse=True):
                notes.append(f"{_place(each['loc'])}: {one_line(each['msg'], 120)}: dropped")
                _drop(given, each["loc"], is_missing=each["type"] == "missing")
            continue
        says_something = form.sql.strip() or form.records or form.open
        return (form if says_something or "shape" in arguments else None), notes
    return None, notes


def _drop(given: Any, place: Sequence[int | str], *, is_missing: bool) -> None:
    """Take out what stands at a place; what is missing gets a default, or takes the entry that lacks it with it."""
    *path, last = place
    inner = given
    for part in path:
        try:
            inner = inner[part]
        except (KeyError, IndexError, TypeError):
            return
    if is_missing and last in _DEFAULTS and isinstance(inner, dict):
        inner[last] = copy.deepcopy(_DEFAULTS[str(last)])
    elif is_missing and path:
        _drop(given, path, is_missing=False)
    elif isinstance(inner, dict):
        inner.pop(last, None)
    elif isinstance(inner, list) and isinstance(last, int) and last < len(inner):
        del inner[last]
    elif path:
        _drop(given, path, is_missing=False)


def _place(place: Sequence[int | str]) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place).lstrip(".")


def typed(form: RecordsForm) -> tuple[Records, list[str]]:
    """The records, each of its kind, and notes of entries that say too little to be one."""
    kinds: dict[str, list[Record]] = {}
    notes = []
    for number, entry in enumerate(form.records):
        key, make = _KINDS[entry.kind]
        if entry.kind in _OF_A_COLUMN and not entry.references and not entry.sql:
            notes.append(f"records[{number}], a {entry.kind}, names no reference: dropped")
            continue
        made = make(entry)
        if made is None:
            notes.append(f"records[{number}], of kind {entry.kind}, needs options: dropped")
        else:
            kinds.setdefault(key, []).append(made)
    queries = [Query(purpose="answer", sql=form.sql)] if form.sql.strip() else []
    kept: dict[str, Any] = {key: records[:MOST_OF_A_KIND] for key, records in kinds.items()}
    return Records(shape=form.shape, queries=queries, sure=form.sure, **kept), notes


def _field(entry: Entry) -> Record:
    return FieldChoice(meaning=entry.about, references=entry.references, expression=entry.sql, rejected=entry.rejected)


def _join(entry: Entry) -> Record:
    return JoinRule(references=entry.references, condition=entry.sql, why=entry.about)


def _filter(entry: Entry) -> Record:
    return Filter(phrase=entry.about, references=entry.references, condition=entry.sql)


def _formula(entry: Entry) -> Record:
    return Formula(name=entry.about, expression=entry.sql, references=entry.references)


def _text_operation(entry: Entry) -> Record | None:
    if not entry.options:
        return None
    operation: Literal["classify", "extract"] = "classify" if entry.kind == "classify" else "extract"
    return TextOperation(operation=operation, references=entry.references, into=entry.options, about=entry.about)


def _ambiguity(entry: Entry) -> Record | None:
    if len(entry.options) < 2:
        return None
    return Ambiguity(about=entry.about, readings=entry.options, references=entry.references)


def _check(entry: Entry) -> Record:
    return Check(what=entry.about, sql=entry.sql, references=entry.references)


def _missing(entry: Entry) -> Record:
    return Missing(what=entry.about or ", ".join(entry.options), words=entry.options)


_KINDS: dict[Kind, tuple[str, Callable[[Entry], Record | None]]] = {
    "field": ("fields", _field),
    "join": ("joins", _join),
    "filter": ("filters", _filter),
    "formula": ("formulas", _formula),
    "classify": ("text_operations", _text_operation),
    "extract": ("text_operations", _text_operation),
    "ambiguity": ("ambiguities", _ambiguity),
    "check": ("checks", _check),
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
        """`more` are other names of what the view has."""
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
        for passage in view.passages:  # A document is called by its file, of which a passage is a section.
            document = passage.reference.partition("#")[0].lower()
            names.setdefault(document, passage.reference)
            names.setdefault(document.rsplit("/", 1)[-1], passage.reference)
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


def resolved(records: Records, names: Names) -> tuple[Records, list[str]]:
    """The records with every reference in its own form and without those that are not in the evidence, with a note for
    each. A record that loses all it stood on goes too, unless it has SQL of its own."""
    notes: list[str] = []
    changed: dict[str, Any] = {}
    for kind in KINDS:
        kept = []
        for number, record in enumerate(getattr(records, kind), start=1):
            unknown = [written for written in record.cited if names.find(written) is None]
            notes += [
                f'{kind} {number} names "{one_line(written, 80)}", which is not in the evidence{names.nearest(written)}'
                for written in unknown
            ]
            found = list(dict.fromkeys(each for written in record.cited if (each := names.find(written))))
            if unknown and not found and not _has_sql(record):
                continue
            update: dict[str, Any] = {"references": found} if record.cited else {}
            if rejected := getattr(record, "rejected", ""):
                update["rejected"] = names.find(rejected) or rejected
            kept.append(record.model_copy(update=update))
        changed[kind] = kept
    return records.model_copy(update=changed), notes


def _has_sql(record: Record) -> bool:
    return any(getattr(record, key, "") for key in ("sql", "condition", "expression"))


def _bare(written: str) -> str:
    return written.replace('"', "").strip().lower()
