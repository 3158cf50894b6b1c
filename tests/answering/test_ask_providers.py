"""A whole question through the protocol of every provider: arbiter, draft, agent, tools; and what goes wrong half-way."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from answering.small_company import HandRouter
from answering.wire_servers import Fail, Say, Wire, call
from coset.answering.ask import AskOptions, ask
from coset.answering.audit import Runs
from coset.answering.models.choices import ModelFailed
from coset.answering.models.client import Retries
from coset.answering.run_store import ask_and_keep, go_on
from coset.environment.configuration import Environment
from coset.errors import UserError
from coset.surfaces.command_line import coset

QUESTION = "How many customers are in Bern?"
COUNT = "SELECT count(*) AS n FROM crm.customers WHERE city = 'Bern'"
RECORDS = {"shape": {"meaning": "customers in Bern", "form": "value", "columns": ["n"]}, "sql": COUNT}
FAST = Retries(attempts=2, first_seconds=0.01)
KEY = "sk-secret-0123456789abcdef"
MODELS = {
    "anthropic": "anthropic:claude-haiku-4-5",
    "openai": "openai:gpt-4o",
    "google": "google:gemini-2.5-flash",
    "ollama": "ollama:qwen3:4b",
    "endpoint": "",
}


@pytest.fixture(params=sorted(MODELS))
def model(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GOOGLE_API_KEY", "OLLAMA_API_KEY", "COSET_MODEL_KEY"):
        monkeypatch.setenv(name, KEY)
    return str(request.param)


def options(wire: Wire, model: str, monkeypatch: pytest.MonkeyPatch) -> AskOptions:
    for name, end in (("ANTHROPIC", ""), ("OPENAI", "/v1"), ("GOOGLE_GEMINI", ""), ("OLLAMA", "/v1")):
        monkeypatch.setenv(f"{name}_BASE_URL", wire.root + end)
    return AskOptions(model=MODELS[model] or wire.url, retries=FAST)


def test_a_question_is_answered_by_one_request(environment: Environment, model: str, monkeypatch: pytest.MonkeyPatch):
    with Wire(call("records", **RECORDS, sure=True)) as wire:
        answer = ask(QUESTION, environment, options(wire, model, monkeypatch), router=HandRouter())
    assert (answer.text, len(wire.requests), answer.tokens) == ("20", 1, 110)
    assert KEY not in wire.everything


def test_an_agent_goes_on_with_tools(environment: Environment, model: str, monkeypatch: pytest.MonkeyPatch):
    two = Say(calls=[("calc", {"expression": "2 * 10"}), ("recover", {"what": "crm.customers"})])
    done = call("answer", text="20", results=["result_1"], confidence=0.9)
    unsure = call("records", **RECORDS)
    with Wire(unsure, unsure, two, done) as wire:
        answer = ask(QUESTION, environment, options(wire, model, monkeypatch), router=HandRouter())
    assert answer.text == "20" and [step.step for step in answer.steps] == [
        "arbiter 1",
        "arbiter 2",
        "agent 1",
        "agent 2",
    ]
    assert "customer_id" in wire.prompts()[3]  # What was recovered went back to the model.


def test_a_wrong_key_is_told_and_the_run_is_kept(environment: Environment, model: str, monkeypatch: pytest.MonkeyPatch):
    with Wire(Fail(401, {"error": {"message": f"bad key {KEY}", "type": "authentication_error"}})) as wire:
        chosen = options(wire, model, monkeypatch)
        with pytest.raises(UserError, match="refused the key: check") as error:
            ask_and_keep(QUESTION, environment, chosen)
    assert KEY not in str(error.value) and len(wire.requests) == 1
    assert Runs(environment.state_folder).summary(1).status == "failed"


def test_a_provider_that_goes_down_after_the_arbiter_leaves_a_run_that_goes_on_from_there(
    environment: Environment, monkeypatch: pytest.MonkeyPatch
):
    down = pytest.raises(ModelFailed, match="coset run 1 --resume")
    with Wire(call("records", **RECORDS), call("records", **RECORDS), Fail(503)) as wire, down:
        ask_and_keep(QUESTION, environment, options(wire, "endpoint", monkeypatch))
    with Wire(call("answer", text="20", results=["result_1"], confidence=0.9)) as wire:
        answer, number = go_on(1, environment, options(wire, "endpoint", monkeypatch))
    # Neither the arbiter nor its statement is asked for again: both are in the conversation that was kept.
    assert (number, answer.text, len(wire.requests)) == (1, "20", 1) and "R1 shape" in wire.prompts()[0]
    assert [step.step for step in answer.steps] == ["arbiter 1", "arbiter 2", "agent 1"] and answer.rows == ((20,),)


def test_the_run_command_goes_on_by_itself_and_prints_the_answer(
    environment: Environment, monkeypatch: pytest.MonkeyPatch
):
    down = pytest.raises(ModelFailed, match="coset run 1 --resume")
    with Wire(call("sql", query=COUNT), Fail(503)) as wire, down:
        ask_and_keep(QUESTION, environment, AskOptions(model=wire.url, core=True, retries=FAST))
    with Wire(call("answer", text="20", results=["result_1"], confidence=0.9)) as wire:
        told = CliRunner().invoke(
            coset, ["run", "1", "--resume", "--model", wire.url, "--environment", str(environment.path)]
        )
    assert (told.exit_code, told.stdout.strip()) == (0, "20"), told.output
    assert COUNT in told.stderr and "run 1" in told.stderr and len(wire.requests) == 1
