"""Looking things up: all that is known of one thing by its reference, or what some words are found in.

In: a reference of a table, column, nested path, facet, relation, document or source, as a view names it or in short.
Out: a `Recovered`: titled lines in the view's language, and how many lines did not fit. What a view left out is got
back here. What the state masked stays masked, and a schema-only source shows no value. Words are searched in names,
readings, kept values, codes and documents (`search`): what has most of them first, a clear hit in full.
"""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from coset.errors import UserError
from coset.routing.anchors.spelling import stem
from coset.routing.objects.data_as_text import literal, one_line, percent, runnable
from coset.routing.objects.facts import ColumnFacts, DocumentFacts, RelationFacts
from coset.routing.objects.knowledge import Section
from coset.routing.objects.objects_of_state import StateObjects
from coset.routing.search.words import COMMON
from coset.routing.views.budgets import RECOVERED, cost, lines_cost
from coset.routing.views.details import Width, view_relation
from coset.routing.views.parts import ViewParts
from coset.routing.views.passages import excerpt
from coset.routing.views.text import column_line, join_line, table_lines
from coset.state import EvidenceState
from coset.state import search as stored
from coset.state.names import Names, names_of
from coset.state.read_model import ReadModel
from coset.state.relations import relation_of

LEAST_BUDGET = 60
SHOWN_MEMBERS = 200
LETTERS_A_LINE = 200
Part = tuple[str, list[str]]


@dataclass(frozen=True)
class Recovered:
    """What is known of one thing. `left_out` lines did not fit the budget."""

    reference: str
    name: str
    """As SQL has it; the reference of what has no such name."""
    kind: str
    sections: tuple[tuple[str, tuple[str, ...]], ...]
    budget: int
    cost: int
    left_out: int

    @property
    def text(self) -> str:
        lines = [f"{self.kind.upper()} {one_line(self.name, 200)}"]
        for title, content in self.sections:
            lines += [title, *(f"  {line}" for line in content)]
        if self.left_out:
            lines.append(more(self.left_out))
        return "\n".join(lines) + "\n"


def more(left_out: int) -> str:
    return f"and {left_out:,} more lines: give a larger budget"


def recover(objects: StateObjects, written: str, budget: int = RECOVERED) -> Recovered:
    """All that is known of what `written` refers to, within the budget."""
    wanted = written.strip()
    if not wanted:
        raise UserError("nothing to recover: give a reference, such as one that a view shows in brackets")
    relations = {relation.reference: relation for relation in objects.relations}
    if wanted in relations:
        return bounded(wanted, "join", _relation(objects, relations[wanted]), budget)
    with objects.reading() as state:
        documents = [each for each in objects.documents([wanted]) if each.kind != "comment"]
        if documents and wanted not in objects.tables:
            return bounded(wanted, "document", [_document(each) for each in documents], budget)
        if sections := sections_of(objects, wanted):
            return bounded(wanted, "document", [_section(each) for each in sections], budget)
        known = names_of(state)
        reference = known.resolve(wanted)
        name = known.in_sql(reference)
        if reference in objects.sources:
            return bounded(reference, "source", _source(objects, reference), budget)
        if reference in objects.tables:
            return bounded(reference, "table", _table(objects, reference), budget, name)
        table = objects.table_of(reference)
        column = next((each for each in objects.columns(table or "") if each.reference == reference), None)
        if column is None:
            raise UserError(f"nothing is known of '{written}'")
        return bounded(reference, column.kind, _column(objects, column), budget, name)


def bounded(reference: str, kind: str, sections: Sequence[Part], budget: int, name: str = "") -> Recovered:
    """Of each section in order as many lines as the budget still holds; the rest is counted."""
    if budget < LEAST_BUDGET:
        raise UserError(f"a budget of {budget} tokens is too small: give at least {LEAST_BUDGET}")
    name = name or reference
    spent = lines_cost([f"{kind.upper()} {one_line(name, 200)}", more(9_999)])
    kept: list[tuple[str, tuple[str, ...]]] = []
    left_out = 0
    for title, lines in sections:
        if not lines:
            continue
        taken: list[str] = []
        heading = lines_cost([title])
        for line in lines:
            price = cost("  " + line) + 1 + (0 if taken else heading)
            if spent + price > budget:
                break
            taken.append(line)
            spent += price
        left_out += len(lines) - len(taken)
        if taken:
            kept.append((title, tuple(taken)))
    found = Recovered(reference, name, kind, tuple(kept), budget, 0, left_out)
    return Recovered(reference, name, kind, tuple(kept), budget, cost(found.text), left_out)


def _source(objects: StateObjects, name: str) -> list[Part]:
    source = objects.sources[name]
    facts = [f"{source.kind}, {source.tables:,} tables" + (", schema only: no values" if source.schema_only else "")]
    facts += [f"problem: {one_line(source.problem, 300)}"] if source.problem else []
    tables = [
        f"{runnable(table.sql_name)} [{one_line(table.reference, 200)}]"
        + (f", {table.rows:,} rows" if table.rows is not None else "")
        for table in objects.tables.values()
        if table.source == name
    ]
    return [("FACTS", facts), *_written(objects, name), ("TABLES", tables)]


def _table(objects: StateObjects, reference: str) -> list[Part]:
    draft = _draft(objects)
    table = objects.tables[reference]
    columns = objects.columns(reference)
    lines = [column_line(draft.view_column(each, 0.0, (), "full"), reference).strip() for each in columns]
    facts = [line.strip() for line in table_lines(draft.table(reference, (), described=True))]
    facts += [f"primary key: {', '.join(table.primary_key)}"] if table.primary_key else []
    members = list(table.family.members) if table.family else []
    shown = ", ".join(runnable(name) for name in members[:SHOWN_MEMBERS])
    rest = f" and {len(members) - SHOWN_MEMBERS:,} more" if len(members) > SHOWN_MEMBERS else ""
    return [
        ("FACTS", facts),
        *_written(objects, reference),
        ("COLUMNS", [line for line, each in zip(lines, columns, strict=True) if each.kind == "column"]),
        ("JOINS", _joins(objects, objects.relations_of.get(reference, ()))),
        ("PATHS AND FACETS", [line for line, each in zip(lines, columns, strict=True) if each.kind != "column"]),
        ("MEMBERS", _wrapped(shown + rest) if members else []),
    ]


def _column(objects: StateObjects, column: ColumnFacts) -> list[Part]:
    draft = _draft(objects)
    facts = [column_line(draft.view_column(column, 0.0, (), "full"), column.table).strip()]
    roles = []
    for coordinate, role in column.roles.items():
        runner_up = f"{role.runner_up} {role.runner_up_membership:.3f}"
        roles.append(f"{coordinate}: {role.identity} {role.membership:.3f}, then {runner_up}")
        roles += [f"  for: {one_line(reason, 200)}" for reason in role.support]
        roles += [f"  against: {one_line(reason, 200)}" for reason in role.opposition]
    dirt = [
        f"{each.kind} {percent(each.share)}" + (f": {one_line(each.detail, 300)}" if each.detail else "")
        + (f", clean: {runnable(each.expression)}" if each.expression else "")
        for each in column.cleaning
    ]  # fmt: skip
    inner = [
        column_line(draft.view_column(each, 0.0, (), "full"), column.table).strip()
        for each in objects.columns(column.table)
        if each.kind != "column" and each.reference != column.reference and each.reference.startswith(column.reference)
    ]
    joined = [
        relation
        for relation in objects.relations_of.get(column.table, ())
        if column.reference in (*relation.left_columns, *relation.right_columns)
    ]
    table = objects.tables[column.table]
    return [
        ("FACTS", [f"in {runnable(table.sql_name)} [{one_line(column.table, 200)}]", *facts]),
        *_written(objects, column.reference),
        ("VALUES", _values(column)),
        ("DIRT", dirt),
        ("ROLE", roles),
        ("JOINS", _joins(objects, joined)),
        ("PATHS AND FACETS", inner),
    ]


def _values(column: ColumnFacts) -> list[str]:
    group = column.values
    if group is None:
        return []
    found = [f"{'NULL' if value is None else literal(value, 200)} {count:,}" for value, count in group.values]
    return found if group.complete else [*found, f"the commonest of {group.distinct:,}"]


def _relation(objects: StateObjects, relation: RelationFacts) -> list[Part]:
    with objects.reading() as state:
        row = relation_of(state, relation.reference)
    unmatched: list[str] = []
    for side in ("left", "right"):
        hidden = _is_hidden(objects, relation, side)
        held = () if row is None else row.unmatched_left if side == "left" else row.unmatched_right
        values = () if hidden else held
        unmatched += [f"{side}: {', '.join(literal(str(value)) for value in values)}"] if values else []
    return [
        ("CONDITION", _joins(objects, [relation])),
        ("COLUMNS", [f"left: {', '.join(relation.left_columns)}", f"right: {', '.join(relation.right_columns)}"]),
        ("WITHOUT A PARTNER", unmatched),
        ("REASONS", [one_line(str(reason), 300) for reason in (row.reasons if row else ())]),
    ]


def _is_hidden(objects: StateObjects, relation: RelationFacts, side: str) -> bool:
    table = relation.left_table if side == "left" else relation.right_table
    references = relation.left_columns if side == "left" else relation.right_columns
    known = {each.reference: each for each in objects.columns(table)}
    personal = any(known[each].personal for each in references if each in known)
    return personal or (table in objects.tables and objects.tables[table].schema_only)


def sections_of(objects: StateObjects, written: str) -> list[Section]:
    """The sections of a document by its reference or file name, or one section by its reference."""
    wanted = written.strip().strip("[]").lower()
    return [
        section
        for section in objects.knowledge.sections
        if wanted == section.reference.lower() or f"/{section.document.lower()}".endswith(f"/{wanted}")
    ]


def _section(section: Section) -> Part:
    title = " / ".join(section.titles) or section.document
    status = f" ({section.status})" if section.status else ""
    return f"{literal(one_line(title, 120), 120)} [{section.reference}]{status}, word for word", _quoted(section.text)


def _document(document: DocumentFacts) -> Part:
    title = f"{document.kind} {literal(one_line(document.title, 120), 120)} ({document.provenance}), word for word"
    return title, _quoted(document.text)


def _written(objects: StateObjects, reference: str) -> list[Part]:
    """What people and dictionaries wrote of it: people first."""
    said = [f"> {line}" for note in objects.notes.get(reference, ()) for line in _wrapped(note)]
    with objects.reading() as state:
        rows = [row for row in ReadModel(state).about(reference) if row.kind != "passage"]
    rows.sort(key=lambda row: row.provenance != "stated")
    written = [line for row in rows for line in [f"{row.kind} ({row.provenance})", *_quoted(row.text or "")]]
    return [("SAID BY A PERSON", said), ("WRITTEN OF IT", written)]


def _joins(objects: StateObjects, relations: Sequence[RelationFacts]) -> list[str]:
    draft = _draft(objects)
    found = []
    for relation in sorted(relations, key=lambda each: (-each.confidence, each.reference)):
        names = draft.sql_names([relation.left_table, relation.right_table])
        line = join_line(view_relation(relation, names, in_plan=False)).strip()
        found.append(f"{line}, {relation.provenance}, {relation.reference}")
    return found


def _quoted(text: str) -> list[str]:
    return [f"> {line}" for paragraph in text.splitlines() if paragraph.strip() for line in _wrapped(paragraph)]


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(one_line(text, max(1, len(text))), LETTERS_A_LINE) or []


def _draft(objects: StateObjects) -> ViewParts:
    return ViewParts(objects, Width(values=400, description=600, whole=True), {}, {}, shortens=False)


MOST_WORDS, MOST_FOUND, LETTERS = 12, 60, 300
MOST_PARTIAL = 12
"""So many names are told that hold only some of the words, where none holds all."""
MOST_DOCUMENTS, NEARLY_ALL = 8, 0.7
MOST_CODES = 12
SHORT = 4
"""A word of fewer letters counts only where a word of the name begins with it."""
_WORD = re.compile(r"[^\W_]+")


def search(objects: StateObjects, words: str, budget: int = RECOVERED) -> Recovered:
    """What the words are found in. Raises `UserError` when there are none to search for."""
    wanted = _wanted(words)
    hidden = {table.reference for table in objects.tables.values() if table.schema_only}
    with objects.reading() as state:
        known = names_of(state)
        whole, partial, clear = _found_names(state, wanted, objects, known)
        said = "NO NAME HOLDS ALL OF THESE; OF SOME" if partial else "NO NAME HOLDS THESE"
        sections = [
            ("NAMES", whole) if whole else (said, partial or ["none"]),
            ("VALUES", _held_values(state, wanted, words.strip().lower(), hidden, known)),
            ("CODES", _found_codes(state, wanted, hidden, known)),
            ("DOCUMENTS", _found_documents(state, wanted, hidden)),
        ]
    named = [_section(each) for each in sections_of(objects, words)]
    if named:  # A file name that is said means the file, in force or not.
        sections = [*named, *sections]
    elif not whole and not partial and not any(lines for _, lines in sections[1:]):
        sections = [("NOTHING FOUND", ["no name, reading, kept value, code or document holds any of these words"])]
    elif clear:
        told = recover(objects, clear, max(LEAST_BUDGET, budget // 2))
        sections = [*sections[:1], (f"{told.kind.upper()} {told.name}", _lines(told)), *sections[1:]]
    if hidden:
        sections.append(("NOT SEARCHED", [f"values of {len(hidden)} tables of sources that are schema only"]))
    return bounded(" ".join(wanted), "search", sections, budget)


def _lines(told: Recovered) -> list[str]:
    return [line for title, content in told.sections for line in (title, *(f"  {each}" for each in content))]


def holding(objects: StateObjects, words: str) -> frozenset[str]:
    """References of what is named by all the words, and of columns that hold them as a value, whole."""
    wanted = _wanted(words)
    hidden = sorted(table.reference for table in objects.tables.values() if table.schema_only)
    with objects.reading() as state:
        named = stored.named_by_all(state, _patterns(wanted))
        held = stored.columns_with_value(state, words.strip().lower(), hidden)
    return frozenset((*named, *held))


def _wanted(words: str) -> list[str]:
    """The words that tell something; where none does, all."""
    every = list(dict.fromkeys(word.lower() for word in _WORD.findall(words[:1_000])))
    if not every:
        raise UserError("nothing to search for: give a word or two")
    return ([word for word in every if word not in COMMON and word != "no"] or every)[:MOST_WORDS]


def _patterns(wanted: list[str]) -> list[str]:
    """One for each word, of names: it may be written with another ending, and within a longer one."""
    stems = [stem(word) for word in wanted]
    return [word if len(word) >= SHORT else f" {word}" for word in stems]


def _found_names(
    state: EvidenceState, wanted: list[str], objects: StateObjects, known: Names
) -> tuple[list[str], list[str], str]:
    """Names that hold all the words; where none does, those that hold some; and the one thing that is meant, where a
    table alone holds all of them, or nothing else does."""
    rows = stored.names(state, _patterns(wanted), MOST_FOUND)
    rows.sort(key=lambda row: _is_copy(objects, row.reference))
    whole = [row for row in rows if row.hits == len(wanted)]
    lines = [
        f"{row.kind} {one_line(known.in_sql(row.reference), 200)} {row.type or ''}".rstrip()
        + (f" ({one_line(row.reading, 60)})" if row.reading else "")
        for row in whole or rows
    ]
    tables = [row.reference for row in whole if row.kind == "table"]
    own = tables if len(tables) == 1 else [row.reference for row in whole] if len(whole) == 1 else []
    return (lines, [], own[0] if own else "") if whole else ([], lines[:MOST_PARTIAL], "")


def _is_copy(objects: StateObjects, reference: str) -> bool:
    table = objects.table_of(reference)
    return table is not None and objects.knowledge.original(table) != table


def _found_codes(state: EvidenceState, wanted: list[str], hidden: set[str], known: Names) -> list[str]:
    """Codes whose labels hold the words."""
    rows = stored.codes(state, wanted, sorted(hidden), MOST_CODES)
    return [
        f"{one_line(known.in_sql(row.code_reference), 200)} = {literal(row.code, 60)}: {one_line(row.label, 120)}"
        for row in rows
    ]


def _held_values(state: EvidenceState, wanted: list[str], phrase: str, hidden: set[str], known: Names) -> list[str]:
    """Values of value groups that hold the words as words: whole phrases first, then those with most of them."""
    rows = stored.values(state, wanted, phrase, sorted(hidden), MOST_FOUND)
    return [
        f"{one_line(known.in_sql(row.column_reference), 200)} = {literal(row.value, 120)}, {row.count:,} rows"
        for row in rows
    ]


def _found_documents(state: EvidenceState, wanted: list[str], hidden: set[str]) -> list[str]:
    """Documents that hold the words as words, or are called by them, those with most of them first; where one has
    nearly all, none that has fewer: any one of several stands in half of all prose."""
    rows = stored.documents(state, wanted, sorted(hidden), MOST_DOCUMENTS)
    enough = math.ceil(NEARLY_ALL * len(wanted))
    rows = [row for row in rows if row.hits >= enough] or rows
    lines = []
    for row in rows:
        piece, _ = excerpt(row.text or "", set(wanted), (), LETTERS)
        lines.append(f"{one_line(row.reference, 200)}: {literal(one_line(piece, LETTERS), LETTERS)}")
    return lines
