"""Readings as people and agents use them: list, export, import, hand in.

In: an environment. Out: typed readings. What is imported or handed in as a person's or an agent's word goes to the
corrections file, where it survives the state; what a model or another reader said goes to the state.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from coset.environment.configuration import Environment
from coset.environment.corrections import Reading as SaidReading
from coset.environment.corrections import add_corrections, load_corrections
from coset.errors import UserError
from coset.readings.comprehension import said_readings
from coset.readings.files import readings_as_text, readings_from_text
from coset.readings.pages import INSTRUCTIONS, Page, PageReply, keep_reply, parse_reply
from coset.readings.reading import READERS, Reader, Reading
from coset.state import EvidenceState
from coset.state.names import resolve
from coset.state.readings import SAID, ReadingStore
from coset.state.tables import table_of_references
from coset.use_cases.model_reading import unread_pages


@dataclass(frozen=True)
class HandedIn:
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


def import_readings(environment: Environment, text: str, place: str) -> HandedIn:
    """Take the readings of a file over."""
    with EvidenceState.open(environment.state_folder) as state:
        tables = table_of_references(state)
        found, unknown = readings_from_text(text, tables, place)
    return _take(environment, found, unknown)


def hand_in_readings(environment: Environment, readings: Sequence[SaidReading]) -> HandedIn:
    """Readings that a person or an agent hands in, by reference as `coset show` prints it."""
    with EvidenceState.read(environment.state_folder) as state:
        tables = table_of_references(state)
    known = [each for each in readings if each.reference in tables]
    found = [
        Reading(
            each.reference, tables[each.reference], each.name, each.meaning or "", tuple(each.synonyms), each.reader
        )
        for each in known
    ]
    return _take(environment, found, [each.reference for each in readings if each.reference not in tables])


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


def _take(environment: Environment, found: Sequence[Reading], unknown: Sequence[str]) -> HandedIn:
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
    return HandedIn(len(found), tuple(unknown))
