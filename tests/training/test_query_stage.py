"""The query stage: what is trained is what ships, it reads databases it never saw, and it is the same every time."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from test_query_targets import identity_model, questions, quiet, training_set  # noqa: E402

from coset.identities.inventory import COORDINATES  # noqa: E402
from coset.routing.ranking.query_model import QUERY_FILE, QueryModel, question_vectors  # noqa: E402
from coset.training.routing.query_fit import (  # noqa: E402
    QuerySettings,
    TorchProjection,
    fit_compatibility,
    place_prototypes,
)
from coset.training.routing.query_stage import main, readable, train_queries  # noqa: E402

SMALL = QuerySettings(prototypes=8, width=32, epochs=60, batch=16, ridge=1e-4)


@lru_cache
def trained(seed: int = 1) -> tuple[QueryModel, dict]:
    torch.set_num_threads(1)
    model = identity_model()
    return train_queries(
        training_set(), questions(), model.text_encoder, model.inventory, model, seed, SMALL, quiet
    )  # fmt: skip


def test_the_projection_in_numpy_is_the_trained_one() -> None:
    torch.manual_seed(2)
    projection = TorchProjection(384, SMALL).eval()
    torch.nn.init.normal_(projection.norm.weight), torch.nn.init.normal_(projection.norm.bias)
    vectors = np.random.default_rng(4).normal(size=(9, 384)).astype(np.float32) / 20
    with torch.no_grad():
        theirs = projection(torch.from_numpy(vectors)).numpy()
    assert np.allclose(projection.as_numpy().project(vectors.astype(np.float64)), theirs, atol=1e-4)


def test_requirements_and_demand_in_numpy_are_torchs() -> None:
    model, _ = trained()
    vectors = question_vectors(["names of students", "price of products"], identity_model().text_encoder)
    embedded = torch.from_numpy(model.projection.project(vectors.astype(np.float64)))
    beta = torch.softmax(-torch.cdist(embedded, torch.from_numpy(model.prototypes)) / model.temperature, dim=1)
    demand = model.demand(model.requirements(vectors))
    assert np.allclose(demand.requirements, beta.numpy(), atol=1e-9)
    for coordinate in COORDINATES:
        theirs = torch.softmax(beta @ torch.from_numpy(model.compatibility[coordinate]), dim=1).numpy()
        assert np.allclose(demand.identities[coordinate], theirs, atol=1e-9)


def test_the_compatibility_recovers_demands_that_it_can_express() -> None:
    generator = np.random.default_rng(6)
    profiles = generator.dirichlet(np.full(4, 0.3), size=400)
    wanted = np.exp(profiles @ (generator.normal(size=(4, 6)) * 4))
    wanted /= wanted.sum(axis=1, keepdims=True)
    matrix = fit_compatibility(profiles, np.ones(400), wanted, QuerySettings(ridge=1e-9, rounds=300))
    found = np.exp(profiles @ matrix)
    assert np.abs(found / found.sum(axis=1, keepdims=True) - wanted).max() < 0.01


def test_prototypes_lie_where_questions_are_and_do_not_fall_together() -> None:
    generator = np.random.default_rng(7)
    middles = generator.normal(size=(5, 3)) * 50
    points = np.concatenate([middle + generator.normal(size=(40, 3)) for middle in middles])
    found, nearness = place_prototypes(points, np.ones(len(points)), 5, 1)
    assert np.linalg.norm(found[:, None] - middles[None], axis=2).min(axis=0).max() < 1.0 and 0 < nearness < 4
    alike, _ = place_prototypes(np.ones((10, 3)), np.ones(10), 5, 1)
    assert len(alike) == 1


def test_a_trained_model_reads_the_questions_of_a_database_it_never_saw() -> None:
    _, figures = trained()
    for coordinate in COORDINATES:
        found = figures["validation"][coordinate]
        assert found["demand"]["recall"][1] > 0.9 > found["prior"]["recall"][1]
        assert found["demand"]["cross_entropy"] < found["prior"]["cross_entropy"]
    assert figures["validation"]["databases"] == 1 and figures["prototypes"]["live"] >= 6
    assert len(figures["meanings"]) == figures["prototypes"]["live"]
    assert "validation entity demand" in readable(figures)


def test_training_is_the_same_under_its_seed() -> None:
    first, _ = trained()
    trained.cache_clear()
    second, _ = trained()
    other, _ = trained(2)
    assert first.prototypes.tobytes() == second.prototypes.tobytes()
    for coordinate in COORDINATES:
        assert first.compatibility[coordinate].tobytes() == second.compatibility[coordinate].tobytes()
    assert first.prototypes.tobytes() != other.prototypes.tobytes()


def test_a_trained_model_is_saved_and_loaded(tmp_path: Path) -> None:
    model, figures = trained()
    model.save(tmp_path, identity_model().inventory)
    assert (tmp_path / QUERY_FILE).stat().st_size < 1_000_000
    back = QueryModel.load(identity_model(), tmp_path)
    ask = "show the birth dates of all patients"
    encoder = identity_model().text_encoder
    for coordinate in COORDINATES:
        before, after = (each.ask(ask, encoder).identities[coordinate] for each in (model, back))
        assert np.allclose(before, after, atol=1e-3) and before.argmax() == after.argmax()
    assert json.loads(json.dumps(figures))["seed"] == 1


def test_the_command_names_the_folder_that_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["--corpus", str(tmp_path / "none"), "--weights", str(tmp_path), "--out", str(tmp_path)])
    assert code == 2 and "is no folder" in capsys.readouterr().err
    code = main(["--corpus", str(tmp_path), "--weights", str(tmp_path), "--out", str(tmp_path)])
    assert code == 1 and "routing_encoder.onnx" in capsys.readouterr().err
