"""The routing index of an environment: what ranking needs of every table and column, as arrays.

In: an observed environment, the routing encoder, memberships where identities are realised. Out: vectors, words,
facts and links, rows in the order of the environment. Built once; a question only reads it. Knows no question.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from coset.identities.inventory import Coordinate
from coset.readings.observed import ObservedColumn, ObservedEnvironment, TypeFamily
from coset.routing.ranking.schema_texts import column_text, table_text
from coset.routing.search.blending import trust_in_names
from coset.routing.search.word_index import JointWordIndex, WordIndex, stems_of

Vectors = NDArray[np.float32]
TYPES: tuple[str, ...] = get_args(TypeFamily)
FACTS = ("is_key", "refers", "referred", "described", "has_values", *(f"type_{name}" for name in TYPES))


@dataclass(frozen=True)
class GroupWords:
    """The words that a group has anywhere: in the names of its tables, in all its names, and so on."""

    tables: WordIndex
    names: WordIndex
    descriptions: WordIndex
    values: WordIndex
    all: WordIndex

    @cached_property
    def together(self) -> JointWordIndex:
        """In this order: names, all, descriptions, values, tables."""
        return JointWordIndex((self.names, self.all, self.descriptions, self.values, self.tables))


class Encoder(Protocol):
    """Texts to vectors of length 1."""

    def encode(self, texts: Sequence[str]) -> Vectors: ...


@dataclass(frozen=True)
class RoutingIndex:
    """All tables and columns (nested paths and facets are columns here)."""

    tables: tuple[str, ...]
    columns: tuple[str, ...]
    table_of: NDArray[np.int64]
    """The table of each column; columns of one table stand together."""
    begins: NDArray[np.int64]
    """Where the columns of each table begin; one more than there are tables."""
    groups: tuple[str, ...]
    """Databases of a pool, or sources of an environment that joins connect."""
    group_of: NDArray[np.int64]
    """The group of each table."""
    table_vectors: Vectors
    column_vectors: Vectors
    table_words: WordIndex
    column_words: WordIndex
    described_words: WordIndex
    value_words: WordIndex
    group_words: GroupWords
    facts: Vectors
    links: NDArray[np.int64]
    """Pairs of columns that join, both ways."""
    memberships: Mapping[Coordinate, Vectors] | None = None
    """Profiles of the columns; None where identities are not realised."""
    table_entities: Vectors | None = None
    trust: float = 1.0
    """How far the learned order of tables is trusted beside plain search: by how readable the names are."""

    @cached_property
    def column_numbers(self) -> dict[str, int]:
        return {reference: number for number, reference in enumerate(self.columns)}

    @cached_property
    def words_of_columns(self) -> JointWordIndex:
        """In this order: their names, their descriptions, their values."""
        return JointWordIndex((self.column_words, self.described_words, self.value_words))

    @cached_property
    def facts_by_name(self) -> Vectors:
        """The facts, a row for each of `FACTS`."""
        return np.ascontiguousarray(self.facts.T)

    @cached_property
    def group_tables(self) -> NDArray[np.int64]:
        """How many tables each group has."""
        return np.bincount(self.group_of, minlength=len(self.groups))

    @cached_property
    def group_bounds(self) -> NDArray[np.int64]:
        """Where the tables of each group begin, where they stand by group, and where the last ones end."""
        return np.concatenate(([0], self.group_tables.cumsum()))

    @cached_property
    def places_in_groups(self) -> NDArray[np.int64]:
        """The place of each table in its group, where they stand by group."""
        return np.arange(len(self.tables)) - self.group_bounds[:-1].repeat(self.group_tables)

    @cached_property
    def group_columns(self) -> NDArray[np.int64]:
        return np.bincount(self.group_of[self.table_of], minlength=len(self.groups))

    @cached_property
    def table_links(self) -> NDArray[np.int64]:
        """Pairs of tables that join, both ways, each once."""
        pairs = self.table_of[self.links].reshape(-1, 2)
        return np.unique(pairs[pairs[:, 0] != pairs[:, 1]], axis=0)

    @cached_property
    def table_numbers(self) -> dict[str, int]:
        return {reference: number for number, reference in enumerate(self.tables)}


def build_index(
    environment: ObservedEnvironment,
    encoder: Encoder,
    group_name: Callable[[str], str],
    links: Sequence[tuple[str, str]] = (),
    memberships: Mapping[Coordinate, Vectors] | None = None,
    table_entities: Vectors | None = None,
    is_word: Callable[[str], bool] | None = None,
) -> RoutingIndex:
    """The index. `links` are pairs of column references that join; `group_name` gives the group of a table; `is_word`
    says whether a piece of a name is a word."""
    tables = environment.tables
    columns = [(table, column) for table in tables for column in table.columns]
    references = tuple(column.reference for _, column in columns)
    numbers = {reference: number for number, reference in enumerate(references)}
    table_of = np.array([at for at, table in enumerate(tables) for _ in table.columns], dtype=np.int64)
    names = [group_name(table.reference) for table in tables]
    groups = tuple(dict.fromkeys(names))
    place = {name: number for number, name in enumerate(groups)}
    texts = [table_text(table) for table in tables] + [column_text(table, column) for table, column in columns]
    vectors = encoder.encode(texts)
    pairs = [(numbers[left], numbers[right]) for left, right in links if left in numbers and right in numbers]
    group_of = np.array([place[name] for name in names], dtype=np.int64)
    table_words = [stems_of(f"{table.name} {table.label}") for table in tables]
    column_words = [stems_of(f"{column.name} {column.label}") for _, column in columns]
    described_words = [stems_of(column.description) for _, column in columns]
    value_words = [stems_of(" ".join(sample[:60] for sample in column.samples)) for _, column in columns]
    return RoutingIndex(
        tuple(table.reference for table in tables),
        references,
        table_of,
        np.searchsorted(table_of, np.arange(len(tables) + 1)),
        groups,
        group_of,
        vectors[: len(tables)],
        vectors[len(tables) :],
        WordIndex(table_words),
        WordIndex(column_words),
        WordIndex(described_words),
        WordIndex(value_words),
        _group_words(
            len(groups), group_of, group_of[table_of], table_words, column_words, described_words, value_words
        ),
        _facts([column for _, column in columns]),
        np.array([*pairs, *((right, left) for left, right in pairs)], dtype=np.int64).reshape(-1, 2),
        memberships,
        table_entities,
        trust_in_names(environment, is_word) if is_word else 1.0,
    )


def _group_words(
    count: int,
    of_table: NDArray[np.int64],
    of_column: NDArray[np.int64],
    tables: Sequence[Sequence[str]],
    columns: Sequence[Sequence[str]],
    descriptions: Sequence[Sequence[str]],
    values: Sequence[Sequence[str]],
) -> GroupWords:
    def together(*parts: tuple[NDArray[np.int64], Sequence[Sequence[str]]]) -> WordIndex:
        found: list[dict[str, None]] = [{} for _ in range(count)]
        for owners, words in parts:
            for owner, own in zip(owners.tolist(), words, strict=True):
                found[owner].update(dict.fromkeys(own))
        return WordIndex(map(tuple, found))

    names = ((of_table, tables), (of_column, columns))
    described, valued = (of_column, descriptions), (of_column, values)
    return GroupWords(
        together(names[0]), together(*names), together(described), together(valued), together(*names, described, valued)
    )


def _facts(columns: Sequence[ObservedColumn]) -> Vectors:
    rows = np.zeros((len(columns), len(FACTS)), dtype=np.float32)
    for number, column in enumerate(columns):
        rows[number, :5] = (
            column.is_key, column.refers_to is not None, column.referred_by > 0, bool(column.description),
            bool(column.samples),
        )  # fmt: skip
        rows[number, 5 + TYPES.index(column.type)] = 1.0
    return rows
