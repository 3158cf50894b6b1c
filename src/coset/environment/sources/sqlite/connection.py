"""A connection to SQLite that ends a statement after its time, and knows whether its file stayed the same.

Nothing here knows how the file is opened or what is asked.
"""

from __future__ import annotations

import sqlite3
import time
import weakref
from collections.abc import Callable

STEPS_BETWEEN_CHECKS = 50_000
LONGEST_VALUE = 1_000_000_000
"""SQLite's own limit on the bytes of one value."""


class Connection(sqlite3.Connection):
    """Text arrives as bytes, so that text which is not UTF-8 can be read."""

    clock: Clock
    is_utf8 = True
    """False when the database stores its text as UTF-16."""
    changed: Callable[[], bool] | None = None
    """Set where no lock keeps a writer away."""

    reading: weakref.ref[sqlite3.Cursor] | None = None
    """The answer that is being read, which would keep its lock after the connection is closed."""

    def has_changed(self) -> bool:
        return self.changed is not None and self.changed()

    def close(self) -> None:
        cursor = self.reading() if self.reading else None
        if cursor is not None:
            cursor.close()
        self.reading = None
        super().close()


class Clock:
    """Ends a statement that is too long in SQLite; the time its reader takes between batches does not count."""

    def __init__(self, connection: sqlite3.Connection, seconds: float) -> None:
        self.left = seconds
        self.started: float | None = None
        self.steps_left: int | None = None
        connection.set_progress_handler(self._is_over, STEPS_BETWEEN_CHECKS)

    def _is_over(self) -> bool:
        if self.steps_left is not None:
            self.steps_left -= STEPS_BETWEEN_CHECKS
            if self.steps_left < 0:
                return True
        return self.started is not None and time.monotonic() - self.started > self.left

    def __enter__(self) -> None:
        self.started = time.monotonic()

    def __exit__(self, *_: object) -> None:
        if self.started is not None:
            self.left -= time.monotonic() - self.started
        self.started = None
