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
from coset.routing.data_as_text import CUT, SHOWN, literal, one_line, runnable
from coset.routing.facts import ColumnFacts, FamilyFacts, RelationFacts, RoleFacts, TableFacts
from coset.routing.sql_names import equality, name, qualified, table_name
from coset.routing.view import Cleaning, Role, ViewColumn, ViewRelation, Why

Depth = Literal["name", "short", "full"]
DEPTHS: tuple[Depth, ...] = ("name", "short", "full")
SHORT_VALUES, SHORT_DESCRIPTION = 80, 80
MOST_EXPRESSION = 1_500
"""An expression longer than this is not shown, never cut; it can be recovered."""
FEW = 30
OTHER = "other"
_DATED = re.compile(r"\d{4}-\d{2}")
_TOLD_BY_VALUES = frozenset({"constant", "empty"})
_SHORT_DIRT = 0.01
"""Dirt of fewer rows than this is told in full only."""


@dataclass(frozen=True)
class Width:
    """How many letters the parts of a full column may take."""

    values: int = 240
    description: int = 200


def view_column(
    column: ColumnFacts,
    why: tuple[Why, ...],
    score: float,
    depth: Depth,
    width: Width,
    anchored: Sequence[str] = (),
) -> ViewColumn:
    """A column at some depth. `anchored` are stored values that the question named: they are always shown."""
    if depth == "name" and column.kind == "column":
        return ViewColumn(column.reference, column.kind, column.expression, column.type, why, score)
    full = depth == "full"
    said = one_line(column.said, width.description)
    described = one_line(column.description, width.description if full else SHORT_DESCRIPTION)
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
        values=values_text(column, width.values if full else SHORT_VALUES, anchored),
        nulls=column.nulls if column.nulls else None,
        distinct=column.distinct,
        cleaning=_cleaning(column, full=full),
    )


def _description(said: str, described: str, column: ColumnFacts, *, full: bool) -> str:
    """What a person said wins over what was inferred, and is told apart from it."""
    parts = [f"said by a person: {literal(said, len(said))}"] if said else []
    if described and (full or not said):
        parts.append(literal(described, len(described)) if column.kind == "column" else described)
    if column.coverage is not None:
        parts.append(f"in {column.coverage:.0%} of rows")
    return "; ".join(parts)


def _role(role: RoleFacts | None, *, reasons: bool) -> Role | None:
    if role is None:
        return None
    support = tuple(one_line(text, 60) for text in role.support[:1] if "{}" not in text) if reasons else ()
    opposition = tuple(one_line(text, 60) for text in role.opposition[:1] if "{}" not in text) if reasons else ()
    return Role(role.identity, role.membership, role.runner_up, role.runner_up_membership, support, opposition)


def table_role(role: RoleFacts | None) -> Role | None:
    return _role(role, reasons=False)


def _cleaning(column: ColumnFacts, *, full: bool) -> tuple[Cleaning, ...]:
    kept = []
    for each in column.cleaning:
        if each.kind in _TOLD_BY_VALUES and column.values is not None:
            continue
        if not full and each.share < _SHORT_DIRT:
            continue
        expression = each.expression if each.expression and len(each.expression) <= MOST_EXPRESSION else None
        detail = one_line(each.detail.rstrip("."), 200) if full or not expression else ""
        kept.append(Cleaning(each.kind, each.share, detail, expression, each.type))
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
    if column.distinct is not None and not column.unique:
        marks.append(f"{column.distinct:,} distinct")
    examples = _examples(column, most, anchored)
    return ", ".join([*marks, f"e.g. {examples}"] if examples else marks)


def _is_identifier(column: ColumnFacts) -> bool:
    """One identifier is enough to see how they are written; their counts tell nothing."""
    role = column.roles.get("attribute")
    return role is not None and role.identity == "identifier" and (column.distinct or 0) > FEW // 3


def _personal(column: ColumnFacts) -> str:
    shown = " ".join(literal(value, 24) for value in column.examples[:2])
    kind = (column.personal or "").replace("_", " ")
    distinct = f", {column.distinct:,} distinct" if column.distinct is not None else ""
    return f"personal ({kind}){distinct}" + (f", such as {shown}" if shown else "")


def _listed(column: ColumnFacts, most: int, anchored: Sequence[str]) -> str:
    group = column.values
    if group is None:
        return ""
    parts: list[str] = []
    shown: set[str] = set()
    room = most
    for value, count in group.values:
        if value is None and column.nulls:
            continue  # Told as a share already.
        part = f"{_value(column, value)} {count:,}"
        if room - len(part) < 0 and parts:
            break
        parts.append(part)
        shown.add(value or "")
        room -= len(part) + 2
    parts += _named(anchored, shown)
    complete = group.complete and len(parts) >= sum(value is not None for value, _ in group.values)
    head = f"{group.distinct:,} value{'' if group.distinct == 1 else 's'}" + (": " if complete else ", most: ")
    return head + ", ".join(parts) + ("" if complete else f", {CUT}")


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
        return f"{literal(column.minimum, 30)} .. {literal(column.maximum, 30)}"
    return ""


def _examples(column: ColumnFacts, most: int, anchored: Sequence[str]) -> str:
    parts: list[str] = []
    room = most
    for value in dict.fromkeys([*anchored, *column.examples]):
        part = literal(value, 48)
        if room - len(part) < 0 and parts:
            break
        parts.append(part)
        room -= len(part) + 2
        if len(parts) == (1 if _is_identifier(column) else 3):
            break
    return ", ".join(parts)


def family_text(table: TableFacts, relation: RelationFacts | None, key: str | None, named: Sequence[str]) -> str:
    """How to name a member of a family; never the list of all."""
    family = table.family
    if family is None:
        return ""
    example = member_name(table, family, named[0] if named else family.members[0])
    text = f"{len(family.members):,} tables of one shape"
    if family.pattern != "{}":
        text += f", named {one_line(family.pattern, 80)}"
    if relation is not None and key is not None:
        text += f", one for each value of {runnable(key)}"
    text += f"; write the member's own name, as in FROM {runnable(example)}"
    if len(named) > 1:
        listed = ", ".join(runnable(member_name(table, family, each)) for each in named[:10])
        text += f"; named by the question: {listed}"
    return text


def member_name(table: TableFacts, family: FamilyFacts, member: str) -> str:
    """A member of a family as SQL names it."""
    if family.by_schema:
        # The state keeps the table's name for each member, not the schema that tells them apart.
        return f"{name(table.source)}.SCHEMA.{name(member)}"
    return table_name(table.source, table.schema, member)


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
    """The expression of such a relation lists every member's name, which may be thousands: it is said in words."""
    on_left = relation.right_columns == (relation.right_table,)
    columns, table, family = (
        (relation.left_columns, relation.left_table, right)
        if on_left
        else (relation.right_columns, relation.right_table, left)
    )
    column = _columns(columns, table)[0] if columns != (table,) else ""
    owner = left if on_left else right
    return f"{owner}.{name(column)} = the name of a member of the family of {family}"


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
