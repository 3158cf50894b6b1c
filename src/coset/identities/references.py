"""Which table a column refers to: as it was declared or found, else by its name.

In: the tables of an observed environment. Out: places among them. A name refers where its words before `id`, `key`,
`code` and the like are those of a table: `customer_id` to `stg_customers`.
"""

from __future__ import annotations

from collections.abc import Sequence

from coset.identities.observed import ObservedTable
from coset.identities.words import readable, singular

POINTING = frozenset(
    ("id", "ids", "key", "code", "number", "no", "num", "nbr", "uuid", "guid", "name", "ref", "fk", "sk", "pk", "sid")
)
LAYERS = frozenset(("stg", "dim", "fact", "fct", "tbl", "raw", "src", "int", "base", "tmp", "t", "v", "f", "d"))
"""Words before a table's name that say how it is kept and not what it is."""


def referred_tables(tables: Sequence[ObservedTable]) -> dict[tuple[int, int], int]:
    """The place of the table that a column refers to, by the places of its table and of itself in it."""
    by_name = {_last(table.name).lower(): place for place, table in reversed(list(enumerate(tables)))}
    by_words = {
        words: place for place, table in reversed(list(enumerate(tables))) if (words := table_words(table.name))
    }
    found: dict[tuple[int, int], int] = {}
    for place, table in enumerate(tables):
        own = table_words(table.name)
        for position, column in enumerate(table.columns):
            target = by_name.get(_last(column.refers_to[0]).lower()) if column.refers_to else None
            if target is None:
                target = _named(pointing_words(column.name), own, by_words)
            if target is not None and target != place:
                found[place, position] = target
    return found


def table_words(name: str) -> tuple[str, ...]:
    """What a table is called, in the singular, without layers and numbers."""
    words = _singular(_last(name))
    return words[1:] if len(words) > 1 and words[0] in LAYERS else words


def pointing_words(name: str) -> tuple[str, ...]:
    """The words of a column's name before those that say that it refers; none where nothing does."""
    words = _singular(name)
    end = len(words)
    while end > 1 and words[end - 1] in POINTING:
        end -= 1
    return words[:end] if end < len(words) else ()


def _named(words: tuple[str, ...], own: tuple[str, ...], tables: dict[tuple[str, ...], int]) -> int | None:
    """The table of which the name ends the words: a `billing_customer_id` refers to customers too."""
    for begin in range(len(words)):
        if words[begin:] == own:
            return None
        if words[begin:] in tables:
            return tables[words[begin:]]
    return None


def _singular(name: str) -> tuple[str, ...]:
    return tuple(singular(word) for word in readable(name) if not word.isdigit())


def _last(name: str) -> str:
    return name.rsplit(".", 1)[-1]
