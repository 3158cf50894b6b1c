"""The time that one statement has, over everything it needs: parsing, planning, asking sources, running.

In: seconds. Out: how many are left, or `LimitReached`. Work that cannot be told to stop is left behind when time is up,
in a thread of its own that ends with the limits of its source. Taking a local copy of a table does not count: later
statements need it too, and the limits of its source bound it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from coset.errors import LimitReached

Answer = TypeVar("Answer")


class Deadline:
    """Counts from the moment it is made."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._ends = time.monotonic() + seconds

    def left(self) -> float:
        """The seconds that are left. Raises `LimitReached` when there are none."""
        left = self._ends - time.monotonic()
        if left <= 0:
            raise self.reached()
        return left

    def reached(self) -> LimitReached:
        return LimitReached(f"the statement was stopped after {self.seconds:g} seconds: narrow it, or allow more time")

    @contextmanager
    def paused(self) -> Iterator[None]:
        """What is done within does not count."""
        started = time.monotonic()
        try:
            yield
        finally:
            self._ends += time.monotonic() - started

    def run(self, action: Callable[[], Answer], when_late: Callable[[], None]) -> Answer:
        """What `action` gives, if it does so in time; otherwise `when_late` is called and the action left behind."""
        answers: list[Answer] = []
        errors: list[BaseException] = []

        def work() -> None:
            try:
                answers.append(action())
            except BaseException as error:
                errors.append(error)

        left = self.left()
        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        thread.join(left)
        if thread.is_alive():
            when_late()
            raise self.reached()
        if errors:
            raise errors[0]
        return answers[0]
