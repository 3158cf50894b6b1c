"""Which table a column refers to: as it was declared or found, else by its name.

In: the tables of an observed environment. Out: places among them. A name refers where its words before `id`, `key`,
`code` and the like are those of a table: `customer_id` to `stg_customers`.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence

from coset.readings.observed import ObservedTable
from coset.readings.words import readable, singular

POINTING = frozenset(
    ("id", "ids", "key", "code", "number", "no", "num", "nbr", "uuid", "guid", "name", "ref", "fk", "sk", "pk", "sid")
)
LAYERS = frozenset(("stg", "dim", "fact", "fct", "tbl", "raw", "src", "int", "base", "tmp", "t", "v", "f", "d"))
"""Words before a table's name that say how it is kept and not what it is."""


def referred_tables(tables: Sequence[ObservedTable]) -> dict[tuple[int, int], int]:
    """The place of the table that a column refers to, by the places of its table and of itself in it. Where tables of
    several sources have one name, that of the column's own source is meant."""
    by_reference = {table.reference: place for place, table in enumerate(tables) if table.reference}
    by_name = _places(tables, lambda table: (_last(table.name).lower(),))
    by_words = _places(tables, lambda table: table_words(table.name))
    found: dict[tuple[int, int], int] = {}
    for place, table in enumerate(tables):
        own = table_words(table.name)
        names, words = by_name[table.source], by_words[table.source]
        for position, column in enumerate(table.columns):
            target = by_reference.get(column.target)
            if target is None and column.refers_to:
                target = names.get((_last(column.refers_to[0]).lower(),))
            if target is None:
                target = _named(pointing_words(column.name), own, words)
            if target is not None and target != place:
                found[place, position] = target
    return found


def _places(
    tables: Sequence[ObservedTable], key: Callable[[ObservedTable], tuple[str, ...]]
) -> dict[str, ChainMap[tuple[str, ...], int]]:
    """For each source the places of tables by a key: of its own tables, then of all; the first of equal ones."""
    everywhere: dict[tuple[str, ...], int] = {}
    own: dict[str, dict[tuple[str, ...], int]] = {}
    for place, table in enumerate(tables):
        here = own.setdefault(table.source, {})
        if words := key(table):
            everywhere.setdefault(words, place)
            here.setdefault(words, place)
    return {source: ChainMap(here, everywhere) for source, here in own.items()}


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


def _named(words: tuple[str, ...], own: tuple[str, ...], tables: Mapping[tuple[str, ...], int]) -> int | None:
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
