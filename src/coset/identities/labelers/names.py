"""Labelers that read names: of the column, of its table, of the columns beside it, and the words people wrote."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from coset.identities.inventory import Lexicon, Phrase, phrase_of
from coset.identities.signals import Labeler, Look, Signal


def _without_table(column: Phrase, table: Phrase) -> Phrase:
    """A column's words without its table's name in front: `customer name` in `customers` is `name`."""
    return column[len(table) :] if table and len(column) > len(table) and column[: len(table)] == table else column


def whole_name(look: Look) -> Iterator[Signal]:
    if look.column is None:
        return
    words = _without_table(phrase_of(look.column.name), phrase_of(look.table.name))
    found = look.lexicon.meaning("attribute", words)
    if found:
        yield Signal("whole name", "attribute", found, True, f"its name is '{' '.join(words)}'")


def name_ending(look: Look) -> Iterator[Signal]:
    if look.column is None:
        return
    words = phrase_of(look.column.name)
    found, ending = look.lexicon.ending("attribute", words)
    if found and len(ending) < len(words):
        yield Signal("name ending", "attribute", found, True, f"its name ends with '{' '.join(ending)}'")


def name_beginning(look: Look) -> Iterator[Signal]:
    """`customer_id`, `author_name`: what stands before the attribute names the entity."""
    if look.column is None:
        return
    words = phrase_of(look.column.name)
    ending = look.lexicon.ending("attribute", words)[1]
    if words and ending and words[-1] in ("id", "key", "code", "name", "uuid", "number", "email") and len(words) > 1:
        found, part = look.lexicon.ending("entity", words[:-1])
        if found:
            yield Signal("name beginning", "entity", found, True, f"its name begins with '{' '.join(part)}'")


def names_another(look: Look) -> Iterator[Signal]:
    """`customer_id` in a table of orders is not of orders."""
    for own in name_beginning(look):
        about = phrase_of(look.table.name)
        table = look.lexicon.ending("entity", about)[0] or look.lexicon.anywhere("entity", about)[0]
        if others := tuple(identity for identity in table if identity not in own.identities):
            yield Signal("names another", "entity", others, False, own.reason)


def flag_name(look: Look) -> Iterator[Signal]:
    if look.column is None:
        return
    words = phrase_of(look.column.name)
    if words[:1] and words[0] in ("is", "has", "can", "should", "was", "allow", "enable", "use"):
        yield Signal("flag name", "attribute", look.attributes("flag"), True, f"its name asks '{words[0]} ...?'")


def table_name(look: Look) -> Iterator[Signal]:
    """A table is what its name says; its columns are, too, unless they point elsewhere."""
    words = phrase_of(look.table.name)
    found, part = look.lexicon.ending("entity", words)
    if not found:
        found, part = look.lexicon.anywhere("entity", words)
    if not found:
        return
    if look.column is not None and (look.column.refers_to or any(name_beginning(look))):
        return
    yield Signal("table name", "entity", found, True, f"its table's name says '{' '.join(part)}'")


def written_label(look: Look) -> Iterator[Signal]:
    """The name for people, or the first words of a description."""
    if look.column is None:
        return
    for text in (look.column.label, look.column.description.split(".")[0][:60]):
        found, ending = look.lexicon.ending("attribute", phrase_of(text)) if text else ((), ())
        if found:
            yield Signal("written label", "attribute", found, True, f"it is called '{' '.join(ending)}' for people")
            return


NAMES = (
    Labeler("whole name", "the column's name is an example name of the identity", whole_name),
    Labeler("name ending", "the column's name ends with one", name_ending),
    Labeler("name beginning", "before id, name, code and the like stands an entity", name_beginning),
    Labeler("names another", "a key or name of something else is not of what its table is about", names_another),
    Labeler("flag name", "the name asks a question: is, has, can", flag_name),
    Labeler("table name", "the table's name holds an entity, and the column does not point elsewhere", table_name),
    Labeler("written label", "label or description end with an example name", written_label),
)


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
