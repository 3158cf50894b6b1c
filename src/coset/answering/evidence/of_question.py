"""The evidence of one question as its readers get it: the view, what was opened of it, and the part an agent needs.

In: a view, and what finds more of the environment. Out: texts. What is the same for every question of an environment
stands first: sources, rules and documents, then the directory; the details are of this question; what the arbiter opens
is added. A second request continues the first and shows what is new of the tables that were named. The agent gets all
that the records, the statement and the checks stand on. Asks no model.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from coset.answering.arbiter.records import Names
from coset.answering.evidence.recover import LearnedRecover, recover_all
from coset.answering.evidence.shorthand import Shorthand, shortened
from coset.answering.quoting import data_block, one_line
from coset.environment.configuration import Environment
from coset.environment.corrections import load_corrections
from coset.errors import CosetError
from coset.routing.search.questions import similar_questions
from coset.routing.views.materialise import opened
from coset.routing.views.text import BY_RECOVER, column_line, details_text, is_bare, prefix_text, view_text
from coset.routing.views.view import EvidenceView, LeftOut, ViewColumn, ViewRule, ViewTable

LONGEST_STATEMENT = 3_000


def confirmed_text(question: str, environment: Environment) -> str:
    """What similar questions were answered with; empty where there is none, or the file cannot be read."""
    try:
        known = load_corrections(environment).questions
    except CosetError:
        return ""
    found = similar_questions(question, [each for each in known if each.sql])
    if not found:
        return ""
    lines = [f"{one_line(each.question)}\n  {one_line(each.sql or '', LONGEST_STATEMENT)}" for each in found]
    return data_block("confirmed", "\n".join(["A person confirmed these answers to similar questions:", *lines]))


OPENED = 6_000
"""Tokens of details for all that is opened."""
BY_OPENING = "open it by name"
"""For the arbiter, after how much evidence was left out."""
NOWHERE = "NOTHING FOUND"
MOST_RULES = 60
MOST_UNSEEN = 5


@dataclass(frozen=True)
class Unseen:
    """What a statement stands on and its writer has not seen."""

    tables: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()

    @property
    def tells(self) -> list[str]:
        return [f"{each} stood in the directory only: its details are above" for each in self.tables] + [
            f"a rule in force that was not shown: {each}" for each in self.rules
        ]


@dataclass
class Evidence:
    """What one question is answered from."""

    view: EvidenceView
    shorthand: Shorthand = field(default_factory=Shorthand)
    recover: LearnedRecover | None = None
    found: str = ""
    """What was found for words and documents that were opened: tables are in the view."""
    in_vain: tuple[str, ...] = ()
    """What was asked for and is nowhere."""
    confirmed: str = ""
    """Confirmed answers to similar questions, with their statements."""

    @classmethod
    def of(cls, view: EvidenceView, recover: LearnedRecover | None, shorthand: Shorthand) -> Evidence:
        """With short names for its long expressions; names that a resumed conversation has used stay."""
        return cls(shortened(view, shorthand), shorthand, recover)

    def text(self, more: str = BY_RECOVER) -> str:
        """All of it. `more` says how to get at what is left out."""
        return "\n".join(part for part in (view_text(self.view, more), self.found, self.confirmed) if part)

    def prompt(self) -> tuple[str, list[str]]:
        """For the arbiter: what all requests share (sources, rules, documents), then the directory, which is the same
        for every question too, and the details."""
        shared = prefix_text(dataclasses.replace(self.view, directory=(), listed=0, unlisted=""))
        directory = prefix_text(self.view).removeprefix(shared)
        details = self._with_confirmed(data_block("evidence", details_text(self.view, BY_OPENING)))
        rest = [data_block("directory", directory), details] if directory else [details]
        return data_block("environment", shared), rest

    def focus(self, named: Sequence[str], budget: int = OPENED) -> str:
        """What was not shown yet of the tables that are named: those of the directory whole, of others the columns
        that stood there by name alone, and the joins between all of them. It belongs to the evidence from now on.
        Empty where there is nothing new."""
        if self.recover is None:
            return ""
        objects = self.recover.objects()
        tables = list(dict.fromkeys(table for each in named if (table := objects.table_of(each)) is not None))
        if not tables:
            return ""
        more = shortened(opened(tables, objects, budget), self.shorthand)
        news = unshown(more, self.view)
        self.view = merged(self.view, more)
        known = {table.reference for table in self.view.tables}
        no_room = [table for table in tables if table not in known]
        if not (news.tables or news.relations or no_room):
            return ""
        text = details_text(news, "") + (f"no room for: {', '.join(no_room)}\n" if no_room else "")
        return data_block("evidence", text)

    def _with_confirmed(self, block: str) -> str:
        return f"{block}\n\n{self.confirmed}" if self.confirmed else block

    def unseen(self, sql: str) -> Unseen:
        """What a statement stands on and its writer has not seen: tables of which only the directory spoke, and rules
        in force on what it reads that no shown document holds."""
        named = tables_in(sql, self.view)
        detailed = {table.reference for table in self.view.tables}
        tables = tuple(each for each in named if each not in detailed)
        if self.recover is None:
            return Unseen(tables)
        said = " ".join(" ".join(passage.text.split()) for passage in self.view.passages)
        known = {rule.reference for rule in self.view.rules}
        reads = {*named, *read_by(sql, self.view)}
        rules = [
            rule
            for rule in self.recover.objects().knowledge.rules
            if not rule.status and not rule.is_general and reads & set(rule.about) and rule.reference not in known
        ]
        new = [" ".join(rule.text.split()) for rule in rules]
        return Unseen(tables, tuple(text for text in new if text not in said)[:MOST_UNSEEN])

    @property
    def is_thin(self) -> bool:
        """Whether the question speaks of something that nothing here is like, and there are tables that nobody saw."""
        return bool(self.view.unfound) and not self.lists_all

    def part(self, cited: frozenset[str]) -> str:
        """What the agent is shown where the records decide: the tables they name, whole, with joins and rules; all
        documents that the arbiter had, for records seldom cite what they stand on; and what was found."""
        part = dataclasses.replace(cited_part(self.view, cited), passages=self.view.passages)
        part = dataclasses.replace(part, rules=self._rules(part))
        return "\n".join(each for each in (view_text(part), self.found) if each)

    def _rules(self, part: EvidenceView) -> tuple[ViewRule, ...]:
        """The rules in force for what is shown. Where documents stand whole in the view it has none of their rules."""
        if self.recover is None or part.rules:
            return part.rules
        shown = {table.reference for table in part.tables}
        shown |= {column.reference for table in part.tables for column in table.columns}
        return tuple(
            ViewRule(rule.reference, rule.text, "general" if rule.is_general else "particular", rule.about)
            for rule in self.recover.objects().knowledge.rules
            if not rule.status and (rule.is_general or shown & set(rule.about))
        )[:MOST_RULES]

    @property
    def says_something(self) -> bool:
        """Whether there is anything for an arbiter to decide by."""
        return self.view.matched or bool(self.view.directory)

    @property
    def lists_all(self) -> bool:
        """Whether every table of the environment that has rows and is no copy is named in it."""
        return bool(self.view.listed) and "further tables" not in self.view.unlisted

    @property
    def names(self) -> Names:
        """Every name that a record may use."""
        return Names.of(self.view, self.shorthand.references)

    def open(self, wanted: Sequence[str], budget: int = OPENED) -> tuple[list[str], str]:
        """The tables that are wanted, by reference, name in SQL, or column, which the next request shows; and what is
        found for everything else, such as documents and words, which belongs to the evidence from now on."""
        if self.recover is None:
            return [], "nothing more can be opened"
        objects, names = self.recover.objects(), self.names
        meant = [names.find(each) or self.recover.reference(each) for each in wanted]
        tables = [each for each in meant if objects.table_of(each) is not None]
        texts = []
        for what, text in recover_all(self.recover, [each for each in meant if each not in tables], budget // 2):
            texts.append(text)
            self.in_vain += (what,) if NOWHERE in text else ()
            self.found = f"{self.found}\n{text}".strip()
        return tables, "\n".join(texts)

    def tables_outside(self, sql: str) -> list[str]:
        """The tables that a statement reads and the evidence does not have. What does not parse is left to the "
        "session."""
        return tables_outside(sql, self.view)


def unshown(more: EvidenceView, view: EvidenceView) -> EvidenceView:
    """Of some details those that a view does not show: tables that it lacks whole, columns of which it says less, joins
    that it lacks."""
    before = {table.reference: table for table in view.tables}
    tables = []
    for table in more.tables:
        known = before.get(table.reference)
        told = {each.reference: _facts(each, table) for each in known.columns} if known else {}
        columns = tuple(
            each
            for each in table.columns
            if not is_bare(each) and len(_facts(each, table)) > len(told.get(each.reference, ""))
        )
        if known is None:
            tables.append(table)
        elif columns:
            tables.append(dataclasses.replace(table, columns=columns, left_out=0, duplicates="", description=""))
    shown = {each.reference for each in (*more.tables, *view.tables)}
    joins = {each.reference for each in view.relations}
    return dataclasses.replace(
        more,
        tables=tuple(tables),
        relations=tuple(
            each
            for each in more.relations
            if each.reference not in joins and {each.left_table, each.right_table} <= shown
        ),
        passages=(),
        anchors=(),
        shorthands=tuple(each for each in more.shorthands if each not in view.shorthands),
        apart=(),
        left_out=LeftOut(),
    )


def _facts(column: ViewColumn, table: ViewTable) -> str:
    return column_line(dataclasses.replace(column, why=()), table.reference)


def merged(view: EvidenceView, more: EvidenceView) -> EvidenceView:
    """A view with the tables, joins, rules and passages of another, which wins where both have something."""
    new = {table.reference for table in more.tables}
    relations = {each.reference: each for each in (*view.relations, *more.relations)}
    passages = {each.reference: each for each in (*view.passages, *more.passages)}
    rules = {each.reference: each for each in (*view.rules, *more.rules)}
    return dataclasses.replace(
        view,
        matched=view.matched or bool(more.tables),
        tables=(*(table for table in view.tables if table.reference not in new), *more.tables),
        relations=tuple(relations.values()),
        passages=tuple(passages.values()),
        rules=tuple(rules.values()),
    )


def tables_in(sql: str, view: EvidenceView) -> list[str]:
    """References of the tables of the view, detailed or in its directory, that a statement reads."""
    try:
        tree = sqlglot.parse_one(sql, dialect="duckdb")
    except (SqlglotError, RecursionError):
        return []
    known = {_bare(entry.sql_name): entry.reference for entry in view.directory}
    known |= {_bare(table.sql_name): table.reference for table in view.tables}
    found = []
    for table in tree.find_all(exp.Table):
        written = ".".join(part.name for part in table.parts).lower()
        found += [known[written]] if written in known else []
    return list(dict.fromkeys(found))


def tables_outside(sql: str, view: EvidenceView) -> list[str]:
    try:
        tree = sqlglot.parse_one(sql, dialect="duckdb")
    except (SqlglotError, RecursionError):
        return []
    own = {each.alias_or_name.lower() for each in tree.find_all(exp.CTE)}
    known = {_bare(table.sql_name) for table in view.tables} | {_bare(entry.sql_name) for entry in view.directory}
    # A family stands for many tables of one shape, which the view does not list one by one.
    families = {_bare(table.sql_name).partition(".")[0] for table in view.tables if table.family}
    families |= {name for name, kind, _ in view.sources if kind == "record links"}
    outside = []
    for table in tree.find_all(exp.Table):
        written = ".".join(part.name for part in table.parts).lower()
        short = any(name.endswith(f".{written}") for name in known)
        if written and written not in own | known and not short and written.partition(".")[0] not in families:
            outside.append(written)
    return list(dict.fromkeys(outside))


def cited_part(view: EvidenceView, cited: frozenset[str]) -> EvidenceView:
    """The view with the tables that are cited or whose columns are, whole, their joins, the rules in force for them,
    the passages chosen for the question and the documents cited; without the directory."""
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
        passages=tuple(each for each in view.passages if not each.whole or each.reference in cited),
        rules=tuple(
            each for each in view.rules if each.scope == "general" or {*each.about, each.reference} & (shown | cited)
        ),
        directory=(),
        listed=0,
        unlisted="",
        main=(),
        main_relations=(),
        likely_main=(),
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
