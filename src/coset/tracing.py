"""OpenTelemetry traces of comprehension, of runs and of requests to models, off unless asked for.

In: `COSET_TRACES=1` and OpenTelemetry's own settings (`OTEL_EXPORTER_OTLP_ENDPOINT` and so on), or a provider that the
program around coset has set. Out: spans, those of models and tools by the conventions for generative AI. Neither
questions nor prompts, values, statements or messages of errors are in them; `COSET_TRACES_CONTENT=1` adds questions,
prompts and replies. Without `COSET_TRACES` nothing is loaded.
"""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

from coset import __version__
from coset.errors import MissingDependency

SWITCH, CONTENT = "COSET_TRACES", "COSET_TRACES_CONTENT"
_YES = {"1", "true", "yes", "on"}
Value = str | int | float | bool | list[str] | None


def is_on() -> bool:
    return os.environ.get(SWITCH, "").lower() in _YES


def tells_content() -> bool:
    """Whether questions, prompts and replies may be in a trace."""
    return is_on() and os.environ.get(CONTENT, "").lower() in _YES


class Span:
    """What is being done; attributes that are not known before are added while it goes."""

    def __init__(self, held: Any = None) -> None:
        self._held = held

    def add(self, **attributes: Value) -> None:
        if self._held is not None:
            for name, value in attributes.items():
                if value is not None:
                    self._held.set_attribute(_dotted(name), value)

    def fails(self, kind: str) -> None:
        """Say that it did not come to a good end, by a word of coset's."""
        if self._held is not None:
            from opentelemetry.trace import Status, StatusCode

            self._held.set_status(Status(StatusCode.ERROR))
            self._held.set_attribute("error.type", kind)


@contextmanager
def span(name: str, kind: Literal["internal", "client"] = "internal", **attributes: Value) -> Iterator[Span]:
    """A span as long as the block. `gen_ai__request__model` stands for `gen_ai.request.model`."""
    if not is_on():
        yield Span()
        return
    from opentelemetry.trace import SpanKind

    spans = _tracer().start_as_current_span(
        name,
        kind=SpanKind.CLIENT if kind == "client" else SpanKind.INTERNAL,
        record_exception=False,  # the text of an error may hold values
        set_status_on_exception=False,
    )
    with spans as held:
        told = Span(held)
        told.add(**attributes)
        try:
            yield told
        except BaseException as error:
            told.fails(type(error).__name__)
            raise


def past(name: str, seconds: float, **attributes: Value) -> None:
    """A span of something that has just ended and took so long."""
    if is_on():
        end = time.time_ns()
        held = _tracer().start_span(name, start_time=end - max(0, round(seconds * 1e9)))
        Span(held).add(**attributes)
        held.end(end)


def flush() -> None:
    """Send what is still kept; for a process that is about to end without a goodbye."""
    if is_on():
        from opentelemetry import trace

        provider = trace.get_tracer_provider()
        if hasattr(provider, "force_flush"):
            provider.force_flush(2_000)


@functools.cache
def _tracer() -> Any:
    try:
        from opentelemetry import trace
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        raise MissingDependency(f"{SWITCH}=1, for traces,", "traces") from None
    if not isinstance(trace.get_tracer_provider(), TracerProvider):
        named = {"service.name": os.environ.get("OTEL_SERVICE_NAME", "coset"), "service.version": __version__}
        provider = TracerProvider(resource=Resource.create(named))
        provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        trace.set_tracer_provider(provider)
    return trace.get_tracer("coset", __version__)


def _dotted(name: str) -> str:
    return name.replace("__", ".")
