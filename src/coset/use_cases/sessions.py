"""Query sessions of one environment, each lent to one caller at a time, so that a slow statement holds up no other.

In: an environment. Out: sessions, opened when one is needed and none is free, at most so many; a caller who finds all
in use waits. A statement ends at once when its call is cancelled. Knows no SQL.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

from coset.environment.configuration import Environment
from coset.errors import CosetError, LimitReached
from coset.session.query_session import QuerySession
from coset.session.result import Result
from coset.session.worker_process import WorkerLimits
from coset.use_cases.cancellation import Cancellation, Cancelled

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
