"""Document files: which there are, whom each is about, and what each holds.

In: an environment. Out: `DocumentFile`s: everything readable in the folder of a files source and below it, what a
source names under `documents:`, and what the environment names. An entry may be a file, a folder (with all below it),
or a pattern (`**/*.md`); one that begins with `!` takes files out again. Files are read in a process of their own with
bounds on time, memory and size: a document that hangs, or takes more than it may, ends that process only.
"""

from __future__ import annotations

import glob
import multiprocessing
import os
import re
import resource
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

from coset.environment.configuration import STATE_FOLDER, Environment
from coset.errors import CosetError, MissingDependency
from coset.evidence.documents.office_formats import from_pdf, from_powerpoint, from_word
from coset.evidence.documents.sections import (
    Block,
    Unreadable,
    from_email,
    from_html,
    from_markdown,
    from_text,
)

FORMATS = {
    ".md": "markdown", ".markdown": "markdown", ".txt": "text", ".text": "text", ".rst": "text", ".html": "html",
    ".htm": "html", ".docx": "word", ".pptx": "powerpoint", ".pdf": "pdf", ".eml": "e-mail",
}  # fmt: skip
"""By the end of a file's name, what it is read as."""
DBT = frozenset({".yml", ".yaml"})
MOST_DOCUMENTS = 5_000
_ABOUT_CODE = re.compile(
    r"(licen[sc]e|changelog|contributing|code_of_conduct|requirements.*|robots)\.\w+", re.IGNORECASE
)
_FOLDER_OF_DOCUMENTS = re.compile(
    r"docs?|documents?|documentation|handbooks?|manuals?|wiki|notes|policies|rules|guides?|dokumente?|handbuch|documenti"
    r"|documentos?|rules?",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class DocumentFile:
    """A document: its reference (`share/documents/handbook.docx`), and the source it is about (None: all of them)."""

    reference: str
    source: str | None
    path: Path

    @property
    def format(self) -> str:
        return FORMATS.get(self.path.suffix.lower(), "dbt" if self.path.suffix.lower() in DBT else "unknown")


@dataclass(frozen=True)
class Found:
    documents: tuple[DocumentFile, ...] = ()
    problems: tuple[tuple[str, str], ...] = ()
    """Entries of `coset.yaml` under which there is nothing, and what else is passed over, with why."""


def find_documents(environment: Environment) -> Found:
    """All documents of an environment, each once: for the source that names it, or else for all."""
    base = environment.path.parent
    found: dict[Path, DocumentFile] = {}
    problems: list[tuple[str, str]] = []
    for name in environment.names:
        try:
            settings = environment.settings(name)
        except CosetError:
            continue  # The listing of sources says why.
        folder = settings.path if settings.kind == "files" and settings.path.is_dir() else None
        own = [str(folder)] if folder else []
        paths = expand(own, problems, quietly=True) + expand(settings.documents, problems)
        for path in _without(paths, settings.documents):
            within = folder if folder and path.is_relative_to(folder) else base
            found.setdefault(path, DocumentFile(f"{name}/{_relative(path, within)}", name, path))
    for path in _without(expand(environment.documents, problems), environment.documents):
        found.setdefault(path, DocumentFile(_relative(path, base), None, path))
    if len(found) > MOST_DOCUMENTS:
        problems.append(("documents", f"there are {len(found):,}: only the first {MOST_DOCUMENTS:,} are read"))
    some = sorted(found.values(), key=lambda each: (each.source or "", each.reference))[:MOST_DOCUMENTS]
    return Found(tuple(some), tuple(problems))


def expand(
    entries: Iterable[str], problems: list[tuple[str, str]], *, quietly: bool = False, endings: tuple[str, ...] = ()
) -> list[Path]:
    """The files that entries name, of folders and patterns those that are documents (or have one of the endings). What
    an entry names itself is taken whatever its ending."""

    def wanted(path: Path) -> bool:
        return path.suffix.lower() in endings if endings else _is_document(path, DBT)

    found: list[Path] = []
    for entry in entries:
        if Path(entry).name.startswith("!") or "/!" in entry:
            continue
        path = Path(entry)
        if path.is_dir():
            matches = sorted(each for each in path.rglob("*") if wanted(each)) if endings else list(_below(path))
        elif path.is_file():
            matches = [path]
        else:
            every = sorted(Path(match) for match in glob.glob(entry, recursive=True))
            matches = [each for each in every if each.is_file() and wanted(each)]
            matches += [each for folder in every if folder.is_dir() and "**" not in entry for each in _below(folder)]
        if not matches and not quietly:
            problems.append((entry, "there is no such document"))
        found += matches
    return list(dict.fromkeys(path.absolute() for path in found))


def documents_beside(folders: Iterable[Path]) -> list[Path]:
    """The documents in these folders, and in folders for documents below them: what `coset init` offers."""
    found: list[Path] = []
    for folder in dict.fromkeys(folders):
        for path in sorted(folder.iterdir()) if folder.is_dir() else ():
            if path.is_dir() and _FOLDER_OF_DOCUMENTS.fullmatch(path.name):
                found += _below(path)
            elif path.is_file() and _is_document(path):
                found.append(path)
    return list(dict.fromkeys(found))


def _below(folder: Path) -> Iterator[Path]:
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(each for each in folders if not each.startswith(".") and each != STATE_FOLDER)
        yield from (path for name in sorted(files) if _is_document(path := Path(place) / name))


def _is_document(path: Path, more: frozenset[str] = frozenset()) -> bool:
    suffix = path.suffix.lower()
    return (
        (suffix in FORMATS or suffix in more)
        and not path.name.startswith((".", "~$"))
        and not _ABOUT_CODE.fullmatch(path.name)
    )


def _without(paths: Iterable[Path], entries: Iterable[str]) -> list[Path]:
    """The files without those that an entry with `!` takes out."""
    out = [entry.replace("!", "", 1) for entry in entries if "/!" in entry or entry.startswith("!")]
    taken = {Path(match).absolute() for entry in out for match in glob.glob(entry, recursive=True)}
    return [path for path in paths if path not in taken and not taken.intersection(path.parents)]


def _relative(path: Path, base: Path) -> str:
    return path.relative_to(base).as_posix() if path.is_relative_to(base) else path.as_posix().lstrip("/")


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
