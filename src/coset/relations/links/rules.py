"""Ways to tell that two records are one thing, each tested by the names of the records that it brings together.

In: masters, their records, and what is known to join. Out: `Rule`s that hold, each a query over `link_records` that
gives pairs, with its kind (a cross-reference, the other's key, a tax number), how many pairs there are, and how often
their names agree. Joins, cross-references and shared columns only propose; a proposal whose names do not agree, or that
makes one record meet many, is none. Clusters are made elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import duckdb

from coset.relations.links.masters import STRONG, Master
from coset.relations.links.records import RECORDS, Agreement, agreement
from coset.state.read_model import RelationRow

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


@dataclass(frozen=True)
class Rule:
    """`pairs` gives `left_record` and `right_record`."""

    kind: Kind
    left: int
    right: int
    words: str
    pairs: str
    found: Agreement = Agreement(0, 0, 0)

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
            f"(SELECT r.record, r.master, t.value FROM (SELECT {master.key} AS key, CAST({expression} AS VARCHAR) AS value "
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
            f"SELECT DISTINCT l.record AS left_record, r.record AS right_record FROM {self.column(left, left_expression)} l "
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


Propose = Callable[[], Iterable[Rule]]


def rules_by_names(testing: Testing) -> Iterator[Rule]:
    """Keys of one table inside codes of another, found by example: records of the same, single name show which column
    ends with the other's key, and what stands before it."""
    for left, right, _ in _same_names(testing):
        for one, other in ((left, right), (right, left)):
            yield from _found_by_example(testing, testing.by_number[one], testing.by_number[other])


def _same_names(testing: Testing) -> list[tuple[int, int, int]]:
    testing.connection.execute(
        f"CREATE OR REPLACE TEMP TABLE link_single_names AS SELECT min(record) AS record, master, name FROM {RECORDS} "
        "WHERE name IS NOT NULL AND len(words) >= 2 GROUP BY master, name HAVING count(*) = 1"
    )
    return testing.connection.execute(
        "SELECT l.master, r.master, count(*) FROM link_single_names l JOIN link_single_names r ON l.name = r.name "
        f"AND l.master < r.master GROUP BY ALL HAVING count(*) >= {3 * LEAST_PAIRS} ORDER BY ALL"
    ).fetchall()


def _found_by_example(testing: Testing, one: Master, other: Master) -> Iterator[Rule]:
    """`one` holds in a code, or in its own key, the key of `other`."""
    codes = [*one.codes, (one.key_column, one.key)]
    digits = [
        f"ltrim(regexp_replace({text}, '[^0-9]+', '', 'g'), '0') AS c{number}" for number, (_, text) in enumerate(codes)
    ]
    key = f"ltrim(regexp_replace({other.key}, '[^0-9]+', '', 'g'), '0')"
    ends = ", ".join(
        f"count(*) FILTER (length(k) >= 3 AND ends_with(c{number}, k)), count(c{number}) FILTER (c{number} <> ''), "
        f"mode(left(c{number}, length(c{number}) - length(k))) FILTER (length(k) >= 3 AND ends_with(c{number}, k))"
        for number in range(len(codes))
    )
    [row] = testing.connection.execute(
        f"WITH a AS (SELECT {one.key} AS key, {', '.join(digits)} FROM {one.table.relation}), "
        f"b AS (SELECT {other.key} AS key, {key} AS k FROM {other.table.relation}) "
        f"SELECT {ends} FROM link_single_names l JOIN link_single_names r ON l.name = r.name "
        f"JOIN {RECORDS} lr ON lr.record = l.record JOIN {RECORDS} rr ON rr.record = r.record "
        "JOIN a ON a.key = lr.key JOIN b ON b.key = rr.key "
        f"WHERE l.master = {one.number} AND r.master = {other.number}"
    ).fetchall()
    for number, (column, text) in enumerate(codes):
        hits, filled, head = row[3 * number : 3 * number + 3]
        if hits < 2 * LEAST_PAIRS or hits < 0.5 * filled:
            continue
        code = f"ltrim(regexp_replace({text}, '[^0-9]+', '', 'g'), '0')"
        front = (head or "").rstrip("0")
        inner = f"CASE WHEN starts_with({code}, '{front}') THEN ltrim(substr({code}, {len(front) + 1}), '0') END"
        whole = f"nullif({inner if front else code}, '')"
        if not testing.meets_few(one, whole, other, f"nullif({key}, '')"):
            continue
        held = testing.held(
            Rule(
                "key", one.number, other.number, f"{one.reference}.{column} = {other.reference}.{other.key_column}",
                testing.meeting(one, whole, other, f"nullif({key}, '')"),
            )
        )  # fmt: skip
        if held is not None:
            yield held
