"""The harness's side of the process that attempts run in: starts it, hands it requests, keeps its time.

In: a `Request`. Out: an `Outcome`. A process that dies or overstays is ended and replaced at the next request, and what
it told of its steps until then is kept; one that has served many is replaced too, so that nothing it may have gathered
stays. Attempts share no memory with the harness.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import multiprocessing
import os
import shutil
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, Protocol

from coset.benchmark.attempting import Outcome, Request, with_steps
from coset.environment.configuration import Environment
from coset.state.file import FILE_NAME


class AttemptPlace(Protocol):
    """Where attempts run: something that takes one request at a time."""

    def run(self, request: Request, seconds: float) -> Outcome: ...

    def close(self) -> None: ...

    def kill(self) -> int | None: ...


MOST_SERVED = 25
END_SECONDS = 5.0


class AttemptProcess:
    """One process, one request at a time. `kill` may be called from another thread."""

    def __init__(self) -> None:
        self._process: BaseProcess | None = None
        self._pipe: Connection | None = None
        self._served = 0
        self._lock = threading.Lock()

    def run(self, request: Request, seconds: float) -> Outcome:
        if self._served >= MOST_SERVED:
            self.close()
        started = time.monotonic()
        steps: list[dict[str, Any]] = []
        try:
            pipe = self._running()
            pipe.send(request)
            while pipe.poll(max(0.0, started + seconds - time.monotonic())):
                told: Outcome | dict[str, Any] = pipe.recv()
                if isinstance(told, Outcome):
                    self._served += 1
                    return told
                steps.append(told)
            self.kill()
            error, kind = f"it was stopped after {seconds:g} seconds", "TimeOut"
        except (EOFError, OSError):
            error, kind = f"its process ended (exit code {self.kill()})", "ProcessDied"
        taken = time.monotonic() - started
        return with_steps(Outcome("failed", error=error, error_kind=kind, seconds=taken), steps)

    def close(self) -> None:
        """End the process after what it does; it holds nothing that must be kept."""
        with self._lock:
            process, pipe = self._process, self._pipe
            self._process = self._pipe = None
            self._served = 0
        if process is None or pipe is None:
            return
        pipe.close()
        process.join(END_SECONDS)
        _end(process)

    def kill(self) -> int | None:
        """End the process now; the code it ended with."""
        with self._lock:
            process, pipe = self._process, self._pipe
            self._process = self._pipe = None
            self._served = 0
        code = None
        if process is not None:
            process.join(0.2)  # One that died by itself has a code of its own to tell.
            process.kill()
            process.join(END_SECONDS)
            code = process.exitcode
            _end(process)
        if pipe is not None:
            pipe.close()
        return code

    def _running(self) -> Connection:
        with self._lock:
            if self._process is not None and self._pipe is not None and self._process.is_alive():
                return self._pipe
            context = multiprocessing.get_context("spawn")
            ours, theirs = context.Pipe()
            process = context.Process(target=serve, args=(theirs,), name="coset attempt")
            process.start()
            theirs.close()
            self._process, self._pipe, self._served = process, ours, 0
            return ours


def serve(pipe: Connection) -> None:
    """The process itself: requests in, outcomes out, until the pipe is closed."""
    from coset.benchmark.attempting import attempt, comprehend_environment
    from coset.session.confinement import end_with_parent

    # An interrupt at the keyboard reaches the harness, which then ends this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent()
    while True:
        try:
            request: Request = pipe.recv()
        except (EOFError, OSError):
            return
        try:
            asked = request.question is not None
            pipe.send(attempt(request, pipe.send) if asked else comprehend_environment(request))
        except OSError:
            return


def _end(process: BaseProcess) -> None:
    if process.is_alive():
        process.kill()
    process.join(END_SECONDS)
    if not process.is_alive():
        process.close()


FOLDER = "attempts"
SHARED = (FILE_NAME, "listings", "snapshots")
"""What is made from the data alone. Anything else in a state folder is taken for an attempt's own."""

_numbers = itertools.count(1)


@contextmanager
def own_state(environment: Environment) -> Iterator[Environment]:
    environment.prepare_state_folder()
    sweep(environment.state_folder)
    folder = environment.state_folder / FOLDER / f"{os.getpid()}-{next(_numbers)}"
    folder.mkdir(parents=True)
    try:
        for name in SHARED:
            shared = environment.state_folder / name
            if shared.exists():
                (folder / name).symlink_to(shared.absolute())
        yield dataclasses.replace(environment, state_folder=folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def sweep(state_folder: Path) -> None:
    """Remove what attempts left whose process was killed."""
    for left in (state_folder / FOLDER).glob("*-*"):
        process = left.name.partition("-")[0]
        if process.isdecimal() and not _runs(int(process)):
            shutil.rmtree(left, ignore_errors=True)


def _runs(process: int) -> bool:
    with contextlib.suppress(PermissionError):
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return False
    return True
