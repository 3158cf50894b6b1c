"""A checkout of the Data Agent Benchmark, as it lies on disk.

In: its folder, with dataset folders `query_<name>`, each with `db_config.yaml`, descriptions, `query_dataset/` and
`query<N>/` (`query.json`, `validate.py`, `ground_truth.csv`); a single dataset folder will do, and so will questions
in a folder `questions/`. Out: `Dataset`s. What is missing or broken in one is its `problem`, and stops no other one.
Opens no database. Ground truth stays a path here: only judges read it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from coset.errors import UserError

CONFIGURATION = "db_config.yaml"
_QUESTION_FOLDER = re.compile(r"query(\d+)")
_PREFIX = "query_"
_DUMPS = {"sqlite": "db_path", "duckdb": "db_path", "postgres": "sql_file", "mongo": "dump_folder"}
_KINDS = {"postgresql": "postgres", "mongodb": "mongo"}
_SCHEMES = {"postgres": "postgresql", "mongo": "mongodb"}


class BrokenDataset(Exception):
    """Why a dataset cannot be run; never leaves this package."""


@dataclass(frozen=True)
class Database:
    """One database of a dataset: a file or folder, or a live server."""

    name: str
    location: str
    """An absolute path, or a URL without its password."""
    password: str = ""
    kind: str = ""
    """As the benchmark calls it: sqlite, duckdb, postgres, mongo."""

    @property
    def is_server(self) -> bool:
        return "://" in self.location


@dataclass(frozen=True)
class Question:
    """One question. Its folder holds what only a judge may read."""

    number: str
    text: str
    folder: Path

    @property
    def validator(self) -> Path | None:
        path = self.folder / "validate.py"
        return path if path.is_file() else None

    @property
    def ground_truth(self) -> Path | None:
        path = self.folder / "ground_truth.csv"
        return path if path.is_file() else None

    def fingerprint(self) -> str:
        """Changes when the question or what it is judged by changes."""
        digest = hashlib.sha256(self.text.encode())
        for path in (self.validator, self.ground_truth):
            digest.update(b"\x00" + (path.read_bytes() if path else b"-"))
        return digest.hexdigest()[:16]


@dataclass(frozen=True)
class Dataset:
    """One dataset of the benchmark; with a `problem` it cannot be run."""

    name: str
    folder: Path
    databases: tuple[Database, ...] = ()
    description: str = ""
    hints: str = ""
    questions: tuple[Question, ...] = ()
    problem: str = ""


@dataclass(frozen=True)
class Checkout:
    root: Path
    datasets: tuple[Dataset, ...]


def read_checkout(root: Path, only: Sequence[str] = ()) -> Checkout:
    """The datasets of a checkout, by name; `only` names those that are wanted."""
    root = root.absolute()
    if not root.is_dir():
        raise UserError(f"there is no folder at '{root}': give the checkout of the benchmark")
    if (root / CONFIGURATION).is_file():
        folders, root = [root], root.parent
    else:
        folders = sorted(
            folder for folder in root.iterdir()
            if folder.is_dir() and ((folder / CONFIGURATION).is_file() or folder.name.startswith(_PREFIX))
        )  # fmt: skip
    if not folders:
        raise UserError(f"'{root}' holds no dataset: expected folders query_<name> with {CONFIGURATION}")
    by_name = {folder.name.removeprefix(_PREFIX): folder for folder in folders}
    wanted = [name.removeprefix(_PREFIX) for name in only] or list(by_name)
    folded = {name.lower(): name for name in by_name}
    unknown = [name for name in wanted if name.lower() not in folded]
    if unknown:
        raise UserError(f"there is no dataset '{unknown[0]}' in '{root}'; there are {', '.join(sorted(by_name))}")
    names = dict.fromkeys(folded[name.lower()] for name in wanted)
    return Checkout(root, tuple(_dataset(name, by_name[name]) for name in names))


def _dataset(name: str, folder: Path) -> Dataset:
    try:
        questions = _questions(folder)
        return Dataset(
            name, folder, _databases(folder), _text(folder / "db_description.txt"),
            _text(folder / "db_description_withhint.txt"), questions,
        )  # fmt: skip
    except BrokenDataset as error:
        return Dataset(name, folder, problem=str(error))


def _questions(folder: Path) -> tuple[Question, ...]:
    found = []
    for parent in (folder, folder / "questions"):
        for each in parent.iterdir() if parent.is_dir() else ():
            match = _QUESTION_FOLDER.fullmatch(each.name)
            if match and each.is_dir():
                found.append(_question(str(int(match[1])), each))
    if not found:
        raise BrokenDataset("it has no questions: expected folders query1, query2, ...")
    numbers = [question.number for question in found]
    if len(set(numbers)) < len(numbers):
        raise BrokenDataset("two of its questions have the same number")
    return tuple(sorted(found, key=lambda question: int(question.number)))


def _question(number: str, folder: Path) -> Question:
    path = folder / "query.json"
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise BrokenDataset(f"question {number} has no query.json") from None
    except (OSError, ValueError):
        raise BrokenDataset(f"the query.json of question {number} is not JSON") from None
    if isinstance(content, dict):
        content = next((content[key] for key in ("query", "question", "text") if key in content), None)
    if not isinstance(content, str) or not content.strip():
        raise BrokenDataset(f"the query.json of question {number} holds no text")
    question = Question(number, content.strip(), folder)
    if question.validator is None and question.ground_truth is None:
        raise BrokenDataset(f"question {number} has neither validate.py nor ground_truth.csv")
    return question


def _databases(folder: Path) -> tuple[Database, ...]:
    try:
        content = yaml.safe_load((folder / CONFIGURATION).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise BrokenDataset(f"it has no {CONFIGURATION}") from None
    except (OSError, UnicodeDecodeError, yaml.YAMLError):
        raise BrokenDataset(f"its {CONFIGURATION} cannot be read") from None
    clients = content.get("db_clients") if isinstance(content, dict) else None
    if not isinstance(clients, dict) or not clients:
        raise BrokenDataset(f"its {CONFIGURATION} names no db_clients")
    found = []
    missing = []
    for name, client in clients.items():
        if not isinstance(client, dict):
            raise BrokenDataset(f"'{name}' in its {CONFIGURATION} says nothing of a database")
        database = _database(folder, str(name), client)
        if not database.is_server and (why := _absent(Path(database.location), folder)):
            missing.append(why)
        found.append(database)
    if missing:
        raise BrokenDataset("; ".join(missing))
    return tuple(found)


def _database(folder: Path, name: str, client: dict[str, Any]) -> Database:
    said = str(client.get("db_type") or "").lower()
    kind = _KINDS.get(said, said)
    if kind not in _DUMPS:
        raise BrokenDataset(f"'{name}' is of the kind '{kind}', which is none of {', '.join(_DUMPS)}")
    if kind in _SCHEMES and (client.get("url") or client.get("host")):
        return _server(name, _SCHEMES[kind], client)
    path = client.get(_DUMPS[kind])
    if not path:
        raise BrokenDataset(f"'{name}' has no {_DUMPS[kind]} in its {CONFIGURATION}")
    return Database(name, str((folder / str(path)).absolute()), kind=kind)


def _server(name: str, scheme: str, client: dict[str, Any]) -> Database:
    from urllib.parse import quote, unquote, urlsplit, urlunsplit

    if url := client.get("url"):
        parts = urlsplit(str(url))
        where = parts.hostname or ""
        where += f":{parts.port}" if parts.port else ""
        user = f"{parts.username}@" if parts.username else ""
        path = parts.path if parts.path.strip("/") else f"/{client.get('db_name') or ''}"
        return Database(
            name,
            urlunsplit((scheme, user + where, path, parts.query, "")),
            unquote(parts.password or ""),
            scheme,
        )
    port = f":{client['port']}" if client.get("port") else ""
    user = f"{quote(str(client['user']), safe='')}@" if client.get("user") else ""
    location = f"{scheme}://{user}{client['host']}{port}/{client.get('db_name') or ''}"
    return Database(name, location, str(client.get("password") or ""), scheme)


def _absent(path: Path, folder: Path) -> str | None:
    """Why a data file cannot be used, or None."""
    shown = path.relative_to(folder) if path.is_relative_to(folder) else path.name
    for suffix, how in ((".zst", "zstd -d"), (".gz", "gunzip"), (".xz", "unxz")):
        packed = path.with_name(path.name + suffix)
        if not path.exists() and packed.exists():
            return f"'{shown}' is still packed: run {how} on '{packed.name}'"
    if not path.exists():
        return f"its data file '{shown}' is missing"
    if path.is_file():
        with path.open("rb") as file:
            if file.read(48).startswith(b"version https://git-lfs.github.com"):
                return f"its data file '{shown}' is a pointer of Git LFS: fetch it with git lfs pull"
    return None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError):
        raise BrokenDataset(f"its {path.name} cannot be read") from None
