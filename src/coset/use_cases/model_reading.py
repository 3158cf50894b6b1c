"""The user's own model reads the catalogue, once: what it would cost, whether that is wanted, and the reading itself.

In: an open state and the name of a model. Out: its readings, and the copies and code columns it saw, in the state. Only
tables that are new or changed are sent, no copies, no personal samples, nothing but names of schema-only sources. Each
page is kept as it is answered, so that a run which is stopped goes on where it was.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from coset.answering.models.choices import ModelChoice, open_model, parse_model
from coset.answering.models.client import Ledger, Limits, ModelClient
from coset.answering.recorder import NullRecorder, Recorder
from coset.environment.configuration import Environment
from coset.errors import CosetError
from coset.readings.comprehension import copies_of, texts_of
from coset.readings.observe import observe
from coset.readings.pages import INSTRUCTIONS, Page, PageReply, keep_reply, make_pages, parse_reply
from coset.state import EvidenceState
from coset.state.readings import ReadingStore
from coset.state.tables import personal_columns

DEFAULT_BUDGET = 200_000


@dataclass(frozen=True)
class ReadingPlan:
    """What would be sent to a model."""

    model: ModelChoice
    pages: tuple[Page, ...]
    cost: float | None
    """About, in US dollars; None where no price is known."""

    @property
    def tables(self) -> int:
        return sum(len(page.tables) for page in self.pages)

    @property
    def tokens(self) -> int:
        return sum(page.input_tokens + page.output_tokens for page in self.pages)

    def __str__(self) -> str:
        cost = f", about ${self.cost:.2f}" if self.cost is not None else ""
        return (
            f"{self.tables:,} tables with the names, types and up to two samples of their columns go to "
            f"{self.model.text} in {len(self.pages)} requests: about {self.tokens:,} tokens{cost}. "
            "Nothing personal, and no values of schema-only sources."
        )


@dataclass(frozen=True)
class ModelReadingSummary:
    """What a model read."""

    model: str
    tables: int = 0
    columns: int = 0
    copies: int = 0
    codes: int = 0
    requests: int = 0
    tokens: int = 0
    cost: float | None = None
    unread: int = 0
    """Tables that were sent and got no line, or were not sent any more."""
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class ReadWith:
    """The wish that a model read the catalogue. `agree` is asked before anything is sent."""

    model: str
    agree: Callable[[ReadingPlan], bool]
    budget: int = DEFAULT_BUDGET
    recorder: Recorder = field(default_factory=NullRecorder)


def plan_reading(state: EvidenceState, environment: Environment, model: str) -> ReadingPlan:
    """What the model would be sent now. Sends nothing."""
    choice = parse_model(model)
    pages = unread_pages(state, environment)
    return ReadingPlan(choice, tuple(pages), _price(choice, pages))


def unread_pages(state: EvidenceState, environment: Environment) -> list[Page]:
    """The tables that neither a model nor an agent has read as they are now, in pages."""
    store = ReadingStore(state)
    copies = copies_of(state)
    personal = personal_columns(state)
    return make_pages(
        observe(state, with_readings=False),
        texts_of(state, environment),
        known=store.read_by_model(),
        left_out=copies,
        personal=personal,
    )


def read_with_model(state: EvidenceState, environment: Environment, wish: ReadWith) -> ModelReadingSummary | None:
    """Let a model read what is new or changed. None where there is nothing to read or it was not wanted."""
    plan = plan_reading(state, environment, wish.model)
    if not plan.pages or not wish.agree(plan):
        return None
    return asyncio.run(_read(state, plan, wish))


async def _read(state: EvidenceState, plan: ReadingPlan, wish: ReadWith) -> ModelReadingSummary:
    from pydantic_ai.messages import ModelRequest, SystemPromptPart, UserPromptPart

    limits = Limits(tokens=wish.budget)
    ledger = Ledger(limits)
    client = ModelClient(await open_model(plan.model, limits.request_seconds), ledger, wish.recorder)
    store, problems, replies = ReadingStore(state), list[str](), list[PageReply]()
    for number, page in enumerate(plan.pages):
        if spent := _spent(ledger, page):
            left = sum(len(each.tables) for each in plan.pages[number:])
            problems.append(f"{spent}: {left} tables are not read; the next run goes on with them")
            break
        messages = [ModelRequest(parts=[SystemPromptPart(content=INSTRUCTIONS), UserPromptPart(content=page.text)])]
        try:
            reply = await client.ask("reading", messages, ())
        except CosetError as error:
            problems.append(str(error))
            break
        said = parse_reply(reply.text, page, "model", plan.model.text)
        keep_reply(store, page, said, "model")
        replies.append(said)
        problems += said.problems[:5]
        if len(said.read) < len(page.tables):
            short = " (its reply was cut off)" if reply.cut_off else ""
            problems.append(f"{len(page.tables) - len(said.read)} tables of a page got no line{short}")
    readings = [reading for reply in replies for reading in reply.readings]
    read = sum(len(reply.read) for reply in replies)
    return ModelReadingSummary(
        plan.model.text, read, sum(not each.is_table for each in readings), sum(len(each.copies) for each in replies),
        sum(len(each.codes) for each in replies), len(ledger.steps), ledger.tokens, ledger.cost, plan.tables - read,
        tuple(problems),
    )  # fmt: skip


def _spent(ledger: Ledger, page: Page) -> str | None:
    """Why a page is not sent any more."""
    if spent := ledger.spent():
        return spent
    budget = ledger.limits.tokens
    if budget is not None and ledger.tokens + page.input_tokens + page.output_tokens > budget:
        return f"the budget of {budget:,} tokens would be exceeded"
    return None


def _price(choice: ModelChoice, pages: list[Page]) -> float | None:
    from genai_prices import Usage, calc_price

    if choice.is_local:
        return None
    usage = Usage(
        input_tokens=sum(page.input_tokens for page in pages), output_tokens=sum(page.output_tokens for page in pages)
    )
    try:
        price = calc_price(usage, model_ref=choice.name, provider_id=choice.provider.removesuffix("-chat"))
    except LookupError:
        return None
    return float(price.total_price)
