"""Realising an environment: observed objects in, memberships with their certificates out.

In: an observed environment, a model, what people taught. Out: per coordinate a `Realisation`. Embeddings of objects
whose features did not change can be handed in and are not computed again. Knows nothing of storage.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from coset.identities import certificates
from coset.identities.features import features_of
from coset.identities.inventory import COORDINATES, Coordinate, Lexicon
from coset.identities.labelers import LABELERS, added_labelers
from coset.identities.model import CoordinateModel, IdentityModel
from coset.identities.prototypes import Array, PrototypeBank, assign, cap_support, distances, realise
from coset.identities.signals import Look, Signal, signed_evidence
from coset.identities.teaching import Taught, learn
from coset.identities.text_encoder import ObjectTexts, encode_in_tables
from coset.readings.observed import ObservedEnvironment


@dataclass(frozen=True)
class Embedded:
    """The objects of an environment as z_e and s_e per coordinate, with a digest of their features."""

    references: tuple[str, ...]
    is_table: NDArray[np.bool_]
    digests: tuple[str, ...]
    embeddings: dict[Coordinate, Array]
    precisions: dict[Coordinate, Array]


@dataclass(frozen=True)
class Realisation:
    """One coordinate of one environment, rows in the order of the objects."""

    coordinate: Coordinate
    bank: PrototypeBank
    supporting: Array
    opposing: Array
    distances: Array
    memberships: Array
    assignment: NDArray[np.int64]
    runner_up: NDArray[np.int64]
    radius: Array
    conservative_radius: Array
    loss_radius: Array
    pinned: NDArray[np.bool_]
    """True where a person said what the object is (or is not), and this decided."""


@dataclass(frozen=True)
class KnownEmbedding:
    """What an earlier realisation computed of an object."""

    embeddings: dict[Coordinate, Array]
    precisions: dict[Coordinate, Array]


def embed(
    environment: ObservedEnvironment, model: IdentityModel, known: Mapping[str, KnownEmbedding] | None = None
) -> Embedded:
    """Embeddings of all objects; those whose digest is known are taken over."""
    features = features_of(environment)
    texts, numbers = features.texts, features.numbers
    digests = tuple(_digest(model.name, own, row) for own, row in zip(texts, numbers, strict=True))
    known = known or {}
    fresh = [number for number, digest in enumerate(digests) if digest not in known]
    vectors = encode_in_tables(model.text_encoder, model.table_encoder, [texts[number] for number in fresh])
    embeddings: dict[Coordinate, Array] = {}
    precisions: dict[Coordinate, Array] = {}
    for coordinate, part in model.coordinates.items():
        size = part.prior.centres.shape[1], part.prior.precisions.shape[1]
        # A table plays no attribute: its place there stays empty when it is not computed anew.
        embeddings[coordinate] = np.zeros((len(texts), size[0]))
        precisions[coordinate] = np.ones((len(texts), size[1]))
        if fresh:
            found = part.encoder.encode(vectors, numbers[fresh])
            embeddings[coordinate][fresh], precisions[coordinate][fresh] = found
        for number, digest in enumerate(digests):
            if digest in known and coordinate in known[digest].embeddings:
                embeddings[coordinate][number] = known[digest].embeddings[coordinate]
                precisions[coordinate][number] = known[digest].precisions[coordinate]
    pairs = environment.objects
    return Embedded(
        tuple(table.reference if column is None else column.reference for table, column in pairs),
        np.array([column is None for _, column in pairs], dtype=bool),
        digests,
        embeddings,
        precisions,
    )


def all_signals(environment: ObservedEnvironment, model: IdentityModel) -> list[list[Signal]]:
    """What every labeler says of every object, in the order of the objects."""
    lexicon = Lexicon(model.inventory)
    found = []
    for table in environment.tables:
        for position, column in enumerate((None, *table.columns)):
            look = Look(model.inventory, lexicon, environment, table, column, position - 1)
            found.append([signal for labeler in (*LABELERS, *added_labelers()) for signal in labeler.look(look)])
    return found


def realise_coordinate(
    coordinate: Coordinate,
    embedded: Embedded,
    signals: Sequence[Sequence[Signal]],
    part: CoordinateModel,
    taught: Sequence[Taught] = (),
) -> Realisation:
    """Bank, memberships, assignments and certificates of one coordinate."""
    own = [[signal for signal in each if signal.coordinate == coordinate] for each in signals]
    supporting, opposing, _ = signed_evidence(own, len(part.prior.centres), part.labels)
    return realise_from_evidence(coordinate, embedded, supporting, opposing, part, taught)


def realise_from_evidence(
    coordinate: Coordinate,
    embedded: Embedded,
    supporting: Array,
    opposing: Array,
    part: CoordinateModel,
    taught: Sequence[Taught] = (),
) -> Realisation:
    """The same, from signed evidence that is at hand: what teaching calls, because nothing else has changed."""
    embeddings, precisions = embedded.embeddings[coordinate], embedded.precisions[coordinate]
    weights = cap_support(supporting, part.settings.support_cap)
    said = [item for item in taught if item.coordinate == coordinate]
    places = {reference: number for number, reference in enumerate(embedded.references)}
    lessons = learn(said, places, embeddings, precisions, weights, part)
    opposing = opposing.copy()
    for row, identity in lessons.excluded:
        opposing[row, identity] = np.maximum(opposing[row], 1.0).max()
    # What was taught stands beside the capped support of the labelers.
    settings = replace(part.settings, support_cap=float("inf"))
    bank = realise(embeddings, precisions, lessons.supporting, part.prior, settings, lessons.interpolation)
    distance = distances(embeddings, bank)
    profile = part.profile(distance)
    assignment = assign(distance)
    radius = certificates.stability_radius(distance, assignment, bank)
    conservative = certificates.conservative_radius(distance, assignment, bank)
    _, loss_radius = certificates.loss_to_margin_radius(
        distance, lessons.supporting, opposing, part.opposition_margin, bank
    )
    profile, assignment, pinned = _obey(profile, assignment, lessons.pins, lessons.excluded)
    second = profile.copy()
    second[np.arange(len(second)), assignment] = -1.0
    return Realisation(
        coordinate, bank, lessons.supporting, opposing, distance, profile, assignment, second.argmax(axis=1),
        radius, conservative, loss_radius, pinned,
    )  # fmt: skip


def realise_environment(
    environment: ObservedEnvironment,
    model: IdentityModel,
    taught: Sequence[Taught] = (),
    known: Mapping[str, KnownEmbedding] | None = None,
) -> tuple[Embedded, list[list[Signal]], dict[Coordinate, Realisation]]:
    """Everything in one call."""
    embedded = embed(environment, model, known)
    signals = all_signals(environment, model)
    realised = {
        coordinate: realise_coordinate(coordinate, embedded, signals, model.coordinates[coordinate], taught)
        for coordinate in COORDINATES
    }
    return embedded, signals, realised


def _digest(model: str, texts: ObjectTexts, numbers: NDArray[np.float32]) -> str:
    words = "\x00".join((model, texts.own, texts.table, texts.referred)).encode("utf-8", "replace")
    return hashlib.blake2b(words + numbers.tobytes(), digest_size=12).hexdigest()


def _obey(
    profile: Array,
    assignment: NDArray[np.int64],
    pins: Mapping[int, int],
    excluded: Sequence[tuple[int, int]],
) -> tuple[Array, NDArray[np.int64], NDArray[np.bool_]]:
    """People win over what was inferred: a taught object has the taught identity, and never an excluded one."""
    pinned = np.zeros(len(profile), dtype=bool)
    profile, assignment = profile.copy(), assignment.copy()
    for row, identity in excluded:
        profile[row, identity] = 0.0
        profile[row] /= profile[row].sum()
        assignment[row] = profile[row].argmax()
        pinned[row] = True
    for row, identity in pins.items():
        others = profile[row].copy()
        others[identity] = 0.0
        profile[row] = 0.1 * others / max(others.sum(), 1e-12)
        profile[row, identity] = 0.9
        assignment[row] = identity
        pinned[row] = True
    return profile, assignment, pinned
