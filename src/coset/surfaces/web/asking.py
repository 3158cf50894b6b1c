"""A question on its way to an answer, in the background, so that a page can show how it goes and call it off.

In: a question. Out: an `Asking`: what was heard so far, then the answer, or why there is none. A model answers where
one is set; the offline reasoner where none is. Kept in memory here; the run itself is kept by the audit as always.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from coset.api.environment import Environment
from coset.errors import CosetError
from coset.use_cases.cancellation import Progress

if TYPE_CHECKING:
    from coset.use_cases.results import Answer


@dataclass
class Asking:
    """One question. Changed by its own task alone; pages only read it."""

    question: str
    budget: int
    is_offline: bool
    heard: list[str] = field(default_factory=list)
    answer: Answer | None = None
    problem: str = ""
    is_over: bool = False
    started: float = field(default_factory=time.monotonic)
    seconds: float = 0.0
    _task: asyncio.Task[None] | None = None

    def start(self, environment: Environment) -> None:
        """Begin; the caller's event loop carries it."""
        self._task = asyncio.get_running_loop().create_task(self._run(environment))

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()

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
