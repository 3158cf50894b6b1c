"""What a person says: roles that are taught, and notes. Kept in the corrections file beside `coset.yaml`.

In: a name as a person writes it, and what is so. Out: what was kept, numbered in the file's order, and every object
whose role is another than before. Nothing is trained; everything can be taken back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from coset.environment import corrections as corrections_file
from coset.environment.configuration import Environment
from coset.environment.corrections import (
    Correction,
    Corrections,
    Role,
    add_corrections,
    load_corrections,
    remove_corrections,
)
from coset.errors import UserError
from coset.identities.comprehension import RoleChange, comprehend_identities
from coset.identities.inventory import Inventory, load_inventory
from coset.identities.model import IdentityModel, load_model
from coset.identities.store import IdentityStore
from coset.identities.teaching import MOVED, Statement, contradicted, mirror_corrections, statements, without
from coset.state import EvidenceState, Note
from coset.use_cases.evidence import reference_of
from coset.use_cases.workspace import Workspace


@dataclass(frozen=True)
class Teaching:
    """What came of it. `statements` were kept or, when something was revoked, taken back."""

    statements: tuple[Statement, ...]
    changes: tuple[RoleChange, ...]

    def __str__(self) -> str:
        lines = [
            f"{each.number}  {each.reference} {'is' if each.supports else 'is not'} {each.identity}"
            for each in self.statements
        ]
        return "\n".join([*lines, *(f"{each.reference}: {each.before} -> {each.after}" for each in self.changes)])


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
    return Teaching(tuple(each for each in _said(environment, model.inventory) if each.role == entry), changes)


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
    return Teaching(tuple(taken_back), changes)


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
