"""Labelers that read the shape of a table: how many columns of which kinds, what points to it, how many rows.

They oppose entities: what a table of such a shape can hardly be, whatever it is called. No name is looked at, so they
speak where names do not. They speak of tables; columns that state a fact of their row lie where their table lies.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from coset.identities.signals import Labeler, Look, Signal
from coset.readings.observed import ObservedColumn

HAPPENINGS = (
    "order", "order_line", "invoice", "payment", "shipment", "ledger_entry", "trade", "log_event", "message",
    "web_session", "reservation", "encounter", "match", "trip", "observation", "payroll",
)  # fmt: skip
"""What happens at some time: it has a date, and there are many of it."""
LISTS = ("category", "country", "currency", "role", "tag", "tax", "department", "job")
"""What is listed once and referred to."""
OF_MONEY = ("invoice", "payment", "ledger_entry", "loan", "payroll", "price", "order_line", "trade")
FEW_COLUMNS, FEW_ROWS, MANY_ROWS, LEAST_KNOWN, WIDEST = 4, 60, 5_000, 4, 200


def _against(look: Look, labeler: str, ids: Sequence[str], reason: str) -> Signal:
    identities = tuple(look.inventory.position("entity", identity) for identity in ids)
    return Signal(labeler, "entity", identities, False, reason)


def _columns(look: Look) -> tuple[ObservedColumn, ...]:
    """The columns of a table of which the types are known; none where the object is a column."""
    if look.column is not None:
        return ()
    known = tuple(column for column in look.table.columns[:WIDEST] if column.type != "unknown")
    return known if len(known) >= LEAST_KNOWN else ()


def timeless(look: Look) -> Iterator[Signal]:
    """Where no column can hold a time, nothing happened."""
    columns = _columns(look)
    if columns and not any(column.type in ("date", "time", "nested") or _like_time(column) for column in columns):
        yield _against(look, "no time in it", HAPPENINGS, "none of its columns can hold a date or time")


def _like_time(column: ObservedColumn) -> bool:
    """A number or text whose values are unknown, or have the length of a date, may be one."""
    if column.refers_to or column.is_key or column.type == "flag":
        return False
    values = [value for value in column.samples if value]
    return not values or any(6 <= len(value) <= 26 and sum(map(str.isdigit, value)) >= 6 for value in values)


def without_numbers(look: Look) -> Iterator[Signal]:
    """Where no column is a number beside keys, no money is counted."""
    columns = _columns(look)
    if columns and not any(column.type in ("number", "nested", "whole") and _measures(column) for column in columns):
        yield _against(look, "no sums in it", OF_MONEY, "none of its columns holds a number that is no key")


def _measures(column: ObservedColumn) -> bool:
    return not (column.is_key or column.refers_to)


def short_list(look: Look) -> Iterator[Signal]:
    """A few columns and a few rows are a list, and no record of what happens."""
    rows = look.table.rows
    if look.column is None and rows is not None and 0 < rows <= FEW_ROWS and len(look.table.columns) <= FEW_COLUMNS:
        yield _against(look, "short list", HAPPENINGS, f"{len(look.table.columns)} columns and {rows} rows")


def long_table(look: Look) -> Iterator[Signal]:
    """There are not so many countries or departments."""
    rows = look.table.rows
    if look.column is None and rows is not None and rows >= MANY_ROWS:
        yield _against(look, "many rows", LISTS, f"{rows:,} rows")


def facts_of_its_own(look: Look) -> Iterator[Signal]:
    """A table of many facts does more than join two others."""
    if look.column is not None:
        return
    own = [column for column in look.table.columns[:WIDEST] if not (column.refers_to or column.is_key)]
    if len(own) >= 6:
        yield _against(look, "facts of its own", ("link",), f"{len(own)} columns that refer to nothing")


def pointed_to(look: Look) -> Iterator[Signal]:
    """What other tables refer to is a thing, and no line or log of one."""
    if look.column is None and sum(column.referred_by for column in look.table.columns[:WIDEST]) >= 3:
        yield _against(look, "referred to", ("link", "log_event", "observation"), "three columns or more refer to it")


SHAPES = (
    Labeler("no time in it", "what happens has a time; no column can hold one", timeless),
    Labeler("no sums in it", "money is counted in numbers; no column is one", without_numbers),
    Labeler("short list", "few columns and few rows are no record of what happens", short_list),
    Labeler("many rows", "lists of countries, roles and the like are short", long_table),
    Labeler("facts of its own", "a table of many facts is more than a link", facts_of_its_own),
    Labeler("referred to", "what others refer to is no link or log", pointed_to),
)
