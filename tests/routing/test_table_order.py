"""The order of tables: groups share the first places by what each place gains."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from coset.routing.ranking.index import connected_sources
from coset.routing.ranking.ranker import order_of_tables


def test_within_one_group_tables_stand_by_their_chance() -> None:
    order = order_of_tables(np.array([0.2, 0.9, 0.5], np.float32), np.zeros(3, np.int64), np.array([1.0], np.float32))
    assert order.tolist() == [1, 2, 0]


def test_the_second_table_of_a_likely_group_comes_before_the_first_of_an_unlikely_one() -> None:
    chance = np.array([0.95, 0.9, 0.95, 0.9], np.float32)
    order = order_of_tables(chance, np.array([0, 0, 1, 1]), np.array([0.8, 0.2], np.float32))
    assert order.tolist() == [0, 1, 2, 3]


def test_a_rival_group_comes_before_a_table_that_is_hardly_needed() -> None:
    chance = np.array([0.95, 0.02, 0.95], np.float32)
    order = order_of_tables(chance, np.array([0, 0, 1]), np.array([0.6, 0.4], np.float32))
    assert order.tolist() == [0, 2, 1]


def test_where_no_group_is_likelier_the_strongest_tables_come_first() -> None:
    chance = np.linspace(0.01, 0.9, 40).astype(np.float32)
    order = order_of_tables(chance, np.arange(40), np.full(40, 1 / 40, np.float32))
    assert order.tolist() == list(range(39, -1, -1))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.floats(0, 1, width=32), st.integers(0, 4)), min_size=1, max_size=30), st.integers(0, 10**6)
)
def test_every_table_has_one_place(tables: list[tuple[float, int]], seed: int) -> None:
    groups = np.random.default_rng(seed).dirichlet(np.ones(5)).astype(np.float32)
    chance, at = np.array([c for c, _ in tables], np.float32), np.array([g for _, g in tables], np.int64)
    order = order_of_tables(chance, at, groups)
    assert sorted(order.tolist()) == list(range(len(tables)))
    assert order.tolist() == order_of_tables(chance, at, groups).tolist()


def test_the_shared_order_finds_all_that_is_needed_more_often_than_the_order_of_single_chances() -> None:
    """Counted exactly over all ways a question may fall out, under the chances given."""
    group_chance = np.array([0.5, 0.3, 0.2], np.float32)
    at = np.repeat(np.arange(3), 2)
    chance = np.array([0.9, 0.7, 0.9, 0.7, 0.9, 0.7], np.float32)

    def found(order: np.ndarray, places: int) -> float:
        first, total = set(order[:places].tolist()), 0.0
        for group in range(3):
            own = np.flatnonzero(at == group)
            for needed in itertools.product((0, 1), repeat=2):
                weight = np.prod([chance[t] if n else 1 - chance[t] for t, n in zip(own, needed, strict=True)])
                if {int(t) for t, n in zip(own, needed, strict=True) if n} <= first:
                    total += float(group_chance[group] * weight)
        return total

    single = np.argsort(-(chance * group_chance[at]), kind="stable")
    shared = order_of_tables(chance, at, group_chance)
    assert all(found(shared, places) >= found(single, places) - 1e-6 for places in (2, 4, 6))
    assert found(shared, 2) > found(single, 2) - 1e-6


def test_sources_that_a_join_connects_belong_together() -> None:
    home = connected_sources(["crm", "shop", "logs", "web"], [("shop", "crm"), ("web", "shop"), ("gone", "crm")])
    assert home["crm"] == home["shop"] == home["web"] != home["logs"]
