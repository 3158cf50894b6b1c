"""The arbiter: one model call that turns a question and its view into typed records.

In: the question and the view, and nothing else. Out: an `Arbitration`: records whose every reference is in the view,
and what was refused on the way. What is refused is told and asked for again, a few times at most; what is then still
wrong is left out. Reads no database: who calls it may try the statement.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from coset.answering.model_client import ModelClient, Reply, Tool, schema_of
from coset.answering.parse_records import RecordsForm, resolved, typed
from coset.answering.prompt import ARBITER, CALL_RECORDS, TOOLS
from coset.answering.quoting import data_block, one_line
from coset.answering.records import Records
from coset.routing.view import EvidenceView

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, ModelRequestPart

MOST_REQUESTS = 3
MOST_PROBLEMS = 8
RECORDS_TOOL = Tool("records", TOOLS["records"], schema_of(RecordsForm))


@dataclass(frozen=True)
class Arbitration:
    """What the arbiter decided. `records` is None when nothing it said could be used."""

    records: Records | None
    refused: tuple[str, ...]
    """Every refusal on the way, in order."""
    requests: int


async def arbitrate(
    question: str,
    view: EvidenceView,
    evidence: str,
    client: ModelClient,
    names: Mapping[str, str] | None = None,
    fails: Callable[[str], str | None] = lambda sql: None,
) -> Arbitration:
    """Ask for records until all of them hold, at most `MOST_REQUESTS` times. `names` are other names of what the view
    has, with the references they mean; `fails` says why a statement does not run, where it does not."""
    from pydantic_ai.messages import ModelRequest, UserPromptPart

    opening = f"{data_block('evidence', evidence)}\n\nThe question:\n{question}"
    messages: list[ModelMessage] = [ModelRequest(parts=[UserPromptPart(opening)], instructions=ARBITER)]
    best: Records | None = None
    refused: list[str] = []
    requests = 0
    while requests < MOST_REQUESTS:
        requests += 1
        reply = await client.ask(f"arbiter {requests}", messages, [RECORDS_TOOL])
        found, problems = _read(reply, view, names or {})
        if found is not None and found.queries and not problems and (wrong := fails(found.queries[0].sql)):
            problems = [f"the sql does not run: {wrong}"]
        refused += problems
        best = found or best
        if not problems or client.ledger.spent():
            break
        messages += [reply.response, ModelRequest(parts=_feedback(reply, problems))]
    client.recorder.step(
        "records", {"records": best.model_dump(exclude_defaults=True) if best else None, "refused": refused}
    )
    return Arbitration(best, tuple(refused), requests)


def _read(reply: Reply, view: EvidenceView, names: Mapping[str, str]) -> tuple[Records | None, list[str]]:
    """The records of a reply that hold, and what is wrong with the rest."""
    call = next((call for call in reply.calls if call.name == RECORDS_TOOL.name), None)
    arguments = call.arguments if call else _object_in(reply.text)
    if arguments is None:
        cut = " because your output limit was reached: be briefer" if reply.cut_off else ""
        return None, [f"the arguments are not a JSON object{cut}" if call else CALL_RECORDS]
    try:
        form = RecordsForm.model_validate(arguments)
    except ValidationError as error:
        return None, [_problem(each) for each in error.errors()[:MOST_PROBLEMS]]
    records, problems = typed(form)
    records, outside = resolved(records, view, names)
    problems = [*problems, *outside][:MOST_PROBLEMS]
    for kind in ("queries", "checks"):
        kept = []
        for record in getattr(records, kind):
            unknown = tables_outside(record.sql, view) if record.sql else []
            problems += [f"the sql reads {table}, which is not in the evidence" for table in unknown]
            kept += [] if unknown else [record]
        records = records.model_copy(update={kind: kept})
    return records, problems


def _problem(error: Any) -> str:
    where = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error["loc"]).lstrip(".")
    return one_line(f"{where}: {error['msg']}", 160)


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


def _feedback(reply: Reply, problems: Sequence[str]) -> list[ModelRequestPart]:
    """Every call gets its return, as providers want it; a reply without a call is answered in words."""
    from pydantic_ai.messages import ToolReturnPart, UserPromptPart

    text = "Refused. Give all records again, mended:\n" + "\n".join(f"- {problem}" for problem in problems)
    if not reply.calls:
        return [UserPromptPart(text)]
    return [
        ToolReturnPart(
            tool_name=call.name,
            content=text if call.name == RECORDS_TOOL.name else f"There is no tool '{call.name}'. {CALL_RECORDS}",
            tool_call_id=call.identifier,
            outcome="failed",
        )
        for call in reply.calls
    ]


def tables_outside(sql: str, view: EvidenceView) -> list[str]:
    """The tables that a statement reads and the view does not have. What does not parse is left to the session."""
    import sqlglot
    from sqlglot import errors, exp

    try:
        tree = sqlglot.parse_one(sql, dialect="duckdb")
    except (errors.SqlglotError, RecursionError):
        return []
    own = {each.alias_or_name.lower() for each in tree.find_all(exp.CTE)}
    known = {table.sql_name.replace('"', "").lower() for table in view.tables}
    # A family stands for many tables of one shape, which the view does not list one by one.
    families = {table.sql_name.replace('"', "").lower().partition(".")[0] for table in view.tables if table.family}
    outside = []
    for table in tree.find_all(exp.Table):
        written = ".".join(part.name for part in table.parts).lower()
        short = any(name.endswith(f".{written}") for name in known)
        if written and written not in own | known and not short and written.partition(".")[0] not in families:
            outside.append(written)
    return list(dict.fromkeys(outside))
