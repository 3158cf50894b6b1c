"""Labelers that read keys, references and cardinality."""

from __future__ import annotations

from collections.abc import Iterator

from coset.identities.inventory import phrase_of
from coset.identities.signals import Labeler, Look, Signal


def declared_key(look: Look) -> Iterator[Signal]:
    if look.column is not None and (look.column.is_key or look.column.refers_to):
        why = "it is a key" if look.column.is_key else f"it refers to {'.'.join(look.column.refers_to or ())}"
        yield Signal("key", "attribute", look.attributes("identifier", "code"), True, why)


def reference_target(look: Look) -> Iterator[Signal]:
    """Both ends of a reference share an entity."""
    if look.column is None or look.column.refers_to is None:
        return
    target = look.column.refers_to[0]
    found, part = look.lexicon.ending("entity", phrase_of(target))
    if not found:
        found, part = look.lexicon.anywhere("entity", phrase_of(target))
    if found:
        yield Signal("reference target", "entity", found, True, f"it refers to a table of '{' '.join(part)}'")


def not_unique(look: Look) -> Iterator[Signal]:
    """A column of three values is no identifier of its rows."""
    column = look.column
    if column is None or column.rows is None or column.distinct is None or column.rows < 40 or column.refers_to:
        return
    if column.distinct <= 3:
        ids = look.attributes("identifier", "name", "content", "description", "email", "phone", "url")
        yield Signal("few values", "attribute", ids, False, f"{column.distinct} values in {column.rows} rows")


def unique_values(look: Look) -> Iterator[Signal]:
    column = look.column
    if column is None or not column.unique or (column.rows or 0) < 20:
        return
    ids = look.attributes("type", "status", "flag", "gender", "level", "priority", "country_of", "language", "method")
    yield Signal("unique", "attribute", ids, False, "no value occurs twice")


KEYS = (
    Labeler("key", "a declared or found key or reference identifies", declared_key),
    Labeler("reference target", "a reference has the entity of the table it points to", reference_target),
    Labeler("few values", "three values or fewer do not tell rows apart", not_unique),
    Labeler("unique", "a kind or state repeats", unique_values),
)
