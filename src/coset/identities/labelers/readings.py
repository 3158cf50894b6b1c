"""Labelers that read readings: what a table or column is in plain words, where that says more than its name.

A reading supports what it names, and opposes what it rules out: other entities where it names one, other kinds of
values where its last word is one. It is silent where it only repeats the name, since the labelers of names have spoken.
"""

from __future__ import annotations

from collections.abc import Iterator

from coset.identities.inventory import Phrase, phrase_of
from coset.identities.signals import Labeler, Look, Signal

POINTING = ("id", "key", "code", "name", "uuid", "number", "email", "reference")
TIMES = ("date", "time", "timestamp", "day")
OPPOSED_BY_TIMES = (
    "identifier", "code", "name", "title", "amount", "price_of", "quantity", "status", "type", "flag", "description",
)  # fmt: skip
OPPOSED_BY_FLAGS = ("identifier", "name", "amount", "price_of", "quantity", "event_time", "description", "title")


def _said(name: str, label: str) -> Phrase:
    """The words of a reading where they are others than those of the name."""
    words = phrase_of(label)
    return words if words and words != phrase_of(name) else ()


def reading_entity(look: Look) -> Iterator[Signal]:
    """*Policy number* is of a policy, whatever the column is called."""
    if look.column is None:
        return
    words = _said(look.column.name, look.column.label)
    if len(words) > 1 and words[-1] in POINTING:
        found, part = look.lexicon.ending("entity", words[:-1])
        if found:
            yield Signal("reading of the column", "entity", found, True, f"it is read as of '{' '.join(part)}'")


def reading_of_table(look: Look) -> Iterator[Signal]:
    """A table is what its reading says; its columns are, too, unless they point elsewhere."""
    words = _said(look.table.name, look.table.label)
    if not words or (look.column is not None and (look.column.refers_to or any(reading_entity(look)))):
        return
    found, part = look.lexicon.ending("entity", words)
    if not found:
        found, part = look.lexicon.anywhere("entity", words)
    if found:
        yield Signal("reading of the table", "entity", found, True, f"its table is read as '{' '.join(part)}'")


def another_entity(look: Look) -> Iterator[Signal]:
    """A column that is read as the key or name of something else is not of what its table is about."""
    own = [signal for signal in reading_entity(look) if look.column is not None]
    if not own:
        return
    about = phrase_of(look.table.label or look.table.name)
    table = look.lexicon.ending("entity", about)[0] or look.lexicon.anywhere("entity", about)[0]
    others = tuple(identity for identity in table if identity not in own[0].identities)
    if others:
        yield Signal("read as of another", "entity", others, False, own[0].reason)


def ruled_out(look: Look) -> Iterator[Signal]:
    """A date is no name, and a flag no amount."""
    if look.column is None:
        return
    words = _said(look.column.name, look.column.label)
    if words[-1:] and words[-1] in TIMES:
        ids = look.attributes(*OPPOSED_BY_TIMES)
        yield Signal("reading rules out", "attribute", ids, False, f"it is read as '{' '.join(words)}'")
    elif words[-1:] and words[-1] in ("flag", "indicator"):
        ids = look.attributes(*OPPOSED_BY_FLAGS)
        yield Signal("reading rules out", "attribute", ids, False, f"it is read as '{' '.join(words)}'")


READINGS = (
    Labeler("reading of the column", "before id, number, name in its reading stands its entity", reading_entity),
    Labeler("reading of the table", "the table's reading holds an entity, the column's no other", reading_of_table),
    Labeler("read as of another", "a key of something else is not of what its table is about", another_entity),
    Labeler("reading rules out", "what is read as a date or flag is no name, code or amount", ruled_out),
)  # fmt: skip
