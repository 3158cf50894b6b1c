"""What each question of the corpora demands: the identities of the columns that its query reads, as a soft target.

In: a training set, questions, an identity model. Out: a `QuestionSet`, with the part of each question's database, a
weight that keeps a database of many like questions from drowning the others, and a target per coordinate. A column that
nobody annotated has the identity model's profile, in training alone: held-out parts are judged by annotation only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coset.errors import UserError
from coset.identities.inventory import COORDINATES, Coordinate
from coset.identities.model import IdentityModel
from coset.identities.prototypes import Array
from coset.identities.realise import realise_environment
from coset.routing.ranking.query_model import QueryModel
from coset.training.annotation import Key, Part
from coset.training.data.corpora import Question
from coset.training.data.labelled_objects import TrainingSet

Report = Callable[[str, float], None]
Place = tuple[Key, str, str | None]
"""Database, table, and column, or None for the table itself."""
SCHEMAS_OF = {"spider_syn": "spider"}
"""Corpora whose questions are asked of another corpus' databases."""


@dataclass(frozen=True)
class QuestionSet:
    """Questions with their targets; rows of all arrays are in the order of `questions`."""

    questions: tuple[Question, ...]
    parts: tuple[Part, ...]
    weights: Array
    targets: dict[Coordinate, Array]
    """questions x identities: each row sums to 1, or to 0 where nothing is known."""

    def rows(self, part: Part) -> NDArray[np.int64]:
        return np.array([number for number, own in enumerate(self.parts) if own == part], dtype=np.int64)


def read_targets(
    training: TrainingSet, questions: Iterable[Question], model: IdentityModel, cap: int, report: Report
) -> QuestionSet:
    """Targets of all questions whose database is annotated. `cap`: so many questions of one database count in full."""
    parts: dict[Key, Part] = {item.label.database: item.part for item in training.objects}
    chosen = _distinct(questions, parts)
    if not any(parts[home_of_question(question)] == "train" for question in chosen):
        raise UserError("the corpus has no question of an annotated training database: nothing to train on")
    annotated = _annotated(training)
    learned = _learned(training, [q for q in chosen if parts[home_of_question(q)] == "train"], annotated, model, report)
    counts = Counter(home_of_question(question) for question in chosen)
    sizes = {coordinate: len(model.inventory.of(coordinate)) for coordinate in COORDINATES}
    targets = {coordinate: np.zeros((len(chosen), size)) for coordinate, size in sizes.items()}
    for row, question in enumerate(chosen):
        for place in gold_places(question):
            for coordinate in COORDINATES:
                identity = annotated[coordinate].get(place)
                if identity is not None:
                    targets[coordinate][row, identity] += 1.0
                elif place in learned:
                    targets[coordinate][row] += learned[place][coordinate]
    for target in targets.values():
        target /= np.maximum(target.sum(axis=1, keepdims=True), 1e-12)
    return QuestionSet(
        tuple(chosen),
        tuple(parts[home_of_question(question)] for question in chosen),
        np.array([min(1.0, cap / counts[home_of_question(question)]) for question in chosen]),
        targets,
    )


def home_of_question(question: Question) -> Key:
    """The database whose schema the question is asked of."""
    corpus, database = question.database
    return SCHEMAS_OF.get(corpus, corpus), database


def gold_places(question: Question) -> list[Place]:
    """The columns that the query reads, and each table of which it reads no column (a count of rows)."""
    home = home_of_question(question)
    read = {table for table, _ in question.columns}
    bare = [table for table in question.tables if table not in read]
    return [(home, table, column) for table, column in question.columns] + [(home, table, None) for table in bare]


def _distinct(questions: Iterable[Question], parts: dict[Key, Part]) -> list[Question]:
    """Each question of a database once; what training asks in the same words is not asked of a held-out database."""
    found: dict[tuple[Key, str], Question] = {}
    for question in questions:
        if home_of_question(question) in parts and question.text.strip():
            found.setdefault((home_of_question(question), _folded(question.text)), question)
    seen = {text for (home, text) in found if parts[home] == "train"}
    return [question for (home, text), question in found.items() if parts[home] == "train" or text not in seen]


def _folded(text: str) -> str:
    return " ".join(text.lower().split())


def _annotated(training: TrainingSet) -> dict[Coordinate, dict[Place, int]]:
    found: dict[Coordinate, dict[Place, int]] = {"entity": {}, "attribute": {}}
    for item in training.objects:
        place = (item.label.database, item.label.table, item.label.column)
        if item.label.entity >= 0:
            found["entity"][place] = item.label.entity
        if item.label.attribute is not None:
            found["attribute"][place] = item.label.attribute
    return found


def _learned(
    training: TrainingSet,
    questions: Sequence[Question],
    annotated: dict[Coordinate, dict[Place, int]],
    model: IdentityModel,
    report: Report,
) -> dict[Place, dict[Coordinate, Array]]:
    """The identity model's profiles of the columns that questions read and nobody annotated."""
    wanted = {
        place
        for question in questions
        for place in gold_places(question)
        if place[2] is not None and any(place not in annotated[coordinate] for coordinate in COORDINATES)
    }
    homes = sorted({place[0] for place in wanted})
    found: dict[Place, dict[Coordinate, Array]] = {}
    for number, home in enumerate(homes):
        report(f"profiles of columns without annotation, database {number + 1} of {len(homes)}", number / len(homes))
        environment = training.environments[home]
        _, _, realised = realise_environment(environment, model)
        for row, (table, column) in enumerate(environment.objects):
            place = (home, table.name, None if column is None else column.name)
            if place in wanted:
                found[place] = {c: realised[c].memberships[row] for c in COORDINATES}
    return found


CUTS = (1, 3, 5, 10)
SHOWN_IDENTITIES, SHOWN_QUESTIONS = 3, 3


@dataclass(frozen=True)
class DemandQuality:
    """Figures of one coordinate over one part; every mean is weighted as in training (no database dominates)."""

    questions: int
    cross_entropy: float
    recall: dict[int, float]
    """The share of a question's gold identities among the first 1, 3, 5, 10 of its demand."""


def demand_quality(demand: Array, target: Array, weights: Array) -> DemandQuality:
    """Questions without a target do not count."""
    known = target.sum(axis=1) > 0
    if not known.any():
        return DemandQuality(0, float("nan"), {cut: float("nan") for cut in CUTS})
    demand, target, share = demand[known], target[known], weights[known] / weights[known].sum()
    loss = -(target * np.log(np.maximum(demand, 1e-300))).sum(axis=1)
    gold = target > 0
    ranked = np.take_along_axis(gold, np.argsort(-demand, axis=1, kind="stable"), axis=1)
    recall = {cut: float(share @ (ranked[:, :cut].sum(axis=1) / gold.sum(axis=1))) for cut in CUTS}
    return DemandQuality(int(known.sum()), float(share @ loss), recall)


def prior_demand(target: Array, weights: Array) -> Array:
    """What is asked for on average: the demand of someone who does not read the question."""
    total: Array = weights @ target + 1e-4
    return total / total.sum()


def prototype_use(requirements: Array, weights: Array) -> dict[str, float]:
    """How many prototypes are some question's nearest, and how many they are in effect (exp of the entropy of use)."""
    use = weights @ requirements / weights.sum()
    entropy = -float((use * np.log(np.maximum(use, 1e-300))).sum())
    return {
        "prototypes": requirements.shape[1],
        "live": len(np.unique(requirements.argmax(axis=1))),
        "effective": float(np.exp(entropy)),
        "mean_largest": float(requirements.max(axis=1).mean()),
    }


def meanings(
    model: QueryModel,
    questions: QuestionSet,
    rows: NDArray[np.int64],
    requirements: Array,
    names: dict[Coordinate, list[str]],
) -> list[str]:
    """One line per prototype, the most used first: the identities its questions demand beyond the average, and the
    training questions that require it most. `requirements` are those of `rows`."""
    demand = model.demand(requirements).identities
    weights = questions.weights[rows]
    nearest = requirements.argmax(axis=1)
    use = weights @ requirements
    lines = []
    for prototype in np.argsort(-use, kind="stable"):
        own = nearest == prototype
        if not own.any():
            continue
        parts = []
        for coordinate in COORDINATES:
            overall = weights @ demand[coordinate] / weights.sum()
            here = weights[own] @ demand[coordinate][own] / weights[own].sum()
            top = np.argsort(-here * np.log(here / overall), kind="stable")[:SHOWN_IDENTITIES]
            parts.append(", ".join(names[coordinate][identity] for identity in top))
        first = np.argsort(-requirements[:, prototype], kind="stable")[:SHOWN_QUESTIONS]
        asked = " / ".join(questions.questions[int(rows[number])].text.strip() for number in first)
        lines.append(f"{prototype}: {parts[0]} | {parts[1]} | {asked}")
    return lines
