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
            sources = _sources(state)
            known = {each.name for each in sources}
            return Status(
                (*sources, *(each for each in declared if each.name not in known)),
                max((row["listed_at"] for row in state.rows("SELECT listed_at FROM sources")), default=None),
                state.count("tables"), state.count("columns"), state.count("relations"), state.count("copies"),
                state.count("document_files"), _unread(state), changed, len(_open(_doubts(state), said)),
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


def _sources(state: EvidenceState) -> tuple[SourceStatus, ...]:
    rows = state.rows(
        "SELECT s.source, s.kind, s.problem, count(t.reference) AS tables FROM sources s LEFT JOIN tables t "
        "ON t.source = s.source GROUP BY ALL ORDER BY s.source"
    )
    return tuple(SourceStatus(row["source"], row["kind"], row["tables"], row["problem"]) for row in rows)


def _unread(state: EvidenceState) -> tuple[tuple[str, str], ...]:
    rows = state.rows("SELECT reference, problem FROM tables WHERE problem IS NOT NULL ORDER BY reference")
    return tuple((row["reference"], row["problem"]) for row in rows)


def _doubts(state: EvidenceState) -> list[Doubt]:
    uses = {
        row["reference"]: row["number"]
        for row in state.rows(
            "SELECT reference, count(*) AS number FROM (SELECT left_table AS reference FROM relations UNION ALL "
            "SELECT right_table FROM relations) GROUP BY reference"
        )
    }
    copies = {row["table_reference"] for row in state.rows("SELECT table_reference FROM copies")}
    found: list[Doubt] = []
    for row in state.rows(
        "SELECT * FROM relations WHERE confidence BETWEEN $1 AND $2 AND provenance <> 'stated'", list(UNSURE_JOIN)
    ):
        if {row["left_table"], row["right_table"]} & copies:
            continue
        says = f"{', '.join(row['left_columns'])} = {', '.join(row['right_columns'])}"
        why = f"{row['left_match']:.0%} and {row['right_match']:.0%} of the rows match, {row['cardinality']}"
        hangs = uses.get(row["left_table"], 0) + uses.get(row["right_table"], 0)
        found.append(
            Doubt("join", row["left_columns"][0], row["right_columns"][0], says, why, row["confidence"], hangs)
        )
    for row in state.rows(
        "SELECT reference, identity, membership, runner_up, runner_up_membership FROM memberships "
        "WHERE is_table AND coordinate = 'entity' AND NOT pinned AND membership < $1",
        [UNSURE_ROLE],
    ):
        if row["reference"] in copies:
            continue
        why = f"{row['membership']:.2f}, and {row['runner_up']} {row['runner_up_membership']:.2f}"
        found.append(
            Doubt("role", row["reference"], row["runner_up"], f"is {row['identity']}", why, row["membership"],
                  uses.get(row["reference"], 0))
        )  # fmt: skip
    for row in state.rows("SELECT * FROM copies WHERE confidence < $1", [UNSURE]):
        original = row["original_reference"] or ""
        says = f"is a {row['kind']}" + (f" of {original}" if original else "")
        found.append(
            Doubt("copy", row["table_reference"], original, says, "; ".join(row["reasons"] or ()), row["confidence"],
                  uses.get(original, 0))
        )  # fmt: skip
    for row in state.rows("SELECT * FROM code_lists WHERE confidence < $1 OR status = 'outdated'", [UNSURE]):
        says = f"is decoded by {row['list_reference']}" + (" (outdated)" if row["status"] == "outdated" else "")
        found.append(
            Doubt("code list", row["column_reference"], row["list_reference"], says, "; ".join(row["reasons"] or ()),
                  row["confidence"], uses.get(row["column_reference"].rpartition(".")[0], 0))
        )  # fmt: skip
    return sorted(found, key=lambda each: (-each.uses, each.kind, each.confidence, each.about))
