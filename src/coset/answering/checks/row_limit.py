"""Is the result all of it: not cut off, not an arbitrary part, and no tie cut in two?

A tie counts where the answer itself ends: one that names the first of five rows is not concerned by what comes sixth.
"""

from __future__ import annotations

from sqlglot import exp

from coset.answering.checks.examined import SECONDS, Examined
from coset.answering.checks.proposal import CheckResult
from coset.answering.checks.select_blocks import DIALECT, Block, Node
from coset.errors import CosetError

NAME = "row limit"


def check(examined: Examined) -> CheckResult:
    if examined.result is None:
        return CheckResult(NAME, "not applicable", "there is no result")
    if examined.result.truncated:
        return CheckResult(
            NAME, "failed",
            f"the result was cut off after {len(examined.rows):,} rows: count or add up in SQL, or ask for fewer rows",
        )  # fmt: skip
    statement = examined.statement
    if statement is None:
        return CheckResult(NAME, "passed", "the result is whole")
    answering = statement.answering_block
    for block in statement.blocks:
        limit = limit_of(block)
        if limit is None or block.select.args.get("order"):
            continue
        if block is answering and len(examined.rows) < limit:
            continue
        if _one_row(block):
            continue
        return CheckResult(NAME, "doubt", f"LIMIT {limit} without ORDER BY takes any rows there are: order them first")
    if answering is not None and (limit := limit_of(answering)) is not None and len(examined.rows) == limit:
        tie = _tie(examined, answering, limit)
        if tie is not None:
            return CheckResult(NAME, "doubt", tie)
    return CheckResult(NAME, "passed", "the result is whole")


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
    from coset.answering.checks.join_counts import with_expressions_of

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
