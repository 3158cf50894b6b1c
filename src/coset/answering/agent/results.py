"""The results of one question: each has a name that later statements can read like a table.

In: a statement that may name earlier results. Out: one statement that stands alone, with what it names written before
it as WITH; the list of what was run; and a run between two steps as JSON, to go on from. Only text is kept, so a name
costs nothing, is exact however large its result is, and an answer's statement can be run again on another day.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, ValidationError
from sqlglot import exp

from coset.answering.answer import Mode, misfit
from coset.answering.arbiter.records import Records, Shape
from coset.answering.models.client import StepUsage
from coset.errors import UserError
from coset.session.result import Result
from coset.sql_text import identifier

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage


PREFIX = "result_"
_NAMES = re.compile(rf"\b{PREFIX}[0-9]+\b", re.IGNORECASE)


@dataclass(frozen=True)
class NamedResult:
    """A statement that ran, and what it gave."""

    name: str
    sql: str
    """With names of earlier results in it, and no other name that is not in the databases."""
    whole: str
    """The same, standing alone."""
    result: Result | None
    """None for one of an earlier checkpoint, which is known by its statement only."""


@dataclass
class NamedResults:
    """The results of one question, in order."""

    known: dict[str, NamedResult] = field(default_factory=dict)
    expand: Callable[[str], str] = str
    """Writes out the short names of a view's expressions."""

    def whole(self, sql: str) -> str:
        """The statement with every result it names, and those that they name, written before it."""
        sql = self.expand(sql.strip().rstrip(";").strip())
        needed = self._needed(sql)
        if not needed:
            return sql
        definitions = ",\n".join(f"{name} AS (\n{self.known[name].sql}\n)" for name in needed)
        return f"WITH {definitions}\nSELECT * FROM (\n{sql}\n)"

    def add(self, sql: str, whole: str, result: Result | None) -> NamedResult:
        name = f"{PREFIX}{len(self.known) + 1}"
        self.known[name] = NamedResult(name, self.expand(sql.strip().rstrip(";").strip()), whole, result)
        return self.known[name]

    def narrowed(self, name: str, columns: Sequence[str]) -> NamedResult:
        """A result with only these columns, in their order, under a name of its own. Nothing is run: its statement says
        the same. Raises `UserError` that lists the columns there are."""

        named = self.find(name)
        if named.result is None:
            raise UserError(f"'{name}' is known by its statement only: select the columns with sql")
        there = [column.lower() for column in named.result.columns]
        for column in columns:
            if there.count(column.lower()) != 1:
                how = "has several columns" if column.lower() in there else "has no column"
                raise UserError(f"'{name}' {how} '{column}'; it has {', '.join(named.result.columns)}")
        places = list(dict.fromkeys(there.index(column.lower()) for column in columns))
        if places == list(range(len(there))):
            return named
        kept = [named.result.columns[place] for place in places]
        sql = f"SELECT {', '.join(map(identifier, kept))} FROM {named.name}"
        whole = self.whole(sql)
        result = dataclasses.replace(
            named.result,
            table=named.result.table.select(places),
            types=tuple(named.result.types[place] for place in places),
        )
        return self.ran(whole) or self.add(sql, whole, result)

    def cut_statement(self, name: str, columns: Sequence[str], order: Sequence[str], limit: int | None) -> str:
        """The statement that takes columns and rows of a result in an order: `total`, `total desc`. Raises `UserError`
        that lists the columns there are."""
        named = self.find(name)
        there = {column.lower(): column for column in named.result.columns} if named.result else {}

        def known(written: str) -> str:
            bare = written.strip().strip('"')
            if there and bare.lower() not in there:
                raise UserError(f"'{name}' has no column '{bare}'; it has {', '.join(there.values())}")
            return exp.to_identifier(there.get(bare.lower(), bare), quoted=True).sql(dialect="duckdb")

        ordered = []
        for each in order:
            begin, _, last = each.strip().rpartition(" ")
            direction = last.upper() if last.upper() in {"ASC", "DESC"} and begin else ""
            ordered.append(f"{known(begin if direction else each)} {direction}".strip())
        sql = f"SELECT {', '.join(map(known, columns)) or '*'} FROM {named.name}"
        sql += f" ORDER BY {', '.join(ordered)}" if ordered else ""
        return sql + (f" LIMIT {int(limit)}" if limit is not None else "")

    def find(self, name: str) -> NamedResult:
        """A result by its name. Raises `UserError` that lists the names there are."""
        found = self.known.get(name.strip().lower())
        if found is None:
            names = ", ".join(self.known) or "there is none yet: run sql first"
            raise UserError(f"there is no result '{name}'; known: {names}")
        return found

    def ran(self, whole: str) -> NamedResult | None:
        """The result of the same statement, if it ran before."""
        return next((each for each in self.known.values() if each.whole == whole), None)

    def restore(self, statements: Iterable[str]) -> None:
        """Take up the statements of an earlier checkpoint, in order."""
        for sql in statements:
            self.add(sql, self.whole(sql), None)

    def _needed(self, sql: str) -> list[str]:
        """Names in the order in which they were made. One in a text or a comment is taken too: that harms nothing."""
        wanted = [name.lower() for name in _NAMES.findall(sql)]
        seen: set[str] = set()
        while wanted:
            name = wanted.pop()
            if name in self.known and name not in seen:
                seen.add(name)
                wanted += [inner.lower() for inner in _NAMES.findall(self.known[name].sql)]
        return [name for name in self.known if name in seen]


def best_result(results: NamedResults, shape: Shape | None) -> list[str]:
    held = [(name, each.result) for name, each in results.known.items() if each.result is not None]
    some = [(name, result) for name, result in held if result.table.num_rows]
    fitting = [name for name, result in some if _fits(shape, result)]
    return (fitting or [name for name, _ in some] or list(results.known))[-1:]


def _fits(shape: Shape | None, result: Result) -> bool:
    if shape is None:
        return True
    columns = len(shape.columns) or len(result.columns)
    return not misfit(shape, result.table.num_rows) and columns == len(result.columns)


class Checkpoint(BaseModel):
    """A run as it was between two steps."""

    model_config = ConfigDict(frozen=True)
    mode: Mode
    messages: list[Any]
    statements: list[str]
    records: Records | None
    usage: list[StepUsage]
    names: dict[str, Any] = {}
    """The short names that the conversation uses, and what they stand for."""

    @classmethod
    def of(
        cls,
        mode: Mode,
        messages: Sequence[ModelMessage],
        results: NamedResults,
        records: Records | None,
        usage: Sequence[StepUsage],
        names: Mapping[str, Any],
    ) -> Checkpoint:
        from pydantic_ai.messages import ModelMessagesTypeAdapter

        return cls(
            mode=mode,
            messages=ModelMessagesTypeAdapter.dump_python(list(messages), mode="json"),
            statements=[each.sql for each in results.known.values()],
            records=records,
            usage=list(usage),
            names=dict(names),
        )

    @classmethod
    def read(cls, kept: bytes | str) -> Checkpoint:
        try:
            return cls.model_validate_json(kept)
        except ValidationError:
            raise UserError(
                "what was kept of this run is of another version of coset: ask the question again"
            ) from None

    def conversation(self) -> list[ModelMessage]:
        from pydantic_ai.messages import ModelMessagesTypeAdapter

        return ModelMessagesTypeAdapter.validate_python(self.messages)
