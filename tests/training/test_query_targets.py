"""What questions demand: targets from gold columns, no database that dominates, and the figures. Needs no torch."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest

from coset.errors import UserError
from coset.identities.inventory import COORDINATES
from coset.identities.model import IdentityModel, load_model
from coset.readings.observed import ObservedColumn, ObservedEnvironment, ObservedTable
from coset.training.annotation import Key, Labelled, Part
from coset.training.data.corpora import Question
from coset.training.data.labelled_objects import TrainingObject, TrainingSet
from coset.training.routing.query_targets import (
    QuestionSet,
    demand_quality,
    gold_places,
    home_of_question,
    prior_demand,
    prototype_use,
    read_targets,
)

THINGS = {"customer": "customers", "student": "students", "patient": "patients", "product": "products"}
FACTS = {"name": "name", "birth_date": "date_of_birth", "price": "price"}
WORDS = {"name": "names", "birth_date": "birth dates", "price": "prices"}
TEMPLATES = (
    "show the {fact} of all {thing}",
    "what are the {fact} of the {thing} in the list",
    "{thing} and their {fact}",
)
PARTS: dict[Key, Part] = {
    ("spider", "one"): "train", ("spider", "two"): "train", ("own", "three"): "dev", ("own", "four"): "validation",
}  # fmt: skip


def quiet(_text: str, _share: float) -> None:
    pass


@lru_cache
def identity_model() -> IdentityModel:
    return load_model(None, None, 1)


@lru_cache
def training_set() -> TrainingSet:
    """Four databases with the same tables; the price of products in database two is nobody's annotation."""
    inventory = identity_model().inventory
    environments, objects = {}, []
    for key, part in PARTS.items():
        tables = []
        for entity, name in THINGS.items():
            table = ObservedTable(
                name, tuple(ObservedColumn(fact, reference=f"{name}.{fact}") for fact in FACTS.values()), name
            )
            tables.append(table)
            number = inventory.position("entity", entity)
            objects.append(TrainingObject(Labelled(key, name, None, number, None), part, table, None, -1))
            for position, (fact, column) in enumerate(zip(FACTS, table.columns, strict=True)):
                if (key[1], entity, fact) == ("two", "product", "price"):
                    continue
                attribute = _attribute(fact)
                objects.append(
                    TrainingObject(Labelled(key, name, column.name, number, attribute), part, table, column, position)
                )
        environments[key] = ObservedEnvironment("/".join(key), tuple(tables))
    return TrainingSet(environments, objects, {}, {})


def _attribute(fact: str) -> int:
    ids = identity_model().inventory.ids("attribute")
    return {"name": ids.index("name"), "birth_date": ids.index("birth_date"), "price": ids.index("price_of")}[fact]


def questions() -> list[Question]:
    found = []
    for number, key in enumerate(PARTS):
        for table in THINGS.values():
            for fact, column in FACTS.items():
                for template in TEMPLATES:
                    text = template.format(fact=WORDS[fact], thing=table)
                    # Held-out databases are asked in words of their own.
                    text = text if number < 2 else f"{text} please"
                    text = f"{text} ({number})"
                    found.append(Question(key, text, (table,), ((table, column),)))
    return found


def targets(asked: list[Question], cap: int = 1000) -> QuestionSet:
    return read_targets(training_set(), asked, identity_model(), cap, quiet)


def test_a_target_is_the_distribution_of_the_gold_columns_identities() -> None:
    question = Question(
        ("spider", "one"), "who", ("customers", "students"),
        (("customers", "name"), ("customers", "price"), ("students", "name")),
    )  # fmt: skip
    found = targets([question])
    ids = {c: identity_model().inventory.ids(c) for c in COORDINATES}
    named = {ids["entity"][n]: round(v, 3) for n, v in enumerate(found.targets["entity"][0]) if v > 0}
    assert named == {"customer": 0.667, "student": 0.333}
    named = {ids["attribute"][n]: round(v, 3) for n, v in enumerate(found.targets["attribute"][0]) if v > 0}
    assert named == {"name": 0.667, "price_of": 0.333}


def test_a_table_that_is_only_counted_gives_its_entity_and_no_attribute() -> None:
    question = Question(("spider", "one"), "how many patients?", ("patients",), ())
    assert gold_places(question) == [(("spider", "one"), "patients", None)]
    found = targets([question])
    ids = identity_model().inventory.ids("entity")
    assert found.targets["entity"][0, ids.index("patient")] == 1.0
    assert found.targets["attribute"].sum() == 0.0


def test_a_column_without_annotation_has_the_models_profile_in_training_and_nothing_elsewhere() -> None:
    question = Question(("spider", "two"), "prices?", ("products",), (("products", "price"),))
    target = targets([question]).targets["attribute"][0]
    assert abs(target.sum() - 1) < 1e-9 and (target > 0).sum() > 1
    held_out = Question(("own", "three"), "unknown?", ("products",), (("products", "no such column"),))
    found = targets([question, held_out])
    assert found.targets["attribute"][1].sum() == 0.0


def test_questions_of_spider_syn_are_asked_of_spiders_databases() -> None:
    question = Question(("spider_syn", "one"), "buyers' names", ("customers",), (("customers", "name"),))
    assert home_of_question(question) == ("spider", "one")
    assert targets([question]).parts == ("train",)


def test_no_database_dominates_and_no_held_out_question_was_trained_on() -> None:
    many = [Question(("spider", "one"), f"name {n}", ("customers",), (("customers", "name"),)) for n in range(50)]
    twice = [*many, many[0], Question(("own", "four"), "Name  7", ("customers",), (("customers", "name"),))]
    few = [Question(("spider", "two"), f"name {n}", ("customers",), (("customers", "name"),)) for n in range(5)]
    found = targets([*twice, *few], cap=10)
    assert len(found.questions) == 55 and "validation" not in found.parts
    one = np.array([question.database[1] == "one" for question in found.questions])
    assert abs(found.weights[one].sum() - 10) < 1e-9 and abs(found.weights[~one].sum() - 5) < 1e-9


def test_a_corpus_without_training_questions_is_named() -> None:
    with pytest.raises(UserError, match="nothing to train on"):
        targets([Question(("own", "four"), "x", ("customers",), ())])


def test_recall_and_cross_entropy_are_those_of_a_hand_count() -> None:
    demand = np.array([[0.5, 0.3, 0.2], [0.1, 0.2, 0.7], [0.4, 0.3, 0.3]])
    target = np.array([[0.0, 1.0, 0.0], [0.5, 0.0, 0.5], [0.0, 0.0, 0.0]])
    found = demand_quality(demand, target, np.array([3.0, 1.0, 9.0]))
    assert found.questions == 2
    assert abs(found.recall[1] - (0.75 * 0 + 0.25 * 0.5)) < 1e-12 and abs(found.recall[3] - 1.0) < 1e-12
    expected = 0.75 * -np.log(0.3) + 0.25 * -(0.5 * np.log(0.1) + 0.5 * np.log(0.7))
    assert abs(found.cross_entropy - expected) < 1e-12
    assert np.allclose(prior_demand(target[:2], np.array([3.0, 1.0])), [0.125, 0.75, 0.125], atol=1e-3)
    use = prototype_use(np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]), np.ones(2))
    assert use["live"] == 2 and abs(use["effective"] - 2) < 1e-9
