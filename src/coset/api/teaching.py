"""What a person says of a role, kept and realised.

In: a reference, a role, and whether it is so. Out: the statements as they are numbered, and every object whose role is
another than before. Nothing is trained; everything can be taken back.
"""

from __future__ import annotations

from dataclasses import dataclass

from coset.environment.configuration import Environment
from coset.identities.comprehension import RoleChange, comprehend_identities
from coset.identities.model import load_model
from coset.identities.store import IdentityStore
from coset.state import EvidenceState


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


def teach_role(environment: Environment, reference: str, role: str, negative: bool) -> Teaching:
    """Keep a statement about the object of this reference, and realise the identities anew."""
    EvidenceState.read(environment.state_folder).close()  # Says what to do when there is none.
    model = load_model(environment.identities_file)
    wanted = model.inventory.role(role)
    with EvidenceState.open(environment.state_folder) as state:
        store = IdentityStore(state)
        store.require()
        about = store.resolve_object(reference)
        said = [
            (about, coordinate, model.inventory.of(coordinate)[position].id, not negative)
            for coordinate, position in wanted.items()
        ]
        numbers = store.teach(said)
        changes = comprehend_identities(state, model).changes
    return Teaching(tuple(Statement(number, *each) for number, each in zip(numbers, said, strict=True)), changes)


def revoke_statement(environment: Environment, number: int) -> Teaching:
    """Take a statement back, and realise the identities anew."""
    EvidenceState.read(environment.state_folder).close()
    with EvidenceState.open(environment.state_folder) as state:
        store = IdentityStore(state)
        store.require()
        row = store.revoke(number)
        changes = comprehend_identities(state, load_model(environment.identities_file)).changes
    taken_back = Statement(row["number"], row["reference"], row["coordinate"], row["identity"], row["supports"])
    return Teaching((taken_back,), changes)
