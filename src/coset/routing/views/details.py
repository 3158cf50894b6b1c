"""How much of an object is shown: the same column or table in full, in short, or by name only.

In: facts of the state. Out: `ViewColumn`, `ViewTable` and `ViewRelation` parts as the view holds them. What saves a
query comes first at every depth: values that can be filtered by, ranges, and expressions that clean. Knows no budget.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from coset.evidence.column_expressions import column_kind
from coset.routing.objects.data_as_text import CUT, SHOWN, literal, one_line, runnable
from coset.routing.objects.facts import ColumnFacts, RelationFacts, RoleFacts, TableFacts
from coset.routing.objects.knowledge import CodeSet
from coset.routing.objects.objects_of_state import StateObjects
from coset.routing.objects.shorthands import Shorthands
from coset.routing.objects.sql_names import equality, qualified
from coset.routing.views.view import Cleaning, Role, ViewColumn, ViewRelation, Why
from coset.sql_text import name, table_name

Depth = Literal["name", "short", "full"]
DEPTHS: tuple[Depth, ...] = ("name", "short", "full")
SHORT_VALUES, SHORT_DESCRIPTION, SHORT_READING, SHORT_CODES = 80, 80, 40, 320
MOST_EXPRESSION = 1_500
"""An expression longer than this is not shown, never cut; it can be recovered."""
RARE_EXPRESSION = 100
FEW, FEW_ROOM = 30, 2
"""So few values are listed whole, if that takes no more than so many times the room of others."""
PROSE, PROSE_SHOWN = 80.0, 150
"""A column whose texts are longer than this on average is prose; so much of a text shows how it is written."""
OTHER = "other"
_SEEN = re.compile(r"of its samples are|values? in [\d,]+ rows|occurs twice|its values are sentences|^it is a key$")
_DAY = 10
_DATED = re.compile(r"\d{4}-\d{2}")
_TOLD_BY_VALUES = frozenset({"constant", "empty"})
_TOLD_BY_EXPRESSION = frozenset({"date_as_text", "mixed_date_formats", "padding", "stray_characters"})
"""Kinds of dirt of which the expression that cleans it tells all: the formats, the letters."""
_SHORT_DIRT = 0.01
"""Dirt of fewer rows than this is told in full only."""


@dataclass(frozen=True)
class Width:
    """How many letters the parts of a full column may take."""

    values: int = 240
    description: int = 200
    whole: bool = False
    """Whether everything is told, as where one thing is looked up: views leave out what a reader can write himself."""


def view_column(
    column: ColumnFacts,
    why: tuple[Why, ...],
    score: float,
    depth: Depth,
    width: Width,
    anchored: Sequence[str] = (),
    shorthands: Shorthands | None = None,
    codes: CodeSet | None = None,
) -> ViewColumn:
    """A column at some depth. `anchored` are stored values that the question named: they are always shown. `codes` are
    told in the prefix already."""
    if depth == "name" and column.kind == "column":
        reading = one_line(column.reading, SHORT_READING)
        return ViewColumn(column.reference, column.kind, column.expression, column.type, why, score, reading=reading)
    full = depth == "full"
    said = one_line(column.said, width.description)
    described = one_line(column.description, width.description if full else SHORT_DESCRIPTION)
    if described and described in column.reading and not width.whole:
        described = ""
    labelled = _labelled(column, anchored)
    return ViewColumn(
        reference=column.reference,
        kind=column.kind,
        expression=column.expression,
        type=column.type,
        why=why,
        score=score,
        entity=_role(column.roles.get("entity"), reasons=full),
        attribute=_role(column.roles.get("attribute"), reasons=full),
        description=_description(said, described, column, full=full),
        reading=one_line(column.reading, width.description if full else SHORT_READING),
        codes=(
            _codes_named(column, codes)
            if codes is not None
            else _codes(column, labelled, max(width.values, SHORT_CODES) if full else SHORT_CODES, whole=width.whole)
        ),
        values=(
            _unlabelled(column, codes.labels if codes is not None else labelled)
            if (labelled or codes) and column.values is not None and column.values.complete and not width.whole
            else values_text(column, width.values if full else SHORT_VALUES, anchored)
        ),
        nulls=column.nulls if column.nulls else None,
        distinct=column.distinct,
        cleaning=_cleaning(column, shorthands, full=full),
        coverage=column.coverage,
    )


def _description(said: str, described: str, column: ColumnFacts, *, full: bool) -> str:
    """What a person said wins over what was inferred, and is told apart from it."""
    parts = [f"said by a person: {literal(said, len(said))}"] if said else []
    if described and (full or not said):
        parts.append(literal(described, len(described)) if column.kind == "column" else described)
    if column.coverage is not None:
        parts.append(f"in {column.coverage:.0%} of rows")
    return "; ".join(parts)


def _codes_named(column: ColumnFacts, codes: CodeSet) -> str:
    """The name of a list that was told; with those that the column has, where it has but few of them."""
    group = column.values
    held = [value for value, _ in group.values if value is not None] if group and group.complete else []
    if held and len(held) < len(codes.labels) / 2:
        return f"of {codes.name}: {', '.join(_value(column, value) for value in held)}"
    return f"of {codes.name}"


def _labelled(column: ColumnFacts, anchored: Sequence[str]) -> list[tuple[str, str]]:
    """Codes with what they stand for, those that the column holds first. Of many codes, which are keys rather, only
    those that the question leads to: the table that names them is joined."""
    group = column.values
    held = {value: number for number, (value, _) in enumerate(group.values)} if group else {}
    ordered = sorted(column.labels, key=lambda pair: held.get(pair[0], len(held)))
    if held and group is not None and group.complete:
        ordered = [pair for pair in ordered if pair[0] in held] or ordered
    many = max(len(ordered), column.distinct or 0, group.distinct if group else 0) > FEW
    return [pair for pair in ordered if pair[0] in anchored] if many else ordered


def _codes(column: ColumnFacts, labelled: Sequence[tuple[str, str]], most: int, *, whole: bool) -> str:
    """What codes stand for, and the table that says so."""
    parts: list[str] = []
    for code, label in labelled:
        part = f"{_value(column, code)} {one_line(label, 50)}"
        if parts and sum(map(len, parts)) + len(part) > most:
            parts.append(CUT)
            break
        parts.append(part)
    told = [", ".join(parts)] if parts else []
    if not column.decoded_by:
        return "; ".join(told)
    # Which language and which rows are valid is seen where the list itself is shown.
    by = column.decoded_by
    if told and not whole and (list_and_part := _LIST.fullmatch(by)):
        by = list_and_part[1] + (f" {list_and_part[2]}" if list_and_part[2] else "")
    return "; ".join([*told, f"list: {runnable(by)}"])


_LIST = re.compile(r"""(?s)(.+?)\([^()]*\)(?: WHERE (?:("(?:[^"]|"")+" = '(?:[^']|'')*')(?: AND .*)?|.*))?""")
"""The table of a list, and which part of it is meant where it holds several lists."""


def _unlabelled(column: ColumnFacts, labelled: Sequence[tuple[str, str]]) -> str:
    """The values that no list says anything of."""
    known = {code for code, _ in labelled}
    values = [(value, count) for value, count in column.values.values if value not in known] if column.values else []
    told = [f"{_value(column, value)} {count:,}" for value, count in values if value is not None]
    return f"without a label: {', '.join(told[:5])}" if told else ""


def _role(role: RoleFacts | None, *, reasons: bool) -> Role | None:
    if role is None:
        return None
    support = tuple(one_line(text, 60) for text in role.support[:1] if _tells(text)) if reasons else ()
    opposition = tuple(one_line(text, 60) for text in role.opposition[:1] if _tells(text)) if reasons else ()
    return Role(role.identity, role.membership, role.runner_up, role.runner_up_membership, support, opposition)


def _tells(reason: str) -> bool:
    """Whether a reason says more than the values and the dirt on the same line do."""
    return "{}" not in reason and not _SEEN.search(reason)


def table_role(role: RoleFacts | None) -> Role | None:
    return _role(role, reasons=False)


def _cleaning(column: ColumnFacts, shorthands: Shorthands | None, *, full: bool) -> tuple[Cleaning, ...]:
    kept = []
    for each in column.cleaning:
        if each.kind in _TOLD_BY_VALUES and column.values is not None:
            continue
        if not full and each.share < _SHORT_DIRT:
            continue
        expression = each.expression if each.expression and len(each.expression) <= MOST_EXPRESSION else None
        if expression and each.share < _SHORT_DIRT and len(expression) > RARE_EXPRESSION:
            expression = None  # Long and hardly ever needed: it can be recovered.
        told = expression is not None and (not full or each.kind in _TOLD_BY_EXPRESSION)
        detail = "" if told else one_line(each.detail.rstrip("."), 200)
        short, names = shorthands.short(expression) if shorthands and expression else ("", ())
        kept.append(Cleaning(each.kind, each.share, detail, expression, each.type, short if names else ""))
    return tuple(kept)


def values_text(column: ColumnFacts, most: int, anchored: Sequence[str] = ()) -> str:
    """Values, range or examples in one line of about `most` letters; empty where no value may be shown."""
    if column.personal:
        return _personal(column)
    marks = ["unique"] if column.unique else []
    group = None if _is_identifier(column) else column.values
    ranged = _range(column)
    if group is not None and group.values and (not ranged or group.distinct <= FEW):
        return ", ".join([*marks, _listed(column, most, anchored)])
    if ranged:
        return ", ".join([*marks, ranged, *_named(anchored, set())])
    if column.distinct is not None and not column.unique and most > SHORT_VALUES:
        marks.append(f"{column.distinct:,} distinct")
    examples = _examples(column, most, anchored)
    return ", ".join([*marks, f"e.g. {examples}"] if examples else marks)


def _is_identifier(column: ColumnFacts) -> bool:
    """One identifier is enough to see how they are written; their counts tell nothing."""
    role = column.roles.get("attribute")
    return role is not None and role.identity == "identifier" and (column.distinct or 0) > FEW // 10


def _personal(column: ColumnFacts) -> str:
    shown = " ".join(literal(value, 24) for value in column.examples[:2])
    kind = (column.personal or "").replace("_", " ")
    distinct = f", {column.distinct:,} distinct" if column.distinct is not None else ""
    return f"personal ({kind}){distinct}" + (f", such as {shown}" if shown else "")


def _listed(column: ColumnFacts, most: int, anchored: Sequence[str]) -> str:
    group = column.values
    if group is None:
        return ""
    values = [(value, count) for value, count in group.values if value is not None or not column.nulls]
    merged, padded = _without_padding(column, values)
    parts: list[str] = []
    shown: set[str] = set()
    # A whole list tells more than most of it: that something is not among them.
    few = group.complete and len(merged) <= FEW and most > SHORT_VALUES
    room = FEW_ROOM * most if few else most
    # How often each is there helps to judge dirt, but takes as much room as the values: told in full only.
    counted = not column.unique and (most > SHORT_VALUES or not group.complete)
    for value, count in merged:
        part = f"{_value(column, value)} {count:,}" if counted else _value(column, value)
        if room - len(part) < 0 and parts:
            break
        parts.append(part)
        shown.add(value or "")
        room -= len(part) + 2
    named = _named([value.strip() for value in anchored] if padded else anchored, shown)
    complete = group.complete and len(parts) >= len(merged)
    distinct = group.distinct - (len(values) - len(merged))
    head = f"{distinct:,} value{'' if distinct == 1 else 's'}" + (" when trimmed" if padded else "")
    return f"{head}{': ' if complete else ', most: '}" + ", ".join([*parts, *named]) + ("" if complete else f", {CUT}")


def _without_padding(
    column: ColumnFacts, values: Sequence[tuple[str | None, int]]
) -> tuple[list[tuple[str | None, int]], bool]:
    """Values that differ in the blanks around them are one, where the dirt that is told says so."""
    if not any(each.kind == "padding" for each in column.cleaning):
        return list(values), False
    counts: dict[str | None, int] = {}
    for value, count in values:
        bare = value.strip() if value is not None else None
        counts[bare] = counts.get(bare, 0) + count
    return sorted(counts.items(), key=lambda each: (-each[1], each[0] or "")), len(counts) < len(values)


def _value(column: ColumnFacts, value: str | None) -> str:
    if value is None:
        return "NULL"
    if column_kind(column.type) in ("integer", "decimal", "float", "boolean"):
        return one_line(value, SHOWN)
    return literal(value)


def _named(anchored: Sequence[str], shown: set[str]) -> list[str]:
    return [literal(value) for value in dict.fromkeys(anchored) if value not in shown]


def _range(column: ColumnFacts) -> str:
    if column.minimum is None or column.maximum is None:
        return ""
    kind = column_kind(column.type)
    if kind in ("integer", "decimal", "float", "date", "timestamp", "ordered"):
        return f"{one_line(column.minimum, 40)} .. {one_line(column.maximum, 40)}"
    dated = any(each.kind in ("date_as_text", "mixed_date_formats") for each in column.cleaning)
    if dated and _DATED.match(column.minimum) and _DATED.match(column.maximum):
        # How it is written is seen from the first, and until when it goes from the day of the last.
        return f"{literal(column.minimum, 30)} .. {literal(column.maximum, _DAY)}"
    return ""


def _examples(column: ColumnFacts, most: int, anchored: Sequence[str]) -> str:
    prose = (column.mean_length or 0.0) > PROSE and column.kind == "column"
    kept = sorted(column.examples, key=lambda each: abs(len(each) - PROSE_SHOWN)) if prose else column.examples
    length = (PROSE_SHOWN if most > SHORT_VALUES else PROSE_SHOWN * 2 // 3) if prose else 48
    parts: list[str] = []
    alike = _is_identifier(column) or any(each.kind == "date_as_text" for each in column.cleaning)
    room = max(most, length) if prose else most
    for value in dict.fromkeys([*anchored, *kept]):
        part = literal(" ".join(value.split()) if prose else value, length)
        if room - len(part) < 0 and parts:
            break
        parts.append(part)
        room -= len(part) + 2
        if len(parts) == (1 if alike else 3):
            break
    return ", ".join(parts)


def view_relation(relation: RelationFacts, names: dict[str, str], *, in_plan: bool) -> ViewRelation:
    """A relation with its ON condition, each column under its table's SQL name."""
    return _view_relation(relation, names[relation.left_table], names[relation.right_table], in_plan)


@lru_cache(maxsize=4096)
def _view_relation(relation: RelationFacts, left: str, right: str, in_plan: bool) -> ViewRelation:
    if relation.left_table == relation.right_table:
        right = OTHER
    if relation.kind == "table_name":
        condition = _by_name(relation, left, right)
    else:
        sides = (
            qualified(relation.left_expression, _columns(relation.left_columns, relation.left_table), left),
            qualified(relation.right_expression, _columns(relation.right_columns, relation.right_table), right),
        )
        condition = equality(*sides, len(relation.left_columns))
    return ViewRelation(
        reference=relation.reference, left=relation.left_columns, right=relation.right_columns, condition=condition,
        kind=relation.kind, left_match=relation.left_match, right_match=relation.right_match,
        cardinality=relation.cardinality, provenance=relation.provenance, confidence=relation.confidence,
        in_plan=in_plan, left_table=relation.left_table, right_table=relation.right_table,
    )  # fmt: skip


def _by_name(relation: RelationFacts, left: str, right: str) -> str:
    """The expression of such a relation lists every member's name, which may be thousands: the column that holds the
    names stands for it."""
    on_left = relation.right_columns == (relation.right_table,)
    columns, table, family = (
        (relation.left_columns, relation.left_table, right)
        if on_left
        else (relation.right_columns, relation.right_table, left)
    )
    column = _columns(columns, table)[0] if columns != (table,) else ""
    owner = left if on_left else right
    return f"{owner}.{name(column)} = {family}.table_name"


def _columns(references: Sequence[str], table: str) -> list[str]:
    """The names of a relation's columns: what follows the table in their references, up to a nested step."""
    found = []
    for reference in references:
        rest = reference[len(table) + 1 :]
        if rest.startswith('"'):
            end = re.match(r'"((?:[^"]|"")*)"', rest)
            found.append(end[1].replace('""', '"') if end else rest)
        else:
            found.append(re.split(r"[.\[#]", rest, maxsplit=1)[0])
    return found


def joined_columns(relation: RelationFacts) -> dict[str, tuple[str, ...]]:
    """By table, the references of the columns that a relation joins."""
    found: dict[str, tuple[str, ...]] = {}
    for table, columns in (
        (relation.left_table, relation.left_columns),
        (relation.right_table, relation.right_columns),
    ):
        found[table] = (*found.get(table, ()), *(column for column in columns if column != table))
    return found


LISTED = 12
"""The members of a family of at most so many are listed."""
MOST_NAMED = 10


@dataclass(frozen=True)
class NamingColumn:
    """A column whose values are the names of a family's members."""

    table: str
    """As SQL names it."""
    expression: str


def family_text(table: TableFacts, naming: NamingColumn | None, named: Sequence[str]) -> str:
    family = table.family
    if family is None:
        return ""
    if table.schema_only:  # Its rows are gathered nowhere: of one table its own engine can still count them.
        alone = "" if family.by_schema else f", of one alone: {runnable(member_name(table, family.members[0]))}"
        return f"{len(family.members):,} tables of one shape; only counts may be read{alone}"
    told = name(family.naming)
    text = f"{len(family.members):,} tables of one shape, read as one"
    if family.pattern != "{}":
        text += f", named {one_line(family.pattern, 80)}"
    text += f"; column {told} says which"
    if naming is not None:
        text += f": join it with {runnable(f'{naming.table}.{naming.expression}')}"
    if named:
        text += f"; the question leads to {told} = {' or '.join(literal(each, 80) for each in named[:MOST_NAMED])}"
    elif len(family.members) <= LISTED and not family.by_schema:
        text += f": {', '.join(literal(each, 80) for each in family.members)}"
    chosen = (*named, *family.members)
    return text if family.by_schema else f"{text}; one alone: {runnable(member_name(table, chosen[0]))}"


def member_name(table: TableFacts, member: str) -> str:
    """A member of a family as SQL names it."""
    return table_name(table.source, table.schema, member)


def description_text(objects: StateObjects, facts: TableFacts) -> str:
    """What people said of a table, told apart from what was found."""
    said = " ".join(objects.notes.get(facts.reference, ()))
    stated = [
        document.text
        for document in objects.source_documents
        if document.about == facts.reference and document.provenance == "stated"
    ]
    parts = [f"said by a person: {literal(one_line(said, 300), 300)}"] if said else []
    other = " ".join(stated) or facts.comment
    parts += [literal(one_line(other, 300), 300)] if other else []
    return "; ".join(parts)


def family_line(objects: StateObjects, facts: TableFacts, named: Sequence[str]) -> str:
    """How to write a member of a family, and many; `named` are members that the question leads to."""
    return family_text(facts, naming_column(objects, facts.reference), named) if facts.family is not None else ""


def naming_column(objects: StateObjects, family: str) -> NamingColumn | None:
    """The column whose values are the names of a family's members."""
    for relation in objects.relations_of.get(family, ()):
        for table, columns in joined_columns(relation).items() if relation.kind == "table_name" else ():
            known = {each.reference: each for each in objects.columns(table)} if table != family else {}
            if columns and columns[0] in known:
                return NamingColumn(objects.tables[table].sql_name, known[columns[0]].expression)
    return None


def duplicates_text(facts: TableFacts, *, full: bool) -> str:
    if not facts.duplicates:
        return ""
    text = one_line(facts.duplicates.rstrip("."), 160)
    if not full:
        return text.partition(";")[0]
    return f"{text}, same entity by: {runnable(facts.duplicates_key)}" if facts.duplicates_key else text
