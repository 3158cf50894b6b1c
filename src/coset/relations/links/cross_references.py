"""Tables that say which key of one system is which key of another, and the links that they state.

In: originals with their roles and readings, and the records of masters. Out: `Rule`s of the kind "cross-reference". Two
forms are known: one column a system (`erp_no`, `crm_id`), and one row a system (`system`, `key`, and the number that
the rows of one thing share). Which column means the key of which master is tried on the values, whole, as digits, or as
the beginning of longer keys; names then decide. Rows whose validity has ended state nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from coset.evidence.reading import JoinableTable
from coset.relations.links.masters import Known, text_of
from coset.relations.links.records import CODES
from coset.relations.links.rules import Rule, Testing
from coset.sql_text import identifier, literal
from coset.state.tables import ColumnRow

MOST_SYSTEMS = 20
LEAST_FOUND = 0.85
MOST_CANDIDATES = 6
_CALLED = re.compile(
    r"\b(cross[ -]?ref\w*|xref|crosswalk|mapping|key map|id map|golden record|match "
    r"table|merge[sd]?|duplicates?|survivors?)\b"
)
_ENDS = re.compile(r"\b(valid (to|until)|end(s|ed)?( date)?|expir\w+|to date)\b")


@dataclass(frozen=True)
class _Side:
    """A column of the table, perhaps for the rows of one system, whose values are keys of a master."""

    number: int
    column: str
    system: str | None
    master: int


def rules_by_cross_references(
    testing: Testing, tables: Iterable[JoinableTable], known: Known, opens: object = None
) -> Iterator[Rule]:
    for table in tables:
        if is_cross_reference(table, known):
            if callable(opens):
                opens(table)
            yield from _rules_of(testing, table, known)


def is_cross_reference(table: JoinableTable, known: Known) -> bool:
    reference = str(table.reference)
    words = known.words(reference, table.reference.table or "")
    return not table.members and (known.entity(reference)[0] == "link" or bool(_CALLED.search(words)))


def _rules_of(testing: Testing, table: JoinableTable, known: Known) -> Iterator[Rule]:
    columns = [each for each in known.columns.get(str(table.reference), ()) if not each.type.endswith("]")]
    rows = max(1, table.rows)
    keys = [
        each
        for each in columns
        if (each.distinct_values or 0) >= max(3, 0.2 * rows) and (each.type == "VARCHAR" or "INT" in each.type)
    ]
    systems = [
        each
        for each in columns
        if each.type == "VARCHAR"
        and 2 <= (each.distinct_values or 0) <= min(MOST_SYSTEMS, rows // 5)
        and not each.nulls
    ]
    yield from _of_form(testing, table, keys, None, None, _valid(columns, known))
    for system in systems[:2]:
        for shared in keys:
            if not shared.is_unique:
                others = [each for each in keys if each is not shared and not (each.is_unique and each.position <= 1)]
                yield from _of_form(testing, table, others, system, shared, _valid(columns, known))


def _of_form(
    testing: Testing,
    table: JoinableTable,
    keys: list[ColumnRow],
    system: ColumnRow | None,
    shared: ColumnRow | None,
    valid: str,
) -> Iterator[Rule]:
    connection = testing.connection
    connection.execute("CREATE OR REPLACE TEMP TABLE link_sides (side INTEGER, thing VARCHAR, record BIGINT)")
    thing = _text(shared) if shared is not None else "CAST(number AS VARCHAR)"
    connection.execute(
        f"CREATE OR REPLACE TEMP TABLE link_cross AS SELECT *, {thing} AS thing FROM "
        f"(SELECT *, row_number() OVER () AS number FROM {table.relation}) WHERE {valid}"
    )
    sides: list[_Side] = []
    names = [None]
    if system is not None:
        names = [row[0] for row in connection.execute(f"SELECT DISTINCT {_text(system)} FROM link_cross").fetchall()]
    for column in keys:
        for name in names:
            where = f"{_text(system)} = {literal(name)}" if system is not None and name is not None else "true"
            sides += _sides(testing, column, name, where, len(sides))
    if shared is not None:
        sides += _sides(testing, shared, None, "true", len(sides))
    yield from _stated(testing, table, sides)


def _sides(testing: Testing, column: ColumnRow, system: str | None, where: str, first: int) -> list[_Side]:
    """The masters whose keys the values are."""
    connection = testing.connection
    value = _text(column)
    [(count, shortest, longest)] = connection.execute(
        f"SELECT count(DISTINCT {value}), min(length({value})), max(length({value})) FROM link_cross WHERE {where}"
    ).fetchall()
    if count < 3:
        return []
    plain = f"upper(regexp_replace({value}, '[^A-Za-z0-9]+', '', 'g'))"
    forms = [(plain, "plain"), (_digits(value), "CASE WHEN length(digits) >= 3 THEN digits END")]
    if shortest == longest and longest >= 6:
        forms.append((plain, f"left(plain, {longest})"))
    made: dict[int, _Side] = {}
    for mine, theirs in forms:
        found = connection.execute(
            f"SELECT r.master, r.place, count(DISTINCT c.value) FROM (SELECT DISTINCT nullif({mine}, '') AS value FROM "
            f"link_cross WHERE {where}) c JOIN (SELECT master, place, {theirs} AS value FROM {CODES}) r "
            f"ON r.value = c.value GROUP BY 1, 2 HAVING count(DISTINCT c.value) >= {LEAST_FOUND * count} ORDER BY 3 "
            f"DESC, 1, 2"
        ).fetchall()
        for master, place, _ in found[:MOST_CANDIDATES]:
            if master in made:
                continue
            side = _Side(first + len(made), column.name, system, master)
            made[master] = side
            connection.execute(
                f"INSERT INTO link_sides SELECT DISTINCT {side.number}, c.thing, r.record FROM (SELECT thing, "
                f"nullif({mine}, '') AS value FROM link_cross WHERE {where}) c JOIN (SELECT record, {theirs} AS value "
                f"FROM {CODES} WHERE master = {master} AND place = {place}) r ON r.value = c.value"
            )
    return list(made.values())


def _stated(testing: Testing, table: JoinableTable, sides: list[_Side]) -> Iterator[Rule]:
    for place, one in enumerate(sides):
        for other in sides[place:]:
            if one is not other and (one.column, one.system) == (other.column, other.system):
                continue
            name = f"link_pairs_{len(testing.kept_pairs)}"
            ordered = "l.record < r.record" if one is other else "l.record <> r.record"
            testing.connection.execute(
                f"CREATE OR REPLACE TEMP TABLE {name} AS SELECT DISTINCT l.record AS left_record, "
                "r.record AS right_record FROM link_sides l JOIN link_sides r ON l.thing = r.thing "
                f"WHERE l.side = {one.number} AND r.side = {other.number} AND {ordered}"
            )
            held = testing.held(Rule("cross-reference", one.master, other.master, str(table.reference), f"FROM {name}"))
            if held is not None:
                testing.kept_pairs.append(name)
                yield held


def _valid(columns: list[ColumnRow], known: Known) -> str:
    """The rows that still hold."""
    for column in columns:
        ends = known.attribute(column.reference) == "end_time" or _ENDS.search(
            known.words(column.reference, column.name)
        )
        if ends and (column.type in {"VARCHAR", "DATE"} or column.type.startswith("TIMESTAMP")):
            day = f"TRY_CAST(left({_text(column)}, 10) AS DATE)"
            return f"coalesce({day} >= current_date, true)"
    return "true"


def _text(column: ColumnRow) -> str:
    return text_of(identifier(column.name), column.type)


def _digits(text: str) -> str:
    digits = f"ltrim(regexp_replace({text}, '[^0-9]+', '', 'g'), '0')"
    return f"CASE WHEN regexp_matches({text}, '[0-9]{{3}}') THEN {digits} END"
