"""`coset.yaml`: which sources an environment has, and what the user said of each.

In: the file. Out: an `Environment` of declared sources; every mistake in the file is named at once. Secrets are
filled in only when a source is opened, so that a missing one stops that source alone.
"""

from __future__ import annotations

import dataclasses
import re
import shutil
from collections.abc import Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from coset.environment.leftovers import make_private
from coset.environment.locations import recognise
from coset.environment.secrets import SECRETS_FILE, fill, passwords_of, read_secrets_file
from coset.environment.source import Limits, SourceSettings
from coset.errors import UserError

FILE_NAME = "coset.yaml"
STATE_FOLDER = ".coset"
SOURCE_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
SECRET_OPTION = re.compile(r"secret|password|token|access_key$|account_key|private_key", re.IGNORECASE)
# Names that mean something to SQL before any source does.
RESERVED_NAMES = {
    "main",
    "memory",
    "temp",
    "system",
    "public",
    "information_schema",
    "pg_catalog",
    "result",
    "default",
}

TextList = Annotated[list[str], BeforeValidator(lambda value: [value] if isinstance(value, str) else value)]


class LimitsEntry(BaseModel):
    """`limits:` of a source; what is left out keeps its default."""

    model_config = ConfigDict(extra="forbid")
    snapshot_rows: int | None = Field(default=None, ge=0)
    snapshot_bytes: int | None = Field(default=None, ge=0)
    fetch_rows: int | None = Field(default=None, ge=1)
    cell_bytes: int | None = Field(default=None, ge=1)
    sample_rows: int | None = Field(default=None, ge=1)
    age_seconds: float | None = Field(default=None, ge=0)
    connect_seconds: float | None = Field(default=None, gt=0)
    query_seconds: float | None = Field(default=None, gt=0)


class SourceEntry(BaseModel):
    """One entry under `sources:`."""

    model_config = ConfigDict(extra="forbid")
    location: str = Field(min_length=1)
    kind: str | None = None
    description: str | None = None
    description_file: str | None = None
    hints: TextList = []
    include: TextList = []
    exclude: TextList = []
    schema_only: bool = False
    documents: TextList = []
    """Files, folders and patterns of documents about this source, from the folder of `coset.yaml`."""
    queries: TextList = []
    """Files, folders and patterns of what people wrote over this source: `.sql` files, dbt manifests, other semantic
    models."""
    limits: LimitsEntry = LimitsEntry()
    options: dict[str, str] = {}
    """What the driver or the store needs beside the location: region, endpoint, keys as ${NAME}."""


class ModelsEntry(BaseModel):
    """`models:` of an environment: `provider:name` or an address; what is left out is the agent's."""

    model_config = ConfigDict(extra="forbid")
    agent: str | None = Field(default=None, min_length=1)
    arbiter: str | None = None
    text: str | None = None
    reader: str | None = None
    """Asked once by `coset comprehend`: what cryptic names mean."""


class EnvironmentEntry(BaseModel):
    """The whole file."""

    model_config = ConfigDict(extra="forbid")
    sources: dict[str, SourceEntry] = Field(min_length=1)
    description: str | None = None
    """What the whole environment is about."""
    documents: TextList = []
    """Files, folders and patterns of documents about the environment as a whole."""
    queries: TextList = []
    """Files, folders and patterns of SQL and semantic models over several sources."""
    secrets_file: str | None = None
    state_folder: str | None = None
    models: ModelsEntry | None = None
    """Which language models `coset ask` uses."""
    identities: str | None = None
    """A file with identities of the user's own, in the form of the shipped inventory."""


@dataclass(frozen=True)
class Environment:
    """The named sources that one question may range over, as declared. Opens nothing by itself."""

    path: Path
    sources: dict[str, SourceEntry]
    secrets_file: Path
    state_folder: Path
    identities_file: Path | None = None
    models: dict[str, str] = dataclasses.field(default_factory=dict)
    """The language model of each part that names one: agent, arbiter, text, reader."""
    description: str | None = None
    documents: tuple[str, ...] = ()
    """Absolute paths and patterns of documents about the environment as a whole."""
    queries: tuple[str, ...] = ()
    """The same of SQL and semantic models over several sources."""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.sources)

    def prepare_state_folder(self) -> None:
        """Make the folder for what coset keeps, for its owner alone, kept out of version control: it holds data."""
        try:
            self.state_folder.mkdir(parents=True, exist_ok=True)
            make_private(self.state_folder, but=self.secrets_file)
            for name, source in self.sources.items():
                if source.schema_only:  # It may not have been so before: no copy of its values stays.
                    self._forget_copies(name)
            ignore = self.state_folder / ".gitignore"
            if not ignore.exists():
                ignore.write_text("*\n", encoding="utf-8")
        except OSError as error:
            raise UserError(
                f"cannot write to '{self.state_folder}', where coset keeps copies and listings: "
                f"make it writable, or name another state_folder in {self.path.name}"
            ) from error

    def forget_sources_that_are_gone(self) -> None:
        """Remove the copies of sources that this file no longer names."""
        for folder in (self.state_folder / "snapshots").glob("*"):
            if folder.name not in self.sources:
                self._forget_copies(folder.name)

    def _forget_copies(self, source: str) -> None:
        shutil.rmtree(self.state_folder / "snapshots" / source, ignore_errors=True)
        (self.state_folder / "listings" / f"{source}.json").unlink(missing_ok=True)

    def settings(self, name: str) -> SourceSettings:
        """The settings of one source with its secrets filled in. Raises `UserError` when one is missing."""
        from coset.environment.sources import known_kinds

        entry = self.sources[name]
        filled = fill(entry.location, read_secrets_file(self.secrets_file))
        location = recognise(filled.text, self.path.parent, entry.kind)
        if location.kind not in (known := known_kinds()):
            raise UserError(f"source '{name}': '{location.kind}' is not a known kind; known are {', '.join(known)}")
        changed = {key: value for key, value in entry.limits.model_dump().items() if value is not None}
        values = read_secrets_file(self.secrets_file)
        options = {key: fill(value, values) for key, value in entry.options.items()}
        hidden = {
            *filled.secrets,
            *passwords_of(filled.text),
            *(each for one in options.values() for each in one.secrets),
        }
        return SourceSettings(
            name=name,
            location=location.absolute,
            kind=location.kind,
            description=self._description(name, entry),
            hints=tuple(entry.hints),
            include=tuple(entry.include),
            exclude=tuple(entry.exclude),
            schema_only=entry.schema_only,
            documents=tuple(str(self.path.parent / path) for path in entry.documents),
            queries=tuple(str(self.path.parent / path) for path in entry.queries),
            limits=dataclasses.replace(Limits(), **changed),
            options={key: one.text for key, one in options.items()},
            secrets=tuple(hidden),
        )

    def _description(self, name: str, entry: SourceEntry) -> str | None:
        if entry.description_file is None:
            return entry.description
        path = self.path.parent / entry.description_file
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(f"source '{name}': cannot read its description file '{entry.description_file}'") from error
        return f"{entry.description}\n\n{text}" if entry.description else text


def find_environment_file(start: Path | None = None) -> Path:
    """The `coset.yaml` of this folder or the nearest one above it."""
    folder = (start or Path.cwd()).absolute()
    for candidate in (folder, *folder.parents):
        if (candidate / FILE_NAME).is_file():
            return candidate / FILE_NAME
    raise UserError(f"there is no {FILE_NAME} here or above: make one with `coset init name=location ...`")


def load_environment(path: Path | str | None = None) -> Environment:
    """The environment a file describes; a folder means the `coset.yaml` in it; nothing means the nearest one."""
    file = Path(path) if path is not None else find_environment_file()
    file = (file / FILE_NAME if file.is_dir() else file).absolute()
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise UserError(f"there is no environment file at '{file}'") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"cannot read '{file}': {error}") from error
    return parse_environment(text, file)


def parse_environment(text: str, file: Path) -> Environment:
    """`load_environment` for a text; `file` says where relative paths start and how errors name it."""
    try:
        content = yaml.load(text, Loader=_LoaderWithoutDuplicates)  # noqa: S506 - a SafeLoader subclass
    except yaml.MarkedYAMLError as error:
        where = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise UserError(f"{file.name}{where}: {error.problem or 'is not valid YAML'}") from error
    except yaml.YAMLError as error:
        raise UserError(f"{file.name} is not valid YAML: {error}") from error
    try:
        entry = EnvironmentEntry.model_validate(content if content is not None else {})
    except ValidationError as error:
        raise UserError(f"{file.name}: {'; '.join(_plain(problem) for problem in error.errors())}") from None
    problems = _name_problems(entry) + [
        f"source '{name}' holds a password: put it in the environment and write ${{NAME}} in its place"
        for name, source in entry.sources.items()
        if any("${" not in password for password in passwords_of(source.location))
    ]
    problems += [
        f"option '{key}' of source '{name}' is a secret: put it in the environment and write ${{NAME}} in its place"
        for name, source in entry.sources.items()
        for key, value in source.options.items()
        if SECRET_OPTION.search(key) and "${" not in value
    ]
    if problems:
        raise UserError(f"{file.name}: {'; '.join(problems)}")
    state = file.parent / (entry.state_folder or STATE_FOLDER)
    secrets = file.parent / entry.secrets_file if entry.secrets_file else state / SECRETS_FILE
    own = file.parent / entry.identities if entry.identities else None
    models = entry.models.model_dump(exclude_none=True) if entry.models else {}
    return Environment(
        path=file, sources=entry.sources, secrets_file=secrets, state_folder=state, identities_file=own, models=models,
        description=entry.description, documents=tuple(str(file.parent / path) for path in entry.documents),
        queries=tuple(str(file.parent / path) for path in entry.queries),
    )  # fmt: skip


def check_source_name(name: str) -> str | None:
    """What is wrong with a name for a source, or None."""
    if not SOURCE_NAME.fullmatch(name):
        return f"'{name}' cannot name a source: use letters, digits and _, starting with a letter"
    if name.lower() in RESERVED_NAMES:
        return f"'{name}' means something else in SQL: name the source differently"
    return None


def _name_problems(entry: EnvironmentEntry) -> list[str]:
    problems = [problem for name in entry.sources if (problem := check_source_name(name))]
    seen: dict[str, str] = {}
    for name in entry.sources:
        if other := seen.get(name.lower()):
            problems.append(f"'{other}' and '{name}' are the same name to SQL")
        seen[name.lower()] = name
    return problems


def _plain(problem: Any) -> str:
    where = ".".join(str(part) for part in problem["loc"])
    if problem["type"] == "extra_forbidden":
        return f"unknown key '{where}'"
    if problem["type"] == "missing":
        return f"'{where}' is missing"
    return f"'{where}': {problem['msg'][0].lower()}{problem['msg'][1:]}" if where else str(problem["msg"])


class _LoaderWithoutDuplicates(yaml.SafeLoader):
    """YAML lets a later key silently replace an earlier one; two sources of one name must not vanish like that."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if isinstance(key, Hashable):
                if key in seen:
                    raise yaml.MarkedYAMLError(problem=f"'{key}' stands here twice", problem_mark=key_node.start_mark)
                seen.add(key)
        return super().construct_mapping(node, deep)
