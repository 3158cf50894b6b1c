"""Dates kept as text or as numbers: their formats with shares, and one expression that reads them all.

In: a column as observed. Out: `date_as_text` for one format, `mixed_date_formats` for several, with an expression that
was run over the observed values and read them. Nothing here knows what the date is the date of.
"""

from __future__ import annotations

import re

import duckdb

from coset.evidence.quality.date_formats import (
    EARLIEST_EPOCH,
    EPOCH_MILLISECONDS,
    EPOCH_SECONDS,
    LATEST_EPOCH,
    QUARTER,
    WEEK,
    YEAR,
    Reading,
    read_formats,
)
from coset.evidence.quality.observed import Observed, tried
from coset.sql_text import identifier, literal
from coset.state.objects import Diagnostic

LEAST_SHARE = 0.5
MOST_FORMATS = 20
_NAMES = {QUARTER: "quarters (2024-Q1)", WEEK: "ISO weeks (2024-W05)", YEAR: "years alone"}


def dates(connection: duckdb.DuckDBPyConnection, observed: Observed, texts: list[tuple[str, int]]) -> Diagnostic | None:
    """`texts` are the observed ones without null tokens, stripped."""
    total = sum(count for _, count in texts)
    if not total:
        return None
    # A look at a part is enough to leave most columns alone.
    glance = texts[:200]
    if read_formats(glance).rows < 0.3 * sum(count for _, count in glance):
        return None
    reading = read_formats(texts)
    if reading.rows < LEAST_SHARE * total or _is_something_else(reading, texts, total):
        return None
    kept = [each for each in reading.formats if each.rows >= max(1, 0.0005 * total)][:MOST_FORMATS]
    expression, type_name = _expression(observed, [each.format for each in kept], texts)
    parsed = tried(connection, observed.name, [text for text, _ in texts], expression)
    read = sum(count for (_, count), value in zip(texts, parsed, strict=True) if value is not None)
    if read < LEAST_SHARE * total:
        return None
    mixed = len(kept) > 1
    return Diagnostic(
        kind="mixed_date_formats" if mixed else "date_as_text",
        share=observed.share(read),
        detail=_detail(reading, total, read),
        expression=expression,
        type=type_name,
        examples=_examples(texts, reading),
    )


def _is_something_else(reading: Reading, texts: list[tuple[str, int]], total: int) -> bool:
    formats = {each.format for each in reading.formats}
    if formats <= {YEAR}:
        return True
    bare = sum(
        each.rows
        for each in reading.formats
        if each.format in (YEAR, EPOCH_SECONDS, EPOCH_MILLISECONDS) or _bare(each.format)
    )
    if bare == reading.rows:
        # Digits alone are dates only when nearly all of them are, and not when they count up like identifiers.
        numbers = sorted(int(text) for text, _ in texts if text.isdigit())
        if reading.rows < 0.98 * total or len(numbers) < 5:
            return True
        dense = numbers[-1] - numbers[0] < 2 * len(numbers) and not _bare(reading.formats[0].format)
        return dense or len(formats - {YEAR}) > 1 or YEAR in formats
    return False


def _bare(format_: str) -> bool:
    return format_.startswith("%Y%m%d")


def _rank(format_: str) -> tuple[int, int]:
    """Two-digit years come first, since `%Y` would read 24 as the year 24; then a four-digit year at the end, then at
    the start; a year alone last."""
    if format_ == YEAR:
        return (4, 0)
    if "%y" in format_:
        return (0, 0)
    return (2, 0) if format_.startswith("%Y") else (1, 0)


def _expression(observed: Observed, formats: list[str], texts: list[tuple[str, int]]) -> tuple[str, str]:
    text = observed.bare_text()
    if any(re.search(r"\d(?:st|nd|rd|th)\b", each, re.IGNORECASE) for each, _ in texts):
        text = rf"regexp_replace({text}, '(?i)(\d)(?:st|nd|rd|th)\b', '\1')"
    if any(re.search(r"\bsept\b", each, re.IGNORECASE) for each, _ in texts):
        text = rf"regexp_replace({text}, '(?i)\bsept\b', 'Sep')"
    if any(re.search(r"[ap]\.m\.?", each, re.IGNORECASE) for each, _ in texts):
        text = rf"regexp_replace({text}, '(?i)([ap])\.m\.?', '\1m')"
    ordered = sorted(formats, key=_rank)
    plain = [each for each in ordered if "%" in each and each != YEAR and not _zoned(each)]
    parts = [f"try_strptime({text}, {_listed(plain)})"] if plain else []
    zoned = [each for each in ordered if _zoned(each)]
    # Read apart: among formats with a zone, a time without one would be taken for the session's.
    parts += [f"timezone('UTC', try_strptime({text}, {_listed(zoned)}))"] if zoned else []
    parts += [_part(text, each) for each in ordered if "%" not in each or each == YEAR]
    timed = any("%H" in each or "%I" in each or each in (EPOCH_SECONDS, EPOCH_MILLISECONDS) for each in formats)
    joined = parts[0] if len(parts) == 1 else f"coalesce({', '.join(parts)})"
    return (joined, "TIMESTAMP") if timed else (f"CAST({joined} AS DATE)", "DATE")


def _zoned(format_: str) -> bool:
    return "%z" in format_ or "%Z" in format_


def _listed(formats: list[str]) -> str:
    """One format, or the list of them: `try_strptime` takes the first that reads the text."""
    return literal(formats[0]) if len(formats) == 1 else "[" + ", ".join(literal(each) for each in formats) + "]"


def _part(text: str, format_: str) -> str:
    """A reading that no format can express, a TIMESTAMP or NULL; it raises on no text."""
    if format_ == EPOCH_SECONDS:
        return rf"epoch_ms(1000 * try_cast(regexp_extract({text}, '^\d{{10}}$') AS BIGINT))"
    if format_ == EPOCH_MILLISECONDS:
        return rf"epoch_ms(try_cast(regexp_extract({text}, '^\d{{13}}$') AS BIGINT))"
    if format_ == QUARTER:
        year = rf"regexp_extract({text}, '^(?i)(?:Q[1-4][ -]?)?(\d{{4}})(?:[ -]?Q[1-4])?$', 1)"
        quarter = rf"regexp_extract({text}, '(?i)Q([1-4])', 1)"
        return f"try_strptime({year} || '-' || (3 * try_cast({quarter} AS INTEGER) - 2), '%Y-%m')"
    if format_ == WEEK:
        week = rf"regexp_replace({text}, '^(\d{{4}})-?W(\d{{2}})-?([1-7]?)$', '\1-W\2-\3')"
        return f"try_strptime(CASE WHEN {week} LIKE '%-' THEN {week} || '1' ELSE {week} END, '%G-W%V-%u')"
    return rf"try_strptime(regexp_extract({text}, '^\d{{4}}$'), '%Y')"


def _examples(texts: list[tuple[str, int]], reading: Reading) -> tuple[str, ...]:
    """One text of each of the commonest formats."""
    seen: dict[str, str] = {}
    for text, _ in texts:
        if text in reading.texts:
            for each in read_formats([(text, 1)]).formats:
                seen.setdefault(each.format, text)
        if len(seen) >= 6:
            break
    return tuple(seen.values())


def _detail(reading: Reading, total: int, read: int) -> str:
    parts = [
        f"{_NAMES.get(each.format, each.format)} {each.rows / total:.1%}" for each in reading.formats[:MOST_FORMATS]
    ]
    count = len(parts)
    detail = (
        f"Dates are written in {count} ways: {'; '.join(parts)}"
        if count > 1
        else f"Dates are kept as text, written {parts[0]}"
    )
    if read < total:
        detail += f"; {1 - read / total:.1%} are no dates and become NULL"
    if reading.contested:
        detail += (
            f"; day first and month first both occur, so {reading.contested / total:.1%} could be either"
            " and are read in the commoner order"
        )
    if reading.undecided:
        detail += f"; for {reading.undecided / total:.1%} nothing tells whether the day or the month comes first"
    if reading.two_digit_years:
        detail += "; two-digit years up to 68 are read as 20xx"
    if any("%z" in each.format or "%Z" in each.format for each in reading.formats):
        detail += "; times with a zone are given in UTC"
    return detail + "."


def number_dates(connection: duckdb.DuckDBPyConnection, observed: Observed) -> Diagnostic | None:
    """Dates kept in a whole-number column: 20240131, or seconds or milliseconds since 1970."""
    values = [
        (value, count) for value, count in observed.values if isinstance(value, int) and not isinstance(value, bool)
    ]
    total = sum(count for _, count in values)
    if len(values) < 5 or any(value <= 19_000_101 for value, _ in values[:20]):
        return None
    numbers = sorted(value for value, _ in values)
    name = identifier(observed.name)
    days = [
        value
        for value in numbers
        if 19_000_101 <= value <= 21_001_231 and 1 <= value // 100 % 100 <= 12 and 1 <= value % 100 <= 31
    ]
    if len(days) == len(numbers):
        format_, type_name = "%Y%m%d", "DATE"
        expression = f"CAST(try_strptime(CAST({name} AS VARCHAR), '%Y%m%d') AS DATE)"
    else:
        # Numbers that count up without gaps are identifiers, whatever their size.
        dense = numbers[-1] - numbers[0] < 3 * len(numbers)
        for scale, format_ in ((1, EPOCH_SECONDS), (1000, EPOCH_MILLISECONDS)):  # noqa: B007 - used after the loop
            if numbers[0] >= EARLIEST_EPOCH * scale and numbers[-1] < LATEST_EPOCH * scale and not dense:
                break
        else:
            return None
        if format_ == EPOCH_SECONDS and not _looks_like_clock(numbers):
            return None
        type_name = "TIMESTAMP"
        bounds = f"{name} BETWEEN {EARLIEST_EPOCH * scale} AND {LATEST_EPOCH * scale}"
        expression = f"CASE WHEN {bounds} THEN epoch_ms({1000 // scale} * CAST({name} AS BIGINT)) END"
    parsed = tried(connection, observed.name, numbers, expression)
    if sum(value is not None for value in parsed) < 0.98 * len(numbers):
        return None
    return Diagnostic(
        kind="date_as_text",
        share=observed.share(total),
        detail=f"Numbers that read as dates: {format_}.",
        expression=expression,
        type=type_name,
        examples=tuple(str(value) for value, _ in values[:3]),
    )


def _looks_like_clock(numbers: list[int]) -> bool:
    """Seconds of events are often whole minutes, or lie within some decades; random identifiers fill the range."""
    round_ones = sum(value % 60 == 0 for value in numbers)
    return round_ones > 0.5 * len(numbers) or numbers[-1] - numbers[0] < 0.6 * (LATEST_EPOCH - EARLIEST_EPOCH)
