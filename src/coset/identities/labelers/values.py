"""Labelers that read values and types: patterns that only some roles have, and what a type cannot be."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from coset.identities.signals import Labeler, Look, Signal
from coset.readings.value_patterns import numbers_in, pattern_shares, present

MOST = 0.75


def _pattern(name: str, pattern: str, *identities: str, what: str) -> Labeler:
    def look_at(look: Look) -> Iterator[Signal]:
        if look.column is None or len(look.column.samples) < 2:
            return
        share = pattern_shares(look.column.samples)[pattern]
        if share >= MOST:
            yield Signal(
                name, "attribute", look.attributes(*identities), True, f"{share:.0%} of its samples are {what}"
            )

    return Labeler(name, f"most samples are {what}", look_at)


def long_text(look: Look) -> Iterator[Signal]:
    if look.column is None or len(look.column.samples) < 2:
        return
    values = present(look.column.samples)
    if values and np.mean([len(value) for value in values]) > 60 and pattern_shares(values)["wordy"] >= MOST:
        ids = look.attributes("description", "note", "content", "title", "reason")
        yield Signal("prose", "attribute", ids, True, "its values are sentences")


def coordinates(look: Look) -> Iterator[Signal]:
    if look.column is None:
        return
    numbers = numbers_in(look.column.samples)
    if len(numbers) >= 3 and np.abs(numbers).max() > 180:
        yield Signal("out of degrees", "attribute", look.attributes("latitude", "longitude"), False, "beyond 180")


def whole_numbers(look: Look) -> Iterator[Signal]:
    """Letters or fractions are no count, year or sequence."""
    if look.column is None or len(look.column.samples) < 2:
        return
    shares = pattern_shares(look.column.samples)
    if shares["decimal"] > 0.3:
        ids = look.attributes("count", "year", "sequence", "identifier", "calendar_part")
        yield Signal("fractions", "attribute", ids, False, "its values have fractions")


def varied(look: Look) -> Iterator[Signal]:
    """Values that are no dates oppose the times."""
    if look.column is None or len(present(look.column.samples)) < 2 or look.column.type in ("date", "time"):
        return
    shares = pattern_shares(look.column.samples)
    if shares["date"] + shares["stamp"] + shares["clock"] + shares["number"] < 0.2:
        ids = look.attributes(
            "event_time", "start_time", "end_time", "created_time", "updated_time", "birth_date", "year"
        )
        yield Signal("no times", "attribute", ids, False, "its values are no dates")


_TIMES = (
    "event_time",
    "start_time",
    "end_time",
    "due_time",
    "created_time",
    "updated_time",
    "birth_date",
    "death_date",
)
VALUES = (
    _pattern("e-mails", "email", "email", "username", what="e-mail addresses"),
    _pattern("urls", "url", "url", "file", what="web addresses"),
    _pattern("uuids", "uuid", "identifier", "hash", what="uuids"),
    _pattern("hashes", "hash", "hash", "identifier", what="hashes"),
    _pattern("dates", "date", *_TIMES, "calendar_part", what="dates"),
    _pattern("network addresses", "network", "network_address", "version", what="network addresses"),
    _pattern("truths", "truth", "flag", "count", "score", "quantity", "level", what="yes or no"),
    _pattern("genders", "gender", "gender", "flag", what="genders"),
    _pattern("calendar words", "calendar", "calendar_part", what="months or weekdays"),
    _pattern("nested values", "nested", "payload", "keyword", "geometry", "content", what="nested"),
    _pattern("files", "file", "file", "url", what="files"),
    _pattern("money", "grouped", "amount", "price_of", "cost", "balance", "pay", "budget", "count", what="sums"),
    _pattern("percentages", "percent", "rate", "discount", what="percentages"),
    Labeler("prose", "long values in sentences", long_text),
    Labeler("out of degrees", "numbers beyond 180 are no coordinates", coordinates),
    Labeler("fractions", "fractions are no counts, years or keys", whole_numbers),
    Labeler("no times", "values that are no dates are no times", varied),
)


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
