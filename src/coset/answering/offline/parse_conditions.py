"""Parsing, first half: the slots of a question, the walk over its chunks, and where values, numbers and dates belong.

In: tagged chunks. Out: `Slots` (what is asked for, what restricts, groups and orders it), filled with the conditions:
each belongs to the column before or after it, or to a partner of what is asked for. Names are placed in `parse`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from coset.answering.offline.plan import Comparison, Function, NotSure
from coset.answering.offline.tokenize import Chunk


@dataclass
class Restriction:
    """A condition in the question's words: on a named column, or on whichever column holds the value."""

    values: list[Chunk] = field(default_factory=list)
    column: Chunk | None = None
    comparison: Comparison = "="
    negated: bool = False
    both: bool = False
    in_part: bool = False
    either: bool = False
    """Whether it is joined to the one before by `or`."""
    place: int = 0
    near: Chunk | None = None
    """The table that was named last before it."""
    against: Function | None = None
    """What it is compared with: not a number, but the average (or the like) of the column itself."""


@dataclass
class Link:
    """Partners in another table: some, none, or so many."""

    table: Chunk
    negated: bool = False
    comparison: Comparison | None = None
    number: int = 0
    place: int = 0


@dataclass
class Asked:
    """Something asked for: a column, a table's entities, a count or another aggregate."""

    noun: Chunk
    function: Function | None = None
    distinct: bool = False


@dataclass
class Slots:
    asked: list[Asked] = field(default_factory=list)
    context: list[Chunk] = field(default_factory=list)
    """Tables that only say whose columns are meant."""
    restrictions: list[Restriction] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    each: list[Chunk] = field(default_factory=list)
    order: Asked | None = None
    order_by_links: bool = False
    descending: bool = False
    ordered: bool = False
    limit: int | None = None
    several: bool = False
    """Whether what is the first of an order was asked for in the plural: then all that share the first place are."""
    share: bool = False
    percent: bool = False
    sources: list[tuple[int, Chunk]] = field(default_factory=list)
    """Sources with their place, to be told which table they belong to."""
    both_nouns: Chunk | None = None
    everything: bool = False
    contrast: Comparison | None = None
    """Two groups are compared: the first one, as it was said, is asked to have more (or less)."""
    contrasted_from: int | None = None
    """How many restrictions were said before `than`: what follows is the second group."""
    some: list[Chunk] = field(default_factory=list)
    """Columns of which only is said that there are some: `colleges that have authors with ...`."""
    distinct: bool = False
    hints: list[Chunk] = field(default_factory=list)
    owners: dict[int, Chunk] = field(default_factory=dict)
    """The table of which a column was said to be, by the identity of the column's chunk."""
    places: dict[int, int] = field(default_factory=dict)
    """Where each noun stood, by the identity of its chunk."""


FUNCTIONS = ("avg", "sum", "max", "min")
ORDERING = (">", ">=", "<", "<=")
COMPARISONS = (*ORDERING, "between", "like")
NOUNS = ("table", "column")


class Walk:
    """Goes through the chunks once. `in_clause` is true after a word that opens a clause (with, whose, that, have)."""

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        self.chunks, self.at = list(chunks), 0
        self.slots = Slots()
        self.in_clause = self.in_part = self.after_order = False
        self.functions: list[Function] = []
        self.superlative: str | None = None
        self.distinct = self.negated = self.both = self.either = False
        self.before_stop: list[Asked] = []
        self.hint: Chunk | None = None
        self.last_table: Chunk | None = None
        self.waiting: Chunk | None = None
        """A column that was set aside for the comparison or value that follows it."""

    def _next(self, offset: int = 0) -> Chunk | None:
        place = self.at + offset
        return self.chunks[place] if place < len(self.chunks) else None

    def _before(self) -> Chunk | None:
        return self.chunks[self.at - 2] if self.at > 1 else None

    def _skip(self, *operators: str) -> None:
        while (chunk := self._next()) is not None and chunk.is_operator(*operators):
            self.at += 1

    def _last_column(self) -> Chunk | None:
        """The column just before a comparison, which was set aside for it."""
        column, self.waiting = self.waiting, None
        return column

    def _negation(self) -> bool:
        negated, self.negated = self.negated, False
        return negated

    def _placed(self, noun: Chunk) -> Chunk:
        self.slots.places[id(noun)] = self.at
        return noun

    def _is_distinct_next(self) -> bool:
        chunk = self._next()
        if chunk is not None and chunk.is_operator("distinct"):
            self.at += 1
            self.distinct = True
            return True
        return False


class ConditionPlacing(Walk):
    def _compare(self, chunk: Chunk) -> None:
        comparison: Comparison = chunk.operator  # type: ignore[assignment]
        self._skip("=")
        value = self._next()
        if value is not None and value.kind == "column" and self.waiting is None and self._is_dated(1):
            self.waiting = self._placed(value)  # `before the year 2006`
            self.at += 1
            self._skip("of")
            value = self._next()
        if value is not None and value.is_operator("avg", "max", "min") and comparison in ORDERING:
            self._compare_with_aggregate(chunk, comparison, value.operator)  # type: ignore[arg-type]
            return
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
        if column is None and comparison == "like":
            self._skip("clause", "of")
        after = self._next()
        if column is None and after is not None and after.kind == "table" and value.kind == "number":
            self.at += 1
            number = int(value.number or 0)
            self._linked(Link(self._placed(after), self._negation(), comparison, number))
            return
        if column is None and comparison == "like" and self.slots.asked and self.slots.asked[-1].noun.kind == "column":
            column = self.slots.asked[-1].noun
        if column is None and after is not None and after.kind == "column":
            self.at += 1
            column = self._placed(after)
        if column is None and value.kind == "number" and self.hint is not None:
            column = self._placed(self.hint)
        if column is None and value.kind != "date":
            raise NotSure(f"it is not clear what is to be {chunk.text} {value.text}")
        self._restrict(Restriction(values, column, comparison, self._negation(), in_part=self.in_part))

    def _compare_with_aggregate(self, chunk: Chunk, comparison: Comparison, function: Function) -> None:
        """`above average`, `higher than the average age`."""
        column = self._last_column()
        self.at += 1
        self._skip("of", "all")
        after = self._next()
        if after is not None and after.kind == "column":
            self.at += 1
            column = column or self._placed(after)
            self._skip("of", "all")
            owner = self._next()
            if owner is not None and owner.kind == "table":
                self.slots.owners[id(column)] = owner
                self.at += 1
        if column is None:
            raise NotSure(f"it is not clear what is to be {chunk.text} the {function}")
        following = self._next()
        if following is not None and not following.is_operator("and", "sentence", "order", "descending", "ascending"):
            raise NotSure("an aggregate of a part is not understood")
        self._restrict(Restriction([], column, comparison, self._negation(), in_part=self.in_part, against=function))

    def _is_dated(self, offset: int) -> bool:
        """Whether a date follows, with at most `of` before it."""
        while (after := self._next(offset)) is not None and after.is_operator("of"):
            offset += 1
        return after is not None and after.kind == "date"

    def _value(self, chunk: Chunk) -> None:
        column = self._last_column()
        before = self.slots.restrictions[-1] if self.slots.restrictions else None
        joins = (
            before is not None and before.comparison == "=" and before.against is None and self._joins(before, chunk)
        )
        if self.both and before is not None and before.both and joins and column is None:
            before.values.append(chunk)
            self.both = False
            return
        if self.either and before is not None and not before.both and joins and column is None:
            before.values.append(chunk)
            self.either = False
            return
        if not chunk.values and not chunk.code and column is None:
            raise NotSure(f"'{chunk.text}' is stored in no known column")
        self._restrict(Restriction([chunk], column, "=", self._negation(), in_part=self.in_part))

    def _joins(self, before: Restriction, chunk: Chunk) -> bool:
        """Whether a value may stand in the column of the values before it."""
        last = before.values[-1]
        if last.kind != "value":
            return False
        return bool({value.column for value in last.values} & {value.column for value in chunk.values})

    def _number(self, chunk: Chunk) -> None:
        column, after = self._last_column(), self._next()
        if column is not None:
            comparison = self._or_more()
            self._restrict(Restriction([chunk], column, comparison, self._negation(), in_part=self.in_part))
        elif after is not None and (
            self._begins_list(after) or after.is_operator("max", "min", "most", "least", "largest", "smallest")
        ):
            self.slots.limit = int(chunk.number or 0)
        elif after is not None and after.kind == "column" and self.in_clause:
            self.at += 1
            self._restrict(Restriction([chunk], self._placed(after), "=", self._negation(), in_part=self.in_part))
        elif after is not None and after.is_operator(">=") and (noun := self._next(1)) and noun.kind == "table":
            self.at += 2
            self._linked(Link(self._placed(noun), self._negation(), ">=", int(chunk.number or 0)))
        elif after is not None and after.kind == "table" and self.in_clause:
            self.at += 1
            self._linked(Link(self._placed(after), self._negation(), "=", int(chunk.number or 0)))
        elif (before := self._before()) is not None and before.kind == "table":
            self._restrict(Restriction([chunk], before, "=", self._negation(), in_part=self.in_part))
        elif self.hint is not None and self.in_clause:
            self._restrict(Restriction([chunk], self._placed(self.hint), "=", self._negation(), in_part=self.in_part))
        else:
            raise NotSure(f"it is not clear what '{chunk.text}' says")

    def _begins_list(self, after: Chunk) -> bool:
        """`which 5 customers`, `the names of the 5 customers`: the number stands before what is listed."""
        if self.in_clause or self.slots.limit is not None:
            return False
        return after.kind == "table" or (after.kind == "column" and not self.slots.asked)

    def _or_more(self) -> Comparison:
        """`2011 or later`, `5 or more`: the comparison stands after the number."""
        after = self._next()
        if after is not None and after.is_operator(">=", "<=") and after.text.startswith("or "):
            self.at += 1
            return after.operator  # type: ignore[return-value]
        return "="

    def _date(self, chunk: Chunk) -> None:
        column = self._last_column()
        if column is None and self.hint is not None:
            column = self._placed(self.hint)
        before = self.slots.restrictions[-1] if self.slots.restrictions else None
        if (self.either or (self.both and before and before.both)) and before is not None and column is None:
            column = before.column if before.values and before.values[-1].kind == "date" else None
        self._restrict(Restriction([chunk], column, self._or_more(), self._negation(), in_part=self.in_part))

    def _linked(self, link: Link) -> None:
        link.place = self.at
        self.last_table = link.table
        self.slots.links.append(link)

    def _restrict(self, restriction: Restriction) -> None:
        own = self.slots.restrictions
        restriction.place, restriction.near = self.at, self.last_table
        if self.either:
            if not own or own[-1].both or restriction.negated != own[-1].negated:
                raise NotSure("it is not clear what 'or' joins")
            restriction.either, self.either = True, False
        if self.both:
            restriction.both = True
            self.both = not (own and own[-1].both)
        own.append(restriction)
