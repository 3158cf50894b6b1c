"""Names that a person has reviewed: the functions and types of `allowed_functions.toml`, ready to be asked.

In: the file. Out: sets of lower-case names, and for a refused one the reason to tell. Knows nothing of statements.
"""

from __future__ import annotations

import functools
import string
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources


@dataclass(frozen=True)
class Names:
    """The reviewed names of `allowed_functions.toml`, in lower case."""

    callable: frozenset[str]
    table: frozenset[str]
    types: frozenset[str]
    refused: Mapping[str, str]
    """A refused name to the reason a person is told."""
    refused_prefixes: tuple[tuple[str, str], ...]

    def why_refused(self, name: str) -> str | None:
        if name in self.refused:
            return self.refused[name]
        return next((reason for prefix, reason in self.refused_prefixes if name.startswith(prefix)), None)


def _split(names: str | list[str]) -> list[str]:
    return [lower(name) for name in (names.split() if isinstance(names, str) else names)]


@functools.cache
def names() -> Names:
    """The lists, read once."""
    lists = tomllib.loads(resources.files("coset.session").joinpath("allowed_functions.toml").read_text("utf-8"))
    refused = [(name, group["reason"]) for group in lists["refused"].values() for name in _split(group["names"])]
    return Names(
        callable=frozenset(name for group in lists["callable"].values() for name in _split(group)),
        table=frozenset(name for group in lists["table"].values() for name in _split(group)),
        types=frozenset(name for group in lists["types"].values() for name in _split(group)),
        refused={name: reason for name, reason in refused if not name.endswith("*")},
        refused_prefixes=tuple((name[:-1], reason) for name, reason in refused if name.endswith("*")),
    )


_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)


def lower(name: str) -> str:
    """Lower case the way DuckDB compares names: ASCII letters only. With Python's own rule the Kelvin sign would
    become a `k`, and a common table expression could pass for a table of another name."""
    return name.lower() if name.isascii() else name.translate(_LOWER)
