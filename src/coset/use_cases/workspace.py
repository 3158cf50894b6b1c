"""The workspace: an environment with its sessions, router, reasoner and state, opened when they are first needed.

In: a configuration. Out: what the use cases work with. Any number of threads may share it: sessions are lent one by
one, and while the state is written, readers wait.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from coset.environment.configuration import Environment, load_environment
from coset.errors import CosetError, LimitReached, UserError
from coset.session.query_session import QuerySession
from coset.session.result import Result
from coset.session.worker_process import WorkerLimits
from coset.state import EvidenceState
from coset.state.file import Stamp, stamp_of
from coset.state.names import Names, names_of
from coset.use_cases.cancellation import Cancellation, Cancelled

if TYPE_CHECKING:
    from coset.routing.objects.objects_of_state import StateObjects
    from coset.routing.router import Router
    from coset.session.query_session import QuerySession


MOST_SESSIONS = 4


class LentSession(QuerySession):
    """A session whose statements belong to a call: they report to it and end with it."""

    def __init__(self, environment: Environment, limits: WorkerLimits | None = None) -> None:
        super().__init__(environment, limits, progress=self._copied)
        self.call: Cancellation | None = None

    def sql(self, text: str, *, max_rows: int | None = None, seconds: float | None = None) -> Result:
        if self.call is not None:
            self.call.check()
        try:
            return super().sql(text, max_rows=max_rows, seconds=seconds)
        except LimitReached:
            if self.call is not None and self.call.is_cancelled:
                raise Cancelled from None
            raise
        except Exception:
            raise
        except BaseException:
            # Ctrl-C between question and answer: the process must not give this answer to the next question.
            self.renew()
            raise

    def renew(self) -> None:
        """The next statement gets a new process; nobody may be running one."""
        self._worker.kill()

    def _copied(self, table: str, rows: int, expected: int | None) -> None:
        if self.call is not None:
            self.call.tell(f"reading {table}: {rows:,} rows")


class Sessions:
    """The sessions of one environment. Threads may share it."""

    def __init__(self, environment: Environment, limits: WorkerLimits | None = None, most: int = MOST_SESSIONS) -> None:
        self.environment, self.limits, self.most = environment, limits, most
        self._free: list[LentSession] = []
        self._lent: set[LentSession] = set()
        self._closed = False
        self._change = threading.Condition()

    @contextlib.contextmanager
    def lent(self, call: Cancellation | None = None) -> Iterator[LentSession]:
        """A session for as long as the block lasts."""
        call = call or Cancellation()
        session = self._take(call)
        session.call = call
        try:
            with call.interrupted_by(session.interrupt):
                yield session
        finally:
            session.call = None
            if call.is_cancelled:  # A process that may still be ending is no process for the next.
                session.renew()
            with self._change:
                self._lent.discard(session)
                if self._closed:
                    session.close()
                else:
                    self._free.append(session)
                self._change.notify()

    def close(self) -> None:
        """End all sessions; a statement that still runs is ended."""
        with self._change:
            self._closed = True
            free, self._free = self._free, []
            for session in self._lent:
                session.interrupt()
            self._change.notify_all()
        for session in free:
            session.close()

    def _take(self, call: Cancellation) -> LentSession:
        with call.interrupted_by(self._wake), self._change:
            while True:
                call.check()
                if self._closed:
                    raise CosetError("this environment is closed: open it again with coset.open")
                if self._free:
                    session = self._free.pop()
                elif len(self._lent) < self.most:
                    session = LentSession(self.environment, self.limits)
                else:
                    self._change.wait()
                    continue
                self._lent.add(session)
                return session

    def _wake(self) -> None:
        with self._change:
            self._change.notify_all()


THREADS = 32


class Workspace:
    """What the use cases of one environment share. Close it when done."""

    def __init__(self, path: Path | str | None = None, *, limits: WorkerLimits | None = None) -> None:
        self.configuration: Environment = load_environment(path)
        self.sessions = Sessions(self.configuration, limits)
        self.threads = ThreadPoolExecutor(THREADS, thread_name_prefix="coset")
        # Looking for values at their source is part of a view, and must not wait for somebody's long statement.
        self._looking = Sessions(self.configuration, limits, most=1)
        self._routing = threading.Lock()
        self._router: Router | None = None
        self._objects: StateObjects | None = None
        self._names: tuple[Stamp | None, Names] | None = None
        # The offline reasoner has a router of its own: its statements may run for long.
        self._reasoning = threading.Lock()
        self._reasoner: Router | None = None

    def close(self) -> None:
        """End what was started: processes, connections, threads."""
        self.sessions.close()
        self._looking.close()
        self.threads.shutdown(wait=False, cancel_futures=True)

    @contextmanager
    def reading(self) -> Iterator[EvidenceState]:
        """The evidence state, for looking."""
        with EvidenceState.read(self.configuration.state_folder) as state:
            yield state

    @contextmanager
    def writing(self) -> Iterator[EvidenceState]:
        """The evidence state, for corrections. Raises `UserError` when there is none yet."""
        EvidenceState.read(self.configuration.state_folder).close()
        with EvidenceState.open(self.configuration.state_folder) as state:
            yield state

    @contextmanager
    def routed(self) -> Iterator[Router]:
        """The router, with a session to look for values at their source."""
        with self._routing:
            if self._router is None:
                self._router = _open_router(self.configuration)
            with self._looking.lent() as session:
                self._router.session = session
                try:
                    yield self._router
                finally:
                    self._router.session = None

    @contextmanager
    def reasoner(self, session: QuerySession) -> Iterator[Router]:
        """The router of the offline reasoner, for one question at a time."""
        with self._reasoning:
            if self._reasoner is None:
                self._reasoner = _open_router(self.configuration)
            self._reasoner.session = session
            try:
                yield self._reasoner
            finally:
                self._reasoner.session = None

    def names(self) -> Names:
        """The names of everything that is known: of nothing, before the first comprehension."""
        stamp = stamp_of(self.configuration.state_folder)
        if self._names is None or self._names[0] != stamp:
            try:
                with self.reading() as state:
                    self._names = (stamp, names_of(state))
            except UserError:
                self._names = (stamp, Names(()))
        return self._names[1]

    @contextmanager
    def objects(self) -> Iterator[StateObjects]:
        """The objects of the state as it is now; the router's own where it has been opened."""
        from coset.routing.objects.objects_of_state import StateObjects

        with self._routing:
            known = self._router.objects if self._router is not None else self._objects
            if known is None or known.is_stale():
                known = self._objects = StateObjects(self.configuration.state_folder)
            yield known


def _open_router(configuration: Environment) -> Router:
    from coset.routing.router import Router

    return Router.open(configuration)
