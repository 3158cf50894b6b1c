"""The router of the environment that a process asks about, opened once and used by one attempt after the other.

In: an environment that was comprehended, and the session of an attempt. Out: a router for the time of that attempt. It
holds indexes of the data and the shipped model, and reads them anew when the state was written since; nothing of one
question stays in it for the next. Serves one attempt at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from coset.environment.configuration import Environment
from coset.routing.router import Router
from coset.session.query_session import QuerySession


class HeldRouter:
    """Holds one: datasets are asked one after the other."""

    def __init__(self) -> None:
        self._path: Path | None = None
        self._router: Router | None = None

    @contextmanager
    def lent(self, environment: Environment, session: QuerySession) -> Iterator[Router]:
        router = self._router
        if router is None or self._path != environment.path:
            router = Router.open(environment)
            self._router, self._path = router, environment.path
        router.session = session
        try:
            yield router
        finally:
            router.session = None


held_router = HeldRouter()
"""Of this process."""
