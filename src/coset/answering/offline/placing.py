"""A small grammar of English question forms: every chunk finds its place by what stands before and after it.

In: chunks from left to right. Out: `Slots`. A chunk that finds no place raises `NotSure`: the question is declined.
"""

from __future__ import annotations

from collections.abc import Sequence

from coset.answering.offline.outcome import NotSure
from coset.answering.offline.plan import Comparison, Function
from coset.answering.offline.reading import Chunk
from coset.answering.offline.slots import Asked, Link, Restriction, Slots

FUNCTIONS = ("avg", "sum", "max", "min")
COMPARISONS = (">", ">=", "<", "<=", "between", "like")
NOUNS = ("table", "column")


class Placing:
    """Goes through the chunks once. `in_clause` is true after a word that opens a clause (with, whose, that, have)."""

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        self.chunks, self.at = list(chunks), 0
        self.slots = Slots()
        self.in_clause = self.in_part = False
        self.functions: list[Function] = []
        self.superlative: str | None = None
        self.distinct = self.negated = self.both = self.either = False

    def slots_of(self) -> Slots:
        while self.at < len(self.chunks):
            chunk = self.chunks[self.at]
            self.at += 1
            getattr(self, f"_{chunk.kind}")(chunk)
        if self.functions or self.negated or self.superlative:
            raise NotSure("the question ends where a name or value should follow")
        return self.slots

    def _next(self, offset: int = 0) -> Chunk | None:
        place = self.at + offset
        return self.chunks[place] if place < len(self.chunks) else None

    def _before(self) -> Chunk | None:
        return self.chunks[self.at - 2] if self.at > 1 else None

    def _skip(self, *operators: str) -> None:
        while (chunk := self._next()) is not None and chunk.is_operator(*operators):
            self.at += 1

    # Operators

    def _operator(self, chunk: Chunk) -> None:
        operator = chunk.operator
        if operator == "sentence":
            self.in_clause = self.in_part = False
        if operator in ("and", "of", "all", "sentence"):
            return
        if operator == "=":
            return
        if operator == "or":
            self.either = True
        elif operator == "both":
            self.both = True
        elif operator == "distinct":
            self.distinct = True
        elif operator == "not":
            self.negated = True
        elif operator == "clause":
            self.in_clause = self.in_clause or bool(self.slots.asked or self.slots.context)
        elif operator == "from":
            self.in_part, self.in_clause = self.slots.share, True
        elif operator == "share":
            self.slots.share = True
        elif operator == "count":
            self._count()
        elif operator in FUNCTIONS:
            self._function(operator)  # type: ignore[arg-type]
        elif operator == "commonest":
            self._commonest()
        elif operator in ("most", "least"):
            self._most(operator)
        elif operator == "each":
            self._each()
        elif operator in ("order", "descending", "ascending"):
            self._order(chunk)
        elif operator == "top":
            number = self._next()
            if number is None or number.kind != "number" or number.number is None:
                raise NotSure(f"'{chunk.text}' without a number is not understood")
            self.slots.limit, self.at = int(number.number), self.at + 1
        elif operator in COMPARISONS:
            self._compare(chunk)

    def _count(self) -> None:
        if self.in_clause:
            raise NotSure("a count inside a condition is not understood")
        self._skip("of", "all", "distinct") if not self._is_distinct_next() else None
        self._skip("of", "all")
        noun = self._next()
        if noun is None or noun.kind not in (*NOUNS, "source", "value"):
            raise NotSure("it is not clear what is to be counted")
        self.functions = ["count"]

    def _is_distinct_next(self) -> bool:
        chunk = self._next()
        if chunk is not None and chunk.is_operator("distinct"):
            self.at += 1
            self.distinct = True
            return True
        return False

    def _function(self, function: Function) -> None:
        if function in ("max", "min") and self.in_clause and not self.slots.share:
            self.superlative = function
        elif function == "sum" and self.superlative:
            self.functions.append("sum")
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

    def _limited(self, *, descending: bool) -> None:
        self.slots.descending, self.slots.ordered = descending, True
        if self.slots.limit is None:
            self.slots.limit = 1
        self.superlative = None

    def _each(self) -> None:
        self._skip("of", "all")
        if self._is_distinct_next():
            self.distinct = False
        noun = self._next()
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
        self.slots.ordered = True
        self.slots.descending = self.slots.descending or chunk.operator == "descending"
        self._skip("of", "order", "descending", "ascending", "clause") if chunk.operator != "order" else None
        noun = self._next()
        if noun is not None and noun.is_operator("descending", "ascending"):
            return
        if noun is not None and noun.kind == "column" and self.slots.order is None:
            self.at += 1
            self.slots.order = Asked(self._placed(noun))
        elif noun is not None and self.slots.order is None:
            raise NotSure("it is not clear what to order by")

    def _compare(self, chunk: Chunk) -> None:
        comparison: Comparison = chunk.operator  # type: ignore[assignment]
        self._skip("=")
        value = self._next()
        if value is None or value.kind not in ("number", "date", "value"):
            raise NotSure(f"'{chunk.text}' is followed by no number, date or value")
        values = [value]
        self.at += 1
        if comparison == "between":
            self._skip("and")
            upper = self._next()
            if upper is None or upper.kind != "number":
                raise NotSure("'between' needs two numbers")
            values.append(upper)
            self.at += 1
        column = self._last_column()
        after = self._next()
        if column is None and after is not None and after.kind == "table" and value.kind == "number":
            self.at += 1
            number = int(value.number or 0)
            self.slots.links.append(Link(self._placed(after), self._negation(), comparison, number))
            return
        if column is None and after is not None and after.kind == "column":
            self.at += 1
            column = self._placed(after)
        if column is None and value.kind != "date":
            raise NotSure(f"it is not clear what is to be {chunk.text} {value.text}")
        self._restrict(Restriction(values, column, comparison, self._negation(), in_part=self.in_part))

    def _last_column(self) -> Chunk | None:
        """The column just before a comparison, which was set aside for it."""
        column, self._waiting = self._waiting, None
        return column

    _waiting: Chunk | None = None

    def _negation(self) -> bool:
        negated, self.negated = self.negated, False
        return negated

    def _placed(self, noun: Chunk) -> Chunk:
        self.slots.places[id(noun)] = self.at
        return noun

    # Names

    def _column(self, chunk: Chunk) -> None:
        self._placed(chunk)
        after = self._next()
        if self._follows_value(chunk):
            return
        if self.both and after is None:
            self.slots.both_nouns, self.both = chunk, False
            return
        if self.superlative:
            self.slots.order = Asked(chunk, "sum" if "sum" in self.functions else None)
            self.functions = []
            self._limited(descending=self.superlative == "max")
            return
        if self._has_value(chunk):
            self._waiting = chunk
            return
        if self.functions:
            for function in self.functions:
                self.slots.asked.append(Asked(chunk, function, self.distinct))
            self.functions, self.distinct = [], False
            return
        if self.in_clause:
            raise NotSure(f"it is not clear what is said of '{chunk.text}'")
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
        while (after := self._next(offset)) is not None and after.is_operator("=", "not", "of", "clause"):
            offset += 1
        if after is None:
            return False
        if after.is_operator(*COMPARISONS):
            return all(each.is_operator("=", "not") for each in self.chunks[self.at : self.at + offset])
        if after.kind not in ("value", "number"):
            return False
        if offset and not self.in_clause and self.chunks[self.at].is_operator("of", "clause"):
            return False
        own = {named.reference for named in chunk.named}
        return after.kind == "number" or after.quoted or any(value.column in own for value in after.values)

    def _table(self, chunk: Chunk) -> None:
        self._placed(chunk)
        if self.superlative:
            if "sum" not in self.functions:
                raise NotSure(f"it is not clear which measure of '{chunk.text}' is meant")
            self.slots.order, self.functions = Asked(chunk, "sum"), []
            self._limited(descending=self.superlative == "max")
        elif self.functions == ["count"] or (self.functions and self.slots.share):
            self.slots.asked.append(Asked(chunk, "count", self.distinct))
            self.functions, self.distinct = [], False
        elif self.functions:
            raise NotSure(f"it is not clear which measure of '{chunk.text}' is meant")
        elif self.negated:
            self.slots.links.append(Link(chunk, self._negation()))
        elif self.in_clause and not self.in_part:
            self.slots.links.append(Link(chunk))
        else:
            self.slots.context.append(chunk)
            self.slots.distinct = self.slots.distinct or self.distinct
            self.distinct = False

    def _source(self, chunk: Chunk) -> None:
        self.slots.sources.append((self.at, chunk))

    # Values

    def _value(self, chunk: Chunk) -> None:
        column = self._last_column()
        before = self.slots.restrictions[-1] if self.slots.restrictions else None
        if self.both and before is not None and before.both:
            before.values.append(chunk)
            self.both = False
            return
        if self.either and before is not None and not before.both and column is None and before.comparison == "=":
            before.values.append(chunk)
            self.either = False
            return
        if not chunk.values and not chunk.code and column is None:
            raise NotSure(f"'{chunk.text}' is stored in no known column")
        self._restrict(Restriction([chunk], column, "=", self._negation(), both=self.both, in_part=self.in_part))

    def _number(self, chunk: Chunk) -> None:
        column, after = self._last_column(), self._next()
        if column is not None:
            self._restrict(Restriction([chunk], column, "=", self._negation(), in_part=self.in_part))
        elif after is not None and (self._begins_list(after) or after.is_operator("max", "min", "most", "least")):
            self.slots.limit = int(chunk.number or 0)
        elif after is not None and after.is_operator(">=") and (noun := self._next(1)) and noun.kind == "table":
            self.at += 2
            self.slots.links.append(Link(self._placed(noun), self._negation(), ">=", int(chunk.number or 0)))
        elif after is not None and after.kind == "table" and self.in_clause:
            self.at += 1
            self.slots.links.append(Link(self._placed(after), self._negation(), "=", int(chunk.number or 0)))
        else:
            raise NotSure(f"it is not clear what '{chunk.text}' says")

    def _begins_list(self, after: Chunk) -> bool:
        """`which 5 customers`: the number stands before the first thing asked for."""
        return after.kind in NOUNS and not (self.in_clause or self.slots.asked) and self.slots.limit is None

    def _date(self, chunk: Chunk) -> None:
        self._restrict(Restriction([chunk], self._last_column(), "=", self._negation(), in_part=self.in_part))

    def _restrict(self, restriction: Restriction) -> None:
        if self.either:
            raise NotSure("'or' between different conditions is not understood")
        if self.both and not restriction.both:
            raise NotSure("'both' between different conditions is not understood")
        self.slots.restrictions.append(restriction)
