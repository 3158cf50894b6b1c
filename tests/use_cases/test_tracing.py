"""Traces: nothing unless asked for, the conventions for models and tools, and no content unless that is asked for too."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

pytest.importorskip("opentelemetry.sdk", reason="the extra traces is not installed")

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import coset
from answering.wire_servers import Fail, Say, Wire
from coset import tracing
from coset.answering.models.choices import open_model, parse_model
from coset.answering.models.client import Ledger, ModelClient, Retries
from coset.answering.recorder import NullRecorder
from coset.errors import CosetError

SECRET = "Ann Smith of Basel"
EXPORTER = InMemorySpanExporter()


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch):
    if not isinstance(trace.get_tracer_provider(), TracerProvider):
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(EXPORTER))
        trace.set_tracer_provider(provider)
    EXPORTER.clear()
    monkeypatch.setenv(tracing.SWITCH, "1")
    monkeypatch.delenv(tracing.CONTENT, raising=False)
    return EXPORTER.get_finished_spans


def say(*script) -> None:
    from pydantic_ai.messages import ModelRequest

    async def run(url: str) -> None:
        opened = await open_model(parse_model(url), 20)
        async with opened.model:
            client = ModelClient(opened, Ledger(), NullRecorder(), Retries(1, 0.01))
            await client.ask("agent 1", [ModelRequest.user_text_prompt(SECRET)], [])

    with Wire(*script) as wire:
        asyncio.run(run(wire.url))


def all_of(found) -> str:
    return "\n".join(each.to_json() for each in found)


def test_a_request_to_a_model_is_told_by_the_conventions_and_without_content(spans):
    say(Say(f"hello {SECRET}"))
    (span,) = spans()
    told = dict(span.attributes)
    assert span.name == "chat scripted" and span.kind.name == "CLIENT"
    assert told["gen_ai.operation.name"] == "chat" and told["gen_ai.request.model"] == "scripted"
    assert (told["gen_ai.usage.input_tokens"], told["gen_ai.usage.output_tokens"]) == (100, 10)
    assert told["gen_ai.provider.name"] and told["gen_ai.response.model"]
    assert SECRET not in all_of(spans())


def test_content_is_told_where_it_is_asked_for(spans, monkeypatch):
    monkeypatch.setenv(tracing.CONTENT, "1")
    say(Say(f"hello {SECRET}"))
    told = dict(spans()[0].attributes)
    assert SECRET in told["gen_ai.input.messages"] and SECRET in told["gen_ai.output.messages"]


def test_a_failure_is_told_by_its_kind_alone(spans):
    with pytest.raises(CosetError):
        say(Fail(400, f"no such thing: {SECRET}"))
    (span,) = spans()
    assert span.status.status_code.name == "ERROR" and span.attributes["error.type"]
    assert SECRET not in all_of(spans()) and not span.events


def test_comprehension_and_a_question_are_told_stage_by_stage_without_values(spans, tmp_path: Path):
    (tmp_path / "people.csv").write_text(
        "id,secret_name\n" + "".join(f"{number},{SECRET} {number}\n" for number in range(20))
    )
    (tmp_path / "coset.yaml").write_text("sources:\n  crm: {location: people.csv}\n")
    with coset.open(tmp_path) as environment:
        environment.comprehend(jobs=1)
        question = "How many people are there?"
        answer = environment.ask_offline(question)
    found = {span.name: span for span in spans()}
    whole = found["comprehend"]
    stages = [span for span in spans() if span.name.startswith("comprehend: ")]
    assert len(stages) > 8 and all(span.parent.span_id == whole.context.span_id for span in stages)
    assert whole.attributes["coset.tables"] == 1 and whole.attributes["coset.problems"] == 0
    run = found["invoke_agent coset"]
    assert run.attributes["coset.run"] == answer.run and "coset.question" not in run.attributes
    told = all_of(spans())
    assert SECRET not in told and question not in told and "secret_name" not in told


def test_without_the_switch_nothing_is_loaded_or_told(spans, monkeypatch):
    monkeypatch.delenv(tracing.SWITCH)
    say(Say("hello"))
    with tracing.span("something", coset__n=1) as told:
        told.add(coset__m=2)
    tracing.past("something", 1.0)
    assert not spans()
    code = "import sys, coset.tracing as t\nwith t.span('x'): pass\nassert 'opentelemetry' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": ":".join(sys.path)})


def test_traces_go_where_opentelemetrys_own_settings_say():
    """Over the wire, as the collector of a company gets them."""
    bodies: list[bytes] = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *arguments: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Collector)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    code = "import coset.tracing as t\nwith t.span('a span of ours', coset__n=1): pass"
    environment = {
        "PYTHONPATH": ":".join(sys.path), "COSET_TRACES": "1",
        "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{server.server_port}", "OTEL_EXPORTER_OTLP_COMPRESSION": "none",
    }  # fmt: skip
    try:
        subprocess.run([sys.executable, "-c", code], check=True, env=environment, timeout=60)
    finally:
        server.shutdown()
    assert any(b"a span of ours" in body and b"coset" in body for body in bodies)
