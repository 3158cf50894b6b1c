"""From slots to a plan: which tables and columns the words mean, for lists, single numbers, groups and rankings.

In: slots. Out: a `Plan` and its doubts. Raises `NotSure` where a word has no meaning here or two that differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from coset.answering.offline.catalogue import Known, is_number, name_words
from coset.answering.offline.lexicon import COUNT_WORDS, QUANTITIES
from coset.answering.offline.parse_conditions import Asked, Slots
from coset.answering.offline.plan import AnyOf, Condition, Filter, Linked, NotSure, Output, Plan
from coset.answering.offline.resolve_names import Conditions, Doubt, Placed
from coset.answering.offline.tokenize import Chunk
from coset.readings.words import singular
from coset.routing.anchors.spelling import normalised
from coset.routing.objects.facts import ColumnFacts

WHOLE = 0.995
"""The share of rows that have a partner, where naming the partner leaves none out."""


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
        if asked.function:
            if any(named.how == "role" for named in self._candidates(asked.noun)):
                raise NotSure(f"it is not clear which measure of '{asked.noun.text}' is meant")
            self.doubts.append("measure of a table")
            return self._measure(table)
        name = self.known.name_of(table)
        if name is None:
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
        if not context:
            raise NotSure("it is not clear what is to be listed")
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
        if (total := self._counter(counted) or self._quantity(counted)) is not None:
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

    def _quantity(self, counted: Asked) -> ColumnFacts | None:
        """A column that says of each row how many of them there are (`units`, `seats`): those are added up too."""
        words = tuple(normalised(counted.noun.text).split())
        if counted.noun.kind != "column" or counted.distinct or not words or singular(words[-1]) == words[-1]:
            return None
        exact = [self.known.columns[n.reference] for n in self._candidates(counted.noun) if n.quality >= 0.95]
        if not exact or any(tuple(name_words(each.name)) != words or not is_number(each) for each in exact):
            return None
        if (
            self.known.plays_a_role(words)
            and words not in QUANTITIES
            and not (self.slots.context or self.slots.restrictions)
        ):
            raise NotSure(f"it is not clear whose '{counted.noun.text}' are meant")
        column = self._column(counted.noun, [*self.slots.context, *self.slots.each])
        self.doubts.append("counts added up")
        return column

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
        self._add_up_of_partners()
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
            column = self._measure(table) if measured.function != "count" else None
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

    def _add_up_of_partners(self) -> None:
        """`Which product sold the most units`, where units stand with each of its sales: they are added up."""
        slots, order = self.slots, self.slots.order
        if order is None or order.function or not slots.order_by_links or order.noun.kind != "column":
            return
        tables = [chunk for chunk in slots.context if chunk.kind == "table"]
        words = tuple(normalised(order.noun.text).split())
        columns = {self.known.columns[n.reference].reference: n for n in order.noun.named if n.quality >= 0.95}
        if len(tables) != 1 or len(columns) != 1 or slots.asked or singular(words[-1]) == words[-1]:
            return
        (column,) = (self.known.columns[each] for each in columns)
        of = self._table(tables[0])
        way = self.known.ways(column.table).get(of)
        if is_number(column) and column.table != of and way is not None and way.to_one:
            order.function = "sum"

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
                if chunk not in self.slots.each and self._owns_all(chunk, plan):
                    self.doubts.append("of all its rows")
                    continue
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

    def _owns_all(self, chunk: Chunk, plan: Plan) -> bool:
        """`How much fuel did all machines use`: every row that is added up is of one machine, so naming them restricts
        nothing."""
        if not plan.outputs or any(each.function in (None, "count") for each in plan.outputs) or plan.filters:
            return False
        ways = self.known.ways(plan.table)
        owners = [n.reference for n in self._candidates(chunk) if n.reference in ways and ways[n.reference].to_one]
        matches = [
            step.relation.left_match if step.relation.left_table == step.here else step.relation.right_match
            for owner in owners
            for step in ways[owner].steps
        ]
        return bool(matches) and min(matches) >= WHOLE

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
