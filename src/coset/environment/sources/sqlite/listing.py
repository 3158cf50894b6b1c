"""The tables, virtual tables and views of a SQLite database, each typed by one pass over its rows.

In: an open connection. Out: `Table`s with exact row counts, declared keys and types that hold every value. What this
SQLite cannot read (a missing module, function, or table behind a view) is left out.
Nothing here knows how rows are read later, or when a listing is still valid.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter
from typing import Any

from coset.environment.source import Column, ForeignKey, Table, TableKind, unique_names
from coset.environment.sources.sqlite.columns import (
    EXACT_INTEGERS,
    NOT_UTF8,
    Declared,
    Facts,
    declared,
    duckdb_type,
    facts_from,
    needs_integer_bounds,
    not_utf8_expression,
    survey_expressions,
)
from coset.environment.sources.sqlite.connection import Connection
from coset.sql_text import identifier

References = dict[str, list[tuple[str, list[tuple[str, str | None]]]]]
"""For each table, the tables it refers to with pairs of columns; None stands for the primary key there."""

MOST_RESULTS = 1_500
"""SQLite answers with 2,000 columns at most, so a very wide table is surveyed in parts."""
VIEW_STEPS = 300_000_000
"""What typing all views may cost, in steps of SQLite's machine (some ten seconds), so that it does not depend on the
load of the computer. A view beyond it is typed as text."""


@dataclass(frozen=True)
class _Member:
    """One column as `PRAGMA table_xinfo` has it."""

    name: str
    native_type: str
    not_null: bool
    key_position: int


class Listing:
    """Lists what one connection sees. Metadata of ordinary tables is one query for all of them."""

    def __init__(self, connection: Connection, query_seconds: float) -> None:
        self.connection = connection
        self.query_seconds = query_seconds
        self.view_steps = VIEW_STEPS
        connection.create_function("not_utf8", 1, _not_utf8, deterministic=True)

    def tables(self) -> list[Table]:
        kinds = self._kinds()
        names = dict(zip(kinds, unique_names(kinds), strict=True))
        members = self._members()
        tables = []
        for native_name, kind in kinds.items():
            try:
                own = members.get(native_name) or self._members_of(native_name)
                table = self._survey(names[native_name], native_name, kind, own)
            except sqlite3.OperationalError as error:
                # SQLite names no finer code for a missing module, function, or a table that a view refers to.
                if error.sqlite_errorname != "SQLITE_ERROR":
                    raise
            else:
                tables.append(table)
        return _with_foreign_keys(tables, self._references())

    def _kinds(self) -> dict[str, TableKind]:
        rows = self.connection.execute(
            "SELECT name, type FROM sqlite_master WHERE type IN ('table', 'view')"
            r" AND name NOT LIKE 'sqlite\_%' ESCAPE '\' ORDER BY name"
        )
        kinds: dict[str, TableKind] = {_decoded(name): "view" if kind == b"view" else "table" for name, kind in rows}
        if sqlite3.sqlite_version_info >= (3, 37):
            # Shadow tables are where a virtual table keeps its own data.
            for (name,) in self.connection.execute("SELECT name FROM pragma_table_list WHERE type = 'shadow'"):
                kinds.pop(_decoded(name), None)
        return kinds

    def _members(self) -> dict[str, list[_Member]]:
        rows = self.connection.execute(
            'SELECT m.name, c.name, c.type, c."notnull", c.pk FROM sqlite_master AS m, pragma_table_xinfo(m.name) AS c'
            " WHERE m.type = 'table' AND m.sql NOT LIKE 'CREATE VIRTUAL%' AND c.hidden <> 1 ORDER BY m.name, c.cid"
        )
        return {_decoded(name): [_member(row[1:]) for row in group] for name, group in groupby(rows, itemgetter(0))}

    def _members_of(self, native_name: str) -> list[_Member]:
        rows = self.connection.execute(
            'SELECT name, type, "notnull", pk FROM pragma_table_xinfo(?) WHERE hidden <> 1 ORDER BY cid', [native_name]
        )
        return [_member(row) for row in rows]

    def _references(self) -> References:
        rows = self.connection.execute(
            'SELECT m.name, k.id, k."table", k."from", k."to" FROM sqlite_master AS m,'
            " pragma_foreign_key_list(m.name) AS k WHERE m.type = 'table' AND m.sql NOT LIKE 'CREATE VIRTUAL%'"
            " ORDER BY m.name, k.id, k.seq"
        )
        references: References = {}
        for (name, _, target), group in groupby(rows, itemgetter(0, 1, 2)):
            pairs = [(_decoded(row[3]), None if row[4] is None else _decoded(row[4])) for row in group]
            references.setdefault(_decoded(name), []).append((_decoded(target), pairs))
        return references

    def _survey(self, name: str, native_name: str, kind: TableKind, members: list[_Member]) -> Table:
        promises = [declared(member.native_type) for member in members]
        row_key = _row_key(members) if kind == "table" else None
        clock = self.connection.clock
        clock.left = self.query_seconds
        clock.steps_left = self.view_steps if kind == "view" else None
        try:
            rows, facts = self._facts(native_name, members, promises, row_key)
            large = self._follow_up(native_name, members, promises, facts)
        except sqlite3.OperationalError as error:
            if kind != "view" or error.sqlite_errorname != "SQLITE_INTERRUPT":
                raise
            rows, facts, large = None, [None] * len(members), set()
        finally:
            if clock.steps_left is not None:
                self.view_steps = max(clock.steps_left, 0)
            clock.steps_left = None
        columns = []
        for number, (exposed, member) in enumerate(
            zip(unique_names(member.name for member in members), members, strict=True)
        ):
            fact = facts[number]
            is_key = number == row_key
            if fact is None:
                column_type = "BIGINT" if is_key else "VARCHAR"
            else:
                column_type = duckdb_type(promises[number], fact, large_integers=number in large)
            columns.append(
                Column(
                    exposed,
                    column_type,
                    member.name,
                    member.native_type,
                    nullable=not (member.not_null or is_key),
                    comment=NOT_UTF8 if fact is not None and fact.not_utf8 and column_type == "VARCHAR" else None,
                )
            )
        keys = sorted((member.key_position, columns[n].name) for n, member in enumerate(members) if member.key_position)
        size = None if rows is None else sum(fact.size if fact and fact.size else 8 * rows for fact in facts)
        return Table(
            name,
            native_name,
            tuple(columns),
            kind=kind,
            rows=rows,
            rows_exact=rows is not None,
            bytes=size,
            primary_key=tuple(key for _, key in keys),
        )

    def _facts(
        self, native_name: str, members: list[_Member], promises: list[Declared], row_key: int | None
    ) -> tuple[int, list[Facts | None]]:
        """The number of rows, and what is in each column but the row key, which holds integers only."""
        asked: list[tuple[int, str, str]] = []
        for number, (member, promise) in enumerate(zip(members, promises, strict=True)):
            if number != row_key:
                expressions = survey_expressions(_column(member), promise, check_text=self.connection.is_utf8)
                asked += [(number, fact, expression) for fact, expression in expressions.items()]
        answers: list[Any] = []
        rows = 0
        for start in range(0, max(len(asked), 1), MOST_RESULTS):
            part = [expression for _, _, expression in asked[start : start + MOST_RESULTS]]
            rows, *values = self._select(native_name, ["count(*)", *part])
            answers += values
        by_column: dict[int, dict[str, Any]] = {}
        for (number, fact, _), answer in zip(asked, answers, strict=True):
            by_column.setdefault(number, {})[fact] = answer
        return rows, [facts_from(by_column[number]) if number in by_column else None for number in range(len(members))]

    def _follow_up(
        self, native_name: str, members: list[_Member], promises: list[Declared], facts: list[Facts | None]
    ) -> set[int]:
        """Asks what only few columns need to know; fills in `not_utf8`, and returns where large integers are."""
        asked: list[tuple[int, bool, str]] = []
        for number, (member, promise, fact) in enumerate(zip(members, promises, facts, strict=True)):
            if fact is None:
                continue
            column = _column(member)
            if needs_integer_bounds(fact):
                large = f"{column} NOT BETWEEN {1 - EXACT_INTEGERS} AND {EXACT_INTEGERS - 1}"
                asked.append((number, False, f"max(typeof({column}) = 'integer' AND {large})"))
            was_asked = promise.affinity in {"TEXT", "BLOB"} and not promise.meaning
            if self.connection.is_utf8 and not was_asked and duckdb_type(promise, fact) == "VARCHAR":
                asked.append((number, True, not_utf8_expression(column)))
        if not asked:
            return set()
        answers = self._select(native_name, [expression for _, _, expression in asked])
        large_integers = set()
        for (number, is_about_text, _), answer in zip(asked, answers, strict=True):
            fact = facts[number]
            if is_about_text and fact is not None:
                facts[number] = replace(fact, not_utf8=bool(answer))
            elif answer:
                large_integers.add(number)
        return large_integers

    def _select(self, native_name: str, expressions: list[str]) -> tuple[Any, ...]:
        with self.connection.clock:
            answer: tuple[Any, ...] = self.connection.execute(
                f"SELECT {', '.join(expressions)} FROM {identifier(native_name)} AS t"
            ).fetchone()
        return answer


def _member(row: tuple[Any, ...]) -> _Member:
    name, native_type, not_null, key_position = row
    return _Member(_decoded(name), _decoded(native_type or b""), bool(not_null), key_position)


def _row_key(members: list[_Member]) -> int | None:
    """The INTEGER PRIMARY KEY, which is the row number and can hold nothing else."""
    keys = [number for number, member in enumerate(members) if member.key_position]
    if len(keys) == 1 and members[keys[0]].native_type.upper() == "INTEGER":
        return keys[0]
    return None


def _with_foreign_keys(tables: list[Table], references: References) -> list[Table]:
    by_name = {table.native_name.lower(): table for table in tables}
    result = []
    for table in tables:
        keys = []
        for target_name, pairs in references.get(table.native_name, ()):
            target = by_name.get(target_name.lower())
            if target is None:
                continue
            own = _exposed(table, [pair[0] for pair in pairs])
            theirs = [pair[1] for pair in pairs if pair[1] is not None]
            others = _exposed(target, theirs) if theirs else target.primary_key
            if own and others and len(own) == len(others):
                keys.append(ForeignKey(own, None, target.name, others))
        result.append(replace(table, foreign_keys=tuple(keys)) if keys else table)
    return result


def _exposed(table: Table, native_names: list[str]) -> tuple[str, ...]:
    """Exposed names of columns; a declaration may write them in another case. Empty when one is missing."""
    names = {column.native_name.lower(): column.name for column in table.columns}
    found = [names[name.lower()] for name in native_names if name.lower() in names]
    return tuple(found) if len(found) == len(native_names) else ()


def _not_utf8(text: bytes) -> bool:
    try:
        str(text, "utf-8")
    except UnicodeDecodeError:
        return True
    return False


def _column(member: _Member) -> str:
    return "t." + identifier(member.name)


def _decoded(name: bytes) -> str:
    return name.decode(errors="replace")
