"""Who may look at the evidence state when: many readers or one writer, in this process.

In: blocks of work. Out: the same, in an order in which DuckDB never has one file open for reading and for writing at
once. A writer that waits goes before readers that come later, but not for long: a question that is being answered reads
for minutes. Other processes are kept apart by DuckDB's own lock.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from coset.errors import CosetError

WRITER_WAITS = 5.0
"""Seconds."""


class StateAccess:
    """One gate for one state. A block must not enter the gate again."""

    def __init__(self, writer_waits: float = WRITER_WAITS) -> None:
        self.writer_waits = writer_waits
        self._change = threading.Condition()
        self._readers = 0
        self._writing = False
        self._waiting = 0

    @contextmanager
    def reading(self) -> Iterator[None]:
        with self._change:
            self._change.wait_for(lambda: not self._writing and not self._waiting)
            self._readers += 1
        try:
            yield
        finally:
            with self._change:
                self._readers -= 1
                self._change.notify_all()

    @contextmanager
    def writing(self) -> Iterator[None]:
        with self._change:
            self._waiting += 1
            try:
                free = self._change.wait_for(lambda: not self._writing and not self._readers, self.writer_waits)
            finally:
                self._waiting -= 1
                self._change.notify_all()
            if not free:
                raise CosetError("the evidence state is in use by another call, such as a question: try again later")
            self._writing = True
        try:
            yield
        finally:
            with self._change:
                self._writing = False
                self._change.notify_all()
