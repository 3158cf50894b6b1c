"""Are the values right: as stored, without silently skipped NULLs, and no real thing counted several times?

In: an examined proposal. Out: one result for each of the checks. A number or name of the answer must stand in the
result or have been computed; NULLs and duplicates are counted on the rows that the statement reads.
"""

from __future__ import annotations

import datetime
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

from sqlglot import exp

from coset.answering.checks.examined import CheckResult, Examined
from coset.answering.checks.joins import with_expressions_of
from coset.answering.checks.result_shape import is_empty
from coset.answering.checks.statement import Block, Node, aliases_of, columns_of, name_of_aggregate, origins_in, text_of
from coset.state.read_model import ReadModel
from coset.state.tables import DuplicatesRow

STORED_VALUES = "stored values"
EXACT = "exact"
ESTIMATES = {
    "approx_count_distinct": "count(DISTINCT ...)",
    "approx_distinct": "count(DISTINCT ...)",
    "approx_quantile": "quantile_cont(...)",
    "approx_top_k": "GROUP BY with ORDER BY count(*)",
    "reservoir_quantile": "quantile_cont(...)",
}
"""Functions that estimate, and what computes the same exactly."""
_NUMBER = re.compile(r"[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][-+]?\d+)?")
_FOLD = re.compile(r"[\W_]+")
CHANGES_CASE = (exp.Lower, exp.Upper, exp.Initcap)


def check_stored_values(examined: Examined) -> CheckResult:
    value = examined.proposal.value
    if examined.result is None or not examined.rows:
        return CheckResult(STORED_VALUES, "not applicable", "there is no result")
    if is_empty(value):
        return CheckResult(STORED_VALUES, "not applicable", "the answer gives no value")
    if rewritten := _rewritten_by_sql(examined):
        return CheckResult(STORED_VALUES, "doubt", rewritten[0], rewritten[1])
    cells = [cell for row in examined.rows for cell in _leaves(row)]
    texts = {cell for cell in cells if isinstance(cell, str)} | {_written(cell) for cell in cells if _is_date(cell)}
    folded = {_folded(text): text for text in sorted(texts)}
    numbers = [number for number in map(_decimal, [*cells, *_leaves(examined.proposal.computed)]) if number is not None]
    numbers.append(Decimal(len(examined.rows)))
    exactly = set(numbers)  # each number of a long list is there as it is: looking for one near it takes all of them
    wrong: list[str] = []
    unknown: list[str] = []
    for leaf in _leaves(value):
        if _decimal(leaf) in exactly:
            continue
        said = _judge(leaf, texts, folded, numbers)
        if said is not None:
            (wrong if said[0] else unknown).append(said[1])
    if wrong:
        return CheckResult(STORED_VALUES, "failed", "; ".join(dict.fromkeys(wrong[:5])))
    if unknown:
        return CheckResult(STORED_VALUES, "doubt", "; ".join(dict.fromkeys(unknown[:5])))
    return CheckResult(STORED_VALUES, "passed", "every value of the answer is in the result as it is given")


def _judge(leaf: Any, texts: set[str], folded: dict[str, str], numbers: list[Decimal]) -> tuple[bool, str] | None:
    """(whether it is surely wrong, what is wrong), or None."""
    if leaf is None or isinstance(leaf, bool):
        return None
    if not isinstance(leaf, str):
        number = _decimal(leaf)
        if number is None:
            return None if _written(leaf) in texts else (False, f"{leaf} is not in the result")
        return None if _is_one_of(number, numbers) else (False, f"the number {leaf} is not in the result")
    if leaf in texts:
        return None
    number = _whole_number(leaf)
    if number is not None and _is_one_of(number, numbers):
        return None
    near = folded.get(_folded(leaf))
    if near is not None and _folded(leaf):
        return True, f"'{leaf}' is stored as '{near}'"
    return _prose(leaf, texts, numbers)


def _prose(text: str, texts: set[str], numbers: list[Decimal]) -> tuple[bool, str] | None:
    """A text that is no cell: it must hold one, and every number in it must be known, or stand in a cell it quotes."""
    quoted = [cell for cell in sorted(texts, key=len, reverse=True) if len(cell) > 1 and cell in text]
    folded = _folded(text)
    for cell in sorted(texts):
        inside = len(_folded(cell)) > 3 and _folded(cell) in folded and cell not in text
        if inside and not any(_folded(cell) in _folded(other) for other in quoted):
            return True, f"the answer writes '{cell}' otherwise than it is stored"
    rest = text
    for cell in quoted:
        rest = rest.replace(cell, " ")
    stated = [Decimal(match[0].replace(",", "")) for match in _NUMBER.finditer(rest)]
    strange = [number for number in stated if not _is_one_of(number, numbers)]
    if strange:
        return False, f"the number {strange[0]} of the answer is not in the result"
    return None if stated or quoted else (False, f"'{text[:80]}' is not in the result")


def _rewritten_by_sql(examined: Examined) -> tuple[str, tuple[str, ...]] | None:
    """A column of the answer whose letters the statement itself changed."""
    statement = examined.statement
    block = statement.answering_block if statement is not None else None
    if statement is None or block is None:
        return None
    for projection in block.select.selects:
        node = projection.unalias()
        if isinstance(node, CHANGES_CASE) and (references := origins_in(statement, node, block)):
            where = ", ".join(sorted(references))
            return f"the statement changes the letters of {where} on the way out: give them as stored", tuple(
                sorted(references)
            )
    return None


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        for item in value.values():
            yield from _leaves(item)
    elif isinstance(value, list | tuple | set | frozenset):
        for item in value:
            yield from _leaves(item)
    else:
        yield value


def _is_date(value: Any) -> bool:
    return isinstance(value, datetime.date | datetime.time)


def _written(value: Any) -> str:
    return value.isoformat() if _is_date(value) else str(value)


def _folded(text: str) -> str:
    return _FOLD.sub("", text).casefold()


def _decimal(value: Any) -> Decimal | None:
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float | Decimal):
        try:
            number = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
        except (InvalidOperation, ValueError):
            return None
        return number if number.is_finite() else None
    return _whole_number(value) if isinstance(value, str) else None


def _whole_number(text: str) -> Decimal | None:
    """The number that a text is, with a unit sign around it at most."""
    bare = text.strip().strip("$€£%").strip()
    return Decimal(bare.replace(",", "")) if _NUMBER.fullmatch(bare) else None


def _is_one_of(number: Decimal, known: list[Decimal]) -> bool:
    """Whether a number is one of these, to the digits that it is given with; per cent of a share counts too."""
    step = Decimal(1).scaleb(min(int(number.as_tuple().exponent), 0))
    for each in known:
        for same in (each, each * 100) if abs(each) <= 1 else (each,):
            if same == number or (number != 0 and abs(same - number) <= step / 2):
                return True
    return False


NULLS = "nulls"
PASSES_OVER = {"sum", "avg", "min", "max", "median", "stddev", "stddevpop", "stddevsamp", "variance", "percentilecont",
               "quantile", "product"}  # fmt: skip
FOR_ALL = frozenset({"sum", "avg", "product"})
"""What speaks of all rows: the largest of those that have a value is the largest."""
MANY = 0.05
LOST = 0.001


def check_nulls(examined: Examined) -> CheckResult:
    statement = examined.statement
    if statement is None or examined.error is not None:
        return CheckResult(NULLS, "not applicable", "there is no statement that can be read")
    wanted = [(block, node) for block in statement.blocks for node in block.aggregates
              if name_of_aggregate(node) in PASSES_OVER and node.this is not None]  # fmt: skip
    if not wanted:
        return CheckResult(NULLS, "not applicable", "nothing is added up or averaged")
    if not examined.may_count():
        return CheckResult(NULLS, "not applicable", "the tables are too large to count what is NULL")
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
        elif name_of_aggregate(node) in FOR_ALL and rows - filled > MANY * rows:
            doubts.append(f"{(rows - filled) / rows:.1%} of {rows:,} rows are NULL in {text_of(node)}")
        else:
            continue
        references |= origins_in(statement, node, block)
    if doubts:
        return CheckResult(NULLS, "doubt", "; ".join(dict.fromkeys(doubts)), tuple(sorted(references)))
    if not counted:
        return CheckResult(NULLS, "not applicable", "what is NULL could not be counted")
    return CheckResult(NULLS, "passed", "what is added up or averaged has values")


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


DUPLICATES = "duplicates"


def check_duplicates(examined: Examined) -> CheckResult:
    if examined.result is None:
        return CheckResult(DUPLICATES, "not applicable", "there is no result")
    if detail := _equal_rows(examined):
        return CheckResult(DUPLICATES, "doubt", detail)
    entities = _entities(examined)
    if entities:
        said = "; ".join(f"{reference}: {detail}" for reference, detail in entities)
        return CheckResult(
            DUPLICATES, "doubt", f"rows are counted or added that may be one thing each: {said}",
            tuple(reference for reference, _ in entities),
        )  # fmt: skip
    return CheckResult(DUPLICATES, "passed", "no two rows are equal")


def _equal_rows(examined: Examined) -> str | None:
    shape = examined.proposal.shape
    if len(examined.rows) < 2 or (shape is not None and shape.form == "text"):
        return None
    counts = Counter(map(repr, examined.rows))
    repeated = sum(count - 1 for count in counts.values() if count > 1)
    return f"{repeated:,} of {len(examined.rows):,} rows repeat another row" if repeated else None


def _entities(examined: Examined) -> list[tuple[str, str]]:
    """Tables with diagnosed duplicates whose rows the statement counts or adds up without bringing them together."""
    statement = examined.statement
    if statement is None:
        return []
    signs = {row.table_reference: row for row in ReadModel(examined.state).all(DuplicatesRow)}
    found = {}
    for block in statement.blocks:
        for alias, table in block.tables.items():
            sign = signs.get(table.reference)
            if sign is not None and _counts_rows(block, alias) and not _brought_together(block, sign.columns):
                found[table.reference] = sign.detail
    return sorted(found.items())


def _counts_rows(block: Block, alias: str) -> bool:
    """Whether rows of this table are counted or added up: alone, or by a column of its own."""
    alone = len(block.scope.selected_sources) == 1
    return any(
        name_of_aggregate(node) in {"count", "sum", "avg", "count distinct"} and (alone or alias in aliases_of(node))
        for node in block.aggregates
    )


def _brought_together(block: Block, columns: Sequence[str]) -> bool:
    """Whether the block reads a table of clusters, or works on the naming columns before it groups or counts them."""
    for source in block.scope.sources.values():
        if isinstance(source, exp.Table) and source.catalog.lower() == "result":
            return True
    names = {column.lower() for column in columns}
    grouped = block.select.args.get("group")
    places = [*(grouped.expressions if grouped else []), *(n for n in block.aggregates if n.find(exp.Distinct))]
    for place in places:
        for column in place.find_all(exp.Column):
            if column.name.lower() in names and column is not place and not isinstance(column.parent, exp.Distinct):
                return True
    return False


def check_exact(examined: Examined) -> CheckResult:
    """Is a number an estimate, or computed of a sample of the rows, where nobody asked for one?"""
    statement = examined.statement
    if statement is None:
        return CheckResult(EXACT, "not applicable", "there is no statement that can be read")
    estimated = {
        name: ESTIMATES[name]
        for node in statement.tree.find_all(exp.Func)
        if (name := (node.name if isinstance(node, exp.Anonymous) else node.sql_name()).lower()) in ESTIMATES
    }
    said = [f"{name} is an estimate: use {better}" for name, better in estimated.items()]
    if next(statement.tree.find_all(exp.TableSample), None) is not None:
        said.append("only a sample of the rows is read")
    return (
        CheckResult(EXACT, "doubt", "; ".join(said)) if said else CheckResult(EXACT, "passed", "nothing is estimated")
    )
