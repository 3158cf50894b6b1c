"""Which columns the values, numbers and dates of a question speak of.

In: restrictions and links in the question's words. Out: filters of a plan. A value that stands equally near in several
columns raises `NotSure`.
"""

from __future__ import annotations

from dataclasses import replace

from coset.answering.offline.expressions import is_number
from coset.answering.offline.names import Names, is_date
from coset.answering.offline.outcome import NotSure
from coset.answering.offline.plan import Comparison, Condition, Filter, Linked, Plan
from coset.answering.offline.reading import Chunk
from coset.answering.offline.slots import Restriction
from coset.evidence.column_expressions import column_kind
from coset.routing.facts import ColumnFacts

TEXT_LENGTH = 30.0
"""A column of texts longer than this on average is prose, in which a code may stand."""


class Conditions(Names):
    def _filter(self, restriction: Restriction, table: str) -> Filter:
        first = restriction.values[0]
        if first.kind == "date" and first.dates is not None:
            column = self._date_column(restriction, table)
            return Condition(column.reference, restriction.comparison, (), first.dates, restriction.negated)
        if first.kind == "number" or restriction.comparison == "between":
            if restriction.column is None:
                raise NotSure(f"it is not clear what '{first.text}' says")
            column = self._column(restriction.column, [], near_tables=self._around(restriction.column, table))
            numbers = tuple(value.number if value.number is not None else value.text for value in restriction.values)
            if not is_number(column) and restriction.comparison != "=":
                raise NotSure(f"'{column.name}' holds no numbers to compare")
            comparison: Comparison = "in" if restriction.comparison == "=" else restriction.comparison
            return Condition(column.reference, comparison, numbers, None, restriction.negated)
        if restriction.comparison == "like":
            if restriction.column is None:
                raise NotSure(f"it is not clear which column contains '{first.text}'")
            column = self._column(restriction.column, [], near_tables=self._around(restriction.column, table))
            return Condition(column.reference, "like", (first.text,), None, restriction.negated)
        if restriction.comparison != "=":
            raise NotSure(f"'{first.text}' is no number to compare with")
        return self._value_filter(restriction, table)

    def _value_filter(self, restriction: Restriction, table: str) -> Condition:
        chunks = restriction.values
        held = [{value.column for value in chunk.values} for chunk in chunks]
        columns = set.intersection(*held)
        if restriction.column is not None:
            columns &= {named.reference for named in self._candidates(restriction.column)}
            if not columns and all(chunk.quoted for chunk in chunks):
                raise NotSure(f"'{chunks[0].text}' is not stored in '{restriction.column.text}'")
        if not columns and len(chunks) == 1 and chunks[0].code:
            return self._in_prose(chunks[0], table, restriction.negated)
        reference = self._nearest_column(columns, table, chunks[0])
        stored = tuple(value.value for chunk in chunks for value in chunk.values if value.column == reference)
        self._say(chunks[0], f"{reference} = {' or '.join(stored)}")
        return Condition(reference, "in", stored, None, restriction.negated)

    def _nearest_column(self, columns: set[str], table: str, chunk: Chunk) -> str:
        ways = self.known.ways(table)
        costs = []
        for reference in columns:
            home = self.known.columns[reference].table
            if home in ways:
                # What the question names, and whole matches, come before what merely is near.
                named = 0.3 if home in self.mentioned and home != table else 0.0
                costs.append((ways[home].cost - named, reference))
        costs.sort()
        if not costs:
            raise NotSure(f"'{chunk.text}' is stored in no column that joins {table}")
        if len(costs) > 1 and costs[1][0] - costs[0][0] < 0.1:
            raise NotSure(f"'{chunk.text}' may be a value of {costs[0][1]} or {costs[1][1]}")
        return costs[0][1]

    def _in_prose(self, chunk: Chunk, table: str, negated: bool) -> Condition:
        texts = [
            column
            for column in self.known.columns_of(table)
            if column_kind(column.type) == "text"
            and (column.mean_length or 0.0) >= TEXT_LENGTH
            and column.values is None
        ]
        if len(texts) != 1:
            raise NotSure(f"'{chunk.text}' is stored in no known column")
        self._say(chunk, f"the word {chunk.text} in the text {texts[0].reference}")
        return Condition(texts[0].reference, "word", (chunk.text,), None, negated)

    def _around(self, chunk: Chunk, table: str) -> set[str]:
        """The tables in which a condition's column may stand: the plan's own, else one that joins it."""
        own = {n.reference for n in self._candidates(chunk) if self.known.columns[n.reference].table == table}
        return {table} if own else set(self.known.ways(table))

    def _date_column(self, restriction: Restriction, table: str) -> ColumnFacts:
        if restriction.column is not None:
            return self._column(restriction.column, [], near_tables=self._around(restriction.column, table))
        found = [column for column in self.known.columns_of(table) if is_date(column)]
        if len(found) != 1:
            raise NotSure(f"it is not clear which date of {table} '{restriction.values[0].text}' speaks of")
        self._say(restriction.values[0], found[0].reference)
        return found[0]

    def _link(
        self, chunk: Chunk, plan: Plan, negated: bool, comparison: Comparison | None, number: int
    ) -> Linked | None:
        table = plan.per if plan.per and comparison is None else plan.table
        ways = self.known.ways(table)
        candidates = self._candidates(chunk)
        if self._is(chunk, plan.table) and not negated:
            return None
        fitting = [named for named in candidates if named.reference in ways and named.reference != table]
        best = [named for named in fitting if named.quality == fitting[0].quality]
        if len(best) != 1:
            raise NotSure(f"no sure join leads from {table} to '{chunk.text}'")
        if plan.groups and (negated or comparison is not None):
            raise NotSure("a condition on partners of groups is not understood")
        self._say(chunk, f"{'no ' if negated else ''}partner in {best[0].reference}")
        return Linked(best[0].reference, (), negated, comparison, number)

    def _with_both(self, plan: Plan, both: tuple[Filter, ...]) -> Plan:
        """Two values at once: of partners, one condition for each; of the rows themselves, by what is listed."""
        conditions = [each for each in both if isinstance(each, Condition)]
        if not conditions:
            return plan
        (condition,) = conditions
        if len(condition.values) != 2:
            raise NotSure("'both' needs two values of one column")
        each = tuple(replace(condition, values=(value,)) for value in condition.values)
        if self.known.columns[condition.column].table == plan.table:
            if len(plan.outputs) != 1 or plan.outputs[0].function:
                raise NotSure("'both' is not understood here")
            return replace(plan, both=each)
        return plan.having(*each)
