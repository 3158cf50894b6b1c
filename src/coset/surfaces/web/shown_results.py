"""Results of statements as pages show them: a page of rows at a time, a chart, and files to take away.

In: a result of the session. Out: a `ShownResult`, kept in memory by its number while the server runs. Knows no address.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from coset.surfaces.command_line.output import json_value
from coset.surfaces.web.chart import Chart, chart_of
from coset.use_cases.results import SqlResult

ROWS_OF_A_PAGE = 50


@dataclass(frozen=True)
class ShownResult:
    statement: str
    result: SqlResult

    @property
    def pages(self) -> int:
        return max(1, -(-len(self.result) // ROWS_OF_A_PAGE))

    def page(self, number: int) -> Sequence[tuple[Any, ...]]:
        """The rows of a page, counted from 1."""
        return self.result.rows[(number - 1) * ROWS_OF_A_PAGE : number * ROWS_OF_A_PAGE]

    @cached_property
    def chart(self) -> Chart | None:
        return None if self.result.truncated else chart_of(self.result.columns, self.result.rows)

    def as_csv(self) -> bytes:
        out = io.StringIO()
        writer = csv.writer(out)
        writer.writerow(self.result.columns)
        writer.writerows([json_value(value) for value in row] for row in self.result.rows)
        return out.getvalue().encode()

    def as_parquet(self) -> bytes:
        from pyarrow import parquet

        out = io.BytesIO()
        parquet.write_table(self.result.table, out)
        return out.getvalue()
