"""The training of the fuzzy matcher: it learns to tell true pairs from near ones, and the same thing every time."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks import joins_training
from coset.relations.transformations import weights

PLACES = ["Oslo", "Bergen", "Lima", "Quito", "Accra", "Dakar", "Hanoi", "Perth", "Turin", "Leeds", "Basel", "Lyon"]
KINDS = {"Hospital": "General Hospital", "Library": "Library (building)", "Station": "Railway Station"}


@pytest.fixture
def tasks(tmp_path):
    for number, (kind, written) in enumerate(KINDS.items()):
        folder = tmp_path / f"titles__{kind}"
        folder.mkdir()
        left = [f"{kind} of {place}" for place in PLACES] + [f"Old {kind} of {place}" for place in PLACES]
        right = [f"{place} {written}" for place in PLACES[number:]]
        for side, column in (("left", left), ("right", right)):
            with (folder / f"{side}.csv").open("w", newline="") as lines:
                csv.writer(lines).writerows([("id", "title"), *enumerate(column)])
        with (folder / "gold.csv").open("w", newline="") as lines:
            csv.writer(lines).writerows(
                [("left_id", "right_id"), *((place + number, place) for place in range(len(right)))]
            )
        (folder / "columns.json").write_text(json.dumps({"left_column": "title", "right_column": "title"}))
    return tmp_path


@pytest.fixture
def kept_weights():
    kept = weights.RANKING, weights.CONTEST, weights.TRUST
    yield
    weights.RANKING, weights.CONTEST, weights.TRUST = kept


def test_weights_rank_true_pairs_first_and_are_the_same_every_time(tasks):
    lessons = joins_training.lessons_of(tasks, "titles")
    one, other = joins_training.fit(lessons), joins_training.fit(joins_training.lessons_of(tasks, "titles"))
    assert joins_training.written(one) == joins_training.written(other)
    for lesson in lessons:
        best = joins_training.fuzzy.winners(lesson.found, one.ranking, one.contest)
        assert lesson.true[best.places].all()


def test_what_is_written_has_a_line_for_every_feature(tasks):
    fitted = joins_training.fit(joins_training.lessons_of(tasks, "titles"))
    names: dict[str, np.ndarray] = {}
    exec(joins_training.written(fitted), names)
    assert np.allclose(names["RANKING"], fitted.ranking, atol=5e-4)
    assert np.allclose(names["CONTEST"], fitted.contest, atol=5e-4)
    assert np.allclose(names["TRUST"], fitted.trust, atol=5e-4)


def test_the_weights_in_use_fit_the_features():
    assert len(weights.RANKING) == len(joins_training.FEATURES)
    assert len(weights.CONTEST) == len(joins_training.CONTEST)
    assert len(weights.TRUST) == len(joins_training.EVIDENCE)


def test_every_task_is_scored_by_weights_that_have_not_seen_it(tasks, kept_weights, capsys, monkeypatch):
    taught: list[set[str]] = []
    fit = joins_training.fit

    def watched(lessons):
        taught.append({lesson.task.name for lesson in lessons})
        return fit(lessons)

    monkeypatch.setattr(joins_training, "fit", watched)
    joins_training.cross_fit(joins_training.lessons_of(tasks, "titles"), folds=3, seed=0)
    assert sorted(len(names) for names in taught) == [2, 2, 2] and len(set.intersection(*taught)) == 0
    assert "3 tasks, seed 0: mean P" in capsys.readouterr().out
