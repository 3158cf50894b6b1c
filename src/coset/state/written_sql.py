"""SQL that people wrote, in the state, and what it does with which columns.

In: the statements of one source, analysed. Out: the same, as frozen rows. Knows how they are kept, not how they are
analysed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from coset.state.evidence_state import EvidenceState
from coset.state.queries import add, execute, select

Texts = tuple[str, ...]


@dataclass(frozen=True)
class WrittenSqlRow:
    """A view, a statement of a file or log, a dbt model, with the tables it reads."""

    reference: str
    source: str
    origin: str
    name: str
    text: str
    tables: Texts
    problem: str | None


@dataclass(frozen=True)
class SqlUseRow:
    """join: columns equal others; filter: a condition; formula: what is computed; rename: what a column is called."""

    statement: str
    source: str
    kind: str
    columns: Texts
    others: Texts
    text: str
    name: str | None


def replace_written_sql(
    state: EvidenceState, source: str, statements: Sequence[WrittenSqlRow], uses: Sequence[SqlUseRow]
) -> None:
    """Store the statements of a source instead of those it had."""
    with state.transaction():
        for table in ("written_sql", "sql_uses"):
            execute(state, f"DELETE FROM {table} WHERE source = $1", [source])
        add(state, "written_sql", statements)
        add(state, "sql_uses", uses)


def written_sql(state: EvidenceState) -> list[WrittenSqlRow]:
    return select(state, WrittenSqlRow, "SELECT * FROM written_sql ORDER BY ALL")


def sql_uses(state: EvidenceState, kind: str | None = None) -> list[SqlUseRow]:
    """What the statements do, or what of it is of one kind."""
    return select(state, SqlUseRow, "SELECT * FROM sql_uses WHERE $1 IS NULL OR kind = $1 ORDER BY ALL", [kind])
