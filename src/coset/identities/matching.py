"""Cross-schema matching: which attribute of one schema plays the same role as one of another.

In: two schemas as lists of attributes. Out: for each attribute of the first, those of the second in order. The joint
membership says which roles agree; names, descriptions and values tell apart what has the same role. Then the schemas
are seen as wholes: the attributes of a table mostly lie in one table of the other schema, and an attribute that is a
little like everything is less telling than one that is like this one alone. Knows no schema.
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
from numpy.typing import NDArray
from rapidfuzz import fuzz, process

from coset.errors import UserError
from coset.identities.inventory import COORDINATES, Coordinate
from coset.identities.model import IdentityModel
from coset.identities.prototypes import Array
from coset.identities.realise import realise_environment
from coset.identities.text_encoder import TextEncoder
from coset.json_lines import json_lines
from coset.readings.observed import ObservedColumn, ObservedEnvironment, ObservedTable, type_family
from coset.readings.value_patterns import present
from coset.readings.words import singular, spelled_out

FEATURES = ("role", "attribute", "embedding", "meaning", "all words", "spelling", "values")


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
    meanings: Array
    """What the encoder of questions and objects makes of the words of each attribute."""


@dataclass(frozen=True)
class MatchingSettings:
    """How the features of a pair are weighed, and the schemas as wholes."""

    weights: Array
    tables: float
    """What it weighs that two tables fit as wholes."""
    nearest: int
    """Beside so many of its best an attribute is seen, to tell what is like this one alone."""


def read_attributes(path: Path) -> list[Attribute]:
    """The attributes of a file of JSON lines, plain or zstd. A broken line is named with its number."""
    found: dict[str, Attribute] = {}
    for number, entry in json_lines(path):
        attribute = _attribute(entry, path, number)
        if attribute.id in found:
            raise UserError(f"'{path.name}' line {number}: the attribute '{attribute.id}' is there twice")
        found[attribute.id] = attribute
    if not found:
        raise UserError(f"'{path.name}' holds no attribute")
    return list(found.values())


def realise_schema(attributes: Sequence[Attribute], model: IdentityModel, meanings: TextEncoder) -> Schema:
    """Realise one schema as an environment of its own. `meanings` tells which words mean the same."""
    tables: dict[str, list[Attribute]] = {}
    for attribute in attributes:
        tables.setdefault(attribute.table, []).append(attribute)
    environment = ObservedEnvironment("", tuple(_table(name, members) for name, members in tables.items()))
    embedded, _, realised = realise_environment(environment, model)
    places = {reference: n for n, reference in enumerate(embedded.references) if not embedded.is_table[n]}
    order = [places[attribute.id] for attribute in attributes]
    words = [f"{_spelled(a.column)} | {_spelled(a.table)} | {a.description}" for a in attributes]
    return Schema(
        tuple(attributes),
        {c: realised[c].memberships[order] for c in COORDINATES},
        {c: embedded.embeddings[c][order] for c in COORDINATES},
        meanings.encode(words).astype(np.float64),
    )


def compare(source: Schema, target: Schema) -> Array:
    """Features of every pair: sources x targets x features, each between 0 and 1."""
    shared = {c: np.sqrt(source.profiles[c]) @ np.sqrt(target.profiles[c]).T for c in COORDINATES}
    near = [_nearness(source.embeddings[c], target.embeddings[c]) for c in COORDINATES]
    spelling = process.cdist(
        [_spelled(a.column) for a in source.attributes],
        [_spelled(a.column) for a in target.attributes],
        scorer=fuzz.token_sort_ratio,
    )
    return np.stack(
        [
            shared["entity"] * shared["attribute"],
            shared["attribute"],
            near[0] * near[1],
            source.meanings @ target.meanings.T,
            _overlap([_words(a) for a in source.attributes], [_words(a) for a in target.attributes]),
            spelling / 100,
            _values(source.attributes, target.attributes),
        ],
        axis=2,
    )


def scores(source: Schema, target: Schema, features: Array, settings: MatchingSettings) -> Array:
    """How well each pair fits, sources x targets, from the features of all pairs."""
    alone = features @ settings.weights
    ours, theirs = (_table_numbers(schema) for schema in (source, target))
    fit = _tables_fit(beside_others(alone, settings.nearest), ours, theirs)
    fit = (fit - fit.mean(axis=1, keepdims=True)) / (fit.std(axis=1, keepdims=True) + 1e-6)
    return beside_others(alone + settings.tables * fit[np.ix_(ours, theirs)], settings.nearest)


def beside_others(likeness: Array, nearest: int) -> Array:
    """Twice the likeness of each pair, without the mean of the best that either of the two has."""
    count = min(nearest, *likeness.shape)
    of_source = np.partition(likeness, -count, axis=1)[:, -count:].mean(axis=1, keepdims=True)
    of_target = np.partition(likeness, -count, axis=0)[-count:].mean(axis=0, keepdims=True)
    result: Array = 2 * likeness - of_source - of_target
    return result


def rank(source: Schema, target: Schema, settings: MatchingSettings | None = None) -> list[tuple[str, list[str]]]:
    """For each attribute of the source, all of the target, the likeliest first; ties in the target's order."""
    fit = scores(source, target, compare(source, target), settings or shipped_settings())
    ids = [attribute.id for attribute in target.attributes]
    return [
        (attribute.id, [ids[place] for place in np.argsort(-fit[number], kind="stable")])
        for number, attribute in enumerate(source.attributes)
    ]


def shipped_settings() -> MatchingSettings:
    stored = json.loads(files("coset.identities").joinpath("weights/matching.json").read_text(encoding="utf-8"))
    weights = np.array([stored["weights"][name] for name in FEATURES])
    return MatchingSettings(weights, stored["tables"], stored["nearest"])


def _table_numbers(schema: Schema) -> NDArray[np.int64]:
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(a.table, len(numbers)) for a in schema.attributes], dtype=np.int64)


def _tables_fit(likeness: Array, ours: NDArray[np.int64], theirs: NDArray[np.int64]) -> Array:
    """How well each two tables fit: the mean, over the attributes of either, of the best that the other has for it."""
    by_ours, by_theirs = ours.argsort(kind="stable"), theirs.argsort(kind="stable")
    ordered = likeness[np.ix_(by_ours, by_theirs)]
    ours_at, theirs_at = (
        np.searchsorted(numbers[order], np.arange(numbers.max() + 1))
        for numbers, order in ((ours, by_ours), (theirs, by_theirs))
    )
    found = np.add.reduceat(np.maximum.reduceat(ordered, theirs_at, axis=1), ours_at, axis=0)
    wanted = np.add.reduceat(np.maximum.reduceat(ordered, ours_at, axis=0), theirs_at, axis=1)
    result: Array = (found / np.bincount(ours)[:, None] + wanted / np.bincount(theirs)) / 2
    return result


def _attribute(entry: dict[str, Any], path: Path, number: int) -> Attribute:
    try:
        return Attribute(
            str(entry["attribute"]), str(entry["table"]), str(entry["column"]), str(entry.get("description") or ""),
            str(entry.get("type") or ""), tuple(str(sample) for sample in entry.get("samples") or ()),
        )  # fmt: skip
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(
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


def _spelled(name: str) -> str:
    return " ".join(spelled_out(name))


def _words(attribute: Attribute) -> Counter[str]:
    """The words of an attribute, those of its name twice."""
    name, table, said = (
        [singular(word) for word in spelled_out(text)]
        for text in (attribute.column, attribute.table, attribute.description)
    )
    return Counter([*name, *name, *table, *said])


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


def _values(left: Sequence[Attribute], right: Sequence[Attribute]) -> Array:
    ours = [{value.lower() for value in present(a.samples)} for a in left]
    theirs = [{value.lower() for value in present(a.samples)} for a in right]
    result = np.zeros((len(left), len(right)))
    for i, mine in enumerate(ours):
        for j, other in enumerate(theirs):
            if mine and other:
                result[i, j] = len(mine & other) / min(len(mine), len(other))
    return result
