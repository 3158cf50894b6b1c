"""The session's handle on the worker process: starts it, sends requests, enforces time limits, kills it.

In: requests. Out: answers, or errors in the user's words. A worker that was killed or died is replaced at the next
request; nothing is lost with it, for it holds nothing that cannot be made again.
`Deadline` is the time that one statement has over everything it needs: parsing, planning, asking sources, running.
Work that cannot be told to stop is left behind in a thread of its own that ends with the limits of its source. Taking a
local copy of a table does not count: later statements need it too, and the limits of its source bound it.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from coset.engine_messages import CONVERSIONS, HIDDEN, without_values
from coset.errors import CosetError, LimitReached, UserError
from coset.session.worker import decode, encode

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


START_SECONDS = 60.0
NEAREST = 3
"""So many columns are named where one is not known."""
MISTAKES = {
    "BinderException", "CatalogException", "ConversionException", "InvalidInputException", "InvalidTypeException",
    "OutOfRangeException", "ParserException", "SyntaxException", "TypeMismatchException", "NotImplementedException",
}  # fmt: skip


@dataclass(frozen=True)
class WorkerLimits:
    """What one statement may use."""

    seconds: float = 60.0
    memory_bytes: int = 4 * 2**30
    threads: int = 2
    max_rows: int = 10_000
    max_bytes: int = 64 * 2**20
    idle_seconds: float = 2.0
    """How long the worker keeps DuckDB files attached (and so locked against writers) after a statement."""


class WorkerProcess:
    """One warm child process, started at the first request. Calls from several threads wait for each other."""

    def __init__(self, limits: WorkerLimits) -> None:
        self._limits = limits
        self._process: subprocess.Popen[bytes] | None = None
        self._told_to_end: subprocess.Popen[bytes] | None = None
        self._lock = threading.RLock()
        self._idle: threading.Timer | None = None

    def request(self, head: dict[str, Any], deadline: Deadline | None = None) -> tuple[dict[str, Any], bytes]:
        """One answer. Raises `LimitReached` when the time is up, and what the statement itself did wrong."""
        deadline = deadline or Deadline(self._limits.seconds)
        with self._lock:
            self._cancel_idle()
            process = self._running()
            ends = time.monotonic() + deadline.left()
            try:
                answer, payload = self._exchange(process, encode(head), ends)
            except TimeoutError:
                self.kill()
                raise deadline.reached() from None
            except (EOFError, BrokenPipeError, ConnectionError):
                code = self.kill()
                raise LimitReached(
                    f"the process that ran the statement ended ({_ending(code)}): it needed more than it may have, "
                    "narrow the statement or allow more memory"
                ) from None
            except BaseException:
                # Interrupted half-way: the answer that is on its way must not be taken for that of the next statement.
                self.kill()
                raise
            if head["operation"] == "run" and head["attach"]:
                self._idle = threading.Timer(self._limits.idle_seconds, self.release)
                self._idle.daemon = True
                self._idle.start()
        if "error" in answer:
            raise _in_plain_words(answer["error"], answer["message"], str(head.get("sql", "")))
        return answer, payload

    def release(self) -> None:
        """Let go of every attached file, if the worker is idle; otherwise its current statement does so later."""
        if self._lock.acquire(blocking=False):
            try:
                if self._process is not None and self._process.poll() is None:
                    with contextlib.suppress(Exception):
                        self._exchange(self._process, encode({"operation": "release"}), time.monotonic() + 5)
            finally:
                self._lock.release()

    def kill(self) -> int | None:
        """End the process now, whatever it does."""
        with self._lock:
            self._cancel_idle()
            process, self._process = self._process, None
        if process is None:
            return None
        process.kill()
        code = process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe:
                with contextlib.suppress(OSError):
                    pipe.close()
        return code

    close = kill

    def interrupt(self) -> None:
        """End the process from another thread, in the middle of a statement, which then fails with `LimitReached`."""
        # Not `kill`: that waits for the statement that is to be ended.
        process = self._process
        if process is not None:
            self._told_to_end = process
            process.kill()

    def start(self) -> None:
        """Start the process before it is needed, without waiting for it."""
        with self._lock:
            self._running()

    def _running(self) -> subprocess.Popen[bytes]:
        is_ending = self._process is self._told_to_end  # It may still look alive, and gives no answer any more.
        if self._process is not None and not is_ending and self._process.poll() is None:
            return self._process
        if self._process is not None:
            self.kill()
        # A bare environment: no variable of ours, so no secret, reaches the process that runs SQL.
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL", "TMPDIR") if name in os.environ}
        search_path = os.pathsep.join(path for path in sys.path if path)
        self._process = subprocess.Popen(
            [
                sys.executable, "-c", "from coset.session.worker import main; main()",
                str(self._limits.memory_bytes), str(self._limits.threads),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**kept, "PYTHONPATH": search_path, "PYTHONDONTWRITEBYTECODE": "1"},
            cwd="/",
            close_fds=True,
        )  # fmt: skip
        return self._process

    @staticmethod
    def _exchange(process: subprocess.Popen[bytes], frame: bytes, deadline: float) -> tuple[dict[str, Any], bytes]:
        assert process.stdin is not None and process.stdout is not None  # noqa: S101
        process.stdin.write(frame)
        process.stdin.flush()
        descriptor = process.stdout.fileno()

        def read_exactly(count: int) -> bytes:
            parts: list[bytes] = []
            while count:
                left = deadline - time.monotonic()
                if left <= 0 or not select.select([descriptor], [], [], left)[0]:
                    raise TimeoutError
                part = os.read(descriptor, min(count, 1 << 20))
                if not part:
                    raise EOFError
                parts.append(part)
                count -= len(part)
            return b"".join(parts)

        return decode(read_exactly)

    def _cancel_idle(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None


def _ending(code: int | None) -> str:
    return f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"


def _in_plain_words(kind: str, message: str, statement: str) -> CosetError:
    """DuckDB's error as one sentence: its first line, without the class names and the copy of the statement."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    candidates = [line for line in lines if line.startswith("Candidate bindings")]
    lines = [line for line in lines if not line.startswith(("LINE ", "^", "Candidate bindings"))]
    text = " ".join(lines[:3]) if lines else kind
    if candidates and (near := re.findall(r'"([^"]+)"', candidates[0])[:NEAREST]):
        text = f"{text.rstrip('!.')}: did you mean {' or '.join(near)}?"
    for prefix in ("Binder Error:", "Catalog Error:", "Conversion Error:", "Invalid Input Error:", "Parser Error:",
                   "Out of Range Error:", "Not implemented Error:", "IO Error:", "Permission Error:",
                   "Out of Memory Error:", "Syntax Error:", "Mismatch Type Error:", "Invalid Error:"):  # fmt: skip
        text = text.removeprefix(prefix).strip()
    if kind in {"OutOfMemoryException", "MemoryError"} or "Out of Memory" in message or "std::bad_alloc" in message:
        if "one row of the result" in text:
            return LimitReached(f"{text}: select less of it")
        return LimitReached("the statement needs more memory than it may have: narrow it, or allow more memory")
    if "Could not set lock on file" in message:
        return CosetError(
            "a DuckDB file that it reads is open for writing in another process: close it there, or try again later"
        )
    if kind in MISTAKES:
        return UserError(_without_values(kind, text, statement))
    return CosetError(_without_values(kind, text, statement))


def _without_values(kind: str, text: str, statement: str) -> str:
    """Of an error that tells what it was about to convert, only what DuckDB or the statement itself says."""
    if kind not in CONVERSIONS:
        return text
    told = without_values(text, statement, kind).rstrip(".")
    return f"{told}; values are not told here, try_cast gives NULL for what does not fit" if HIDDEN in told else told
