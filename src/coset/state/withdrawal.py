"""Values that may no longer be here: of a source that is now schema-only, or gone from `coset.yaml`.

In: the sources as they were listed before and are now. Out: a state file written anew once their rows are deleted,
since a database file keeps deleted values in its free blocks. That it is to be done is kept in the state until it is,
so that a kill in between delays it to the next comprehension. How rows are deleted is for the stages to know.
"""

from __future__ import annotations

from collections.abc import Iterable

import duckdb

from coset.environment.catalogue import SourceListing
from coset.environment.leftovers import keep_part, part_file
from coset.sql_text import literal
from coset.state.evidence_state import EvidenceState

WITHDRAWN = "values withdrawn"


def note_withdrawal(state: EvidenceState, listings: Iterable[SourceListing]) -> None:
    """Remember when a source whose values are known is now schema-only or gone. To be called before the sources are
    stored."""
    hidden = {listing.name: listing.schema_only for listing in listings}
    known = state._connection.execute("SELECT source FROM sources WHERE NOT coalesce(schema_only, false)").fetchall()
    if any(hidden.get(name, True) for (name,) in known):
        state.set_meta(WITHDRAWN, "yes")


def rewrite_without_withdrawn(state: EvidenceState) -> bool:
    """Close the state and write its file anew where values were withdrawn. Answers whether it was."""
    if state.meta(WITHDRAWN) is None:
        return False
    state.close()
    with part_file(state.path) as part, duckdb.connect(":memory:") as connection:
        connection.execute("SET enable_progress_bar = false")
        # Attached for writing, so that no other process writes to the old file meanwhile.
        connection.execute(f"ATTACH {literal(str(state.path))} AS before; ATTACH {literal(str(part))} AS after")
        connection.execute("COPY FROM DATABASE before TO after")
        connection.execute("DELETE FROM after.meta WHERE key = $1", [WITHDRAWN])
        connection.execute("DETACH after")
        keep_part(part, state.path)
    return True
