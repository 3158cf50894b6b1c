"""`coset demo` as a newcomer meets it: the company is made, comprehended, and what was understood is true."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest
from test_command_line import coset

from coset.demo import make_company, truth
from coset.environment.configuration import load_environment
from coset.evidence.state import EvidenceState
from coset.session.query_session import QuerySession

SEED = 3
pytestmark = pytest.mark.skipif(importlib.util.find_spec("bson") is None, reason="needs the [mongodb] extra")
Joins = dict[tuple[str, str], dict]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp("newcomer")
    answer = coset("demo", "company", "--seed", str(SEED), folder=folder)
    assert answer.returncode == 0, answer.stderr
    assert answer.stderr == ""
    return folder / "company", answer.stdout


@pytest.fixture(scope="module")
def joins(demo: tuple[Path, str]) -> Joins:
    with EvidenceState.read(demo[0] / ".coset") as state:
        rows = state.rows("SELECT * FROM relations")
    return {(row["left_columns"][0], row["right_columns"][0]): row for row in rows}


def test_it_shows_sources_joins_dirt_roles_and_questions(demo: tuple[Path, str]):
    text = demo[1]
    for expected in (
        "mongodump", "support/tickets.customer_ref", "prefix swap", "duplicates", "mixed date formats",
        "counter disagrees", "customer.identifier", "Which customers use both products?", "Next: cd company",
    ):  # fmt: skip
        assert expected in text, expected
    for known in truth(make_company(SEED)):
        assert known.in_words[:40] in text


def test_the_joins_that_the_values_show_are_found(joins: Joins):
    expected = {
        ("support/tickets.customer_ref", "atlas/main/customers.customer_id"): "prefix_swap",
        ("beacon/orders.buyer_id", "beacon/buyers.buyer_id"): "stray_characters",
        ("atlas/main/invoices.customer_id", "atlas/main/customers.customer_id"): "identity",
        ("atlas/main/customers.country_code", "office/countries.country_code"): "identity",
        ("beacon/buyers.country", "office/countries.country"): "identity",
        ("beacon/orders.status_code", "office/order_status.status_code"): "identity",
        ("beacon/order_lines.article_no", "beacon/articles.article_no"): "identity",
    }
    assert {pair: joins[pair]["kind"] if pair in joins else "missed" for pair in expected} == expected
    assert joins["beacon/orders.buyer_id", "beacon/buyers.buyer_id"]["left_match"] == 1.0


def test_buyers_are_joined_with_customers(joins: Joins):
    ours, theirs = "beacon/buyers.buyer_id", "atlas/main/customers.customer_id"
    assert (ours, theirs) in joins or (theirs, ours) in joins


def test_what_each_department_calls_a_customer_is_one_role(demo: tuple[Path, str]):
    found = json.loads(coset("identities", "customer.identifier", "--json", folder=demo[0]).stdout)["identities"]
    fiber = {reference for row in found for reference in row["fiber"]}
    assert {
        "atlas/main/customers.customer_id", "beacon/buyers.buyer_id", "beacon/orders.buyer_id",
        "support/tickets.customer_ref",
    } <= fiber  # fmt: skip


def test_a_question_can_be_answered_with_what_was_understood_alone(demo: tuple[Path, str], joins: Joins):
    """The ranking: join and dates as comprehension wrote them, nothing known of the spelling."""
    with EvidenceState.read(demo[0] / ".coset") as state:
        [date] = state.rows("SELECT expression FROM diagnostics WHERE column_reference = 'beacon/orders.order_date'")
    join = joins["beacon/orders.buyer_id", "beacon/buyers.buyer_id"]
    with QuerySession(load_environment(demo[0])) as session:
        rows = session.sql(
            f"SELECT company, sum(total_cents) FROM (SELECT {join['left_expression']} AS key, total_cents "
            f"FROM beacon.orders WHERE status_code = 'D' AND year({date['expression']}) = 2024) "
            f"JOIN (SELECT {join['right_expression']} AS key, company FROM beacon.buyers) USING (key) "
            "GROUP BY company ORDER BY 2 DESC LIMIT 5"
        ).rows()
    assert truth(make_company(SEED))[3].agrees(rows)


def test_running_it_again_makes_nothing_anew(demo: tuple[Path, str]):
    before = (demo[0] / "beacon.sqlite").stat().st_mtime_ns
    answer = coset("demo", "company", "--seed", str(SEED), "--only-data", folder=demo[0].parent)
    assert answer.returncode == 0 and "already there" in answer.stdout
    assert (demo[0] / "beacon.sqlite").stat().st_mtime_ns == before


def test_mistakes_are_told_in_one_sentence(demo: tuple[Path, str]):
    answer = coset("demo", "company", "--seed", "4", folder=demo[0].parent)
    assert answer.returncode == 2 and "seed 3: name another folder for seed 4" in answer.stderr
    assert coset("demo", "--seed", "-1", folder=demo[0].parent).returncode == 2
    (demo[0].parent / "mine").mkdir()
    (demo[0].parent / "mine" / "file").touch()
    answer = coset("demo", "mine", "--only-data", folder=demo[0].parent)
    assert answer.returncode == 2 and "not empty" in answer.stderr and len(answer.stderr.splitlines()) == 1
