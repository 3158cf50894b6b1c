"""Text that holds dates: in which one format, so that dates written differently can join.

In: sampled values. Out: a format of DuckDB's strptime, `ISO` for what a cast reads, or None. A column with several
formats has none here; that is for the diagnostics.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence

ISO = "ISO"
_MONTH = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_FORMATS = (
    (ISO, r"\d{4}-\d{2}-\d{2}(?:[ T]00:00(?::00(?:\.0+)?)?)?", ""),
    ("%Y/%m/%d", r"\d{4}/\d{1,2}/\d{1,2}", "%Y/%m/%d"),
    ("%Y%m%d", r"(?:19|20)\d{6}", "%Y%m%d"),
    ("%d.%m.%Y", r"\d{1,2}\.\d{1,2}\.\d{4}", "%d.%m.%Y"),
    ("%d/%m/%Y", r"\d{1,2}/\d{1,2}/\d{4}", "%d/%m/%Y"),
    ("%m/%d/%Y", r"\d{1,2}/\d{1,2}/\d{4}", "%m/%d/%Y"),
    ("%d-%m-%Y", r"\d{1,2}-\d{1,2}-\d{4}", "%d-%m-%Y"),
    ("%b %d, %Y", _MONTH + r" \d{1,2}, \d{4}", "%b %d, %Y"),
    ("%d %b %Y", r"\d{1,2} " + _MONTH + r" \d{4}", "%d %b %Y"),
    ("%d-%b-%Y", r"\d{1,2}-" + _MONTH + r"-\d{4}", "%d-%b-%Y"),
    ("%B %d, %Y", r"[A-Z][a-z]+ \d{1,2}, \d{4}", "%B %d, %Y"),
    ("%d %B %Y", r"\d{1,2} [A-Z][a-z]+ \d{4}", "%d %B %Y"),
)
_EDGES = re.compile(r"^[\W_]+|[\W_]+$")
_MOMENT = re.compile(r"\W*\d{4}-\d{2}-\d{2}[T ]\d{1,2}:\d{2}|\W*\d{1,2}:\d{2}(:\d{2})?\W*$")
_SHARE = 0.9


def date_format(sample: Sequence[str]) -> str | None:
    """The first format that reads nine in ten of the values."""
    if len(sample) < 2:
        return None
    values = [_EDGES.sub("", value) for value in sample]
    for name, pattern, written in _FORMATS:
        if sum(re.fullmatch(pattern, value) is not None for value in values[:10]) < len(values[:10]) / 2:
            continue
        fitting = [value for value in values if re.fullmatch(pattern, value)]
        if len(fitting) < _SHARE * len(values):
            continue
        if not written or sum(_reads(value, written) for value in fitting) >= _SHARE * len(values):
            return name
    return None


def looks_like_date(sample: Sequence[str]) -> bool:
    return date_format(sample) is not None


def looks_like_time(sample: Sequence[str]) -> bool:
    """Whether the values are moments, with a time of day: no key is."""
    return len(sample) > 1 and sum(_MOMENT.match(value) is not None for value in sample) >= _SHARE * len(sample)


def date_sql(text: str, format: str) -> str:
    """The date that a text holds; NULL where it holds none."""
    return date_of_stripped(rf"regexp_replace({text}, '^[^\p{{L}}\p{{N}}]+|[^\p{{L}}\p{{N}}]+$', '', 'g')", format)


def date_of_stripped(stripped: str, format: str) -> str:
    """The same of a text without stray characters at its ends."""
    if format == ISO:
        return f"TRY_CAST(left({stripped}, 10) AS DATE)"
    return f"CAST(try_strptime({stripped}, '{format}') AS DATE)"


def _reads(value: str, format: str) -> bool:
    try:
        datetime.datetime.strptime(value, format)
    except ValueError:
        return False
    return True
