"""Routing of one environment: a question in, a bounded evidence view out.

In: an environment that was comprehended; questions. Out: views and explanations. Ties the parts together: the
question's vectors give its demand (which sees no data), its phrases give anchors (which see no model), both give
scores, and those alone decide the view. Holds the indexes in memory, and reads them anew when the state was written
since. Knows no language model.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from coset.environment.configuration import Environment
from coset.errors import UserError
from coset.identities.inventory import COORDINATES, load_inventory
from coset.identities.model import load_model
from coset.routing.anchors import AnchorIndex, FoundAnchors, look_up
from coset.routing.objects.knowledge import Knowledge
from coset.routing.objects.objects_of_state import StateObjects
from coset.routing.ranking.features import candidates
from coset.routing.ranking.index import RoutingIndex, Vectors, load_index
from coset.routing.ranking.model import RoutingModel, load_routing_model
from coset.routing.ranking.query_model import encode_question
from coset.routing.request import Anchor, Demand
from coset.routing.search.blending import Context, Pairs, Written, blended, standing_scores, trusted, written_scores
from coset.routing.search.coverage import Vocabulary, role_words, without_chance
from coset.routing.search.languages import gloss
from coset.routing.search.lexical import LexicalIndex
from coset.routing.search.questions import needed_anchors
from coset.routing.search.recover import sections_of
from coset.routing.search.words import stems_of
from coset.routing.views.budgets import DETAILS, OPENED, Budget
from coset.routing.views.builder import in_order_of_score
from coset.routing.views.choice import ChoiceSettings, Selection, choose
from coset.routing.views.explanation import Explanation
from coset.routing.views.materialise import opened, view_of
from coset.routing.views.view import EvidenceView
from coset.session.query_session import QuerySession
from coset.state.evidence_state import corrections_in_force
from coset.state.names import resolve

SCORED = 400
"""So many columns, the strongest, are handed on with their scores."""
ORDERED = 400
EXPLAINED = 20
STANDING = 60
SURE_TRUST = 0.6
"""From this trust in names on, the ranker's probabilities are taken as they are."""
HOLDING = 1.5
"""What it counts that a table alone holds a value of the question."""
WRITTEN = 0.28
"""The most that it counts for a column that a passage or rule names it, or that its name has the question's words:
values of such columns are told first, but none is chosen for it alone."""
MOST_COPIES = 3
"""More copies than these say no more of how much a table matters."""
BELIEVED = 0.5
"""Joins of less confidence lead nowhere."""


@dataclass(frozen=True)
class Scores:
    """How likely each object is needed, by reference."""

    tables: dict[str, float]
    columns: dict[str, float]
    order: tuple[str, ...] = ()
    """Tables, the likeliest first."""
    passages: tuple[str, ...] = ()
    """Sections of documents that the question found, the best first."""
    nearness: float | None = None
    """How near the question and its words are to the nearest objects. Scores weigh objects against each other; this
    alone says whether any is near."""
    unfound: tuple[str, ...] = ()
    """Phrases of the question that nothing here speaks of."""
    unread: tuple[str, ...] = ()
    """Columns of long texts that were not read for its names."""


@dataclass(frozen=True)
class _Request:
    """What a question comes to before any budget."""

    demand: Demand
    found: FoundAnchors
    scores: Scores
    passages: tuple[tuple[str, float, tuple[str, ...]], ...]
    anchors: list[Anchor]
    """Those of `found`, the surest first."""
    selection: Selection


class Router:
    """Routes questions over one environment."""

    def __init__(self, environment: Environment, model: RoutingModel, session: QuerySession | None = None) -> None:
        self.environment, self.model, self.session = environment, model, session
        self.settings = ChoiceSettings()
        self._read()

    @classmethod
    def open(cls, environment: Environment, session: QuerySession | None = None) -> Router:
        """The router of an environment. With a session, values that are not held are searched at their source."""
        return cls(environment, load_routing_model(load_model(environment.identities_file)), session)

    def view(self, question: str, budget: int = DETAILS, *, directory: bool = True) -> EvidenceView:
        """The evidence view of a question: details that cost at most `budget` tokens, after the prefix that all
        questions share unless `directory` is False."""
        return self._view(self._request(question), Budget.of(budget, directory=directory))

    def opened(
        self, references: Sequence[str], budget: int = OPENED, beside: EvidenceView | None = None
    ) -> EvidenceView:
        """The details of what a reader points at in the directory, by reference or SQL name, without a prefix; with the
        joins that lead to the tables of the view `beside` it. What is not there is told as not found."""
        if self.objects.is_stale():
            self._read()
        documents = {each: sections_of(self.objects, each) for each in references}
        known = {each: self._reference(each) for each in references if not documents[each]}
        unknown = tuple(each for each, reference in known.items() if reference is None)
        passages = tuple(section.reference for sections in documents.values() for section in sections)
        return opened([each for each in known.values() if each], self.objects, budget, beside, unknown, passages)

    def _reference(self, written: str) -> str | None:
        """A table or column by its reference, or a table by its SQL name; None where there is no such thing."""
        wanted = written.strip().strip("[]")
        if self.objects.table_of(wanted) is not None:
            return wanted
        plain = wanted.replace('"', "").lower()
        for table in self.objects.tables.values():
            if plain in (table.sql_name.replace('"', "").lower(), table.reference.lower()):
                return table.reference
        with self.objects.reading() as state:
            try:
                return resolve(state, wanted)
            except UserError:
                return None

    def order(self, question: str) -> tuple[str, ...]:
        """Tables, the likeliest first: those that the question names, then as they are ranked; no copies."""
        return self._request(question).scores.order

    def explain(self, question: str, budget: int = DETAILS, *, directory: bool = True) -> Explanation:
        """The view with how it came about."""
        request = self._request(question)
        view = self._view(request, Budget.of(budget, directory=directory))
        demand, found, scores, selection = request.demand, request.found, request.scores, request.selection
        weights = np.asarray(demand.requirements, dtype=float).reshape(-1)
        order = np.argsort(-weights, kind="stable")[:5]
        return Explanation(
            view=view,
            requirements=tuple((int(number), float(weights[number])) for number in order),
            demand=self._strongest_demand(demand),
            covered=tuple(
                (coordinate, identity, selection.covered.get((coordinate, identity)))
                for coordinate, identity, _ in selection.demanded
            ),
            anchors=tuple(found.anchors),
            passages=request.passages,
            tables=_strongest(scores.tables),
            columns=_strongest(scores.columns),
            fell_out=self._fell_out(selection, scores, view),
            not_searched=tuple((each.reference, each.reason) for each in found.not_searched),
            note=found.note,
        )

    def _view(self, request: _Request, budget: Budget) -> EvidenceView:
        description = self.environment.description or ""
        return view_of(request.selection, request.anchors, self.objects, budget, description, self.standing)

    def _read(self) -> None:
        """The environment's facts and indexes, from the state."""
        self.inventory = load_inventory(self.environment.identities_file)
        self.objects = StateObjects(self.environment.state_folder)
        with self.objects.reading() as state:
            said = corrections_in_force(self.environment, state).questions
            self.spoken_of = tuple(each for each in said if each.needs)
            self.index: RoutingIndex = load_index(state, self.model.encoder, self.model.name)
            self.anchors = AnchorIndex.load(state)
            self.lexical = LexicalIndex(state, self.objects, self.index.tables)
        self.context = self._context()
        self.standing = self._standing()
        self.trust = trusted(self.index.trust, len(self.lexical.main))
        roles = role_words(self.inventory, self.objects.played)
        self.vocabulary = Vocabulary(self.index, self.model.encoder, roles)

    def _request(self, question: str) -> _Request:
        if self.objects.is_stale():
            self._read()
        found = self._look_up(question)
        spoken = gloss(question)
        found = replace(found, anchors=(*found.anchors, *self._needed(question)))
        encoded = encode_question(spoken, self.model.encoder)
        covered = self.vocabulary.coverage(encoded.whole, found.words, found.absent)
        found = replace(found, anchors=without_chance(found.anchors, covered.unfound))
        demand = self.model.queries.demand_of(encoded.whole)
        ranked_by = demand if self.model.ranks_by_demand else None
        ranking = self.model.ranker.rank(candidates(encoded, ranked_by, found.anchors, self.index), self.index)
        hits = self.lexical.find(question)
        holding = self._numbered(self._holding(found.anchors))
        written = Written(
            hits.tables, hits.lent, self.index.table_vectors @ encoded.whole, hits.documents.said,
            hits.documents.terms, hits.documents.systems, holding, self._demanded(demand),
        )  # fmt: skip
        scored = written_scores(written, self.context)
        order = blended(ranking.best_tables(), scored, self.trust, self.context, holding)
        # Where names do not speak, the ranker's scores are guesses: they choose nothing by themselves.
        belief = min(1.0, self.trust / SURE_TRUST)
        tables = {
            self.index.tables[number]: belief * float(score)
            for number, score in zip(ranking.tables, ranking.table_scores, strict=True)
        }
        strongest = np.argsort(-ranking.column_scores, kind="stable")[:SCORED]
        columns = {
            self.index.columns[ranking.columns[place]]: belief * float(ranking.column_scores[place])
            for place in strongest
        }
        for reference, share in hits.columns.items():
            columns[reference] = max(columns.get(reference, 0.0), WRITTEN * share)
        ordered = tuple(self.index.tables[number] for number in order[:ORDERED])
        passages = tuple(dict.fromkeys(passage.section for passage in hits.documents.passages))
        unfound = tuple(phrase for phrase in covered.told if not self.lexical.knows(phrase))
        nearness = covered.strength if self._says_something(question) else 0.0
        scores = Scores(tables, columns, ordered, passages, nearness, unfound, found.unread)
        anchors = in_order_of_score(found.anchors)
        selection = choose(demand, anchors, scores, self.objects, self.inventory, self.settings)
        led = tuple((each.section, each.share, each.led_to) for each in hits.documents.passages)
        return _Request(demand, found, scores, led, anchors, selection)

    def _look_up(self, question: str) -> FoundAnchors:
        """The anchors of a question; of one in another language values as it has them, and names by what its words
        mean."""
        found = look_up(question, self.anchors, self.session)
        if (spoken := gloss(question)) == question:
            return found
        meant = look_up(spoken, self.anchors, self.session)
        known = {(anchor.reference, anchor.kind) for anchor in found.anchors}
        named = tuple(
            each for each in meant.anchors if each.kind == "name" and (each.reference, each.kind) not in known
        )
        return replace(found, anchors=(*found.anchors, *named), words=meant.words, absent=meant.absent)

    def _needed(self, question: str) -> list[Anchor]:
        """What people said that such a question needs, of what is there."""
        found = needed_anchors(question, self.spoken_of)
        return [each for each in found if self.objects.table_of(each.reference) is not None]

    def _says_something(self, question: str) -> bool:
        """Whether any telling word of a question stands anywhere here, or is a word at all."""
        words = stems_of(question)
        return not words or any(self.lexical.knows(word) or self.model.encoder.knows(word) for word in words)

    def _demanded(self, demand: Demand) -> Vectors:
        """How far each table is about an entity that is asked for."""
        entities = self.index.table_entities
        if entities is None:
            return np.zeros(len(self.index.tables), dtype=np.float32)
        found: Vectors = (entities @ demand.identities["entity"]).astype(np.float32)
        return found

    def _holding(self, anchors: Iterable[Anchor]) -> dict[str, float]:
        """Originals that hold values of the question: the fewer hold one, the more it says."""
        by_phrase: dict[str, dict[str, float]] = defaultdict(dict)
        for anchor in anchors:
            table = self.objects.table_of(anchor.reference)
            if table is None or anchor.value is None or anchor.kind not in ("value", "code"):
                continue
            if self.objects.knowledge.original(table) == table:
                own = by_phrase[anchor.phrase]
                own[table] = max(own.get(table, 0.0), anchor.score)
        gain: dict[str, float] = defaultdict(float)
        for own in by_phrase.values():
            for table, score in own.items():
                gain[table] += HOLDING * score / math.sqrt(len(own))
        return gain

    def _numbered(self, by_table: Mapping[str, float]) -> Vectors:
        """Numbers of tables in the order of the index."""
        found = np.zeros(len(self.index.tables), dtype=np.float32)
        for table, number in by_table.items():
            if table in self.index.table_numbers:
                found[self.index.table_numbers[table]] = number
        return found

    def _context(self) -> Context:
        numbers, objects = self.index.table_numbers, self.objects
        knowledge = objects.knowledge
        refers: list[tuple[int, int, float]] = []
        for relation in objects.relations:
            left, right = numbers.get(relation.left_table), numbers.get(relation.right_table)
            if relation.confidence < BELIEVED or left is None or right is None or left == right:
                continue
            if relation.cardinality != "1:n":
                refers.append((left, right, relation.confidence))
            if relation.cardinality != "n:1":
                refers.append((right, left, relation.confidence))
        decodes = [
            (numbers[table], numbers[codes.list_reference], codes.confidence)
            for column, lists in knowledge.code_lists.items()
            if (table := objects.table_of(column)) in numbers
            for codes in lists
            if codes.status != "outdated" and codes.list_reference in numbers
        ]
        copied = {table: min(count, MOST_COPIES) / MOST_COPIES for table, count in knowledge.copies_of.items()}
        return Context(
            np.array([knowledge.original(table) == table for table in self.index.tables], dtype=bool),
            self._numbered(self.lexical.main),
            self._numbered(copied),
            self._numbered(dict.fromkeys(self.lexical.out_of_use, 1.0)) > 0,
            Pairs.of(_among_originals(refers, knowledge, self.index.tables)),
            Pairs.of(_among_originals(decodes, knowledge, self.index.tables)),
        )

    def _standing(self) -> tuple[str, ...]:
        """Originals in use, those first that matter most whatever is asked."""
        order = np.argsort(-standing_scores(self.context), kind="stable")
        usable = self.context.originals & ~self.context.out_of_use
        return tuple(self.index.tables[number] for number in order if usable[number])[:STANDING]

    def _strongest_demand(self, demand: Demand) -> tuple[tuple[str, str, float], ...]:
        found = [
            (coordinate, identity, float(value))
            for coordinate in COORDINATES
            for identity, value in zip(self.inventory.ids(coordinate), demand.identities[coordinate], strict=True)
        ]
        return tuple(sorted(found, key=lambda each: (-each[2], each[0], each[1]))[:EXPLAINED])

    def _fell_out(self, wanted: Selection, scores: Scores, view: EvidenceView) -> tuple[tuple[str, float, str], ...]:
        """The strongest columns that the view does not show, each with why."""
        shown = view.references
        fitting = {pick.column.reference for pick in (*wanted.picks, *wanted.competitors, *wanted.rest)}
        found = []
        for reference, score in sorted(scores.columns.items(), key=lambda each: (-each[1], each[0])):
            if reference not in shown:
                why = "no room in the budget" if reference in fitting else "too weak"
                found.append((reference, score, why))
        return tuple(found[:EXPLAINED])


def _among_originals(
    pairs: Iterable[tuple[int, int, float]], knowledge: Knowledge, tables: Sequence[str]
) -> list[tuple[int, int, float]]:
    return [pair for pair in pairs if all(knowledge.original(tables[number]) == tables[number] for number in pair[:2])]


def _strongest(scores: dict[str, float]) -> tuple[tuple[str, float], ...]:
    return tuple(sorted(scores.items(), key=lambda each: (-each[1], each[0]))[:EXPLAINED])
