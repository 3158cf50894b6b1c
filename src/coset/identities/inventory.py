"""The inventory: the persistent identities, in two coordinates, that environments are read against, and their words.

In: the YAML that ships with coset and, where given, a file of the user's in the same form. Out: an `Inventory`, and its
`Lexicon`: which identities a phrase may mean. Every mistake in a file is named at once. Order is part of it: the
selector T breaks ties by it. Knows no environment.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from coset.errors import UserError
from coset.readings.words import singular, spelled_out

Coordinate = Literal["entity", "attribute"]
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
COORDINATES: tuple[Coordinate, ...] = ("entity", "attribute")


@dataclass(frozen=True)
class Identity:
    """A persistent role of one coordinate. Its id keeps its meaning for ever."""

    id: str
    name: str
    meaning: str
    examples: tuple[str, ...] = ()
    parent: str | None = None
    own: bool = False
    """True for an identity that the user added."""

    @property
    def text(self) -> str:
        """What the identity is, in words."""
        return f"{self.name}: {self.meaning}. {', '.join(self.examples)}"


@dataclass(frozen=True)
class Inventory:
    """The identities of both coordinates, in order."""

    entities: tuple[Identity, ...]
    attributes: tuple[Identity, ...]

    def of(self, coordinate: Coordinate) -> tuple[Identity, ...]:
        return self.entities if coordinate == "entity" else self.attributes

    def ids(self, coordinate: Coordinate) -> tuple[str, ...]:
        return tuple(identity.id for identity in self.of(coordinate))

    @cached_property
    def _positions(self) -> dict[tuple[Coordinate, str], int]:
        return {(c, identity.id): n for c in COORDINATES for n, identity in enumerate(self.of(c))}

    def position(self, coordinate: Coordinate, written: str) -> int:
        """Where an identity stands in its coordinate; `UserError` with the nearest ids for one that is unknown."""
        wanted = written.strip().lower().replace(" ", "_").replace("-", "_")
        found = self._positions.get((coordinate, wanted))
        if found is not None:
            return found
        for number, identity in enumerate(self.of(coordinate)):
            if identity.name.lower() == written.strip().lower():
                return number
        near = difflib.get_close_matches(wanted, self.ids(coordinate), n=3, cutoff=0.4)
        hint = f"; did you mean {' or '.join(near)}?" if near else "; `coset identities --all` lists them"
        raise UserError(f"'{written}' is no {coordinate} of the inventory{hint}")

    def role(self, written: str) -> dict[Coordinate, int]:
        """What `customer.identifier`, `customer.` , `.identifier` or a single id means."""
        parts = [part.strip() for part in written.split(".")]
        if len(parts) == 2:
            pairs: list[tuple[Coordinate, str]] = [("entity", parts[0]), ("attribute", parts[1])]
            role = {coordinate: self.position(coordinate, part) for coordinate, part in pairs if part}
            if role:
                return role
        if len(parts) == 1 and parts[0]:
            single: dict[Coordinate, int] = {}
            for coordinate in COORDINATES:
                try:
                    single[coordinate] = self.position(coordinate, parts[0])
                except UserError:
                    continue
            if len(single) == 1:
                return single
            if len(single) == 2:
                raise UserError(
                    f"'{parts[0]}' is an entity and an attribute: write '{parts[0]}.' for the entity or '.{parts[0]}'"
                )
            near = difflib.get_close_matches(
                parts[0].lower(), [*self.ids("entity"), *self.ids("attribute")], n=3, cutoff=0.4
            )
            hint = f"; did you mean {' or '.join(near)}?" if near else "; `coset identities --all` lists them"
            raise UserError(f"'{written}' is no identity of the inventory{hint}")
        raise UserError(f"'{written}' is no role: write entity.attribute, such as customer.identifier")


class _IdentityEntry(BaseModel):
    model_config = ConfigDict(extra="forbid")
    id: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    name: str = Field(min_length=1)
    meaning: str = Field(min_length=1)
    examples: list[str] = []
    parent: str | None = None


class _InventoryFile(BaseModel):
    model_config = ConfigDict(extra="forbid")
    version: Literal[1] = 1
    entities: list[_IdentityEntry] = []
    attributes: list[_IdentityEntry] = []


def shipped_inventory() -> Inventory:
    """The inventory that comes with coset."""
    return load_inventory()


def load_inventory(own: Path | None = None) -> Inventory:
    """The shipped inventory, and after it the identities of the user's own file."""
    text = files("coset.identities").joinpath("inventory.yaml").read_text(encoding="utf-8")
    parts, origins = [_parse(text, "the shipped inventory")], ["the shipped inventory"]
    if own is not None:
        try:
            written = own.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(f"the inventory '{own}' cannot be read: {error}") from None
        parts.append(_parse(written, f"'{own.name}'"))
        origins.append(f"'{own.name}'")
    return _build(parts, origins)


def _parse(text: str, origin: str) -> _InventoryFile:
    try:
        loader = _LOADER(text)
        node = loader.get_single_node()
        if node is not None:
            _no_key_twice(node)
        content = loader.construct_document(node) if node is not None else {}
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line if mark else text.count("\n", 0, getattr(error, "position", 0))
        raise UserError(f"the inventory {origin} is not valid YAML: {_problem(error)} (line {line + 1})") from None
    if not isinstance(content, dict):
        raise UserError(f"the inventory {origin} holds no lists 'entities:' and 'attributes:'")
    try:
        return _InventoryFile.model_validate(content)
    except ValidationError as error:
        problems = [_plain(item["loc"], item["type"], item["msg"], content) for item in error.errors()]
        raise UserError(f"the inventory {origin} has mistakes: {'; '.join(problems[:10])}") from None


def _problem(error: yaml.YAMLError) -> str:
    return str(getattr(error, "problem", None) or getattr(error, "reason", None) or "it cannot be read")


def _no_key_twice(node: yaml.Node, depth: int = 3) -> None:
    """YAML lets a later key silently replace an earlier one; a second list of entities must not swallow the first."""
    if depth == 0:
        return
    if isinstance(node, yaml.SequenceNode):
        for item in node.value:
            _no_key_twice(item, depth - 1)
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value in seen:
                raise yaml.MarkedYAMLError(problem=f"'{key.value}' stands here twice", problem_mark=key.start_mark)
            seen.add(str(key.value))
            _no_key_twice(value, depth - 1)


def _plain(place: tuple[int | str, ...], kind: str, message: str, content: Any) -> str:
    """One mistake in words, with the id of the identity where it has one."""
    where = ".".join(str(part) for part in place)
    if len(place) > 1 and isinstance(place[1], int):
        entry = content[place[0]][place[1]]
        known = entry.get("id") if isinstance(entry, dict) else None
        where = (
            f"{place[0]}: '{known}'"
            if isinstance(known, str) and place[2:] != ("id",)
            else f"{place[0]}: entry {place[1] + 1}"
        )
        where += "".join(f", {part}" for part in place[2:])
    if kind == "extra_forbidden":
        allowed = _IdentityEntry.model_fields if len(place) > 1 else _InventoryFile.model_fields
        near = difflib.get_close_matches(str(place[-1]), list(allowed), n=1)
        return f"{where} is no known key" + (f" (did you mean '{near[0]}'?)" if near else "")
    if kind == "missing":
        return f"{where} is missing"
    if kind == "string_pattern_mismatch":
        return f"{where} must be small letters, digits and _, starting with a letter"
    return f"{where}: {message[0].lower()}{message[1:]}"


def _build(parts: Sequence[_InventoryFile], origins: Sequence[str]) -> Inventory:
    problems: list[str] = []
    coordinates: list[tuple[Identity, ...]] = []
    for coordinate in ("entities", "attributes"):
        known: dict[str, str] = {}
        identities: list[Identity] = []
        for number, (part, origin) in enumerate(zip(parts, origins, strict=True)):
            for entry in getattr(part, coordinate):
                if entry.id in known:
                    problems.append(f"{coordinate}: '{entry.id}' is in {known[entry.id]} and again in {origin}")
                    continue
                known[entry.id] = origin
                identities.append(
                    Identity(entry.id, entry.name, entry.meaning, tuple(entry.examples), entry.parent, number > 0)
                )
        problems += _parent_problems(coordinate, identities)
        coordinates.append(tuple(identities))
    if problems:
        raise UserError(f"the inventory has mistakes: {'; '.join(problems)}")
    return Inventory(*coordinates)


def _parent_problems(coordinate: str, identities: Iterable[Identity]) -> list[str]:
    parents = {identity.id: identity.parent for identity in identities}
    problems = []
    for identity, parent in parents.items():
        if parent is not None and parent not in parents:
            near = difflib.get_close_matches(parent, list(parents), n=1)
            hint = f" (did you mean '{near[0]}'?)" if near else ""
            problems.append(f"{coordinate}: the parent '{parent}' of '{identity}' is not known{hint}")
        seen: set[str] = set()
        while parent is not None and parent in parents and parent not in seen:
            seen.add(parent)
            parent = parents[parent]
        if identity in seen:
            problems.append(f"{coordinate}: '{identity}' is its own ancestor")
    return problems


Phrase = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Lexicon:
    """Compared and hashed as an object: one is made per inventory."""

    inventory: Inventory

    @cached_property
    def _phrases(self) -> dict[Coordinate, dict[Phrase, tuple[int, ...]]]:
        return {"entity": self._collect("entity"), "attribute": self._collect("attribute")}

    def _collect(self, coordinate: Coordinate) -> dict[Phrase, tuple[int, ...]]:
        found: dict[Phrase, list[int]] = {}
        for number, identity in enumerate(self.inventory.of(coordinate)):
            for written in (identity.id, identity.name, *identity.examples):
                if " not " in f" {written} ":
                    continue
                for part in written.split(" or "):
                    phrase = phrase_of(part)
                    if phrase and number not in found.setdefault(phrase, []):
                        found[phrase].append(number)
        return {phrase: tuple(numbers) for phrase, numbers in found.items()}

    @cached_property
    def _longest(self) -> dict[Coordinate, int]:
        """Words of the longest phrase: what is longer need not be looked up, however long a name is."""
        return {coordinate: max(map(len, phrases), default=0) for coordinate, phrases in self._phrases.items()}

    def meaning(self, coordinate: Coordinate, phrase: Phrase) -> tuple[int, ...]:
        """The identities that a whole phrase may mean."""
        return self._phrases[coordinate].get(phrase, ())

    def ending(self, coordinate: Coordinate, phrase: Phrase) -> tuple[tuple[int, ...], Phrase]:
        """The identities of the longest ending that is known, and that ending."""
        for begin in range(max(0, len(phrase) - self._longest[coordinate]), len(phrase)):
            found = self.meaning(coordinate, phrase[begin:])
            if found:
                return found, phrase[begin:]
        return (), ()

    def anywhere(self, coordinate: Coordinate, phrase: Phrase) -> tuple[tuple[int, ...], Phrase]:
        """The identities of the longest known part, the last one of equal length."""
        for length in range(min(len(phrase), self._longest[coordinate]), 0, -1):
            for begin in range(len(phrase) - length, -1, -1):
                found = self.meaning(coordinate, phrase[begin : begin + length])
                if found:
                    return found, phrase[begin : begin + length]
        return (), ()


@lru_cache(maxsize=200_000)
def phrase_of(name: str) -> Phrase:
    """A name as the lexicon keeps it: words in full, in the singular, without numbers."""
    return tuple(singular(word) for word in spelled_out(name) if not word.isdigit())
