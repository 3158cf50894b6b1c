"""Labelers that read the columns beside: what another column already is, this one is not."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from coset.identities.labelers.names import whole_name
from coset.identities.lexicon import Lexicon, phrase_of
from coset.identities.signals import Labeler, Look, Signal

ONCE = (
    "birth_date",
    "death_date",
    "gender",
    "created_time",
    "updated_time",
    "latitude",
    "longitude",
    "given_name",
    "family_name",
)
WIDEST = 200
"""So many columns of a table are looked at for each of its columns; without an end, work would grow with the square."""


def taken(look: Look) -> Iterator[Signal]:
    """A role that a table has once, and that another column's whole name claims."""
    if look.column is None or any(whole_name(look)):
        return
    for identity, name in _claims(look.lexicon, look.table.names[:WIDEST]):
        if name != look.column.name:
            yield Signal("taken", "attribute", (identity,), False, f"'{name}' is that already")


def second_key(look: Look) -> Iterator[Signal]:
    """Beside a declared key, a measure or text that repeats is no identifier."""
    column = look.column
    if column is None or column.is_key or column.refers_to or column.unique is not False:
        return
    if column.type == "number" and look.table.has_key:
        yield Signal("second key", "attribute", look.attributes("identifier"), False, "another column is the key")


def pairs(look: Look) -> Iterator[Signal]:
    """Beside a key column of a pair stands its value."""
    if look.column is None:
        return
    if phrase_of(look.column.name)[-1:] != ("value",):
        return
    others = {phrase_of(name)[-1:] for name in look.table.names[:WIDEST]}
    if others & {("key",), ("property",), ("field",), ("option",), ("parameter",)}:
        yield Signal("pairs", "attribute", look.attributes("value"), True, "a key stands beside it")


@lru_cache(maxsize=512)
def _claims(lexicon: Lexicon, names: tuple[str, ...]) -> tuple[tuple[int, str], ...]:
    found = []
    meanings = [(name, lexicon.meaning("attribute", phrase_of(name))) for name in names]
    for identity in ONCE:
        position = lexicon.inventory.position("attribute", identity)
        found += [(position, name) for name, meaning in meanings if meaning == (position,)][:1]
    return tuple(found)


NEIGHBOURS = (
    Labeler("taken", "a role that a table has once is claimed by another column's name", taken),
    Labeler("second key", "beside a declared key, a number that repeats is no identifier", second_key),
    Labeler("pairs", "a value beside a key", pairs),
)
