"""Do equal rows stand in the result, or does it count rows that are one real thing several times?"""

from __future__ import annotations

from collections import Counter

from sqlglot import exp

from coset.answering.checks.examined import Examined
from coset.answering.checks.proposal import CheckResult
from coset.answering.checks.select_blocks import Block, name_of_aggregate

NAME = "duplicates"


def check(examined: Examined) -> CheckResult:
    if examined.result is None:
        return CheckResult(NAME, "not applicable", "there is no result")
    if detail := _equal_rows(examined):
        return CheckResult(NAME, "doubt", detail)
    entities = _entities(examined)
    if entities:
        said = "; ".join(f"{reference}: {detail}" for reference, detail in entities)
        return CheckResult(
            NAME, "doubt", f"rows are counted or added that may be one thing each: {said}",
            tuple(reference for reference, _ in entities),
        )  # fmt: skip
    return CheckResult(NAME, "passed", "no two rows are equal")


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
    signs = {row["table_reference"]: row for row in examined.state.rows("SELECT * FROM duplicates")}
    found = {}
    for block in statement.blocks:
        for table in block.tables.values():
            sign = signs.get(table.reference)
            if sign is not None and _counts_rows(block) and not _brought_together(block, sign["columns"]):
                found[table.reference] = str(sign["detail"])
    return sorted(found.items())


def _counts_rows(block: Block) -> bool:
    return any(name_of_aggregate(node) in {"count", "sum", "avg", "count distinct"} for node in block.aggregates)


def _brought_together(block: Block, columns: list[str]) -> bool:
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
