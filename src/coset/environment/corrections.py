"""`coset.corrections.yaml`: what people said about the data, in one file beside `coset.yaml`.

In: the file. Out: `Corrections`, one typed tuple a section, and what is wrong in the file with its line. A change
touches the lines of its own entry only: comments, order and everything else stay as they were written. Writing is
atomic, and one process writes at a time. Nothing here knows what a correction leads to.
"""

from __future__ import annotations

import datetime
import fcntl
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from coset.environment.configuration import Environment
from coset.errors import CosetError, UserError
from coset.people import acting_name

FILE_NAME = "coset.corrections.yaml"
HEADER = """\
# What people said about this environment. `coset teach`, `coset note` and the page write it; edit it as you like.
# Keep it in version control: nothing else holds it. Its form: docs/documents.md.
"""
Text = Annotated[str, Field(min_length=1)]
TextTuple = Annotated[
    tuple[Text, ...], BeforeValidator(lambda value: (value,) if isinstance(value, str) else tuple(value or ()))
]
Key = Annotated[str, BeforeValidator(lambda value: value if value is None else str(value))]


class Correction(BaseModel):
    """One entry. Two entries are equal when they say the same."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)
    by: str | None = None
    """Who said it."""
    on: datetime.date | None = None
    """When."""

    def references(self) -> tuple[str, ...]:
        """The tables and columns that it names."""
        return ()


class Role(Correction):
    """What a table or column is (`customer.identifier`, `customer.`, `.identifier`), or is not."""

    reference: Text
    is_: Annotated[str | None, Field(alias="is")] = None
    is_not: str | None = None

    @model_validator(mode="after")
    def _one_of_two(self) -> Role:
        if (self.is_ is None) == (self.is_not is None):
            raise ValueError("write either 'is' or 'is_not'")
        return self

    def references(self) -> tuple[str, ...]:
        return (self.reference,)


class Note(Correction):
    """What someone said of a source, table or column."""

    reference: Text
    text: Text

    def references(self) -> tuple[str, ...]:
        return (self.reference,)


class Reading(Correction):
    """What a table or column means in plain words."""

    reference: Text
    name: Text
    meaning: str | None = None
    synonyms: TextTuple = ()
    reader: Literal["person", "agent"] = "person"

    def references(self) -> tuple[str, ...]:
        return (self.reference,)


class Join(Correction):
    """Columns that join, or (`rejected`) do not. Expressions are SQL over the columns of their own table."""

    left: TextTuple
    right: TextTuple
    left_expression: str | None = None
    right_expression: str | None = None
    rejected: bool = False

    def references(self) -> tuple[str, ...]:
        return (*self.left, *self.right)


class Copy(Correction):
    """A table that is a copy of another, or a leftover without an original; `rejected`: it is not."""

    table: Text
    original: str | None = None
    kind: str | None = None
    rejected: bool = False

    def references(self) -> tuple[str, ...]:
        return (self.table, *([self.original] if self.original else []))


class CodeList(Correction):
    """Where the codes of a column are explained; `condition` is SQL over the list."""

    column: Text
    list: Text
    code: str | None = None
    label: str | None = None
    condition: str | None = None
    rejected: bool = False

    def references(self) -> tuple[str, ...]:
        return (self.column, self.list)


class Rule(Correction):
    """A rule for figures: for all of them, or for those that touch what it is `about`. `rejected`: a sentence that
    was taken for a rule is none."""

    text: Text
    about: TextTuple = ()
    rejected: bool = False

    def references(self) -> tuple[str, ...]:
        return self.about


class Record(BaseModel):
    """One row of a table, by its key."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    table: Text
    key: Key


class Link(Correction):
    """Records that are the same thing, or (`rejected`) are not."""

    entity: str | None = None
    records: Annotated[tuple[Record, ...], Field(min_length=2)]
    rejected: bool = False

    def references(self) -> tuple[str, ...]:
        return tuple(record.table for record in self.records)


class Question(Correction):
    """A question with what it needs, or how it is answered."""

    question: Text
    needs: TextTuple = ()
    sql: str | None = None

    def references(self) -> tuple[str, ...]:
        return self.needs


SECTIONS: dict[str, type[Correction]] = {
    "roles": Role, "notes": Note, "readings": Reading, "joins": Join, "copies": Copy, "code_lists": CodeList,
    "rules": Rule, "links": Link, "questions": Question,
}  # fmt: skip
"""The sections of the file, in the order in which new ones are written."""


@dataclass(frozen=True)
class Problem:
    """Something in the file that has no effect, and why. It stays in the file as it is."""

    line: int
    text: str

    def __str__(self) -> str:
        return f"{FILE_NAME}, line {self.line}: {self.text}"


@dataclass(frozen=True)
class Corrections:
    """The file's content. Entries with a mistake are not among the corrections, they are among the problems."""

    roles: tuple[Role, ...] = ()
    notes: tuple[Note, ...] = ()
    readings: tuple[Reading, ...] = ()
    joins: tuple[Join, ...] = ()
    copies: tuple[Copy, ...] = ()
    code_lists: tuple[CodeList, ...] = ()
    rules: tuple[Rule, ...] = ()
    links: tuple[Link, ...] = ()
    questions: tuple[Question, ...] = ()
    problems: tuple[Problem, ...] = ()
    lines: tuple[tuple[Correction, int], ...] = ()
    """Each entry with the line where it begins."""

    def but_notes(self) -> tuple[Correction, ...]:
        """All that can change more than what is shown beside a thing."""
        return tuple(entry for entry, _ in self.lines if not isinstance(entry, Note))

    def unknown(self, exists: Callable[[str], bool]) -> list[Problem]:
        """The entries that name something that is not there, as problems."""
        return [
            Problem(line, f"there is no '{reference}' (any more)")
            for entry, line in self.lines
            for reference in entry.references()
            if not exists(reference)
        ]


def corrections_file(environment: Environment) -> Path:
    return environment.path.parent / FILE_NAME


def load_corrections(environment: Environment) -> Corrections:
    """What the file says; empty when there is none. Raises `UserError` with the line when it is not valid YAML."""
    return parse_corrections(corrections_text(environment))


def corrections_text(environment: Environment) -> str:
    """The file as it is written; empty when there is none."""
    return _read(corrections_file(environment))


def parse_corrections(text: str) -> Corrections:
    """What a text in the form of the file says."""
    return _File(text).corrections


def add_corrections(
    environment: Environment, entries: Iterable[Correction], *, instead_of: Iterable[Correction] = ()
) -> Corrections:
    """Write entries to the end of their sections, and take out those they replace. What is said already is not said
    twice. Answers with the file's new content."""
    with _changing(corrections_file(environment)) as file:
        for entry in instead_of:
            file.remove(entry)
        for entry in entries:
            file.add(signed(entry))
        return file.corrections


def signed(entry: Correction) -> Correction:
    """The entry with who says it and when, where the person is known and the entry does not say so already."""
    if (name := acting_name()) is None or entry.by is not None:
        return entry
    return entry.model_copy(update={"by": name, "on": entry.on or datetime.date.today()})


def is_same(one: Correction, other: Correction) -> bool:
    """Whether two entries say the same, whoever said it and when."""
    return _said(one) == _said(other)


def remove_corrections(environment: Environment, entries: Iterable[Correction]) -> Corrections:
    """Take entries out of the file. Raises `UserError` when one is not in it."""
    return add_corrections(environment, (), instead_of=entries)


class _File:
    """The text of the file, and where each entry lies in it."""

    def __init__(self, text: str) -> None:
        self._take_over(text)

    def _take_over(self, text: str) -> None:
        self.text = text if not text or text.endswith("\n") else text + "\n"
        self.sections: dict[str, tuple[yaml.Node, yaml.Node]] = {}
        self.entries: list[tuple[Correction, yaml.Node]] = []
        problems: list[Problem] = []
        root = _compose(self.text)
        if root is not None and not isinstance(root, yaml.MappingNode):
            raise UserError(f"{FILE_NAME}, line 1: write sections such as 'notes:' with their entries below")
        for key, value in root.value if root is not None else ():
            if key.value not in SECTIONS:
                problems.append(_problem(key, f"unknown section '{key.value}': there are {', '.join(SECTIONS)}"))
            elif key.value in self.sections:
                raise UserError(str(_problem(key, f"'{key.value}' stands here twice")))
            else:
                self.sections[key.value] = (key, value)
                problems += self._section_problems(SECTIONS[key.value], value)
        kinds = {name: tuple(each for each, _ in self.entries if type(each) is kind) for name, kind in SECTIONS.items()}
        lines = tuple((entry, node.start_mark.line + 1) for entry, node in self.entries)
        self.corrections = Corrections(**kinds, problems=tuple(problems), lines=lines)  # type: ignore[arg-type]

    def _section_problems(self, kind: type[Correction], section: yaml.Node) -> Iterator[Problem]:
        if not isinstance(section, yaml.SequenceNode):
            if section.value not in {"", "null", "~"}:
                yield _problem(section, "write a list here, one '- ' an entry")
            return
        for node in section.value:
            try:
                self.entries.append((kind.model_validate(_content(node)), node))
            except ValidationError as error:
                for each in error.errors():
                    yield _problem(node, _plain(each))

    def add(self, entry: Correction) -> None:
        if any(_said(known) == _said(entry) for known, _ in self.entries):
            return
        name = _section_of(entry)
        lines = self.text.splitlines(keepends=True)
        if name not in self.sections:
            gap = ["\n"] if lines else [HEADER, "\n"]
            changed = "".join([*lines, *gap, f"{name}:\n", *_block(entry, 2)])
        else:
            key, section = self.sections[name]
            if isinstance(section, yaml.SequenceNode) and section.value and not section.flow_style:
                end, indent = _end_line(self.text, section.value[-1]), section.start_mark.column
                changed = "".join([*lines[:end], *_block(entry, indent), *lines[end:]])
            elif isinstance(section, yaml.ScalarNode) and not section.value:
                end = key.end_mark.line + 1
                changed = "".join([*lines[:end], *_block(entry, 2), *lines[end:]])
            else:
                changed = self._in_block_style(section, [*self._entries_of(section), entry])
        self._change(changed, [*(known for known, _ in self.entries), entry])

    def remove(self, entry: Correction) -> None:
        node = next((node for known, node in self.entries if known == entry), None)
        if node is None:
            raise UserError(f"{FILE_NAME} does not say that (any more): {_said(entry)}")
        _, section = self.sections[_section_of(entry)]
        if isinstance(section, yaml.CollectionNode) and section.flow_style:
            changed = self._in_block_style(section, [each for each in self._entries_of(section) if each != entry])
        else:
            lines = self.text.splitlines(keepends=True)
            start = node.start_mark.line
            while not lines[start].lstrip().startswith("-"):
                start -= 1
            changed = "".join([*lines[:start], *lines[_end_line(self.text, node) :]])
        rest = [known for known, _ in self.entries]
        rest.remove(entry)
        self._change(changed, rest)

    def _entries_of(self, section: yaml.Node) -> list[Correction]:
        return [entry for entry, node in self.entries if any(node is each for each in section.value)]

    def _in_block_style(self, section: yaml.Node, entries: Sequence[Correction]) -> str:
        """The text with a list that was written in brackets as one entry below the other."""
        block = "".join(line for entry in entries for line in _block(entry, 2)).rstrip("\n")
        before, after = self.text[: section.start_mark.index], self.text[section.end_mark.index :]
        return f"{before.rstrip(' ')}\n{block}{after}"

    def _change(self, text: str, meant: Sequence[Correction]) -> None:
        """Take over a new text, after a look at whether it says what it is meant to say and loses nothing else."""
        known, problems = self.text, len(self.corrections.problems)
        self._take_over(text)
        if sorted(map(_said, meant)) != sorted(_said(entry) for entry, _ in self.entries) or problems != len(
            self.corrections.problems
        ):
            self._take_over(known)
            raise CosetError(f"{FILE_NAME} cannot be changed here without loss: change it by hand")


def _compose(text: str) -> yaml.Node | None:
    try:
        return yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        where = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise UserError(f"{FILE_NAME}{where}: {error.problem or 'is not valid YAML'}") from error
    except yaml.YAMLError as error:
        raise UserError(f"{FILE_NAME} is not valid YAML: {' '.join(str(error).split())}") from error


def _content(node: yaml.Node) -> object:
    """A node as plain content. Scalars stay as written: a key `0013` is no number, a country `NO` is not false."""
    if isinstance(node, yaml.MappingNode):
        pairs = [(str(key.value), _content(value)) for key, value in node.value]
        return {key: value for key, value in pairs if value != ""}
    if isinstance(node, yaml.SequenceNode):
        return [_content(each) for each in node.value]
    return node.value


def _end_line(text: str, node: yaml.Node) -> int:
    """The line after the last one of a node, counted from 0; comments and empty lines below it are not its own."""
    while isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        node = last[1] if isinstance(last, tuple) else last
    if isinstance(node, yaml.ScalarNode) and node.style in {"|", ">"}:
        end = node.end_mark.line
        lines = text.splitlines()
        while end > 0 and not lines[end - 1].strip():
            end -= 1
        return end
    return int(node.end_mark.line) + 1


def _block(entry: Correction, indent: int) -> list[str]:
    content = entry.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    order = [field.alias or name for name, field in type(entry).model_fields.items() if name not in {"by", "on"}]
    plain = {key: _plain_list(content[key]) for key in (*order, "by", "on") if key in content}
    text = yaml.safe_dump([plain], sort_keys=False, allow_unicode=True, width=100, default_flow_style=False)
    return [" " * indent + line for line in text.splitlines(keepends=True)]


def _plain_list(value: object) -> object:
    return value[0] if isinstance(value, list) and len(value) == 1 and isinstance(value[0], str) else value


def _said(entry: Correction) -> str:
    """What an entry says, whoever said it and when."""
    return _section_of(entry) + " " + entry.model_dump_json(by_alias=True, exclude_defaults=True, exclude={"by", "on"})


def _section_of(entry: Correction) -> str:
    return next(name for name, kind in SECTIONS.items() if type(entry) is kind)


def _problem(node: yaml.Node, text: str) -> Problem:
    return Problem(node.start_mark.line + 1, text)


def _plain(problem: Any) -> str:
    where = ".".join(str(part) for part in problem["loc"])
    if problem["type"] == "extra_forbidden":
        return f"unknown key '{where}'"
    if problem["type"] == "missing":
        return f"'{where}' is missing"
    message = str(problem["msg"]).removeprefix("Value error, ")
    return f"'{where}': {message[:1].lower()}{message[1:]}" if where else message


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"cannot read '{path}': {error}") from error


@contextmanager
def _changing(path: Path) -> Iterator[_File]:
    """The file for changing, by one process at a time. What is not raised out of is written, whole or not at all."""
    path = path.resolve()
    try:
        folder = os.open(path.parent, os.O_RDONLY)
    except OSError as error:
        raise UserError(f"cannot write '{path}': {error}") from error
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        known = _read(path)
        file = _File(known)
        yield file
        if file.text != known:
            _write(path, file.text)
    finally:
        os.close(folder)


def _write(path: Path, text: str) -> None:
    part: str | None = None
    try:
        mode = path.stat().st_mode & 0o777 if path.exists() else 0o644
        handle, part = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        Path(part).chmod(mode)
        Path(part).replace(path)
    except OSError as error:
        if part:
            Path(part).unlink(missing_ok=True)
        raise UserError(f"cannot write '{path}': {error}") from error
