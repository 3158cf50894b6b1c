"""Plans of questions that ask for something per group, or for the first of groups.

In: slots. Out: a `Plan` without its conditions. What is counted per group is the table itself, or the one that links it
with the groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from coset.answering.offline.chunks import Chunk
from coset.answering.offline.listing import Listing
from coset.answering.offline.outcome import NotSure
from coset.answering.offline.plan import Output, Plan
from coset.answering.offline.slots import Asked


class Grouping(Listing):
    def _groups(self) -> bool:
        """Whether something is asked for per group: told so, or by an aggregate beside plain columns."""
        slots = self.slots
        aggregates = any(each.function for each in slots.asked)
        if aggregates and not slots.each and not slots.order_by_links and not slots.share:
            if any(not each.function for each in slots.asked):
                if not any(each.function == "count" for each in slots.asked):
                    self.doubts.append("per what is not said")
                return True
            if any(each.function == "count" for each in slots.asked[1:] or ()):
                return True
        return (
            (bool(slots.each) and aggregates)
            or (slots.order is not None and slots.order.function is not None and not self._orders_by_counter())
            or (slots.order_by_links)
        )

    def _grouped(self) -> Plan:
        """Something per group: `how many ... for each ...`, `which ... has the most ...`."""
        slots = self.slots
        order = slots.order
        aggregates = [each for each in slots.asked if each.function]
        plain = [each for each in slots.asked if not each.function]
        if order is not None and order.function is None and not slots.each:
            return self._by_column(plain)
        measured = order if order is not None and order.function else aggregates[0] if aggregates else None
        shown = measured is order and bool(aggregates)
        if shown and not all(self._same_measure(each, order) for each in aggregates):
            raise NotSure("it is not clear what is to be computed for each group")
        if measured is None:
            raise NotSure("it is not clear what is to be computed for each group")
        outputs: list[Output] = []
        if measured.function == "count" and measured.noun.kind == "column" and measured is order:
            table = self._column(measured.noun, slots.context).table
            outputs.append(Output(None, "count"))
        elif measured.noun.kind == "table":
            table = self._table(measured.noun)
            if self._counts_a_table(measured.noun):
                self.doubts.append("counter or count")
            column = self._measure(table) if measured.function == "sum" else None
            outputs.append(Output(column.reference if column else None, measured.function))
            for each in () if shown or measured is order else aggregates[1:]:
                more = self._column(each.noun, [measured.noun], table)
                if more.table != table:
                    raise NotSure(f"'{each.noun.text}' is no measure of '{measured.noun.text}'")
                outputs.append(Output(more.reference, each.function))
            self._numbers(outputs)
        else:
            near = [*slots.context, *slots.each]
            measures = [measured] if shown or not aggregates else aggregates
            columns = [self._column(each.noun, near) for each in measures]
            table = self._common([each.table for each in columns], near)
            outputs += [Output(c.reference, each.function) for c, each in zip(columns, measures, strict=True)]
            self._numbers(outputs)
        if measured.function == "count" and measured.noun.kind == "column" and measured is not order:
            raise NotSure("counting a column per group is not understood")
        return self._per_group(table, outputs, plain, ordered=measured is order, shown=shown)

    def _same_measure(self, one: Asked, other: Asked | None) -> bool:
        """Whether a number that is shown is the one that orders."""
        if other is None or one.function != (other.function or one.function):
            return False
        return one.noun.kind == other.noun.kind and one.noun.named[:1] == other.noun.named[:1]

    def _per_group(self, table: str, outputs: list[Output], plain: list[Asked], *, ordered: bool, shown: bool) -> Plan:
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
            # A column that names an entity stands for the entity: two customers may share a name.
            (owner,) = owners
            names = {c.reference for c in (self.known.name_of(owner), self.known.key_of(owner)) if c is not None}
            per = owner if names & set(groups) else None
        plan = Plan(table, groups=tuple(groups), per=per)
        if ordered:
            listed = (*(Output(group) for group in groups), *(outputs if shown else ()))
            return replace(plan, outputs=listed, order=outputs[0], descending=slots.descending, limit=slots.limit)
        plan = replace(plan, outputs=(*(Output(group) for group in groups), *outputs))
        if not slots.ordered and slots.limit is None:
            return plan
        return self._ordered_groups(plan)

    def _ordered_groups(self, plan: Plan) -> Plan:
        """Groups in the order of what is computed of them, or of what they are called."""
        slots = self.slots
        if slots.order is None or slots.order.function is not None:
            raise NotSure("it is not clear which column orders the groups")
        column = self._column(slots.order.noun, slots.context, plan.table)
        order = next((output for output in plan.outputs if output.column == column.reference), None)
        if order is None:
            raise NotSure(f"groups have no one '{column.name}' to be ordered by")
        return replace(plan, order=order, descending=slots.descending, limit=slots.limit)

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
        if len(plain) < len(slots.asked):
            raise NotSure("an aggregate beside an order of rows is not understood")
        if not plain:
            return self._listed(slots.context)
        columns = [self._column(each.noun, near) for each in plain]
        table = self._common([column.table for column in columns], near)
        return self._ordered(Plan(table, tuple(Output(c.reference) for c in columns)), near)
