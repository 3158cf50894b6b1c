"""Vectors of tables and columns for routing, in the state: whole numbers of one byte after their scale.

In: packed vectors, each with a digest of the text it was made from. Out: the same. Knows no encoder.
"""

from __future__ import annotations

from collections.abc import Sequence

from coset.state.evidence_state import EvidenceState
from coset.state.queries import execute, fetch, insert_arrow


def known_vectors(state: EvidenceState) -> dict[str, bytes]:
    """Packed vectors by the digest of their text."""
    return dict(fetch(state, "SELECT digest, any_value(vector) FROM routing_vectors GROUP BY digest"))


def replace_vectors(
    state: EvidenceState, references: Sequence[str], digests: Sequence[str], vectors: Sequence[bytes]
) -> None:
    import pyarrow as pa

    rows = pa.table({"reference": references, "digest": digests, "vector": pa.array(vectors, pa.binary())})
    with state.transaction():
        execute(state, "DELETE FROM routing_vectors")
        insert_arrow(state, "routing_vectors", rows)
