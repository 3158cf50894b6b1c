"""The routing index of an evidence state: vectors are made at comprehension and kept; the rest is read off the state.

In: an open state, the routing encoder. Out: rows in the state, and later the `RoutingIndex` of it. A vector whose text
did not change is not made again. Knows no question.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

import numpy as np

from coset.identities.inventory import Coordinate
from coset.identities.store import IdentityStore
from coset.identities.text_encoder import WIDTH
from coset.readings.observe import observe
from coset.readings.observed import ObservedEnvironment
from coset.routing.ranking.index import Encoder, RoutingIndex, Vectors, build_index
from coset.routing.ranking.schema_texts import column_text, table_text
from coset.state import EvidenceState
from coset.state import indexes as vectors
from coset.state.read_model import ReadModel

SCALE_BYTES = 4


def store_vectors(state: EvidenceState, encoder: Encoder, model: str) -> int:
    """Bring the vectors of a state up to date. Answers how many texts were encoded."""
    references, digests, texts = _described(observe(state), model)
    known = vectors.known_vectors(state)
    fresh = [number for number, digest in enumerate(digests) if digest not in known]
    made = encoder.encode([texts[number] for number in fresh])
    known |= {digests[number]: _packed(vector) for number, vector in zip(fresh, made, strict=True)}
    vectors.replace_vectors(state, references, digests, [known[digest] for digest in digests])
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
