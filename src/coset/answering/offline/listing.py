"""Plans of questions that ask for rows, for one number, or for an aggregate over all rows.

In: slots. Out: a `Plan` without its conditions. What is not certain raises `NotSure`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from coset.answering.offline.chunks import Chunk
from coset.answering.offline.conditions import Conditions
from coset.answering.offline.expressions import is_number
from coset.answering.offline.lexicon import COUNT_WORDS
from coset.answering.offline.naming import name_words
from coset.answering.offline.outcome import NotSure
from coset.answering.offline.plan import Output, Plan
from coset.answering.offline.slots import Asked
from coset.routing.facts import ColumnFacts


class Listing(Conditions):
    def _plain(self) -> Plan:
        slots = self.slots
        if not slots.asked and not slots.context:
            raise NotSure("the question names nothing to answer with")
        counted = next((each for each in slots.asked if each.function == "count"), None)
        if counted is not None:
            return self._count(counted)
        if not slots.asked:
            return self._listed(slots.context)
        near = [*slots.context, *slots.each]
        columns = self._asked_columns(slots.asked, near)
        asked = dict.fromkeys((c.reference, each.function) for c, each in zip(columns, slots.asked, strict=True))
        if len(asked) < len(columns):  # `the name and country of origin`
            self.doubts.append("asked for twice")
        table = self._of_context(self._common([column.table for column in columns], near))
        functions = {each.function is None for each in slots.asked}
        outputs = tuple(Output(column, function) for column, function in asked)
        plan = Plan(table, outputs, distinct=slots.distinct)
        if False in functions:
            self._numbers(outputs)
            if slots.ordered:
                raise NotSure("one aggregated row has no order")
            return plan
        return self._ordered(plan, near)

    def _asked_columns(self, asked: Sequence[Asked], near: Sequence[Chunk]) -> list[ColumnFacts]:
        """The columns asked for; a name that several tables have belongs to the table of the others (`movie titles,
        years and directors`)."""
        found: list[ColumnFacts | None] = []
        for each in asked:
            try:
                found.append(self._asked_column(each, near))
            except NotSure:
                if each.noun.kind != "column":
                    raise
                found.append(None)
        tables = {column.table for column in found if column is not None}
        columns = []
        for each, column in zip(asked, found, strict=True):
            if column is None:
                column = self._column(each.noun, near, near_tables=tables if len(tables) == 1 else None)
                self.doubts.append("as the other columns")
            columns.append(column)
        return columns

    def _asked_column(self, asked: Asked, near: Sequence[Chunk]) -> ColumnFacts:
        """The column asked for; of a table, the one that says what its rows are called."""
        if asked.noun.kind != "table":
            return self._column(asked.noun, near)
        table = self._table(asked.noun)
        name = self.known.name_of(table)
        if name is None or asked.function:
            raise NotSure(f"it is not clear by which column '{asked.noun.text}' are to be listed")
        self._say(asked.noun, f"{table}, listed by {name.name}")
        return name

    def _of_context(self, table: str) -> str:
        """`names of entrepreneurs`, where the name stands with the person: rows of the table that was named."""
        named = [self._candidates(chunk) for chunk in self.slots.context if chunk.kind == "table"]
        tables = {best[0].reference for best in named if best and best[0].quality >= 0.95}
        if len(tables) != 1 or table in tables:
            return table
        (own,) = tables
        way = self.known.ways(own).get(table)
        if way is None or not way.to_one:
            return table
        self.doubts.append("rows of another table")
        return own

    def _ordered(self, plan: Plan, near: Sequence[Chunk]) -> Plan:
        slots = self.slots
        if not slots.ordered:
            if slots.limit is not None:
                raise NotSure("a number of rows is asked for, but not by which order")
            return plan
        if slots.order is None:
            if len(plan.outputs) != 1:
                raise NotSure("it is not clear which column orders the rows")
            return replace(plan, order=plan.outputs[0], descending=slots.descending, limit=slots.limit)
        column = self._column(slots.order.noun, near, plan.table)
        if slots.limit is not None and not self._is_ordered(column):
            raise NotSure(f"'{slots.order.noun.text}' has no order to be the first of")
        return replace(plan, order=Output(column.reference), descending=slots.descending, limit=slots.limit)

    def _listed(self, context: Sequence[Chunk]) -> Plan:
        """Entities of a table, by their name."""
        table = self._table(context[0])
        if self.slots.everything and len(context) == 1:
            self._say(context[0], f"{table}, with all columns")
            columns = [column for column in self.known.columns_of(table) if column.kind == "column"]
            return self._ordered(Plan(table, tuple(Output(column.reference) for column in columns)), context)
        name = self.known.name_of(table)
        if name is None or len(context) > 1:
            raise NotSure(f"it is not clear by which column '{context[0].text}' are to be listed")
        self._say(context[0], f"{table}, listed by {name.name}")
        plan = Plan(table, (Output(name.reference),), entities=True, distinct=self.slots.distinct)
        return self._ordered(plan, context)

    def _count(self, counted: Asked) -> Plan:
        if counted.noun.kind == "table":
            table = self._table(counted.noun)
            if counted.distinct and self.known.key_of(table) is None:
                raise NotSure(f"it is not clear what tells '{counted.noun.text}' apart")
            self._say(counted.noun, f"rows of {table}")
            if self._counts_a_table(counted.noun):
                self.doubts.append("counter or count")
            if counted.distinct and not self.known.tables[table].duplicates_key:
                self.doubts.append("different rows")
            return Plan(table, (Output(None, "count"),), entities=True)
        if (total := self._counter(counted)) is not None:
            return Plan(total.table, (Output(total.reference, "sum"),))
        if not counted.distinct:
            raise NotSure(f"'{counted.noun.text}' is a column: count its values once each, or the rows that have one?")
        near = [*self.slots.context, *self.slots.each]
        column = self._column(counted.noun, near)
        return Plan(column.table, (Output(column.reference, "count", distinct=True),))

    def _counter(self, counted: Asked) -> ColumnFacts | None:
        """A column that holds counts itself, such as `number_of_shops`: those are added up."""
        if counted.noun.kind != "column" or counted.distinct:
            return None
        named = self._candidates(counted.noun)
        if any(name_words(self.known.columns[n.reference].name)[0] not in COUNT_WORDS for n in named):
            return None
        column = self._column(counted.noun, [*self.slots.context, *self.slots.each])
        self.doubts.append("counts added up")
        return column if is_number(column) else None

    def _orders_by_counter(self) -> bool:
        """`by the number of sales`, where sales are a number themselves: then it is that number."""
        order = self.slots.order
        if order is None or order.function != "count" or order.noun.kind != "column":
            return False
        columns = [self.known.columns[n.reference] for n in order.noun.named]
        if not all(is_number(column) for column in columns) or self.slots.order_by_links:
            return False
        order.function = None
        return True

    def _own_numbers(self) -> None:
        """`the name and number of floors`, where floors are a number themselves: it is shown, not counted."""
        asked = self.slots.asked
        for each in asked:
            numbers = each.noun.kind == "column" and all(
                is_number(self.known.columns[named.reference]) for named in each.noun.named
            )
            if each.function == "count" and numbers and not each.distinct and any(not a.function for a in asked):
                each.function = None
                self.doubts.append("counts added up")
