"""Which columns the values, numbers and dates of a question speak of.

In: restrictions and links in the question's words. Out: filters of a plan. A value that stands equally near in several
columns raises `NotSure`.
"""

from __future__ import annotations

from dataclasses import replace

from coset.answering.offline.catalogue import is_number, name_words
from coset.answering.offline.expressions import holds_numbers, holds_years
from coset.answering.offline.lexicon import DATE_WORDS
from coset.answering.offline.parse_conditions import Link, Restriction
from coset.answering.offline.plan import AnyOf, Comparison, Condition, Filter, Linked, NotSure, Plan
from coset.answering.offline.resolve_names import Names, is_date
from coset.answering.offline.tokenize import Chunk
from coset.evidence.column_expressions import column_kind
from coset.readings.words import singular
from coset.routing.objects.facts import ColumnFacts

Placed = tuple[Restriction, Condition]
TEXT_LENGTH = 30.0
"""A column of texts longer than this on average is prose, in which a code may stand."""


class Conditions(Names):
    def _filters(self, conditions: list[Placed]) -> tuple[Filter, ...]:
        """Conditions in the question's order; those joined by `or` are one."""
        found: list[Filter] = []
        for restriction, condition in conditions:
            before = found[-1] if found else None
            if not restriction.either:
                found.append(condition)
            elif isinstance(before, Condition):
                found[-1] = AnyOf((before, condition))
            else:
                raise NotSure("more than two conditions joined by 'or' are not understood")
        if any(isinstance(each, AnyOf) for each in found):
            if len(found) > 1:
                raise NotSure("it is not clear what 'or' joins among several conditions")
            self.doubts.append("or")
        return tuple(found)

    def _filter(self, restriction: Restriction, table: str) -> Condition:
        if restriction.against is not None and restriction.column is not None:
            column = self._column(restriction.column, [], near_tables=self._around(restriction.column, table))
            if not holds_numbers(column):
                raise NotSure(f"'{column.name}' holds no numbers to compare")
            return Condition(
                column.reference, restriction.comparison, negated=restriction.negated, against=restriction.against
            )
        first = restriction.values[0]
        if restriction.column is not None and restriction.column.kind == "table":
            return self._numbered(restriction.column, first, restriction.negated)
        if first.kind == "date" and first.dates is not None:
            column = self._date_column(restriction, table)
            return Condition(column.reference, restriction.comparison, (), first.dates, restriction.negated)
        if first.kind == "number" or restriction.comparison == "between":
            if restriction.column is None:
                raise NotSure(f"it is not clear what '{first.text}' says")
            column = self._number_column(restriction.column, table)
            numbers = tuple(value.number if value.number is not None else value.text for value in restriction.values)
            stored = all(any(v.column == column.reference for v in value.values) for value in restriction.values)
            if not (holds_numbers(column) if restriction.comparison != "=" else is_number(column) or stored):
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

    def _number_column(self, chunk: Chunk, table: str) -> ColumnFacts:
        if chunk.kind == "hint":
            chunk = replace(chunk, named=tuple(n for n in chunk.named if is_number(self.known.columns[n.reference])))
        return self._column(chunk, [], near_tables=self._around(chunk, table))

    def _numbered(self, chunk: Chunk, number: Chunk, negated: bool) -> Condition:
        """`room 111`: the number is the key of the room."""
        key = self.known.key_of(self._table(chunk))
        if key is None or not is_number(key) or number.number is None:
            raise NotSure(f"it is not clear what '{number.text}' says")
        self._say(number, key.reference)
        self.doubts.append("number of a thing")
        return Condition(key.reference, "in", (number.number,), None, negated)

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
        if any(not chunk.quoted and chunk.text.islower() for chunk in chunks):
            self.doubts.append("value in small letters")
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
        own = any(self.known.columns[named.reference].table == table for named in self._candidates(chunk))
        return {table} if own else set(self.known.ways(table))

    def _date_column(self, restriction: Restriction, table: str) -> ColumnFacts:
        chunk = restriction.column
        event = chunk is not None and chunk.event
        if chunk is not None and chunk.kind == "hint":
            fitting = [n for n in chunk.named if self._has_days(n.reference)]
            chunk = replace(chunk, named=tuple(fitting)) if fitting else None
        if chunk is not None:
            return self._column(chunk, [], near_tables=self._around(chunk, table))
        linked = [
            link for link in self.slots.links if link.table is restriction.near and (link.negated or link.comparison)
        ]
        home = self._table(linked[0].table) if linked else table
        own = self.known.columns_of(home)
        found = [column for column in own if is_date(column)] or [column for column in own if holds_years(column)]
        if len(found) != 1:
            raise NotSure(f"it is not clear which date of {table} '{restriction.values[0].text}' speaks of")
        if event:
            table_words = name_words(self.known.tables[home].name)
            if set(name_words(found[0].name)) - DATE_WORDS - set(table_words) - set(map(singular, table_words)):
                raise NotSure(f"'{found[0].name}' may be another date than the one asked for")
            self.doubts.append("event")
        self._say(restriction.values[0], found[0].reference)
        return found[0]

    def _has_days(self, reference: str) -> bool:
        """Whether a column holds days, or years."""
        column = self.known.columns[reference]
        return is_date(column) or holds_years(column)

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
        self._doubt_name(best[0])
        if plan.groups and (negated or comparison is not None):
            raise NotSure("a condition on partners of groups is not understood")
        self._say(chunk, f"{'no ' if negated else ''}partner in {best[0].reference}")
        return Linked(best[0].reference, (), negated, comparison, number)

    def _inside_links(
        self, links: list[tuple[Link, Linked]], conditions: list[Placed]
    ) -> tuple[list[Linked], list[Placed]]:
        """Conditions on partners that are counted or must not be there belong to those partners."""
        found: list[Linked] = []
        for link, linked in links:
            own = [
                (restriction, condition)
                for restriction, condition in conditions
                if restriction.place > link.place
                and (linked.negated or linked.comparison)
                and self.known.columns[condition.column].table == linked.table
            ]
            if any(restriction.either or restriction.both or condition.negated for restriction, condition in own):
                raise NotSure("a condition on partners is too involved")
            conditions = [each for each in conditions if each not in own]
            found.append(replace(linked, conditions=tuple(condition for _, condition in own)))
        if sum(each.negated for each in found) and len(found) > 1:
            raise NotSure("it is not clear to which of several partners 'not' belongs")
        return found, conditions

    def _with_both(self, plan: Plan, both: tuple[Filter, ...]) -> Plan:
        """Two values or conditions at once: of partners, one for each; of the rows themselves, by what is listed."""
        if not both:
            return plan
        each = tuple(condition for condition in both if isinstance(condition, Condition))
        if len(each) == 1 and len(each[0].values) == 2:
            each = tuple(replace(each[0], values=(value,)) for value in each[0].values)
        each = tuple(replace(condition, apart=True) for condition in each)
        if len(each) != 2 or len(both) > 2:
            raise NotSure("'both' needs two values or conditions")
        if all(self.known.columns[condition.column].table == plan.table for condition in each):
            if any(output.function for output in plan.outputs) or plan.order or plan.groups:
                raise NotSure("'both' is not understood here")
            self.doubts.append("both")
            return replace(plan, both=each)
        return plan.having(*each)
