"""PIVOT without values: finds such a PIVOT in a text and completes it with the values that the data holds.

`PIVOT orders ON status USING sum(amount)` makes a column for every status. DuckDB runs that as two statements (it
collects the statuses first), so it has no tree that the guard could check. Here the two steps are taken apart:

    found = pivots_without_values(text)        # empty when there is none
    values = [the answers to each of found.questions]
    text = with_values(text, values)           # ... ON (status) IN ('open', 'paid') ...

until nothing is found: a PIVOT that reads another one becomes a question only when that one is complete. Questions and
completed texts are statements like any other and go through the guard in full; nothing here decides what may run.
Reads the text by its words and parentheses only; knows nothing of tables, columns or types.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from coset.errors import UserError
from coset.sql_text import literal

MAXIMUM_VALUES = 1_000

_WORD = re.compile(r"[^\W\d][\w$]*")
_NUMBER = re.compile(r"\d[\w.]*")
_BLANK = re.compile(r"(?:\s|--[^\n\r]*)+")
_QUOTED = {"'": re.compile(r"'(?:[^']|'')*'"), '"': re.compile(r'"(?:[^"]|"")*"')}
_ESCAPED = re.compile(r"[eE]'(?:[^'\\]|\\.|'')*'", re.DOTALL)
_DOLLAR = re.compile(r"\$(?:[^\W\d]\w*)?\$")
_COMMENT_EDGE = re.compile(r"/\*|\*/")

_ENDS_ON = {"USING", "GROUP", "ORDER", "LIMIT", "OFFSET", "UNION", "EXCEPT", "INTERSECT"}
_BEFORE_STATEMENT = {"DESCRIBE", "SUMMARIZE", "UNION", "ALL", "EXCEPT", "INTERSECT", "NAME", "DISTINCT"}
_BEGINS_QUERY = {"SELECT", "FROM", "VALUES", "TABLE", "PIVOT", "PIVOT_WIDER", "UNPIVOT", "DESCRIBE", "SUMMARIZE"}
_JOINS_WITHOUT_CONDITION = {"CROSS", "NATURAL", "POSITIONAL"}


@dataclass(frozen=True)
class PivotColumn:
    """One expression after ON that has no values: where it stands in the text, and the query that finds its values."""

    start: int
    end: int
    expression: str
    question: str


@dataclass(frozen=True)
class OpenPivots:
    """What can be asked now, in the order of the text. Empty (and false) when no PIVOT is without values."""

    columns: tuple[PivotColumn, ...]

    def __bool__(self) -> bool:
        return bool(self.columns)

    @property
    def questions(self) -> tuple[str, ...]:
        """A SELECT for each column: its values as text, sorted as DuckDB sorts them, one more than are allowed."""
        return tuple(column.question for column in self.columns)


def pivots_without_values(text: str) -> OpenPivots:
    """The columns of every PIVOT that lack values and read nothing that lacks values itself."""
    pivots = list(_find(text))
    ready: list[PivotColumn] = []
    for pivot in pivots:
        waits = any(
            start <= other.position < end for other in pivots if other is not pivot for start, end in pivot.reads
        )
        if not waits:
            ready.extend(_column(text, pivot, start, end) for start, end in pivot.open_columns)
    return OpenPivots(tuple(ready))


def with_values(text: str, values: Sequence[Sequence[str]]) -> str:
    """The text with the values of each of `pivots_without_values(text)` written out, given in that order."""
    columns = pivots_without_values(text).columns
    for column, found in reversed(list(zip(columns, values, strict=True))):
        if len(found) > MAXIMUM_VALUES:
            raise UserError(
                f"PIVOT on '{column.expression}' finds more than {MAXIMUM_VALUES:,} values, one column each; "
                f"write the ones you need: ON {column.expression} IN ('a', 'b')"
            )
        if not found:
            # DuckDB has no tree for an empty list, and a table without its columns would only puzzle.
            raise UserError(
                f"PIVOT on '{column.expression}' finds no values (no rows, or NULL in all), so it has no column "
                "to make; look at the rows first"
            )
        if any("\0" in value for value in found):
            raise UserError(
                f"PIVOT on '{column.expression}' finds a value that cannot name a column; write IN ('a', 'b')"
            )
        values = ", ".join(map(literal, found))
        text = f"{text[: column.start]}({column.expression}) IN ({values}){text[column.end :]}"
    return text


def _column(text: str, pivot: _Pivot, start: int, end: int) -> PivotColumn:
    expression = text[start:end]
    source_start, source_end = pivot.source
    # The line break ends a comment at the end of the source.
    query = (
        f"SELECT DISTINCT CAST(({expression}) AS VARCHAR) AS value FROM {text[source_start:source_end]}\n"
        f"WHERE ({expression}) IS NOT NULL"
    )
    for with_clause in pivot.with_clauses:  # From the innermost outwards, so that inner names hide outer ones.
        query = f"{with_clause} SELECT value FROM ({query})"
    return PivotColumn(start, end, expression, f"SELECT value FROM ({query}) ORDER BY value LIMIT {MAXIMUM_VALUES + 1}")


# --------------------------------------------------------------------------------------------------------------------
# Finding them: words, levels of parentheses, and the clauses of PIVOT and WITH
# --------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Token:
    text: str
    start: int
    end: int
    word: str = ""
    """The word in upper case when it is one and not quoted."""


@dataclass
class _Level:
    """What stands between two parentheses (or the whole text): its tokens, with inner parentheses as one token."""

    tokens: list[_Token] = field(default_factory=list)
    inner: dict[int, _Level] = field(default_factory=dict)
    """Inner levels by the number of the token that stands for them."""


@dataclass
class _Pivot:
    position: int
    source: tuple[int, int]
    open_columns: list[tuple[int, int]]
    with_clauses: list[str]
    reads: list[tuple[int, int]]
    """Where in the text its source and its WITH clauses stand."""


def _tokens(text: str) -> Iterator[_Token]:
    place = 0
    while place < len(text):
        if blank := _BLANK.match(text, place):
            place = blank.end()
            continue
        if text.startswith("/*", place):
            place = _after_comment(text, place)
            continue
        end = _end_of_quoted(text, place)
        if end is not None:
            yield _Token(text[place:end], place, end)
        elif word := _WORD.match(text, place):
            end = word.end()
            yield _Token(word[0], place, end, word[0].upper())
        else:
            number = _NUMBER.match(text, place)
            end = number.end() if number else place + 1
            yield _Token(text[place:end], place, end)
        place = end


def _end_of_quoted(text: str, place: int) -> int | None:
    if escaped := _ESCAPED.match(text, place):
        return escaped.end()
    if text[place] in _QUOTED:
        quoted = _QUOTED[text[place]].match(text, place)
        return quoted.end() if quoted else len(text)
    if text[place] == "$" and (opening := _DOLLAR.match(text, place)):
        closing = text.find(opening[0], opening.end())
        return closing + len(opening[0]) if closing >= 0 else len(text)
    return None


def _after_comment(text: str, place: int) -> int:
    """Comments may lie in each other, as in PostgreSQL."""
    depth = 0
    for edge in _COMMENT_EDGE.finditer(text, place):
        depth += 1 if edge[0] == "/*" else -1
        if depth == 0:
            return edge.end()
    return len(text)


def _levels(text: str) -> _Level:
    whole = _Level()
    stack: list[tuple[_Level, int]] = [(whole, 0)]
    for token in _tokens(text):
        level, start = stack[-1]
        if token.text in ("(", "[", "{"):
            stack.append((_Level(), token.start))
        elif token.text in (")", "]", "}") and len(stack) > 1:
            stack.pop()
            outer = stack[-1][0]
            outer.inner[len(outer.tokens)] = level
            outer.tokens.append(_Token(text[start] + "...", start, token.end))
        else:
            level.tokens.append(token)
    return whole


def _find(text: str) -> Iterator[_Pivot]:
    """Every statement-like PIVOT with a column that lacks values, with the WITH clauses it can see."""
    pending: list[tuple[_Level, list[tuple[int, int]]]] = [(_levels(text), [])]
    found: list[_Pivot] = []
    while pending:
        level, outer_clauses = pending.pop()
        ctes, main = _with_list(level)
        clause = [(level.tokens[0].start, level.tokens[ctes[-1]].end)] if ctes else []
        for number, inner in level.inner.items():
            if number < main and ctes:
                # A common table expression sees those before it.
                before = [cte for cte in ctes if cte < number]
                seen = [(level.tokens[0].start, level.tokens[before[-1]].end)] if before else []
            else:
                seen = clause
            pending.append((inner, seen + outer_clauses))
        for number in range(main, len(level.tokens)):
            if level.tokens[number].word in ("PIVOT", "PIVOT_WIDER") and _begins_statement(level, number, main):
                pivot = _read_pivot(text, level, number, clause + outer_clauses)
                if pivot is not None:
                    found.append(pivot)
    yield from sorted(found, key=lambda pivot: pivot.position)


def _with_list(level: _Level) -> tuple[list[int], int]:
    """The tokens that are bodies of common table expressions at the start of a level, and where its query begins."""
    tokens = level.tokens
    if not tokens or tokens[0].word != "WITH":
        return [], 0
    bodies = []
    for number, token in enumerate(tokens):
        if number in level.inner and tokens[number - 1].word in ("AS", "MATERIALIZED"):
            bodies.append(number)
        elif bodies and bodies[-1] == number - 1 and token.word in _BEGINS_QUERY:
            return bodies, number
    return [], len(tokens)


def _begins_statement(level: _Level, number: int, main: int) -> bool:
    """Told apart from `FROM t PIVOT (... FOR a IN (...))`, which always has values."""
    return number == main or level.tokens[number - 1].word in _BEFORE_STATEMENT


def _read_pivot(text: str, level: _Level, number: int, clauses: list[tuple[int, int]]) -> _Pivot | None:
    tokens = level.tokens
    on = _number_of_on(tokens, number)
    if on is None or on == number + 1:
        return None
    end = next(
        (n for n in range(on + 1, len(tokens)) if tokens[n].word in _ENDS_ON or tokens[n].text == ";"), len(tokens)
    )
    commas = [n for n in range(on + 1, end) if tokens[n].text == ","]
    items = [tokens[first:last] for first, last in zip([on + 1, *(n + 1 for n in commas)], [*commas, end], strict=True)]
    lacking = [(item[0].start, item[-1].end) for item in items if item and not _has_values(item)]
    if not lacking:
        return None
    source = (tokens[number + 1].start, tokens[on - 1].end)
    with_clauses = [text[start:end] for start, end in clauses]
    return _Pivot(tokens[number].start, source, lacking, with_clauses, [source, *clauses])


def _number_of_on(tokens: list[_Token], pivot: int) -> int | None:
    """The ON of the PIVOT itself: joins in its source have ON and USING of their own."""
    conditions_to_come = 0
    for number in range(pivot + 1, len(tokens)):
        word = tokens[number].word
        if word == "JOIN" and not _JOINS_WITHOUT_CONDITION & {t.word for t in tokens[max(0, number - 2) : number]}:
            conditions_to_come += 1
        elif word in ("ON", "USING"):
            if conditions_to_come == 0:
                return number if word == "ON" else None
            conditions_to_come -= 1
    return None


def _has_values(item: list[_Token]) -> bool:
    """Whether it reads `name IN (...)`: DuckDB takes IN for the values only after a name, a call or parentheses."""
    for number, token in enumerate(item):
        if token.word == "IN":
            return number > 0 and item[number - 1].word != "NOT"
        if not (token.word or token.text == "." or token.text[0] in '"(['):
            return False
    return False
