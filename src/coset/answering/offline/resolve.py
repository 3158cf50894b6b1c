"""Which tables and columns the words mean: from slots to a plan.

In: slots, what is known. Out: a `Plan`, in words what each part was taken for, and what makes it less than certain.
What is not certain enough raises `NotSure`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from coset.answering.offline.conditions import Placed
from coset.answering.offline.grouping import Grouping
from coset.answering.offline.known import Known
from coset.answering.offline.names import Doubt
from coset.answering.offline.outcome import NotSure
from coset.answering.offline.plan import AnyOf, Condition, Filter, Linked, Output, Plan
from coset.answering.offline.slots import Slots


def resolve(slots: Slots, known: Known) -> tuple[Plan, tuple[str, ...], tuple[Doubt, ...]]:
    resolver = _Resolver(slots, known)
    plan = resolver.plan()
    return plan, tuple(resolver.said), tuple(resolver.doubts)


class _Resolver(Grouping):
    def plan(self) -> Plan:
        slots = self.slots
        if slots.both_nouns is not None:
            return self._in_both_sources()
        self._own_numbers()
        plan = self._shares() if slots.share else self._grouped() if self._groups() else self._plain()
        plan = self._repeated(plan)
        placed = [(each, self._filter(each, plan.table)) for each in slots.restrictions]
        plan, placed = self._without(plan, placed)
        found = [
            (link, self._link(link.table, plan, link.negated, link.comparison, link.number)) for link in slots.links
        ]
        links, placed = self._inside_links([(link, each) for link, each in found if each is not None], placed)
        kept = self._filters([each for each in placed if not each[0].in_part and not each[0].both])
        both = self._filters([each for each in placed if each[0].both])
        part = self._filters([each for each in placed if each[0].in_part])
        if slots.limit is not None and plan.limit is None:
            raise NotSure(f"{slots.limit} are asked for, but one value was understood")
        if slots.contrast is not None:
            plan = self._contrasted(plan, placed)
        else:
            plan = self._with_both(replace(plan, filters=(*kept, *links), part=part), both)
        plan = replace(plan, ties=slots.several and plan.limit == 1, percent=slots.percent)
        self._all_used(plan)
        self._doubt_partners(plan)
        return plan

    def _contrasted(self, plan: Plan, placed: list[Placed]) -> Plan:
        """`Do players from A have a higher average salary than players from B?`: one number for each of the two."""
        before = self.slots.contrasted_from
        one, other = [condition for _, condition in placed[:before]], [condition for _, condition in placed[before:]]
        if self.slots.links or self.slots.contrast is None or len(plan.outputs) != 1 or plan.groups or plan.order:
            raise NotSure("what is compared is too involved")
        if len(one) != 1 or len(other) != 1 or one[0].column != other[0].column or one[0].negated or other[0].negated:
            raise NotSure("it is not clear which two groups are compared")
        if not one[0].values or not other[0].values:
            raise NotSure("it is not clear which two groups are compared")
        return replace(plan, contrast=(one[0], self.slots.contrast, other[0]))

    def _without(self, plan: Plan, placed: list[Placed]) -> tuple[Plan, list[Placed]]:
        """`publishers that have no book in 1989`, where both stand in one table: none of their rows may be so."""
        links = [link for link in self.slots.links if link.negated and self._is(link.table, plan.table)]
        if not links:
            return plan, placed
        (link, *more) = links
        after = [each for each in placed if each[0].place > link.place]
        plain = len(plan.outputs) == 1 and not plan.outputs[0].function and not (plan.groups or plan.order)
        if more or not after or not plain or any(r.either or r.both or c.negated for r, c in after):
            raise NotSure(f"'{link.table.text}' cannot be left out here")
        self.slots.links.remove(link)
        self.doubts.append("none of its rows")
        plan = replace(plan, without=tuple(condition for _, condition in after), entities=False)
        return plan, [each for each in placed if each not in after]

    def _doubt_partners(self, plan: Plan) -> None:
        """A list of what has partners may be meant once each, or once for each partner."""
        linked = [each for each in plan.filters if isinstance(each, Linked)]
        if any(each.comparison and len(self.known.ways(plan.table)[each.table].steps) > 1 for each in linked):
            self.doubts.append("far partners")
        if any(output.function for output in plan.outputs) or plan.groups or plan.distinct:
            return
        ways = self.known.ways(plan.table)
        tables = {self.known.columns[each].table for each in _columns_of(plan.filters)}
        tables |= {
            each.table for each in plan.filters if isinstance(each, Linked) and not each.negated and not each.comparison
        }
        partners = {table for table in tables if table in ways and not ways[table].to_one}
        if partners:
            self.doubts.append("once for each partner")
        if len(partners) > 1:
            self.doubts.append("several partners")

    def _repeated(self, plan: Plan) -> Plan:
        """`publishers that have more than one publication`, where both stand in one table: groups of so many rows."""
        counted = [link for link in self.slots.links if link.comparison and self._is(link.table, plan.table)]
        if not counted:
            return plan
        (link, *more) = counted
        if more or plan.groups or plan.entities or link.negated or len(plan.outputs) != 1 or plan.outputs[0].function:
            raise NotSure(f"'{link.table.text}' cannot be counted here")
        if link.comparison in (None, "between") or plan.order is not None:
            raise NotSure("groups of so many rows are not understood here")
        self.slots.links.remove(link)
        return replace(plan, groups=(plan.outputs[0].column or "",), repeated=(link.comparison, link.number))

    def _all_used(self, plan: Plan) -> None:
        """A name or a verb of a name that plays no part says that the question was not understood."""
        outputs = [output.column for output in (*plan.outputs, plan.order) if output and output.column]
        contrasted = (plan.contrast[0], plan.contrast[2]) if plan.contrast else ()
        tested = (*plan.filters, *plan.part, *plan.both, *plan.without, *contrasted)
        columns = {*outputs, *plan.groups, *_columns_of(tested)}
        used = {plan.table, plan.per, *(self.known.columns[each].table for each in columns)}
        used |= {link.reference for each in self.slots.links for link in each.table.named}
        ways = self.known.ways(plan.table)
        used |= {step.there for table in list(used) if table in ways for step in ways[table].steps}
        for chunk in (*self.slots.context, *self.slots.each):
            if chunk.kind == "table" and not {n.reference for n in self._candidates(chunk)} & used:
                raise NotSure(f"'{chunk.text}' plays no part in what was understood")
        if self.slots.some:
            self.doubts.append("has some")
        for hint in self.slots.hints:
            if (
                not hint.optional
                and not hint.event
                and not {n.reference for n in (*hint.named, *hint.tables)} & (used | columns)
            ):
                raise NotSure(f"'{hint.text}' plays no part in what was understood")

    def _shares(self) -> Plan:
        slots = self.slots
        if not any(each.in_part for each in slots.restrictions):
            raise NotSure("it is not clear which part is meant")
        if slots.asked:
            column = self._column(slots.asked[0].noun, slots.context)
            self.said[-1] = f"'{slots.asked[0].noun.text}': the sum of {column.reference}"
            output = Output(column.reference, "sum")
            self._numbers((output,))
            return Plan(column.table, (output,), share=True)
        table = self._table(slots.context[0])
        return Plan(table, (Output(None, "count"),), share=True, entities=True)

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


def _columns_of(filters: Sequence[Filter]) -> set[str]:
    found: set[str] = set()
    for each in filters:
        if isinstance(each, Condition):
            found.add(each.column)
        elif isinstance(each, AnyOf):
            found |= {condition.column for condition in each.conditions}
    return found
