"""The definitions of the paper, computed by hand on a small case, and what must hold for any case."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, pairwise
from statistics import mean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coset.benchmark.attempts import Attempt
from coset.benchmark.metrics import (
    bootstrap,
    by_dataset,
    by_trial,
    compare,
    mcnemar,
    outcomes_of,
    pass_at_k,
    pass_hat_k,
    raw_accuracy,
    stratified_pass_at_1,
)

# Two datasets; the first has two questions, the second one; three trials each.
SMALL = {"a": {"1": (1, 1, 0), "2": (0, 0, 0)}, "b": {"1": (1, 1, 1)}}


def attempt(dataset: str, question: str, trial: int, passed: bool) -> Attempt:
    return Attempt(
        dataset=dataset, question=question, trial=trial, status="answered", verdict="passed" if passed else "wrong"
    )


def attempts_of(outcomes: dict[str, dict[str, tuple[int, ...]]]) -> list[Attempt]:
    return [
        attempt(dataset, question, number, bool(passed))
        for dataset, questions in outcomes.items()
        for question, trials in questions.items()
        for number, passed in enumerate(trials, start=1)
    ]


def test_stratified_pass_at_1_weights_datasets_alike():
    # a: (2/3 + 0) / 2 = 1/3; b: 1; mean 2/3. Raw: 5 of 9.
    assert stratified_pass_at_1(SMALL) == pytest.approx(2 / 3)
    assert raw_accuracy(SMALL) == pytest.approx(5 / 9)
    assert by_dataset(SMALL) == pytest.approx({"a": 1 / 3, "b": 1.0})


def test_each_complete_trial_has_its_own_score():
    # Trials 1 and 2: a = 1/2, b = 1; trial 3: a = 0, b = 1.
    assert by_trial(SMALL) == pytest.approx([0.75, 0.75, 0.5])


def test_pass_hat_k_wants_all_k_trials_and_averages_over_subsets():
    # k = 2. a/1: of {12, 13, 23} only 12 passes: 1/3; a/2: 0; b/1: 1. Stratified: ((1/3 + 0) / 2 + 1) / 2 = 7/12.
    assert pass_hat_k(SMALL, 2) == pytest.approx(7 / 12)
    # k = 3. a/1: 0, a/2: 0, b/1: 1.
    assert pass_hat_k(SMALL, 3) == pytest.approx(0.5)


def test_pass_at_k_wants_one_of_k_trials():
    # k = 2. a/1: every pair has a pass: 1; a/2: 0; b/1: 1. Stratified: (1/2 + 1) / 2.
    assert pass_at_k(SMALL, 2) == pytest.approx(0.75)


def test_the_papers_own_figures_fit_the_definitions():
    # 258 of 270 attempts is 95.56 %, and 236 of 270 is 87.41 %.
    assert raw_accuracy({"all": {"1": (1,) * 258 + (0,) * 12}}) == pytest.approx(0.9556, abs=5e-5)
    assert raw_accuracy({"all": {"1": (1,) * 236 + (0,) * 34}}) == pytest.approx(0.8741, abs=5e-5)


def test_k_beyond_the_trials_has_no_value():
    assert pass_hat_k(SMALL, 4) is None
    assert pass_at_k({"a": {"1": (1, 1), "2": (1,)}}, 2) is None
    assert stratified_pass_at_1({}) is None


trials = st.lists(st.integers(0, 1), min_size=5, max_size=5).map(tuple)
cases = st.dictionaries(
    st.sampled_from("abcd"), st.dictionaries(st.sampled_from("1234"), trials, min_size=1), min_size=1
)


@given(cases, st.integers(1, 5))
def test_both_are_the_mean_over_all_subsets(outcomes: dict[str, dict[str, tuple[int, ...]]], k: int):
    def brute(of_subset) -> Fraction:
        return mean(
            mean(mean(Fraction(of_subset(chosen)) for chosen in combinations(each, k)) for each in questions.values())
            for questions in outcomes.values()
        )

    assert pass_hat_k(outcomes, k) == pytest.approx(float(brute(min)))
    assert pass_at_k(outcomes, k) == pytest.approx(float(brute(max)))


@given(cases)
def test_consistency_never_exceeds_capability(outcomes: dict[str, dict[str, tuple[int, ...]]]):
    scores = [pass_hat_k(outcomes, k) for k in range(1, 6)]
    assert scores[0] == pytest.approx(stratified_pass_at_1(outcomes))
    assert all(later <= earlier + 1e-12 for earlier, later in pairwise(scores))


def test_bootstrap_is_repeatable_and_holds_the_estimate():
    outcomes = {name: {str(q): (1, 1, 0, 1, 0) for q in range(1, 6)} for name in "abc"}
    first, second = bootstrap(outcomes), bootstrap(outcomes)
    assert first == second
    assert first["stratified"].low < 0.6 < first["stratified"].high


def test_bootstrap_of_a_perfect_run_has_no_width():
    interval = bootstrap({"a": {"1": (1, 1)}})["stratified"]
    assert (interval.low, interval.high) == (1.0, 1.0)


def test_bootstrap_width_is_that_of_a_binomial():
    # One dataset, one question, 100 trials, half passed: the standard error is 0.05, so about 0.40 to 0.60.
    interval = bootstrap({"a": {"1": (1, 0) * 50}}, samples=20_000)["raw"]
    assert interval.low == pytest.approx(0.40, abs=0.015)
    assert interval.high == pytest.approx(0.60, abs=0.015)


def test_mcnemar_is_the_exact_binomial_test():
    # 8 pairs differ, 1 one way: 2 * (C(8,0) + C(8,1)) / 2^8 = 18/256.
    pairs = [(True, False)] * 7 + [(False, True)] + [(True, True)] * 5 + [(False, False)] * 2
    result = mcnemar(pairs)
    assert (result.only_first, result.only_second, result.pairs) == (7, 1, 15)
    assert result.probability == pytest.approx(18 / 256)
    assert mcnemar([(True, True)]).probability == 1.0
    assert mcnemar([(True, False), (False, True)]).probability == 1.0


def test_comparison_names_what_flipped_and_ignores_what_only_one_has():
    first = attempts_of({"a": {"1": (1, 1, 1), "2": (0, 0, 1), "3": (1, 1, 1)}})
    second = attempts_of({"a": {"1": (0, 0, 0), "2": (1, 1, 1)}, "b": {"1": (1, 1, 1)}})
    result = compare(first, second)
    assert result.questions == 2
    assert [(flip.question, flip.first, flip.second) for flip in result.flips] == [
        ("1", 1.0, 0.0),
        ("2", pytest.approx(1 / 3), 1.0),
    ]
    assert (result.by_question.only_first, result.by_question.only_second) == (1, 1)
    assert (result.by_attempt.only_first, result.by_attempt.only_second, result.by_attempt.pairs) == (3, 2, 6)


def test_a_later_attempt_at_a_trial_replaces_the_earlier_one_and_numbers_sort_as_numbers():
    found = outcomes_of([attempt("a", "10", 1, True), attempt("a", "2", 1, False), attempt("a", "2", 1, True)])
    assert found == {"a": {"2": (1,), "10": (1,)}}
    assert list(found["a"]) == ["2", "10"]
