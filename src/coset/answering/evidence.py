"""The evidence of one question as its readers get it: the view, what was opened of it, and the part an agent needs.

In: a view, and what finds more of the environment. Out: texts. The prefix is the same for every question of an
environment and stands first; the details are of this question; what the arbiter opens is added. The agent gets all that
the records, the statement and the checks stand on. Asks no model.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from coset.answering.parse_records import Names
from coset.answering.quoting import data_block
from coset.answering.recover import LearnedRecover, recover_all
from coset.answering.shorthand import Shorthand, shortened
from coset.routing.view import EvidenceView, LeftOut
from coset.routing.view_text import view_text

OPENED = 4_000
"""Tokens of details for all that is opened."""
BY_OPENING = "open it by name"
"""For the arbiter, after how much evidence was left out."""


@dataclass
class Evidence:
    """What one question is answered from."""

    view: EvidenceView
    shorthand: Shorthand = field(default_factory=Shorthand)
    recover: LearnedRecover | None = None
    opened: dict[str, str] = field(default_factory=dict)
    """References of the tables that were opened, with what to write after FROM."""
    opened_text: str = ""
    in_vain: tuple[str, ...] = ()
    """What was asked for and is nowhere."""

    @classmethod
    def of(cls, view: EvidenceView, recover: LearnedRecover | None, shorthand: Shorthand) -> Evidence:
        """With short names for its long expressions; names that a resumed conversation has used stay."""
        short, names = shortened(view)
        shorthand.names = {**names.names, **shorthand.names}
        shorthand.taken |= names.taken
        return cls(short, shorthand, recover)

    def text(self, more: str | None = None) -> str:
        """All of it. `more` says how to get at what is left out, where that is not `recover`."""
        text = view_text(self.view) if more is None else view_text(self.view, more)
        return f"{text}\n{self.opened_text}" if self.opened_text else text

    def prompt(self) -> tuple[str, str]:
        """For the arbiter: the part that is the same for every question, and the part that is not."""
        return "", data_block("evidence", view_text(self.view, BY_OPENING))

    @property
    def says_something(self) -> bool:
        """Whether there is anything for an arbiter to decide by."""
        return self.view.matched

    @property
    def lists_all(self) -> bool:
        """Whether every table of the environment is named in it."""
        return False

    @property
    def names(self) -> Names:
        more: dict[str, str] = {}
        for reference, sql_name in self.opened.items():
            more |= {reference.lower(): reference, _bare(sql_name): reference}
            for column in self.recover.objects().columns(reference) if self.recover else ():
                inner = column.reference.removeprefix(reference).lstrip(".")
                more |= {
                    column.reference.lower(): column.reference,
                    f"{_bare(sql_name)}.{inner.lower()}": column.reference,
                }
        return Names.of(self.view, {**more, **self.shorthand.references})

    @property
    def references(self) -> frozenset[str]:
        return self.view.references | frozenset(self.opened)

    def open(self, wanted: Sequence[str], budget: int = OPENED) -> str:
        """The details of what is wanted, by reference, name in SQL, or words; they belong to the evidence from now "
        "on."""
        if self.recover is None:
            return "nothing more can be opened"
        names = self.names
        meant = [names.find(each) or each for each in wanted]
        found = recover_all(self.recover, meant, budget)
        objects = self.recover.objects()
        for what, text in found:
            reference = self.recover.reference(what)
            table = reference if reference in objects.tables else objects.table_of(reference)
            if table is not None:
                self.opened[table] = objects.tables[table].sql_name
            elif "NOTHING FOUND" in text:
                self.in_vain = (*self.in_vain, what)
        self.opened_text = "\n".join([self.opened_text, *(text for _, text in found)]).strip()
        return "\n".join(text for _, text in found)

    def tables_outside(self, sql: str) -> list[str]:
        """The tables that a statement reads and the evidence does not have. What does not parse is left to the "
        "session."""
        return tables_outside(sql, self.view, self.opened.values())

    def part(self, cited: frozenset[str]) -> str:
        """What the agent is shown where the records decide: the tables they name, whole, with joins, rules and cited
        documents; and what was opened."""
        text = view_text(cited_part(self.view, cited))
        return f"{text}\n{self.opened_text}" if self.opened_text else text


def tables_outside(sql: str, view: EvidenceView, more: Collection[str] = ()) -> list[str]:
    try:
        tree = sqlglot.parse_one(sql, dialect="duckdb")
    except (SqlglotError, RecursionError):
        return []
    own = {each.alias_or_name.lower() for each in tree.find_all(exp.CTE)}
    known = {_bare(table.sql_name) for table in view.tables} | set(map(_bare, more))
    # A family stands for many tables of one shape, which the view does not list one by one.
    families = {_bare(table.sql_name).partition(".")[0] for table in view.tables if table.family}
    outside = []
    for table in tree.find_all(exp.Table):
        written = ".".join(part.name for part in table.parts).lower()
        short = any(name.endswith(f".{written}") for name in known)
        if written and written not in own | known and not short and written.partition(".")[0] not in families:
            outside.append(written)
    return list(dict.fromkeys(outside))


def cited_part(view: EvidenceView, cited: frozenset[str]) -> EvidenceView:
    """The view with the tables that are cited or whose columns are, whole, their joins, and cited passages."""
    if not cited:
        return view
    relations = {relation.reference: relation for relation in view.relations if relation.reference in cited}
    keys = {reference for relation in relations.values() for reference in (*relation.left, *relation.right)}
    tables = tuple(
        table
        for table in view.tables
        if table.reference in cited or any(column.reference in cited | keys for column in table.columns)
    )
    shown = {table.reference for table in tables}
    for relation in view.relations:
        if {relation.left_table, relation.right_table} <= shown:
            relations[relation.reference] = relation
    shown |= {column.reference for table in tables for column in table.columns}
    return dataclasses.replace(
        view,
        tables=tables,
        relations=tuple(relation for relation in view.relations if relation.reference in relations),
        passages=tuple(passage for passage in view.passages if passage.reference in cited),
        anchors=tuple(anchor for anchor in view.anchors if anchor.reference in shown),
        left_out=LeftOut(),
    )


def read_by(sql: str, view: EvidenceView) -> frozenset[str]:
    """The references of the view's tables and columns that a statement names."""
    try:
        words = {token.text.lower() for token in sqlglot.tokenize(sql, dialect="duckdb")}
    except SqlglotError:
        return frozenset()
    found: set[str] = set()
    for table in view.tables:
        if _bare(table.sql_name).rpartition(".")[2] not in words:
            continue
        found.add(table.reference)
        for column in table.columns:
            inner = column.reference.removeprefix(table.reference).lstrip(".").lower()
            if {inner, f"{inner} clean", f"{inner} key", column.expression.strip('"').lower()} & words:
                found.add(column.reference)
    # A join between tables that are both read is what the statement joins by, or should have.
    found |= {relation.reference for relation in view.relations if {relation.left_table, relation.right_table} <= found}
    return frozenset(found)


def _bare(written: str) -> str:
    return written.replace('"', "").lower()
