"""Joins, copies, code lists and record links: list them, and keep what people say of them.

In: a workspace. Out: typed rows; for a declared join, its test on the data; for links, what links two records and why.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from coset.environment.copy_names import COPY_KINDS
from coset.environment.corrections import Copy as SaidCopy
from coset.environment.corrections import Correction, Join, Link, Record, add_corrections, load_corrections
from coset.errors import UserError
from coset.relations.links import LINKS_MADE, links_digest
from coset.session.own_tables import LINKED
from coset.state.names import resolve
from coset.state.objects import CodeList, Copy
from coset.state.read_model import ReadModel
from coset.state.relations import (
    LinkedEntity,
    LinkedRecord,
    LinkPair,
    link_pairs,
    linked_entities,
    linked_records,
)
from coset.use_cases.comprehend import JOINS, LINKS_ALONE, Settings, comprehend
from coset.use_cases.corrections import with_references
from coset.use_cases.evidence import resolved
from coset.use_cases.workspace import Workspace

NEAR_MISSES = 50


@dataclass(frozen=True)
class Linked:
    """One entity: its records by cluster, and the likeliest pairs that were left apart."""

    summary: LinkedEntity
    records: tuple[LinkedRecord, ...]
    near_misses: tuple[LinkPair, ...]

    @property
    def relation(self) -> str:
        """What SQL calls it."""
        return f"{LINKED}.{self.summary.entity}"


@dataclass(frozen=True)
class Explained:
    """One thing: its records, why each was linked, and what was left apart from it."""

    entity: str
    cluster: int
    records: tuple[LinkedRecord, ...]
    followed: tuple[LinkPair, ...]
    refused: tuple[LinkPair, ...]


def link_records(workspace: Workspace, *, large: bool = False, again: bool = False) -> tuple[tuple[str, str], ...]:
    """Link where it was not done, or not since something changed; `large`: also tables above the usual size. What
    could not be read."""
    if not (large or again):
        with workspace.reading() as state:
            if state.meta(LINKS_MADE) == links_digest(workspace.configuration, state):
                return ()
    summary = comprehend(workspace.configuration, Settings(link=True, link_large=large), stages=LINKS_ALONE)
    return summary.all_problems


def entities(workspace: Workspace) -> list[LinkedEntity]:
    """The entities that were linked, the largest first."""
    link_records(workspace)
    with workspace.reading() as state:
        return linked_entities(state)


def known_entities(workspace: Workspace) -> list[LinkedEntity]:
    """The entities as they were last linked; none where records never were."""
    with workspace.reading() as state:
        return linked_entities(state)


def links_of(workspace: Workspace, entity: str) -> Linked:
    """One entity, by its name, or by that of one of its tables."""
    link_records(workspace)
    with workspace.reading() as state:
        found = _entity(linked_entities(state), entity)
        return Linked(
            found,
            tuple(linked_records(state, found.entity)),
            tuple(link_pairs(state, found.entity, followed=False, most=NEAR_MISSES)),
        )


def explain_links(workspace: Workspace, entity: str, key: str) -> list[Explained]:
    """The things that have a record of that key (`KEY`, or `TABLE:KEY`)."""
    linked = links_of(workspace, entity)
    records = _named(workspace, linked.records, key)
    found = []
    with workspace.reading() as state:
        for cluster in sorted({record.cluster for record in records}):
            members = tuple(record for record in linked.records if record.cluster == cluster)
            pairs = link_pairs(state, linked.summary.entity, keys=[(each.table, each.key) for each in members])
            found.append(
                Explained(
                    linked.summary.entity, cluster, members,
                    tuple(each for each in pairs if each.followed), tuple(each for each in pairs if not each.followed),
                )
            )  # fmt: skip
    return found


def declare_link(workspace: Workspace, one: str, other: str, *, same: bool, entity: str | None = None) -> Link:
    """Keep that two records (`TABLE:KEY`, or `KEY` alone beside an entity) are the same thing, or are not; in place of
    what was said of the two before. Holds when records are next linked."""
    ends = tuple(_record(workspace, each, entity) for each in (one, other))
    if ends[0] == ends[1]:
        raise UserError(f"'{one}' and '{other}' are one record: name two")
    said = Link(entity=entity, records=ends, rejected=not same)
    before = [each for each in load_corrections(workspace.configuration).links if set(each.records) == set(ends)]
    add_corrections(workspace.configuration, [said], instead_of=before)
    return said


def _record(workspace: Workspace, written: str, entity: str | None) -> Record:
    if entity is not None:
        found = {(each.table, each.key) for each in _named(workspace, links_of(workspace, entity).records, written)}
        if len(found) > 1:
            tables = ", ".join(sorted(f"{table}:{key}" for table, key in found))
            raise UserError(f"'{written}' is a key of several tables: write one of {tables}")
        [(table, key)] = found
        return Record(table=table, key=key)
    name, colon, key = written.partition(":")
    if not colon or not key:
        raise UserError(f"'{written}' names no record: write TABLE:KEY, or the entity before it")
    with workspace.reading() as state:
        return Record(table=resolve(state, name), key=key)


def _named(workspace: Workspace, records: Sequence[LinkedRecord], written: str) -> list[LinkedRecord]:
    found = [record for record in records if record.key == written]
    name, colon, key = written.partition(":")
    if not found and colon:
        with workspace.reading() as state:
            table = resolve(state, name)
        found = [record for record in records if (record.table, record.key) == (table, key)]
    if not found:
        raise UserError(f"no record that was linked has the key '{written}'")
    return found


def _entity(known: Sequence[LinkedEntity], written: str) -> LinkedEntity:
    wanted = written.lower().removeprefix(f"{LINKED}.")
    for each in known:
        if each.entity.lower() == wanted:
            return each
    tables = {table.rpartition("/")[2].lower(): each for each in reversed(known) for table in each.tables}
    tables |= {table.replace("/", ".").lower(): each for each in known for table in each.tables}
    if wanted.replace("/", ".") in tables:
        return tables[wanted.replace("/", ".")]
    if not known:
        raise UserError("no entity was found in several tables: there is nothing to link")
    names = [each.entity for each in known]
    near = difflib.get_close_matches(wanted, names, n=1)
    hint = f"did you mean {near[0]}? " if near else ""
    raise UserError(f"'{written}' is not linked: {hint}there are {', '.join(names)}")


def copies(workspace: Workspace, about: str | None = None) -> list[Copy]:
    """The tables that are copies; of one table, those of which it is the copy or the original."""
    reference = resolved(workspace, about)
    with workspace.reading() as state:
        return [each for each in state.copies() if reference in (None, each.table, each.original)]


def code_lists(workspace: Workspace, about: str | None = None) -> list[CodeList]:
    """Which rows of which table decode a column; of one table or column, those that decode it or stand in it."""
    reference = resolved(workspace, about)
    with workspace.reading() as state:
        return [
            each
            for each in state.code_lists()
            if reference is None or reference in (each.column, each.list) or each.column.startswith(f"{reference}.")
        ]


def declare_copy(
    workspace: Workspace, table: str, original: str | None, kind: str | None = None, *, rejected: bool = False
) -> SaidCopy:
    """Say that a table is a copy of another, or that it is none. Holds from the next comprehension on."""
    if kind is not None and kind not in COPY_KINDS:
        raise UserError(f"{kind!r} is no kind of copy: it is one of {', '.join(COPY_KINDS)}")
    said = SaidCopy(table=table, original=original, kind=kind, rejected=rejected)
    new = _kept(workspace, said)
    if not isinstance(new, SaidCopy):
        raise TypeError(type(new))
    return new


def declare_join(
    workspace: Workspace, left: str, right: str, expression: str | None = None, *, rejected: bool = False
) -> dict[str, Any] | None:
    """Say that two columns join (by `expression`, an equality in SQL over them, if one is given), or that they do not.
    The join as it was tested; None for a rejected one, or one that cannot be tested here."""
    sides = _sides(expression) if expression else (None, None)
    said = Join(
        left=(left,), right=(right,), left_expression=sides[0], right_expression=sides[1], rejected=rejected
    )  # fmt: skip
    new = _kept(workspace, said)
    if not isinstance(new, Join):
        raise TypeError(type(new))
    comprehend(workspace.configuration, stages=JOINS)
    if rejected:
        return None
    pair = {new.left, new.right}
    with workspace.reading() as state:
        return next(
            (asdict(row) for row in ReadModel(state).relations if {row.left_columns, row.right_columns} == pair), None
        )


def _kept(workspace: Workspace, said: SaidCopy | Join) -> Correction:
    """What was said, with references for names, in the place of what was said before of the same thing."""
    [new] = with_references(workspace, [said])
    known = load_corrections(workspace.configuration)
    before: list[Correction] = []
    if isinstance(new, Join):
        before = [each for each in known.joins if {each.left, each.right} == {new.left, new.right}]
    elif isinstance(new, SaidCopy):
        before = [each for each in known.copies if each.table == new.table]
    add_corrections(workspace.configuration, [new], instead_of=before)
    return new


def _sides(expression: str) -> tuple[str, str]:
    """The two sides of an equality, in SQL."""
    try:
        tree = sqlglot.parse_one(expression, dialect="duckdb")
    except SqlglotError:
        tree = None
    if not isinstance(tree, exp.EQ):
        raise UserError(f"{expression!r} is no equality: write it as left = right, in SQL over the two columns")
    return tree.left.sql("duckdb"), tree.right.sql("duckdb")
