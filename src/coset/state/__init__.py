"""The evidence state: everything known of an environment, in one DuckDB file that a person can open and understand."""

from coset.state.evidence_state import EvidenceState, KnownTable, Note

__all__ = ["EvidenceState", "KnownTable", "Note"]
