"""Tables of one shape as one relation: `trade.all_tables` reads 2,753 tables, with `table_name` saying which.

In: a source and its listed tables. Out: a source like any other, with one table for each family, so that the guard, the
planner and the worker need no second way of reading. Rows are gathered from the members, and only from those that a
condition on the name column keeps; a column that some members lack is NULL for them, one of several types is text, or a
number where all are. Gathered once, the session keeps them as one local copy until a member changes. Knows nothing of
what the rows mean.
"""

from __future__ import annotations

import dataclasses
import hashlib
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from coset.environment.catalogue import Catalogue, SourceListing
from coset.environment.confined_duckdb import confined_connection
from coset.environment.families import Family, Member, find_families, naming_column, relation_name
from coset.environment.scan import (
    EVERYTHING,
    Condition,
    Operation,
    Scan,
    columns_of,
    condition_to_sql,
    conjunction,
    keeps_text,
    parts_of,
)
from coset.environment.source import Column, Source, Table
from coset.errors import LimitReached
from coset.session.pushdown import Prepared, Reference
from coset.session.snapshots import file_type, in_place
from coset.sql_text import identifier, literal

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa
    import sqlglot.expressions as sge

AT_ONCE = 100
"""So many members are gathered by one statement: a statement over thousands takes DuckDB long to plan."""
FEW = 100
BATCH_ROWS = 16_384
COMPARES: frozenset[Operation] = frozenset(
    {"columns", "null", "compare:number", "compare:text", "compare:time", "compare:boolean"}
)


@dataclass(frozen=True)
class FamilyTable:
    """A family with the table that stands for it and the members behind that."""

    table: Table
    naming: str
    """The column that says which member a row is of."""
    members: tuple[tuple[str, Table], ...]
    """What stands in that column, and the member."""

    def kept(self, where: Condition | None) -> tuple[tuple[str, Table], ...]:
        """The members that a condition may keep rows of."""
        parts = [part for part in parts_of(where) if columns_of(part) == {self.naming}]
        return tuple(member for member in self.members if all(keeps_text(part, member[0]) for part in parts))

    def rest(self, where: Condition | None) -> Condition | None:
        """What of a condition speaks of stored columns only; what speaks of both is left to the statement."""
        return conjunction([part for part in parts_of(where) if self.naming not in columns_of(part)])


@dataclass(frozen=True)
class _Gathering:
    """What is read of a family, and by which connection."""

    connection: duckdb.DuckDBPyConnection
    held: FamilyTable
    members: Sequence[tuple[str, Table]]
    columns: Sequence[Column]
    where: Condition | None

    def outputs(self, name: str, member: Table) -> str:
        """The columns as one member has them: in the family's types, NULL for what it lacks."""
        there = _names_there(member)
        outputs = []
        for column in self.columns:
            value = identifier(there[column.name.lower()]) if column.name.lower() in there else "NULL"
            value = literal(name) if column.name == self.held.naming else value
            outputs.append(f"CAST({value} AS {file_type(column.type)}) AS {identifier(column.name)}")
        return ", ".join(outputs)


class FamilyTables(Source):
    """The families of one source. Nothing here writes, and a source that may show no value shows none."""

    kind = "family"
    pushes: ClassVar[frozenset[Operation]] = COMPARES

    def __init__(self, source: Source, tables: Sequence[Table]) -> None:
        super().__init__(source.settings)
        self.source = source
        by_place = {(table.schema, table.name): table for table in tables}
        taken = {(table.schema, table.name.lower()) for table in tables}
        self._held: dict[tuple[str | None, str], FamilyTable] = {}
        for found in find_families(tables):
            made = _family_table(found, by_place)
            place = made.table.schema, made.table.name.lower()
            if place not in taken:
                self._held.setdefault(place, made)

    def tables(self) -> list[Table]:
        return [held.table for held in self._held.values()]

    def find(self, parts: Sequence[str]) -> Table | None:
        """The family that `source.name` or `source.schema.name` names; None when there is none, or several."""
        name = parts[-1].lower()
        schema = parts[1].lower() if len(parts) == 3 else None
        found = [
            held.table
            for (in_schema, written), held in self._held.items()
            if written == name and schema in (None, (in_schema or "main").lower())
        ]
        return found[0] if len(found) == 1 and len(parts) in (2, 3) else None

    def family(self, table: Table) -> FamilyTable:
        return self._held[table.schema, table.name.lower()]

    def keeps_few(self, table: Table, scan: Scan) -> bool:
        """Whether a scan needs so few of the members that gathering them all would be a waste."""
        held = self.family(table)
        return len(held.kept(scan.where)) <= min(FEW, len(held.members) // 2)

    def change_token(self, table: Table) -> str | None:
        tokens = [(name, self.source.change_token(member)) for name, member in self.family(table).members]
        if any(token is None for _, token in tokens):
            return None
        return hashlib.sha256("\n".join(f"{name}\t{token}" for name, token in tokens).encode()).hexdigest()

    def pushes_for(self, table: Table, column: str) -> frozenset[Operation]:
        held = self.family(table)
        if column == held.naming:
            return COMPARES
        if self._are_in_place(held):
            return COMPARES if len(_types(held, column)) == 1 else frozenset()
        allowed = COMPARES & self.source.pushes
        for _, member in held.members:
            if column not in {each.name for each in member.columns}:
                return frozenset()  # What a member lacks it cannot be asked for.
            allowed &= self.source.pushes_for(member, column)
        return allowed if len(_types(held, column)) == 1 else frozenset()

    def read(self, table: Table, scan: Scan = EVERYTHING) -> pa.RecordBatchReader:
        import pyarrow as pa

        held = self.family(table)
        names = scan.columns or tuple(column.name for column in table.columns)
        columns = [table.column(name) for name in names]
        connection = confined_connection(*self.source.readable_places())
        empty = ", ".join(f"CAST(NULL AS {file_type(each.type)}) AS {identifier(each.name)}" for each in columns)
        schema = connection.sql(f"SELECT {empty} LIMIT 0").to_arrow_reader(1).schema
        return pa.RecordBatchReader.from_batches(schema, self._batches(connection, held, columns, scan))

    def _batches(
        self, connection: duckdb.DuckDBPyConnection, held: FamilyTable, columns: Sequence[Column], scan: Scan
    ) -> Iterator[pa.RecordBatch]:
        members = () if scan.limit == 0 else held.kept(scan.where)
        gathering = _Gathering(connection, held, members, columns, held.rest(scan.where))
        gathered = self._in_place(gathering) if self._are_in_place(held) else self._through_source(gathering)
        ends = time.monotonic() + self.settings.limits.query_seconds
        try:
            for reader in gathered:
                yield from reader
                if time.monotonic() > ends:
                    raise LimitReached(
                        f"gathering '{self.settings.name}.{held.table.name}' took longer than "
                        f"{self.settings.limits.query_seconds:,.0f} seconds: keep fewer tables by {held.naming}, "
                        "or raise limits.query_seconds of its source"
                    )
        finally:
            connection.close()

    def _in_place(self, asked: _Gathering) -> Iterator[pa.RecordBatchReader]:
        """Members that DuckDB reads where they lie, many at a time."""
        attached: set[str] = set()
        kept = ""
        if asked.where is not None:
            kept = f" WHERE {condition_to_sql(asked.where, _column).sql(dialect='duckdb')}"
        for first in range(0, len(asked.members), AT_ONCE):
            parts = []
            for name, member in asked.members[first : first + AT_ONCE]:
                place = self.source.in_place(member)
                assert place is not None  # noqa: S101 - `_are_in_place` asked
                local = in_place(self.source, member, place)
                for alias, path in local.attach:
                    if alias not in attached:
                        asked.connection.execute(
                            f"ATTACH {literal(path)} AS {identifier(alias)} (READ_ONLY, TYPE duckdb)"
                        )
                        attached.add(alias)
                outputs = asked.outputs(name, member)
                parts.append(f"SELECT {outputs} FROM (SELECT * FROM ({local.query}){kept})")
            yield asked.connection.sql(" UNION ALL ".join(parts)).to_arrow_reader(BATCH_ROWS)

    def _through_source(self, asked: _Gathering) -> Iterator[pa.RecordBatchReader]:
        """Members whose rows come through the source's own client, one after the other."""
        for name, member in asked.members:
            there = _names_there(member)
            wanted = tuple(there[each.name.lower()] for each in asked.columns if each.name.lower() in there)
            wanted = wanted or (member.columns[0].name,)
            asked.connection.register("arriving", self.source.read(member, Scan(columns=wanted, where=asked.where)))
            outputs = asked.outputs(name, member)
            yield asked.connection.sql(f"SELECT {outputs} FROM arriving").to_arrow_reader(BATCH_ROWS)
            asked.connection.unregister("arriving")

    def _are_in_place(self, held: FamilyTable) -> bool:
        return all(self.source.in_place(member) is not None for _, member in held.members)


def _family_table(found: Family, by_place: dict[tuple[str | None, str], Table]) -> FamilyTable:
    members = tuple((_written(found, member), by_place[member.schema, member.name]) for member in found.members)
    pairs = (*found.columns, *found.optional)
    naming = naming_column(found.pattern, (name for name, _ in pairs))
    columns = [Column(name, kind, name, kind) for name, kind in ((naming, "VARCHAR"), *pairs)]
    schemas = {member.schema for member in found.members}
    counts = [member.rows for _, member in members]
    sizes = [member.bytes for _, member in members]
    table = Table(
        name=relation_name(found.pattern),
        native_name=f"family {found.pattern}",
        columns=tuple(columns),
        schema=found.members[0].schema if len(schemas) == 1 else None,
        rows=None if None in counts else sum(count or 0 for count in counts),
        bytes=None if None in sizes else sum(size or 0 for size in sizes),
    )
    return FamilyTable(table, naming, members)


def _written(found: Family, member: Member) -> str:
    """How a member stands in the naming column: by its table, or by its schema where the table is the same in all."""
    return (member.schema or "") if len({each.name for each in found.members}) == 1 else member.name


def _types(held: FamilyTable, column: str) -> set[str]:
    return {each.type for _, member in held.members for each in member.columns if each.name.lower() == column.lower()}


def _names_there(member: Table) -> dict[str, str]:
    """How a member writes its columns."""
    return {each.name.lower(): each.name for each in member.columns}


def _column(name: str) -> sge.Expr:
    import sqlglot.expressions as sge

    return sge.column(sge.to_identifier(name, quoted=True))


class Families:
    """Those of one session."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._held: dict[str, tuple[SourceListing, FamilyTables]] = {}

    def find(self, parts: tuple[str, ...]) -> tuple[Source, Table] | None:
        """The family that `source.name` names, with the source that gathers it."""
        families = self._of(parts[0])
        table = families.find(parts) if families is not None else None
        return (families, table) if families is not None and table is not None else None

    def _of(self, name: str) -> FamilyTables | None:
        listing = next((each for each in self._catalogue.listings.values() if each.name.lower() == name.lower()), None)
        if listing is None or listing.name not in self._catalogue.sources:
            return None
        held = self._held.get(listing.name)
        if held is None or held[0] is not listing:
            held = listing, FamilyTables(self._catalogue.sources[listing.name], listing.tables)
            self._held[listing.name] = held
        return held[1]


def with_few_members(
    references: list[Reference],
    lacking: Collection[tuple[str, str, str]],
    prepare: Callable[[list[Reference]], Prepared],
) -> list[Reference]:
    """Of a family that lacks a copy, of which the statement keeps few tables, only those are to be fetched."""
    whole = [each for each in references if isinstance(each.source, FamilyTables) and each.relation in lacking]
    if not whole:
        return references
    fetched = [dataclasses.replace(each, stays=each.stays or each in whole) for each in references]
    few = {
        fetch.relation
        for fetch in prepare(fetched).fetches
        if isinstance(fetch.source, FamilyTables) and fetch.source.keeps_few(fetch.table, fetch.scan)
    }
    return [dataclasses.replace(each, stays=each.stays or each.relation in few) for each in references]
