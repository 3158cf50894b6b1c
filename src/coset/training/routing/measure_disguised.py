"""Routing where names do not speak: questions of the corpora over pools of databases in disguise, with copies beside
the originals and a page of documentation for some tables.

In: a corpus, routing weights, identity weights. Out: for each kind of names the share of questions whose gold tables
all stand among the first 5 and 15, by what is learned, by plain search over names and over readings, by dense
retrieval, by anchors alone and by demand alone; and what demand would be worth if every table's entity were known.
Copies are folded into their originals before the order is read, as views do. By itself:
`python -m coset.training.routing.measure_disguised --corpus DIR [--routing DIR] [--identities DIR] [--most 12]`.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from coset.errors import CosetError, UserError
from coset.identities.model import IdentityModel, load_model
from coset.readings.observed import ObservedColumn, ObservedEnvironment, ObservedTable
from coset.routing.ranking.features import candidates
from coset.routing.ranking.model import RoutingModel, load_routing_model
from coset.routing.ranking.query_model import EncodedQuestion, encode_question
from coset.routing.request import Anchor, Demand
from coset.routing.schema_files import Key, SchemaDatabase
from coset.routing.schema_routing import MARK
from coset.routing.search.blending import blended
from coset.routing.search.lexical import texts_of_observed
from coset.routing.search.words import WeightedWords, stems_of
from coset.training.data.corpora import Question
from coset.training.data.disguised_databases import Conditions, Disguised, disguise
from coset.training.data.disguised_names import KINDS, Kind
from coset.training.data.labelled_objects import read_training_set
from coset.training.routing.examples import Pool, RoutingCorpus, read_routing_corpus

Report = Callable[[str], None]
FIRST = (5, 15)
POOLED = Conditions(described=0.15, keys_told=0.8, copies=0.3, documented=0.25)
MOST_TABLES, MOST_COLUMNS = 120, 60
"""Of one database, so that few huge ones do not make all of a pool."""


@dataclass(frozen=True)
class HiddenPool:
    """Databases of one kind of names as one environment, read by offline readers or not."""

    databases: tuple[SchemaDatabase, ...]
    renamed: Mapping[tuple[Key, str, str | None], str]
    """The name of each original table and column in its disguise."""
    copies: Mapping[str, str]
    """The originals of copies, both as references of the pool."""

    def asked(self, question: Question) -> Question | None:
        """The same question with its gold in disguise; None where some of it is not in the pool."""
        key = question.database
        tables = [self.renamed.get((key, name, None)) for name in question.tables]
        columns = [
            (self.renamed.get((key, table, None)), self.renamed.get((key, table, name)))
            for table, name in question.columns
        ]
        if any(name is None for name in tables) or any(None in pair for pair in columns):
            return None
        return replace(question, tables=tuple(map(str, tables)), columns=tuple((str(t), str(c)) for t, c in columns))


def hidden_pool(databases: Sequence[SchemaDatabase], kind: Kind, seed: str, *, read: bool) -> HiddenPool:
    """A pool in disguise. Readable databases keep their names and labels, and have copies, too."""
    found: list[SchemaDatabase] = []
    renamed: dict[tuple[Key, str, str | None], str] = {}
    copies: dict[str, str] = {}
    for database in databases:
        tables = [replace(t, columns=t.columns[:MOST_COLUMNS]) for t in database.environment.tables[:MOST_TABLES]]
        hidden = disguise(database.key, tables, kind, seed, POOLED)
        whole = hidden.with_readings() if read and kind != "readable" else hidden.environment
        before = "/".join(database.key) + MARK
        found.append(_schema(database.key, whole))
        names = {table.reference: table.name for table in whole.tables}
        for copy, told in hidden.copies.items():
            copies[before + names[copy]] = before + names[told.original]
        _rename(hidden, whole, renamed)
    return HiddenPool(tuple(found), renamed, copies)


def _rename(hidden: Disguised, whole: ObservedEnvironment, renamed: dict[tuple[Key, str, str | None], str]) -> None:
    for table in whole.tables:
        if table.reference in hidden.copies:
            continue
        parts: list[ObservedTable | ObservedColumn] = [table, *table.columns]
        for own in parts:
            origin = hidden.origins.get(own.reference)
            if origin is not None:
                renamed[origin] = own.name


def _schema(key: Key, environment: ObservedEnvironment) -> SchemaDatabase:
    """As a file of schemas would have it: references are names, links are the references that are known."""
    tables, links = [], []
    for table in environment.tables:
        columns: list[ObservedColumn] = []
        for column in table.columns:
            reference = f"{table.name}.{column.name}"
            columns.append(replace(column, reference=reference))
            if column.refers_to:
                links.append((reference, f"{column.refers_to[0]}.{column.refers_to[1]}"))
        tables.append(replace(table, reference=table.name, columns=tuple(columns)))
    return SchemaDatabase(key, ObservedEnvironment("/".join(key), tuple(tables)), tuple(links))


class Orders:
    """The orders of tables that a pool gives a question, by name."""

    def __init__(self, pool: HiddenPool, routing: RoutingModel, identities: IdentityModel) -> None:
        self.pool = Pool(pool.databases, routing, identities)
        self.routing, self.index = routing, self.pool.index
        tables = [table for each in pool.databases for table in each.environment.tables]
        self.names = WeightedWords(texts_of_observed(ObservedEnvironment("", tuple(map(_nameless, tables)))))
        numbers = self.index.table_numbers
        self.original = np.arange(len(self.index.tables))
        for copy, original in pool.copies.items():
            if copy in numbers and original in numbers:
                self.original[numbers[copy]] = numbers[original]

    def of(
        self, question: Question, encoded: EncodedQuestion, demand: Demand, entities: np.ndarray | None
    ) -> dict[str, np.ndarray]:
        anchors = self.pool.router.anchors(question.text)
        words = dict.fromkeys(stems_of(question.text), 1.0)
        ranked_by = demand if self.routing.ranks_by_demand else None
        learned = self.routing.ranker.rank(candidates(encoded, ranked_by, anchors, self.index), self.index)
        lexical = self.pool.router.words.scores(words)
        order = learned.best_tables()
        found = {
            "ranker": order,
            "blend": blended(order, lexical, self.index.trust),
            "BM25 over names": _descending(self.names.scores(words)),
            "BM25 over names and readings": _descending(lexical),
            "dense over names and readings": _descending(self._dense(encoded)),
            "anchors alone": _descending(self._anchored(anchors)),
            "demand alone": _descending(self._demanded(demand)),
            "BM25 and demand": _fused(lexical, self._demanded(demand)),
        }
        if entities is not None:
            found["demand alone, entities known"] = _descending(entities @ demand.identities["entity"])
        return {name: self._folded(each) for name, each in found.items()}

    def _folded(self, order: np.ndarray) -> np.ndarray:
        """Copies stand for their originals, at the better of both places."""
        own = self.original[order]
        _, first = np.unique(own, return_index=True)
        return own[np.sort(first)]

    def _dense(self, encoded: EncodedQuestion) -> np.ndarray:
        columns = self.index.column_vectors @ encoded.whole
        best = np.full(len(self.index.tables), -1.0)
        np.maximum.at(best, self.index.table_of, columns)
        return self.index.table_vectors @ encoded.whole + best

    def _anchored(self, anchors: Sequence[Anchor]) -> np.ndarray:
        scores = np.zeros(len(self.index.tables))
        for anchor in anchors:
            number = self.index.table_numbers.get(anchor.reference)
            if number is None and (column := self.index.column_numbers.get(anchor.reference)) is not None:
                number = int(self.index.table_of[column])
            if number is not None:
                scores[number] += anchor.score
        return scores

    def _demanded(self, demand: Demand) -> np.ndarray:
        """How far a table is about what is asked for, and how far its best columns hold it."""
        assert self.index.table_entities is not None and self.index.memberships is not None  # noqa: S101
        tables = self.index.table_entities @ demand.identities["entity"]
        columns = (self.index.memberships["entity"] @ demand.identities["entity"]) * (
            self.index.memberships["attribute"] @ demand.identities["attribute"]
        )
        best = np.zeros(len(tables))
        np.maximum.at(best, self.index.table_of, columns)
        return tables / max(tables.max(), 1e-9) + best / max(best.max(), 1e-9)


def _nameless(table: ObservedTable) -> ObservedTable:
    """A table without what readers or people said of it."""
    columns = tuple(replace(column, label="", description="") for column in table.columns)
    return replace(table, label="", description="", columns=columns)


def _descending(scores: np.ndarray) -> np.ndarray:
    return np.argsort(-scores, kind="stable")


def _fused(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    def ranks(scores: np.ndarray) -> np.ndarray:
        found = np.empty(len(scores))
        found[_descending(scores)] = np.arange(len(scores))
        return found

    return _descending(1 / (10 + ranks(one)) + 0.5 / (10 + ranks(other)))


def known_entities(
    pool: Orders, hidden: HiddenPool, annotated: Mapping[tuple[Key, str], int], count: int
) -> np.ndarray:
    """The annotated entity of each table of a pool, as a profile; nothing where nobody annotated it."""
    found = np.zeros((len(pool.index.tables), count))
    for (key, table, column), name in hidden.renamed.items():
        number = pool.index.table_numbers.get("/".join(key) + MARK + name)
        entity = annotated.get((key, table))
        if column is None and number is not None and entity is not None:
            found[number, entity] = 1.0
    return found


def measure(
    data: RoutingCorpus,
    keys: Sequence[Key],
    ways: Sequence[tuple[Kind, bool]],
    routing: RoutingModel,
    identities: IdentityModel,
    annotated: Mapping[tuple[Key, str], int],
    most: int,
    report: Report,
) -> list[dict[str, Any]]:
    """A row a kind of names and way of ranking."""
    questions = data.some_questions(keys, most, 1)
    encoded = {question.text: encode_question(question.text, routing.encoder) for question in questions}
    rows: list[dict[str, Any]] = []
    for kind, read in ways:
        hidden = hidden_pool([data.databases[key] for key in keys], kind, "measured", read=read)
        orders = Orders(hidden, routing, identities)
        entities = known_entities(orders, hidden, annotated, len(identities.inventory.entities))
        hits: dict[str, list[list[bool]]] = {}
        for question in questions:
            asked = hidden.asked(question)
            if asked is None:
                continue
            gold, _ = orders.pool.gold(asked)
            heard = encoded[question.text]
            demand = routing.queries.demand_of(heard.whole)
            known = entities if all(entities[number].any() for number in gold) else None
            for name, order in orders.of(asked, heard, demand, known).items():
                hits.setdefault(name, []).append([gold <= set(order[:first].tolist()) for first in FIRST])
        for name, each in hits.items():
            first, last = np.mean(each, axis=0)
            rows.append({"names": kind, "read": read, "order": name, "5": first, "15": last, "questions": len(each)})
            report(f"{kind}{', read' if read else ''}: {name} {first:.3f} / {last:.3f} ({len(each)})")
    return rows


WAYS: tuple[tuple[Kind, bool], ...] = (
    ("readable", False), *((kind, read) for kind in KINDS[1:] for read in (False, True)),
)  # fmt: skip


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m coset.training.routing.measure_disguised",
        description="Measure routing under disguised names.",
    )
    parser.add_argument("--corpus", type=Path, required=True, help="folder with schemas and questions")
    parser.add_argument("--routing", type=Path, help="folder of routing weights; else those that ship")
    parser.add_argument("--identities", type=Path, help="folder of identity weights; else those that ship")
    parser.add_argument("--most", type=int, default=12, help="questions of one database")
    parser.add_argument("--json", type=Path, help="file for the figures")
    chosen = parser.parse_args(arguments)
    try:
        if not chosen.corpus.is_dir():
            raise UserError(f"'{chosen.corpus}' is no folder: --corpus names the folder with schemas and questions")
        identities = load_model(folder=chosen.identities, threads=1)
        routing = load_routing_model(identities, chosen.routing, threads=1)
        data = read_routing_corpus(chosen.corpus)
        training = read_training_set(chosen.corpus, identities.inventory, written=10_000)
        annotated = {
            (item.label.database, item.label.table): item.label.entity
            for item in training.objects
            if item.column is None
        }
        rows = measure(
            data, data.keys("validation"), WAYS, routing, identities, annotated, chosen.most,
            lambda text: print(text, flush=True),
        )  # fmt: skip
    except CosetError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    if chosen.json:
        chosen.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
