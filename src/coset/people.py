"""People of one server: their names, tokens and rights, and for whom the current call is made.

In: a file that names them, whose tokens are references (`${NAME}`) or SHA-256 digests, never the tokens themselves.
Out: the person a token belongs to. Whoever a call is made for is known to the run record and to corrections without
being handed through. What rows a person may see is not decided here: that is for the databases and their roles.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, get_args

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from coset.environment.secrets import REFERENCE, fill, read_secrets_file
from coset.errors import CosetError, UserError

Right = Literal["look", "ask", "correct"]
"""look: views, evidence, SELECT. ask: let coset answer, which may cost a model. correct: change what is held true."""
RIGHTS: tuple[Right, ...] = get_args(Right)
SHORTEST_TOKEN = 16
_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Person:
    """Whoever sent a token."""

    name: str
    rights: frozenset[Right]

    def may(self, right: Right) -> bool:
        return right in self.rights


ANYONE = Person("", frozenset(RIGHTS))
"""Whoever has the one token of a server, or sits at the machine where it needs none."""
_acting: ContextVar[Person | None] = ContextVar("coset_person", default=None)


@contextmanager
def acting_for(person: Person | None) -> Iterator[None]:
    """What happens within the block is done for this person."""
    before = _acting.set(person)
    try:
        yield
    finally:
        _acting.reset(before)


def acting_name() -> str | None:
    """The name of the person for whom the current call is made; None where nobody is named."""
    person = _acting.get()
    return (person.name or None) if person is not None else None


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid")
    token: str | None = None
    token_sha256: str | None = None
    may: Annotated[tuple[Right, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _one_of_two(self) -> _Entry:
        if (self.token is None) == (self.token_sha256 is None):
            raise ValueError("give either 'token' as ${NAME} or 'token_sha256'")
        if self.token is not None and not REFERENCE.fullmatch(self.token):
            raise ValueError("'token' must be a reference such as ${ANN_TOKEN}, not the token itself")
        if self.token_sha256 is not None and not _DIGEST.fullmatch(self.token_sha256):
            raise ValueError("'token_sha256' must be 64 hexadecimal digits: `coset token` writes the line")
        return self


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid")
    people: Annotated[dict[str, _Entry], Field(min_length=1)]


class People:
    """Who may use a server. A file that changes is read again, so taking a person out needs no restart."""

    def __init__(self, path: Path, secrets_file: Path) -> None:
        self._path, self._secrets_file = path, secrets_file
        self._read_at: tuple[int, int] | None = None
        self._known: Mapping[str, Person] = {}
        self._refresh()

    def find(self, token: str) -> Person | None:
        """The person a token belongs to. Raises `CosetError` where the file cannot be read any more: nobody is let in
        by what it said before."""
        self._refresh()
        digest, found = _digest(token), None
        for known, person in self._known.items():  # all of them, so that the time tells nothing
            if hmac.compare_digest(known, digest):
                found = person
        return found

    def named(self, name: str) -> Person | None:
        """The person of that name, as long as the file has them."""
        self._refresh()
        return next((person for person in self._known.values() if person.name == name), None)

    def _refresh(self) -> None:
        try:
            file = self._path.stat()
        except OSError as error:
            raise CosetError(f"{self._path.name} cannot be read: {error.strerror}") from None
        at = (file.st_mtime_ns, file.st_size)
        if at != self._read_at:
            self._known = read_people(self._path, read_secrets_file(self._secrets_file))
            self._read_at = at


class OneToken:
    """A server with one token for all."""

    def __init__(self, token: str) -> None:
        self._digest = _digest(token)

    def find(self, token: str) -> Person | None:
        return ANYONE if hmac.compare_digest(self._digest, _digest(token)) else None

    def named(self, name: str) -> Person | None:
        return ANYONE if name == ANYONE.name else None


def read_people(path: Path, values: Mapping[str, str]) -> dict[str, Person]:
    """The people of a file by the digest of their token. Raises `UserError` with every mistake in it."""
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path} cannot be read: {getattr(error, 'strerror', None) or type(error).__name__}") from None
    except yaml.YAMLError:
        raise UserError(f"{path.name} is no valid YAML") from None
    try:
        file = _File.model_validate(content)
    except ValidationError as error:
        told = "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors()[:5])
        raise UserError(f"{path.name}: {told}") from None
    people: dict[str, Person] = {}
    for name, entry in file.people.items():
        digest = entry.token_sha256 or _digest(_checked(fill(entry.token or "", values).text, name))
        if digest in people:
            raise UserError(f"{path.name}: {people[digest].name} and {name} have the same token")
        people[digest] = Person(name, frozenset(entry.may))
    return people


def new_token() -> tuple[str, str]:
    """A token that nobody can guess, and its digest for the file."""
    token = secrets.token_urlsafe(32)
    return token, _digest(token)


def _checked(token: str, name: str) -> str:
    if len(token) < SHORTEST_TOKEN:
        raise UserError(f"the token of {name} is too short: use at least {SHORTEST_TOKEN} characters")
    return token


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
