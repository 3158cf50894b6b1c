"""Routing over schemas in files, one database by itself or many as one environment: what `coset bench routing` runs.

In: databases of a schema file, the models. Out: for each question its tables and columns in order, and the columns that
the default view keeps. Uses the same index, anchors, demand, ranking and selection as a real environment does; there
are no rows here, so values are known by their samples alone.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from coset.identities.inventory import Coordinate
from coset.identities.model import IdentityModel
from coset.identities.realise import realise_environment
from coset.readings.observed import ObservedEnvironment, ObservedTable
from coset.routing.anchors import AnchorIndex, find_anchors
from coset.routing.ranking.features import candidates
from coset.routing.ranking.index import RoutingIndex, Vectors, build_index
from coset.routing.ranking.model import RoutingModel
from coset.routing.ranking.query_model import encode_question
from coset.routing.ranking.ranker import kept_columns
from coset.routing.request import Anchor
from coset.routing.schema_files import SchemaDatabase
from coset.routing.search.blending import blended, trusted
from coset.routing.search.lexical import texts_of_observed
from coset.routing.search.words import WeightedWords, stems_of

MOST_TABLES = 200
MARK = "\x1f"
"""Between a database and a table in the references of a pool: no name has it."""


@dataclass(frozen=True)
class Routed:
    """What one question finds. Tables are `db.table`, columns `db.table.column`."""

    tables: tuple[str, ...]
    columns: tuple[str, ...]
    kept: tuple[str, ...]
    seconds: float


class SchemaRouter:
    """The databases of a file as one environment."""

    def __init__(
        self, databases: Sequence[SchemaDatabase], routing: RoutingModel, identities: IdentityModel | None
    ) -> None:
        self._model = routing
        whole, links, own = _pooled(databases)
        # Roles are realised only where the ranking looks at them.
        profiles, entities = memberships_of(own, identities) if identities is not None else (None, None)
        self.index: RoutingIndex = build_index(
            whole,
            routing.encoder,
            lambda reference: reference.split(MARK, 1)[0],
            links,
            profiles,
            entities,
            routing.encoder.knows,
        )
        self.words = WeightedWords(texts_of_observed(whole))
        self._anchors = AnchorIndex.from_observed(whole)

    def anchors(self, question: str) -> tuple[Anchor, ...]:
        return find_anchors(question, self._anchors)

    def route(self, question: str, most_columns: int = 200) -> Routed:
        started = time.perf_counter()
        encoded = encode_question(question, self._model.encoder)
        demand = self._model.queries.demand_of(encoded.whole) if self._model.ranks_by_demand else None
        anchors = self.anchors(question)
        ranking = self._model.ranker.rank(candidates(encoded, demand, anchors, self.index), self.index)
        lexical = self.words.scores(dict.fromkeys(stems_of(question), 1.0))
        tables = blended(ranking.best_tables(), lexical, trusted(self.index.trust, 0))
        kept = kept_columns(ranking, self.index, self._model.selection)
        seconds = time.perf_counter() - started
        return Routed(
            tuple(_written(self.index.tables[number]) for number in tables[:MOST_TABLES]),
            tuple(_written(self.index.columns[number]) for number in ranking.best_columns()[:most_columns]),
            tuple(_written(self.index.columns[number]) for number in kept),
            seconds,
        )


def _pooled(
    databases: Sequence[SchemaDatabase],
) -> tuple[ObservedEnvironment, list[tuple[str, str]], list[ObservedEnvironment]]:
    """All tables under references that begin with their database; and each database by itself."""
    tables: list[ObservedTable] = []
    links: list[tuple[str, str]] = []
    own: list[ObservedEnvironment] = []
    for database in databases:
        before = "/".join(database.key) + MARK
        here = tuple(
            replace(
                table,
                reference=before + table.reference,
                columns=tuple(replace(column, reference=before + column.reference) for column in table.columns),
            )
            for table in database.environment.tables
        )
        tables += here
        own.append(ObservedEnvironment(database.environment.name, here))
        links += [(before + left, before + right) for left, right in database.links]
    return ObservedEnvironment("", tuple(tables)), links, own


def memberships_of(
    environments: Sequence[ObservedEnvironment], model: IdentityModel
) -> tuple[dict[Coordinate, Vectors], Vectors]:
    """Profiles of all columns and of all tables, each database realised by itself."""
    profiles: dict[Coordinate, list[Vectors]] = {"entity": [], "attribute": []}
    tables = []
    for environment in environments:
        if not environment.tables:
            continue
        embedded, _, realised = realise_environment(environment, model)
        for coordinate, part in realised.items():
            profiles[coordinate].append(part.memberships[~embedded.is_table].astype(np.float32))
        tables.append(realised["entity"].memberships[embedded.is_table].astype(np.float32))
    return {coordinate: np.concatenate(parts) for coordinate, parts in profiles.items()}, np.concatenate(tables)


def _written(reference: str) -> str:
    home, rest = reference.split(MARK, 1)
    return f"{home.split('/', 1)[1]}.{rest}"
