"""The routing index of an environment: what ranking needs of every table and column, as arrays.

In: an observed environment, the routing encoder, memberships where identities are realised. Out: vectors, words,
facts and links, rows in the order of the environment. Built once and kept in the state. Knows no question.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from coset.identities.inventory import Coordinate
from coset.identities.store import IdentityStore
from coset.identities.text_encoder import WIDTH
from coset.readings.observe import observe
from coset.readings.observed import ObservedColumn, ObservedEnvironment, ObservedTable, TypeFamily
from coset.readings.words import words_of
from coset.routing.search.blending import trust_in_names
from coset.routing.search.words import JointWordIndex, WordIndex, stems_of
from coset.state import EvidenceState
from coset.state import indexes as vectors
from coset.state.read_model import ReadModel

LONGEST_NAME, LONGEST_DESCRIPTION, SHOWN_COLUMNS = 60, 80, 12


def column_text(table: ObservedTable, column: ObservedColumn) -> str:
    """`customer order: total amount. what it is about`."""
    text = f"{spoken(table.name, table.label)}: {spoken(column.name, column.label)}"
    return f"{text}. {_cut(column.description, LONGEST_DESCRIPTION)}" if column.description else text


def table_text(table: ObservedTable) -> str:
    """`customer order. what it is about. columns order id, total amount`."""
    parts = [spoken(table.name, table.label)]
    if table.description:
        parts.append(_cut(table.description, LONGEST_DESCRIPTION))
    parts.append(", ".join(spoken(column.name, column.label) for column in table.columns[:SHOWN_COLUMNS]))
    return ". ".join(parts)


def spoken(name: str, label: str = "") -> str:
    """A name in words; with the label that people gave it, where it says something else."""
    words = " ".join(words_of(name[:LONGEST_NAME])) or name[:LONGEST_NAME]
    other = _cut(label, LONGEST_NAME).lower()
    if not other or other == words:
        return words
    return other if set(words.split()) <= set(other.split()) else f"{other} ({words})"


def _cut(text: str, longest: int) -> str:
    clean = " ".join(text[: longest * 4].split())
    return clean if len(clean) <= longest else clean[:longest].rsplit(" ", 1)[0]


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


SCALE_BYTES = 4


def store_vectors(state: EvidenceState, encoder: Encoder, model: str) -> int:
    """Bring the vectors of a state up to date. Answers how many texts were encoded."""
    references, digests, texts = _described(observe(state), model)
    before, now = vectors.vectors_of(state), dict(zip(references, digests, strict=True))
    if before == now:
        return 0
    known = vectors.known_vectors(state)
    fresh = [number for number, digest in enumerate(digests) if digest not in known]
    made = encoder.encode([texts[number] for number in fresh])
    known |= {digests[number]: _packed(vector) for number, vector in zip(fresh, made, strict=True)}
    changed = [
        (reference, digest, known[digest]) for reference, digest in now.items() if before.get(reference) != digest
    ]
    vectors.replace_vectors(state, [*(before.keys() - now), *(reference for reference, _, _ in changed)], changed)
    return len(fresh)


def load_index(state: EvidenceState, encoder: Encoder, name: str) -> RoutingIndex:
    """The index of a state. Texts whose vectors are not in it (a note came since) are encoded now."""
    environment, model = observe(state), ReadModel(state)
    links = [
        (row.left_columns[0], row.right_columns[0])
        for row in model.relations
        if len(row.left_columns) == len(row.right_columns) == 1
    ]
    columns = [column.reference for table in environment.tables for column in table.columns]
    tables = [table.reference for table in environment.tables]
    profiles = _profiles(state)
    memberships: dict[Coordinate, Vectors] | None = None
    entities: Vectors | None = None
    if profiles:
        memberships = {name: _rows_of(profiles[name], columns) for name in profiles}
        entities = _rows_of(profiles["entity"], tables)
    sources = {row.reference: row.source for row in model.tables.values()}
    owner = {column.reference: table.reference for table in environment.tables for column in table.columns}
    crossing = [(sources.get(owner.get(left, ""), ""), sources.get(owner.get(right, ""), "")) for left, right in links]
    connected = connected_sources(sources.values(), crossing)
    return build_index(
        environment, _Remembered(vectors.known_vectors(state), encoder, name),
        lambda reference: connected.get(sources.get(reference, ""), ""), links, memberships, entities,
        getattr(encoder, "knows", None),
    )  # fmt: skip


def connected_sources(sources: Iterable[str], crossing: Iterable[tuple[str, str]]) -> dict[str, str]:
    """For each source the name of what it belongs to: sources that a join connects are asked about together."""
    home = {source: source for source in sources}

    def found(source: str) -> str:
        while home[source] != source:
            source = home[source]
        return source

    for left, right in crossing:
        if left in home and right in home:
            first, second = sorted((found(left), found(right)))
            home[second] = first
    return {source: found(source) for source in home}


class _Remembered:
    """An encoder that takes the vectors of texts it knows from the state."""

    def __init__(self, known: dict[str, bytes], encoder: Encoder, model: str) -> None:
        self._known, self._encoder, self._model = known, encoder, model

    def encode(self, texts: Sequence[str]) -> Vectors:
        vectors = np.zeros((len(texts), WIDTH), dtype=np.float32)
        missing = []
        for number, text in enumerate(texts):
            packed = self._known.get(_digest(self._model, text))
            if packed is None:
                missing.append(number)
            else:
                vectors[number] = _unpacked(packed)
        if missing:
            vectors[missing] = self._encoder.encode([texts[number] for number in missing])
        return vectors


def _described(environment: ObservedEnvironment, model: str) -> tuple[list[str], list[str], list[str]]:
    references, texts = [], []
    for table, column in environment.objects:
        references.append(table.reference if column is None else column.reference)
        texts.append(table_text(table) if column is None else column_text(table, column))
    return references, [_digest(model, text) for text in texts], texts


def _profiles(state: EvidenceState) -> dict[Coordinate, dict[str, Vectors]]:
    store = IdentityStore(state)
    found: dict[Coordinate, dict[str, Vectors]] = {}
    for coordinate in ("entity", "attribute"):
        rows = store.profiles(coordinate)
        if rows:
            found[coordinate] = rows
    return found if len(found) == 2 else {}


def _rows_of(profiles: dict[str, Vectors], references: Sequence[str]) -> Vectors:
    width = len(next(iter(profiles.values())))
    rows = np.zeros((len(references), width), dtype=np.float32)
    for number, reference in enumerate(references):
        profile = profiles.get(reference)
        if profile is not None:
            rows[number] = profile
    return rows


def _packed(vector: Vectors) -> bytes:
    scale = np.float32(max(float(np.abs(vector).max()), 1e-9) / 127)
    return bytes(scale.tobytes() + np.rint(vector / scale).astype(np.int8).tobytes())


def _unpacked(packed: bytes) -> Vectors:
    scale = np.frombuffer(packed[:SCALE_BYTES], dtype=np.float32)[0]
    vector: Vectors = np.frombuffer(packed[SCALE_BYTES:], dtype=np.int8).astype(np.float32) * scale
    return vector


def _digest(model: str, text: str) -> str:
    return hashlib.blake2b(f"{model}\x00{text}".encode("utf-8", "replace"), digest_size=12).hexdigest()
