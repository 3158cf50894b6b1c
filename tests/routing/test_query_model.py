"""Requirements and demand: the paper's factorisation, its counterexample, and the file that ships."""

from __future__ import annotations

import inspect
import json
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from safetensors.numpy import load_file, save_file

from coset.errors import CosetError, UserError
from coset.identities.inventory import COORDINATES, load_inventory
from coset.identities.model import IdentityModel, load_model
from coset.routing.ranking.model import load_routing_model
from coset.routing.ranking.query_model import QUERY_FILE, Projection, QueryModel, question_vectors

PROTOTYPES, WIDTH = 7, 5


def made(model: IdentityModel, seed: int = 3) -> QueryModel:
    """A query model with random weights over the shipped inventory."""
    generator = np.random.default_rng(seed)
    return QueryModel(
        Projection(
            generator.normal(size=(384, WIDTH)), generator.normal(size=WIDTH), np.ones(WIDTH), np.zeros(WIDTH)
        ),
        generator.normal(size=(PROTOTYPES, WIDTH)).astype(np.float32).astype(np.float64),
        0.5,
        {c: generator.normal(size=(PROTOTYPES, len(model.inventory.of(c)))) * 5 for c in COORDINATES},
        {c: model.inventory.ids(c) for c in COORDINATES},
        model.name,
    )  # fmt: skip


@lru_cache
def identity_model() -> IdentityModel:
    return load_model(None, None, 1)


@lru_cache
def query_model() -> QueryModel:
    return made(identity_model())


profiles = arrays(np.float64, PROTOTYPES, elements=st.floats(0, 1)).map(lambda raw: (raw + 1e-9) / (raw + 1e-9).sum())
embeddings = arrays(np.float64, WIDTH, elements=st.floats(-50, 50))


@given(profiles, st.lists(profiles, max_size=5), st.integers(0, 5))
def test_equal_requirements_give_equal_demand_whatever_stands_beside_them(
    profile: np.ndarray, others: list[np.ndarray], at: int
) -> None:
    alone = query_model().demand(profile)
    beside = np.array([*others[:at], profile, *others[at:]])
    together = query_model().demand(beside)
    for coordinate in COORDINATES:
        row = together.identities[coordinate][min(at, len(others))]
        assert alone.identities[coordinate].tobytes() == row.tobytes()


@given(embeddings, st.floats(-20, 20))
def test_two_questions_with_the_same_distances_to_all_prototypes_are_one_to_demand(
    embedded: np.ndarray, height: float
) -> None:
    # The prototypes lie in a plane; two points that mirror each other in it are told apart by no prototype.
    flat = query_model().prototypes.copy()
    flat[:, -1] = 0.0
    model = replace(query_model(), prototypes=flat)
    above, below = embedded.copy(), embedded.copy()
    above[-1], below[-1] = height, -height
    first, second = (model.demand(model.profile(point[None])[0]) for point in (above, below))
    for coordinate in COORDINATES:
        assert first.identities[coordinate].tobytes() == second.identities[coordinate].tobytes()


@given(embeddings)
def test_requirements_and_demand_are_points_of_a_simplex(embedded: np.ndarray) -> None:
    profile = query_model().profile(embedded[None])[0]
    demand = query_model().demand(profile)
    for point in (profile, *demand.identities.values()):
        assert (point >= 0).all() and abs(point.sum() - 1) < 1e-9


@given(arrays(np.float64, (2, WIDTH), elements=st.floats(-9, 9)))
def test_a_nearer_prototype_is_never_required_less(embedded: np.ndarray) -> None:
    distance = np.linalg.norm(embedded[:, None] - query_model().prototypes[None], axis=2)
    profile = query_model().profile(embedded)
    for row in range(2):
        assert (np.diff(profile[row][np.argsort(distance[row])]) <= 1e-12).all()


def test_the_hard_class_of_a_question_is_not_enough() -> None:
    """The paper's counterexample: M = I_2; both profiles have the same largest entry, their odds differ."""
    one = np.eye(2)
    model = QueryModel(
        Projection(np.zeros((1, 2)), np.zeros(2), np.ones(2), np.zeros(2)), np.eye(2), 1.0,
        {"entity": one, "attribute": one}, {"entity": ("a", "b"), "attribute": ("a", "b")}, "",
    )  # fmt: skip
    odds = []
    for profile in (np.array([3 / 4, 1 / 4]), np.array([2 / 3, 1 / 3])):
        assert profile.argmax() == 0
        for activations in model.demand(profile).identities.values():
            odds.append(activations[0] / activations[1])
    assert np.allclose(odds, [np.exp(1 / 2), np.exp(1 / 2), np.exp(1 / 3), np.exp(1 / 3)])


def test_both_coordinates_share_the_requirements_and_their_product_is_a_simplex() -> None:
    demand = query_model().ask("which customers ordered in May?", identity_model().text_encoder)
    product = np.outer(demand.identities["entity"], demand.identities["attribute"])
    assert demand.requirements.shape == (PROTOTYPES,) and abs(product.sum() - 1) < 1e-9
    again = query_model().demand(demand.requirements)
    assert all((again.identities[c] == demand.identities[c]).all() for c in COORDINATES)


def test_demand_takes_words_alone_and_is_the_same_beside_other_questions() -> None:
    """No environment can enter: the whole query side has no parameter for one; and no other question matters."""
    allowed = {"self", "question", "text_encoder", "requirements", "vectors", "embedded"}
    for name in ("ask", "demand", "requirements", "profile"):
        assert set(inspect.signature(getattr(QueryModel, name)).parameters) <= allowed
    encoder = identity_model().text_encoder
    question = "total sales per region in 2021"
    others = ["who wrote the most papers?", question, "x " * 200]
    beside = query_model().demand(query_model().requirements(question_vectors(others, encoder)))
    alone = query_model().ask(question, encoder)
    for coordinate in COORDINATES:
        assert alone.identities[coordinate].tobytes() == beside.identities[coordinate][1].tobytes()


@pytest.mark.parametrize("blank", ["", "  \n\t ", "\u3000"])
def test_an_empty_question_is_refused_in_a_sentence(blank: str) -> None:
    with pytest.raises(UserError, match="the question is empty"):
        query_model().ask(blank, identity_model().text_encoder)
    with pytest.raises(UserError, match="question 2 is empty"):
        question_vectors(["one", blank], identity_model().text_encoder)


@pytest.mark.parametrize(
    "question",
    [
        "Wie viele Kunden gibt es in Zürich?",
        "每个地区的总销售额是多少？" * 30,
        "🧬🧬",
        "\u202eabc\x00",
        "?",
        "a" * 50_000,
    ],
)
def test_any_words_have_a_demand(question: str) -> None:
    demand = query_model().ask(question, identity_model().text_encoder)
    assert all(abs(point.sum() - 1) < 1e-9 for point in demand.identities.values())


def test_the_end_of_a_long_question_counts() -> None:
    """The text encoder alone reads 44 pieces; a question is read to its end."""
    begin = "please note that the following request is urgent and comes from our board " * 5
    encoder = identity_model().text_encoder
    first, second = (question_vectors([begin + end], encoder)[0] for end in ("number of patients", "price of stocks"))
    assert not np.allclose(first, second, atol=1e-3)
    assert abs(np.linalg.norm(first) - 1) < 1e-5


def test_a_saved_model_comes_back_as_it_was(tmp_path: Path) -> None:
    model = query_model()
    model.save(tmp_path, identity_model().inventory)
    back = QueryModel.load(identity_model(), tmp_path)
    profile = np.full(PROTOTYPES, 1 / PROTOTYPES)
    for coordinate in COORDINATES:
        assert np.allclose(
            back.demand(profile).identities[coordinate], model.demand(profile).identities[coordinate], rtol=5e-3
        )
    assert back.identities == model.identities and back.temperature == model.temperature


OWN = """
entities:
  - {id: vessel, name: Vessel, meaning: "a ship or boat", examples: [vessel, ship]}
  - {id: vip_customer, name: VIP customer, parent: customer, meaning: "a customer with a contract of their own"}
attributes:
  - {id: tonnage, name: Tonnage, meaning: "how much a ship can carry"}
"""


def test_an_identity_of_the_users_gets_demand_and_leaves_the_others_their_odds(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(OWN, encoding="utf-8")
    query_model().save(tmp_path, identity_model().inventory)
    plain = QueryModel.load(identity_model(), tmp_path)
    extended_model = replace(identity_model(), inventory=load_inventory(path))
    extended = QueryModel.load(extended_model, tmp_path)
    assert extended.identities["entity"][-2:] == ("vessel", "vip_customer")
    matrix = extended.compatibility["entity"]
    assert (matrix[:, :-2] == plain.compatibility["entity"]).all()
    assert extended.compatibility["attribute"].shape[1] == plain.compatibility["attribute"].shape[1] + 1
    # The named parent is one of the three whose mean the new column is.
    parent = extended.identities["entity"].index("customer")
    rest = 3 * matrix[:, -1] - matrix[:, parent]
    known = matrix[:, :-2]
    pairs = np.abs(known[:, :, None] + known[:, None, :] - rest[:, None, None]).max(axis=0)
    assert pairs.min() < 1e-4
    profile = np.full(PROTOTYPES, 1 / PROTOTYPES)
    before, after = (model.demand(profile).identities["entity"] for model in (plain, extended))
    assert after[-1] > 0 and np.allclose(after[:-2] / after[:-2].sum(), before)
    # What is saved again is the shipped part, and loads.
    extended.save(tmp_path / "again", extended_model.inventory)
    assert QueryModel.load(identity_model(), tmp_path / "again").identities == plain.identities


def change(folder: Path, **about: object) -> None:
    from safetensors import safe_open

    with safe_open(folder / QUERY_FILE, framework="numpy") as stored:
        old = json.loads(stored.metadata()["coset"])
    save_file(load_file(folder / QUERY_FILE), folder / QUERY_FILE, metadata={"coset": json.dumps({**old, **about})})


@pytest.mark.parametrize(
    ("about", "words"),
    [
        ({"version": 99}, "version 99, this coset reads version 1"),
        ({"inventory": "0" * 16}, "belong to another inventory"),
        ({"made_with": "encoder 9"}, "made with encoder 9, this is"),
        ({"temperature": "warm"}, "incomplete"),
        ({"temperature": 0.0}, "do not fit together"),
    ],
)
def test_weights_of_another_kind_are_refused(tmp_path: Path, about: dict[str, object], words: str) -> None:
    query_model().save(tmp_path, identity_model().inventory)
    change(tmp_path, **about)
    with pytest.raises(CosetError, match=words):
        QueryModel.load(identity_model(), tmp_path)


def test_broken_missing_and_ill_shaped_weights_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CosetError, match="are not in"):
        QueryModel.load(identity_model(), tmp_path)
    (tmp_path / QUERY_FILE).write_bytes(b"\x08\x00\x00\x00\x00\x00\x00\x00{broken}")
    with pytest.raises(CosetError, match="cannot be read"):
        QueryModel.load(identity_model(), tmp_path)
    for changed, words in (
        (replace(query_model(), prototypes=query_model().prototypes[:3]), "do not fit together"),
        (replace(query_model(), prototypes=query_model().prototypes * np.nan), "do not fit together"),
    ):
        changed.save(tmp_path, identity_model().inventory)
        with pytest.raises(CosetError, match=words):
            QueryModel.load(identity_model(), tmp_path)


def test_the_model_that_ships_reads_plain_questions() -> None:
    """Fails also when the routing encoder was trained anew and the query stage did not follow."""
    shipped = load_routing_model(identity_model(), threads=1)
    entities = shipped.queries.identities["entity"]

    def top(question: str) -> list[str]:
        found = shipped.queries.ask(question, shipped.encoder).identities["entity"]
        return [entities[number] for number in np.argsort(-found, kind="stable")[:5]]

    assert "student" in top("List the names of all students and their majors.")
    assert "product" in top("What is the price of each product?")
    assert "patient" in top("How many patients were admitted last month?")


def test_an_environments_content_does_not_change_the_shipped_demand() -> None:
    """The same question before and after an environment of opposite content was read by the same encoder."""
    shipped = load_routing_model(identity_model(), threads=1)
    question = "Which customers paid late?"
    before = shipped.queries.ask(question, shipped.encoder)
    shipped.encoder.encode(["table genes | columns symbol, chromosome", question, "patient | hospital", *"abc"])
    other = load_routing_model(identity_model(), threads=2)
    for after in (shipped.queries.ask(question, shipped.encoder), other.queries.ask(question, other.encoder)):
        for coordinate in COORDINATES:
            assert before.identities[coordinate].tobytes() == after.identities[coordinate].tobytes()
