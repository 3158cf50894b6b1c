"""Parts of a document that somebody else wrote: looked up without trusting that they are there or of the right kind.

In: what YAML or JSON gave. Out: texts, numbers and parts below; what is missing or of another kind is empty, so that a
file with one odd entry is still read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

Kind = TypeVar("Kind", int, float, str)


class Parts:
    """A mapping of a document."""

    def __init__(self, given: Any) -> None:
        self._given: Mapping[str, Any] = given if isinstance(given, Mapping) else {}

    def __bool__(self) -> bool:
        return bool(self._given)

    def __contains__(self, name: str) -> bool:
        return name in self._given

    def get(self, name: str) -> Any:
        return self._given.get(name)

    def text(self, *names: str) -> str:
        """The first of these that is a text, on one line."""
        for name in names:
            value = self._given.get(name)
            if isinstance(value, str | int | float) and not isinstance(value, bool) and str(value).strip():
                return str(value).strip()
        return ""

    def part(self, name: str) -> Parts:
        return Parts(self._given.get(name))

    def all(self, name: str) -> list[Parts]:
        return listed(self._given, name)

    def items(self) -> Iterable[tuple[str, Any]]:
        return self._given.items()


def listed(given: Mapping[str, Any], name: str) -> list[Parts]:
    """The mappings under a name: of a list, or the values of a mapping."""
    found = given.get(name)
    if isinstance(found, Mapping):
        found = list(found.values())
    return [Parts(each) for each in found if isinstance(each, Mapping)] if isinstance(found, list) else []


def texts(given: Any) -> tuple[str, ...]:
    if isinstance(given, str):
        return (given,)
    return tuple(str(each) for each in given) if isinstance(given, list | tuple) else ()


def of_kind(given: Any, kind: type[Kind]) -> Kind | None:
    try:
        return None if given is None or isinstance(given, bool) else kind(given)
    except (TypeError, ValueError):
        return None


def without_empty(given: Mapping[str, Any], keep: Iterable[str] = ()) -> dict[str, Any]:
    """What says something: no empty texts, lists or mappings, no None, no False."""
    kept = set(keep)
    return {
        name: value for name, value in given.items() if name in kept or value or (value == 0 and value is not False)
    }


def unquoted(name: str) -> str:
    """An identifier of SQL as the name that it stands for."""
    return name[1:-1].replace('""', '"') if len(name) > 1 and name[0] == name[-1] == '"' else name
