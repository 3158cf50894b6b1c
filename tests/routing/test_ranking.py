"""The learned combination: candidates, context, and what it may not do."""

from dataclasses import replace

import numpy as np
import pytest

from coset.errors import CosetError
from coset.readings.observed import ObservedColumn, ObservedEnvironment, ObservedTable
from coset.routing.ranking.features import COLUMN_FEATURES, TABLE_FEATURES, candidates
from coset.routing.ranking.index import RoutingIndex, build_index
from coset.routing.ranking.model import load_ranker, load_routing_model, save_ranker
from coset.routing.ranking.query_model import encode_question
from coset.routing.ranking.ranker import SelectionSettings, join_keys, kept_columns
from coset.routing.request import Anchor


@pytest.fixture(scope="module")
def model():
    return load_routing_model()


def table(name: str, *columns: str) -> ObservedTable:
    return ObservedTable(name, tuple(ObservedColumn(column, "text", f"{name}.{column}") for column in columns), name)


SHOP = (
    table("customers", "customer_id", "customer_name", "city"),
    table("orders", "order_id", "customer_id", "ordered_at", "total_amount"),
    table("staff", "staff_id", "staff_name", "salary"),
)


@pytest.fixture(scope="module")
def index(model) -> RoutingIndex:
    return build_index(
        ObservedEnvironment("", SHOP), model.encoder, lambda _: "shop",
        [("orders.customer_id", "customers.customer_id")],
    )  # fmt: skip


def scores(model, index: RoutingIndex, question: str, anchors: tuple[Anchor, ...] = ()) -> dict[str, float]:
    found = candidates(encode_question(question, model.encoder), None, anchors, index)
    ranking = model.ranker.rank(found, index)
    return {
        index.columns[column]: float(score)
        for column, score in zip(ranking.columns, ranking.column_scores, strict=True)
    }


def test_features_have_the_promised_width(model, index: RoutingIndex):
    found = candidates(encode_question("salary of staff", model.encoder), None, (), index)
    assert found.column_features.shape == (len(index.columns), len(COLUMN_FEATURES))
    assert found.table_features.shape == (len(index.tables), len(TABLE_FEATURES))
    assert np.isfinite(found.column_features).all() and np.isfinite(found.table_features).all()


def test_what_is_asked_for_scores_above_what_is_not(model, index: RoutingIndex):
    found = scores(model, index, "What is the average salary of the staff?")
    assert max(found, key=found.__getitem__) == "staff.salary"
    assert found["staff.salary"] > 10 * found["orders.ordered_at"]


def test_a_join_raises_the_keys_that_make_it(model, index: RoutingIndex):
    question = "Total amount of the orders of each customer name"
    linked = scores(model, index, question)
    apart = scores(model, replace(index, links=index.links[:0]), question)
    assert linked["orders.customer_id"] > apart["orders.customer_id"]
    assert linked["customers.customer_id"] > apart["customers.customer_id"]


def test_a_value_found_in_a_column_raises_it(model, index: RoutingIndex):
    plain = scores(model, index, "How many are there in Paris?")
    anchor = Anchor("Paris", "customers.city", "value", "exact", 1.0, "Paris")
    assert scores(model, index, "How many are there in Paris?", (anchor,))["customers.city"] > plain["customers.city"]


def test_the_same_question_has_the_same_scores(model, index: RoutingIndex):
    assert scores(model, index, "city of customers") == scores(model, index, "city of customers")


def test_tables_of_a_likely_group_that_are_no_candidates_are_told_too(model):
    clinic = [table(f"clinic_log_{number}", "x", "y") for number in range(30)]
    clinic.append(table("patients", "patient_name", "blood_group", "ward"))
    far = [table(f"parts_{number}", *(f"part_{number}_{place}" for place in range(30))) for number in range(50)]
    index = build_index(
        ObservedEnvironment("", (*clinic, *far)), model.encoder, lambda name: "far" if "parts_" in name else "clinic"
    )
    found = candidates(encode_question("Which patients have which blood group?", model.encoder), None, (), index)
    assert set(found.tables) & set(found.rest) == set() and len(found.tables) + len(found.rest) == len(index.tables)
    best = model.ranker.rank(found, index).best_tables()
    assert sorted(best) == list(range(len(index.tables)))
    assert index.tables[best[0]] == "patients"
    # The right group is all but sure: what nobody looked at there comes before nearly all of the other group.
    first = [index.tables[number] for number in best[: len(clinic)]]
    assert sum(name.startswith("clinic") for name in first) > 5
    unseen = {index.tables[number] for number in found.rest if index.group_of[number] == index.group_of[best[0]]}
    assert not unseen or unseen & set(first)


def test_join_keys_of_chosen_tables_are_kept(model, index: RoutingIndex):
    assert {index.columns[number] for number in join_keys({0, 1}, index)} == {
        "orders.customer_id",
        "customers.customer_id",
    }
    assert len(join_keys({0, 2}, index)) == 0
    found = candidates(encode_question("order totals by customer city", model.encoder), None, (), index)
    ranking = model.ranker.rank(found, index)
    kept = kept_columns(ranking, index, SelectionSettings(least_column=2.0, least_table=0.0, least_columns=1))
    assert {"orders.customer_id", "customers.customer_id"} <= {index.columns[number] for number in kept}


def test_an_environment_without_tables_has_no_candidates(model):
    empty = build_index(ObservedEnvironment("", ()), model.encoder, lambda _: "")
    found = candidates(encode_question("anything", model.encoder), None, (), empty)
    assert len(model.ranker.rank(found, empty).best_tables()) == 0


def test_a_table_without_columns_does_no_harm(model):
    odd = build_index(ObservedEnvironment("", (table("empty"), *SHOP)), model.encoder, lambda _: "shop")
    found = scores(model, odd, "salary of staff")
    assert max(found, key=found.__getitem__) == "staff.salary"


@pytest.mark.parametrize("tables", [(table("empty"), *SHOP), (*SHOP, table("empty"))])
def test_a_group_without_columns_does_no_harm(model, tables):
    odd = build_index(ObservedEnvironment("", tables), model.encoder, lambda name: "a" if name == "empty" else "shop")
    found = scores(model, odd, "salary of staff")
    assert max(found, key=found.__getitem__) == "staff.salary"


def test_a_long_question_is_read_in_windows(model):
    long = encode_question("total amount of orders " * 400, model.encoder)
    short = encode_question("total amount of orders", model.encoder)
    assert float(long.whole @ short.whole) > 0.7
    assert np.isclose(np.linalg.norm(long.whole), 1.0, atol=1e-4)


def test_damaged_weights_are_told(model, tmp_path):
    path = tmp_path / "ranker.safetensors"
    save_ranker(path, model.ranker)
    again = load_ranker(path)
    assert again.networks.keys() == model.ranker.networks.keys()
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(CosetError, match=r"ranker\.safetensors"):
        load_ranker(path)
