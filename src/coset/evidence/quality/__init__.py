"""Diagnostics: dirt in a column that changes answers, how much there is, and the expression that cleans it.

In: an open DuckDB connection, a relation (quoted already), its columns with their types and its number of rows. Out:
the diagnostics of each column. A table costs one aggregate over all rows and one sample (both can be handed in, so that
a profile's own are used), and a few exact counts where something was found. Nothing here knows what a column means or
what another table holds, except `diagnose_counters`, which is told.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import duckdb

from coset.evidence.quality.counters import diagnose_counters
from coset.evidence.quality.diagnose import diagnose_from
from coset.evidence.quality.observed import Observed, observe
from coset.evidence.sampled_rows import SampledRows, sampled_rows
from coset.state.objects import Counts, Diagnostic

__all__ = [
    "Counts",
    "Observed",
    "diagnose_column",
    "diagnose_counters",
    "diagnose_from",
    "diagnose_table",
    "observe",
]


def diagnose_table(
    connection: duckdb.DuckDBPyConnection,
    relation: str,
    columns: Sequence[tuple[str, str]],
    *,
    rows: int,
    seed: int = 0,
    counted: Mapping[str, Counts] | None = None,
    sample: SampledRows | None = None,
) -> dict[str, list[Diagnostic]]:
    """The diagnostics of each column, by its name. `counted` and `sample`: what a profile has counted and sampled."""
    if not rows:
        return {name: [] for name, _ in columns}
    sample = sample or sampled_rows(connection, relation, columns, rows=rows, seed=seed)
    return {
        observed.name: diagnose_from(connection, relation, observed)
        for observed in observe(connection, relation, columns, sample, rows=rows, counted=counted)
    }


def diagnose_column(
    connection: duckdb.DuckDBPyConnection, relation: str, column: str, type: str, *, rows: int, seed: int = 0
) -> list[Diagnostic]:
    """The diagnostics of one column; for several columns of a table `diagnose_table` reads the table once."""
    return diagnose_table(connection, relation, [(column, type)], rows=rows, seed=seed)[column]
