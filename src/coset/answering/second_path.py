"""The statement of the reasoner that needs no model, as a second path to an answer that a model has given.

In: a question and an open session. Out: its statement where it is sure, None where it declines or something is missing:
a second path that cannot be had is no fault of the first.
"""

from __future__ import annotations

from coset.environment.configuration import Environment
from coset.errors import CosetError
from coset.session.query_session import QuerySession


def offline_statement(
    question: str, environment: Environment, session: QuerySession, router: object | None
) -> str | None:
    from coset.answering.offline import Answered, answer
    from coset.evidence.state import EvidenceState
    from coset.routing.router import Router

    try:
        router = router if isinstance(router, Router) else Router.open(environment, session)
        with EvidenceState.read(environment.state_folder) as state:
            found = answer(question, router, session, state)
    except CosetError:
        return None
    return found.sql if isinstance(found, Answered) else None
