"""An environment for each dataset of the benchmark: a `coset.yaml` in a folder of the run's own, comprehended once.

In: a dataset. Out: the folder, ready to be asked. PostgreSQL dumps and mongodump folders are read as they are, so no
server is started. Each source carries its part of the benchmark's description, and with hints also those. Nothing of
a question, a validator or a ground truth is written here; the sources name data files and nothing beside them.
"""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from coset.benchmark.dab.checkout import Database, Dataset
from coset.environment.configuration import FILE_NAME, SOURCE_NAME, STATE_FOLDER, check_source_name
from coset.environment.secrets import SECRETS_FILE, without_password, write_secret

_HINTS_TITLE = re.compile(r"^\s*hints?\s*:?\s*$|^\s*hints?\s*:\s*", re.IGNORECASE)
_BULLET = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s+")


def write_environment(dataset: Dataset, folder: Path, *, hints: bool) -> Path:
    """Write the environment of a dataset, or leave it as it is when nothing changed; its folder."""
    folder.mkdir(parents=True, exist_ok=True)
    names = source_names(dataset.databases)
    parts = parts_of_description(dataset.description, [database.name for database in dataset.databases])
    sources: dict[str, dict[str, object]] = {}
    for database in dataset.databases:
        name = names[database.name]
        sources[name] = {"location": _location(database, name, folder)}
        if said := parts.get(database.name):
            sources[name]["description"] = said
    # The hints are about the dataset as a whole; told once, or every source would repeat them.
    if hints and (told := hints_of(dataset.hints, dataset.description)):
        next(iter(sources.values()))["hints"] = told
    text = yaml.safe_dump({"sources": sources}, sort_keys=False, allow_unicode=True, width=10_000)
    path = folder / FILE_NAME
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
    return folder


def source_names(databases: tuple[Database, ...]) -> dict[str, str]:
    """The benchmark's names where SQL can take them, else the nearest that it can."""
    found: dict[str, str] = {}
    for database in databases:
        name = re.sub(r"\W+", "_", database.name, flags=re.ASCII)
        name = name if SOURCE_NAME.fullmatch(name) and not check_source_name(name) else f"db_{name}"
        while name.lower() in {taken.lower() for taken in found.values()}:
            name += "_1"
        found[database.name] = name
    return found


def parts_of_description(text: str, names: list[str]) -> dict[str, str]:
    """The part of a description that is about each database: from the line that begins with its name to the next such
    line. What stands before goes to the first; a text that names none goes there whole."""
    if not text:
        return {}
    lines = text.splitlines()
    patterns = {name: re.compile(rf"^\W*(?:\d+[.)])?\W*{re.escape(name)}\b", re.IGNORECASE) for name in names}
    starts: dict[str, int] = {}
    for number, line in enumerate(lines):
        for name, pattern in patterns.items():
            if name not in starts and pattern.match(line):
                starts[name] = number
    if not starts:
        return {names[0]: text}
    ends = [*sorted(starts.values())[1:], len(lines)]
    found = {}
    for (name, start), end in zip(sorted(starts.items(), key=lambda each: each[1]), ends, strict=True):
        found[name] = "\n".join(lines[start:end]).strip()
    return found


def hints_of(text: str, description: str) -> list[str]:
    """The hints one by one; some checkouts repeat the description before them."""
    text = text.replace(description, "") if description else text
    found: list[str] = []
    for line in text.splitlines():
        line = _HINTS_TITLE.sub("", line)
        if not line.strip():
            continue
        if _BULLET.match(line) or not found:
            found.append(_BULLET.sub("", line).strip())
        else:
            found[-1] += " " + line.strip()
    return found


def _location(database: Database, name: str, folder: Path) -> str:
    if not database.password:
        return database.location
    # The password goes where only its owner may read; the file names it by reference.
    variable = f"COSET_BENCH_{name.upper()}"
    write_secret(folder / STATE_FOLDER / SECRETS_FILE, variable, database.password)
    head, _, tail = database.location.partition("://")
    user, at, rest = tail.rpartition("@")
    return without_password(f"{head}://{user}:x{at or '@'}{rest}", f"${{{variable}}}")
