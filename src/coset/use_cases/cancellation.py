"""Progress and cancellation of work that may take long.

In: progress messages from the work. Out: reports to the caller, and `Cancelled` raised inside the work at its next
message after `cancel`, or at once where the work registered how to interrupt it. Knows nothing of the work itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import logging
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from typing import TypeVar

from coset.errors import Cancelled, CosetError

__all__ = ["Cancellation", "Cancelled", "Progress", "Report", "await_for", "wait_for"]
T = TypeVar("T")
log = logging.getLogger("coset")


@dataclass(frozen=True)
class Progress:
    """How far a call is. `total` is None where nobody can know."""

    message: str
    done: float
    total: float | None = None


Report = Callable[[Progress], None]


class Cancellation:
    """Carries progress out of one call and its cancellation into it. `report` is called in the working thread."""

    def __init__(self, report: Report | None = None) -> None:
        self._report = report
        self._cancelled = threading.Event()
        self._lock = threading.Lock()
        self._interrupts: list[Callable[[], None]] = []
        self._told = 0

    @property
    def is_cancelled(self) -> bool:
        return self._cancelled.is_set()

    def check(self) -> None:
        if self.is_cancelled:
            raise Cancelled

    def tell(self, message: str, done: float | None = None, total: float | None = None) -> None:
        """Report, and go on unless cancelled. Without a number, reports count themselves: progress must grow."""
        self.check()
        log.info("%s", message)
        self._told += 1
        if self._report is not None:
            self._report(Progress(message, self._told if done is None else done, total))

    def cancel(self) -> None:
        """End the work from outside. May be called more than once."""
        self._cancelled.set()
        with self._lock:
            interrupts = list(self._interrupts)
        for interrupt in interrupts:
            with contextlib.suppress(Exception):
                interrupt()

    @contextlib.contextmanager
    def interrupted_by(self, interrupt: Callable[[], None]) -> Iterator[None]:
        """While the block lasts, `cancel` calls `interrupt`; a call that is cancelled already does not enter it."""
        with self._lock:
            self._interrupts.append(interrupt)
        try:
            self.check()
            yield
        finally:
            with self._lock:
                self._interrupts.remove(interrupt)


def wait_for(threads: Executor, work: Callable[[Cancellation], T], report: Report | None = None) -> T:
    """Do the work in another thread, where an event loop may run beside a notebook's own; Ctrl-C stops it."""
    call = Cancellation(report)
    future = _submitted(threads, work, call)
    try:
        return future.result()
    except BaseException:
        call.cancel()
        raise


async def await_for(threads: Executor, work: Callable[[Cancellation], T], report: Report | None = None) -> T:
    """The same for a caller with an event loop, in which `report` is then called. Cancelling it stops the work."""
    loop = asyncio.get_running_loop()

    def report_in_loop(progress: Progress) -> None:
        with contextlib.suppress(RuntimeError):  # The loop has ended: there is nobody to tell.
            loop.call_soon_threadsafe(report or _nothing, progress)

    call = Cancellation(report_in_loop if report else None)
    future = _submitted(threads, work, call)
    try:
        return await asyncio.wrap_future(future)
    except asyncio.CancelledError:
        # Interrupting may wait for a process to end, so it is done beside the loop.
        threading.Thread(target=call.cancel, daemon=True).start()
        raise


def _submitted(threads: Executor, work: Callable[[Cancellation], T], call: Cancellation) -> Future[T]:
    try:
        # For whom the call is made, and what traces it, is known in the thread too.
        return threads.submit(contextvars.copy_context().run, work, call)
    except RuntimeError:
        raise CosetError("this environment is closed: open it again with coset.open") from None


def _nothing(progress: Progress) -> None:
    return None
