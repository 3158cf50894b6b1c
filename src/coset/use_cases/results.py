"""What the use cases hand out, and how a notebook shows it: rows, views, answers.

In: results of the stages. Out: the same as values that can be iterated, turned into pandas, polars or Arrow, and shown
as a table in HTML. Everything out of a database is escaped: a cell with `<script>` is shown as text. pandas and polars
are needed only by the methods that are named after them.
"""

from __future__ import annotations

import dataclasses
import html
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from coset.routing.views.text import details_text, view_text
from coset.routing.views.view import view_values

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from coset.answering.answer import Answer as ModelAnswer
    from coset.answering.checks import CheckResult
    from coset.answering.models.client import StepUsage
    from coset.answering.offline import Declined, OfflineAnswer
    from coset.routing.views.view import EvidenceView
    from coset.session.result import Result, TableUse

SHOWN_ROWS = 30
LONGEST_CELL = 200
_STYLE = "white-space:pre-wrap;word-break:break-word"


class Tabular:
    """Anything with `columns` and `rows`: iterate it, count it, or take it to pandas, polars or Arrow.

    >>> for name, amount in environment.sql("SELECT name, amount FROM shop.orders"):
    ...     print(name, amount)
    """

    columns: tuple[str, ...]
    rows: Sequence[tuple[Any, ...]]

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def dictionaries(self) -> list[dict[str, Any]]:
        """Each row by column name."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]

    def to_arrow(self) -> pa.Table:
        """As an Arrow table. A column whose values are of several kinds becomes text."""
        import pyarrow as pa

        columns = []
        for place in range(len(self.columns)):
            values = [row[place] for row in self.rows]
            try:
                columns.append(pa.array(values))
            except (pa.ArrowException, OverflowError):
                columns.append(pa.array([None if value is None else str(value) for value in values], pa.string()))
        return pa.Table.from_arrays(columns, names=list(self.columns))

    def to_pandas(self) -> pd.DataFrame:
        """As a pandas DataFrame."""
        return self.to_arrow().to_pandas()

    def to_polars(self) -> pl.DataFrame:
        """As a polars DataFrame."""
        import polars as pl

        frame = pl.from_arrow(self.to_arrow())
        assert isinstance(frame, pl.DataFrame)  # noqa: S101 - a table gives no series
        return frame

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The Arrow protocol, so that pandas, polars and DuckDB take it as it is."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return f"<{len(self):,} rows: {', '.join(self.columns)}>"

    def _repr_html_(self) -> str:
        return html_table(self.columns, self.rows[:SHOWN_ROWS], len(self))


@dataclass(frozen=True, repr=False)
class Rows(Tabular):
    """Rows of the evidence state."""

    table: pa.Table

    @property
    def columns(self) -> tuple[str, ...]:  # type: ignore[override]
        return tuple(self.table.column_names)

    @cached_property
    def rows(self) -> Sequence[tuple[Any, ...]]:  # type: ignore[override]
        return list(zip(*(column.to_pylist() for column in self.table.columns), strict=True))

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def to_arrow(self) -> pa.Table:
        return self.table


@dataclass(frozen=True, repr=False)
class SqlResult(Rows):
    """What a statement gave. `truncated` says that there were more rows than the limits let through."""

    types: tuple[str, ...]
    truncated: bool
    seconds: float
    uses: tuple[TableUse, ...]

    @classmethod
    def of(cls, result: Result) -> SqlResult:
        found = cls(result.table, result.types, result.truncated, result.seconds, result.uses)
        found.__dict__["rows"] = result.rows()
        return found

    def __repr__(self) -> str:
        more = ", truncated" if self.truncated else ""
        return f"<{len(self):,} rows{more}: {', '.join(self.columns)}>"

    def _repr_html_(self) -> str:
        return html_table(self.columns, self.rows[:SHOWN_ROWS], len(self), truncated=self.truncated)


@dataclass(frozen=True, repr=False)
class View:
    """The evidence view of one question. `evidence` has all of it, typed."""

    evidence: EvidenceView

    @cached_property
    def text(self) -> str:
        """What a language model is given."""
        return view_text(self.evidence)

    @cached_property
    def details(self) -> str:
        """The details alone, without documents and directory."""
        return details_text(self.evidence)

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
    def likeliest(self) -> tuple[str, ...]:
        """The same tables, the likeliest first."""
        return tuple(table.sql_name for table in sorted(self.evidence.tables, key=lambda table: -table.score))

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
class Answer(Tabular):
    """The answer to a question, by a language model or by the built-in reasoner, with everything behind it.

    `stopped` says why there is no answer and is empty where there is one. `run` is the number under which `coset run`
    shows how it came about.
    """

    question: str
    mode: Literal["learned", "core", "offline"]
    run: int
    value: Any
    """For programs: of rows of one cell that cell, of others a list of rows; words where there are no rows."""
    text: str
    """For people. Empty when the rows are the answer."""
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    truncated: bool
    sql: tuple[str, ...]
    """Each statement behind the answer, standing alone, the final one last."""
    confidence: float
    stopped: str
    checks: tuple[CheckResult, ...]
    references: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()
    readings: tuple[str, ...] = ()
    """Other readings of an ambiguous question."""
    shape: dict[str, Any] | None = None
    steps: tuple[StepUsage, ...] = ()
    """The requests to language models, with what each cost."""
    tokens: int = 0
    cost: float | None = None
    reading: tuple[str, ...] = ()
    """Without a model: each part of the question with what it was taken for."""
    plan: tuple[str, ...] = ()
    """Without a model: what was done, one step after the other, in words."""
    doubts: tuple[str, ...] = ()
    view: View | None = None
    """Without a model: the view that the question was read with."""

    @classmethod
    def of_model(cls, answer: ModelAnswer, run: int) -> Answer:
        return cls(
            answer.question, answer.mode, run, answer.value, answer.text, answer.columns, answer.rows,
            answer.truncated, answer.sql, answer.confidence, answer.stopped, answer.checks, answer.references,
            answer.assumptions, answer.readings,
            answer.shape.model_dump(exclude_defaults=True) if answer.shape else None,
            answer.steps, answer.tokens, answer.cost,
        )  # fmt: skip

    @classmethod
    def of_offline(cls, found: OfflineAnswer | Declined, run: int) -> Answer:
        from coset.answering.offline import Declined
        from coset.answering.offline.reasoner import in_words

        if isinstance(found, Declined):
            return cls(
                found.question, "offline", run, None, "", (), (), False, (found.sql,) if found.sql else (),
                found.confidence or 0.0, found.reason, found.checks, view=View(found.view),
            )  # fmt: skip
        rows = found.rows
        value = rows[0][0] if len(rows) == 1 and len(rows[0]) == 1 else [list(row) for row in rows]
        return cls(
            found.question, "offline", run, value, "", found.columns, rows, found.truncated, (found.sql,),
            found.confidence, "", found.checks, reading=found.reading, plan=found.steps,
            doubts=tuple(in_words(found.doubts)), view=View(found.view),
        )  # fmt: skip

    @property
    def is_declined(self) -> bool:
        """Whether the built-in reasoner was not sure enough to answer."""
        return self.mode == "offline" and bool(self.stopped)

    def values(self) -> dict[str, Any]:
        """All of it in plain data, one shape whoever answered; the view is left out."""
        found = {field.name: getattr(self, field.name) for field in dataclasses.fields(self) if field.name != "view"}
        for name in ("checks", "steps"):
            found[name] = [dataclasses.asdict(each) for each in found[name]]
        return {
            name: [list(row) if isinstance(row, tuple) else row for row in value] if isinstance(value, tuple) else value
            for name, value in found.items()
        }

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
        parts += [f"<p>read as: {html.escape(line)}</p>" for line in self.reading]
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
