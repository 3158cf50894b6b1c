"""Which tables and columns the names of a question mean.

In: slots, what is known. Out: `Names`, which the conditions and the plan are resolved with. A name that means several
things equally well raises `NotSure`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from coset.answering.offline.catalogue import Known, Named, is_number
from coset.answering.offline.expressions import holds_numbers
from coset.answering.offline.parse_conditions import Slots
from coset.answering.offline.plan import NotSure, Output
from coset.answering.offline.tokenize import Chunk
from coset.routing.anchors.spelling import normalised
from coset.routing.objects.facts import ColumnFacts, TableFacts

Doubt = str
"""What makes an answer less sure, in the words of `certainty`."""
MEASURES = frozenset(("amount", "price", "cost", "revenue", "total"))


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
                    raise NotSure(f"'{chunk.text}' may be {' or '.join(sorted(c.reference for c in top)[:3])}")
                self._say(chunk, top[0].reference)
                if own and top[0].table not in own[0] and top[0].table in own[1]:
                    self.doubts.append("of a table beside")
                self._doubt_name(named[top[0].reference])
                return top[0]
        raise NotSure(f"'{chunk.text}' names no column that can be used here")

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

    def _is(self, chunk: Chunk, table: str) -> bool:
        best = self._candidates(chunk)
        return any(named.reference == table and named.quality == best[0].quality for named in best)


def is_date(column: ColumnFacts) -> bool:
    """Whether a column holds days: by its type, or by the expression that reads it as days."""
    if column.type.upper().startswith(("DATE", "TIMESTAMP")):
        return True
    return any(cleaning.type in ("DATE", "TIMESTAMP") for cleaning in column.cleaning)
