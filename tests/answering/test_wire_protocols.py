"""Requests over real HTTP to scripted servers: what goes wrong on the way is tried again, or told in plain words."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from answering.wire_servers import Fail, Say, Scripted, Wire, call
from coset.answering.models.choices import ModelFailed, Refused, open_model, parse_model, without_secrets
from coset.answering.models.client import Ledger, ModelClient, Reply, Retries, Tool
from coset.errors import CosetError, UserError

KEY = "sk-secret-0123456789abcdef"
TOOLS = [
    Tool("sql", "Run one SELECT.", {"type": "object", "properties": {"query": {"type": "string"}}}),
    Tool("answer", "End with the answer.", {"type": "object", "properties": {"text": {"type": "string"}}}),
]
FAST = Retries(attempts=3, first_seconds=0.01)
PROTOCOLS = ["chat", "anthropic", "responses", "google", "ollama"]


class Kept:
    """A recorder that remembers."""

    def __init__(self) -> None:
        self.steps: list[tuple[str, dict[str, Any]]] = []

    def step(self, kind: str, data: Any) -> None:
        self.steps.append((kind, dict(data)))

    def keep_messages(self, messages: bytes | str) -> None:
        self.steps.append(("messages", json.loads(messages)))

    def keep_result(self, result: Any) -> None:
        self.steps.append(("result", {"sql": result.sql}))

    def keep_table(self, name: str, table: Any) -> None:
        self.steps.append(("table", {"name": name}))


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "COSET_MODEL_KEY", "GOOGLE_API_KEY", "OLLAMA_API_KEY"):
        monkeypatch.setenv(name, KEY)


@pytest.fixture(params=PROTOCOLS)
def ask(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[Reply, Kept, Ledger]]:
    """Ask a scripted server in one of the protocols."""

    def run(wire: Wire, *, seconds: float = 20, only: str | None = None) -> tuple[Reply, Kept, Ledger]:
        names = {
            "chat": wire.url, "anthropic": "anthropic:claude-haiku-4-5", "responses": "openai:gpt-4o",
            "google": "google:gemini-2.5-flash", "ollama": "ollama:qwen3:4b",
        }  # fmt: skip
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", wire.root)
        monkeypatch.setenv("OLLAMA_BASE_URL", f"{wire.root}/v1")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", wire.root)
        monkeypatch.setenv("OPENAI_BASE_URL", f"{wire.root}/v1")
        kept, ledger = Kept(), Ledger()
        try:
            return asyncio.run(_ask(names[request.param], kept, ledger, seconds, only)), kept, ledger
        except CosetError as error:
            assert KEY not in str(error) and KEY not in str(kept.steps)
            assert error.__cause__ is None  # Nothing of the library's own error is printed with ours.
            raise

    run.protocol = request.param  # type: ignore[attr-defined]
    return run


async def _ask(model: str, kept: Kept, ledger: Ledger, seconds: float, only: str | None) -> Reply:
    from pydantic_ai.messages import ModelRequest, UserPromptPart

    opened = await open_model(parse_model(model), seconds)
    async with opened.model:
        message = ModelRequest(parts=[UserPromptPart("how many?")], instructions="Count.")
        return await ModelClient(opened, ledger, kept, FAST).ask("agent 1", [message], TOOLS, only)


Ask = Callable[..., tuple[Reply, Kept, Ledger]]


def test_a_tool_call_arrives_with_its_arguments_and_is_counted(ask: Ask):
    with Wire(call("sql", query="SELECT 'ü'")) as wire:
        reply, kept, ledger = ask(wire)
    assert [(each.name, each.arguments) for each in reply.calls] == [("sql", {"query": "SELECT 'ü'"})]
    assert (ledger.steps[0].input_tokens, ledger.steps[0].output_tokens, ledger.steps[0].attempts) == (100, 10, 1)
    assert [kind for kind, _ in kept.steps] == ["model"]


def test_one_tool_can_be_asked_for(ask: Ask):
    with Wire(call("sql", query="SELECT 1")) as wire:
        ask(wire, only="sql")
    must, may = _callable(ask.protocol, wire.requests[0])  # type: ignore[attr-defined]
    assert must and may == {"sql"}, wire.requests[0]
    with Wire(call("sql", query="SELECT 1")) as wire:
        ask(wire)
    must, may = _callable(ask.protocol, wire.requests[0])  # type: ignore[attr-defined]
    assert may == {tool.name for tool in TOOLS} and len(may) > 1, "without a wish every tool may be called"


def _callable(protocol: str, request: dict[str, Any]) -> tuple[bool, set[str]]:
    """Whether a tool must be called, and which ones may be, by what each protocol says of it."""
    if protocol == "google":
        offered = {each["name"] for tool in request["tools"] for each in tool["functionDeclarations"]}
        said = request.get("toolConfig", {}).get("functionCallingConfig", {})
        return said.get("mode") == "ANY", set(said.get("allowedFunctionNames") or offered)
    offered = {tool.get("function", tool)["name"] for tool in request["tools"]}
    choice = request.get("tool_choice")
    if not isinstance(choice, dict):
        return choice == "required", offered
    if choice["type"] == "allowed_tools":
        return choice["mode"] == "required", {tool["name"] for tool in choice["tools"]}
    named = choice.get("name") or choice.get("function", {}).get("name")
    return choice["type"] in {"tool", "function", "any"}, {named} if named else offered


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_passing_failure_is_tried_again(ask: Ask, status: int):
    with Wire(Fail(status), Fail(status), call("sql", query="SELECT 1")) as wire:
        reply, kept, ledger = ask(wire)
    assert reply.calls and ledger.steps[0].attempts == 3 and len(wire.requests) == 3
    assert [kind for kind, _ in kept.steps] == ["retry", "retry", "model"]


def test_the_wait_that_a_provider_asks_for_is_kept_unless_nobody_would_wait(ask: Ask):
    with Wire(Fail(429, headers={"retry-after": "0"}), call("sql", query="SELECT 1")) as wire:
        _, kept, _ = ask(wire)
    assert kept.steps[0][1]["wait"] == 0
    with Wire(Fail(429, headers={"retry-after": "7200"})) as wire:
        with pytest.raises(ModelFailed, match="limiting"):
            ask(wire)
        assert len(wire.requests) == 1


def test_a_failure_that_stays_is_told_with_its_status(ask: Ask):
    with Wire(Fail(500)) as wire:
        with pytest.raises(ModelFailed, match="status 500 after 3 attempts"):
            ask(wire)
        assert len(wire.requests) == 3


def test_a_wrong_key_is_told_at_once_without_the_key(ask: Ask):
    with Wire(Fail(401, {"error": {"message": f"Incorrect API key provided: {KEY}", "type": "auth"}})) as wire:
        with pytest.raises(UserError, match=r"refused the key: check [A-Z_]+KEY"):
            ask(wire)
        assert len(wire.requests) == 1


def test_an_unknown_model_is_told_at_once(ask: Ask):
    with Wire(Fail(404, {"error": {"message": "no such model", "type": "not_found_error"}})) as wire:
        with pytest.raises(UserError, match="knows no model"):
            ask(wire)
        assert len(wire.requests) == 1


def test_a_model_that_cannot_call_tools_is_told_apart(ask: Ask):
    said = {"error": {"message": "this model does not support tools", "type": "invalid"}}
    with Wire(Fail(400, said)) as wire, pytest.raises(UserError, match="cannot call tools"):
        ask(wire)


def test_silence_ends_at_the_time_limit(ask: Ask):
    with Wire(Fail(500, wait=60)) as wire, pytest.raises(ModelFailed, match="in time"):
        ask(wire, seconds=0.3)


def test_a_body_that_breaks_off_is_tried_again(ask: Ask):
    with Wire(Fail(cut=True), call("sql", query="SELECT 1")) as wire:
        reply, kept, _ = ask(wire)
    assert reply.calls and kept.steps[0][0] == "retry"


def test_a_body_that_is_no_json_is_told_in_the_end(ask: Ask):
    with Wire(Fail(raw=b"<html>busy</html>")) as wire, pytest.raises(ModelFailed, match=r"cannot be read|status"):
        ask(wire)


def test_a_provider_that_is_not_there_is_told(ask: Ask):
    wire = Wire(Say("never"))
    wire._server.server_close()
    with pytest.raises(ModelFailed, match="cannot be reached"):
        ask(wire)


def test_a_refusal_is_told_as_one(ask: Ask):
    if ask.protocol == "responses":  # type: ignore[attr-defined]
        pytest.skip("the scripted server has no refusals in this protocol")
    finishes = {"anthropic": "refusal", "google": "SAFETY"}
    finish = finishes.get(ask.protocol, "content_filter")  # type: ignore[attr-defined]
    with Wire(Say(finish=finish, refusal="I will not")) as wire, pytest.raises(Refused, match="declined"):
        ask(wire)


@pytest.mark.parametrize("arguments", ['{"query": "SELECT', "[1, 2]", "nonsense"])
def test_malformed_arguments_are_no_crash(arguments: str, monkeypatch: pytest.MonkeyPatch):
    with Wire(Say(calls=[("sql", arguments)], finish="length")) as wire:
        reply = asyncio.run(_ask(wire.url, Kept(), Ledger(), 20, None))
    assert reply.calls[0].arguments is None and reply.cut_off


def test_an_empty_reply_is_no_crash():
    with Wire(Say()) as wire:
        reply = asyncio.run(_ask(wire.url, Kept(), Ledger(), 20, None))
    assert reply.calls == () and reply.text == ""


def test_the_stable_part_of_a_prompt_is_marked_for_the_cache_and_priced(monkeypatch: pytest.MonkeyPatch):
    script: Scripted = call("sql", query="SELECT 1")
    with Wire(script) as wire:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", wire.root)
        ledger = Ledger()
        asyncio.run(_ask("anthropic:claude-haiku-4-5", Kept(), ledger, 20, None))
    assert "cache_control" in json.dumps(wire.requests[0])
    assert ledger.cost is not None and 0 < ledger.cost < 0.01


def test_openai_is_asked_to_store_nothing(monkeypatch: pytest.MonkeyPatch):
    with Wire(call("sql", query="SELECT 1")) as wire:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{wire.root}/v1")
        asyncio.run(_ask("openai:gpt-4o", Kept(), Ledger(), 20, None))
    assert wire.paths[-1] == "/v1/responses" and wire.requests[0]["store"] is False


def test_every_key_of_the_environment_is_taken_out_of_a_text(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SOME_TOKEN", "tok-987654")
    assert without_secrets(f"a {KEY} b tok-987654") == "a *** b ***"
