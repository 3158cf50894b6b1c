"""Questions as examples for the ranker: pools of databases, the candidates of each question, and the gold among them.

In: corpora, the routing encoder, the query model, an identity model. Out: examples, pooled and each database by itself.
Databases are never split: those the routing encoder learned from are not the ones the ranker learns from.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from coset.identities.model import IdentityModel
from coset.routing.ranking.features import candidates
from coset.routing.ranking.model import RoutingModel
from coset.routing.ranking.query_model import EncodedQuestion, encode_question
from coset.routing.request import Anchor, Demand
from coset.routing.schema_files import Key, SchemaDatabase, read_schemas
from coset.routing.schema_routing import MARK, SchemaRouter
from coset.training.annotation import Part, split_databases
from coset.training.data.corpora import SCHEMAS, Question, read_questions, read_written_questions

if TYPE_CHECKING:
    from coset.training.routing.ranker import Example

Report = Callable[[str, float], None]
RANKER_SHARE = 4
"""One of so many training databases is kept from the routing encoder, for the ranker to learn on."""


@dataclass(frozen=True)
class RoutingCorpus:
    """The databases that have questions, their parts, and the questions of each."""

    databases: dict[Key, SchemaDatabase]
    parts: dict[Key, Part]
    questions: dict[Key, list[Question]]
    written_for: dict[Key, SchemaDatabase]
    """Databases of the corpora without questions, for which some were written. No validation database is among them."""

    def keys(self, *parts: Part) -> list[Key]:
        return [key for key in self.databases if self.parts[key] in parts]

    def for_encoder(self) -> list[Key]:
        return [key for key in self.keys("train") if not kept_for_ranker(key)]

    def for_ranker(self) -> list[Key]:
        return [key for key in self.keys("train") if kept_for_ranker(key)] + self.keys("dev")

    def for_ranker_written(self) -> list[Key]:
        """Each of them is learned from by itself. Learning from all was not better than from every fourth."""
        return [key for key in self.written_for if self.parts[key] == "dev" or kept_for_ranker(key)]

    def some_questions(self, keys: Iterable[Key], most: int, seed: int) -> list[Question]:
        """At most so many of each database, always the same ones."""
        generator = np.random.default_rng(seed)
        found: list[Question] = []
        for key in sorted(keys):
            own = self.questions[key]
            found += [own[number] for number in sorted(generator.permutation(len(own))[:most])]
        return found


def kept_for_ranker(key: Key) -> bool:
    digest = hashlib.blake2b("/".join(key).encode(), digest_size=4).hexdigest()
    return int(digest, 16) % RANKER_SHARE == 0


def read_routing_corpus(corpus: Path) -> RoutingCorpus:
    schemas = {database.key: database for database in read_schemas(corpus / SCHEMAS)}
    names = {key: frozenset(t.name.lower() for t in each.environment.tables) for key, each in schemas.items()}
    parts = split_databases(schemas, names)
    questions: dict[Key, list[Question]] = {}
    for question in read_questions(corpus):
        home = ("spider", question.database[1]) if question.database[0] == "spider_syn" else question.database
        if question.columns and home in schemas:
            questions.setdefault(home, []).append(replace(question, database=home))
    written: dict[Key, list[Question]] = {}
    for question in read_written_questions():
        key = question.database
        if key in schemas and key not in questions and parts[key] != "validation":
            written.setdefault(key, []).append(question)
    asked, others = ({key: schemas[key] for key in sorted(each)} for each in (questions, written))
    return RoutingCorpus(asked, parts, questions | written, others)


class Pool:
    """Databases as one environment, with what the features of a question are made from."""

    def __init__(self, databases: Sequence[SchemaDatabase], model: RoutingModel, identities: IdentityModel | None):
        self.router = SchemaRouter(databases, model, identities)
        self.index = self.router.index

    def example(
        self, question: Question, encoded: EncodedQuestion, demand: Demand | None, anchors: Sequence[Anchor]
    ) -> Example:
        found = candidates(encoded, demand, anchors, self.index)
        from coset.training.routing.ranker import Example  # Needs torch; measuring a pool does not.

        return Example(found, self.index, *self.gold(question), question.database)

    def gold(self, question: Question) -> tuple[frozenset[int], frozenset[int]]:
        """The numbers of the gold tables and columns of a question in the index."""
        before = "/".join(question.database) + MARK
        tables = {self.index.table_numbers.get(before + name) for name in question.tables}
        columns = {self.index.column_numbers.get(f"{before}{table}.{name}") for table, name in question.columns}
        return frozenset(n for n in tables if n is not None), frozenset(n for n in columns if n is not None)


class Examples:
    """Examples of questions in a pool and in their own databases; questions are encoded once."""

    def __init__(self, model: RoutingModel) -> None:
        self._model = model
        self._encoded: dict[str, tuple[EncodedQuestion, Demand]] = {}

    def of(self, questions: Sequence[Question], pools: Mapping[Key, Pool], *, hinted: bool = False) -> list[Example]:
        """`pools` gives the environment that the questions of each database are asked of, with the hints that came
        with them or without."""
        found = []
        for question in questions:
            home = pools[question.database]
            text = question.hinted if hinted else question.text
            encoded, demand = self._question(text)
            found.append(home.example(question, encoded, demand, home.router.anchors(text)))
        return found

    def _question(self, text: str) -> tuple[EncodedQuestion, Demand]:
        if text not in self._encoded:
            encoded = encode_question(text, self._model.encoder)
            self._encoded[text] = (encoded, self._model.queries.demand_of(encoded.whole))
        return self._encoded[text]
