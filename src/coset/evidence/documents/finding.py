"""Which files are documents about the data, and whom each is about.

In: an environment. Out: `DocumentFile`s: everything readable in the folder of a files source and below it, what a
source names under `documents:`, and what the environment names. An entry may be a file, a folder (with all below it),
or a pattern (`**/*.md`); one that begins with `!` takes files out again. Opens no file.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from coset.environment.configuration import STATE_FOLDER, Environment
from coset.errors import CosetError

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
