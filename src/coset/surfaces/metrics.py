"""Figures of a server for Prometheus: requests by kind and outcome, their seconds, tokens, memory, age of the state.

In: what happened. Out: text in Prometheus' exposition format 0.0.4. Names and labels are fixed words of coset's: no
question, value or name of the user's data is ever a label. Kept in memory; one process, any number of threads.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from coset import __version__

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
BUCKETS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
Labels = tuple[tuple[str, str], ...]


@dataclass
class Request:
    """One request that is being counted; whoever carries it out says when it fails without an exception."""

    failed: bool = False


class Metrics:
    """Counters, one histogram and gauges of a server."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._started = time.time()
        self._counters: dict[tuple[str, Labels], float] = {}
        self._seconds: dict[Labels, list[float]] = {}
        """For each set of labels: one count a bucket, then the sum."""
        self._running = 0

    def count(self, name: str, amount: float = 1.0, **labels: str) -> None:
        key = name, tuple(sorted(labels.items()))
        with self._lock:
            self._counters[key] = self._counters.get(key, 0.0) + amount

    @contextlib.contextmanager
    def request(self, kind: str) -> Iterator[Request]:
        """One request: how long it takes, and whether it fails."""
        started, request = time.monotonic(), Request()
        with self._lock:
            self._running += 1
        try:
            yield request
        except BaseException:
            request.failed = True
            raise
        finally:
            seconds = time.monotonic() - started
            labels = (("kind", kind),)
            with self._lock:
                self._running -= 1
                held = self._seconds.setdefault(labels, [0.0] * (len(BUCKETS) + 2))
                place = next((number for number, edge in enumerate(BUCKETS) if seconds <= edge), len(BUCKETS))
                held[place] += 1
                held[-1] += seconds
            self.count("coset_requests_total", kind=kind, outcome="failed" if request.failed else "ok")

    def text(self, published_at: float | None = None) -> str:
        """All of it as Prometheus reads it; `published_at` is when the state was written."""
        with self._lock:
            counters = sorted(self._counters.items())
            seconds = sorted((labels, list(held)) for labels, held in self._seconds.items())
            running = self._running
        lines = [*_head("coset_info", "gauge", "The version that runs."), f'coset_info{{version="{__version__}"}} 1']
        for name in sorted({name for (name, _), _ in counters}):
            lines += _head(name, "counter", HELP.get(name, name))
            lines += [f"{name}{_shown(labels)} {value:g}" for (each, labels), value in counters if each == name]
        lines += _histogram("coset_request_seconds", "How long requests took.", seconds)
        gauges = [
            ("coset_requests_running", "Requests that are being answered.", float(running)),
            ("process_start_time_seconds", "When the server began, in seconds since 1970.", self._started),
        ]
        if (memory := resident_bytes()) is not None:
            gauges.append(("process_resident_memory_bytes", "Memory of the server's own process.", float(memory)))
        if published_at is not None:
            told = "When the evidence state was last written, in seconds since 1970."
            gauges.append(("coset_state_published_timestamp_seconds", told, published_at))
        for name, told, value in gauges:
            lines += [*_head(name, "gauge", told), f"{name} {value!r}"]
        return "\n".join(lines) + "\n"


HELP = {
    "coset_requests_total": "Requests by kind and outcome.",
    "coset_refused_total": "Requests that were refused, by why.",
    "coset_answers_total": "Questions answered by coset itself, by what became of them.",
}


def _head(name: str, kind: str, told: str) -> list[str]:
    return [f"# HELP {name} {told}", f"# TYPE {name} {kind}"]


def _histogram(name: str, told: str, found: list[tuple[Labels, list[float]]]) -> Iterator[str]:
    if found:
        yield from _head(name, "histogram", told)
    for labels, held in found:
        total = 0.0
        for edge, count in zip((*BUCKETS, float("inf")), held, strict=False):
            total += count
            shown = "+Inf" if edge == float("inf") else f"{edge:g}"
            yield f"{name}_bucket{_shown((*labels, ('le', shown)))} {total:g}"
        yield f"{name}_sum{_shown(labels)} {held[-1]!r}"
        yield f"{name}_count{_shown(labels)} {total:g}"


def _shown(labels: Labels) -> str:
    parts = [f'{name}="{_escaped(value)}"' for name, value in labels]
    return "{" + ",".join(parts) + "}" if parts else ""


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def resident_bytes() -> int | None:
    """The memory that this process holds; None where the system does not tell."""
    try:
        for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return None
