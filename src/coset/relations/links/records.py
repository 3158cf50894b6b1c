"""The records of all masters in one temporary table, in the forms in which they are compared.

In: masters whose tables are open in a connection. Out: `link_records` (record, master, key, name, words of the name,
attributes, flags) in that connection. `Agreement` says how often the names of pairs agree, the test that every proposal
of a link must pass. Does not know where pairs come from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import duckdb

from coset.relations.links.masters import Master, name_tokens
from coset.sql_text import literal

RECORDS = "link_records"
CODES = "link_codes"
"""Keys and other single codes of records: (master, record, place of the column, letters and digits alone, digits)."""
LEAST_SINGLE = 0.9
MOST_CODES = 6
ATTRIBUTES = ("tax", "bank_account", "email", "phone", "birth", "postal_code", "city", "country", "street")
MOST_WITH_A_VALUE = 4
"""A value that more records of one table have (an e-mail of an office, a number made of nines) tells nobody."""
JUDGED = 1_000
"""So many pairs are looked at to say how often names agree."""


@dataclass(frozen=True)
class Agreement:
    """Of `pairs`, how many have names on both sides, and how many of those agree."""

    pairs: int
    judged: int
    agree: int

    @property
    def share(self) -> float:
        return self.agree / self.judged if self.judged else 0.0


def make_records(connection: duckdb.DuckDBPyConnection, masters: Sequence[Master]) -> int:
    """Fill the table; how many records there are."""
    attributes = ", ".join(f"{name} VARCHAR" for name in ATTRIBUTES)
    connection.execute(
        f"CREATE OR REPLACE TEMP TABLE {RECORDS} (record BIGINT, master INTEGER, key VARCHAR, name VARCHAR, "
        f"words VARCHAR[], {attributes}, flags VARCHAR)"
    )
    connection.execute(
        f"CREATE OR REPLACE TEMP TABLE {CODES} (master INTEGER, record BIGINT, place INTEGER, plain VARCHAR, digits "
        f"VARCHAR)"
    )
    for master in masters:
        add_records(connection, master)
        for place, (_, text) in enumerate(codes_of(master)):
            _add_codes(connection, master, place, text)
    return int(connection.execute(f"SELECT count(*) FROM {RECORDS}").fetchall()[0][0])


def add_records(connection: duckdb.DuckDBPyConnection, master: Master) -> None:
    values = [f"({master.attributes[name]})" if name in master.attributes else "NULL" for name in ATTRIBUTES]
    flags = [f"CASE WHEN {expression} THEN {literal(said)} END" for said, expression in master.flags]
    flagged = f"nullif(concat_ws(', ', {', '.join(flags)}), '')" if flags else "NULL"
    words = name_tokens(master.name) if master.name else "NULL"
    columns = ", ".join(f"{value} AS {name}" for value, name in zip(values, ATTRIBUTES, strict=True))
    # A value that many records share is taken out here, so that no rule meets it.
    kept = ", ".join(
        f"CASE WHEN count({name}) OVER (PARTITION BY {name}) <= {MOST_WITH_A_VALUE} THEN {name} END AS {name}"
        if name in {"tax", "bank_account", "email", "phone"} and name in master.attributes
        else name
        for name in ATTRIBUTES
    )
    connection.execute(
        f"INSERT INTO {RECORDS} SELECT (SELECT count(*) FROM {RECORDS}) + row_number() OVER (ORDER BY key) - 1, "
        f"{master.number}, key, array_to_string(words, ' '), words, {kept}, flags FROM ("
        f"SELECT {master.key} AS key, {words} AS words, {columns}, {flagged} AS flags FROM {master.table.relation}"
        ") WHERE key IS NOT NULL QUALIFY row_number() OVER (PARTITION BY key) = 1"
    )


def codes_of(master: Master) -> list[tuple[str, str]]:
    """(column, text) of the key and of other columns that may tell a record, in the order of their places."""
    return [(master.key_column, master.key), *master.codes[:MOST_CODES]]


def _add_codes(connection: duckdb.DuckDBPyConnection, master: Master, place: int, text: str) -> None:
    """Codes that hardly repeat."""
    plain = "upper(regexp_replace(value, '[^A-Za-z0-9]+', '', 'g'))"
    digits = "nullif(ltrim(regexp_replace(value, '[^0-9]+', '', 'g'), '0'), '')"
    connection.execute(
        f"INSERT INTO {CODES} WITH found AS (SELECT r.record, {plain} AS plain, {digits} AS digits FROM (SELECT "
        f"{master.key} "
        f"AS key, {text} AS value FROM {master.table.relation}) t JOIN {RECORDS} r ON r.master = {master.number} "
        "AND r.key = t.key WHERE value <> '') "
        f"SELECT {master.number}, record, {place}, plain, digits FROM found "
        f"WHERE (SELECT count(DISTINCT plain) >= {LEAST_SINGLE} * count(*) FROM found)"
    )


def names_agree(left: str, right: str) -> str:
    """Whether two records are named alike: the same words in any order, one's words among the other's, a
    misspelling."""
    shared = f"len(list_intersect({left}.words, {right}.words))"
    shorter = f"least(len({left}.words), len({right}.words))"
    return (
        f"({left}.name = {right}.name OR jaro_winkler_similarity({left}.name, {right}.name) >= 0.94 "
        f"OR ({shared} >= {shorter} AND {shorter} >= 2) OR {_initials(left, right)} OR {_initials(right, left)})"
    )


def _initials(short: str, long: str) -> str:
    """`grosjean p` for `grosjean piotr`: the same number of words, each the other's or its first letter."""
    return (
        f"(len({short}.words) = len({long}.words) AND len({short}.words) >= 2 AND "
        f"len(list_filter({short}.words, lambda w: length(w) > 1)) >= 1 AND "
        f"len(list_filter({short}.words, lambda w: NOT (list_contains({long}.words, w) OR (length(w) = 1 AND "
        f"len(list_filter({long}.words, lambda v: starts_with(v, w))) >= 1)))) = 0)"
    )


def agreement(connection: duckdb.DuckDBPyConnection, pairs: str) -> Agreement:
    """`pairs` is a query that gives `left_record` and `right_record`."""
    [(count, judged, agree)] = connection.execute(
        f"WITH pairs AS (SELECT *, row_number() OVER (ORDER BY hash(left_record, right_record)) AS place FROM "
        f"({pairs})), "
        f"looked AS (SELECT {names_agree('l', 'r')} AS agree FROM pairs "
        f"JOIN {RECORDS} l ON l.record = left_record JOIN {RECORDS} r ON r.record = right_record "
        f"WHERE place <= {JUDGED} AND l.name IS NOT NULL AND r.name IS NOT NULL) "
        "SELECT (SELECT count(*) FROM pairs), (SELECT count(*) FROM looked), (SELECT count(*) FROM looked WHERE agree)"
    ).fetchall()
    return Agreement(int(count), int(judged), int(agree))
