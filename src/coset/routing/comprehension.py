"""What follows the evidence in a comprehension: roles, the index of values, the vectors of routing.

In: an environment whose evidence was just brought up to date. Out: its state made ready for questions. Each part is
incremental: what did not change is not looked at again.
"""

from __future__ import annotations

from dataclasses import dataclass

from coset.environment.configuration import Environment
from coset.evidence.state import EvidenceState
from coset.identities.comprehension import RoleSummary, comprehend_identities
from coset.identities.model import load_model
from coset.routing.anchors import ValueIndexSummary, build_value_index
from coset.routing.index_store import store_vectors
from coset.routing.model import load_routing_model
from coset.session.query_session import QuerySession


@dataclass(frozen=True)
class MeaningSummary:
    """What was made of the evidence."""

    roles: RoleSummary
    values: ValueIndexSummary
    encoded: int
    """Tables and columns whose text is new to the routing encoder."""


def comprehend_meaning(environment: Environment) -> MeaningSummary:
    """Bring roles, values and vectors of a state up to date with its evidence."""
    identities = load_model(environment.identities_file)
    routing = load_routing_model(identities)
    with EvidenceState.open(environment.state_folder) as state, QuerySession(environment) as session:
        roles = comprehend_identities(state, identities)
        values = build_value_index(state, session)
        encoded = store_vectors(state, routing.encoder, routing.name)
    return MeaningSummary(roles, values, encoded)
