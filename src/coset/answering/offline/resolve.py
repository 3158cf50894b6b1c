"""Which tables and columns the words mean: from slots to a plan.

In: slots, what is known. Out: a `Plan`, and in words what each part was taken for. A name that means several things
equally well, or a value that stands equally near in several columns, raises `NotSure`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from coset.answering.offline.expressions import is_number
from coset.answering.offline.known import Known, Named
from coset.answering.offline.outcome import NotSure
from coset.answering.offline.plan import Comparison, Condition, Filter, Linked, Output, Plan
from coset.answering.offline.reading import Chunk
from coset.answering.offline.slots import Asked, Restriction, Slots
from coset.evidence.column_expressions import column_kind
from coset.routing.facts import ColumnFacts

MEASURES = frozenset(("amount", "price", "cost", "revenue", "total"))
TEXT_LENGTH = 30.0
"""A column of texts longer than this on average is prose, in which a code may stand."""


def resolve(slots: Slots, known: Known) -> tuple[Plan, tuple[str, ...]]:
    resolver = _Resolver(slots, known)
    return resolver.plan(), tuple(resolver.said)


class _Resolver:
    def __init__(self, slots: Slots, known: Known) -> None:
        self.slots, self.known = slots, known
        self.said: list[str] = []
        self.sources = self._sources_of_nouns()
        tables = [chunk for chunk in self._nouns() if chunk.kind == "table"]
        self.mentioned = {
            named.reference for chunk in tables for named in self._candidates(chunk) if named.quality >= 0.95
        }

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

    def _table_facts(self, reference: str):  # type: ignore[no-untyped-def]
        column = self.known.columns.get(reference)
        return self.known.tables[column.table if column else reference]

    # Tables

    def plan(self) -> Plan:
        slots = self.slots
        if slots.both_nouns is not None:
            return self._in_both_sources()
        plan = self._shares() if slots.share else self._grouped() if self._groups() else self._plain()
        filters = tuple(self._filter(each, plan.table) for each in slots.restrictions if not each.in_part)
        part = tuple(self._filter(each, plan.table) for each in slots.restrictions if each.in_part)
        both = tuple(c for r, c in zip(slots.restrictions, filters, strict=False) if r.both)
        links = tuple(self._link(link.table, plan, link.negated, link.comparison, link.number) for link in slots.links)
        kept = tuple(each for each in filters if each not in both)
        plan = replace(plan, filters=(*kept, *(each for each in links if each is not None)), part=part)
        return self._with_both(plan, both)

    def _groups(self) -> bool:
        slots = self.slots
        aggregates = any(each.function for each in slots.asked)
        return (bool(slots.each) and aggregates) or (slots.order is not None and slots.order.function is not None) or (
            slots.order_by_links
        )

    def _plain(self) -> Plan:
        slots = self.slots
        if not slots.asked and not slots.context:
            raise NotSure("the question names nothing to answer with")
        counted = next((each for each in slots.asked if each.function == "count"), None)
        if counted is not None:
            if len(slots.asked) > 1:
                raise NotSure("a count beside other columns needs to be told per what")
            return self._count(counted)
        if not slots.asked:
            return self._listed(slots.context)
        near = [*slots.context, *slots.each]
        columns = [self._column(each.noun, near) for each in slots.asked]
        table = self._common([column.table for column in columns], near)
        functions = {each.function is None for each in slots.asked}
        if len(functions) > 1:
            raise NotSure("an aggregate beside plain columns needs to be told per what")
        outputs = tuple(
            Output(column.reference, each.function) for each, column in zip(slots.asked, columns, strict=True)
        )
        plan = Plan(table, outputs, distinct=slots.distinct)
        if False in functions:
            self._numbers(outputs)
            if slots.ordered:
                raise NotSure("one aggregated row has no order")
            return plan
        return self._ordered(plan, near)

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
        name = self.known.name_of(table)
        if name is None or len(context) > 1:
            raise NotSure(f"it is not clear by which column '{context[0].text}' are to be listed")
        self._say(context[0], f"{table}, listed by {name.name}")
        plan = Plan(table, (Output(name.reference),), entities=True, distinct=self.slots.distinct)
        return self._ordered(plan, context)

    def _count(self, counted: Asked) -> Plan:
        if counted.noun.kind == "table":
            table = self._table(counted.noun)
            self._say(counted.noun, f"rows of {table}")
            return Plan(table, (Output(None, "count"),), entities=True)
        if not counted.distinct:
            raise NotSure(f"'{counted.noun.text}' is a column: count its values once each, or the rows that have one?")
        near = [*self.slots.context, *self.slots.each]
        column = self._column(counted.noun, near)
        return Plan(column.table, (Output(column.reference, "count", distinct=True),))

    def _shares(self) -> Plan:
        slots = self.slots
        if not any(each.in_part for each in slots.restrictions):
            raise NotSure("it is not clear which part is meant")
        if slots.asked:
            column = self._column(slots.asked[0].noun, slots.context)
            self._say(slots.asked[0].noun, f"the sum of {column.reference}")
            output = Output(column.reference, "sum")
            self._numbers((output,))
            return Plan(column.table, (output,), share=True)
        table = self._table(slots.context[0])
        return Plan(table, (Output(None, "count"),), share=True, entities=True)

    def _grouped(self) -> Plan:
        """Something per group: `how many ... for each ...`, `which ... has the most ...`."""
        slots = self.slots
        order = slots.order
        aggregates = [each for each in slots.asked if each.function]
        plain = [each for each in slots.asked if not each.function]
        if order is not None and order.function is None and not slots.each:
            return self._by_column(plain)
        measured = order if order is not None and order.function else aggregates[0] if aggregates else None
        if measured is None or (order is not None and order.function and aggregates):
            raise NotSure("it is not clear what is to be computed for each group")
        outputs: list[Output] = []
        if measured.noun.kind == "table":
            table = self._table(measured.noun)
            column = self._measure(table) if measured.function == "sum" else None
            outputs.append(Output(column.reference if column else None, measured.function))
        else:
            near = [*slots.context, *slots.each]
            columns = [self._column(each.noun, near) for each in (aggregates or [measured])]
            table = self._common([each.table for each in columns], near)
            outputs += [
                Output(c.reference, each.function) for c, each in zip(columns, aggregates or [measured], strict=True)
            ]
            self._numbers(outputs)
        if measured.function == "count" and measured.noun.kind == "column":
            raise NotSure("counting a column per group is not understood")
        return self._per_group(table, outputs, plain, ordered=measured is order)

    def _per_group(self, table: str, outputs: list[Output], plain: list[Asked], *, ordered: bool) -> Plan:
        slots = self.slots
        nouns = [*slots.each, *(each.noun for each in plain)] or list(slots.context)
        groups: list[str] = []
        per: str | None = None
        for noun in nouns:
            if noun.kind == "table":
                found = self._nearest_table(noun, table)
                if per not in (None, found):
                    raise NotSure("groups of two tables at once are not understood")
                per = found
            else:
                groups.append(self._column(noun, [], per or table, near_tables={per or table, table}).reference)
        if per == table:
            raise NotSure("every row would be a group of its own")
        if per is not None and not groups:
            name = self.known.name_of(per)
            if name is None:
                raise NotSure(f"it is not clear by which column {per} is to be named")
            groups.append(name.reference)
        owners = {self.known.columns[group].table for group in groups}
        if per is None and len(owners) == 1 and owners != {table}:
            # A column that only describes an entity stands for the entity: two customers may share a name.
            per = next(iter(owners))
        plan = Plan(table, groups=tuple(groups), per=per)
        if ordered:
            if slots.limit is None:
                raise NotSure("it is not clear how many are asked for")
            shown = tuple(Output(group) for group in groups)
            return replace(plan, outputs=shown, order=outputs[0], descending=slots.descending, limit=slots.limit)
        if slots.ordered or slots.limit is not None:
            raise NotSure("an order of groups is not understood")
        return replace(plan, outputs=(*(Output(group) for group in groups), *outputs))

    def _by_column(self, plain: list[Asked]) -> Plan:
        """`the name of the player with the most points`: the row whose column is largest."""
        slots = self.slots
        near = [*slots.context, *slots.each]
        if not plain:
            return self._listed(slots.context)
        columns = [self._column(each.noun, near) for each in plain]
        table = self._common([column.table for column in columns], near)
        return self._ordered(Plan(table, tuple(Output(c.reference) for c in columns)), near)

    def _in_both_sources(self) -> Plan:
        """`Which customers use both products?`, where the two values of a column are names of sources."""
        slots = self.slots
        noun = slots.both_nouns
        if noun is None or len(slots.context) != 1 or slots.asked or slots.links or slots.restrictions or slots.order:
            raise NotSure("'both' is not understood here")
        for named in noun.named:
            values = self.known.columns[named.reference].values
            if values is None or not values.complete or len(values.values) != 2:
                continue
            sources = [self.known.named("source", (str(value).lower(),)) for value, _ in values.values]
            tables = [
                [n.reference for n in slots.context[0].named if s and self._table_facts(n.reference).source == s[0].reference]
                for s in sources
            ]
            if all(len(each) == 1 for each in tables):
                (first,), (second,) = tables
                if self.known.name_of(first) is None or not self.known.tables[first].duplicates_key:
                    first, second = (second, first) if self.known.tables[second].duplicates_key else (first, second)
                name = self.known.name_of(first)
                if name is None or second not in self.known.ways(first):
                    break
                self._say(noun, f"the sources {' and '.join(str(v) for v, _ in values.values)}: {first} and {second}")
                return Plan(first, (Output(name.reference),), (Linked(second),), entities=True)
        raise NotSure(f"it is not clear which two '{noun.text}' are meant")

    # Names

    def _table(self, chunk: Chunk) -> str:
        candidates = self._candidates(chunk)
        best = [named for named in candidates if named.quality == candidates[0].quality]
        if len(best) > 1:
            raise NotSure(f"'{chunk.text}' may be {' or '.join(n.reference for n in best[:3])}")
        return best[0].reference

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
        if chunk.kind != "column":
            raise NotSure(f"'{chunk.text}' is a table: which of its columns is meant?")
        named = self._candidates(chunk)
        columns = {n.reference: (self.known.columns[n.reference], n.quality) for n in named}
        asked_tables = {n.reference for c in context for n in self._candidates(c) if c.kind == "table"}
        for allowed in (near_tables, {table} if table else None, asked_tables, self.mentioned, None):
            if allowed is not None and not allowed:
                continue
            fitting = [(q, c) for c, q in columns.values() if allowed is None or c.table in allowed]
            if fitting:
                best = max(q for q, _ in fitting)
                top = [c for q, c in fitting if q == best]
                if len(top) > 1:
                    top = self._declared_end(top)
                if len(top) > 1:
                    raise NotSure(f"'{chunk.text}' may be {' or '.join(sorted(c.reference for c in top)[:3])}")
                self._say(chunk, top[0].reference)
                return top[0]
        raise NotSure(f"'{chunk.text}' names no column that can be used here")

    def _declared_end(self, columns: list[ColumnFacts]) -> list[ColumnFacts]:
        """Of columns that are all one key, the one where it is the key."""
        keys = [column for column in columns if self.known.key_of(column.table) == column]
        return keys if len(keys) == 1 else columns

    def _common(self, tables: Sequence[str], context: Sequence[Chunk]) -> str:
        """The table whose rows have one partner in each of the others."""
        asked_tables = {n.reference for c in context if c.kind == "table" for n in self._candidates(c) if n.quality >= 0.95}
        for table in sorted(set(tables), key=lambda each: (each not in asked_tables, each)):
            ways = self.known.ways(table)
            if all(other in ways and ways[other].to_one for other in tables):
                return table
        raise NotSure("the columns asked for stand in tables that no sure join connects row by row")

    def _measure(self, table: str) -> ColumnFacts:
        found = [
            column
            for column in self.known.columns_of(table)
            if "attribute" in column.roles
            and (column.roles["attribute"].identity in MEASURES or "total" in column.name.lower().split("_"))
            and is_number(column)
        ]
        if len(found) != 1:
            raise NotSure(f"it is not clear which measure of {table} is meant")
        return found[0]

    # Conditions

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
            if column_kind(column.type) == "text" and (column.mean_length or 0.0) >= TEXT_LENGTH and column.values is None
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
        if any(named.reference == plan.table for named in candidates) and not negated and comparison is None:
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

    def _numbers(self, outputs: Sequence[Output]) -> None:
        for output in outputs:
            if output.column and output.function in ("avg", "sum"):
                column = self.known.columns[output.column]
                if not is_number(column) or self.known.key_of(column.table) == column:
                    raise NotSure(f"'{column.name}' holds no numbers to add up")

    def _is_ordered(self, column: ColumnFacts) -> bool:
        return is_number(column) or is_date(column)

    def _say(self, chunk: Chunk, meaning: str) -> None:
        line = f"'{chunk.text}': {meaning}"
        if line not in self.said:
            self.said.append(line)


def is_date(column: ColumnFacts) -> bool:
    """Whether a column holds days: by its type, or by the expression that reads it as days."""
    if column.type.upper().startswith(("DATE", "TIMESTAMP")):
        return True
    return any(cleaning.type in ("DATE", "TIMESTAMP") for cleaning in column.cleaning)
