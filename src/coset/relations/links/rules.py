"""Ways to tell that two records are one thing, each tested by the names of the records that it brings together.

In: masters, their records, and what is known to join. Out: `Rule`s that hold, each a query over `link_records` that
gives pairs, with its kind (a cross-reference, the other's key, a tax number), how many pairs there are, and how often
their names agree. Joins, cross-references and shared columns only propose; a proposal whose names do not agree, or that
makes one record meet many, is none. Clusters are made elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import duckdb

from coset.evidence.reading import JoinableTable
from coset.relations.links.records import (
    CODES,
    RECORDS,
    STRONG,
    Agreement,
    KnownTables,
    Master,
    agreement,
    codes_of,
    text_of,
)
from coset.sql_text import identifier, literal
from coset.state.relations import RelationRow
from coset.state.tables import ColumnRow

Kind = Literal["said", "cross-reference", "merged into", "key", "tax", "bank_account", "email", "phone", "likeness"]
PRECEDENCE: tuple[Kind, ...] = (
    "said", "cross-reference", "merged into", "key", "tax", "bank_account", "email", "phone", "likeness",
)  # fmt: skip
WORDS: dict[Kind, str] = {"tax": "tax number", "bank_account": "bank account", "email": "e-mail", "phone": "phone"}
LEAST_PAIRS = 3
LEAST_AGREEMENT = 0.75
MOST_FAN = 1.5
"""A record meets so many at most on average; more, and one side has rows about the thing, not the thing."""
NAMELESS_CONFIDENCE = 0.8


NOT_COUNTED = Agreement(0, 0, 0)


@dataclass(frozen=True)
class Rule:
    """`pairs` gives `left_record` and `right_record`."""

    kind: Kind
    left: int
    right: int
    words: str
    pairs: str
    found: Agreement = NOT_COUNTED

    @property
    def rank(self) -> int:
        return PRECEDENCE.index(self.kind)


class Testing:
    """Which proposals hold in one connection."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, masters: Sequence[Master]) -> None:
        self.connection = connection
        self.masters = {master.reference: master for master in masters}
        self.by_number = {master.number: master for master in masters}
        self.kept_pairs: list[str] = []
        """Tables that hold the pairs of rules which are no plain query."""

    def held(self, rule: Rule, *, surely: bool = False) -> Rule | None:
        """The rule with what was counted, or None. `surely`: others vouch for it where names are lacking."""
        [(pairs, lefts, rights)] = self.connection.execute(
            f"SELECT count(*), count(DISTINCT left_record), count(DISTINCT right_record) FROM ({rule.pairs})"
        ).fetchall()
        if pairs < LEAST_PAIRS or pairs > MOST_FAN * min(lefts, rights) + 2:
            return None
        found = agreement(self.connection, rule.pairs)
        enough = found.judged >= LEAST_PAIRS and found.share >= LEAST_AGREEMENT
        if not enough and not (surely and not found.judged):
            return None
        return Rule(rule.kind, rule.left, rule.right, rule.words, rule.pairs, found)

    def column(self, master: Master, expression: str) -> str:
        """The records of a master beside the text of an expression over its table."""
        return (
            f"(SELECT r.record, r.master, t.value FROM (SELECT {master.key} AS key, CAST({expression} AS VARCHAR) "
            f"AS value "
            f"FROM {master.table.relation}) t JOIN {RECORDS} r ON r.master = {master.number} AND r.key = t.key "
            "WHERE t.value IS NOT NULL)"
        )

    def meets_few(self, left: Master, left_expression: str, right: Master, right_expression: str) -> bool:
        """Whether equal values make few pairs; counted before any pair is made."""
        counts = [
            f"(SELECT CAST({expression} AS VARCHAR) AS value, count(*) AS n FROM {master.table.relation} GROUP BY 1)"
            for master, expression in ((left, left_expression), (right, right_expression))
        ]
        [(pairs, lefts, rights)] = self.connection.execute(
            f"SELECT coalesce(sum(l.n * r.n), 0), coalesce(sum(l.n), 0), coalesce(sum(r.n), 0) FROM {counts[0]} l "
            f"JOIN {counts[1]} r ON l.value = r.value"
        ).fetchall()
        return bool(LEAST_PAIRS <= pairs <= (MOST_FAN * min(lefts, rights) + 2) * (2 if left is right else 1))

    def meeting(self, left: Master, left_expression: str, right: Master, right_expression: str) -> str:
        return (
            f"SELECT DISTINCT l.record AS left_record, r.record AS right_record FROM "
            f"{self.column(left, left_expression)} l "
            f"JOIN {self.column(right, right_expression)} r ON l.value = r.value WHERE l.record <> r.record"
        )


def rules_by_joins(testing: Testing, relations: Iterable[RelationRow]) -> Iterator[Rule]:
    """Joins between two masters of which one holds the other's key, or both hold the same thing's number."""
    for row in relations:
        left, right = testing.masters.get(row.left_table), testing.masters.get(row.right_table)
        if left is None or right is None or left is right or len(row.left_columns) > 1:
            continue
        sides = [row.left_columns[0].rpartition(".")[2], row.right_columns[0].rpartition(".")[2]]
        attributes = [
            kind
            for kind in (*STRONG, "birth", "postal_code", "city", "country", "street")
            if row.left_expression.find(f'"{sides[0]}"') >= 0 and f'"{sides[0]}"' in left.attributes.get(kind, "")
        ]
        if attributes:
            continue  # What both tables say of a thing is compared in its own form.
        if not testing.meets_few(left, row.left_expression, right, row.right_expression):
            continue
        rule = Rule(
            "key", left.number, right.number, f"{row.left_columns[0]} = {row.right_columns[0]}",
            testing.meeting(left, row.left_expression, right, row.right_expression),
        )  # fmt: skip
        same_entity = bool(left.entity) and left.entity == right.entity
        surely = same_entity and row.confidence >= NAMELESS_CONFIDENCE and row.cardinality == "1:1"
        held = testing.held(rule, surely=surely)
        if held is not None:
            yield held


def rules_by_strong_keys(testing: Testing) -> Iterator[Rule]:
    """Tax numbers, bank accounts, e-mails and phones that two tables share, or two records of one."""
    masters = list(testing.by_number.values())
    for kind in STRONG:
        holders = [master for master in masters if kind in master.attributes]
        for place, left in enumerate(holders):
            for right in holders[place:]:
                pairs = (
                    f"SELECT l.record AS left_record, r.record AS right_record FROM {RECORDS} l JOIN {RECORDS} r "
                    f"ON l.{kind} = r.{kind} WHERE l.master = {left.number} AND r.master = {right.number}"
                    f" AND {'l.record < r.record' if left is right else 'true'}"
                )
                held = testing.held(Rule(_strong(kind), left.number, right.number, WORDS[_strong(kind)], pairs))
                if held is not None:
                    yield held


def _strong(kind: str) -> Kind:
    return next(each for each in PRECEDENCE if each == kind)


def rules_by_merges(testing: Testing) -> Iterator[Rule]:
    """A column that holds the key of another record of its own table, for few records, which are named alike."""
    for master in testing.by_number.values():
        for column, text in (*master.codes, *_numbers(master)) if master.name else ():
            if not testing.meets_few(master, text, master, master.key):
                continue
            rule = Rule(
                "merged into", master.number, master.number, f"{master.reference}.{column}",
                testing.meeting(master, text, master, master.key),
            )  # fmt: skip
            held = testing.held(rule)
            if held is not None and held.found.judged >= LEAST_PAIRS:
                yield held


def _numbers(master: Master) -> list[tuple[str, str]]:
    """Columns of the key's own type that no role calls a key."""
    known = {column for column, _ in master.codes} | {master.key_column}
    kind = next(column.type for column in master.table.columns if column.name == master.key_column)
    if kind not in {"INTEGER", "BIGINT", "VARCHAR", "SMALLINT"}:
        return []
    same = [column.name for column in master.table.columns if column.type == kind and column.name not in known]
    return [(name, f'CAST("{name}" AS VARCHAR)') for name in same if '"' not in name]


def rules_by_names(testing: Testing) -> Iterator[Rule]:
    """Codes that two tables share in different forms, found by example: records of the same, single name show which
    code ends with which code of the other, and what stands before it."""
    testing.connection.execute(
        f"CREATE OR REPLACE TEMP TABLE link_single_names AS SELECT min(record) AS record, master, name FROM {RECORDS} "
        "WHERE name IS NOT NULL AND len(words) >= 2 GROUP BY master, name HAVING count(*) = 1"
    )
    ends = "length(b.digits) >= 3 AND ends_with(a.digits, b.digits)"
    rows = testing.connection.execute(
        f"SELECT a.master, a.place, b.master, b.place, mode(left(a.digits, length(a.digits) - length(b.digits))) "
        f"FILTER ({ends}) FROM link_single_names l JOIN link_single_names r ON l.name = r.name AND l.master <> "
        f"r.master "
        f"JOIN {CODES} a ON a.record = l.record JOIN {CODES} b ON b.record = r.record GROUP BY ALL "
        f"HAVING count(*) FILTER ({ends}) >= greatest({2 * LEAST_PAIRS}, 0.5 * count(a.digits)) ORDER BY ALL"
    ).fetchall()
    seen: set[tuple[tuple[int, int], tuple[int, int]]] = set()
    for left, left_place, right, right_place, head in rows:
        front = (head or "").rstrip("0")
        if not front and ((right, right_place), (left, left_place)) in seen:
            continue  # The same, seen from the other side.
        seen.add(((left, left_place), (right, right_place)))
        held = _by_codes(testing, (left, left_place), (right, right_place), front)
        if held is not None:
            yield held


def _by_codes(testing: Testing, left: tuple[int, int], right: tuple[int, int], front: str) -> Rule | None:
    """`front` is what stands before the other's code."""
    inner = "l.digits"
    if front:
        inner = f"CASE WHEN starts_with(l.digits, '{front}') THEN ltrim(substr(l.digits, {len(front) + 1}), '0') END"
    pairs = (
        f"SELECT DISTINCT l.record AS left_record, r.record AS right_record FROM {CODES} l JOIN {CODES} r "
        f"ON {inner} = r.digits WHERE l.master = {left[0]} AND l.place = {left[1]} AND r.master = {right[0]} "
        f"AND r.place = {right[1]}"
    )
    words = " = ".join(
        f"{testing.by_number[number].reference}.{codes_of(testing.by_number[number])[place][0]}"
        for number, place in (left, right)
    )
    return testing.held(Rule("key", left[0], right[0], words, pairs))


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
    testing: Testing, tables: Iterable[JoinableTable], known: KnownTables, opens: object = None
) -> Iterator[Rule]:
    for table in tables:
        if is_cross_reference(table, known):
            if callable(opens):
                opens(table)
            yield from _rules_of(testing, table, known)


def is_cross_reference(table: JoinableTable, known: KnownTables) -> bool:
    reference = str(table.reference)
    words = known.words(reference, table.reference.table or "")
    return not table.members and (known.entity(reference)[0] == "link" or bool(_CALLED.search(words)))


def _rules_of(testing: Testing, table: JoinableTable, known: KnownTables) -> Iterator[Rule]:
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


def _valid(columns: list[ColumnRow], known: KnownTables) -> str:
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
