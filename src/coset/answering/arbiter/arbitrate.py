"""The arbiter: what a question means in terms of the evidence, as typed records and a statement that is run at once.

In: the question, the evidence, and what looks at a statement. Out: an `Arbitration`: records whose every reference is
in the evidence, what came of their statement, and notes of what was dropped. The first request has everything: what all
questions share, the directory, the details. Where something is opened, or the statement's result is to be decided on, a
second request continues it: it repeats the first letter for letter, so that the provider's cache holds all of that, and
adds only what was not shown yet. Knows nothing of the agent.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from coset.answering.agent.tools import Statements
from coset.answering.arbiter.draft import Draft
from coset.answering.arbiter.records import Records, RecordsForm, read_form, resolved, typed
from coset.answering.evidence.of_question import Evidence, Unseen, read_by, tables_in
from coset.answering.models.client import ModelClient, Reply, Tool, schema_of
from coset.answering.prompt import (
    ARBITER,
    CALL_RECORDS,
    DECIDE,
    GAVE,
    LAST_REQUEST,
    MENDED,
    ONLY_REQUEST,
    OPENED_ALREADY,
    OPENED_NOW,
    TOOLS,
    user_prompt,
)
from coset.answering.quoting import data_block

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, ModelRequestPart

MOST_REQUESTS = 3
"""Beside the one that opens."""
MOST_DECIDED = 1
"""So often the arbiter is asked what to make of its own result."""
MOST_NOTES = 8
MOST_OPENED = 16
MOST_LOOKS = 8
_SELECT = re.compile(r"\s*(select|with|from)\s", re.IGNORECASE)
RECORDS_TOOL = Tool("records", TOOLS["records"], schema_of(RecordsForm))

Look = Callable[[Records, bool], Draft | None]
"""Runs the statement of records and looks at what it gives. True where the arbiter has seen the result before."""


@dataclass(frozen=True)
class Arbitration:
    """What the arbiter decided. `records` is None when nothing it said could be used."""

    records: Records | None
    notes: tuple[str, ...]
    """Everything that was dropped or sent back on the way, in order."""
    requests: int
    opened: tuple[str, ...] = ()
    draft: Draft | None = None


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
    look: Look | None = None,
) -> Arbitration:
    """Ask for records until their statement settles the question, cannot, or the requests are used up. Without
    `statements` none is run, and without `look` none is looked at."""
    arbiter = _Arbiter(question, evidence, client, statements, look)
    return await arbiter.decide()


@dataclass
class _Arbiter:
    """One arbitration while it goes on."""

    question: str
    evidence: Evidence
    client: ModelClient
    statements: Statements | None
    look: Look | None
    messages: list[ModelMessage] = field(default_factory=list)
    best: Records | None = None
    draft: Draft | None = None
    notes: list[str] = field(default_factory=list)
    opened: tuple[str, ...] = ()
    decided: int = 0
    named: list[str] = field(default_factory=list)
    """References of tables that were named so far: the next request shows what was not shown of them yet."""
    news: list[str] = field(default_factory=list)
    """What the next request shows of them."""

    async def decide(self) -> Arbitration:
        from pydantic_ai.messages import ModelRequest

        shared, rest = self.evidence.prompt()
        asked = f"The question:\n{self.question}"
        if self.client.ledger.is_last_request:
            asked += f"\n\n{ONLY_REQUEST}"
        opening = user_prompt(shared, [*rest, asked], self.client)
        self.messages = [ModelRequest(parts=[opening], instructions=ARBITER)]
        requests = 0
        while requests < MOST_REQUESTS + bool(self.opened):
            requests += 1
            reply = await self.client.ask(f"arbiter {requests}", self.messages, [RECORDS_TOOL])
            told = self._take(reply)
            if told is None or self.client.ledger.spent():
                break
            text, failed = told
            self._say(reply, f"{text}\n{LAST_REQUEST}" if self.client.ledger.is_last_request else text, failed)
        records = self.best.model_dump(exclude_defaults=True) if self.best else None
        self.client.recorder.step("records", {"records": records, "refused": self.notes})
        return Arbitration(self.best, tuple(self.notes), requests, self.opened, self.draft)

    def _take(self, reply: Reply) -> tuple[str, bool] | None:
        """What is to be said to a reply, and whether it was wrong; None when nothing is left to say."""
        read = self._with_statement(_read(reply, self.evidence))
        self.notes += read.notes
        opens = () if self.opened or self.client.ledger.spent() else read.open[:MOST_OPENED]
        wrong = list(read.wrong)
        if read.open and not opens and not (read.records and any(read.records.each_decision())):
            wrong.append(OPENED_ALREADY)
        if read.records is not None:
            self.best = read.records
            self._name(read.records.cited, (query.sql for query in read.records.queries))
        if not wrong and read.records is not None and read.records.queries and self.statements:
            why = self.statements.why_not(read.records.queries[0].sql)
            wrong = [f"the sql does not run: {why}"] if why else []
        self.notes += wrong
        mended = "\n".join([MENDED, *(f"- {each}" for each in wrong)]) if wrong else ""
        if opens:
            return self._opening(opens, None if wrong else read.records, mended)
        if wrong:
            return mended, True
        told = self._looked_at(read.records) if read.records is not None else None
        return (told, False) if told else None

    def _opening(self, opens: Sequence[str], records: Records | None, mended: str) -> tuple[str, bool] | None:
        """What was opened, beside what the statement gave that came with it; None where that settles the question."""
        if records is not None and records.queries and self.look is not None:
            draft = self.look(records, False)
            self.draft = draft.after(self.draft) if draft is not None else None
            if self.draft is not None and self.draft.settled is not None:
                return None
        self.opened = tuple(opens)
        gave = GAVE.format(draft=self.draft.text) if self.draft is not None else ""
        return "\n".join(part for part in (self._shown(self.opened), mended, gave) if part), False

    def _with_statement(self, read: _Read) -> _Read:
        """Who stands by a statement need not write it again."""
        before = self.best.queries if self.best and self.draft else []
        if read.records is None or read.records.queries or read.records.missing or not read.records.sure or not before:
            return read
        return _Read(read.records.model_copy(update={"queries": before}), read.open, read.notes, read.wrong)

    def _looked_at(self, records: Records) -> str | None:
        """What the statement gave, where that is to be decided on; None where it settles the question, or cannot."""
        if self.look is None or not records.queries:
            return None
        seen = self.decided > 0
        unseen = Unseen() if seen else self.evidence.unseen(records.queries[0].sql)
        draft = self.look(records, seen)
        self.draft = draft.after(self.draft) if draft is not None else None
        if self.draft is None:
            return None
        if self.draft.settled is not None and (not unseen.tells or (self.draft.is_checked and not unseen.rules)):
            return None  # Details of a table say nothing new to who has checked what the statement stands on.
        if self.draft.is_open or self.decided >= MOST_DECIDED or not self.draft.name:
            return None
        self.decided += 1
        self.draft = self.draft.doubted(unseen.tells) if unseen.tells else self.draft
        return DECIDE.format(draft=self.draft.text)

    def _shown(self, wanted: Sequence[str]) -> str:
        """What is opened: tables stand before it in the next request; the rest in words, and rows of statements."""
        looks = [each for each in wanted if _SELECT.match(each)] if self.statements else []
        names = [each for each in wanted if each not in looks]
        tables, text = self.evidence.open(names)
        self._name(tables)
        self._see()  # What is opened may be looked at.
        self._name((), looks)
        texts = [data_block("opened", text)] if text else []
        texts += [self._rows(sql) for sql in looks[:MOST_LOOKS]]
        texts += [f"not run: at most {MOST_LOOKS} statements"] if len(looks) > MOST_LOOKS else []
        self.client.recorder.step("opened", {"references": list(wanted), "text": "\n".join([*tables, *texts])})
        return "\n".join([OPENED_NOW, *texts])

    def _rows(self, sql: str) -> str:
        assert self.statements is not None  # noqa: S101
        if unknown := self.evidence.tables_outside(sql):
            return f"not run: {', '.join(unknown)} is not in the evidence"
        why = self.statements.why_not(sql)
        return f"it does not run: {why}" if why else self.statements.shown(self.statements.run(sql))

    def _name(self, references: Iterable[str], statements: Iterable[str] = ()) -> None:
        for sql in statements:
            self.named += [*tables_in(sql, self.evidence.view), *read_by(sql, self.evidence.view)]
        self.named += references
        self.named = list(dict.fromkeys(self.named))

    def _say(self, reply: Reply, text: str, failed: bool) -> None:
        """The next request continues the conversation, with what is new of the tables that were named."""
        from pydantic_ai.messages import ModelRequest

        self._see()
        told = "\n\n".join([*self.news, text])
        self.news = []
        self.messages += [reply.response, ModelRequest(parts=_returned(reply, told, failed=failed))]

    def _see(self) -> None:
        news = self.evidence.focus(self.named)
        self.news += [news] if news else []


def _arguments(reply: Reply) -> dict[str, Any] | None:
    call = next((call for call in reply.calls if call.name == RECORDS_TOOL.name), None)
    return call.arguments if call else _object_in(reply.text)


def _read(reply: Reply, evidence: Evidence) -> _Read:
    arguments = _arguments(reply)
    if arguments is None:
        called = any(call.name == RECORDS_TOOL.name for call in reply.calls)
        cut = " because your output limit was reached: be briefer" if reply.cut_off else ""
        return _Read(wrong=(f"the arguments are not a JSON object{cut}" if called else CALL_RECORDS,))
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
