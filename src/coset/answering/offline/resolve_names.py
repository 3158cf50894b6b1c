"""Which tables and columns the names, values, numbers and dates of a question mean.

In: slots, what is known. Out: `Names` and `Conditions`, which the plan is made of. A name that means several
things equally well raises `NotSure`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from coset.answering.offline.catalogue import Known, Named, is_number, name_words
from coset.answering.offline.compile import holds_numbers, holds_years
from coset.answering.offline.lexicon import AMOUNTS, CENTS, CODE_WORDS, DATE_WORDS, MONEY, SIZES
from coset.answering.offline.parse_conditions import Link, Restriction, Slots
from coset.answering.offline.plan import AnyOf, Comparison, Condition, Filter, Linked, NotSure, Output, Plan
from coset.answering.offline.tokenize import Chunk
from coset.evidence.column_expressions import column_kind
from coset.readings.words import singular
from coset.routing.anchors.spelling import normalised
from coset.routing.objects.facts import ColumnFacts, TableFacts

Doubt = str
"""What makes an answer less sure, in the words of `certainty`."""


class Names:
    def __init__(self, slots: Slots, known: Known) -> None:
        self.slots, self.known = slots, known
        self.said: list[str] = []
        self.doubts: list[Doubt] = []
        self.sources = self._sources_of_nouns()
        tables = [chunk for chunk in self._nouns() if chunk.kind == "table"]
        self.mentioned = {
            named.reference for chunk in tables for named in self._candidates(chunk) if named.quality >= 0.95
        }
        hinted = {named.reference for hint in slots.hints for named in hint.tables}
        known.favour(frozenset(self.mentioned | hinted))

    def _nouns(self) -> list[Chunk]:
        slots = self.slots
        found = [each.noun for each in slots.asked] + slots.context + slots.each
        found += [link.table for link in slots.links] + ([slots.order.noun] if slots.order else [])
        return found + [each.column for each in slots.restrictions if each.column is not None]

    def _sources_of_nouns(self) -> dict[int, set[str]]:
        """Each source belongs to the name after it (`Atlas customers`), or else to the one before (`from Beacon`)."""
        places = sorted((place, number) for number, place in self.slots.places.items())
        found: dict[int, set[str]] = {}
        for place, chunk in self.slots.sources:
            after = [number for at, number in places if at > place]
            before = [number for at, number in places if at < place]
            if not after and not before:
                raise NotSure(f"it is not clear what '{chunk.text}' belongs to")
            found.setdefault(after[0] if after else before[-1], set()).update(n.reference for n in chunk.named)
        return found

    def _candidates(self, chunk: Chunk) -> tuple[Named, ...]:
        within = self.sources.get(id(chunk))
        if within is None:
            return chunk.named
        fitting = tuple(n for n in chunk.named if self._table_facts(n.reference).source in within)
        if not fitting:
            raise NotSure(f"there is no '{chunk.text}' in {' or '.join(sorted(within))}")
        return fitting

    def _table_facts(self, reference: str) -> TableFacts:
        column = self.known.columns.get(reference)
        return self.known.tables[column.table if column else reference]

    def _table(self, chunk: Chunk) -> str:
        candidates = self._candidates(chunk)
        best = [named for named in candidates if named.quality == candidates[0].quality]
        if len(best) > 1:
            raise NotSure(f"'{chunk.text}' may be {' or '.join(n.reference for n in best[:3])}")
        self._doubt_name(best[0])
        return best[0].reference

    def _doubt_name(self, named: Named) -> None:
        if named.how != "name":
            self.doubts.append(named.how)

    def _nearest_table(self, chunk: Chunk, start: str) -> str:
        """The table of that name or entity that is nearest by joins on which each row has one partner."""
        ways = self.known.ways(start)
        fitting = sorted(
            (ways[n.reference].cost, n.reference)
            for n in self._candidates(chunk)
            if n.reference in ways and ways[n.reference].to_one
        )
        if not fitting:
            raise NotSure(f"no join leads from {start} to one '{chunk.text}' each")
        self._say(chunk, fitting[0][1])
        return fitting[0][1]

    def _column(
        self, chunk: Chunk, context: Iterable[Chunk], table: str | None = None, near_tables: set[str] | None = None
    ) -> ColumnFacts:
        if chunk.kind not in ("column", "hint"):
            raise NotSure(f"'{chunk.text}' is a table: which of its columns is meant?")
        named = {n.reference: n for n in self._candidates(chunk)}
        if self._counts_a_table(chunk):
            self.doubts.append("counter or count")
        columns = {n.reference: (self.known.columns[n.reference], n.quality) for n in named.values()}
        asked_tables = {
            n.reference
            for c in context
            if c.kind == "table"
            for n in self._candidates(c)
            if n.quality == self._candidates(c)[0].quality
        }
        everywhere = {column.table for column, _ in columns.values()}
        own = self._owner_tables(chunk)
        if own and not {column.table for column, _ in columns.values()} & (own[0] | own[1]):
            loose = self.known.named_loosely("column", tuple(normalised(chunk.text).split()))
            fitting_loose = [n for n in loose if self.known.columns[n.reference].table in own[0]]
            if fitting_loose:
                named = {n.reference: n for n in fitting_loose}
                columns = {n.reference: (self.known.columns[n.reference], n.quality) for n in fitting_loose}
            else:
                self.doubts.append("not of its table")
        nearest = (*own, near_tables or set(), {table} if table else set(), asked_tables)
        for allowed in (*nearest, self.mentioned, everywhere):
            fitting = [(q, c) for c, q in columns.values() if c.table in allowed]
            if fitting:
                best = max(q for q, _ in fitting)
                top = [c for q, c in fitting if q == best]
                if len(top) > 1:
                    top = self._declared_end(top)
                if len(top) > 1:
                    top = [column for column in top if column.table in self._holding()] or top
                if len(top) > 1:
                    raise NotSure(f"'{chunk.text}' may be {' or '.join(sorted(c.reference for c in top)[:3])}")
                self._say(chunk, top[0].reference)
                if own and top[0].table not in own[0] and top[0].table in own[1]:
                    self.doubts.append("of a table beside")
                self._doubt_name(named[top[0].reference])
                return top[0]
        raise NotSure(f"'{chunk.text}' names no column that can be used here")

    def _holding(self) -> set[str]:
        """The tables that hold the things which the question calls by name: `the city of Depot Kiel`."""
        return {
            self.known.columns[value.column].table
            for each in self.slots.restrictions
            for chunk in each.values
            for value in chunk.values
            if normalised(value.value) == normalised(chunk.text)
        }

    def _counts_a_table(self, chunk: Chunk) -> bool:
        """Whether `number of hosts` may be a stored number as well as a count of rows."""
        words = tuple(normalised(chunk.text).split())
        if chunk.kind == "table":
            same = [self.known.columns[named.reference] for named in self.known.named("column", words)]
            return bool(self.known.named("column", ("number", *words))) or any(
                column.table in {named.reference for named in chunk.named} and is_number(column) for column in same
            )
        return words[0] == "number" and bool(
            self.known.named("table", words[2:] if words[1:2] == ("of",) else words[1:])
        )

    def _owner_tables(self, chunk: Chunk) -> tuple[set[str], ...]:
        """The table that the column was said to be of, then those of which each of its rows has one row."""
        owner = self.slots.owners.get(id(chunk))
        if owner is None:
            return ()
        best = self._candidates(owner)
        tables = {named.reference for named in best if named.quality == best[0].quality}
        ways = [self.known.ways(table) for table in tables]
        return tables, {table for each in ways for table, way in each.items() if way.to_one}

    def _declared_end(self, columns: list[ColumnFacts]) -> list[ColumnFacts]:
        """Of columns that are all one key, the one where it is the key."""
        keys = [column for column in columns if self.known.key_of(column.table) == column]
        return keys if len(keys) == 1 else columns

    def _common(self, tables: Sequence[str], context: Sequence[Chunk]) -> str:
        """The table whose rows have one partner in each of the others."""
        asked_tables = {
            n.reference for c in context if c.kind == "table" for n in self._candidates(c) if n.quality >= 0.95
        }
        for table in sorted(set(tables), key=lambda each: (each not in asked_tables, each)):
            ways = self.known.ways(table)
            if all(other in ways and ways[other].to_one for other in tables):
                return table
        if (link := self.known.between(set(tables))) is not None:
            return link
        raise NotSure("the columns asked for stand in tables that no sure join connects row by row")

    def _measure(self, table: str) -> ColumnFacts:
        """The one amount that a row of the table has; of several none is meant by the table's name."""
        found = [
            column
            for column in self.known.columns_of(table)
            if column.kind == "column" and is_number(column) and column != self.known.key_of(table)
            if name_words(column.name)[-1] not in CODE_WORDS
        ]
        found = [column for column in found if len(found) == 1 and AMOUNTS & set(name_words(column.name))]
        if len(found) != 1:
            raise NotSure(f"it is not clear which measure of {table} is meant")
        return found[0]

    def _say(self, chunk: Chunk, meaning: str) -> None:
        line = f"'{chunk.text}': {meaning}"
        if line not in self.said:
            self.said.append(line)

    def _is_ordered(self, column: ColumnFacts) -> bool:
        return holds_numbers(column) or is_date(column)

    def _numbers(self, outputs: Sequence[Output]) -> None:
        for output in outputs:
            if output.column and output.function in ("avg", "sum"):
                column = self.known.columns[output.column]
                if not holds_numbers(column) or self.known.key_of(column.table) == column:
                    raise NotSure(f"'{column.name}' holds no numbers to add up")
            if output.column and output.function in ("max", "min"):
                column = self.known.columns[output.column]
                if not self._is_ordered(column):
                    raise NotSure(f"'{column.name}' has no largest or smallest value")

    def _is(self, chunk: Chunk, table: str) -> bool:
        best = self._candidates(chunk)
        return any(named.reference == table and named.quality == best[0].quality for named in best)


def is_date(column: ColumnFacts) -> bool:
    """Whether a column holds days: by its type, or by the expression that reads it as days."""
    if column.type.upper().startswith(("DATE", "TIMESTAMP")):
        return True
    return any(cleaning.type in ("DATE", "TIMESTAMP") for cleaning in column.cleaning)


def in_unit_of(column: ColumnFacts, asked: Chunk) -> float:
    """A number in the unit of the column that it is compared with: 500 euros are 50,000 of a price in cents."""
    number, last = asked.number or 0.0, name_words(column.name)[-1]
    kind, size = SIZES.get(asked.unit, ("", 1.0))
    if kind in MONEY and last in CENTS:
        return number * 100
    own, of = SIZES.get(last, ("", 1.0))
    if not kind or not own or last == asked.unit:
        return number
    if kind != own:
        raise NotSure(f"'{asked.text}' is not in the unit of {column.name}")
    return number * size / of


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
            numbers = tuple(
                in_unit_of(column, value) if value.number is not None else value.text for value in restriction.values
            )
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
        if restriction.column is None and len(chunks) == 1 and (own := self._own_codes(chunks[0], columns, table)):
            return Condition(own[0], "in", own[1], None, restriction.negated)
        reference = self._nearest_column(columns, table, chunks[0])
        if any(not chunk.quoted and chunk.text.islower() for chunk in chunks):
            self.doubts.append("value in small letters")
        stored = tuple(value.value for chunk in chunks for value in chunk.values if value.column == reference)
        self._say(chunks[0], f"{reference} = {' or '.join(stored)}")
        return Condition(reference, "in", stored, None, restriction.negated)

    def _own_codes(self, chunk: Chunk, columns: set[str], table: str) -> tuple[str, tuple[str, ...]] | None:
        """`Cancelled jobs`: the word stands in a list of states, and jobs have the code of one: theirs is meant."""
        coded = [
            (column, code)
            for column, code in self.known.standing_for(tuple(normalised(chunk.text).split()))
            if self.known.columns[column].table == table
        ]
        written = any(self.known.columns[column].table == table for column in columns)
        if written or len({column for column, _ in coded}) != 1:
            return None
        if chunk.text.islower():
            self.doubts.append("value in small letters")
        column, codes = coded[0][0], tuple(code for _, code in coded)
        self._say(chunk, f"{column} = {' or '.join(codes)}, which stands for it")
        return column, codes

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
