"""`coset demo` as a newcomer meets it: the company is made, comprehended, and what was understood is true."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

import coset as coset_api
from commands import coset
from coset.demo import QUESTIONS, make_company, truth
from coset.demo.questions import AskedQuestion, ask_questions
from coset.environment.configuration import load_environment
from coset.errors import CosetError
from coset.session.query_session import QuerySession
from coset.state import EvidenceState

SEED = 3
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(importlib.util.find_spec("bson") is None, reason="needs the [mongodb] extra"),
]
Joins = dict[tuple[str, str], dict]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp("newcomer")
    answer = coset("demo", "company", "--seed", str(SEED), "--small", folder=folder, COLUMNS="100")
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
        "mongodump", "support.tickets.customer_ref", "prefix swap", "duplicates", "mixed date formats",
        "counter disagrees", "customer.identifier", "Next: cd company", "coset view", "coset mcp", "coset init",
        *(question.text for question in QUESTIONS),
    ):  # fmt: skip
        assert expected in text, expected
    assert all(len(line) <= 100 for line in text.splitlines()[1:])


def test_each_answer_stands_with_its_view_reading_checks_and_statement(demo: tuple[Path, str]):
    answers = demo[1].split("Five questions")[1].split("Next:")[0].strip().split("\n\n")[1:]
    assert len(answers) == len(QUESTIONS)
    for question, text in zip(QUESTIONS, answers, strict=True):
        assert question.text in text and "    true     " in text and "NOT true" not in text
        assert all(f"    {name:<9}" in text for name in ("view", "read", "checks", "sql")), text
    number = truth(make_company(SEED, small=True))[2].number
    assert f"    true     {number:,.0f}\n" in answers[2]


@pytest.fixture(scope="module")
def tried(demo: tuple[Path, str]) -> dict[str, AskedQuestion]:
    truths = truth(make_company(SEED, small=True))
    with coset_api.open(demo[0]) as environment:
        return {each.known.question.key: each for each in ask_questions(environment, truths)}


@pytest.mark.parametrize("key", [question.key for question in QUESTIONS])
def test_the_five_answers_are_what_the_generator_knows(tried: dict[str, AskedQuestion], key: str):
    found = tried[key].found
    assert not found.stopped, found.stopped
    assert tried[key].known.agrees(found.rows), f"{found.rows[:5]} {found.sql}"


def test_an_answer_that_is_not_true_is_told_and_ends_with_exit_code_1(
    demo: tuple[Path, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """The one thing changed is what is held to be true: so the command cannot always say 'true'."""
    from dataclasses import replace

    import coset.demo
    from coset.surfaces.command_line.demo import demo_command as command

    wrong = tuple(replace(each, number=1.0) for each in truth(make_company(SEED, small=True))[2:3])
    monkeypatch.setattr(coset.demo, "truth", lambda company: wrong)
    with pytest.raises(CosetError, match="1 of the demo's answers are not right for seed 3: How many tickets"):
        command.main([str(demo[0]), "--seed", str(SEED), "--small"], standalone_mode=False)
    assert "NOT true" in capsys.readouterr().out


def test_the_joins_that_the_values_show_are_found(joins: Joins):
    expected = {
        ("beacon/orders.buyer_id", "beacon/buyers.buyer_id"): "stray_characters",
        ("atlas/main/invoices.customer_id", "atlas/main/customers.customer_id"): "identity",
        ("atlas/main/customers.country_code", "office/countries.country_code"): "identity",
        ("beacon/buyers.country", "office/countries.country"): "identity",
        ("beacon/orders.status_code", "office/order_status.status_code"): "identity",
        ("beacon/order_lines.article_no", "beacon/articles.article_no"): "identity",
    }
    assert {pair: joins[pair]["kind"] if pair in joins else "missed" for pair in expected} == expected
    assert joins["beacon/orders.buyer_id", "beacon/buyers.buyer_id"]["left_match"] == 1.0
    reference = joins["support/tickets.customer_ref", "atlas/main/customers.customer_id"]
    assert reference["kind"] in ("prefix_swap", "digits"), "both bring the same keys together"


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
    assert truth(make_company(SEED, small=True))[3].agrees(rows)


def test_running_it_again_makes_nothing_anew(demo: tuple[Path, str]):
    before = (demo[0] / "beacon.sqlite").stat().st_mtime_ns
    answer = coset("demo", "company", "--seed", str(SEED), "--small", "--only-data", folder=demo[0].parent)
    assert answer.returncode == 0 and "already there" in answer.stdout
    assert (demo[0] / "beacon.sqlite").stat().st_mtime_ns == before


def test_mistakes_are_told_in_one_sentence(demo: tuple[Path, str]):
    answer = coset("demo", "company", "--seed", "4", folder=demo[0].parent)
    assert answer.returncode == 2 and "seed 3, small: name another folder for seed 4" in answer.stderr
    assert coset("demo", "--seed", "-1", folder=demo[0].parent).returncode == 2
    (demo[0].parent / "mine").mkdir()
    (demo[0].parent / "mine" / "file").touch()
    answer = coset("demo", "mine", "--only-data", folder=demo[0].parent)
    assert answer.returncode == 2 and "not empty" in answer.stderr and len(answer.stderr.splitlines()) == 1
