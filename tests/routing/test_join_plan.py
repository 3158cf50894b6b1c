"""The connected join plan: what connects, over what, and what is said when nothing does."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from coset.routing.objects.facts import RelationFacts
from coset.routing.views.join_plan import MOST_CONNECTING, join_plan


def relation(
    left: str, right: str, confidence: float = 1.0, match: float = 1.0, kind: str = "identity", number: int = 0
):
    return RelationFacts(
        f"{left}-{right}-{number}", left, right, (f"{left}.k",), (f"{right}.k",), kind, '"k"', '"k"', match, match, "n:1",
        "measured", confidence,
    )  # fmt: skip


def graph(*relations: RelationFacts):
    found = defaultdict(list)
    for each in relations:
        found[each.left_table].append(each)
        if each.right_table != each.left_table:
            found[each.right_table].append(each)
    return found


def names(plan):
    return [each.reference for each in plan.joins]


def test_tables_that_join_directly_are_joined():
    plan = join_plan(["a", "b"], graph(relation("a", "b")))
    assert names(plan) == ["a-b-0"] and plan.is_connected and plan.connecting == ()


def test_a_table_in_between_connects_and_is_named():
    plan = join_plan(["a", "c"], graph(relation("a", "b"), relation("b", "c")))
    assert plan.connecting == ("b",) and len(plan.joins) == 2 and plan.is_connected


def test_a_sure_detour_wins_over_a_doubtful_direct_join_but_not_over_a_good_one():
    detour = [relation("a", "b"), relation("b", "c")]
    assert join_plan(["a", "c"], graph(relation("a", "c", 0.35, 0.2), *detour)).connecting == ("b",)
    assert join_plan(["a", "c"], graph(relation("a", "c", 0.9, 1.0), *detour)).connecting == ()


def test_a_table_that_few_rows_have_does_not_stand_between_two_that_join_directly():
    sparse = [
        replace(relation("chat", "case"), right_match=0.08),
        replace(relation("chat", "account"), right_match=0.07),
    ]
    direct = replace(relation("case", "account", 0.99), right_match=0.5)
    plan = join_plan(["case", "account", "chat"], graph(direct, *sparse))
    assert "case-account-0" in names(plan) and "chat-account-0" not in names(plan)


def test_the_surer_of_two_joins_of_the_same_tables_is_taken():
    plan = join_plan(["a", "b"], graph(relation("a", "b", 0.6, number=1), relation("a", "b", 0.95, number=2)))
    assert names(plan) == ["a-b-2"]


def test_what_is_not_connected_is_said():
    plan = join_plan(["a", "b", "x"], graph(relation("a", "b")))
    assert not plan.is_connected and plan.parts == (("a", "b"), ("x",))
    assert join_plan(["a"], graph()).is_connected


def test_a_relation_by_table_name_is_no_join():
    plan = join_plan(["a", "b"], graph(relation("a", "b", kind="table_name")))
    assert plan.joins == () and not plan.is_connected


def test_a_common_hub_is_used_once():
    plan = join_plan(["a", "b", "c"], graph(*(relation(table, "hub") for table in "abc")))
    assert plan.connecting == ("hub",) and len(plan.joins) == 3


def test_joins_stand_in_an_order_in_which_each_finds_a_table_before_it():
    plan = join_plan(["d", "a"], graph(relation("a", "b"), relation("b", "c"), relation("c", "d")))
    reached = {"d"}
    for each in plan.joins:
        assert {each.left_table, each.right_table} & reached
        reached |= {each.left_table, each.right_table}


def test_few_tables_that_nobody_asked_for_enter():
    chain = [f"t{n}" for n in range(30)]
    relations = graph(*(relation(left, right) for left, right in pairwise(chain)))
    plan = join_plan(chain[::4], relations)
    assert len(plan.connecting) <= MOST_CONNECTING and not plan.is_connected


@given(
    st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7), st.integers(3, 10), st.integers(0, 10)), max_size=25),
    st.sets(st.integers(0, 7), min_size=1),
    st.randoms(use_true_random=False),
)
def test_a_plan_is_a_forest_over_what_was_asked_and_does_not_depend_on_the_order_of_relations(edges, wanted, random):
    relations = [
        relation(f"t{left}", f"t{right}", confidence / 10, match / 10, number=number)
        for number, (left, right, confidence, match) in enumerate(edges)
    ]
    tables = [f"t{number}" for number in sorted(wanted)]
    plan = join_plan(tables, graph(*relations))
    shuffled = list(relations)
    random.shuffle(shuffled)
    assert join_plan(tables, graph(*shuffled)) == plan
    members = {table for part in plan.parts for table in part}
    assert set(tables) <= members and members == set(tables) | set(plan.connecting)
    assert len(plan.joins) == len(members) - len(plan.parts)
    reachable = {table: {table} for table in members}
    for each in plan.joins:
        one, other = reachable[each.left_table], reachable[each.right_table]
        assert one is not other
        one |= other
        for table in other:
            reachable[table] = one
