"""What of a result is the answer: rows that tie beyond the places asked for, and rows that only led to it.

In: a statement and its rows, or rows and the text of an answer. Out: a sentence about ties; the rows that the text
speaks of, and whether it says them all. Runs nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from coset.answering.plain_value import plain_value


def ties_told(sql: str, rows: int) -> str | None:
    """That more rows came than there are places, because some tie; None where a statement keeps no ties."""
    try:
        tree = sqlglot.parse_one(sql, dialect="duckdb")
    except (SqlglotError, RecursionError):
        return None
    for qualify in tree.find_all(exp.Qualify):
        compared = qualify.this
        if not isinstance(compared, exp.LTE | exp.EQ) or not isinstance(compared.expression, exp.Literal):
            continue
        ranked = any(isinstance(each, exp.Rank | exp.DenseRank) for each in compared.this.find_all(exp.Expression))
        places = int(compared.expression.this) if str(compared.expression.this).isdecimal() else 0
        if ranked and 0 < places < rows:
            first = "the first place" if places == 1 else f"the first {places} places"
            return f"{rows:,} rows share {first}: those that tie are all kept"
    return None


def rows_of_answer(text: str, rows: Sequence[tuple[Any, ...]]) -> tuple[tuple[Any, ...], ...]:
    """The rows whose every value stands in the text; all of them where there is no text, or no such row."""
    if not text.strip() or len(rows) < 2:
        return tuple(rows)
    told = [
        row
        for row in rows
        if any(value is not None for value in row) and all(value is None or plain_value(value) in text for value in row)
    ]
    return tuple(told) if told else tuple(rows)


def says_all(text: str, rows: Sequence[tuple[Any, ...]]) -> bool:
    """Whether a text has every value of the rows, each as a word or number of its own: then they are what it says."""
    values = {plain_value(value) for row in rows for value in row if value is not None} - {""}
    return bool(values) and all(
        re.search(rf"(?<!\w)(?<!\d[.,]){re.escape(value)}(?!\w|[.,]\d)", text) is not None for value in values
    )
