"""What an answer hands on: a value in one form whoever gave it, and the references of its statements and no others."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from answering.small_company import HandRouter
from answering.wire_servers import Say, Wire, call
from coset.answering.agent.results import NamedResult
from coset.answering.answer import Answer
from coset.answering.arbiter.records import Shape
from coset.answering.ask import AskOptions, ask
from coset.answering.assemble import references_of_answer
from coset.answering.models.client import Retries
from coset.answering.run_store import answer_data
from coset.environment.configuration import Environment
from coset.routing.views.view import EvidenceView, LeftOut, Passage, ViewRelation

MOST = "SELECT city, count(*) AS n FROM crm.customers WHERE city = 'Bern' GROUP BY city"
ROW = {"meaning": "the city with most customers", "form": "row", "columns": ["city", "n"]}


def asked(environment: Environment, *script: Say, router: Any = None) -> tuple[Answer, Wire]:
    with Wire(*script) as wire:
        options = AskOptions(model=wire.url, retries=Retries(2, 0.01))
        return ask("Which city has most customers?", environment, options, router=router or HandRouter()), wire


def test_one_row_is_a_list_of_rows_whether_arbiter_or_agent_gave_it(environment: Environment):
    settled, _ = asked(environment, call("records", shape=ROW, sql=MOST, sure=True))
    given, _ = asked(
        environment, call("records", shape=ROW, sql=MOST), call("answer", text="Bern: 20", results=["result_1"])
    )
    assert settled.text == "Bern, 20" and given.text == "Bern: 20"
    assert settled.value == given.value == [["Bern", 20]] and answer_data(given)["value"] == [["Bern", 20]]


BARE = Answer("", "core", "", (), (), False, (), (), (), (), 1.0, None, "", (), ())


@pytest.mark.parametrize(
    ("text", "rows", "value"),
    [
        ("20", ((20,),), 20),
        ("", ((20,),), 20),
        ("There are 20.", ((20,),), 20),
        ("20.5 %", ((20,),), "20.5 %"),
        ("yes", ((20,),), "yes"),
        ("", (("a",), ("b",)), [["a"], ["b"]]),
        ("a, b", (("a",), ("b",)), [["a"], ["b"]]),
        ("ab", (("a",), ("b",)), "ab"),
        ("nothing", (), "nothing"),
        ("none", ((None,),), "none"),
    ],
)
def test_the_value_is_the_rows_where_the_text_says_them_and_the_text_otherwise(text: str, rows: Any, value: Any):
    answer = dataclasses.replace(BARE, text=text, rows=rows, columns=("x",))
    assert answer.value == value and type(answer.value) is type(value)
    assert dataclasses.replace(answer, stopped="no room").value is None


def test_a_pinned_text_stays_a_text():
    shape = Shape(meaning="a sentence", form="text")
    assert dataclasses.replace(BARE, text="about 20", rows=((20,),), columns=("n",), shape=shape).value == "about 20"


def relation(name: str, left: str, right: str) -> ViewRelation:
    sides = (left.partition(".")[0], right.partition(".")[0])
    return ViewRelation(name, (left,), (right,), "", "same", 1.0, 1.0, "n:1", "measured", 0.9, True, *sides)


VIEW = EvidenceView(
    "digest", 2000, 100, True, (),
    (
        relation("relation_used", "shop/orders.buyer", "crm/customers.customer_id"),
        relation("relation_not", "shop/orders.status", "crm/customers.customer_id"),
    ),
    (), (Passage("document_1", "Notes", "A note.", "documented"),), LeftOut(),
)  # fmt: skip


def stands_on(environment: Environment, sql: str, *cited: str) -> tuple[str, ...]:
    return references_of_answer([NamedResult("result_1", sql, sql, None)], cited, VIEW, environment.state_folder)


JOINED = "FROM shop.orders o JOIN crm.customers c ON trim(o.buyer) = c.customer_id"


def test_references_are_those_that_the_statement_reads_by_scope(environment: Environment):
    found = stands_on(
        environment, f"SELECT name, sum(amount) AS status {JOINED} GROUP BY name ORDER BY status",
        "crm/notes", "crm/customers.city", "shop/orders.buyer#code", "shop/orders.status", "document_1", "relation_not",
    )  # fmt: skip
    assert found == (
        "crm/customers", "crm/customers.customer_id", "crm/customers.name", "document_1", "relation_used",
        "shop/orders", "shop/orders.amount", "shop/orders.buyer", "shop/orders.buyer#code",
    )  # fmt: skip


def test_columns_of_subqueries_that_look_outwards_are_references_too(environment: Environment):
    sql = (
        "WITH paid AS (SELECT buyer AS city FROM shop.orders WHERE status = 'paid') SELECT c.name FROM crm.customers c "
        "WHERE EXISTS (SELECT 1 FROM paid WHERE paid.city = c.customer_id)"
    )
    found = set(stands_on(environment, sql))
    assert {"crm/customers.customer_id", "crm/customers.name", "shop/orders.buyer", "shop/orders.status"} <= found
    assert "crm/customers.city" not in found


def test_what_the_state_does_not_know_is_named_as_sql_names_it(environment: Environment):
    assert stands_on(environment, "SELECT label FROM result.labels_1", "crm/customers.name") == ("result.labels_1",)
    assert references_of_answer([], ["b", "a"], VIEW, environment.state_folder) == ("a", "b")


class CutRouter(HandRouter):
    """A view that leaves something out."""

    def view(self, question: str, budget: int) -> EvidenceView:
        return dataclasses.replace(super().view(question, budget), left_out=LeftOut({"tables": 5}))


def test_only_who_can_recover_is_told_to(environment: Environment):
    _, wire = asked(
        environment, *[Say("no")] * 3, call("sql", query=MOST), call("answer", text="", results=["result_1"]),
        router=CutRouter(),
    )  # fmt: skip
    arbiter, agent = (wire.requests[number]["messages"][1]["content"] for number in (0, 3))
    assert "LEFT OUT tables 5; open it by name\n" in arbiter and "recover" not in arbiter
    assert "LEFT OUT tables 5; shown by recover REFERENCE" in agent


def test_without_a_word_to_search_by_the_arbiter_can_say_that_there_is_no_answer(environment: Environment):
    entry = {"kind": "missing", "about": "no table tells who is a dentist"}
    answer, wire = asked(environment, call("records", shape=ROW, records=[entry], sure=True))
    assert len(wire.requests) == 1 and answer.value == "The data cannot answer this: no table tells who is a dentist."
