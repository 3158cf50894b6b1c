"""What the API hands out, and how a notebook shows it: rows, views, answers.

In: results of the stages. Out: the same with a table in HTML for notebooks and plain text elsewhere. Everything out of
a database is escaped: a cell with `<script>` is shown as text. Rows speak the Arrow protocol, so that pandas, polars
and DuckDB take them as they are; none of them is needed.
"""

from __future__ import annotations

import dataclasses
import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from coset.answering.answer import Answer
from coset.routing.view import EvidenceView
from coset.routing.view_json import view_values
from coset.routing.view_text import view_text
from coset.session.result import Result

if TYPE_CHECKING:
    import pyarrow as pa

SHOWN_ROWS = 30
LONGEST_CELL = 200
_STYLE = "white-space:pre-wrap;word-break:break-word"


@dataclass(frozen=True)
class Rows:
    """Rows of the evidence state, as an Arrow table."""

    table: pa.Table

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.table.column_names)

    def rows(self) -> list[tuple[Any, ...]]:
        return list(zip(*(column.to_pylist() for column in self.table.columns), strict=True))

    def dictionaries(self) -> list[dict[str, Any]]:
        """Each row by column name."""
        found: list[dict[str, Any]] = self.table.to_pylist()
        return found

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def __repr__(self) -> str:
        return f"<{len(self):,} rows: {', '.join(self.columns)}>"

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)

    def _repr_html_(self) -> str:
        shown = self.table.slice(0, SHOWN_ROWS).to_pylist()
        return html_table(self.columns, [list(row.values()) for row in shown], len(self))


@dataclass(frozen=True, repr=False)
class SqlResult(Result):
    """What a statement gave: a `Result` that a notebook can show."""

    @classmethod
    def of(cls, result: Result) -> SqlResult:
        return cls(**_fields(result))

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def __repr__(self) -> str:
        more = ", truncated" if self.truncated else ""
        return f"<{len(self):,} rows{more}: {', '.join(self.columns)}>"

    def _repr_html_(self) -> str:
        first = SqlResult(self.table.slice(0, SHOWN_ROWS), self.types, False, 0.0, ())
        return html_table(self.columns, first.rows(), len(self), truncated=self.truncated)


@dataclass(frozen=True, repr=False)
class View:
    """The evidence view of one question. `evidence` has all of it, typed."""

    evidence: EvidenceView

    @cached_property
    def text(self) -> str:
        """What a language model is given."""
        return view_text(self.evidence)

    @property
    def matched(self) -> bool:
        return self.evidence.matched

    @property
    def cost(self) -> int:
        """What the text costs, in tokens."""
        return self.evidence.cost

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables that were chosen, as SQL names them."""
        return tuple(table.sql_name for table in self.evidence.tables)

    @property
    def references(self) -> frozenset[str]:
        return self.evidence.references

    def values(self) -> dict[str, Any]:
        """The whole view in the types of JSON."""
        return view_values(self.evidence)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<view of {len(self.tables)} tables, {self.cost:,} of {self.evidence.budget:,} tokens>"

    def _repr_html_(self) -> str:
        return f'<pre style="{_STYLE}">{html.escape(self.text)}</pre>'


@dataclass(frozen=True, repr=False)
class Answered(Answer):
    """An answer, with the number under which `coset run` shows how it came about."""

    run: int = 0

    @classmethod
    def of(cls, answer: Answer, run: int) -> Answered:
        return cls(**_fields(answer), run=run)

    def __str__(self) -> str:
        return f"no answer: {self.stopped}" if self.stopped else self.text or str(self.value)

    def __repr__(self) -> str:
        return f"<answer of run {self.run}: {str(self)[:80]}>"

    def _repr_html_(self) -> str:
        parts = []
        if self.stopped or self.text:
            parts.append(f"<p>{html.escape(str(self))}</p>")
        if self.rows and not self.text:
            parts.append(html_table(self.columns, self.rows[:SHOWN_ROWS], len(self.rows), truncated=self.truncated))
        parts += [f"<p>assumed: {html.escape(assumption)}</p>" for assumption in self.assumptions]
        parts += [f'<pre style="{_STYLE}">{html.escape(statement)}</pre>' for statement in self.sql]
        return "\n".join(parts)


def html_table(columns: Sequence[str], rows: Sequence[Sequence[Any]], total: int, *, truncated: bool = False) -> str:
    """The first rows as a table, and how many there are."""
    head = "".join(f"<th>{html.escape(name)}</th>" for name in columns)
    body = "".join("<tr>" + "".join(f"<td>{_cell(value)}</td>" for value in row) + "</tr>" for row in rows)
    more = "more than " if truncated else ""
    count = f"{len(rows):,} of {more}{total:,} rows" if truncated or total > len(rows) else f"{total:,} rows"
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table><p>{count}</p>"


def _cell(value: Any) -> str:
    if value is None:
        return "<i>NULL</i>"
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    return html.escape(text if len(text) <= LONGEST_CELL else text[: LONGEST_CELL - 1] + "…")


def _fields(value: Any) -> Mapping[str, Any]:
    return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
