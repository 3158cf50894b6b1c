"""Are there NULLs in what is added up or averaged, and did the statement make them itself?

Aggregates pass over NULL without a word. Values that were there before a cast or a pattern and are NULL after it were
lost by the statement: any of them is a doubt. Those that are stored, or that an outer join made, are one
from a share on.
"""

from __future__ import annotations

from sqlglot import exp

from coset.answering.checks.examined import Examined
from coset.answering.checks.join_counts import with_expressions_of
from coset.answering.checks.proposal import CheckResult
from coset.answering.checks.select_blocks import Block, Node, columns_of, name_of_aggregate, text_of
from coset.answering.checks.statement import origins_in

NAME = "nulls"
PASSES_OVER = {"sum", "avg", "min", "max", "median", "stddev", "stddevpop", "stddevsamp", "variance", "percentilecont",
               "quantile", "product"}  # fmt: skip
MANY = 0.05
LOST = 0.001


def check(examined: Examined) -> CheckResult:
    statement = examined.statement
    if statement is None or examined.error is not None:
        return CheckResult(NAME, "not applicable", "there is no statement that can be read")
    wanted = [(block, node) for block in statement.blocks for node in block.aggregates
              if name_of_aggregate(node) in PASSES_OVER and node.this is not None]  # fmt: skip
    if not wanted:
        return CheckResult(NAME, "not applicable", "nothing is added up or averaged")
    if not examined.may_count():
        return CheckResult(NAME, "not applicable", "the tables are too large to count what is NULL")
    doubts: list[str] = []
    counted = 0
    references: set[str] = set()
    for block, node in wanted:
        counts = _count(examined, block, node)
        if counts is None or not counts[0]:
            continue
        counted += 1
        rows, filled, raw = counts
        if raw is not None and raw - filled > LOST * rows:
            doubts.append(f"{raw - filled:,} of {raw:,} values become NULL in {text_of(node)}")
        elif rows - filled > MANY * rows:
            doubts.append(f"{(rows - filled) / rows:.1%} of {rows:,} rows are NULL in {text_of(node)}")
        else:
            continue
        references |= origins_in(statement, node, block)
    if doubts:
        return CheckResult(NAME, "doubt", "; ".join(dict.fromkeys(doubts)), tuple(sorted(references)))
    if not counted:
        return CheckResult(NAME, "not applicable", "what is NULL could not be counted")
    return CheckResult(NAME, "passed", "what is added up or averaged has values")


def _count(examined: Examined, block: Block, node: Node) -> tuple[int, int, int | None] | None:
    """(rows, rows with a value, rows with a stored value) of what one aggregate takes."""
    argument = node.this
    columns = columns_of(argument)
    selected = [exp.Count(this=exp.Star()), exp.Count(this=argument.copy())]
    # A CASE without ELSE is NULL on purpose; of several columns none is the one that was lost.
    plain = len(columns) == 1 and argument is not columns[0] and argument.find(exp.Case, exp.Nullif) is None
    if plain:
        selected.append(exp.Count(this=columns[0].copy()))
    query = exp.select(*selected)
    for key in ("from_", "joins", "where"):
        if part := block.select.args.get(key):
            query.set(key, [each.copy() for each in part] if isinstance(part, list) else part.copy())
    counts = examined.count(with_expressions_of(block, query))
    if counts is None:
        return None
    return int(counts[0]), int(counts[1]), int(counts[2]) if plain else None
