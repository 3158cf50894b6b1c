"""Which tables and columns the words mean: from slots to a plan.

In: slots, what is known. Out: a `Plan`, and in words what each part was taken for. What is not certain raises
`NotSure`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from coset.answering.offline.conditions import Conditions
from coset.answering.offline.known import Known
from coset.answering.offline.outcome import NotSure
from coset.answering.offline.plan import Linked, Output, Plan
from coset.answering.offline.reading import Chunk
from coset.answering.offline.slots import Asked, Slots


def resolve(slots: Slots, known: Known) -> tuple[Plan, tuple[str, ...]]:
    resolver = _Resolver(slots, known)
    return resolver.plan(), tuple(resolver.said)


class _Resolver(Conditions):
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
        plan = self._repeated(plan)
        self._all_used(plan)
        if slots.limit is not None and plan.limit is None:
            raise NotSure(f"{slots.limit} are asked for, but one value was understood")
        plan = replace(plan, filters=(*kept, *(each for each in links if each is not None)), part=part)
        return self._with_both(plan, both)

    def _repeated(self, plan: Plan) -> Plan:
        """`publishers that have more than one publication`, where both stand in one table: groups of so many rows."""
        counted = [link for link in self.slots.links if link.comparison and self._is(link.table, plan.table)]
        if not counted:
            return plan
        (link, *more) = counted
        if more or plan.groups or plan.entities or link.negated or len(plan.outputs) != 1 or plan.outputs[0].function:
            raise NotSure(f"'{link.table.text}' cannot be counted here")
        if link.comparison not in (">", ">=", "=") or plan.order is not None:
            raise NotSure("groups of so many rows are not understood here")
        return replace(plan, groups=(plan.outputs[0].column or "",), repeated=(link.comparison, link.number))

    def _all_used(self, plan: Plan) -> None:
        """A table that was named and plays no part says that the question was not understood."""
        shown = [*(output.column for output in plan.outputs), *plan.groups, plan.order.column if plan.order else None]
        used = {plan.table, plan.per, *(self.known.columns[each].table for each in shown if each)}
        used |= {link.reference for each in self.slots.links for link in each.table.named}
        part = {self.known.columns[v.column].table for r in self.slots.restrictions for c in r.values for v in c.values}
        for chunk in (*self.slots.context, *self.slots.each):
            if chunk.kind == "table" and not {n.reference for n in self._candidates(chunk)} & (used | part):
                raise NotSure(f"'{chunk.text}' plays no part in what was understood")

    def _groups(self) -> bool:
        slots = self.slots
        aggregates = any(each.function for each in slots.asked)
        return (
            (bool(slots.each) and aggregates)
            or (slots.order is not None and slots.order.function is not None)
            or (slots.order_by_links)
        )

    def _plain(self) -> Plan:
        slots = self.slots
        if not slots.asked and not slots.context:
            raise NotSure("the question names nothing to answer with")
        counted = next((each for each in slots.asked if each.function == "count"), None)
        if counted is not None:
            if len(slots.asked) > 1:
                return self._grouped()
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
            if counted.distinct and self.known.key_of(table) is None:
                raise NotSure(f"it is not clear what tells '{counted.noun.text}' apart")
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
        if measured.function == "count" and measured.noun.kind == "column" and measured is order:
            table = self._column(measured.noun, slots.context).table
            outputs.append(Output(None, "count"))
        elif measured.noun.kind == "table":
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
        if measured.function == "count" and measured.noun.kind == "column" and measured is not order:
            raise NotSure("counting a column per group is not understood")
        return self._per_group(table, outputs, plain, ordered=measured is order)

    def _per_group(self, table: str, outputs: list[Output], plain: list[Asked], *, ordered: bool) -> Plan:
        slots = self.slots
        nouns = [*slots.each, *(each.noun for each in plain)] or list(slots.context)
        table = self._linking(table, nouns, counting=all(output.column is None for output in outputs))
        groups: list[str] = []
        per: str | None = None
        for noun in nouns:
            if noun.kind == "table":
                found = self._nearest_table(noun, table)
                if per not in (None, found):
                    raise NotSure("groups of two tables at once are not understood")
                per = found
            else:
                near = {each for each in (per, table) if each}
                held = {self.known.columns[n.reference].table for n in noun.named}
                if not held & near:
                    near = self._own_tables(noun) & {t for t, way in self.known.ways(table).items() if way.to_one}
                column = self._column(noun, slots.context, near_tables=near if held & near else None).reference
                if column not in groups:
                    groups.append(column)
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

    def _own_tables(self, chunk: Chunk) -> set[str]:
        """The tables in which a column may stand: those of the question's other names first."""
        held = {self.known.columns[n.reference].table for n in self._candidates(chunk)}
        return (held & self.mentioned) or held

    def _linking(self, table: str, nouns: Sequence[Chunk], *, counting: bool) -> str:
        """What is counted per group: the table itself, or the one that links its rows with those of the groups."""
        ways = self.known.ways(table)
        for noun in nouns:
            ends = (
                {n.reference for n in noun.named if n.quality >= 0.95}
                if noun.kind == "table"
                else self._own_tables(noun)
            )
            reached = any(end in ways and ways[end].to_one for end in ends)
            if not reached and counting and len(ends) == 1 and (link := self.known.between({table, *ends})):
                return link
        return table

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
                [
                    n.reference
                    for n in slots.context[0].named
                    if s and self._table_facts(n.reference).source == s[0].reference
                ]
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
