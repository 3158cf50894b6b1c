"""The second computation: by another path, only when wanted, ended by agreement, decided by the agent otherwise."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pytest

from answering.small_company import HandRouter
from answering.wire_servers import Say, Wire, call
from coset.answering.answer import Answer
from coset.answering.ask import AskOptions, ask
from coset.answering.audit import Runs
from coset.answering.checks.verification import same
from coset.answering.models.client import Limits, Retries
from coset.answering.run_store import ask_and_keep
from coset.environment.configuration import Environment

QUESTION = "How many customers are in Bern?"
COUNT = "SELECT count(*) AS n FROM crm.customers WHERE city = 'Bern'"
OTHER = "SELECT sum(CASE WHEN city = 'Bern' THEN 1 ELSE 0 END) AS n FROM crm.customers"
ACTIVE = "SELECT count(*) AS n FROM crm.customers WHERE city = 'Bern' AND active = 1"
SHAPE = {"meaning": "customers in Bern", "form": "value", "columns": ["n"]}
RECORDS = call("records", shape=SHAPE, sql=COUNT, sure=True)
DONE = call("answer", text="20", results=["result_1"], confidence=0.9)


@pytest.fixture(autouse=True)
def _no_reasoner_without_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would agree and end the matter: here it is the model's second path that is looked at."""
    monkeypatch.setattr("coset.answering.ask.offline_statement", lambda *_: None)


def asked(environment: Environment, wire: Wire, **more: Any) -> Answer:
    options = AskOptions(model=wire.url, retries=Retries(2, 0.01), **{"verify": "full", **more})
    return ask(QUESTION, environment, options, router=HandRouter())


def outcome(answer: Answer) -> str:
    return {check.name: check.outcome for check in answer.checks}.get("recomputation", "not made")


def test_a_second_computation_that_agrees_ends_the_matter(environment: Environment):
    with Wire(RECORDS, call("sql", query=OTHER)) as wire:
        answer = asked(environment, wire)
    assert [step.step for step in answer.steps] == ["arbiter 1", "recompute 1"]
    assert (answer.text, answer.sql, outcome(answer)) == ("20", (COUNT,), "passed")


def test_it_is_told_the_question_the_evidence_and_the_shape_but_not_the_first_statement(environment: Environment):
    with Wire(RECORDS, call("sql", query=OTHER)) as wire:
        asked(environment, wire)
    [system, user] = [message["content"] for message in wire.requests[1]["messages"]]
    assert QUESTION in user and "TABLE crm.customers" in user and "value; columns n" in user
    assert COUNT not in system + user and "result_1" not in system + user
    assert [tool["function"]["name"] for tool in wire.requests[1]["tools"]] == ["sql"]


def test_one_that_differs_goes_to_the_agent_with_both_results(environment: Environment):
    done = call("answer", text="10", results=["result_2"], confidence=0.7)
    with Wire(RECORDS, call("sql", query=ACTIVE), done) as wire:
        answer = asked(environment, wire)
    assert [step.step for step in answer.steps] == ["arbiter 1", "recompute 1", "agent 1"]
    opening = wire.requests[2]["messages"][1]["content"]
    assert "computed by another path the answer is result_2" in opening and "active = 1" in opening
    assert (answer.text, answer.rows, outcome(answer)) == ("10", ((10,),), "passed")


def test_an_agent_that_stands_by_the_first_is_heard_and_the_doubt_travels_with_the_answer(environment: Environment):
    with Wire(RECORDS, call("sql", query=ACTIVE), DONE) as wire:
        answer = asked(environment, wire)
    assert (answer.text, outcome(answer), len(wire.requests)) == ("20", "doubt", 3)


def test_an_agents_answer_is_computed_a_second_time_too(environment: Environment):
    with Wire(call("sql", query=COUNT), DONE, call("sql", query=OTHER)) as wire:
        answer = asked(environment, wire, core=True)
    assert [step.step for step in answer.steps] == ["agent 1", "agent 2", "recompute 1"]
    assert (answer.text, outcome(answer)) == ("20", "passed")
    with Wire(call("sql", query=COUNT), DONE, call("sql", query=ACTIVE), DONE) as wire:
        answer = asked(environment, wire, core=True)
    assert [step.step for step in answer.steps] == ["agent 1", "agent 2", "recompute 1", "agent 3"]
    assert "another path" in wire.requests[3]["messages"][-1]["content"] and outcome(answer) == "doubt"


def test_a_statement_that_does_not_run_is_asked_for_once_more(environment: Environment):
    with Wire(RECORDS, call("sql", query="SELECT town FROM crm.customers"), call("sql", query=OTHER)) as wire:
        answer = asked(environment, wire)
    assert outcome(answer) == "passed" and "error:" in wire.requests[2]["messages"][-1]["content"]


@pytest.mark.parametrize("reply", [Say("I would rather not."), Say(calls=[("sql", "{broken")])])
def test_where_no_second_statement_can_be_had_the_answer_stands_and_it_is_said(environment: Environment, reply: Say):
    with Wire(RECORDS, reply) as wire:
        answer = asked(environment, wire)
    assert (answer.text, outcome(answer)) == ("20", "not applicable")


def test_automatic_verification_computes_again_only_in_doubt(environment: Environment):
    with Wire(RECORDS) as wire:
        assert outcome(asked(environment, wire, verify="auto")) == "not made" and len(wire.requests) == 1
    unsure = call("answer", text="20", results=["result_1"], confidence=0.3)
    with Wire(call("sql", query=COUNT), unsure, call("sql", query=OTHER)) as wire:
        assert outcome(asked(environment, wire, verify="auto", core=True)) == "passed" and len(wire.requests) == 3
    with Wire(call("sql", query=COUNT), unsure) as wire:
        assert asked(environment, wire, verify="none", core=True).checks == () and len(wire.requests) == 2


def test_there_is_no_second_computation_of_a_refusal_or_past_a_limit(environment: Environment):
    with Wire(call("answer", text="The data says nothing of it.", confidence=0)) as wire:
        assert outcome(asked(environment, wire, core=True)) == "not made" and len(wire.requests) == 1
    with Wire(RECORDS) as wire:
        assert outcome(asked(environment, wire, limits=Limits(tokens=150))) == "not applicable"


def test_the_reasoner_without_a_model_is_asked_first_and_its_agreement_costs_nothing(
    environment: Environment, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("coset.answering.ask.offline_statement", lambda *_: OTHER)
    with Wire(RECORDS) as wire:
        answer = asked(environment, wire)
    assert outcome(answer) == "passed" and len(wire.requests) == 1
    # Where it differs, a model decides: it knows few ways to read a question.
    monkeypatch.setattr("coset.answering.ask.offline_statement", lambda *_: ACTIVE)
    with Wire(RECORDS, call("sql", query=OTHER)) as wire:
        assert outcome(asked(environment, wire)) == "passed" and len(wire.requests) == 2


def test_it_is_in_the_audit(environment: Environment):
    with Wire(call("sql", query=COUNT), DONE, call("sql", query=OTHER)) as wire:
        _, number = ask_and_keep(QUESTION, environment, AskOptions(model=wire.url, core=True, verify="full"))
    run = Runs(environment.state_folder).run(number)
    [step] = [step.data for step in run.steps if step.kind == "recomputation"]
    assert step["same"] is True and step["sql"] == OTHER
    assert {check["name"]: check["outcome"] for check in run.checks}["recomputation"] == "passed"


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ([(20,)], [(20.0,)], True),
        ([(20,)], [(Decimal("20.00"),)], True),
        ([(0.1 + 0.2,)], [(0.3,)], True),
        ([("a", 1), ("b", 2)], [("b", 2), ("a", 1)], True),
        ([("a", 1), ("b", 2)], [(1, "a"), (2, "b")], True),
        ([("a",), ("b",)], [("a", 9), ("b", 8)], True),
        ([("a", 1), ("b", 2)], [("a", 2), ("b", 1)], False),
        ([("a",)], [("a",), ("a",)], False),
        ([("a ",)], [("a",)], True),
        ([(None,)], [(0,)], False),
        ([(datetime.date(2020, 1, 1),)], [(datetime.date(2020, 1, 2),)], False),
        ([], [], True),
        ([], [(1,)], False),
    ],
)
def test_two_results_say_the_same(one: Any, other: Any, equal: bool):
    assert same(one, other) is equal and same(other, one) is equal
