"""Dates kept as text or as numbers: their formats with shares, and one expression that reads them all.

In: a column as observed. Out: `date_as_text` for one format, `mixed_date_formats` for several, with an expression that
was run over the observed values and read them. How a text writes a date is told as the `strptime` formats that could
read it. Nothing here knows what the date is the date of.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import duckdb

from coset.evidence.quality.observed import Observed, tried
from coset.sql_text import identifier, literal
from coset.state.objects import Diagnostic

_MONTHS = tuple(
    "january february march april may june july august september october november december".split()  # noqa: SIM905
)
_SHORT = frozenset(name[:3] for name in _MONTHS)
_DAYS = r"(?:mon|tue|wed|thu|fri|sat|sun)"
_WEEKDAY = re.compile(rf"(?P<name>{_DAYS}[a-z]*)(?P<after>\.?,? +)(?=\S)", re.IGNORECASE)
_WEEKDAYS = {"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"}
_TIME = re.compile(
    r"(?P<before>T|t|,? +(?:at +)?|:)(?P<clock>\d{1,2}:\d{2})(?P<seconds>:\d{2})?(?P<fraction>[.,]\d{1,9})?"
    r"(?P<half> ?[AaPp]\.?[Mm]\.?)?(?P<zone>Z| ?[+-]\d{2}:?\d{2}| ?[+-]\d{2}| [A-Z]{3,4})?$"
)
_NUMERIC = re.compile(r"(\d{1,2})([-/. ])(\d{1,2})\2(\d{4}|\d{2})")
_YEAR_FIRST = re.compile(r"(\d{4})([-/. ])(\d{1,2})\2(\d{1,2})")
_DAY_NAME_YEAR = re.compile(
    r"(?P<day>\d{1,2})(?P<ordinal>st|nd|rd|th)?(?P<a>[- /.]| of |)(?P<month>[A-Za-z]{3,9})(?P<dot>\.?)"
    r"(?P<b>,? ?|[-/.])(?P<year>\d{4}|'?\d{2})"
)
_NAME_DAY_YEAR = re.compile(
    r"(?P<month>[A-Za-z]{3,9})(?P<dot>\.?)(?P<a>[- /.]|)(?P<day>\d{1,2})(?P<ordinal>st|nd|rd|th)?"
    r"(?P<b>,? ?|[-/.])(?P<year>\d{4})"
)
_YEAR_NAME_DAY = re.compile(r"(?P<year>\d{4})(?P<a>[-/ ])(?P<month>[A-Za-z]{3,9})(?P<b>[-/ ])(?P<day>\d{1,2})")
# Two digits after a blank are a day ("March 29"), so a short year needs a dash or an apostrophe.
_NAME_YEAR = re.compile(
    r"(?P<month>[A-Za-z]{3,9})(?P<dot>\.?)(?:(?P<a>,? |[-/])(?P<year>\d{4}|'\d{2})|(?P<a2>[-/])(?P<year2>\d{2}))"
)
_MAY = re.compile(r"\bmay\b", re.IGNORECASE)
_YEAR_MONTH = re.compile(r"(\d{4})([-/.])(\d{1,2})")
_MONTH_YEAR = re.compile(r"(\d{1,2})([-/.])(\d{4})")
_QUARTER = re.compile(r"\d{4}[ -]?Q[1-4]|Q[1-4][ -]?\d{4}", re.IGNORECASE)
_WEEK = re.compile(r"\d{4}-?W(?P<week>\d{2})(?P<day>-?[1-7])?")
_CTIME = re.compile(
    rf"{_DAYS} (?P<month>[A-Za-z]{{3}}) +\d{{1,2}} \d{{2}}:\d{{2}}:\d{{2}}"
    r"(?P<zone> [A-Z]{3,4}| [+-]\d{4})? \d{4}",
    re.IGNORECASE,
)

QUARTER = "quarter"
WEEK = "week"
EPOCH_SECONDS = "epoch seconds"
EPOCH_MILLISECONDS = "epoch milliseconds"
YEAR = "%Y"
EARLIEST_EPOCH, LATEST_EPOCH = 315_532_800, 2_524_608_000  # 1980 to 2050


@dataclass(frozen=True)
class Written:
    """One way of writing a date.

    `swapped` is the same with day and month exchanged, where both are numbers; these are then `first` and `second`.
    """

    format: str
    swapped: str | None = None
    first: int = 0
    second: int = 0


@dataclass(frozen=True)
class FormatShare:
    format: str
    rows: int


@dataclass(frozen=True)
class Reading:
    """The formats that together read a column, commonest first; `undecided` are rows whose order of day and month
    nothing decides, `contested` rows of a writing in which both orders are proven to occur."""

    formats: tuple[FormatShare, ...]
    rows: int
    undecided: int
    contested: int
    two_digit_years: int
    texts: frozenset[str]


def _month_format(word: str) -> str | None:
    folded = word.lower()
    if folded == "sept":
        return "%b"
    if folded in _MONTHS:
        return "%B"
    return "%b" if len(folded) == 3 and folded in _SHORT else None


def _year_format(year: str) -> str:
    return "%Y" if len(year) == 4 else ("'%y" if year.startswith("'") else "%y")


def _split_time(text: str) -> tuple[str, str]:
    """The text before the time of day, and the format of the rest."""
    match = _TIME.search(text)
    if match is None:
        return text, ""
    before, half, zone = match["before"], match["half"] or "", match["zone"] or ""
    format_ = before.replace("t", "T") if before in "Tt" else before
    format_ += "%I:%M" if half else "%H:%M"
    if match["seconds"]:
        format_ += ":%S"
    if match["fraction"]:
        format_ += match["fraction"][0] + "%f"
    if half:
        format_ += " %p" if half.startswith(" ") else "%p"
    if zone:
        sign = zone.lstrip()
        format_ += "Z" if zone == "Z" else " " * (len(zone) - len(sign)) + ("%z" if sign[0] in "+-" else "%Z")
    return text[: match.start()], format_


def written(text: str) -> Written | None:
    """How `text` (stripped) writes a date, or None when it is no date."""
    if len(text) < 4 or len(text) > 45 or not any(letter.isdigit() for letter in text):
        return None
    if text.isdigit():
        return _digits(text)
    match = _CTIME.fullmatch(text)
    if match and _month_format(match["month"]):
        zone = match["zone"]
        middle = "" if not zone else (" %z" if zone[1] in "+-" else " %Z")
        return Written(f"%a %b %d %H:%M:%S{middle} %Y")
    prefix = ""
    match = _WEEKDAY.match(text)
    if match:
        prefix = ("%A" if match["name"].lower() in _WEEKDAYS else "%a") + match["after"]
        text = text[match.end() :]
    date, time = _split_time(text)
    found = _date(date, bool(time))
    if found is None:
        return None
    swapped = None if found.swapped is None else prefix + found.swapped + time
    return Written(prefix + found.format + time, swapped, found.first, found.second)


def _digits(text: str) -> Written | None:
    if len(text) in (8, 12, 14):
        year, month, day = int(text[:4]), int(text[4:6]), int(text[6:8])
        if 1850 <= year <= 2150 and 1 <= month <= 12 and 1 <= day <= 31:
            rest = {8: "", 12: "%H%M", 14: "%H%M%S"}[len(text)]
            if not rest or (int(text[8:10]) < 24 and int(text[10:12]) < 60):
                return Written("%Y%m%d" + rest)
        return None
    if len(text) == 10 and EARLIEST_EPOCH <= int(text) < LATEST_EPOCH:
        return Written(EPOCH_SECONDS)
    if len(text) == 13 and EARLIEST_EPOCH <= int(text) // 1000 < LATEST_EPOCH:
        return Written(EPOCH_MILLISECONDS)
    return Written(YEAR) if len(text) == 4 and 1500 <= int(text) <= 2150 else None


def _date(text: str, timed: bool) -> Written | None:
    match = _YEAR_FIRST.fullmatch(text)
    if match:
        separator, second, third = match[2], int(match[3]), int(match[4])
        ordinary, exchanged = f"%Y{separator}%m{separator}%d", f"%Y{separator}%d{separator}%m"
        if second <= 12 and 1 <= third <= 31 and second:
            return Written(ordinary)
        return Written(exchanged) if 1 <= third <= 12 and second <= 31 else None
    match = _NUMERIC.fullmatch(text)
    if match:
        return _numeric(match[1], match[2], match[3], match[4])
    for pattern in (_DAY_NAME_YEAR, _NAME_DAY_YEAR, _YEAR_NAME_DAY):
        match = pattern.fullmatch(text)
        if match and 1 <= int(match["day"]) <= 31:
            return _named(match, pattern)
    if timed:
        return None
    match = _NAME_YEAR.fullmatch(text)
    if match:
        month = _month_format(match["month"])
        return (
            None
            if month is None
            else Written(
                f"{month}{match['dot']}{match['a'] or match['a2']}{_year_format(match['year'] or match['year2'])}"
            )
        )
    match = _YEAR_MONTH.fullmatch(text)
    if match and 1 <= int(match[3]) <= 12 and 1500 <= int(match[1]) <= 2150 and match[2] != ".":
        return Written(f"%Y{match[2]}%m")
    match = _MONTH_YEAR.fullmatch(text)
    if match and 1 <= int(match[1]) <= 12 and 1500 <= int(match[3]) <= 2150 and match[2] != ".":
        return Written(f"%m{match[2]}%Y")
    if _QUARTER.fullmatch(text):
        return Written(QUARTER)
    match = _WEEK.fullmatch(text)
    return Written(WEEK) if match and 1 <= int(match["week"]) <= 53 else None


def _numeric(one: str, separator: str, two: str, year: str) -> Written | None:
    first, second = int(one), int(two)
    if len(year) == 2 and separator in ". " and not (len(one) == len(two) == 2):
        return None  # 1.2.10 is a version
    code = _year_format(year)
    day_first, month_first = f"%d{separator}%m{separator}{code}", f"%m{separator}%d{separator}{code}"
    if not (1 <= first <= 31 and 1 <= second <= 31) or (first > 12 and second > 12):
        if len(year) == 2 and 1 <= second <= 12 and 1 <= int(year) <= 31:
            return Written(f"%y{separator}%m{separator}%d")
        return None
    if first > 12:
        return Written(day_first, month_first, first, second)
    return Written(month_first, day_first, first, second)


def _named(match: re.Match[str], pattern: re.Pattern[str]) -> Written | None:
    month = _month_format(match["month"])
    if month is None:
        return None
    year = _year_format(match["year"])
    if pattern is _YEAR_NAME_DAY:
        return Written(f"%Y{match['a']}{month}{match['b']}%d")
    # Ordinals and the `t` of Sept are taken out by the expression before it parses, see `dates.py`.
    if pattern is _DAY_NAME_YEAR:
        return Written(f"%d{match['a']}{month}{match['dot']}{match['b']}{year}")
    return Written(f"{month}{match['dot']}{match['a']}%d{match['b']}{year}")


@lru_cache(maxsize=20_000)
def _written_once(text: str) -> Written | None:
    return written(text)


def read_formats(texts: Iterable[tuple[str, int]]) -> Reading:
    """The formats of a column's texts (stripped, with counts), the order of day and month settled for each writing."""
    plain: Counter[str] = Counter()
    ordered: defaultdict[frozenset[str], list[tuple[Written, int]]] = defaultdict(list)
    may: Counter[str] = Counter()
    read: set[str] = set()
    for text, count in texts:
        found = _written_once(text)
        if found is None:
            continue
        read.add(text)
        if "%B" in found.format and _MAY.search(text):
            may[found.format] += count
        elif found.swapped is None:
            plain[found.format] += count
        else:
            ordered[frozenset((found.format, found.swapped))].append((found, count))
    for format_, rows in may.items():
        # May is its own abbreviation: it goes with whatever the other months are.
        short = format_.replace("%B", "%b")
        plain[short if plain[short] > plain[format_] else format_] += rows
    orders = {pair: _DayAndMonth.of(pair, cases) for pair, cases in ordered.items()}
    day_first, month_first = (
        sum(each.day_first for each in orders.values()),
        sum(each.month_first for each in orders.values()),
    )
    for order in orders.values():
        for name, rows in order.settled(day_first, month_first):
            plain[name] += rows
    formats = tuple(FormatShare(name, rows) for name, rows in plain.most_common() if rows)
    return Reading(
        formats,
        sum(each.rows for each in formats),
        sum(each.open for each in orders.values() if not (each.day_first or each.month_first)),
        sum(each.open for each in orders.values() if each.day_first and each.month_first),
        sum(each.rows for each in formats if "%y" in each.format),
        frozenset(read),
    )


@dataclass(frozen=True)
class _DayAndMonth:
    """Rows of one writing in which day and month may change places: those that show which comes first, those that leave
    it open, and those in which both are the same number."""

    day_first_format: str
    month_first_format: str
    day_first: int
    month_first: int
    open: int
    same: int

    @classmethod
    def of(cls, pair: frozenset[str], cases: Sequence[tuple[Written, int]]) -> _DayAndMonth:
        day_first_format = next(name for name in sorted(pair) if name.index("%d") < name.index("%m"))
        month_first_format = next(name for name in pair if name != day_first_format)
        rows: Counter[str] = Counter()
        for case, count in cases:
            rows["day first"] += count if case.first > 12 else 0
            rows["month first"] += count if case.second > 12 else 0
            if case.first == case.second:
                rows["same"] += count
            elif max(case.first, case.second) <= 12:
                rows["open"] += count
        return cls(
            day_first_format, month_first_format, rows["day first"], rows["month first"], rows["open"], rows["same"]
        )

    def settled(self, all_day_first: int, all_month_first: int) -> Iterator[tuple[str, int]]:
        """The rows of each format. Another writing in the same column is the next best witness; else the world's
        commoner order."""
        if self.day_first != self.month_first:
            leads = self.day_first > self.month_first
        elif all_day_first or all_month_first:
            leads = all_day_first >= all_month_first
        else:
            leads = "/" not in self.day_first_format
        either = self.open + self.same
        yield self.day_first_format, self.day_first + (either if leads else 0)
        yield self.month_first_format, self.month_first + (0 if leads else either)


LEAST_SHARE = 0.5
MOST_FORMATS = 20
_LETTERED = re.compile(r"[^\W\d_]")
_ORDINAL, _SEPT, _HALF_DAY = (
    re.compile(pattern, re.IGNORECASE) for pattern in (r"\d(?:st|nd|rd|th)\b", r"\bsept\b", r"[ap]\.m\.?")
)
SHOWN_OF = 300
"""So many texts are looked through for one of each format."""
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
    lettered = [each for each, _ in texts if _LETTERED.search(each)]
    if any(_ORDINAL.search(each) for each in lettered):
        text = rf"regexp_replace({text}, '(?i)(\d)(?:st|nd|rd|th)\b', '\1')"
    if any(_SEPT.search(each) for each in lettered):
        text = rf"regexp_replace({text}, '(?i)\bsept\b', 'Sep')"
    if any(_HALF_DAY.search(each) for each in lettered):
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
    for text, _ in texts[:SHOWN_OF]:
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
