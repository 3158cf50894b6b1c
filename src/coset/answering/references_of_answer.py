"""What an answer stands on: the tables and columns that its statements read, and what the records cite of those.

In: the statements behind an answer, what the records cite, the view, the evidence state. Out: references. A column is
that of the table which the statement reads it from, also where another table has one of the same name. What the records
weighed and no statement reads is not among them. Runs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from coset.answering.checks.known_tables import TablesOfState
from coset.answering.checks.statement import Statement, read_statement
from coset.answering.named_results import NamedResult
from coset.errors import CosetError
from coset.evidence.state import EvidenceState
from coset.routing.view import EvidenceView, ViewRelation


def references_of_answer(
    statements: Sequence[NamedResult], cited: Iterable[str], view: EvidenceView | None, state_folder: Path
) -> tuple[str, ...]:
    """Sorted; tables that the state does not know stand last, as SQL names them. An answer without a statement stands
    on what is cited."""
    if not statements:
        return tuple(sorted(cited))
    found: set[str] = set()
    columns: set[str] = set()
    unknown: list[str] = []
    joined: list[set[str]] = []
    try:
        with EvidenceState.read(state_folder) as state:
            tables = TablesOfState(state)
            for each in statements:
                statement = read_statement(each.whole, tables)
                if statement is None:
                    known, others = _read_tables(each, tables)
                    found |= known
                    unknown += others
                    continue
                found |= set(statement.tables)
                columns |= _columns_read(statement)
                unknown += statement.unknown
                joined += _joined(statement)
    except CosetError:  # Without a state there is nothing that a name could be resolved by.
        unknown += [use.table for each in statements if each.result for use in each.result.uses]
    # The column that tells a family's members apart has the family's own reference.
    found |= columns | {reference for reference in cited if _is_part(reference, columns - found)}
    if view is not None:
        found |= {passage.reference for passage in view.passages} & set(cited)
        found |= {relation.reference for relation in view.relations if _is_joined(relation, joined)}
    return tuple(dict.fromkeys([*sorted(found), *unknown]))


def _columns_read(statement: Statement) -> set[str]:
    """The columns that any block names; those of a subquery that look outwards are the outer block's."""
    found = {use.reference for use in statement.uses}
    for block in statement.blocks:
        for column in block.scope.columns:
            table = block.tables.get(column.table)
            known = table.columns.get(column.name.lower()) if table is not None else None
            found |= {known.reference} if known is not None else set()
    return found


def _read_tables(named: NamedResult, tables: TablesOfState) -> tuple[set[str], list[str]]:
    """Of a statement that is not to be taken apart, the tables that were read when it ran."""
    uses = [use.table for use in named.result.uses] if named.result else []
    known = {use: tables.find(tuple(use.split("."))) for use in uses}
    return {table.reference for table in known.values() if table}, [use for use, table in known.items() if not table]


def _joined(statement: Statement) -> list[set[str]]:
    """For each equation between tables, the columns in it."""
    equations: dict[int, set[str]] = {}
    for use in statement.uses:
        if use.place == "join":
            equations.setdefault(id(use.within[-1]), set()).add(use.reference)
    return list(equations.values())


def _is_joined(relation: ViewRelation, joined: Sequence[set[str]]) -> bool:
    """Whether each of its pairs of columns stands in an equation."""
    pairs = list(zip(relation.left, relation.right, strict=False))
    return bool(pairs) and all(
        any(_in(left, columns) and _in(right, columns) for columns in joined) for left, right in pairs
    )


def _in(reference: str, columns: set[str]) -> bool:
    return reference in columns or _is_part(reference, columns)


def _is_part(reference: str, columns: set[str]) -> bool:
    """Whether it is a path or a facet (`notes#year`, `tags[]`) of one of the columns."""
    return any(reference.startswith((f"{column}#", f"{column}[", f"{column}.")) for column in columns)
