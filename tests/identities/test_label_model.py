"""The label model: trust learned from agreement, opposition kept apart, and the table of labelers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coset.identities.signals import LabelModel, Signal, fit_label_model, labeler_table, signed_evidence

IDENTITIES = 12


def says(labeler: str, *identities: int, supports: bool = True) -> Signal:
    return Signal(labeler, "attribute", identities, supports, "because")


def spoken(
    truth: np.ndarray, accuracies: dict[str, float], against: dict[str, float], coverage: float = 0.7
) -> list[list[Signal]]:
    """Labelers that name one identity, right as often as told, and labelers that exclude three."""
    random = np.random.default_rng(11)
    objects: list[list[Signal]] = []
    for true in truth:
        signals = []
        others = [identity for identity in range(IDENTITIES) if identity != true]
        for labeler, accuracy in accuracies.items():
            if random.uniform() < coverage:
                signals.append(says(labeler, int(true if random.uniform() < accuracy else random.choice(others))))
        for labeler, accuracy in against.items():
            if random.uniform() < coverage:
                named = [int(other) for other in random.choice(others, 3, replace=False)]
                if random.uniform() >= accuracy:
                    named[0] = int(true)
                signals.append(says(labeler, *named, supports=False))
        objects.append(signals)
    return objects


def test_accuracies_are_recovered_from_agreement_alone() -> None:
    truth = np.random.default_rng(3).integers(IDENTITIES, size=900)
    real = {"sharp": 0.95, "good": 0.8, "fair": 0.6, "poor": 0.3}
    model = fit_label_model(spoken(truth, real, {"bouncer": 0.97, "grump": 0.75}), IDENTITIES)
    found = [model.accuracies[(name, True)] for name in real]
    assert found == sorted(found, reverse=True)
    assert found == pytest.approx(list(real.values()), abs=0.07)
    assert model.accuracies[("bouncer", False)] > model.accuracies[("grump", False)]
    assert model.accuracies[("bouncer", False)] == pytest.approx(0.97, abs=0.05)
    assert model.accuracies[("grump", False)] == pytest.approx(0.75, abs=0.07)


def test_the_learned_posterior_beats_any_single_labeler() -> None:
    truth = np.random.default_rng(4).integers(IDENTITIES, size=400)
    objects = spoken(truth, {"one": 0.75, "two": 0.7, "three": 0.65}, {"bouncer": 0.95}, coverage=1.0)
    model = fit_label_model(objects, IDENTITIES)
    right = np.mean(
        [model.posterior(signals, IDENTITIES).argmax() == true for signals, true in zip(objects, truth, strict=True)]
    )
    assert right > 0.82


def test_support_for_several_is_even_and_right_as_often_as_learned() -> None:
    model = LabelModel({("a", True): 0.9})
    posterior = model.posterior([says("a", 1, 3)], 5)
    assert posterior == pytest.approx([0.1 / 3, 0.45, 0.1 / 3, 0.45, 0.1 / 3])
    # A labeler that nobody measured starts at four in five.
    assert LabelModel({}).posterior([says("new", 0)], 5)[0] == pytest.approx(0.8)


def test_opposition_multiplies_odds_by_what_it_was_worth() -> None:
    model = LabelModel({("a", False): 0.9})
    posterior = model.posterior([says("a", 0, supports=False)], 3)
    assert posterior == pytest.approx([1 / 19, 9 / 19, 9 / 19])


@given(
    accuracy=st.floats(0.5, 0.98),
    named=st.sets(st.integers(0, 9), min_size=1, max_size=9),
    before=st.lists(st.tuples(st.integers(0, 9), st.booleans()), max_size=5),
)
def test_opposition_never_raises_what_it_names(
    accuracy: float, named: set[int], before: list[tuple[int, bool]]
) -> None:
    model = LabelModel({("a", False): accuracy})
    first = [says(f"other {number}", identity, supports=supports) for number, (identity, supports) in enumerate(before)]
    without = model.posterior(first, 10)
    after = model.posterior([*first, says("a", *sorted(named), supports=False)], 10)
    assert (after[sorted(named)] <= without[sorted(named)] + 1e-12).all()
    rest = [identity for identity in range(10) if identity not in named]
    assert (after[rest] >= without[rest] - 1e-12).all()
    assert after.sum() == pytest.approx(1.0)


def test_opposition_that_is_always_wrong_is_worth_nothing_and_never_support() -> None:
    """Labelers agree on the truth and one opposes just that: its accuracy falls to a half, where odds stay as they are."""
    objects = [[says("a", n % 4), says("b", n % 4), says("grump", n % 4, supports=False)] for n in range(200)]
    model = fit_label_model(objects, 4)
    assert model.accuracies[("grump", False)] == 0.5
    assert model.posterior([says("grump", 0, supports=False)], 4) == pytest.approx([0.25] * 4)


def test_fitting_nothing_and_lone_words_keeps_the_start() -> None:
    assert fit_label_model([], 5).accuracies == {}
    alone = fit_label_model([[says("a", 1)], []], 5)
    assert alone.accuracies == {("a", True): pytest.approx(0.8)}


def test_fitting_is_deterministic() -> None:
    objects = spoken(np.arange(60) % IDENTITIES, {"a": 0.9, "b": 0.6}, {"c": 0.9})
    assert fit_label_model(objects, IDENTITIES) == fit_label_model(objects, IDENTITIES)


def test_evidence_is_the_posterior_and_its_rest_weighed_by_confidence() -> None:
    objects = [[says("a", 1)], [], [says("a", 1), says("b", 2)], [says("c", 0, supports=False)]]
    model = LabelModel({("a", True): 0.9, ("b", True): 0.6, ("c", False): 0.9})
    supporting, opposing, heard = signed_evidence(objects, 4, model)
    assert heard.tolist() == [True, False, True, True]
    for number, signals in enumerate(objects):
        if not signals:
            assert (supporting[number] == 0).all() and (opposing[number] == 0).all()
            continue
        posterior = model.posterior(signals, 4)
        confidence = 1 + float((posterior * np.log(posterior)).sum()) / np.log(4)
        assert supporting[number] == pytest.approx(confidence * posterior)
        assert supporting[number] + opposing[number] == pytest.approx(np.full(4, confidence))
        assert supporting[number].sum() == pytest.approx(confidence)
    # The clear word weighs more than the quarrel, and that more than an exclusion of one in four.
    weights = supporting.sum(axis=1)
    assert weights[0] > weights[2] > weights[3] > 0


@pytest.mark.filterwarnings("error")
def test_evidence_is_finite_for_one_identity_and_for_many_signals() -> None:
    supporting, opposing, _ = signed_evidence([[says("a", 0)]], 1, LabelModel({}))
    assert supporting.tolist() == [[1.0]]
    assert opposing.tolist() == [[0.0]]
    loud = [[says(f"labeler {number}", number % 7) for number in range(2_000)]]
    supporting, opposing, _ = signed_evidence(loud, 7, LabelModel({}))
    assert np.isfinite(supporting).all() and np.isfinite(opposing).all()
    assert (supporting >= 0).all() and (opposing >= 0).all()


def test_the_table_of_labelers_by_hand() -> None:
    objects = [
        [says("name", 1), says("values", 1, 2)],  # agree
        [says("name", 1), says("values", 2)],  # quarrel
        [says("name", 3)],
        [says("name", 0), says("type", 0, 1, supports=False)],  # the type excludes what the name says
        [says("name", 0), says("type", 1, supports=False), says("type", 2, supports=False)],  # two words, no quarrel
        [],
        [],
        [],
    ]
    model = LabelModel({("name", True): 0.9})
    rows = {(row["labeler"], row["says"]): row for row in labeler_table(objects, model, "attribute")}
    assert list(rows) == [("name", "for"), ("type", "against"), ("values", "for")]

    def numbers(labeler: str, side: str) -> list[object]:
        row = rows[(labeler, side)]
        assert row["coordinate"] == "attribute"
        return [row[name] for name in ("coverage", "overlap", "conflict", "accuracy")]

    assert numbers("name", "for") == [5 / 8, 4 / 8, 2 / 8, 0.9]
    assert numbers("values", "for") == [2 / 8, 2 / 8, 1 / 8, 0.8]
    assert numbers("type", "against") == [2 / 8, 2 / 8, 1 / 8, 0.8]
    assert labeler_table([], model, "entity") == []
