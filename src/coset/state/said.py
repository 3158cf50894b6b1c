"""What people said, as it stands in force: the corrections file, or its last readable text while it has a mistake.

In: the environment and its open state. Out: `Corrections`. The state keeps the text of the file as it was last read, so
that a slip of the pen in it takes nothing back. Knows nothing of what corrections lead to.
"""

from __future__ import annotations

from coset.environment.configuration import Environment
from coset.environment.corrections import Corrections, corrections_text, load_corrections, parse_corrections
from coset.errors import UserError
from coset.state.evidence_state import EvidenceState

LAST_READ = "corrections file"
"""The key of the state's `meta` under which the file's last readable text stands."""


def corrections_in_force(environment: Environment, state: EvidenceState) -> Corrections:
    """What the file says; while it cannot be read, what it said when it last could."""
    try:
        return load_corrections(environment)
    except UserError:
        return parse_corrections(state.meta(LAST_READ) or "")


def remember_corrections(environment: Environment, state: EvidenceState) -> Corrections:
    """Read the file and keep its text. Raises `UserError` with the line when it is not valid YAML."""
    text = corrections_text(environment)
    corrections = parse_corrections(text)
    if state.meta(LAST_READ) != text:
        state.set_meta(LAST_READ, text)
    return corrections
