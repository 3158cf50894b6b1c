"""Has the result the shape that was pinned: its form, one row per what was asked, told when empty, and not cut short?

In: an examined proposal. Out: one result for each of the four checks. A tie at the last place of a LIMIT is counted.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from sqlglot import exp

from coset.answering.checks.examined import SECONDS, CheckResult, Examined, PinnedShape, kind_of_failure
from coset.answering.checks.statement import DIALECT, Block, Node, origins_in
from coset.errors import CosetError

SHAPE = "shape"
LONGEST_VALUE = 300
"""A longer text is no single value any more."""


def check_shape(examined: Examined) -> CheckResult:
    shape, rows, value = examined.proposal.shape, examined.rows, examined.proposal.value
    if shape is None:
        return CheckResult(SHAPE, "not applicable", "no shape was pinned")
    if examined.result is None or not rows:
        return CheckResult(SHAPE, "not applicable", "there are no rows to compare with the pinned shape")
    width = len(examined.result.columns)
    if shape.form in {"value", "row"} and len(rows) > 1:
        # One that gives a value of the first row has chosen: the rows below it are more than was asked, and not wrong.
        chosen = isinstance(value, str) and value.strip() in {str(cell) for cell in rows[0]}
        detail = f"one {shape.form} was pinned, but the statement gives {len(rows):,} rows"
        return CheckResult(SHAPE, "doubt" if chosen else "failed", detail)
    if shape.form in {"value", "list"} and width > 1 and len(shape.columns) <= 1:
        return CheckResult(SHAPE, "doubt", f"a {shape.form} was pinned, but the statement gives {width} columns")
    if shape.form in {"row", "table"} and shape.columns and width != len(shape.columns):
        wanted = ", ".join(shape.columns)
        return CheckResult(
            SHAPE, "doubt", f"{len(shape.columns)} columns were pinned ({wanted}), but the statement gives {width}"
        )
    if shape.rows is not None and len(rows) != shape.rows:
        outcome = "failed" if len(rows) > shape.rows else "doubt"
        detail = f"{shape.rows:,} rows were pinned, but the statement gives {len(rows):,}"
        return CheckResult(SHAPE, outcome, detail)  # type: ignore[arg-type]
    told = _told(value, shape, len(rows))
    if told:
        return CheckResult(SHAPE, "failed", told)
    return CheckResult(SHAPE, "passed", f"{len(rows):,} x {width} fits the pinned {shape.form}")


def _told(value: Any, shape: PinnedShape, rows: int) -> str | None:
    """How the answer's own value differs from the shape; a text may list things as it likes."""
    if shape.form == "value":
        if isinstance(value, list | tuple) and len(value) > 1:
            return f"one value was pinned, but the answer has {len(value)}"
        if isinstance(value, str) and len(value) > LONGEST_VALUE:
            return f"one value was pinned, but the answer is a text of {len(value)} letters: give the value alone"
    if shape.form in {"list", "table"} and isinstance(value, list | tuple) and len(value) != rows:
        return f"the statement gives {rows:,} rows, but the answer has {len(value):,}: give all of them, each once"
    return None


GRAIN = "grain"
_WORD = re.compile(r"[^\W_]+")
_LITTLE = {"one", "row", "per", "each", "a", "an", "the", "for", "of", "and", "by", "in", "with", "every", "single"}


def check_grain(examined: Examined) -> CheckResult:
    shape, result = examined.proposal.shape, examined.result
    if shape is None or not (shape.keys or shape.grain):
        return CheckResult(GRAIN, "not applicable", "no grain was pinned")
    if result is None or not examined.rows:
        return CheckResult(GRAIN, "not applicable", "there are no rows")
    keys, missing = _key_places(examined)
    if missing:
        return CheckResult(
            GRAIN, "doubt", f"the result has no column for {', '.join(missing)}, which was to tell its rows apart"
        )
    if not keys:
        return CheckResult(
            GRAIN, "not applicable", f"no column of the result is named by the pinned grain '{shape.grain}'"
        )
    names = " and ".join(result.columns[place] for place in keys)
    counts = Counter(tuple(str(row[place]) for place in keys) for row in examined.rows)
    value, most = counts.most_common(1)[0]
    if most > 1:
        many = sum(1 for count in counts.values() if count > 1)
        detail = f"{many:,} of {len(counts):,} values of {names} have several rows, such as {', '.join(value)} ({most})"
        return CheckResult(GRAIN, "failed" if shape.keys else "doubt", detail)
    nulls = sum(1 for row in examined.rows if any(row[place] is None for place in keys))
    if nulls:
        told = "1 row has" if nulls == 1 else f"{nulls:,} rows have"
        behind = [references for place, references in enumerate(_references_behind(examined)) if place in keys]
        return CheckResult(
            GRAIN, "doubt", f"{told} no {names}, though there is to be one row for each",
            tuple(sorted({reference for references in behind for reference in references})),
        )  # fmt: skip
    return CheckResult(GRAIN, "passed", f"one row for each {names}")


def _key_places(examined: Examined) -> tuple[list[int], list[str]]:
    """The places of the key columns in the result, and keys that it does not have."""
    shape, result = examined.proposal.shape, examined.result
    assert shape is not None and result is not None  # noqa: S101
    lowered = [column.lower() for column in result.columns]
    if shape.keys:
        behind = _references_behind(examined)
        places, missing = [], []
        for key in shape.keys:
            if key.lower() in lowered:
                places.append(lowered.index(key.lower()))
            elif place := [number for number, references in enumerate(behind) if key in references]:
                places.append(place[0])
            else:
                missing.append(key)
        return places, missing
    wanted = {_stem(word) for word in _WORD.findall(shape.grain.lower())} - _LITTLE
    exact = [number for number, column in enumerate(lowered) if column in shape.grain.lower()]
    loose = [
        number
        for number, column in enumerate(lowered)
        if (words := {_stem(word) for word in _WORD.findall(column)} - {"id", "name", "key", "no"}) and words <= wanted
    ]
    return exact or loose, []


def _references_behind(examined: Examined) -> list[set[str]]:
    """For each column of the result, the stored columns it shows."""
    statement = examined.statement
    block = statement.answering_block if statement is not None else None
    if statement is None or block is None or examined.result is None:
        return []
    selects = block.select.selects
    if len(selects) != len(examined.result.columns):
        return []
    return [origins_in(statement, each, block) for each in selects]


def _stem(word: str) -> str:
    return word[:-3] + "y" if word.endswith("ies") else word[:-1] if word.endswith("s") and len(word) > 3 else word


EMPTY_RESULT = "empty result"
SAYS_NOTHING = re.compile(
    r"\b(no|none|nothing|not any|without|never|zero|empty|nobody|not found|does not exist|do not exist|"
    r"not available|unknown|null)\b|^\s*(0|n/?a|-|\[\]|\{\})?\s*$",
    re.IGNORECASE,
)


def check_empty_result(examined: Examined) -> CheckResult:
    value, error = examined.proposal.value, examined.error
    if error is not None:
        return CheckResult(EMPTY_RESULT, "failed", f"the statement behind the answer is {_error_text(error)}")
    if not examined.proposal.sql:
        outcome = "passed" if says_nothing(value) else "doubt"
        return CheckResult(EMPTY_RESULT, outcome, "no statement stands behind the answer")  # type: ignore[arg-type]
    if not examined.rows:
        if says_nothing(value):
            return CheckResult(EMPTY_RESULT, "passed", "the statement found no rows, and the answer says so")
        return CheckResult(
            EMPTY_RESULT, "failed", "the statement found no rows, but the answer gives a value: say that there are none"
        )
    if all(cell is None for row in examined.rows for cell in row):
        if says_nothing(value):
            return CheckResult(EMPTY_RESULT, "passed", "the statement found only NULL, and the answer says so")
        return CheckResult(EMPTY_RESULT, "failed", "the statement gives only NULL, but the answer gives a value")
    if is_empty(value):
        return CheckResult(
            EMPTY_RESULT,
            "failed",
            f"the answer is empty, but the statement found {len(examined.rows):,} rows: give them",
        )
    return CheckResult(EMPTY_RESULT, "passed", f"the statement found {len(examined.rows):,} rows")


def is_empty(value: Any) -> bool:
    return value is None or (isinstance(value, str | list | tuple | dict) and not value) or (
        isinstance(value, str) and not value.strip()
    )  # fmt: skip


def says_nothing(value: Any) -> bool:
    """Whether an answer says that there is nothing."""
    if is_empty(value) or value == 0:
        return True
    if isinstance(value, list | tuple):
        return all(says_nothing(each) for each in value)
    return isinstance(value, str) and SAYS_NOTHING.search(value) is not None


def _error_text(error: Exception) -> str:
    return f"{kind_of_failure(error)}: {error}"  # type: ignore[arg-type]


ROW_LIMIT = "row limit"


def check_row_limit(examined: Examined) -> CheckResult:
    if examined.result is None:
        return CheckResult(ROW_LIMIT, "not applicable", "there is no result")
    if examined.result.truncated:
        return CheckResult(
            ROW_LIMIT, "failed",
            f"the result was cut off after {len(examined.rows):,} rows: count or add up in SQL, or ask for fewer rows",
        )  # fmt: skip
    statement = examined.statement
    if statement is None:
        return CheckResult(ROW_LIMIT, "passed", "the result is whole")
    answering = statement.answering_block
    for block in statement.blocks:
        limit = limit_of(block)
        if limit is None or block.select.args.get("order"):
            continue
        if block is answering and len(examined.rows) < limit:
            continue
        if _one_row(block):
            continue
        return CheckResult(
            ROW_LIMIT, "doubt", f"LIMIT {limit} without ORDER BY takes any rows there are: order them first"
        )
    if answering is not None and (limit := limit_of(answering)) is not None and len(examined.rows) == limit:
        tie = _tie(examined, answering, limit)
        if tie is not None:
            return CheckResult(ROW_LIMIT, "doubt", tie)
    return CheckResult(ROW_LIMIT, "passed", "the result is whole")


def limit_of(block: Block) -> int | None:
    limit = block.select.args.get("limit")
    expression = limit.args.get("expression") if limit is not None else None
    return int(expression.this) if isinstance(expression, exp.Literal) and str(expression.this).isdigit() else None


def _one_row(block: Block) -> bool:
    """An aggregate without groups gives one row, whatever the limit."""
    return bool(block.aggregates) and not block.select.args.get("group")


def _tie(examined: Examined, block: Block, limit: int) -> str | None:
    """Whether the first row that the answer leaves out equals the last it takes in all that they are ordered by."""
    select: Node = block.select.copy()
    order = select.args.get("order")
    if order is None or select.args.get("distinct") or limit == 0:
        return None
    named = {each.alias_or_name.lower(): each.unalias() for each in select.selects}
    keys = []
    for ordered in order.expressions:
        key = ordered.this
        if isinstance(key, exp.Column) and not key.table and key.name.lower() in named:
            key = named[key.name.lower()]
        elif isinstance(key, exp.Literal) and not key.is_string and 1 <= int(key.this) <= len(select.selects):
            key = select.selects[int(key.this) - 1].unalias()
        keys.append(key.copy())
    for number, key in enumerate(keys):
        select = select.select(exp.alias_(key, f"coset_order_{number}"), copy=False)
    select.set("limit", exp.Limit(expression=exp.Literal.number(limit + 1)))
    from coset.answering.checks.joins import with_expressions_of

    if not block.outermost:
        select = with_expressions_of(block, select)
    try:
        rows = examined.session.sql(select.sql(dialect=DIALECT), max_rows=limit + 1, seconds=SECONDS).rows()
    except CosetError:
        return None
    cut = rows_taken(examined, limit)
    if len(rows) <= cut or rows[cut - 1][-len(keys) :] != rows[cut][-len(keys) :]:
        return None
    value = ", ".join(str(each) for each in rows[cut][-len(keys) :])
    where = f"the limit of {limit}" if cut == limit else f"the answer takes {cut} of {limit} rows and"
    return f"{where} cuts a tie in two: the next row has the same {value}; say how ties are broken"


def rows_taken(examined: Examined, limit: int) -> int:
    """How many of the first rows the answer takes: those up to the last that its text quotes, or all."""
    value, shape = examined.proposal.value, examined.proposal.shape
    if not isinstance(value, str) or not value.strip():
        return limit
    quoted = [
        number
        for number, row in enumerate(examined.rows, start=1)
        if any(isinstance(cell, str) and len(cell) > 1 and cell in value for cell in row)
    ]
    if quoted:
        return max(quoted)
    return 1 if shape is not None and shape.form in {"value", "row"} else limit
