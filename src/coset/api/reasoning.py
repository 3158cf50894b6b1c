"""Questions answered without a language model, by one reasoner that callers share.

In: a question, a lent session, an open state. Out: an answer with its one statement, or why there is none. It has a
router of its own, opened at the first question: a statement that runs for long must not hold up somebody's view.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from coset.environment.configuration import Environment
from coset.session.query_session import QuerySession
from coset.state import EvidenceState

if TYPE_CHECKING:
    from coset.answering.offline import Declined, OfflineAnswer
    from coset.routing.router import Router


class Reasoner:
    """The offline reasoner of one environment. One question at a time."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._router: Router | None = None
        self._one_at_a_time = threading.Lock()

    def answer(self, question: str, session: QuerySession, state: EvidenceState) -> OfflineAnswer | Declined:
        from coset.answering.offline import answer
        from coset.routing.router import Router

        with self._one_at_a_time:
            if self._router is None:
                self._router = Router.open(self._environment)
            self._router.session = session
            try:
                return answer(question, self._router, session, state)
            finally:
                self._router.session = None
