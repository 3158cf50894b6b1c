"""How a CSV or TSV file is written: separator, quoting, header, found from its beginning.

In: the first part of a file as text. Out: its `Dialect` and the rows in that part.
The separator is the comma, tab, semicolon or bar that cuts all rows into the same number of values. The first row is
the header unless a value in it looks like data (a number, a date); a row of years or days in order is still a header.
Nothing is skipped: a title above the header makes the file uneven, and it will be refused.
"""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass
from itertools import pairwise

from coset.environment.source import EMPTY
from coset.environment.sources.files.relation import Unreadable
from coset.environment.sources.files.text import Head
from coset.environment.sources.files.values import looks_like_data, looks_like_date

_SAMPLE_ROWS = 60
DEFAULT_LINE_BYTES = 2_000_000
"""DuckDB's own longest line; a longer one costs larger buffers for every file."""


@dataclass(frozen=True)
class Dialect:
    """How a file is written. Equal for files that can be read in one go."""

    delimiter: str
    header: bool
    names: tuple[str, ...]
    """As in the header, or `column_1` and so on where there is none."""
    quote: str = '"'
    escape: str = '"'
    line_bytes: int = DEFAULT_LINE_BYTES


def sniff(head: Head, prefers_tab: bool) -> tuple[Dialect, list[list[str]]]:
    """The dialect that a file's beginning shows, and the rows there."""
    if not head.text.strip("\r\n\x00 \t"):
        raise Unreadable(EMPTY)
    candidates = ["\t", ",", ";", "|"] if prefers_tab else [",", "\t", ";", "|"]
    escape = "\\" if '\\"' in head.text and '""' not in head.text.replace('\\""', "") else '"'
    best: tuple[tuple[bool, float, int], str, list[list[str]]] | None = None
    for delimiter in candidates:
        rows = _rows(head, delimiter, escape)
        width = len(rows[0]) if rows else 0
        if width < 1:
            continue
        even = sum(len(row) == width for row in rows) / len(rows)
        score = (width > 1 and even == 1, even if width > 1 else 0.0, width)
        if best is None or score > best[0]:
            best = (score, delimiter, rows)
    if best is None:
        raise Unreadable("has no row that can be told apart")
    _, delimiter, rows = best
    header = _is_header(rows[0])
    names = tuple(rows[0]) if header else tuple(f"column_{index + 1}" for index in range(len(rows[0])))
    return Dialect(delimiter, header, names, escape=escape), rows[header:]


def _rows(head: Head, delimiter: str, escape: str) -> list[list[str]]:
    text = io.StringIO(head.text.removeprefix("\ufeff"), newline="")
    reader = csv.reader(
        text, delimiter=delimiter, doublequote=escape == '"', escapechar=None if escape == '"' else escape
    )
    rows: list[list[str]] = []
    complete = head.is_all
    try:
        for row in reader:
            if row:
                rows.append(row)
            if len(rows) > _SAMPLE_ROWS:
                complete = True
                break
    except csv.Error:
        complete = True  # a value too long for the csv module; the rows before it will do
    # The last row may be cut off in the middle.
    return rows if complete or len(rows) < 2 else rows[:-1]


def _is_header(row: list[str]) -> bool:
    cells = [cell.strip() for cell in row]
    if not any(cells):
        return False
    data = [cell for cell in cells if looks_like_data(cell)]
    if not data:
        return True
    if not cells[0] and cells[1:] == [str(index) for index in range(len(cells) - 1)]:
        return True  # pandas numbers columns that have no names
    if len(data) < 3 or cells[0] in data:
        return False
    if all(re.fullmatch("[12][0-9]{3}", cell) for cell in data):  # one column per year
        steps = {int(after) - int(before) for before, after in pairwise(data)}
        return len(steps) == 1 and 0 not in steps
    return all(looks_like_date(cell) for cell in data) and data in (sorted(set(data)), sorted(set(data))[::-1])
