"""Readings: list, export and import them, and have a language model or an agent say what tables and columns are.

In: a workspace or configuration. Out: readings, or a summary of what was taken. A model is asked once, after the plan
of what would be sent was agreed to; its readings are kept under its name.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from coset.answering.models.choices import ModelChoice, open_model, parse_model
from coset.answering.models.client import Ledger, Limits, ModelClient
from coset.answering.recorder import NullRecorder, Recorder
from coset.environment.configuration import Environment
from coset.environment.corrections import Reading as SaidReading
from coset.environment.corrections import add_corrections, load_corrections
from coset.errors import CosetError, UserError
from coset.readings.comprehension import copies_of, said_readings, texts_of
from coset.readings.files import readings_as_text, readings_from_text
from coset.readings.observe import observe
from coset.readings.pages import INSTRUCTIONS, MOST_COLUMNS, Page, PageReply, keep_reply, make_pages, parse_reply
from coset.readings.reading import READERS, Reader, Reading
from coset.state import EvidenceState
from coset.state.names import names_of, resolve
from coset.state.readings import SAID, ReadingStore
from coset.state.tables import personal_columns, table_of_references

DEFAULT_BUDGET = 200_000
PAGE_SECONDS = 900.0
"""How long a reply to a page may take: some hundred lines, from a small model or a person at the other end."""


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

    @property
    def columns_left_out(self) -> dict[str, int]:
        """Of tables so wide that a page does not show all their columns, how many it leaves to the other readers."""
        return {
            table.reference: len(table.columns) - MOST_COLUMNS
            for page in self.pages
            for table in page.tables
            if len(table.columns) > MOST_COLUMNS
        }

    def __str__(self) -> str:
        cost = f", about ${self.cost:.2f}" if self.cost is not None else ""
        wide = self.columns_left_out
        left = f" {sum(wide.values()):,} columns of {', '.join(list(wide)[:3])} are not sent." if wide else ""
        return (
            f"{self.tables:,} tables with the names, types and up to two samples of their columns go to "
            f"{self.model.text} in {len(self.pages)} requests: about {self.tokens:,} tokens{cost}. "
            f"Nothing personal, and no values of schema-only sources.{left}"
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

    limits = Limits(tokens=wish.budget, request_seconds=PAGE_SECONDS)
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


@dataclass(frozen=True)
class ImportResult:
    """What became of readings that were handed in."""

    taken: int
    unknown: tuple[str, ...]
    """References that are not here."""


def list_readings(
    environment: Environment,
    about: str | None = None,
    *,
    readers: Sequence[str] = (),
    below: float | None = None,
    every: bool = False,
) -> list[Reading]:
    """The best reading of each object (`every`: all of them): of all, or of a source, a table or a column."""
    if unknown := [reader for reader in readers if reader not in READERS]:
        raise UserError(f"there is no reader '{unknown[0]}': the readers are {', '.join(READERS)}")
    with EvidenceState.read(environment.state_folder) as state:
        found = ReadingStore(state).all(best=not every)
        place = resolve(state, about) if about else ""
    return [
        reading
        for reading in found
        if (not place or reading.reference == place or reading.reference.startswith((f"{place}.", f"{place}/")))
        and (not readers or reading.reader in readers)
        and (below is None or reading.confidence < below)
    ]


def export_readings(environment: Environment, readings: Sequence[Reading]) -> str:
    """Readings as the text of a file."""
    return readings_as_text(readings)


def import_readings(environment: Environment, text: str, place: str) -> ImportResult:
    """Take the readings of a file over."""
    with EvidenceState.open(environment.state_folder) as state:
        tables = table_of_references(state)
        found, unknown = readings_from_text(text, tables, place, names_of(state).find)
    return _take(environment, found, unknown)


@dataclass(frozen=True)
class CataloguePage:
    """A piece of the catalogue for an agent to read."""

    key: str
    text: str
    """What to do, and the tables."""
    pages_left: int
    """How many there are with this one."""


def next_page(environment: Environment) -> CataloguePage | None:
    """The next tables that neither a model nor an agent has read; None when all are read."""
    with EvidenceState.read(environment.state_folder) as state:
        pages = unread_pages(state, environment)
    if not pages:
        return None
    return CataloguePage(_key(pages[0]), f"{INSTRUCTIONS}\n\n{pages[0].text}", len(pages))


def hand_in_page(environment: Environment, key: str, lines: str, said_by: str = "an agent") -> PageReply:
    """Keep what an agent read on a page of `next_page`, in the lines that its text asks for."""
    with EvidenceState.open(environment.state_folder) as state:
        page = next((each for each in unread_pages(state, environment) if _key(each) == key), None)
        if page is None:
            raise UserError(f"there is no page '{key}' to be read: it is read already, or its tables changed")
        reply = parse_reply(lines, page, "agent", said_by)
        keep_reply(ReadingStore(state), page, reply, "agent")
    return reply


def _key(page: Page) -> str:
    return hashlib.blake2b(repr((page.source, page.digests)).encode(), digest_size=6).hexdigest()


def _take(environment: Environment, found: Sequence[Reading], unknown: Sequence[str]) -> ImportResult:
    said = [
        SaidReading(
            reference=each.reference, name=each.name, meaning=each.meaning or None, synonyms=each.synonyms,
            reader="agent" if each.reader == "agent" else "person",
        )
        for each in found
        if each.reader in SAID
    ]  # fmt: skip
    if said:
        replaced = {(each.reference, each.reader) for each in said}
        old = [each for each in load_corrections(environment).readings if (each.reference, each.reader) in replaced]
        add_corrections(environment, said, instead_of=old)
    others: dict[Reader, list[Reading]] = {}
    for each in found:
        if each.reader not in SAID:
            others.setdefault(each.reader, []).append(each)
    with EvidenceState.open(environment.state_folder) as state:
        store = ReadingStore(state)
        for reader, readings in others.items():
            store.replace_objects(readings, reader)
        store.replace_said(said_readings(state, environment))
    return ImportResult(len(found), tuple(unknown))
