"""How the departments write things down: account numbers, days and names, each in its own way and not always alike.

In: true values and the random numbers of a stage. Out: what stands in a database. Every spelling can be undone: no two
account numbers, days or customers become the same text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date
from typing import Any

import numpy as np

from coset.demo.company import Company, chance
from coset.demo.vocabulary import COUNTRIES

Spelling = Callable[[Any], str]
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_OTHER_ENDINGS = {country.ending: country.other_ending for country in COUNTRIES}


def mixed(draw: np.random.Generator, values: Sequence[Any], *spellings: tuple[float, Spelling]) -> list[str]:
    """Each value in one of the spellings, which have the given shares."""
    places = draw.choice(len(spellings), len(values), p=[share for share, _ in spellings])
    return [spellings[place][1](value) for value, place in zip(values, places.tolist(), strict=True)]


def customer_id(account: int) -> str:
    """In Atlas: `C-0047113`."""
    return f"C-{account:07}"


def buyer_id(account: int) -> str:
    """In Beacon, where it is kept best: `b47113`."""
    return f"b{account}"


def typed_buyer_ids(draw: np.random.Generator, accounts: Sequence[int]) -> list[str]:
    """In Beacon's orders, where people typed them."""
    return mixed(
        draw, accounts,
        (0.70, buyer_id),
        (0.15, lambda account: f"B{account}"),
        (0.08, lambda account: f"#b{account}"),
        (0.07, lambda account: f"b{account} "),
    )  # fmt: skip


def ticket_references(draw: np.random.Generator, accounts: Sequence[int]) -> list[str]:
    return mixed(
        draw, accounts,
        (0.60, lambda account: f"CUST-{account:07}"),
        (0.25, lambda account: f"cust-{account:07}"),
        (0.15, lambda account: f"CUST-{account}"),
    )  # fmt: skip


def mixed_days(draw: np.random.Generator, days: Sequence[date]) -> list[str]:
    """Three forms, none of which can be taken for another day."""
    return mixed(
        draw, days,
        (0.60, lambda day: f"{day:%Y-%m-%d}"),
        (0.25, lambda day: f"{day:%d.%m.%Y}"),
        (0.15, lambda day: f"{day.day} {_MONTHS[day.month - 1]} {day.year}"),
    )  # fmt: skip


def atlas_names(company: Company) -> list[str]:
    """The name of each Atlas account; under a second number it is spelled otherwise."""
    draw = chance(company.seed, "atlas names")
    accounts = company.atlas_accounts
    names = company.customers.column("name").take(accounts.column("customer")).to_pylist()
    places = draw.integers(0, 4, len(names)).tolist()
    seconds = accounts.column("is_second").to_pylist()
    return [
        _other_spelling(name, place) if second else name
        for name, place, second in zip(names, places, seconds, strict=True)
    ]


def _other_spelling(name: str, place: int) -> str:
    """As someone else types it: always another text, always the same words, legal endings aside."""
    stem, _, ending = name.rpartition(" ")
    if place == 0:
        return name.upper() if name.upper() != name else f"{name}."
    if place == 1 and "&" in name:
        return name.replace("&", "and")
    if place == 2:
        return f"{stem}, {_OTHER_ENDINGS[ending]}"
    return stem if place == 1 else f"{stem.lower()} {ending}"


def mail_address(name: str) -> str:
    stem = name.rpartition(" ")[0]
    return f"accounts@{''.join(letter for letter in stem.lower() if letter.isalnum())}.example"
