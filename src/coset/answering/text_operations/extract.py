"""Fields read out of thousands of texts, by an expression where one does it and by a model where none does.

In: texts, names of fields, a labeller that reads the fields of a batch. Out: `Extracted`: for each field a value a
text, who read it, the expression that was kept and how well it agrees. The model reads a sample; expressions (known
facets, patterns made from the sample, patterns a model proposes) are tried on it; the best run over all texts; the
texts in which they read nothing go to the model, as far as the budget goes. Knows no table of the user's.
"""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from coset.answering.text_operations.expressions import (
    Candidate,
    KeptExpression,
    choose,
    pattern_candidate,
    patterns_from,
    read_with,
)
from coset.answering.text_operations.labels import Budget, LabelCache, Labeller, Labels
from coset.errors import CosetError, UserError
from coset.session.query_session import QuerySession

SAMPLE = 60
LEAST_LABELS = 12
MOST_FIELDS = 12
NOTHING_MISSED = 0.98
"""Where an expression that reads nothing is right so often, the model is not asked again."""
By = Literal["model", "expression", ""]
Proposer = Callable[[str, Sequence[tuple[str, str]]], Sequence[str] | Awaitable[Sequence[str]]]
"""Gives patterns for a field from texts with the value that was read out of each."""


@dataclass(frozen=True)
class Extracted:
    """What was read, in the order of the texts. `by` is empty where nobody read a text: its value is not known."""

    fields: tuple[str, ...]
    values: dict[str, tuple[str | None, ...]]
    by: dict[str, tuple[By, ...]]
    expressions: dict[str, KeptExpression]
    """The expression of each field that has one."""
    expected_accuracy: dict[str, float | None]
    """The share of the texts that were read in which the model would read the same; None when it cannot be said."""
    texts: int
    asked: int
    remembered: int
    calls: int
    refused: int
    problem: str

    def unread(self, field: str) -> int:
        return sum(1 for who in self.by[field] if not who)


async def extract(
    texts: Sequence[str | None],
    fields: Sequence[str],
    labeller: Labeller,
    session: QuerySession,
    *,
    column: str = "text",
    candidates: Sequence[Candidate] = (),
    proposer: Proposer | None = None,
    model: str = "",
    instruction: str = "",
    budget: Budget | None = None,
    cache: LabelCache | None = None,
) -> Extracted:
    """`labeller` gives a mapping from field to value (None where the text does not say) for each text. `column` is what
    `candidates` call the text; `facet_candidates` gives those that the evidence state knows."""
    fields = tuple(fields)
    if not fields or len(set(fields)) != len(fields) or len(fields) > MOST_FIELDS or not all(fields):
        raise UserError(f"extract needs one to {MOST_FIELDS} different fields; these are {', '.join(fields) or 'none'}")
    question = json.dumps(["extract", model, instruction, list(fields)], ensure_ascii=False)
    labels = Labels(labeller, budget or Budget(), cache, question, is_valid=lambda label: isinstance(label, Mapping))
    distinct = list(dict.fromkeys(text for text in texts if text and text.strip()))
    labels.recall(distinct)
    if len([text for text in distinct if text not in labels.known]) <= labels.left:
        await labels.ask(distinct)
        return _answer(texts, fields, labels, distinct, {}, {})
    drawn = sorted(distinct, key=lambda text: hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest())
    await labels.ask(drawn[: min(SAMPLE, max(LEAST_LABELS, labels.left // 2))])
    sample = [text for text in drawn if text in labels.known]
    if len(sample) < LEAST_LABELS:
        why = labels.problem or f"only {len(sample)} of {labels.asked} texts were read"
        raise CosetError(f"the fields could not be extracted: {why}")
    kept = await _expressions(sample, fields, labels, session, column, candidates, proposer)
    read = dict(zip(kept, read_with(session, distinct, column, [each.sql for each in kept.values()]), strict=True))
    readings = {field: values for field, values in read.items() if values is not None}
    await labels.ask(_missed(drawn, distinct, fields, kept, readings))
    return _answer(texts, fields, labels, distinct, kept, readings)


async def _expressions(
    sample: Sequence[str],
    fields: Sequence[str],
    labels: Labels,
    session: QuerySession,
    column: str,
    candidates: Sequence[Candidate],
    proposer: Proposer | None,
) -> dict[str, KeptExpression]:
    known = [labels.known[text] for text in sample]
    kept: dict[str, KeptExpression] = {}
    for field in fields:
        pairs = [
            (text, str(label[field])) for text, label in zip(sample, known, strict=True) if label.get(field) is not None
        ]
        patterns = patterns_from(pairs)
        if proposer is not None and pairs:
            patterns = [*await _proposed(proposer, field, pairs), *patterns]
        made = [made for pattern in patterns if (made := pattern_candidate(pattern, column)) is not None]
        tried = list(dict.fromkeys([*candidates, *made]))
        values = read_with(session, sample, column, [each.sql for each in tried])
        found = choose(
            field, known, {each: value for each, value in zip(tried, values, strict=True) if value is not None}
        )
        if found is not None:
            kept[field] = found
    return kept


async def _proposed(proposer: Proposer, field: str, pairs: Sequence[tuple[str, str]]) -> list[str]:
    try:
        answer = proposer(field, pairs[:20])
        return list(await answer if inspect.isawaitable(answer) else answer)[:10]
    except CosetError:
        return []  # A proposal saves calls; without one the patterns from the sample and the model remain.


def _missed(
    drawn: Sequence[str],
    distinct: Sequence[str],
    fields: Sequence[str],
    kept: Mapping[str, KeptExpression],
    readings: Mapping[str, Sequence[str | None]],
) -> list[str]:
    """The texts in which some field was not read and may be there."""
    place = {text: number for number, text in enumerate(distinct)}
    open_fields = [field for field in fields if field not in readings or kept[field].silence < NOTHING_MISSED]
    return [
        text
        for text in drawn
        if any(field not in readings or readings[field][place[text]] is None for field in open_fields)
    ]


def _answer(
    texts: Sequence[str | None],
    fields: tuple[str, ...],
    labels: Labels,
    distinct: Sequence[str],
    kept: dict[str, KeptExpression],
    readings: Mapping[str, Sequence[str | None]],
) -> Extracted:
    place = {text: number for number, text in enumerate(distinct)}
    values: dict[str, tuple[str | None, ...]] = {}
    by: dict[str, tuple[By, ...]] = {}
    accuracy: dict[str, float | None] = {}
    for field in fields:
        found = [_one(text, field, labels, place, kept.get(field), readings.get(field)) for text in texts]
        values[field] = tuple(value for value, _ in found)
        by[field] = tuple(who for _, who in found)
        accuracy[field] = _expected(found, kept.get(field))
    return Extracted(
        fields, values, by, {field: kept[field] for field in readings}, accuracy, len(distinct), labels.asked,
        labels.remembered, labels.calls, labels.refused, labels.problem,
    )  # fmt: skip


def _one(
    text: str | None,
    field: str,
    labels: Labels,
    place: Mapping[str, int],
    expression: KeptExpression | None,
    readings: Sequence[str | None] | None,
) -> tuple[str | None, By]:
    if text is None or text not in place:
        return None, ""
    if text in labels.known:
        value: Any = labels.known[text].get(field)
        return (None if value is None else str(value)), "model"
    if readings is None or expression is None:
        return None, ""
    read = readings[place[text]]
    return (read, "expression") if read is not None or expression.silence >= NOTHING_MISSED else (None, "")


def _expected(found: Sequence[tuple[str | None, By]], expression: KeptExpression | None) -> float | None:
    by_model = sum(1 for _, who in found if who == "model")
    spoke = sum(1 for value, who in found if who == "expression" and value is not None)
    silent = sum(1 for value, who in found if who == "expression" and value is None)
    read = by_model + spoke + silent
    if not read:
        return None
    if expression is None:
        return 1.0
    return (by_model + spoke * expression.agreement + silent * expression.silence) / read
