"""Work that a page starts and watches: a question being answered, and a comprehension.

In: an environment. Out: an `Asking` or a `Refreshing`: its messages so far, then what came of it, or why it ended. Each
is changed by its own task alone, pages only read it, and both can be called off. They are kept in memory; runs are in
the audit and what was read is in the state, as always.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from coset.api.environment import Environment
from coset.errors import Cancelled, CosetError
from coset.use_cases.cancellation import Progress

if TYPE_CHECKING:
    from coset.use_cases.results import Answer


class Work:
    """Changed by its own task alone; pages only read it."""

    _task: asyncio.Task[None] | None = None

    def start(self, environment: Environment) -> None:
        """Begin; the caller's event loop carries it."""
        self._task = asyncio.get_running_loop().create_task(self._run(environment))

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _run(self, environment: Environment) -> None:
        raise NotImplementedError


@dataclass
class Asking(Work):
    """One question."""

    question: str
    budget: int
    is_offline: bool
    heard: list[str] = field(default_factory=list)
    answer: Answer | None = None
    problem: str = ""
    is_over: bool = False
    started: float = field(default_factory=time.monotonic)
    seconds: float = 0.0

    async def _run(self, environment: Environment) -> None:
        def report(progress: Progress) -> None:
            self.heard.append(progress.message)

        try:
            if self.is_offline:
                self.answer = await environment.ask_offline_async(self.question, report=report)
            else:
                self.answer = await environment.ask_async(self.question, budget=self.budget, report=report)
        except CosetError as error:
            self.problem = str(error)
        except asyncio.CancelledError:
            self.problem = "it was called off"
        except Exception as error:  # Its text may hold anything.
            self.problem = f"unexpected {type(error).__name__}: a fault of coset's, not of the question"
        finally:
            self.seconds = time.monotonic() - self.started
            self.is_over = True


JOBS = 2


@dataclass
class Refreshing(Work):
    """A comprehension."""

    message: str = "looking at the sources"
    done: float = 0.0
    total: float | None = None
    stages: list[str] = field(default_factory=list)
    summary: str = ""
    problem: str = ""
    is_over: bool = False
    started: float = field(default_factory=time.monotonic)
    ended: float = 0.0

    @property
    def seconds(self) -> float:
        return (self.ended or time.monotonic()) - self.started

    @property
    def share(self) -> float:
        return min(self.done / self.total, 1.0) if self.total else 0.0

    async def _run(self, environment: Environment) -> None:
        def report(progress: Progress) -> None:
            self.message, self.done, self.total = progress.message, progress.done, progress.total
            if progress.total is None and (not self.stages or self.stages[-1] != progress.message):
                self.stages.append(progress.message)

        try:
            self.summary = str(await environment.comprehend_async(jobs=JOBS, report=report))
        except (asyncio.CancelledError, Cancelled):
            self.problem = "it was called off; what was read is kept"
        except CosetError as error:
            self.problem = str(error)
        except Exception as error:  # Its text may hold anything.
            self.problem = f"unexpected {type(error).__name__}: a fault of coset's"
        finally:
            self.ended = time.monotonic()
            self.is_over = True
