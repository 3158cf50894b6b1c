"""What a person says: roles that are taught, and notes.

In: a name as a person writes it, and what is so. Out: what was kept, by number, and every object whose role is another
than before. Nothing is trained; everything can be taken back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from coset.environment.corrections import (
    Correction,
    Corrections,
    add_corrections,
    load_corrections,
    remove_corrections,
)
from coset.errors import UserError
from coset.identities.comprehension import RoleChange, comprehend_identities
from coset.identities.model import load_model
from coset.identities.store import IdentityStore
from coset.state import Note
from coset.use_cases.evidence import reference_of
from coset.use_cases.workspace import Workspace


@dataclass(frozen=True)
class Statement:
    """One thing that was taught: this object plays this identity in this coordinate, or does not."""

    number: int
    reference: str
    coordinate: str
    identity: str
    supports: bool


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
    configuration = workspace.configuration
    with workspace.objects() as objects:
        about = reference_of(objects, name)
    model = load_model(configuration.identities_file)
    wanted = model.inventory.role(role)
    with workspace.writing() as state:
        store = IdentityStore(state)
        store.require()
        about = store.resolve_object(about)
        said = [
            (about, coordinate, model.inventory.of(coordinate)[position].id, not negative)
            for coordinate, position in wanted.items()
        ]
        numbers = store.teach(said)
        changes = comprehend_identities(state, model).changes
    return Teaching(tuple(Statement(number, *each) for number, each in zip(numbers, said, strict=True)), changes)


def revoke(workspace: Workspace, number: int) -> Teaching:
    """Take a statement back, and realise the identities anew."""
    with workspace.writing() as state:
        store = IdentityStore(state)
        store.require()
        taken_back = _statement(store.revoke(number))
        changes = comprehend_identities(state, load_model(workspace.configuration.identities_file)).changes
    return Teaching((taken_back,), changes)


def taught(workspace: Workspace) -> tuple[Statement, ...]:
    """All that people said of roles."""
    with workspace.reading() as state:
        return tuple(_statement(row) for row in IdentityStore(state).statements())


def add_note(workspace: Workspace, name: str, text: str) -> Note:
    """Keep what a person says of a source, table or column."""
    if not text.strip():
        raise UserError("the note is empty: write what is so")
    with workspace.objects() as objects:
        about = reference_of(objects, name)
    with workspace.writing() as state:
        return state.add_note(about, text)


def remove_note(workspace: Workspace, number: int) -> None:
    with workspace.writing() as state:
        state.remove_note(number)


def notes(workspace: Workspace) -> tuple[Note, ...]:
    with workspace.reading() as state:
        return tuple(state.notes())


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


def _statement(row: dict[str, Any]) -> Statement:
    return Statement(row["number"], row["reference"], row["coordinate"], row["identity"], row["supports"])
