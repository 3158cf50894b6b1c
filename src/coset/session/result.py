"""What a statement gave: its rows, whether they are all of them, and how each table was read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import pyarrow as pa

Reading = Literal["in place", "snapshot", "fetched", "computed at the source"]


@dataclass(frozen=True)
class TableUse:
    """How one table took part: where its rows were read, and how many had to travel."""

    table: str
    reading: Reading
    rows: int | None
    age: float | None = None
    """How old, in seconds, a copy is whose source cannot tell whether it changed; None where it can."""


@dataclass(frozen=True)
class Result:
    """The rows of a statement as Arrow. `truncated` says that there were more than the limits let through."""

    table: pa.Table
    types: tuple[str, ...]
    truncated: bool
    seconds: float
    uses: tuple[TableUse, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.table.column_names)

    def rows(self) -> list[tuple[Any, ...]]:
        """The rows as Python values; whole numbers of any size are int."""
        columns = []
        for index, kind in enumerate(self.types):
            values = self.table.column(index).to_pylist()
            if kind in {"HUGEINT", "UHUGEINT"}:
                values = [None if value is None else int(value) for value in values]
            columns.append(values)
        return list(zip(*columns, strict=True))

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The Arrow protocol, so that pandas, polars and DuckDB take a result as it is."""
        return self.table.__arrow_c_stream__(requested_schema)
