"""What is there, what is stale, and where a person's word is worth most.

In: a workspace. Out: a `Status`, and doubts in the order in which settling them helps: contested joins, roles, copies
and code lists of the tables that most joins lead to come first. What a person has settled is left out.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Literal

from coset.environment.corrections import Corrections, load_corrections
from coset.errors import CosetError, UserError
from coset.evidence.changes import Difference, differences
from coset.state import EvidenceState
from coset.state.documents import document_files
from coset.state.memberships import unsure_tables
from coset.state.read_model import ReadModel
from coset.state.relations import joins_of_tables
from coset.state.tables import source_overviews
from coset.use_cases.workspace import Workspace

UNSURE_JOIN = (0.35, 0.8)
"""A join within is worth a look; one below is shown to nobody, one above is taken as it is."""
UNSURE_ROLE = 0.5
UNSURE = 0.8
"""A copy or code list below this is worth a look."""
MOST = 50
Kind = Literal["join", "role", "copy", "code list"]


@dataclass(frozen=True)
class Doubt:
    """One thing that a person could settle. `about` and `other` are references; `says` is what is held now."""

    kind: Kind
    about: str
    other: str
    says: str
    why: str
    confidence: float
    uses: int
    """How many joins touch its tables: how much hangs on it."""


@dataclass(frozen=True)
class SourceStatus:
    name: str
    kind: str
    tables: int
    problem: str | None


@dataclass(frozen=True)
class Status:
    """`changed` is None where nobody looked at the sources."""

    sources: tuple[SourceStatus, ...]
    comprehended_at: datetime.datetime | None
    """None where the environment was never comprehended."""
    tables: int = 0
    columns: int = 0
    relations: int = 0
    copies: int = 0
    documents: int = 0
    unread: tuple[tuple[str, str], ...] = ()
    """Tables that could not be read, with why."""
    changed: tuple[Difference, ...] | None = None
    doubts: int = 0
    said: int = 0
    """Entries of the corrections file."""
    wrong: tuple[str, ...] = ()
    """What is wrong in the corrections file."""
    model: str | None = None


def status(workspace: Workspace, *, look: bool = True) -> Status:
    """How an environment stands. With `look`, its sources are asked whether they changed."""
    configuration = workspace.configuration
    said, wrong = _corrections(workspace)
    model = configuration.models.get("agent")
    declared = tuple(SourceStatus(name, "", 0, "not comprehended yet") for name in configuration.names)
    try:
        with workspace.reading() as state:
            changed = tuple(differences(configuration, state)) if look else None
            held, overview = ReadModel(state), source_overviews(state)
            sources = [SourceStatus(each.source, each.kind, each.tables, each.problem) for each in overview]
            known = {each.name for each in sources}
            return Status(
                (*sources, *(each for each in declared if each.name not in known)),
                max((each.listed_at for each in overview), default=None),
                sum(each.tables for each in overview), sum(each.columns for each in overview),
                len(held.relations), len(state.copies()), len(document_files(state)), _unread(held), changed,
                len(_open(_doubts(state), said)),
                _entries(said), wrong, model,
            )  # fmt: skip
    except UserError:
        return Status(declared, None, said=_entries(said), wrong=wrong, model=model)


def review(workspace: Workspace, limit: int = MOST) -> tuple[Doubt, ...]:
    """The doubts that most hangs on."""
    said, _ = _corrections(workspace)
    with workspace.reading() as state:
        return tuple(_open(_doubts(state), said)[:limit])


def _corrections(workspace: Workspace) -> tuple[Corrections, tuple[str, ...]]:
    try:
        said = load_corrections(workspace.configuration)
    except CosetError as error:
        return Corrections(), (str(error),)
    return said, tuple(f"line {problem.line}: {problem.text}" for problem in said.problems)


def _open(doubts: list[Doubt], said: Corrections) -> list[Doubt]:
    """The doubts that nobody has settled in the corrections file."""
    settled = {("join", frozenset({*each.left, *each.right})) for each in said.joins}
    settled |= {("copy", frozenset({each.table})) for each in said.copies}
    settled |= {("code list", frozenset({each.column, each.list})) for each in said.code_lists}
    return [
        each
        for each in doubts
        if (each.kind, frozenset({each.about} if each.kind == "copy" else {each.about, each.other})) not in settled
    ]


def _entries(said: Corrections) -> int:
    return sum(
        len(each)
        for each in (
            said.roles, said.notes, said.readings, said.joins, said.copies, said.code_lists, said.rules, said.links,
            said.questions,
        )
    )  # fmt: skip


def _unread(model: ReadModel) -> tuple[tuple[str, str], ...]:
    return tuple((row.reference, row.problem) for row in model.tables.values() if row.problem is not None)


def _doubts(state: EvidenceState) -> list[Doubt]:
    uses = joins_of_tables(state)
    copies = {each.table for each in state.copies()}
    found: list[Doubt] = []
    for row in ReadModel(state).relations:
        if not UNSURE_JOIN[0] <= row.confidence <= UNSURE_JOIN[1] or row.provenance == "stated":
            continue
        if {row.left_table, row.right_table} & copies:
            continue
        says = f"{', '.join(row.left_columns)} = {', '.join(row.right_columns)}"
        why = f"{row.left_match:.0%} and {row.right_match:.0%} of the rows match, {row.cardinality}"
        hangs = uses.get(row.left_table, 0) + uses.get(row.right_table, 0)
        found.append(Doubt("join", row.left_columns[0], row.right_columns[0], says, why, row.confidence, hangs))
    for role in unsure_tables(state, UNSURE_ROLE):
        if role.reference in copies:
            continue
        why = f"{role.membership:.2f}, and {role.runner_up} {role.runner_up_membership:.2f}"
        found.append(
            Doubt("role", role.reference, role.runner_up, f"is {role.identity}", why, role.membership,
                  uses.get(role.reference, 0))
        )  # fmt: skip
    for copy in state.copies():
        if copy.confidence < UNSURE:
            original = copy.original or ""
            says = f"is a {copy.kind}" + (f" of {original}" if original else "")
            why = "; ".join(copy.reasons)
            found.append(Doubt("copy", copy.table, original, says, why, copy.confidence, uses.get(original, 0)))
    for each in state.code_lists():
        if each.confidence < UNSURE or each.status == "outdated":
            says = f"is decoded by {each.list}" + (" (outdated)" if each.status == "outdated" else "")
            hangs = uses.get(each.column.rpartition(".")[0], 0)
            why = "; ".join(each.reasons)
            found.append(Doubt("code list", each.column, each.list, says, why, each.confidence, hangs))
    return sorted(found, key=lambda each: (-each.uses, each.kind, each.confidence, each.about))
