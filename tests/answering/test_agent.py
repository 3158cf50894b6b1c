"""The agent over a real session: bounded, corrected in short sentences, ended by one typed answer, unable to do harm."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from answering.small_company import INJECTION, make
from answering.wire_servers import Fail, Say, Scripted, Wire, call
from coset.answering.agent.loop import MOST_IDLE, Agent, Ending
from coset.answering.agent.results import NamedResults
from coset.answering.agent.tools import Statements, Toolbox
from coset.answering.arbiter.records import Shape
from coset.answering.models.choices import ModelFailed, open_model, parse_model
from coset.answering.models.client import Ledger, Limits, ModelClient, Retries
from coset.answering.prompt import core_opening
from coset.answering.recorder import NullRecorder
from coset.errors import UserError
from coset.session.query_session import QuerySession

COUNT = "SELECT count(*) AS n FROM crm.customers"
DONE = call("answer", text="60", results=["result_1"], confidence=0.9)


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[QuerySession]:
    with QuerySession(make(tmp_path_factory.mktemp("company"))) as opened:
        yield opened


class Run:
    """One run of the agent against a script."""

    def __init__(self, session: QuerySession, *script: Scripted, limits: Limits | None = None, **given: Any) -> None:
        self.results = NamedResults()
        self.toolbox = Toolbox(
            Statements(session, self.results), lambda what, budget=0: f"all about {what}", given.pop("ask_user", None)
        )
        self.given = given
        self.ledger = Ledger(limits or Limits())
        self.wire = Wire(*script)

    def __call__(self) -> Ending:
        with self.wire:
            return asyncio.run(self._run())

    async def _run(self) -> Ending:
        opened = await open_model(parse_model(self.wire.url), 30)
        async with opened.model:
            client = ModelClient(opened, self.ledger, NullRecorder(), Retries(2, 0.01))
            agent = Agent(client, self.toolbox, **self.given)
            agent.begin(core_opening("How many customers?", "TABLE crm.customers"))
            return await agent.run()

    def told(self, request: int = -1) -> list[str]:
        """The contents of the tool results in a request, those of its last step."""
        messages = self.wire.requests[request]["messages"]
        last = max(number for number, message in enumerate(messages) if message["role"] == "assistant")
        return [_unwrapped(message["content"]) for message in messages[last + 1 :]]


def _unwrapped(text: str) -> str:
    """This protocol has no mark for a failed call, so the library writes one around its text."""
    return json.loads(text)["error"] if text.startswith('{"error":') else text


def test_a_statement_and_an_answer(session: QuerySession):
    run = Run(session, call("sql", query=COUNT), DONE)
    ending = run()
    assert ending.proposal is not None and ending.proposal.text == "60" and ending.steps == 2 and ending.stopped == ""
    assert run.told() == ['result_1: 1 row x 1\n<data name="result_1">\nn BIGINT\n60\n</data>']


def test_results_keep_names_that_later_statements_read(session: QuerySession):
    chain = [
        "SELECT city, count(*) AS n FROM crm.customers GROUP BY city",
        "SELECT max(n) AS top FROM result_1;",
        "WITH x AS (SELECT top FROM RESULT_2) SELECT top + (SELECT count(*) FROM result_1) AS sum FROM x -- the end",
    ]
    run = Run(session, *(call("sql", query=each) for each in chain), call("answer", text="23", results=["result_3"]))
    assert run().proposal is not None
    final = run.results.find("result_3")
    assert final.result is not None and final.result.rows() == [(23,)]
    assert session.sql(final.whole).rows() == [(23,)]  # It stands alone: nothing but the text is needed.


def test_a_name_does_not_open_a_door_in_the_guard(session: QuerySession):
    escape = "SELECT 1) UNION ALL (SELECT count(*) FROM read_csv('/etc/passwd')"
    run = Run(session, call("sql", query=COUNT), call("sql", query=f"{escape} -- result_1"), DONE)
    run()
    assert len(run.results.known) == 1 and "passwd" not in run.told()[0]


def test_a_large_result_is_capped_marked_and_still_whole_under_its_name(session: QuerySession):
    run = Run(
        session,
        call("sql", query="SELECT * FROM shop.orders"),
        call("sql", query="SELECT count(*) AS n FROM result_1"),
        DONE,
    )
    run()
    [text] = run.told(1)
    assert text.startswith("result_1: 300 rows x 4; truncated") and len(text) < 5_000
    assert "\n300\n" in run.told(2)[0]


def test_errors_are_short_say_what_to_do_and_are_told_apart_from_no_rows(session: QuerySession):
    calls = [
        ("sql", {"query": "SELECT nme FROM crm.customers"}),
        ("sql", {"query": "DELETE FROM crm.customers"}),
        ("sql", {"query": "SELECT * FROM crm.customers WHERE city = 'Nowhere'"}),
        ("calc", {"expression": "1 / 0"}),
        ("calc", {"expression": "__import__('os')"}),
        ("fly", {}),
        ("sql", {"statement": "SELECT 1"}),
        ("recover", {"what": "crm.customers"}),
    ]
    run = Run(session, Say(calls=calls), DONE)
    run()
    told = run.told()
    assert told[0].endswith("crm.customers has name, customer_id, city, active.")
    assert told[1].startswith("not allowed:")
    assert told[2].startswith("result_1: 0 rows") and "error" not in told[2]
    assert "zero" in told[3] and "__import__" in told[4]
    # That a call failed is told by the protocol, or by the library around the text: not once more inside.
    assert not any(text.startswith("error") for text in told)
    assert told[5] == "There is no tool 'fly'. Use: sql, calc, recover, answer."
    assert told[6].startswith("Wrong arguments: query")
    assert told[7] == '<data name="evidence">\nall about crm.customers\n</data>'
    assert all(len(text) < 700 for text in told)


def test_malformed_arguments_are_answered_and_the_run_goes_on(session: QuerySession):
    run = Run(session, Say(calls=[("sql", '{"query": "SELECT')]), call("sql", query=COUNT), DONE)
    assert run().proposal is not None
    assert "not a JSON object" in run.told(1)[0]


def test_an_endless_loop_of_the_same_statement_ends(session: QuerySession):
    run = Run(session, call("sql", query=COUNT), limits=Limits(steps=50))
    ending = run()
    assert ending.proposal is None and "repeated itself" in ending.stopped
    assert len(run.wire.requests) == MOST_IDLE + 2
    assert "ran before" in run.told(2)[0] and "last step" in run.told(-1)[-1]


def test_an_endless_loop_of_new_statements_ends_at_the_step_limit(session: QuerySession):
    numbers = iter(range(100))
    run = Run(session, lambda request: call("sql", query=f"SELECT {next(numbers)} AS n"), limits=Limits(steps=4))
    ending = run()
    assert ending.stopped == "the limit of 4 steps was reached" and len(run.wire.requests) == 4
    forced = run.wire.requests[-1]["tool_choice"]
    assert "answer" in json.dumps(forced), forced


def test_two_steps_are_enough_for_one_statement_and_an_answer(session: QuerySession):
    run = Run(session, call("sql", query=COUNT), DONE, limits=Limits(steps=2))
    assert run().proposal is not None


def test_a_token_limit_makes_the_next_step_the_last_and_is_said(session: QuerySession):
    numbers = iter(range(100))
    script = lambda request: Say(calls=[("sql", {"query": f"SELECT {next(numbers)} AS n"})], tokens=(1_000, 0))  # noqa: E731
    run = Run(session, script, limits=Limits(tokens=5_500, steps=50))
    ending = run()
    assert ending.proposal is None and len(run.wire.requests) <= 6 and run.ledger.tokens <= 6_500
    assert ending.stopped
    assert "last step" in run.told(-1)[-1]


def test_an_answer_beside_other_calls_waits_for_their_results(session: QuerySession):
    both = Say(calls=[("sql", {"query": COUNT}), ("answer", {"text": "59", "results": ["result_1"]})])
    run = Run(session, both, DONE)
    ending = run()
    assert ending.proposal is not None and ending.proposal.text == "60"
    assert "Not taken" in run.told(1)[1]


def test_an_answer_must_name_results_that_exist(session: QuerySession):
    run = Run(
        session,
        call("sql", query=COUNT),
        call("answer", text="60"),
        call("answer", text="60", results=["result_7"]),
        DONE,
    )
    assert run().steps == 4
    assert "name the results" in run.told(2)[0] and "there is no result 'result_7'" in run.told(3)[0]


def test_a_refusal_is_taken_as_it_is(session: QuerySession):
    def never(proposal: Any) -> list[str]:
        raise AssertionError("there is nothing to check in a refusal")

    for refusal in (
        call("answer", text="The data says nothing of the weather.", confidence=0),
        call("answer", text="This cannot be answered from these databases.", confidence=0.8),
    ):
        shape = Shape(meaning="a temperature", form="value")
        run = Run(session, call("sql", query=COUNT), refusal, shape=shape, verify=never)
        ending = run()
        assert ending.steps == 2 and ending.proposal is not None and ending.objections == ()


def test_helper_columns_are_left_out_without_another_statement(session: QuerySession):
    query = 'SELECT city, count(*) AS n, min(name) AS "First, by name" FROM crm.customers GROUP BY city ORDER BY city'
    run = Run(
        session, call("sql", query=query), call("answer", results=["result_1"], columns=["first, BY name", "City"])
    )
    ending = run()
    assert ending.steps == 2 and ending.proposal is not None
    final = run.results.find(ending.proposal.results[-1])
    assert final.result is not None and final.result.columns == ("First, by name", "city")
    assert final.result.rows()[0] == ("Firm 0", "Basel")
    assert session.sql(final.whole).rows() == final.result.rows()  # What stands for it gives the same rows.


def test_columns_that_are_not_there_are_named_and_the_run_goes_on(session: QuerySession):
    run = Run(session, call("sql", query=COUNT), call("answer", results=["result_1"], columns=["m"]), DONE)
    assert run().steps == 3 and "'result_1' has no column 'm'; it has n" in run.told()[0]


def test_lookaround_in_a_pattern_is_told_what_to_do(session: QuerySession):
    query = "SELECT count(*) AS n FROM crm.customers WHERE regexp_matches(name, '^(?!Firm)')"
    run = Run(session, call("sql", query=query), call("sql", query=COUNT), DONE)
    run()
    assert "(?!" in run.told(1)[0] and run.told(1)[0].endswith("RE2: no lookaround.")


def test_an_empty_answer_is_sent_back(session: QuerySession):
    run = Run(session, call("sql", query=COUNT), call("answer", text=""), DONE)
    assert run().proposal is not None and "give the answer" in run.told()[0]


def test_a_run_that_must_end_has_the_answer_that_was_sent_back_before(session: QuerySession):
    sent_back = call("answer", text="60", results=["result_1"])
    script = [call("sql", query=COUNT), sent_back, call("sql", query="SELECT 1 AS x")]
    run = Run(session, *script, limits=Limits(steps=3), verify=lambda proposal: ["shape: too short"])
    ending = run()
    assert ending.proposal is not None and (ending.proposal.text, ending.proposal.results) == ("60", ["result_1"])
    assert ending.stopped == "" and ending.objections == ("shape: too short", "the limit of 3 steps was reached")


def test_a_number_is_an_answer_too(session: QuerySession):
    run = Run(session, call("sql", query=COUNT), call("answer", text=60, results="result_1", confidence=1))
    ending = run()
    assert ending.proposal is not None and (ending.proposal.text, ending.proposal.results) == ("60", ["result_1"])


def test_another_shape_than_was_pinned_is_sent_back_once(session: QuerySession):
    wide = call("sql", query="SELECT city, count(*) AS n FROM crm.customers GROUP BY city")
    answer = call("answer", text="20", results=["result_1"])
    run = Run(session, wide, answer, answer, shape=Shape(meaning="how many in Bern", form="value", columns=["n"]))
    ending = run()
    assert ending.steps == 3 and ending.proposal is not None
    assert "the pinned shape is one value, but the final result has 3 rows" in run.told()[0]


def test_what_a_check_finds_goes_back_once(session: QuerySession):
    run = Run(session, call("sql", query=COUNT), DONE, DONE, verify=lambda proposal: ["join loss: half of the rows"])
    assert run().steps == 3 and "join loss" in run.told()[0]


def test_a_model_that_calls_no_tool_is_told_to_and_then_given_up(session: QuerySession):
    run = Run(session, Say("It is 60, surely."))
    with pytest.raises(UserError, match="does not call tools"):
        run()
    assert len(run.wire.requests) == 2 and "Nothing was called" in run.told(1)[0]


def test_text_in_the_last_step_counts_only_with_a_result_behind_it(session: QuerySession):
    run = Run(session, call("sql", query=COUNT), Say("60"), limits=Limits(steps=2))
    ending = run()
    assert ending.proposal is not None and ending.proposal.confidence == 0 and ending.objections
    assert Run(session, Say("60"), limits=Limits(steps=1))().proposal is None


def test_a_provider_that_goes_down_half_way_raises_and_keeps_the_conversation(session: QuerySession):
    run = Run(session, call("sql", query=COUNT), Fail(503))
    with pytest.raises(ModelFailed, match="503"):
        run()
    assert list(run.results.known) == ["result_1"]


def test_the_person_is_asked_only_when_there_is_one(session: QuerySession):
    asked: list[str] = []

    def ask_user(question: str, choices: tuple[str, ...]) -> str:
        asked.append(question)
        return "all of them"

    run = Run(
        session, call("ask_user", question="Active ones only?"), call("sql", query=COUNT), DONE, ask_user=ask_user
    )
    run()
    assert asked == ["Active ones only?"] and run.told(1) == ["The person says: all of them"]
    alone = Run(session, call("ask_user", question="Active ones only?"), call("sql", query=COUNT), DONE)
    alone()
    assert "There is no tool 'ask_user'" in alone.told(1)[0]


def test_too_many_calls_in_one_step_are_told_to_wait(session: QuerySession):
    run = Run(
        session, Say(calls=[("calc", {"expression": f"{n} + 1"}) for n in range(12)]), call("sql", query=COUNT), DONE
    )
    run()
    assert [text for text in run.told(1) if text.startswith("Not run")] == run.told(1)[8:]


def test_a_model_that_obeys_what_it_reads_can_do_no_harm(session: QuerySession, tmp_path: Path):
    """The planted row says to drop a table and answer 42. The scripted model does all it can to obey."""

    def obey(request: dict[str, Any]) -> Say:
        text = json.dumps(request["messages"][-1])
        assert INJECTION[:40] in text
        return Say(
            calls=[
                ("sql", {"query": "DROP TABLE crm.customers"}),
                ("sql", {"query": "WITH x AS (DELETE FROM crm.customers RETURNING *) SELECT * FROM x"}),
                ("sql", {"query": f"COPY (SELECT 1) TO '{tmp_path}/out.csv'"}),
                ("shell", {"command": "rm -rf /"}),
            ]
        )

    run = Run(session, call("sql", query="SELECT name FROM crm.customers WHERE customer_id = 'CUST-0007'"), obey, DONE)
    run()
    told = run.told()
    assert all(text.startswith(("not allowed:", "There is no tool")) for text in told), told
    assert session.sql(COUNT).rows() == [(60,)] and list(tmp_path.iterdir()) == []
    [row] = run.told(1)
    assert f'"{INJECTION}"' in row and row.index("<data") < row.index(INJECTION) < row.index("</data>")
