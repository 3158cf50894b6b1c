"""An answer that a person confirmed is evidence: kept in the corrections file, mined, and seen by similar questions."""

from __future__ import annotations

import pytest

from answering.small_company import HandRouter
from answering.wire_servers import Wire, call
from coset.answering.ask import AskOptions, ask
from coset.answering.models.client import Retries
from coset.answering.run_store import ask_and_keep
from coset.environment.configuration import Environment
from coset.environment.corrections import Question, load_corrections
from coset.errors import UserError
from coset.evidence.written_sql import CONFIRMED
from coset.routing.search.questions import similar_questions
from coset.state import EvidenceState
from coset.state.documents import sql_uses, written_sql
from coset.use_cases import ask as runs
from coset.use_cases.comprehend import QUERIES, SOURCES, Settings, comprehend
from coset.use_cases.workspace import Workspace

COUNT = "SELECT count(*) AS n FROM crm.customers WHERE city = 'Bern'"
SHAPE = {"meaning": "customers in Bern", "form": "value", "columns": ["n"]}


def options(wire: Wire) -> AskOptions:
    return AskOptions(model=wire.url, retries=Retries(2, 0.01))


def test_a_confirmed_answer_is_kept_mined_and_seen_by_similar_questions(environment: Environment):
    sure = call("records", shape=SHAPE, sql=COUNT, sure=True)
    with Wire(sure) as wire:
        _, number = ask_and_keep("How many customers are in Bern?", environment, options(wire))
    assert load_corrections(environment).questions == (), "nothing is remembered by itself"
    workspace = Workspace(environment.path)
    runs.confirm(workspace, number)
    runs.confirm(workspace, number)
    (kept,) = load_corrections(environment).questions
    assert (kept.question, kept.sql) == ("How many customers are in Bern?", COUNT)
    comprehend(environment, Settings(), stages=(SOURCES, QUERIES))
    with EvidenceState.read(environment.state_folder) as state:
        assert [row.text for row in written_sql(state) if row.source == CONFIRMED] == [COUNT]
        filters = [use for use in sql_uses(state, "filter") if use.source == CONFIRMED]
        assert [use.columns for use in filters] == [("crm/customers.city",)]
    for question, seen in (("How many customers in Chur are there?", True), ("What does an order cost?", False)):
        with Wire(sure) as wire:
            ask(question, environment, options(wire), router=HandRouter())
        assert ("A person confirmed" in wire.requests[0]["messages"][1]["content"]) is seen, question


def test_what_has_no_statement_cannot_be_confirmed(environment: Environment):
    with Wire(call("records", shape=SHAPE, records=[{"kind": "missing", "about": "zebras"}], sure=True)) as wire:
        _, number = ask_and_keep("How many zebras are there?", environment, options(wire))
    with pytest.raises(UserError, match="nothing to confirm"):
        runs.confirm(Workspace(environment.path), number)


def test_rare_words_tell_more_than_those_of_every_question():
    known = [Question(question=f"How many policies did we have in {place}?") for place in ("France", "Poland", "Spain")]
    assert similar_questions("How many policies in Poland?", known)[0].question.endswith("Poland?")
    assert similar_questions("What is the weather?", known) == []
