"""Where names of a question belong: asked for, restricted by, ordered by, or partners of what is asked for.

In: chunks that name tables, columns and sources. Out: the nouns of the `Slots`.
"""

from __future__ import annotations

from coset.answering.offline.chunks import Chunk
from coset.answering.offline.outcome import NotSure
from coset.answering.offline.placing_conditions import ConditionPlacing
from coset.answering.offline.slots import Asked, Link
from coset.answering.offline.walk import COMPARISONS, FUNCTIONS, NOUNS
from coset.identities.words import singular


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
            raise NotSure(f"it is not clear which measure of '{chunk.text}' is meant")
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
