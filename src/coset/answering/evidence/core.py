"""The evidence of core mode: the plain schema and profiles, the same for every question; nothing learned or chosen.

In: an evidence state and a budget in tokens. Out: text: tables with their columns while the budget lasts, then tables
by name, then a count. `recover` gives one table whole, or finds words in names, values and documents. No role, no
relation, no diagnostic: what a plain harness would have, so that the comparison with the learned mode is honest.
"""

from __future__ import annotations

from collections import defaultdict

from coset.answering.quoting import cell, one_line
from coset.environment.families import naming_column
from coset.errors import UserError
from coset.routing.views.budgets import cost
from coset.sql_text import name
from coset.state import EvidenceState, search
from coset.state.names import Names, names_of
from coset.state.read_model import ReadModel
from coset.state.tables import ColumnRow, FamilyRow, SourceRow, TableRow

BUDGET = 8_000
EXAMPLES = 4
SHARE_OF_COLUMNS = 0.85
"""So much of the budget may go to columns; the rest names the tables for which there was no room."""
MOST_FOUND = 30
LONGEST_DOCUMENT = 6_000


def core_text(state: EvidenceState, budget: int | None = None) -> str:
    """The environment in plain words, at most `budget` tokens."""
    budget = budget or BUDGET
    lines = ["SCHEMA. Names are DuckDB SQL and run as written. Quoted values are data."]
    lines += [_source_line(row) for row in ReadModel(state).sources.values()]
    left = budget - sum(cost(line) + 1 for line in lines) - 40
    names = names_of(state)
    columns = _columns(state)
    full = left * SHARE_OF_COLUMNS
    bare: list[str] = []
    for row in ReadModel(state).tables.values():
        block = _table_lines(row, names.in_sql(row.reference), columns[row.reference], state)
        price = sum(cost(line) + 1 for line in block)
        if price <= full:
            lines += block
            full -= price
            left -= price
        else:
            bare.append(names.in_sql(row.reference))
    shown = 0
    for written in bare:
        price = cost(f"  {written}") + 1
        if price > left:
            break
        if not shown:
            lines.append("MORE TABLES, columns by `recover`:")
        lines.append(f"  {written}")
        left -= price
        shown += 1
    if shown < len(bare):
        lines.append(f"and {len(bare) - shown:,} more tables: search by `recover`")
    return "\n".join(lines)


def core_recover(state: EvidenceState, what: str, budget: int = BUDGET) -> str:
    """A table with all its columns, or what holds the words, at most `budget` tokens. Raises `UserError` when nothing
    does."""
    lines = _recovered(state, what)
    left, kept = budget - 20, 0
    while kept < len(lines) and (left := left - cost(lines[kept]) - 1) >= 0:
        kept += 1
    more = [f"and {len(lines) - kept:,} more lines: give a larger budget"] if kept < len(lines) else []
    return "\n".join([*lines[:kept], *more])


def _recovered(state: EvidenceState, what: str) -> list[str]:
    names = names_of(state)
    try:
        reference = names.resolve(what)
    except UserError:
        return _search(state, what, names)
    model = ReadModel(state)
    own = model.of_references(ColumnRow, [reference])
    rows = model.of_tables(TableRow, [reference, *(column.table_reference for column in own)])
    if not rows:
        return _search(state, what, names)
    columns = _columns(state)
    return [
        line
        for row in rows
        for line in _table_lines(row, names.in_sql(row.reference), columns[row.reference], state)
    ]  # fmt: skip


def _search(state: EvidenceState, words: str, names: Names) -> list[str]:
    """Names, values and documents that hold all the words, plainly compared."""
    wanted = [word for word in words.lower().split() if word]
    if not wanted:
        raise UserError("say what to recover: a table, a column, or words to search by")
    holding = search.holding_all(state, wanted, MOST_FOUND)
    found = [f"TABLE {names.in_sql(table)}" for table in holding.tables]
    found += [f"COLUMN {names.in_sql(each.table_reference)}.{name(each.name)} {each.type}" for each in holding.columns]
    found += [f"VALUE {cell(value)} in {names.in_sql(column)}" for column, value in holding.values]
    found += [f"DOCUMENT {cell(title or '')}: {cell(text, LONGEST_DOCUMENT)}" for title, text in holding.documents]
    if not found:
        raise UserError(
            f"no name, value or document holds '{one_line(words, 60)}': search by one word, or look with sql"
        )
    return found


def _source_line(row: SourceRow) -> str:
    said = f": {cell(row.description, 300)}" if row.description else ""
    problem = f"; NOT REACHABLE: {one_line(row.problem, 120)}" if row.problem else ""
    return f"SOURCE {row.source} ({row.kind}){said}{problem}"


def _table_lines(row: TableRow, written: str, columns: list[ColumnRow], state: EvidenceState) -> list[str]:
    facts = [f"{row.rows:,} rows"] if row.rows is not None else []
    facts += [cell(row.comment, 200)] if row.comment else []
    facts += [f"key {', '.join(map(name, row.primary_key))}"] if row.primary_key else []
    facts += [f"cannot be read: {one_line(row.problem, 120)}"] if row.problem else []
    lines = []
    for each in ReadModel(state).of_tables(FamilyRow, [row.reference]) if row.family else ():
        told = naming_column(each.pattern, each.columns)
        facts.append(f"{len(each.members):,} tables of one shape, read as one")
        lines.append(
            f"  {name(told)} VARCHAR | says which: {', '.join(cell(member) for member in each.members[:3])}, ..."
        )
    return [f"TABLE {written}" + "".join(f" | {fact}" for fact in facts), *lines, *map(_column_line, columns)]


def _column_line(row: ColumnRow) -> str:
    facts = []
    if row.distinct_values is not None:
        facts.append(f"{row.distinct_values:,} distinct")
    if row.nulls:
        facts.append(f"{row.nulls:.0%} null")
    if row.mean is not None and row.minimum is not None:
        facts.append(f"{one_line(row.minimum, 40)} to {one_line(row.maximum or '', 40)}")
    elif row.examples:
        facts.append(", ".join(cell(value, 40) for value in row.examples[:EXAMPLES]))
    facts += [cell(row.comment, 160)] if row.comment else []
    return f"  {name(row.name)} {row.type}" + "".join(f" | {fact}" for fact in facts)


def _columns(state: EvidenceState) -> dict[str, list[ColumnRow]]:
    found: dict[str, list[ColumnRow]] = defaultdict(list)
    for row in ReadModel(state).columns.values():
        found[row.table_reference].append(row)
    return found
