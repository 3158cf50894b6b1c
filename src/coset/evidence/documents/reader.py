"""Reads document files in a process of their own, with bounds on time, memory and size.

In: paths. Out: for each its blocks, or why it could not be read. A document that hangs, or takes more than it may,
ends its own process only; the others are read by a new one.
"""

from __future__ import annotations

import multiprocessing
import resource
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection
from pathlib import Path

from coset.errors import MissingDependency
from coset.evidence.documents.finding import FORMATS
from coset.evidence.documents.office_formats import from_powerpoint, from_word
from coset.evidence.documents.pdf_format import from_pdf
from coset.evidence.documents.text_formats import (
    Block,
    Unreadable,
    from_email,
    from_html,
    from_markdown,
    from_text,
)

MOST_BYTES = 100_000_000
MOST_SECONDS = 60.0
"""For one document."""
MOST_MEMORY = 2_000_000_000
PLAIN, SMALL = frozenset({"text", "markdown"}), 500_000
"""Formats that are just cut into lines, and the size in bytes up to which that needs no process of its own."""
START_SECONDS = 60.0
"""For the process to begin, on a busy machine."""

Outcome = list[Block] | str
"""The blocks of a document, or why there are none: words that follow its name."""


def read_documents(paths: Sequence[Path], seconds: float = MOST_SECONDS) -> Iterator[tuple[Path, Outcome]]:
    """Each document with what it holds."""
    process: _ReadingProcess | None = None
    try:
        for path in paths:
            if (problem := _refused(path)) is not None:
                yield path, problem
                continue
            if FORMATS.get(path.suffix.lower(), "text") in PLAIN and path.stat().st_size <= SMALL:
                yield path, read_here(path)
                continue
            process = process or _ReadingProcess()
            outcome = process.read(path, seconds)
            if outcome is None:
                process.stop()
                process, outcome = None, f"could not be read within {seconds:g} seconds and the memory there is for it"
            yield path, outcome
    finally:
        if process is not None:
            process.stop()


def read_here(path: Path) -> Outcome:
    """One document, read in this process."""
    try:
        blocks = _reader(path)(path)
    except (Unreadable, MissingDependency) as problem:
        return str(problem) if isinstance(problem, Unreadable) else f"was not read: {problem}"
    except MemoryError:
        return "takes more memory than there is for it"
    except RecursionError:
        return "is nested too deep"
    except OSError as error:
        return f"cannot be opened ({error.strerror or type(error).__name__})"
    except Exception as error:
        return f"cannot be read ({type(error).__name__}: {str(error)[:200]})"
    return blocks if any(block.text.strip() for block in blocks) else "holds no text"


def _reader(path: Path) -> Callable[[Path], list[Block]]:
    def of_content(read: Callable[[bytes], list[Block]]) -> Callable[[Path], list[Block]]:
        return lambda place: read(place.read_bytes())

    return {
        "markdown": of_content(from_markdown), "text": of_content(from_text), "html": of_content(from_html),
        "e-mail": of_content(from_email), "word": from_word, "powerpoint": from_powerpoint, "pdf": from_pdf,
    }[FORMATS.get(path.suffix.lower(), "text")]  # fmt: skip


def _refused(path: Path) -> str | None:
    try:
        size = path.stat().st_size
    except OSError as error:
        return f"cannot be opened ({error.strerror or type(error).__name__})"
    if not path.is_file():
        return "is not a regular file"
    if size == 0:
        return "is empty"
    return f"is larger than {MOST_BYTES // 1_000_000:,} MB" if size > MOST_BYTES else None


class _ReadingProcess:
    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe()
        self.process = context.Process(target=_serve, args=(other,), daemon=True)
        self.process.start()
        other.close()
        self.started = False

    def read(self, path: Path, seconds: float) -> Outcome | None:
        """What the document holds; None when the process did not answer in time, or died."""
        try:
            self.pipe.send(path)
            if not self.pipe.poll(seconds + (0 if self.started else START_SECONDS)):
                return None
            self.started = True
            outcome: Outcome = self.pipe.recv()
            return outcome
        except (EOFError, OSError):
            return None

    def stop(self) -> None:
        self.pipe.close()
        self.process.kill()
        self.process.join()


def _serve(pipe: Connection) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    while True:
        try:
            path = pipe.recv()
        except (EOFError, OSError):
            return
        pipe.send(read_here(path))
