"""Cross-schema matching: which attribute of one schema plays the same role as one of another.

In: two observed environments. Out: for each attribute of the first, those of the second in order. The joint membership
says which roles agree; names, descriptions and values tell apart what has the same role. Knows no schema.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from rapidfuzz import fuzz, process

from coset.errors import Mistake
from coset.identities.inventory import COORDINATES, Coordinate
from coset.identities.json_lines import json_lines
from coset.identities.model import IdentityModel
from coset.identities.observed import ObservedColumn, ObservedEnvironment, ObservedTable, type_family
from coset.identities.prototypes import Array
from coset.identities.realise import realise_environment
from coset.identities.value_patterns import present
from coset.identities.words import singular, spelled_out

FEATURES = (
    "role", "entity", "attribute", "text", "embedding", "name words", "all words", "spelling", "table words", "type",
    "values",
)  # fmt: skip


@dataclass(frozen=True)
class Attribute:
    """One attribute of a schema, as a file of attributes gives it."""

    id: str
    table: str
    column: str
    description: str = ""
    type: str = ""
    samples: tuple[str, ...] = ()


@dataclass(frozen=True)
class Schema:
    """A schema, realised: everything that pairs are compared by."""

    attributes: tuple[Attribute, ...]
    profiles: dict[Coordinate, Array]
    embeddings: dict[Coordinate, Array]
    vectors: Array


def read_attributes(path: Path) -> list[Attribute]:
    """The attributes of a file of JSON lines, plain or zstd. A broken line is named with its number."""
    found: dict[str, Attribute] = {}
    for number, entry in json_lines(path):
        attribute = _attribute(entry, path, number)
        if attribute.id in found:
            raise Mistake(f"'{path.name}' line {number}: the attribute '{attribute.id}' is there twice")
        found[attribute.id] = attribute
    if not found:
        raise Mistake(f"'{path.name}' holds no attribute")
    return list(found.values())


def realise_schema(attributes: Sequence[Attribute], model: IdentityModel) -> Schema:
    """Realise one schema as an environment of its own."""
    tables: dict[str, list[Attribute]] = {}
    for attribute in attributes:
        tables.setdefault(attribute.table, []).append(attribute)
    environment = ObservedEnvironment("", tuple(_table(name, members) for name, members in tables.items()))
    embedded, _, realised = realise_environment(environment, model)
    places = {reference: n for n, reference in enumerate(embedded.references) if not embedded.is_table[n]}
    order = [places[attribute.id] for attribute in attributes]
    words = [f"{a.column.replace('_', ' ')} | {a.table.replace('_', ' ')} | {a.description}" for a in attributes]
    return Schema(
        tuple(attributes),
        {c: realised[c].memberships[order] for c in COORDINATES},
        {c: embedded.embeddings[c][order] for c in COORDINATES},
        model.text_encoder.encode(words).astype(np.float64),
    )


def compare(source: Schema, target: Schema) -> Array:
    """Features of every pair: sources x targets x features, each between 0 and 1."""
    shared = {c: np.sqrt(source.profiles[c]) @ np.sqrt(target.profiles[c]).T for c in COORDINATES}
    near = [_nearness(source.embeddings[c], target.embeddings[c]) for c in COORDINATES]
    left, right = [_words(a) for a in source.attributes], [_words(a) for a in target.attributes]
    spelling = process.cdist(
        [" ".join(spelled_out(a.column)) for a in source.attributes],
        [" ".join(spelled_out(a.column)) for a in target.attributes],
        scorer=fuzz.token_sort_ratio,
    )
    types = np.array([[_types(a, b) for b in target.attributes] for a in source.attributes])
    return np.stack(
        [
            shared["entity"] * shared["attribute"],
            shared["entity"],
            shared["attribute"],
            (source.vectors @ target.vectors.T + 1) / 2,
            near[0] * near[1],
            _overlap([one["name"] for one in left], [one["name"] for one in right]),
            _overlap([one["all"] for one in left], [one["all"] for one in right]),
            spelling / 100,
            _overlap([one["table"] for one in left], [one["table"] for one in right]),
            types,
            _values(source.attributes, target.attributes),
        ],
        axis=2,
    )


def rank(source: Schema, target: Schema, weights: Array | None = None) -> list[tuple[str, list[str]]]:
    """For each attribute of the source, all of the target, the likeliest first; ties in the target's order."""
    scores = compare(source, target) @ (matching_weights() if weights is None else weights)
    ids = [attribute.id for attribute in target.attributes]
    return [
        (attribute.id, [ids[place] for place in np.argsort(-scores[number], kind="stable")])
        for number, attribute in enumerate(source.attributes)
    ]


def matching_weights() -> Array:
    """The shipped weights of the features, in their order."""
    stored = json.loads(files("coset.identities").joinpath("weights/matching.json").read_text(encoding="utf-8"))
    return np.array([stored["weights"][name] for name in FEATURES])


def _attribute(entry: dict[str, Any], path: Path, number: int) -> Attribute:
    try:
        return Attribute(
            str(entry["attribute"]), str(entry["table"]), str(entry["column"]), str(entry.get("description") or ""),
            str(entry.get("type") or ""), tuple(str(sample) for sample in entry.get("samples") or ()),
        )  # fmt: skip
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Mistake(
            f"'{path.name}' line {number} is no attribute (it needs attribute, table and column): {error!r}"
        ) from None


def _table(name: str, members: Sequence[Attribute]) -> ObservedTable:
    columns = tuple(
        ObservedColumn(a.column, type_family(a.type) if a.type else "unknown", a.id, "", a.description, a.samples[:12])
        for a in members
    )
    return ObservedTable(name, columns, f"table:{name}")


def _nearness(left: Array, right: Array) -> Array:
    squares = (left**2).sum(1)[:, None] - 2 * left @ right.T + (right**2).sum(1)[None]
    result: Array = np.exp(-np.sqrt(np.maximum(squares, 0)) / max(1e-9, float(np.sqrt(np.maximum(squares, 0)).mean())))
    return result


def _words(attribute: Attribute) -> dict[str, Counter[str]]:
    name = [singular(word) for word in spelled_out(attribute.column)]
    table = [singular(word) for word in spelled_out(attribute.table)]
    said = [singular(word) for word in spelled_out(attribute.description)]
    return {"name": Counter(name), "table": Counter(table), "all": Counter([*name, *name, *table, *said])}


def _overlap(left: Sequence[Counter[str]], right: Sequence[Counter[str]]) -> Array:
    """Cosine of word counts, rare words weighing more."""
    frequency = Counter(word for words in [*left, *right] for word in words)
    total = len(left) + len(right)
    vocabulary = {word: place for place, word in enumerate(frequency)}
    rarity = np.array([math.log(1 + total / count) for count in frequency.values()])

    def matrix(rows: Iterable[Counter[str]], count: int) -> Array:
        values = np.zeros((count, len(vocabulary)))
        for number, words in enumerate(rows):
            for word, times in words.items():
                values[number, vocabulary[word]] = (1 + math.log(times)) * rarity[vocabulary[word]]
        norms = np.linalg.norm(values, axis=1, keepdims=True)
        scaled: Array = values / np.maximum(norms, 1e-12)
        return scaled

    return matrix(left, len(left)) @ matrix(right, len(right)).T


def _types(one: Attribute, other: Attribute) -> float:
    a, b = type_family(one.type), type_family(other.type)
    if "unknown" in (a, b):
        return 0.5
    alike = ({"whole", "number"}, {"date", "time"}, {"text", "whole"})
    return 1.0 if a == b else 0.7 if any({a, b} <= group for group in alike) else 0.0


def _values(left: Sequence[Attribute], right: Sequence[Attribute]) -> Array:
    ours = [{value.lower() for value in present(a.samples)} for a in left]
    theirs = [{value.lower() for value in present(a.samples)} for a in right]
    result = np.zeros((len(left), len(right)))
    for i, mine in enumerate(ours):
        for j, other in enumerate(theirs):
            if mine and other:
                result[i, j] = len(mine & other) / min(len(mine), len(other))
    return result
