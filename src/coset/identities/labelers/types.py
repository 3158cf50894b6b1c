"""Labelers that read the declared type: mostly what a column cannot be."""

from __future__ import annotations

from collections.abc import Iterator

from coset.identities.signals import Labeler, Look, Signal
from coset.readings.value_patterns import present

TIMES = ("event_time", "start_time", "end_time", "due_time", "created_time", "updated_time", "birth_date", "death_date")
TEXTS = (
    "name", "given_name", "family_name", "title", "abbreviation", "username", "description", "note", "content", "url",
    "email", "phone", "street_address", "city_of", "region_of", "country_of", "reason", "keyword", "file", "language",
    "location", "time_zone",
)  # fmt: skip
NUMBERS = (
    "amount", "price_of", "cost", "tax_amount", "discount", "balance", "pay", "budget", "profit", "quantity", "count",
    "score", "rate", "length", "weight", "area", "capacity", "temperature", "speed", "statistic", "age", "duration",
    "latitude", "longitude", "other_measure",
)  # fmt: skip


def flag_type(look: Look) -> Iterator[Signal]:
    if look.column is not None and look.column.type == "flag":
        yield Signal("flag type", "attribute", look.attributes("flag"), True, "its type is boolean")


def time_type(look: Look) -> Iterator[Signal]:
    if look.column is not None and look.column.type in ("date", "time"):
        allowed = look.attributes(*TIMES, "year", "calendar_part", "duration")
        yield Signal("time type", "attribute", allowed, True, "its type is a date or time")


def nested_type(look: Look) -> Iterator[Signal]:
    if look.column is not None and look.column.type == "nested":
        yield Signal(
            "nested type", "attribute", look.attributes("payload", "geometry", "keyword"), True, "it is nested"
        )


def number_type(look: Look) -> Iterator[Signal]:
    if look.column is not None and look.column.type in ("number", "whole"):
        yield Signal("number type", "attribute", look.attributes(*TEXTS), False, "its type is a number")


def fraction_type(look: Look) -> Iterator[Signal]:
    if look.column is not None and look.column.type == "number":
        allowed = look.attributes(*NUMBERS, "identifier", "flag", "value", "year", "sequence", "rank", "code")
        yield Signal("fraction type", "attribute", allowed, True, "its type has fractions")


def text_type(look: Look) -> Iterator[Signal]:
    """Text may hold numbers, but not where its samples hold letters."""
    if look.column is None or look.column.type != "text":
        return
    values = present(look.column.samples)
    if values and all(any(letter.isalpha() for letter in value) for value in values):
        yield Signal("text type", "attribute", look.attributes(*NUMBERS), False, "it holds text")


TYPES = (
    Labeler("flag type", "a boolean is a flag", flag_type),
    Labeler("time type", "a date or timestamp is one of the times", time_type),
    Labeler("nested type", "a struct, list or JSON", nested_type),
    Labeler("number type", "a number is no text", number_type),
    Labeler("fraction type", "a decimal or float measures something", fraction_type),
    Labeler("text type", "letters are no measure", text_type),
)
