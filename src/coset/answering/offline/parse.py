"""Parsing, second half: a small grammar of English question forms.

In: tagged chunks. Out: `Slots`. Every chunk finds its place by what stands before and after it: asked for, restricted
by, ordered by, grouped by, or a partner of what is asked for.
"""

from __future__ import annotations

from collections.abc import Callable

from coset.answering.offline.parse_conditions import COMPARISONS, FUNCTIONS, NOUNS, Asked, ConditionPlacing, Link, Slots
from coset.answering.offline.plan import Function, NotSure
from coset.answering.offline.tokenize import Chunk
from coset.readings.words import singular


class NamePlacing(ConditionPlacing):
    def _limited(self, *, descending: bool) -> None:
        self.slots.descending, self.slots.ordered = descending, True
        if self.slots.limit is None:
            self.slots.limit = 1
            first = next((chunk for chunk in self.chunks if chunk.kind in NOUNS), None)
            self.slots.several = first is not None and singular(first.text.lower()) != first.text.lower()
        self.superlative = None

    def _column(self, chunk: Chunk) -> None:
        self._placed(chunk)
        after = self._next()
        if self._follows_value(chunk):
            return
        if self.both and after is None:
            self.slots.both_nouns, self.both = chunk, False
            return
        if self.superlative:
            self.slots.order = Asked(chunk, self.functions[0] if self.functions else None)
            self.functions = []
            self._limited(descending=self.superlative == "max")
            return
        if self._has_value(chunk):
            self.waiting = chunk
            if self.last_table is not None and self.in_clause:
                self.slots.owners.setdefault(id(chunk), self.last_table)
            return
        if self.after_order:
            raise NotSure(f"it is not clear whether '{chunk.text}' is asked for or ordered by")
        if self.functions:
            for function in self.functions:
                self.slots.asked.append(Asked(chunk, function, self.distinct))
            self.functions, self.distinct = [], False
            return
        if self.in_clause:
            if after is not None and after.is_operator("clause") and not self.negated:
                self.slots.some.append(chunk)
                return
            raise NotSure(f"it is not clear what is said of '{chunk.text}'")
        before = self._before()
        if before is not None and before.text == "s" and self.at > 2:
            before = self.chunks[self.at - 3]
        if before is not None and before.kind == "table":
            self.slots.owners[id(chunk)] = before
        self.slots.asked.append(Asked(chunk, None, self.distinct))
        self.slots.distinct = self.slots.distinct or self.distinct
        self.distinct = False

    def _follows_value(self, chunk: Chunk) -> bool:
        """`the banking industry`: the column is said after its value."""
        before = self._before()
        last = self.slots.restrictions[-1] if self.slots.restrictions else None
        if before is None or before.kind != "value" or last is None or last.column is not None:
            return False
        own = {named.reference for named in chunk.named}
        if before is not last.values[-1] or not any(value.column in own for value in before.values):
            return False
        last.column = chunk
        return True

    def _has_value(self, chunk: Chunk) -> bool:
        """Whether a comparison or a value of the column follows."""
        offset = 0
        while (after := self._next(offset)) is not None and after.is_operator("=", "not", "of", "clause", "all"):
            offset += 1
        if after is None:
            return False
        if after.is_operator(*COMPARISONS):
            return all(each.is_operator("=", "not") for each in self.chunks[self.at : self.at + offset])
        if after.kind == "date":
            return self.in_clause
        if after.kind not in ("value", "number"):
            return False
        if offset and not self.in_clause and self.chunks[self.at].is_operator("of", "clause"):
            return False
        own = {named.reference for named in chunk.named}
        return after.kind == "number" or after.quoted or any(value.column in own for value in after.values)

    def _table(self, chunk: Chunk) -> None:
        self._placed(chunk)
        self.last_table = chunk
        if self.superlative:
            if "sum" not in self.functions:
                raise NotSure(f"it is not clear which measure of '{chunk.text}' is meant")
            self.slots.order, self.functions = Asked(chunk, "sum"), []
            self._limited(descending=self.superlative == "max")
        elif self.functions and (column := self._next()) is not None and column.kind == "column":
            self.slots.owners[id(column)] = chunk  # `how many phone models`: the table says only whose column it is
            self.slots.context.append(chunk)
        elif self.functions == ["count"] or (self.functions and self.slots.share):
            self.slots.asked.append(Asked(chunk, "count", self.distinct))
            self.functions, self.distinct = [], False
        elif self.functions:
            self.slots.asked += [Asked(chunk, function) for function in self.functions]
            self.functions = []
        elif self.negated:
            self._linked(Link(chunk, self._negation()))
        elif self.slots.contrasted_from is not None:
            self.slots.context.append(chunk)
        elif self.in_clause and not self.in_part:
            self._linked(Link(chunk))
        elif self._is_listed_too(chunk):
            self.slots.asked.append(Asked(chunk, None, self.distinct))
            self.distinct = False
        else:
            self._own_columns(chunk)
            self.slots.context.append(chunk)
            self.slots.distinct = self.slots.distinct or self.distinct
            self.distinct = False

    def _is_listed_too(self, chunk: Chunk) -> bool:
        """`the players and their ages`: the players are asked for as well."""
        before, also, noun = self._before(), self._next(), self._next(1)
        if before is not None and not before.is_operator("distinct", "all", "="):
            return False
        if also is None or not also.is_operator("and") or noun is None:
            return False
        return noun.kind == "column" or noun.is_operator("count", *FUNCTIONS)

    def _own_columns(self, table: Chunk) -> None:
        """`the name and age of the players`: the columns before it are the table's."""
        before = self._before()
        if before is not None and before.is_operator("of", "clause"):
            for each in self.slots.asked:
                self.slots.owners.setdefault(id(each.noun), table)

    def _source(self, chunk: Chunk) -> None:
        self.slots.sources.append((self.at, chunk))

    def _hint(self, chunk: Chunk) -> None:
        tables = tuple(named for named in chunk.tables if named.quality >= 0.95)
        if self.negated and tables:  # `have never ordered`: no partner among the orders
            self._table(Chunk("table", chunk.text, named=tables))
            return
        self.slots.hints.append(chunk)
        self.hint = chunk


class Placing(NamePlacing):
    def slots_of(self) -> Slots:
        while self.at < len(self.chunks):
            chunk = self.chunks[self.at]
            self.at += 1
            getattr(self, f"_{chunk.kind}")(chunk)
            if chunk.kind not in ("hint", "operator"):
                self.hint = None
        if self.functions or self.negated or self.superlative:
            raise NotSure("the question ends where a name or value should follow")
        if self.both or self.either:
            raise NotSure("it is not clear what 'both' or 'or' joins")
        if self.before_stop and not self.slots.asked:
            self.slots.asked = self.before_stop
        elif any(each.function for each in self.before_stop) and not any(each.function for each in self.slots.asked):
            raise NotSure("the second sentence does not say what becomes of the number that the first one asks for")
        self._ask_when()
        self._ask_for_what_is_restricted()
        return self.slots

    def _ask_when(self) -> None:
        """`When was X opened`, `When did X sign up`: the verb's column is asked for."""
        first = self.chunks[0] if self.chunks else None
        verbs = [hint for hint in self.slots.hints if hint.named]
        if first is None or first.text.lower() != "when" or self.slots.asked or len(verbs) != 1:
            return
        self.slots.hints.remove(verbs[0])
        self.slots.asked.append(Asked(self._placed(Chunk("column", verbs[0].text, named=verbs[0].named))))

    def _ask_for_what_is_restricted(self) -> None:
        """`Which titles contain ...`: what is restricted is asked for when nothing else is."""
        slots = self.slots
        first = slots.restrictions[0].column if slots.restrictions else None
        if first is not None and first.kind == "column" and not slots.asked and not slots.context and not slots.share:
            slots.asked.append(Asked(first))

    def _operator(self, chunk: Chunk) -> None:
        operator = chunk.operator
        if operator in FLAGS:
            setattr(self, FLAGS[operator], True)
        elif operator in OPERATORS:
            OPERATORS[operator](self, chunk)
        elif operator in FUNCTIONS:
            self._function(operator)  # type: ignore[arg-type]
        elif operator in COMPARISONS:
            self._compare(chunk)

    def _begin_clause(self) -> None:
        self.in_clause = self.in_clause or bool(self.slots.asked or self.slots.context)

    def _begin_part(self) -> None:
        self.in_part, self.in_clause = self.slots.share, True

    def _share(self, chunk: Chunk) -> None:
        self.slots.share, self.slots.percent = True, "percent" in chunk.text

    def _everything(self) -> None:
        self.slots.everything = True

    def _top(self, chunk: Chunk) -> None:
        number = self._next()
        if number is None or number.kind != "number" or number.number is None:
            raise NotSure(f"'{chunk.text}' without a number is not understood")
        self.slots.limit, self.at = int(number.number), self.at + 1

    def _end_sentence(self) -> None:
        """What a second sentence asks for (`Give me their names`) is asked for instead of what the first one named."""
        self.in_clause = self.in_part = self.after_order = False
        if self.functions or self.superlative or self.negated:
            raise NotSure("the sentence ends where a name or value should follow")
        self.before_stop = self.before_stop or self.slots.asked
        self.slots.asked = []

    def _more(self, chunk: Chunk) -> None:
        """`Which has more players, A or B?` asks for the first of an order; with `than`, two groups are compared."""
        if not any(each.is_operator("than") for each in self.chunks[self.at :]):
            if not any(each.is_operator("or") for each in self.chunks[self.at :]):
                raise NotSure(f"'{chunk.text}' than what?")
            self._most("most" if chunk.operator == "more" else "least")
            return
        noun = next((each for each in self.chunks[self.at :] if each.kind != "value"), None)
        if self.slots.contrast is not None or self.slots.asked or noun is None:
            raise NotSure(f"what is {chunk.text} is not understood")
        self.slots.contrast = ">" if chunk.operator == "more" else "<"
        self.in_clause = False
        if noun.kind == "table":
            self.functions = ["count"]
        elif not noun.is_operator(*FUNCTIONS):
            raise NotSure(f"{chunk.text} on the whole, or on average?")

    def _than(self) -> None:
        if self.slots.contrast is None or self.slots.contrasted_from is not None:
            raise NotSure("'than' is not understood here")
        self.slots.contrasted_from = len(self.slots.restrictions)

    def _by_adjective(self, chunk: Chunk) -> None:
        if self.slots.order is not None:
            raise NotSure(f"'{chunk.text}' is a second order")
        self.slots.order = Asked(self._placed(Chunk("column", chunk.text, named=chunk.named)))
        self._limited(descending=chunk.operator == "largest")

    def _count(self) -> None:
        if self.in_clause or self.functions:
            raise NotSure("a count inside a condition is not understood")
        self._skip("of", "all", "distinct") if not self._is_distinct_next() else None
        self._skip("of", "all")
        noun = self._next()
        if noun is None or noun.kind not in (*NOUNS, "source", "value"):
            raise NotSure("it is not clear what is to be counted")
        self.functions = ["count"]

    def _function(self, function: Function) -> None:
        after = self._next()
        before = self._before()
        of_all = before is not None and before.is_operator("of") and any(not a.function for a in self.slots.asked)
        if function in ("max", "min") and (self.in_clause or of_all) and not self.slots.share:
            if after is not None and after.is_operator("count"):
                self.at += 1
                self._most("most" if function == "max" else "least")
                return
            self.superlative = function
        elif function in ("sum", "avg") and self.superlative:
            self.functions.append(function)
        elif self.in_clause:
            raise NotSure("an aggregate inside a condition is not understood")
        else:
            self.functions.append(function)

    def _most(self, operator: str) -> None:
        self._skip("of", "all")
        noun = self._next()
        if noun is None or noun.kind not in NOUNS:
            raise NotSure(f"it is not clear what there is to be the {operator} of")
        self.at += 1
        self.slots.order, self.slots.order_by_links = Asked(noun, "count" if noun.kind == "table" else None), True
        self._limited(descending=operator == "most")

    def _commonest(self) -> None:
        noun = self._next()
        if noun is None or noun.kind != "column" or self.in_clause:
            raise NotSure("it is not clear what is to be the commonest")
        self.at += 1
        self.slots.asked.append(Asked(self._placed(noun)))
        self.slots.order, self.slots.order_by_links = Asked(noun, "count"), True
        self._limited(descending=True)

    def _each(self) -> None:
        self._skip("of", "all")
        if self._is_distinct_next():
            self.distinct = False
        noun = self._next()
        if noun is None and any(not each.function for each in self.slots.asked):
            return  # `the countries and the number of members from each`: of each country
        if noun is None or noun.kind not in NOUNS:
            raise NotSure("it is not clear for each of what")
        while noun is not None and noun.kind in NOUNS:
            self.slots.each.append(self._placed(noun))
            self.at += 1
            also, noun = self._next(), self._next(1)
            if also is None or not also.is_operator("and") or also.text == "," or noun is None or noun.kind != "column":
                break
            self.at += 1

    def _order(self, chunk: Chunk) -> None:
        if chunk.text in ("order", "sort"):  # `Sort the names by ...`
            return
        self.after_order = True
        self.slots.ordered = True
        self.slots.descending = self.slots.descending or chunk.operator == "descending"
        while (after := self._next()) is not None and after.is_operator("of", "order", "descending", "ascending"):
            self.slots.descending = self.slots.descending or after.operator == "descending"
            self.at += 1
        noun, function = after, None
        if noun is not None and noun.is_operator("count", *FUNCTIONS):
            function, noun = noun.operator, self._next(1)
            self.at += 1
            measure = self._next(1)
            counted = function == "count" and noun is not None and noun.kind == "table"
            if counted and measure is not None and measure.kind in ("column", "hint") and measure.named:
                noun = Chunk("column", measure.text, named=measure.named)  # `the number of people killed`
                self.at += 1
        if (
            noun is not None
            and self.slots.order is None
            and (noun.kind == "column" or (function and noun.kind == "table"))
        ):
            self.at += 1
            self.slots.order = Asked(self._placed(noun), function)  # type: ignore[arg-type]
            self._owned_by_next(noun)
        elif noun is not None and self.slots.order is None and not noun.is_operator("sentence"):
            raise NotSure("it is not clear what to order by")

    def _owned_by_next(self, noun: Chunk) -> None:
        """`the ranking of the market`: the table that follows says only whose column it is."""
        of, table = self._next(), self._next(1)
        if of is not None and of.is_operator("of") and table is not None and table.kind == "table":
            self.slots.owners[id(noun)] = table
            self.slots.context.append(self._placed(table))
            self.at += 2


FLAGS = {"or": "either", "both": "both", "distinct": "distinct", "not": "negated", "neither": "negated"}
"""What these say holds until it finds its place."""
OPERATORS: dict[str, Callable[[Placing, Chunk], None]] = {
    "sentence": lambda placing, _: placing._end_sentence(),
    "largest": Placing._by_adjective,
    "smallest": Placing._by_adjective,
    "clause": lambda placing, _: placing._begin_clause(),
    "from": lambda placing, _: placing._begin_part(),
    "share": Placing._share,
    "everything": lambda placing, _: placing._everything(),
    "more": Placing._more,
    "fewer": Placing._more,
    "than": lambda placing, _: placing._than(),
    "count": lambda placing, _: placing._count(),
    "commonest": lambda placing, _: placing._commonest(),
    "most": lambda placing, _: placing._most("most"),
    "least": lambda placing, _: placing._most("least"),
    "each": lambda placing, _: placing._each(),
    "order": Placing._order,
    "descending": Placing._order,
    "ascending": Placing._order,
    "top": Placing._top,
}
"""What else an operator does to the slots; `and`, `of`, `all` and `=` say nothing by themselves."""
