"""A run as a person reads it: what was asked, what was shown, what was done, what it cost, what came out.

In: a `Run`. Out: lines of text. Long texts are cut here and nowhere before; `--json` has them whole.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from coset.answering.audit.runs import Run, Step

LONGEST = 400
_IN_HEAD = ("input_tokens", "output_tokens", "cost", "seconds", "rows", "bytes", "truncated", "tool", "model")
_MARKS = {"passed": "ok", "doubt": "doubt", "failed": "FAILED", "not applicable": "-"}


def trace(run: Run, *, whole: bool = False) -> Iterator[str]:
    """The lines; `whole` cuts no text."""
    summary, longest = run.summary, 10**9 if whole else LONGEST
    yield f"run {summary.number}: {summary.question}"
    yield f"  {summary.started_at}  {summary.mode} mode  {summary.status}"
    for part, model in run.models.items():
        yield f"  {part}: {model}"
    if run.environment_version:
        yield f"  environment {run.environment_version}"
    yield f"  {spent(summary.input_tokens, summary.output_tokens, summary.cost, summary.seconds)}"
    for step in run.steps:
        yield ""
        yield from _step(step, longest)
    yield ""
    if run.answer is not None:
        yield "answer"
        for key, value in run.answer.items():
            yield from _entry(key, value, longest)
    if run.detail:
        yield f"  {run.detail}"
    if run.checks:
        yield "checks"
        for check in run.checks:
            mark = _MARKS.get(str(check.get("outcome")), str(check.get("outcome")))
            yield f"  {mark:7} {check.get('name')}: {_short(check.get('detail'), longest)}"


def spent(input_tokens: int, output_tokens: int, cost: float | None, seconds: float | None) -> str:
    parts = [f"{input_tokens:,} + {output_tokens:,} tokens"] if input_tokens or output_tokens else []
    parts += [f"${cost:.4f}"] if cost is not None else []
    parts += [f"{seconds:.1f} s"] if seconds is not None else []
    return ", ".join(parts) or "no model was called"


def _step(step: Step, longest: int) -> Iterator[str]:
    data = step.data
    name = " ".join(str(part) for part in (step.kind, data.get("tool")) if part)
    facts = []
    if data.get("input_tokens") or data.get("output_tokens"):
        facts.append(f"{data.get('input_tokens') or 0:,} + {data.get('output_tokens') or 0:,} tokens")
    if isinstance(data.get("cost"), int | float):
        facts.append(f"${data['cost']:.4f}")
    if isinstance(data.get("rows"), int):
        facts.append(f"{data['rows']:,} rows" + (", truncated" if data.get("truncated") else ""))
    if isinstance(data.get("bytes"), int):
        facts.append(f"{data['bytes']:,} bytes")
    if isinstance(data.get("seconds"), int | float):
        facts.append(f"{data['seconds']:.2f} s")
    if data.get("model"):
        facts.append(str(data["model"]))
    yield f"{step.number}. {name}" + (f"  ({'; '.join(facts)})" if facts else "")
    for key, value in data.items():
        if key not in _IN_HEAD and key not in {"digest", "columns"}:
            yield from _entry(key, value, longest)


def _entry(key: str, value: Any, longest: int) -> Iterator[str]:
    if value in (None, "", [], {}):
        return
    text = value if isinstance(value, str) else _listed(value)
    lines = text.splitlines() or [""]
    if len(lines) == 1 and len(text) <= 100:
        yield f"   {key}: {text}"
        return
    yield f"   {key}:"
    used = 0
    for number, line in enumerate(lines):
        if used + len(line) > longest and number:
            yield f"     … ({len(lines) - number:,} lines more, see --whole)"
            return
        yield f"     {_short(line, longest)}"
        used += len(line)


def _listed(value: Any) -> str:
    if isinstance(value, list) and any(isinstance(item, dict | list) for item in value):
        return "\n".join(item if isinstance(item, str) else json.dumps(item, ensure_ascii=False) for item in value)
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return "\n".join(value)
    return json.dumps(value, ensure_ascii=False)


def _short(value: Any, longest: int) -> str:
    text = str(value)
    return text if len(text) <= longest else text[: longest - 1] + "…"
