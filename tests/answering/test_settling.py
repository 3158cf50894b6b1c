"""What one request can settle: a likeliest reading, an answer that the data does not have; and rows that are the answer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from answering.small_company import HandRouter
from answering.wire_servers import Say, Wire, call
from coset.answering.agent.loop import MOST_CALLS
from coset.answering.answer import rows_of_answer, ties_told
from coset.answering.ask import AskOptions, ask
from coset.answering.evidence.recover import CoreRecover, LearnedRecover, recover_all
from coset.answering.models.client import Limits, Retries
from coset.answering.prompt import TOOLS
from coset.answering.quoting import grid
from coset.environment.configuration import Environment
from coset.routing.views.budgets import DETAILS
from coset.routing.views.view import EvidenceView

COUNT = "SELECT count(*) AS n FROM crm.customers WHERE city = 'Bern'"
SHAPE = {"meaning": "customers in Bern", "form": "value", "columns": ["n"]}
ACTIVE = {"kind": "ambiguity", "about": "active?", "options": ["all of them", "active ones"]}


def asked(environment: Environment, *script: Say, **more: Any) -> tuple[Any, Wire]:
    with Wire(*script) as wire:
        options = AskOptions(model=wire.url, retries=Retries(2, 0.01), **more)
        return ask("How many customers are in Bern?", environment, options, router=HandRouter()), wire


def test_a_sure_arbiter_answers_the_likeliest_reading_and_tells_the_others(environment: Environment):
    answer, wire = asked(environment, call("records", shape=SHAPE, sql=COUNT, records=[ACTIVE], sure=True))
    assert len(wire.requests) == 1 and answer.rows == ((20,),)
    assert answer.readings == ("all of them", "active ones") and answer.confidence < 0.9


def test_where_a_person_can_be_asked_the_reading_is_theirs_to_choose(environment: Environment):
    said: list[str] = []
    _, wire = asked(
        environment,
        call("records", shape=SHAPE, sql=COUNT, records=[ACTIVE], sure=True),
        call("answer", text="20", results=["result_1"]),
        ask_user=lambda question, choices: said.append(question) or choices[0],
    )
    assert said == ["active?"] and len(wire.requests) == 2


def missing(about: str, *words: str) -> Say:
    entry = {"kind": "missing", "about": about, "options": list(words)}
    return call("records", shape=SHAPE, records=[entry], sure=True)


def test_what_is_nowhere_is_said_to_be_so_after_one_request(environment: Environment):
    answer, wire = asked(environment, missing("no table tells who is a dentist", "dentist", "profession"))
    assert len(wire.requests) == 1 and answer.confidence == 0 and answer.rows == () and answer.stopped == ""
    assert answer.text == "The data cannot answer this: no table tells who is a dentist."


@pytest.mark.parametrize("words", ["status", "paid", "order status"])
def test_what_stands_outside_the_view_is_looked_at_before_anyone_gives_up(environment: Environment, words: str):
    _, wire = asked(environment, missing("what was paid", words), call("answer", text="none", confidence=0))
    opening = wire.requests[1]["messages"][1]["content"]
    assert len(wire.requests) == 2 and "shop.orders.status" in opening


def test_only_the_words_given_are_searched_for(environment: Environment):
    entry = {"kind": "missing", "about": "no status of the orders of any customer", "options": ["zebra"]}
    _, wire = asked(
        environment, call("records", shape=SHAPE, records=[entry]), call("answer", text="none", confidence=0)
    )
    opening = wire.requests[1]["messages"][1]["content"]
    assert "Searched for zebra:" in opening and "NOTHING FOUND" in opening and "shop/orders" not in opening


def test_a_capped_run_ends_with_the_best_result_it_has(environment: Environment):
    look = Say(calls=[("sql", {"query": COUNT}), ("sql", {"query": "SELECT city, name FROM crm.customers"})])
    for last in (Say("I go on."), call("answer", text="")):
        answer, _ = asked(environment, call("records", shape=SHAPE), look, last, limits=Limits(steps=2))
        assert answer.rows == ((20,),) and answer.sql == (COUNT,), answer


def test_recover_keeps_a_budget_in_both_modes(environment: Environment):
    for recover in (LearnedRecover(environment), CoreRecover(environment)):
        short, long = recover("shop.orders", 100), recover("shop.orders", 1_000)
        assert len(short) < len(long) and "more lines: give a larger budget" in short and "amount" in long


def test_ties_beyond_the_places_asked_for_are_told():
    ranked = "SELECT a, count(*) FROM t GROUP BY a QUALIFY rank() OVER (ORDER BY count(*) DESC) <= 3"
    assert ties_told(ranked, 5) == "5 rows share the first 3 places: those that tie are all kept"
    assert ties_told(ranked.replace("<= 3", "= 1"), 2) == "2 rows share the first place: those that tie are all kept"
    assert ties_told(ranked, 3) is None and ties_told("SELECT a FROM t LIMIT 3", 5) is None
    assert ties_told(ranked.replace("rank()", "row_number()"), 5) is None and ties_told("no sql (", 5) is None


def test_rows_beside_an_answer_in_words_are_those_it_speaks_of():
    rows = [("SPY", 178745400), ("EEM", 160526800)]
    assert rows_of_answer("178745400, SPY", rows) == (("SPY", 178745400),)
    assert rows_of_answer("", rows) == tuple(rows) and rows_of_answer("about 5 %", rows) == tuple(rows)
    assert rows_of_answer("2020s", [("2020s",), (None,)]) == (("2020s",),), "a row without a value says nothing"


def test_what_a_check_of_the_arbiter_finds_is_told_and_holds_back_only_where_it_must(environment: Environment):
    check = {"kind": "check", "about": "customers without a city", "sql": "SELECT 3 AS n"}
    answer, wire = asked(environment, call("records", shape=SHAPE, sql=COUNT, records=[check], sure=True))
    assert len(wire.requests) == 1 and answer.rows == ((20,),)
    assert answer.assumptions == ("customers without a city: found 3",)


def test_an_opened_table_is_shown_to_the_arbiter_and_to_the_agent(environment: Environment):
    sql = "SELECT count(*) AS n FROM shop.orders WHERE status = 'paid'"
    answer, wire = asked(
        environment,
        call("records", shape=SHAPE, open=["shop.orders", "zebra stripes"]),
        call("records", shape=SHAPE, sql=sql),
        call("records", shape=SHAPE, sql=sql),
        call("answer", text="", results=["result_1"]),
    )
    steps = ["arbiter 1", "arbiter 2", "arbiter 3", "agent 1"]
    assert [step.step for step in answer.steps] == steps and answer.rows == ((100,),)
    opened = wire.requests[1]["messages"][-1]["content"]
    assert "shop.orders" in opened and "status" in opened and "NOTHING FOUND" in opened
    before = set(wire.requests[0]["messages"][-1]["content"].splitlines())
    again = [line for line in opened.splitlines() if line in before and line.startswith("  ")]
    assert again == [], "what the first request says of the table is not said again"
    agent = wire.requests[3]["messages"][1]["content"]
    assert "status" in agent and "Searched for in vain: zebra stripes" in agent


def test_a_statement_may_come_with_what_is_opened(environment: Environment):
    sure = call("records", shape=SHAPE, sql=COUNT, open=["shop.orders"], sure=True)
    answer, wire = asked(environment, sure)
    assert len(wire.requests) == 1 and answer.rows == ((20,),), "nothing speaks against it: it need not be opened"
    must = {"kind": "check", "about": "must: no order is void", "sql": "SELECT 1 AS n"}
    held = call("records", shape=SHAPE, sql=COUNT, records=[must], open=["shop.orders"], sure=True)
    answer, wire = asked(environment, held, call("records", shape=SHAPE, sql=COUNT, sure=True))
    told = wire.requests[1]["messages"][-1]["content"]
    assert len(wire.requests) == 2 and answer.rows == ((20,),)
    assert "status" in told and "Your statement ran as it was" in told and "must: no order is void: found 1" in told


@pytest.mark.parametrize("sure", [True, False])
def test_the_only_request_answers_with_what_its_statement_gives(environment: Environment, sure: bool):
    answer, wire = asked(
        environment, call("records", shape=SHAPE, sql=COUNT, open=["shop.orders"], sure=sure), limits=Limits(requests=1)
    )
    assert "This is the only request" in wire.requests[0]["messages"][-1]["content"]
    assert len(wire.requests) == 1 and answer.rows == ((20,),) and answer.stopped == ""
    assert (answer.confidence >= 0.9) is sure, "who is not sure is not believed more than that"


def test_a_run_of_two_requests_opens_once_and_says_why_where_it_has_nothing(environment: Environment):
    opens = call("records", shape=SHAPE, open=["shop.orders"])
    answer, wire = asked(environment, opens, call("records", shape=SHAPE, sql=COUNT), limits=Limits(requests=2))
    assert "This is the last request" in wire.requests[1]["messages"][-1]["content"]
    assert len(wire.requests) == 2 and answer.rows == ((20,),)
    answer, wire = asked(environment, opens, call("records", shape=SHAPE), limits=Limits(requests=2))
    assert len(wire.requests) == 2 and answer.stopped == "the limit of 2 requests was reached" and answer.value is None


def test_core_mode_keeps_a_limit_of_requests_too(environment: Environment):
    runs, ends = call("sql", query=COUNT), call("answer", text="20", results=["result_1"])
    answer, wire = asked(environment, runs, ends, core=True, limits=Limits(requests=2))
    assert len(wire.requests) == 2 and answer.rows == ((20,),)
    assert "This is the last step" in str(wire.requests[1]["messages"][-1]["content"])


def test_the_agent_may_cut_its_result_by_columns_order_and_rows(environment: Environment):
    cities = "SELECT city, count(*) AS n, max(name) AS one FROM crm.customers GROUP BY city ORDER BY city"
    answer, _ = asked(
        environment,
        call("records", shape={"meaning": "cities", "form": "list"}, sql=cities),
        call("answer", text="", results=["result_1"], columns=["city"], order=["city desc"], limit=2),
    )
    assert answer.columns == ("city",) and answer.rows == (("Chur",), ("Bern",))


def test_where_no_statement_came_the_agent_gets_all_there_is(environment: Environment):
    _, wire = asked(environment, call("records", shape=SHAPE), call("answer", text="none", confidence=0))
    assert "shop.orders" in wire.requests[1]["messages"][1]["content"], "a table that the view does not show"


def test_all_words_for_what_is_missing_are_searched_one_of_each_record_first(environment: Environment):
    entries = [
        {"kind": "missing", "about": "a", "options": ["status", "state"]},
        {"kind": "missing", "about": "b", "options": ["amount", "price"]},
        {"kind": "missing", "about": "c", "options": ["buyer"]},
    ]
    _, wire = asked(
        environment, call("records", shape=SHAPE, records=entries), call("answer", text="none", confidence=0)
    )
    opening = wire.requests[1]["messages"][1]["content"]
    places = [opening.index(f"Searched for {word}:") for word in ("status", "amount", "buyer", "state", "price")]
    assert places == sorted(places)


def test_several_things_are_recovered_at_once(environment: Environment):
    _, wire = asked(
        environment,
        call("records", shape=SHAPE),
        call("recover", what=["shop.orders.amount", "customers", "zzzz"]),
        call("answer", text="none", confidence=0),
    )
    [told] = [message["content"] for message in wire.requests[2]["messages"] if message["role"] == "tool"]
    assert "shop.orders.amount" in told and "crm.customers" in told and "NOTHING FOUND" in told


def test_the_arbiter_may_look_at_rows_before_it_decides(environment: Environment):
    look = "SELECT DISTINCT status FROM shop.orders ORDER BY status"
    answer, wire = asked(
        environment,
        call("records", shape=SHAPE, open=["shop.orders", look.replace("shop.orders", "hr.salaries"), look]),
        call("records", shape=SHAPE, sql="SELECT count(*) AS n FROM shop.orders WHERE status = 'void'", sure=True),
    )
    told = wire.requests[1]["messages"][-1]["content"]
    assert '"open"' in told and '"void"' in told and "hr.salaries is not in the evidence" in told
    assert answer.rows == ((100,),) and len(wire.requests) == 2


def test_for_what_there_is_no_room_is_said_and_long_texts_of_small_results_are_whole():
    found = recover_all(lambda what, budget: "word " * budget, ["a", "b", "a"], 300)
    assert [what for what, _ in found] == ["a", "b"] and "not looked up" in found[-1][1]
    text, rows = grid(["note"], ["VARCHAR"], [("x" * 1_500,), ("y" * 1_500,)], 6_000)
    assert rows == 2 and "x" * 1_500 in text and "y" * 1_500 in text


def test_the_limit_of_calls_stands_in_the_description_of_a_tool():
    assert f"At most {MOST_CALLS} calls" in TOOLS["sql"]


def test_a_text_operation_says_what_it_would_cost_before_it_reads(environment: Environment):
    query = {"query": "SELECT name FROM crm.customers", "column": "name", "categories": ["a", "b"]}
    answer, wire = asked(
        environment,
        call("records", shape=SHAPE),
        Say(calls=[("classify", {**query, "only_cost": True})]),
        call("answer", text="none", confidence=0),
    )
    told = str(wire.requests[2]["messages"][-1]["content"])
    assert "It would read" in told and "requests" in told and len(wire.requests) == 3
    answer, wire = asked(
        environment,
        call("records", shape=SHAPE),
        Say(calls=[("classify", query)]),
        call("answer", text="none", confidence=0),
        limits=Limits(tokens=1_200),
    )
    assert "tokens are left: filter the SELECT" in str(wire.requests[2]["messages"][-1]["content"])
    assert not any(step.step.startswith("text") for step in answer.steps)


class Forgetful(HandRouter):
    """A router that finds nothing for a word of the question."""

    def __init__(self) -> None:
        super().__init__()
        self.budgets: list[int] = []

    def view(self, question: str, budget: int) -> EvidenceView:
        self.budgets.append(budget)
        return replace(super().view(question, budget), unfound=("zebra",))


def test_a_view_that_may_lack_something_is_made_larger(environment: Environment):
    script = [call("records", shape=SHAPE, sql=COUNT, sure=True), call("sql", query=COUNT)]
    for budget, made in ((None, [DETAILS, 2 * DETAILS]), (500, [500])):
        router = Forgetful()
        with Wire(*script) as wire:
            options = AskOptions(model=wire.url, retries=Retries(2, 0.01), budget=budget)
            answer = ask("How many customers are in Bern?", environment, options, router=router)
        assert router.budgets == made and answer.rows == ((20,),)
        assert any(check.name == "recomputation" for check in answer.checks), "and computed a second time"
