"""`ask` from question to answer, over real sources and real HTTP: both modes, kept runs, schema-only sources, bad input."""

from __future__ import annotations

import dataclasses
import json
import re
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from answering.small_company import CUSTOMERS, HandRouter, comprehended, copied, make
from answering.wire_servers import Fail, Say, Wire, call
from coset.answering.arbiter.draft import OWN
from coset.answering.ask import AskOptions, ask
from coset.answering.audit import Runs, replay
from coset.answering.models.choices import ModelFailed
from coset.answering.models.client import Limits, Retries
from coset.answering.run_store import ask_and_keep, go_on
from coset.environment.configuration import Environment, load_environment
from coset.errors import UserError
from coset.evidence.work import here
from coset.routing.ranking.model import ABOUT_FILE, shipped_folder
from coset.routing.views.view import EvidenceView
from coset.session.query_session import QuerySession
from coset.use_cases.comprehend import EVIDENCE, Settings, comprehend

QUESTION = "How many customers are in Bern?"
COUNT = "SELECT count(*) AS n FROM crm.customers WHERE city = 'Bern'"
DONE = call("answer", text="20", results=["result_1"], confidence=0.9)
FAST = Retries(attempts=2, first_seconds=0.01)
ROUTED = (shipped_folder() / ABOUT_FILE).exists()
needs_routing = pytest.mark.skipif(not ROUTED, reason="the routing weights are not there: make them with coset train")


def core(wire: Wire, **more: Any) -> AskOptions:
    return AskOptions(model=wire.url, core=True, retries=FAST, **more)


def learned(wire: Wire, **more: Any) -> AskOptions:
    return AskOptions(model=wire.url, retries=FAST, **more)


def records(sql: str = "", *entries: dict[str, Any], **more: Any) -> Say:
    shape = {"meaning": "number of customers whose city is Bern", "form": "value", "columns": ["n"]}
    listed = [{"kind": "filter", "about": "in Bern", "references": ["crm.customers.city"], "sql": "city = 'Bern'"}]
    return call("records", shape=shape, records=[*listed, *entries], **({"sql": sql} if sql else {}), **more)


STANDS = call("records", shape={"meaning": "customers in Bern", "form": "value", "columns": ["n"]}, sure=True)


def test_core_mode_gives_the_plain_schema_and_no_roles_or_records(environment: Environment):
    with Wire(call("sql", query=COUNT), DONE) as wire:
        answer = ask(QUESTION, environment, core(wire))
    assert (answer.text, answer.rows, answer.mode, answer.stopped) == ("20", ((20,),), "core", "")
    assert answer.sql == (COUNT,) and answer.confidence == 0.9
    assert answer.references == ("crm/customers", "crm/customers.city")
    opening = wire.requests[0]["messages"][1]["content"]
    assert "TABLE crm.customers | 60 rows" in opening and "TABLE shop.orders" in opening
    assert "records" not in opening and ".identifier" not in opening and "JOIN" not in opening


def test_recover_in_core_mode_finds_tables_words_and_nothing(environment: Environment):
    calls = [("recover", {"what": what}) for what in ("shop.orders", "Chur", "zzz nothing")]
    with Wire(Say(calls=calls), call("sql", query=COUNT), DONE) as wire:
        ask(QUESTION, environment, core(wire))
    told = [message["content"] for message in wire.requests[1]["messages"][-3:]]
    assert "TABLE shop.orders | 300 rows" in told[0] and "  status VARCHAR" in told[0]
    assert "Chur" in told[1] and "crm.customers.city" in told[1] and told[2].startswith('{"error":"no name')


def test_learned_mode_ends_after_one_step_of_the_agent_when_the_arbiter_wrote_the_statement(environment: Environment):
    with Wire(records(COUNT), records(COUNT), DONE) as wire:
        answer = ask(QUESTION, environment, learned(wire), router=HandRouter())
    assert (answer.text, answer.rows, answer.mode) == ("20", ((20,),), "learned")
    assert [step.step for step in answer.steps] == ["arbiter 1", "arbiter 2", "agent 1"]
    assert answer.shape is not None and answer.shape.form == "value"
    assert "crm/customers.city" in answer.references
    opening = wire.requests[2]["messages"][1]["content"]
    assert "R1 shape" in opening and "result_1: 1 row" in opening
    # The last thing it reads: the result is there, answer.
    assert 'call `answer` now, with results ["result_1"]' in opening.partition(QUESTION)[2]


def test_a_sure_arbiter_whose_statement_passes_every_check_is_the_only_request(environment: Environment):
    with Wire(records(COUNT, sure=True)) as wire:
        answer, number = ask_and_keep(QUESTION, environment, learned(wire))
    assert (answer.text, answer.rows, answer.sql) == ("20", ((20,),), (COUNT,))
    assert [step.step for step in answer.steps] == ["arbiter 1"] and len(wire.requests) == 1
    assert answer.confidence == 0.9 and {check.outcome for check in answer.checks} <= {"passed", "not applicable"}
    run = Runs(environment.state_folder).run(number)
    assert run.summary.status == "answered" and [kept.sql for kept in run.results] == [COUNT]


CITIES = "SELECT city FROM crm.customers GROUP BY city ORDER BY count(*) DESC LIMIT 1"


@pytest.mark.parametrize(
    ("sql", "entry", "why"),
    [
        ("SELECT count(*) AS n FROM crm.customers WHERE city = 'Nowhere'", None, "a count of nothing"),
        ("SELECT max(city) AS n FROM crm.customers WHERE city = 'Nowhere'", None, "an aggregate of nothing"),
        (CITIES, None, "a tie that the limit cuts in two"),
        (
            COUNT,
            {"kind": "check", "about": "must be none void", "sql": "SELECT 3 AS void"},
            "its own check found something",
        ),
    ],
)
def test_what_leaves_something_to_decide_comes_back_to_the_arbiter_once(
    environment: Environment, sql: str, entry: dict[str, Any] | None, why: str
):
    with Wire(records(sql, *([entry] if entry else []), sure=True), STANDS) as wire:
        answer = ask(QUESTION, environment, learned(wire), router=HandRouter())
    assert [step.step for step in answer.steps] == ["arbiter 1", "arbiter 2"], why
    assert answer.sql == (sql,) and answer.confidence < 0.9, "it stands, with what was found"
    told = wire.requests[1]["messages"][-1]["content"]
    assert "Your statement ran" in told and "result_1" in told, why


@pytest.mark.parametrize(
    ("sql", "entry", "why"),
    [
        ("SELECT name FROM crm.customers WHERE city = 'Nowhere'", None, "no rows"),
        (COUNT, {"kind": "extract", "references": ["crm.customers.name"], "options": ["year"]}, "a text to read"),
    ],
)
def test_what_no_statement_settles_is_for_the_agent(
    environment: Environment, sql: str, entry: dict[str, Any] | None, why: str
):
    with Wire(records(sql, *([entry] if entry else []), sure=True), call("sql", query=f"{COUNT} --"), DONE) as wire:
        answer = ask(QUESTION, environment, learned(wire), router=HandRouter())
    assert [step.step for step in answer.steps][:2] == ["arbiter 1", "agent 1"], why


def test_what_all_requests_of_a_run_share_stands_first(environment: Environment):
    with Wire(records(COUNT), records(COUNT), DONE) as wire:
        ask(QUESTION, environment, learned(wire), router=HandRouter())
    first, second = (request["messages"] for request in wire.requests[:2])
    assert first[0] == second[0] and wire.requests[0]["tools"] == wire.requests[1]["tools"]
    begins = second[1]["content"].partition("</data>")[0]
    assert "EVIDENCE VIEW" in begins and first[1]["content"].startswith(begins), "the same letters, for a cache"
    assert "DIRECTORY" not in second[1]["content"], "the second request shows only what was named"


class NullsRouter(HandRouter):
    """A view that shows how many of the ratings are NULL, or does not."""

    def __init__(self, nulls: float | None) -> None:
        self.nulls = nulls

    def view(self, question: str, budget: int) -> EvidenceView:
        city, _ = super().view(question, budget).tables[0].columns
        rating = dataclasses.replace(city, reference="crm/customers.rating", expression="rating", nulls=self.nulls)
        table = dataclasses.replace(super().view(question, budget).tables[0], columns=(city, rating))
        return dataclasses.replace(super().view(question, budget), tables=(table,))


@pytest.mark.parametrize(("nulls", "requests"), [(0.25, 1), (None, 2)])
def test_nulls_that_the_arbiter_was_shown_need_no_second_look_but_travel_with_the_answer(
    original: Environment, tmp_path: Path, nulls: float | None, requests: int
):
    environment = copied(original, tmp_path)
    with sqlite3.connect(tmp_path / "crm.db") as connection:
        connection.execute("ALTER TABLE customers ADD COLUMN rating INTEGER")
        connection.execute("UPDATE customers SET rating = 3 WHERE CAST(substr(customer_id, 6) AS INTEGER) % 4 > 0")
    comprehend(environment, Settings(spread=here), stages=EVIDENCE)
    shape = {"meaning": "mean rating", "form": "value", "columns": ["mean"]}
    mean = call("records", shape=shape, sql="SELECT avg(rating) AS mean FROM crm.customers", sure=True)
    with Wire(mean, call("records", shape=shape, sure=True)) as wire:
        answer = ask("What is the mean rating of customers?", environment, learned(wire), router=NullsRouter(nulls))
    assert answer.rows == ((3.0,),) and len(wire.requests) == requests
    assert {check.name: check.outcome for check in answer.checks}["nulls"] == "doubt"


@pytest.mark.parametrize("steps", [1, 2, 4, 8])
def test_a_cap_on_steps_counts_the_agents_and_a_settled_question_needs_none(environment: Environment, steps: int):
    with Wire(records(COUNT, sure=True)) as wire:
        assert ask(QUESTION, environment, learned(wire, limits=Limits(steps=steps)), router=HandRouter()).text == "20"
    numbers = iter(range(100))
    with Wire(lambda _: call("sql", query=f"SELECT {next(numbers)} AS n")) as wire:
        answer = ask(QUESTION, environment, core(wire, limits=Limits(steps=steps)))
    assert answer.stopped == f"the limit of {steps} steps was reached" and len(answer.steps) == steps


def test_what_the_arbiter_misses_is_searched_for_before_the_agent_is_asked(environment: Environment):
    missing = [{"kind": "missing", "about": what} for what in ("amount", "weather")]
    with Wire(records("", *missing), call("answer", text="It cannot be answered.", confidence=0)) as wire:
        answer = ask("How warm was it in Bern?", environment, learned(wire), router=HandRouter())
    opening = wire.requests[1]["messages"][1]["content"]
    assert "Searched for amount:" in opening and "shop.orders.amount" in opening and "NOTHING FOUND" in opening
    assert answer.confidence == 0 and len(answer.steps) == 2


def test_an_arbiter_that_stays_unsure_leaves_the_answer_to_the_agent(environment: Environment):
    with Wire(records(COUNT), records(COUNT), DONE) as wire:
        answer = ask(QUESTION, environment, learned(wire), router=HandRouter())
    assert [step.step for step in answer.steps] == ["arbiter 1", "arbiter 2", "agent 1"]


def test_a_check_of_the_arbiter_that_passes_says_so_with_the_answer(environment: Environment):
    none = {"kind": "check", "about": "must have a city", "sql": "SELECT * FROM crm.customers WHERE city IS NULL"}
    with Wire(records(COUNT, none, sure=True)) as wire:
        answer = ask(QUESTION, environment, learned(wire), router=HandRouter())
    assert [check.detail for check in answer.checks if check.name == OWN] == ["must have a city: 0 rows"]
    assert answer.confidence == 0.9 and len(wire.requests) == 1


def test_a_check_of_the_arbiter_that_finds_nothing_keeps_the_answer_settled(environment: Environment):
    nothing = {"kind": "check", "about": "no city", "sql": "SELECT count(*) FROM crm.customers WHERE city IS NULL"}
    with Wire(records(COUNT, nothing, sure=True)) as wire:
        assert ask(QUESTION, environment, learned(wire), router=HandRouter()).text == "20"
    assert len(wire.requests) == 1


def test_a_prepared_statement_with_too_many_rows_is_told_to_be_in_doubt(environment: Environment):
    two = f"{COUNT} UNION ALL SELECT 7"
    with Wire(records(two, sure=True), records(COUNT, sure=True)) as wire:
        answer = ask(QUESTION, environment, learned(wire), router=HandRouter())
    told = wire.requests[1]["messages"][-1]["content"]
    assert "shape, failed: one value was pinned, but the statement gives 2 rows" in told
    assert answer.rows == ((20,),) and answer.confidence == 0.9


JOINED = "SELECT {} FROM shop.orders o JOIN crm.customers c ON {} = c.customer_id"


def test_a_doubt_stands_beside_the_result_and_travels_with_the_answer_but_sends_nothing_back(environment: Environment):
    many = "SELECT count(*) AS n FROM crm.customers a JOIN crm.customers b ON a.city = b.city"
    with Wire(call("sql", query=many), call("answer", text="1200", results=["result_1"])) as wire:
        answer, number = ask_and_keep("How many pairs are there?", environment, core(wire))
    assert [step.step for step in answer.steps] == ["agent 1", "agent 2"]
    assert {check.name: check.outcome for check in answer.checks}["fan-out"] == "doubt"
    told = wire.requests[1]["messages"][-1]["content"]
    assert '<data name="checks">\nfan-out, doubt: ' in told
    assert "objection" not in {step.kind for step in Runs(environment.state_folder).run(number).steps}


def test_a_check_that_failed_sends_the_answer_back_once(environment: Environment):
    lossy = JOINED.format("count(*) AS n", "o.status")
    fine = JOINED.format("count(*) AS n", "o.buyer")
    with Wire(
        call("sql", query=lossy),
        call("answer", text="0", results=["result_1"]),
        call("sql", query=fine),
        call("answer", text="300", results=["result_2"]),
    ) as wire:
        answer = ask("How many orders have a customer?", environment, core(wire))
    assert answer.text == "300" and len(wire.requests) == 4
    assert "Not taken yet" in wire.requests[2]["messages"][-1]["content"]
    assert {check.outcome for check in answer.checks} <= {"passed", "not applicable"}, answer.checks


def test_what_the_calculator_gave_is_a_number_that_the_answer_may_state(environment: Environment):
    with Wire(
        call("sql", query=COUNT),
        call("calc", expression="20 * 7.25"),
        call("answer", text="145", results=["result_1"]),
    ) as wire:
        answer = ask("How many customers in Bern, times 7.25?", environment, core(wire))
    assert {check.name: check.outcome for check in answer.checks}["stored values"] == "passed"


def test_rows_that_are_one_thing_are_brought_together_by_a_tool(environment: Environment):
    with Wire(
        call("resolve_entities", table="crm.customers", named_by=["name"]),
        call("sql", query="SELECT count(*) AS n FROM result.entities_1"),
        call("answer", text="60", results=["result_1"]),
    ) as wire:
        answer = ask("How many customers, each once?", environment, core(wire))
    assert answer.rows == ((60,),)
    told = wire.requests[1]["messages"][-1]["content"]
    assert told.startswith("result.entities_1 (customer_id, cluster, cluster_size, cluster_name): 60 rows, ")


@needs_routing
def test_learned_mode_over_the_real_router(environment: Environment):
    with Wire(records(COUNT), DONE) as wire:
        answer, number = ask_and_keep(QUESTION, environment, learned(wire))
    assert answer.text == "20" and "crm/customers.city" in answer.references
    evidence = wire.requests[0]["messages"][1]["content"]
    assert "TABLE crm.customers" in evidence and "'Bern'" in evidence
    kinds = {step.kind for step in Runs(environment.state_folder).run(number).steps}
    assert {"view", "model", "records", "draft", "checks", "answer"} <= kinds


def test_texts_are_classified_by_the_text_model_into_a_table_that_sql_joins(environment: Environment):
    def labels(request: dict[str, Any]) -> Say:
        content = request["messages"][-1]["content"]
        found = re.findall(r'^(\d+)\. "(\w+)"', content, re.MULTILINE)
        return call("labels", labels=[{"number": int(n), "label": "done" if t == "paid" else "open"} for n, t in found])

    by_status = {"query": "SELECT order_no, status FROM shop.orders", "column": "status"}
    joined = "SELECT count(*) AS n FROM result.labels_1 WHERE category = 'done'"
    with (
        Wire(labels) as reader,
        Wire(
            call("classify", **by_status, categories=["open", "done"], question="is it over?"),
            call("sql", query=joined),
            call("answer", text="100", results=["result_1"]),
        ) as wire,
    ):
        answer, number = ask_and_keep("How many orders are done?", environment, core(wire, text_model=reader.url))
    assert answer.rows == ((100,),) and len(reader.requests) == 1
    assert [step.step for step in answer.steps] == ["agent 1", "text 1", "agent 2", "agent 3"]
    told = wire.requests[1]["messages"][-1]["content"]
    assert told.startswith("result.labels_1 (order_no, status, category") and "3 different texts, 3 read" in told
    with QuerySession(environment) as session:
        again = replay(Runs(environment.state_folder), number, session)
    assert again.verdict == "same", again


def test_fields_are_extracted_into_a_table_that_sql_reads(environment: Environment):
    def fields(request: dict[str, Any]) -> Say:
        found = re.findall(r'^(\d+)\. "CUST-(\d+)"', request["messages"][-1]["content"], re.MULTILINE)
        return call("labels", labels=[{"number": int(n), "label": {"digits": digits}} for n, digits in found])

    with (
        Wire(fields) as reader,
        Wire(
            call("extract", query="SELECT buyer FROM shop.orders", column="buyer", fields=["digits"]),
            call("sql", query="SELECT count(DISTINCT digits) AS n FROM result.labels_1 WHERE digits < '0010'"),
            call("answer", text="10", results=["result_1"]),
        ) as wire,
    ):
        answer = ask("How many buyers have a number below 10?", environment, core(wire, text_model=reader.url))
    assert answer.rows == ((10,),)
    assert '"digits" in 300 rows' in wire.requests[1]["messages"][-1]["content"]


NO_TOWN = "SELECT count(*) AS n FROM crm.customers WHERE town = 'Bern'"


def test_a_statement_of_the_arbiter_that_does_not_run_is_asked_for_again(environment: Environment):
    with Wire(records(NO_TOWN, sure=True), records(COUNT, sure=True)) as wire:
        answer = ask(QUESTION, environment, learned(wire), router=HandRouter())
    assert (answer.text, [step.step for step in answer.steps]) == ("20", ["arbiter 1", "arbiter 2"])
    told = wire.requests[1]["messages"][-1]["content"]
    assert "does not run: Referenced column" in told and "crm.customers has" in told and "city" in told


def test_a_statement_of_the_arbiter_that_never_runs_is_told_and_the_agent_goes_on(environment: Environment):
    bad = records(NO_TOWN, sure=True)
    with Wire(bad, bad, bad, call("sql", query=COUNT), DONE) as wire:
        answer = ask(QUESTION, environment, learned(wire), router=HandRouter())
    opening = wire.requests[3]["messages"][1]["content"]
    assert answer.text == "20" and "Already run: SELECT" in opening and "It failed: " in opening
    # Without rows the agent needs the evidence that the statement was written from.
    assert "TABLE crm.customers" in opening and opening.endswith(QUESTION)


def test_without_usable_records_the_agent_works_from_the_view_and_says_so(environment: Environment):
    with Wire(Say("no"), Say("no"), Say("no"), call("sql", query=COUNT), DONE) as wire:
        answer = ask(QUESTION, environment, learned(wire), router=HandRouter())
    assert answer.text == "20" and any("arbiter gave no records" in text for text in answer.assumptions)
    assert "EVIDENCE VIEW" in wire.requests[3]["messages"][1]["content"]


def test_open_readings_are_listed_or_asked_about(environment: Environment):
    open_ = {"kind": "ambiguity", "about": "active ones only?", "options": ["all customers", "active customers"]}
    with Wire(records(COUNT, open_, sure=True), DONE) as wire:
        assert ask(QUESTION, environment, learned(wire), router=HandRouter()).readings == (
            "all customers",
            "active customers",
        )
    asked: list[tuple[str, tuple[str, ...]]] = []

    def ask_user(question: str, choices: tuple[str, ...]) -> str:
        asked.append((question, choices))
        return choices[1]

    with Wire(records(COUNT, open_), DONE) as wire:
        ask(QUESTION, environment, learned(wire, ask_user=ask_user), router=HandRouter())
    assert asked == [("active ones only?", ("all customers", "active customers"))]
    assert "means: active ones only?: active customers" in wire.requests[1]["messages"][1]["content"]


def test_the_prefix_of_a_prompt_is_the_same_for_every_question(environment: Environment):
    with Wire(records(COUNT), DONE) as first:
        ask(QUESTION, environment, learned(first), router=HandRouter())
    with Wire(records(COUNT), DONE) as second:
        ask("How many customers are in Chur?", environment, learned(second), router=HandRouter())
    for one, other in zip(first.requests, second.requests, strict=True):
        assert one["tools"] == other["tools"] and one["messages"][0] == other["messages"][0]


def test_a_run_is_kept_with_its_steps_and_answer(environment: Environment):
    with Wire(call("sql", query=COUNT), DONE) as wire:
        answer, number = ask_and_keep(QUESTION, environment, core(wire))
    run = Runs(environment.state_folder).run(number)
    assert run.summary.status == "answered" and run.summary.question == QUESTION
    assert {"view", "model", "tool", "checks", "answer"} <= {step.kind for step in run.steps}
    assert run.summary.input_tokens + run.summary.output_tokens == answer.tokens == 220
    assert run.answer is not None and run.answer["sql"] == [COUNT] and [kept.sql for kept in run.results] == [COUNT]


def test_a_provider_that_goes_down_half_way_leaves_a_run_that_can_go_on(environment: Environment):
    with Wire(call("sql", query=COUNT), Fail(503)) as wire, pytest.raises(ModelFailed, match=r"coset run 1 --resume"):
        ask_and_keep(QUESTION, environment, core(wire))
    assert Runs(environment.state_folder).summary(1).status == "failed"
    with Wire(call("sql", query="SELECT n FROM result_1"), call("answer", text="20", results=["result_2"])) as wire:
        answer, number = go_on(1, environment, core(wire))
    assert number == 1 and answer.text == "20" and answer.rows == ((20,),)
    # The conversation goes on where it was: the first statement and its result are there.
    assert COUNT in wire.prompts()[0] and "result_1: 1 row" in wire.prompts()[0]
    assert Runs(environment.state_folder).summary(1).status == "answered"
    with pytest.raises(UserError, match="was answered"):
        go_on(1, environment, core(wire))


def test_a_limit_stops_with_what_it_has_and_says_so(environment: Environment):
    with Wire(call("sql", query=COUNT)) as wire:
        answer, number = ask_and_keep(QUESTION, environment, core(wire, limits=Limits(steps=2)))
    assert answer.stopped == "the limit of 2 steps was reached" and answer.rows == ((20,),) and answer.confidence == 0
    assert Runs(environment.state_folder).summary(number).status == "stopped"


def test_no_value_of_a_schema_only_source_is_in_any_byte_sent(tmp_path: Path):
    environment = comprehended(tmp_path, extra=", schema_only: true")
    calls = [
        ("sql", {"query": "SELECT name, city FROM crm.customers"}),
        ("sql", {"query": "SELECT min(name) FROM crm.customers"}),
        ("sql", {"query": "SELECT city, count(*) FROM crm.customers GROUP BY city"}),
        ("sql", {"query": "SELECT count(*) AS n FROM crm.customers WHERE active = 1"}),
        ("sql", {"query": "SELECT count(*) AS n FROM crm.customers"}),
        ("recover", {"what": "crm.customers"}),
        ("recover", {"what": "crm.customers.city"}),
        ("recover", {"what": "Firm"}),
    ]
    question = "How many customers are there?"
    number = len(CUSTOMERS)
    for options in (core, *([learned] if ROUTED else [])):
        script = [Say(calls=calls), call("answer", text=str(number), results=["result_1"])]
        with Wire(
            *([] if options is core else [call("records", shape={"meaning": "m", "form": "value"})]), *script
        ) as wire:
            answer = ask(question, environment, options(wire))
        assert answer.text == str(number) and answer.rows == ((number,),)
        sent = wire.everything
        assert "customer_id" in sent  # The schema is there,
        # and no value is. What the scripted model itself wrote is no leak.
        values = {value for row in CUSTOMERS for value in row[1:3] if isinstance(value, str)}
        assert [value for value in values if value in sent] == []
        assert "not allowed" in sent and f'<data name=\\"result_1\\">\\nn BIGINT\\n{number}' in sent


@pytest.mark.parametrize("question", ["", "   ", "x" * 9_000])
def test_a_question_that_is_none_is_refused(environment: Environment, question: str):
    with pytest.raises(UserError, match="question"):
        ask(question, environment, AskOptions(model="ollama:x"))


def test_an_environment_that_was_not_comprehended_is_told(tmp_path: Path):
    with pytest.raises(UserError, match="coset comprehend"):
        ask(QUESTION, make(tmp_path), AskOptions(model="ollama:x"))


def test_a_limit_on_cost_without_a_price_is_refused(environment: Environment):
    with pytest.raises(UserError, match="max_tokens"):
        ask(QUESTION, environment, AskOptions(model="ollama:x", limits=Limits(cost=1.0)))


def test_a_question_about_absent_data_can_end_without_a_statement(environment: Environment):
    none = call("answer", text="The data holds nothing about the weather.", confidence=0)
    with Wire(none) as wire:
        answer = ask("What was the weather on Mars?", environment, core(wire))
    assert answer.text.startswith("The data holds nothing") and answer.sql == () and answer.confidence == 0


def coset(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = "from coset.surfaces.command_line import main; main()"
    return subprocess.run(
        [sys.executable, "-c", command, *arguments], cwd=folder, capture_output=True, text=True, check=False
    )


def test_the_command_prints_the_answer_alone_on_standard_output(
    environment: Environment, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("COSET_MODEL", raising=False)
    folder = environment.path.parent
    with Wire(call("sql", query=COUNT), DONE) as wire:
        told = coset("ask", QUESTION, "--core", "--model", wire.url, folder=folder)
    assert (told.returncode, told.stdout) == (0, "20\n"), told.stderr
    assert COUNT in told.stderr and "run 1" in told.stderr and "220 tokens" in told.stderr


def test_without_a_model_the_offline_reasoner_answers_or_declines_with_the_evidence(
    environment: Environment, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("COSET_MODEL", raising=False)
    told = coset("ask", QUESTION, "--json", folder=environment.path.parent)
    assert told.returncode == 0, told.stderr
    document = json.loads(told.stdout)
    assert (document["mode"], document["rows"], document["tokens"]) == ("offline", [[20]], 0)
    declined = coset("ask", "Why do our customers feel so blue about it?", folder=environment.path.parent)
    assert declined.returncode == 1 and "a language model can answer more" in declined.stderr
    assert "most likely it lies in crm.customers" in declined.stderr


def test_the_command_reads_the_model_of_the_file_and_prints_json(environment: Environment):
    folder = environment.path.parent
    rows = call("sql", query="SELECT city, count(*) AS n FROM crm.customers GROUP BY city ORDER BY city")
    with Wire(rows, call("answer", results=["result_1"], confidence=0.8)) as wire:
        text = environment.path.read_text()
        environment.path.write_text(f"{text}models:\n  agent: {wire.url}\n")
        assert load_environment(folder).models == {"agent": wire.url}
        told = coset("ask", "Customers by city?", "--core", "--json", folder=folder)
    document = json.loads(told.stdout)
    assert told.returncode == 0 and document["value"] == [["Basel", 20], ["Bern", 20], ["Chur", 20]]
    assert document["columns"] == ["city", "n"] and document["run"] == 1 and document["cost"] is None
