"""What people said of roles and in notes: kept in the corrections file, mirrored in the state for those who read it.

In: the corrections file and an open state. Out: the state's `taught` and `notes` as the file says them, numbered in the
file's order. A state of an earlier release hands what it holds to the file, once. A role that the inventory does not
have is told with its line and stays in the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from coset.environment.configuration import Environment
from coset.environment.corrections import Corrections, Note, Problem, Role, add_corrections, load_corrections
from coset.errors import UserError
from coset.identities.inventory import Coordinate, Inventory
from coset.state import EvidenceState
from coset.state.inserting import insert_rows
from coset.state.rows import now

MOVED = "corrections_moved"
"""What `meta` has once the state holds nothing that the corrections file does not."""


@dataclass(frozen=True)
class Statement:
    """One thing that was taught: this object plays this identity in this coordinate, or does not."""

    number: int
    reference: str
    coordinate: Coordinate
    identity: str
    supports: bool
    role: Role
    """The entry of the file that says it."""


def statements(corrections: Corrections, inventory: Inventory) -> tuple[list[Statement], list[Problem]]:
    """The roles of the file, one coordinate at a time, and those that the inventory does not have."""
    lines = {id(entry): line for entry, line in corrections.lines}
    found: list[Statement] = []
    problems: list[Problem] = []
    for role in corrections.roles:
        try:
            for coordinate, position in inventory.role(role.is_ or role.is_not or "").items():
                identity = inventory.of(coordinate)[position].id
                supports = role.is_ is not None
                found.append(Statement(len(found) + 1, role.reference, coordinate, identity, supports, role))
        except UserError as error:
            problems.append(Problem(lines[id(role)], str(error)))
    return found, problems


def mirror_corrections(state: EvidenceState, environment: Environment, inventory: Inventory) -> list[Problem]:
    """Make `taught` and `notes` what the file says; first hand over what only the state has. Answers with what of the
    roles has no effect."""
    if state.meta(MOVED) is None:
        _hand_over(state, environment)
        state.set_meta(MOVED, now().isoformat())
    corrections = load_corrections(environment)
    said, problems = statements(corrections, inventory)
    taught = [
        {
            "number": each.number, "reference": each.reference, "coordinate": each.coordinate,
            "identity": each.identity, "supports": each.supports, "said_at": now(),
        }
        for each in said
    ]  # fmt: skip
    with state.transaction():
        state.connection.execute("DELETE FROM taught")
        insert_rows(state.connection, "taught", taught)
        state.store_notes((note.reference, note.text) for note in corrections.notes)
    return problems


def without(existing: Sequence[Statement], taken_back: Sequence[Statement]) -> tuple[list[Role], list[Role]]:
    """The entries of the file that taking back statements changes, and what is left of them: a role of two coordinates
    keeps the other one."""
    numbers = {each.number for each in taken_back}
    changed = list(dict.fromkeys(each.role for each in taken_back))
    left = []
    for role in changed:
        for each in existing:
            if each.role == role and each.number not in numbers:
                left.append(_role(each.reference, each.coordinate, each.identity, each.supports))
    return changed, left


def contradicted(existing: Sequence[Statement], new: Sequence[Statement]) -> list[Statement]:
    """What a new statement replaces: an object is one thing in a coordinate, and is or is not it."""
    return [
        old
        for old in existing
        for each in new
        if (old.reference, old.coordinate) == (each.reference, each.coordinate)
        and (old.identity == each.identity or (old.supports and each.supports))
    ]


def _role(reference: str, coordinate: Coordinate, identity: str, supports: bool) -> Role:
    written = f"{identity}." if coordinate == "entity" else f".{identity}"
    return Role(reference=reference, is_=written) if supports else Role(reference=reference, is_not=written)


def _hand_over(state: EvidenceState, environment: Environment) -> None:
    def kept() -> Iterator[Role | Note]:
        for row in state.rows("SELECT * FROM taught ORDER BY number"):
            yield _role(row["reference"], row["coordinate"], row["identity"], row["supports"])
        for row in state.rows("SELECT * FROM notes ORDER BY number"):
            yield Note(reference=row["about"], text=row["text"], on=row["written_at"] and row["written_at"].date())

    entries = list(kept())
    if entries:
        add_corrections(environment, entries)
