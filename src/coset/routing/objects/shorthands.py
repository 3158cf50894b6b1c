"""Long expressions that an environment needs again and again, each said once and then called by a short name.

In: expressions over one quoted column, as joins and cleaning have them. Out: for a text of SQL the same with short
names (`f1(core.Account.Id)`), and the line that says what a name stands for. DuckDB knows no such function: a reader
writes it out. The same state gives the same names, so that prompt caches hit. What is long but rare stays as it is.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from coset.routing.objects.data_as_text import runnable
from coset.routing.views.budgets import cost
from coset.sql_text import identifier

LONG, OFTEN, MOST = 9, 3, 9
"""An expression gets a name from so many tokens around its column and so many uses on; so many names at most."""
_COLUMN = r'((?:"(?:[^"]|"")*"|\w)+(?:\.(?:"(?:[^"]|"")*"|\w)+)*)'


@dataclass(frozen=True)
class Shorthand:
    """`name(x)` stands for what is before x, x, and what is after it."""

    name: str
    before: str
    after: str

    @property
    def line(self) -> str:
        return f"SHORT {self.name}(x), to be written out: {self.before}x{self.after}"


class Shorthands:
    """The short names of one environment."""

    def __init__(self, uses: Iterable[tuple[str, str]] = ()) -> None:
        """`uses` are expressions, each with the name of its column."""
        counts = Counter(form for expression, column in uses if (form := _form(expression, column)))
        worth = {form: cost("".join(form)) * (count - 1) for form, count in counts.items() if count >= OFTEN}
        best = sorted((form for form in worth if cost("".join(form)) >= LONG), key=lambda form: (-worth[form], form))
        self.all = tuple(Shorthand(f"f{number}", *form) for number, form in enumerate(best[:MOST], start=1))
        self.lines = {each.name: each.line for each in self.all}
        self._patterns = [
            (each.name, re.compile(re.escape(each.before) + _COLUMN + re.escape(each.after)))
            # The longer first: a short one may stand within it.
            for each in sorted(self.all, key=lambda each: (-len(each.before + each.after), each.name))
        ]
        self.short = lru_cache(maxsize=20_000)(self._short)

    def _short(self, sql: str) -> tuple[str, tuple[str, ...]]:
        """SQL on one line with short names, and the names that it has."""
        sql = runnable(sql)
        used: list[str] = []
        for name, pattern in self._patterns:
            replaced, count = pattern.subn(rf"{name}(\1)", sql)
            if count:
                sql, used = replaced, [*used, name]
        return sql, tuple(sorted(used))

    def written_out(self, sql: str) -> str:
        """SQL without short names: what a reader does."""
        for each in self.all:
            parts = re.split(rf"\b{each.name}\({_COLUMN}\)", sql)
            # Every second part is a column, in its call.
            sql = "".join(f"{each.before}{part}{each.after}" if at % 2 else part for at, part in enumerate(parts))
        return sql


def _form(expression: str, column: str) -> tuple[str, str] | None:
    """What stands before and after the column, where it stands once, as a view writes it."""
    parts = runnable(expression).split(identifier(column))
    return (parts[0], parts[1]) if len(parts) == 2 and any(parts) else None
