"""The arbiter: what a question means in terms of the evidence, as typed records and a statement.

In: the question and the evidence, and nothing else. Out: an `Arbitration`: records whose every reference is in the
evidence, and notes of what was dropped. It may open references of the directory once, instead of guessing, and sees
their details in a second request that continues the first, so that the provider's cache holds what both share. Only a
reply without any record and a statement that does not run are sent back.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from coset.answering.agent.tools import Statements
from coset.answering.arbiter.parse_records import RecordsForm, read_form, resolved, typed
from coset.answering.arbiter.records import Records
from coset.answering.evidence.of_question import Evidence
from coset.answering.models.client import ModelClient, Reply, Tool, schema_of
from coset.answering.prompt import ARBITER, CALL_RECORDS, OPENED_ALREADY, OPENED_NOW, TOOLS, user_prompt
from coset.answering.quoting import data_block

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, ModelRequestPart

MOST_REQUESTS = 3
"""Beside the one that opens."""
MOST_NOTES = 8
MOST_OPENED = 16
MOST_LOOKS = 8
_SELECT = re.compile(r"\s*(select|with|from)\s", re.IGNORECASE)
RECORDS_TOOL = Tool("records", TOOLS["records"], schema_of(RecordsForm))


@dataclass(frozen=True)
class Arbitration:
    """What the arbiter decided. `records` is None when nothing it said could be used."""

    records: Records | None
    notes: tuple[str, ...]
    """Everything that was dropped or sent back on the way, in order."""
    requests: int
    opened: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Read:
    """One reply, read."""

    records: Records | None = None
    open: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()
    """Reasons to ask again."""


async def arbitrate(
    question: str,
    evidence: Evidence,
    client: ModelClient,
    statements: Statements | None = None,
) -> Arbitration:
    """Ask for records until the statement runs, at most `MOST_REQUESTS` times, and once more where something is opened.
    Without `statements` none is run."""
    from pydantic_ai.messages import ModelRequest

    prefix, details = evidence.prompt()
    opening = user_prompt(prefix, f"{details}\n\nThe question:\n{question}", client)
    messages: list[ModelMessage] = [ModelRequest(parts=[opening], instructions=ARBITER)]
    best: Records | None = None
    notes: list[str] = []
    opened: tuple[str, ...] = ()
    requests = 0
    while requests < MOST_REQUESTS + bool(opened):
        requests += 1
        reply = await client.ask(f"arbiter {requests}", messages, [RECORDS_TOOL])
        read = _read(reply, evidence)
        best = read.records or best
        notes += read.notes
        settled = read.records is not None and read.records.sure and bool(read.records.queries)
        if read.open and not opened and not settled and not client.ledger.spent():
            opened = read.open[:MOST_OPENED]
            text = _opened(opened, evidence, statements)
            client.recorder.step("opened", {"references": list(opened), "text": text})
            told = f"{OPENED_NOW}\n{text}"
            messages += [reply.response, ModelRequest(parts=_returned(reply, told))]
            continue
        wrong = list(read.wrong)
        if read.open and not (read.records and any(read.records.each_decision())):
            wrong.append(OPENED_ALREADY)
        if read.records is not None and read.records.queries and not wrong:
            why = statements.why_not(read.records.queries[0].sql) if statements else None
            wrong = [f"the sql does not run: {why}"] if why else []
        notes += wrong
        if not wrong or client.ledger.spent():
            break
        told = "Give all records again, mended:\n" + "\n".join(f"- {each}" for each in wrong)
        messages += [reply.response, ModelRequest(parts=_returned(reply, told, failed=True))]
    client.recorder.step(
        "records", {"records": best.model_dump(exclude_defaults=True) if best else None, "refused": notes}
    )
    return Arbitration(best, tuple(notes), requests, opened)


def _opened(wanted: Sequence[str], evidence: Evidence, statements: Statements | None) -> str:
    """Details of what is named, and the rows of statements, such as those of a code list."""
    looks = [each for each in wanted if _SELECT.match(each)] if statements else []
    names = [each for each in wanted if each not in looks]
    texts = [data_block("opened", evidence.open(names))] if names else []
    for sql in looks[:MOST_LOOKS]:
        assert statements is not None  # noqa: S101
        if unknown := evidence.tables_outside(sql):
            texts.append(f"not run: {', '.join(unknown)} is not in the evidence")
            continue
        why = statements.why_not(sql)
        texts.append(f"it does not run: {why}" if why else statements.shown(statements.run(sql)))
    texts += [f"not run: at most {MOST_LOOKS} statements"] if len(looks) > MOST_LOOKS else []
    return "\n".join(texts)


def _read(reply: Reply, evidence: Evidence) -> _Read:
    call = next((call for call in reply.calls if call.name == RECORDS_TOOL.name), None)
    arguments = call.arguments if call else _object_in(reply.text)
    if arguments is None:
        cut = " because your output limit was reached: be briefer" if reply.cut_off else ""
        return _Read(wrong=(f"the arguments are not a JSON object{cut}" if call else CALL_RECORDS,))
    form, notes = read_form(arguments)
    if form is None:
        return _Read(wrong=tuple(notes[:MOST_NOTES]) or (CALL_RECORDS,))
    records, too_short = typed(form)
    records, outside = resolved(records, evidence.names)
    wrong = []
    for kind in ("queries", "checks"):
        kept = []
        for record in getattr(records, kind):
            unknown = evidence.tables_outside(record.sql) if record.sql else []
            wrong += [f"the sql reads {table}, which is not in the evidence" for table in unknown if kind == "queries"]
            kept += [] if unknown else [record]
        records = records.model_copy(update={kind: kept})
    return _Read(records, tuple(form.open), tuple([*notes, *too_short, *outside][:MOST_NOTES]), tuple(wrong))


def _object_in(text: str) -> dict[str, Any] | None:
    """The JSON object in a text: models that cannot call tools write what they would have called with."""
    begin, end = text.find("{"), text.rfind("}")
    if begin < 0 or end < begin:
        return None
    try:
        found = json.loads(text[begin : end + 1])
    except ValueError:
        return None
    if isinstance(found, dict) and isinstance(inner := found.get("arguments"), dict):
        return inner
    return found if isinstance(found, dict) else None


def _returned(reply: Reply, text: str, *, failed: bool = False) -> Sequence[ModelRequestPart]:
    """Every call gets its return, as providers want it; a reply without a call is answered in words."""
    from pydantic_ai.messages import ToolReturnPart, UserPromptPart

    if not reply.calls:
        return [UserPromptPart(text)]
    return [
        ToolReturnPart(
            tool_name=call.name,
            content=text if call.name == RECORDS_TOOL.name else f"There is no tool '{call.name}'. {CALL_RECORDS}",
            tool_call_id=call.identifier,
            outcome="failed" if failed or call.name != RECORDS_TOOL.name else "success",
        )
        for call in reply.calls
    ]
