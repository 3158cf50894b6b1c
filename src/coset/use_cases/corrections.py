"""Corrections: what people say (roles, notes, entries of the corrections file), what is most worth asking, the status.

In: a name as a person writes it, and what is so. Out: what was kept, and every object whose role is another than
before; doubts, those first on which most hangs. Nothing is trained; everything can be taken back.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from coset.environment import corrections as corrections_file
from coset.environment.configuration import Environment
from coset.environment.corrections import (
    Correction,
    Corrections,
    Role,
    add_corrections,
    is_same,
    load_corrections,
    remove_corrections,
)
from coset.errors import CosetError, UserError
from coset.evidence.changes import Difference, differences
from coset.identities.comprehension import RoleChange, comprehend_identities
from coset.identities.inventory import Inventory, load_inventory
from coset.identities.model import IdentityModel, load_model
from coset.identities.store import IdentityStore
from coset.identities.teaching import MOVED, Statement, contradicted, mirror_corrections, statements, without
from coset.state import EvidenceState, Note
from coset.state.documents import document_files
from coset.state.memberships import unsure_tables
from coset.state.read_model import ReadModel
from coset.state.relations import joins_of_tables
from coset.state.tables import source_overviews
from coset.use_cases.evidence import reference_of
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
    surest: dict[tuple[str, str, str], Doubt] = {}
    for each in doubts:  # A column may have doubts about one list for several of its codes: one is enough to ask about.
        key = (each.kind, each.about, each.other)
        if key not in surest or each.confidence > surest[key].confidence:
            surest[key] = each
    return [
        each
        for each in doubts
        if each is surest[each.kind, each.about, each.other]
        and (each.kind, frozenset({each.about} if each.kind == "copy" else {each.about, each.other})) not in settled
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


@dataclass(frozen=True)
class Teaching:
    """What came of it. `statements` were kept or, when something was revoked, taken back."""

    statements: tuple[Statement, ...]
    changes: tuple[RoleChange, ...]
    told: Callable[[str], str] = field(default=str, repr=False, compare=False)
    """References in a text as the names that SQL has."""

    def __str__(self) -> str:
        lines = [
            f"{each.number}  {each.reference} {'is' if each.supports else 'is not'} {each.identity}"
            for each in self.statements
        ]
        lines += [f"{each.reference}: {each.before} -> {each.after}" for each in self.changes]
        return self.told("\n".join(lines))


def teach(workspace: Workspace, name: str, role: str, *, negative: bool = False) -> Teaching:
    """Keep that a table or column plays a role, or does not, and realise the identities anew."""
    environment = workspace.configuration
    with workspace.objects() as objects:
        about = reference_of(objects, name)
    model = load_model(environment.identities_file)
    model.inventory.role(role)  # Says what is wrong with it before anything is kept.
    with workspace.writing() as state:
        store = IdentityStore(state)
        store.require()
        about = store.resolve_object(about)
        mirror_corrections(state, environment, model.inventory)
        entry = Role(reference=about, is_not=role) if negative else Role(reference=about, is_=role)
        new, _ = statements(Corrections(roles=(entry,)), model.inventory)
        known, _ = statements(load_corrections(environment), model.inventory)
        replaced, left = without(known, contradicted(known, new))
        add_corrections(environment, [*left, entry], instead_of=replaced)
        changes = _realise(state, environment, model)
    kept = tuple(each for each in _said(environment, model.inventory) if is_same(each.role, entry))
    return Teaching(kept, changes, workspace.names().told)


def revoke(workspace: Workspace, number: int) -> Teaching:
    """Take a statement back, and realise the identities anew."""
    environment = workspace.configuration
    model = load_model(environment.identities_file)
    with workspace.writing() as state:
        IdentityStore(state).require()
        mirror_corrections(state, environment, model.inventory)
        known = _said(environment, model.inventory)
        taken_back = [each for each in known if each.number == number]
        if not taken_back:
            raise UserError(f"there is no statement {number}: `coset teach --list` shows them")
        changed, left = without(known, taken_back)
        add_corrections(environment, left, instead_of=changed)
        changes = _realise(state, environment, model)
    return Teaching(tuple(taken_back), changes, workspace.names().told)


def taught(workspace: Workspace) -> tuple[Statement, ...]:
    """All that people said of roles."""
    _hand_over(workspace)
    return tuple(_said(workspace.configuration, load_inventory(workspace.configuration.identities_file)))


def add_note(workspace: Workspace, name: str, text: str) -> Note:
    """Keep what a person says of a source, table or column."""
    if not text.strip():
        raise UserError("the note is empty: write what is so")
    with workspace.objects() as objects:
        about = reference_of(objects, name)
    _hand_over(workspace)
    add_corrections(workspace.configuration, [corrections_file.Note(reference=about, text=text)])
    _hand_over(workspace, always=True)
    return next(note for note in notes(workspace) if (note.about, note.text) == (about, text))


def remove_note(workspace: Workspace, number: int) -> None:
    _hand_over(workspace)
    said = load_corrections(workspace.configuration).notes
    if not 1 <= number <= len(said):
        raise UserError(f"there is no note {number}: `coset note --list` shows them")
    remove_corrections(workspace.configuration, [said[number - 1]])
    _hand_over(workspace, always=True)


def notes(workspace: Workspace) -> tuple[Note, ...]:
    _hand_over(workspace)
    said = load_corrections(workspace.configuration).notes
    return tuple(Note(number, note.reference, note.text) for number, note in enumerate(said, start=1))


def _hand_over(workspace: Workspace, *, always: bool = False) -> None:
    """See that the state holds what the file says, and the file what an older state held."""
    with workspace.reading() as state:
        if not always and state.meta(MOVED) is not None:
            return
    with workspace.writing() as state:
        inventory = load_inventory(workspace.configuration.identities_file)
        mirror_corrections(state, workspace.configuration, inventory)


NAMES = ("reference", "left", "right", "table", "original", "column", "list", "about", "needs")
"""The fields of corrections that hold names of tables and columns."""


def declare(workspace: Workspace, entries: Sequence[Correction]) -> None:
    """Add to the corrections file, with names as references. Raises `UserError` for a name that is not there."""
    add_corrections(workspace.configuration, with_references(workspace, entries))


def withdraw(workspace: Workspace, entries: Sequence[Correction]) -> None:
    remove_corrections(workspace.configuration, with_references(workspace, entries))


def said(workspace: Workspace) -> Corrections:
    """All that the corrections file holds."""
    return load_corrections(workspace.configuration)


def with_references(workspace: Workspace, entries: Sequence[Correction]) -> list[Correction]:
    """The same entries, each name in them as the reference that it means."""
    found = []
    with workspace.objects() as objects:
        for entry in entries:
            named = {name: value for name in NAMES if (value := getattr(entry, name, None))}
            resolved = {
                name: reference_of(objects, value)
                if isinstance(value, str)
                else tuple(reference_of(objects, each) for each in value)
                for name, value in named.items()
            }
            found.append(entry.model_copy(update=resolved))
    return found


def _said(environment: Environment, inventory: Inventory) -> list[Statement]:
    return statements(load_corrections(environment), inventory)[0]


def _realise(state: EvidenceState, environment: Environment, model: IdentityModel) -> tuple[RoleChange, ...]:
    mirror_corrections(state, environment, model.inventory)
    return comprehend_identities(state, model).changes
