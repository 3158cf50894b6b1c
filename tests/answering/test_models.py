"""Which model answers: names and addresses as people write them, keys that go to their own provider and nowhere else."""

from __future__ import annotations

import asyncio

import pytest

from answering.wire_servers import Say, Wire
from coset.answering.models.choices import choose_models, has_price, open_model, parse_model, plain
from coset.answering.models.client import Ledger, Limits, ModelClient, StepUsage
from coset.answering.recorder import NullRecorder
from coset.errors import UserError


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "OPENAI_API_KEY",
        "ANTHROPIC_API_KEY",
        "GOOGLE_API_KEY",
        "GEMINI_API_KEY",
        "COSET_MODEL_KEY",
        "COSET_MODEL",
    ):
        monkeypatch.delenv(name, raising=False)


def test_a_provider_and_an_address_are_taken_apart():
    assert parse_model("anthropic:claude-x").provider == "anthropic"
    assert parse_model("ollama:qwen3:4b").name == "qwen3:4b"
    endpoint = parse_model("http://127.0.0.1:8080/v1#some/model")
    assert (endpoint.base_url, endpoint.name) == ("http://127.0.0.1:8080/v1", "some/model")
    assert parse_model("http://127.0.0.1:8080/v1/").name == ""


@pytest.mark.parametrize("text", ["", "gpt", ":x", "openai:", "http://", "ftp://host/v1", "http://host:port/v1"])
def test_what_is_no_model_is_said_to_be_none(text: str):
    with pytest.raises(UserError, match="model"):
        parse_model(text)


def test_a_key_in_an_address_is_refused_and_not_repeated():
    with pytest.raises(UserError, match="COSET_MODEL_KEY") as error:
        parse_model("http://user:hunter22@host/v1")
    assert "hunter22" not in str(error.value)


def test_without_a_model_it_is_said_how_to_set_one_and_what_needs_none():
    with pytest.raises(UserError) as error:
        choose_models(None)
    assert all(word in str(error.value) for word in ("--model", "coset.yaml", "COSET_MODEL", "coset view", "MCP"))


def test_the_call_wins_over_the_file_and_the_file_over_the_variable(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COSET_MODEL", "ollama:variable")
    assert choose_models(None).agent.name == "variable"
    file = {"agent": "ollama:file", "arbiter": "ollama:file-arbiter"}
    chosen = choose_models(None, configured=file)
    assert (chosen.agent.name, chosen.arbiter.name, chosen.text.name) == ("file", "file-arbiter", "file")
    chosen = choose_models("ollama:call", text="ollama:call-text", configured=file)
    assert (chosen.agent.name, chosen.arbiter.name, chosen.text.name) == ("call", "call", "call-text")


@pytest.mark.parametrize(
    ("model", "variable"),
    [("openai:gpt-x", "OPENAI_API_KEY"), ("anthropic:x", "ANTHROPIC_API_KEY"), ("google:x", "GOOGLE_API_KEY")],
)
def test_a_missing_key_is_named(model: str, variable: str):
    with pytest.raises(UserError, match=variable):
        asyncio.run(open_model(parse_model(model), 5))


def test_an_unknown_provider_is_a_mistake():
    with pytest.raises(UserError, match="nosuch:model"):
        asyncio.run(open_model(parse_model("nosuch:model"), 5))


def _ask(model: str) -> ModelClient:
    from pydantic_ai.messages import ModelRequest

    async def run() -> ModelClient:
        opened = await open_model(parse_model(model), 20)
        client = ModelClient(opened, Ledger(), NullRecorder())
        async with opened.model:
            await client.ask("test 1", [ModelRequest.user_text_prompt("hello")], [])
        return client

    return asyncio.run(run())


def test_an_endpoint_gets_its_own_key_and_never_another_providers(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-openai-0123456789")
    with Wire(Say("hello")) as wire:
        _ask(wire.url)
        assert "sk-of-openai" not in str(wire.headers)
        monkeypatch.setenv("COSET_MODEL_KEY", "key-of-endpoint-42")
        _ask(wire.url)
        assert wire.headers[-1]["authorization"] == "Bearer key-of-endpoint-42"


def test_an_endpoint_without_a_name_is_asked_which_model_it_has():
    with Wire(Say("hello")) as wire:
        client = _ask(f"{wire.root}/v1")
        assert wire.requests[0]["model"] == "listed-model"
    assert client.ledger.tokens == 110 and client.ledger.cost is None


def test_prices_are_known_for_providers_and_unknown_for_endpoints():
    assert has_price(parse_model("anthropic:claude-haiku-4-5"))
    assert not has_price(parse_model("http://127.0.0.1:1/v1#gpt-4o"))
    assert not has_price(parse_model("anthropic:no-such-model-at-all"))


def _step(tokens: int, cost: float | None) -> StepUsage:
    return StepUsage("agent 1", "m", tokens, 0, 0, cost, 0.1, 1)


def test_limits_say_when_they_are_used_up_and_when_the_next_request_must_be_the_last():
    ledger = Ledger(Limits(tokens=1_000, cost=1.0))
    assert ledger.room_for_one() and ledger.spent() is None
    ledger.add(_step(300, 0.1))
    assert ledger.room_for_one()
    ledger.add(_step(300, 0.1))
    assert not ledger.room_for_one() and ledger.spent() is None
    ledger.add(_step(500, 0.1))
    assert ledger.spent() == "the limit of 1,000 tokens is used up"
    dear = Ledger(Limits(tokens=None, cost=1.0))
    dear.add(_step(10, 1.2))
    assert dear.spent() == "the limit of $1 is used up"
    dear.add(_step(10, None))
    assert dear.cost is None


def test_limits_that_leave_nothing_are_refused():
    with pytest.raises(UserError, match="at least 1"):
        Limits(steps=0)


@pytest.mark.parametrize(
    "name", ["ModelQuotaExceededError", "ModelContextWindowExceededError", "ModelTimeoutError", "ModelRateLimitError"]
)
def test_errors_speak_of_no_option_of_the_command_line(name: str):
    from pydantic_ai import exceptions

    told = str(plain(getattr(exceptions, name)("m", "no"), "m", "KEY", 1))
    assert "'m'" in told and "--" not in told
