r"""A plain `pg_dump` file (SQL text, perhaps compressed) as a source, read without a server and never executed.

In: the path of the dump. Out: its tables, and their rows as Arrow. The first question makes one pass over the file,
which finds every table, its exact number of rows and where they lie; `read` then goes straight there (a compressed
file is read again from its beginning).

Change is known by the file's size and time of last change, for all tables alike: a file rewritten with the same size
and a time stamp set back goes unseen, and a dump made anew counts as changed even where its rows are the same.

What the file does not hold is not made up: generated columns, and columns that only a sequence or function would fill,
are left out; views and materialised views are not listed. Partitions are listed as their parent, and a parent in an
inheritance has its children's rows too, as in PostgreSQL. A file cut off between two statements cannot be told from a
whole one; one that is cut off anywhere else is refused.

How values become Arrow is in `types`, the file format in `index` and `rows`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from coset.environment.scan import EVERYTHING, Operation, Scan
from coset.environment.source import Column, ForeignKey, Source, SourceSettings, Table, WrittenQuery, unique_names
from coset.environment.sources.postgresql_dump.definitions import ColumnDefinition, PgType
from coset.environment.sources.postgresql_dump.file import BLOCK_BYTES, Cursor, DumpFile, Unreadable
from coset.environment.sources.postgresql_dump.index import (
    DumpIndex,
    DumpTable,
    Key,
    Segment,
    build_index,
    insert_columns,
)
from coset.environment.sources.postgresql_dump.lexer import TooLong, skip_blanks
from coset.environment.sources.postgresql_dump.rows import (
    DEFAULT_WORDS,
    NULL_WORDS,
    CopyLines,
    InsertRows,
    literals_to_text,
    split_copy_lines,
)
from coset.environment.sources.postgresql_dump.types import Facts, arrow_type, duckdb_type, to_arrow
from coset.errors import LimitReached, SourceUnreachable, TableVanished

_SMALL_BLOCK_BYTES = 1 << 18
_FEW_ROWS = 2_000
_BATCH_ROWS = 65_536
_LONGEST_ROW = 1 << 30


@dataclass(frozen=True)
class _Listed:
    """A table as it is exposed, with where its rows come from."""

    table: Table
    parts: tuple[DumpTable, ...]
    types: dict[str, PgType]
    """By exposed column name."""


class PostgreSQLDump(Source):
    kind: ClassVar[str] = "postgresql_dump"
    pushes: ClassVar[frozenset[Operation]] = frozenset({"columns", "limit"})

    def __init__(self, settings: SourceSettings) -> None:
        super().__init__(settings)
        self._file = DumpFile(settings.path)
        self._longest = min(2 * settings.limits.cell_bytes + (1 << 20), _LONGEST_ROW)
        self._stamp: str | None = None
        self._listed: dict[tuple[str | None, str], _Listed] = {}
        self._open: set[Cursor] = set()

    def tables(self) -> list[Table]:
        return [listed.table for listed in self._current().values()]

    def fingerprint(self) -> str | None:
        try:
            return self._file.stamp()
        except Unreadable as problem:
            raise self._unreachable(problem) from None

    def change_token(self, table: Table) -> str | None:
        return self.fingerprint()

    def written_queries(self) -> list[WrittenQuery]:
        try:
            with self.settings.path.open(encoding="utf-8", errors="replace") as lines:
                return list(_views(lines))
        except OSError as error:
            raise SourceUnreachable(self.settings.name, f"cannot be read ({error.strerror})") from None

    def read(self, table: Table, scan: Scan = EVERYTHING) -> pa.RecordBatchReader:
        listed = self._current().get((table.schema, table.name))
        if listed is None:
            raise TableVanished(
                f"source '{self.settings.name}': table {table.qualified_name} is no longer in {self.settings.path}"
            )
        names = scan.columns if scan.columns is not None else tuple(column.name for column in table.columns)
        current = {column.name: column for column in listed.table.columns}
        for column in table.columns:
            if column.name in names and (column.name not in current or current[column.name].type != column.type):
                raise TableVanished(
                    f"source '{self.settings.name}': column {column.name} of table {table.qualified_name} "
                    f"is no longer in {self.settings.path} as it was listed"
                )
        columns = [current[name] for name in names]
        schema = pa.schema([(column.name, arrow_type(column.type)) for column in columns])
        return pa.RecordBatchReader.from_batches(schema, self._batches(listed, columns, schema, scan.limit))

    def close(self) -> None:
        for cursor in list(self._open):
            cursor.close()
        self._open.clear()

    # --- listing

    def _current(self) -> dict[tuple[str | None, str], _Listed]:
        """The tables by exposed schema and name; the pass is made again when the file has changed."""
        try:
            stamp = self._file.stamp()
            if stamp != self._stamp:
                self._listed = _exposed(build_index(self._file, self._longest))
                self._stamp = stamp
        except Unreadable as problem:
            raise self._unreachable(problem) from None
        except TooLong as problem:
            raise LimitReached(
                f"source '{self.settings.name}': the statement in line {problem.line} of {self.settings.path} is "
                f"longer than {self._longest:,} bytes; raise limits.cell_bytes of this source to read it"
            ) from None
        return self._listed

    def _unreachable(self, problem: Unreadable) -> SourceUnreachable:
        reason = str(problem)
        path = str(self.settings.path)
        return SourceUnreachable(
            self.settings.name, self.settings.redact(reason if path in reason else f"{path}: {reason}")
        )

    # --- rows

    def _batches(
        self, listed: _Listed, columns: Sequence[Column], schema: pa.Schema, limit: int | None
    ) -> Iterator[pa.RecordBatch]:
        stamp = self._stamp
        left = limit
        block_bytes = _SMALL_BLOCK_BYTES if limit is not None and limit <= _FEW_ROWS else BLOCK_BYTES
        # In the file's order, so that a compressed file is read once for all partitions.
        places = [(segment, part) for part in listed.parts for segment in part.segments]
        places.sort(key=lambda place: place[0].offset)
        cursor: Cursor | None = None
        try:
            for part in listed.parts:
                if part.too_long is not None:
                    raise TooLong(part.too_long)
            for segment, part in places:
                if left == 0:
                    return
                if cursor is not None:
                    self._open.discard(cursor)
                cursor = self._file.move(cursor, segment.offset, segment.line, block_bytes)
                self._open.add(cursor)
                for batch in self._segment_batches(cursor, listed, part, segment, columns, schema):
                    batch = batch if left is None else batch.slice(0, left)
                    left = None if left is None else left - batch.num_rows
                    for start in range(0, batch.num_rows, _BATCH_ROWS):
                        yield batch.slice(start, _BATCH_ROWS)
                    if left == 0:
                        break
            if self._file.stamp() != stamp:
                raise Unreadable("the file changed while it was read; try again")
        except Unreadable as problem:
            raise self._unreachable(problem) from None
        except TooLong as problem:
            raise LimitReached(
                f"source '{self.settings.name}': table {listed.table.qualified_name} has a row in line {problem.line} "
                f"of {self.settings.path} longer than {self._longest:,} bytes; raise limits.cell_bytes to read it"
            ) from None
        finally:
            if cursor is not None:
                self._open.discard(cursor)
                cursor.close()

    def _segment_batches(
        self,
        cursor: Cursor,
        listed: _Listed,
        part: DumpTable,
        segment: Segment,
        columns: Sequence[Column],
        schema: pa.Schema,
    ) -> Iterator[pa.RecordBatch]:
        places = {name: place for place, name in enumerate(segment.columns)}
        # Column by column: its place among the values of this segment, or None where it always has its default.
        wanted = [places.get(column.native_name) for column in columns]
        present = tuple(sorted({place for place in wanted if place is not None}))
        definitions = [part.column(column.native_name) for column in columns]
        missing = [
            None if place is not None else _default(definition, segment)
            for place, definition in zip(wanted, definitions, strict=True)
        ]
        for texts, rows in self._texts(cursor, part, segment, present):
            arrays = []
            for column, place, default in zip(columns, wanted, missing, strict=True):
                text = texts[place] if place is not None else pa.repeat(pa.scalar(default, pa.string()), rows)
                try:
                    array = to_arrow(listed.types[column.name], column.type, text)
                except ValueError as error:
                    raise Unreadable(
                        f"column {column.name} of {listed.table.qualified_name} holds a value, in the rows from line "
                        f"{segment.line} on, that is not {column.native_type}: {error}"
                    ) from None
                self._check_size(listed.table, column, array)
                arrays.append(array)
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)

    def _texts(
        self, cursor: Cursor, part: DumpTable, segment: Segment, present: tuple[int, ...]
    ) -> Iterator[tuple[dict[int, pa.Array], int]]:
        """The values at `present` places, as text, and how many rows they are."""
        if segment.kind == "copy":
            line = segment.line
            for chunk in CopyLines(cursor, self._longest):
                rows = chunk.count(b"\n")
                # The CSV reader wants at least one column, also where only defaults are asked for.
                yield split_copy_lines(chunk, len(segment.columns), present or (0,), line), rows
                line += rows
            return
        statements = InsertRows(cursor, segment.backslash_escapes, self._longest)
        words = [_words(part.column(segment.columns[place])) for place in present]
        while cursor.offset < segment.end and skip_blanks(cursor):
            header = statements.header()
            if header is None:
                raise Unreadable(f"line {cursor.line} is not the INSERT statement it was when the tables were listed")
            own = (header.name[0] or segment.default_schema, header.name[1]) == part.key
            own = own and insert_columns(part, header.columns, statements.width(header)) == segment.columns
            for batch in statements.rows(header, present if own else ()):
                if own and batch:
                    literals = list(zip(*batch, strict=True))
                    yield (
                        {place: literals_to_text(literals[index], words[index]) for index, place in enumerate(present)},
                        len(batch),
                    )

    def _check_size(self, table: Table, column: Column, array: pa.Array) -> None:
        limit = self.settings.limits.cell_bytes
        flat = array.flatten() if pa.types.is_list(array.type) else array
        if flat.nbytes <= limit:
            return
        largest = pc.max(pc.binary_length(flat)).as_py() or 0
        if largest > limit:
            raise LimitReached(
                f"source '{self.settings.name}': column {column.name} of table {table.qualified_name} has a value of "
                f"{largest:,} bytes, more than the {limit:,} of limits.cell_bytes; raise it, or leave the column out"
            )


def _default(definition: ColumnDefinition | None, segment: Segment) -> str | None:
    if definition is None or definition.default.kind == "literal":
        return None if definition is None else definition.default.value
    raise Unreadable(
        f"the rows from line {segment.line} on leave column {definition.name} to its default, which only a server "
        "can compute; load the file into PostgreSQL and name that as the source"
    )


def _words(definition: ColumnDefinition | None) -> dict[bytes, bytes | None]:
    """What NULL and DEFAULT stand for in the rows of a column."""
    words: dict[bytes, bytes | None] = dict.fromkeys(NULL_WORDS)
    if definition is not None and definition.default.kind == "literal":
        value = definition.default.value
        words |= dict.fromkeys(DEFAULT_WORDS, None if value is None else value.encode())
    return words


def _exposed(index: DumpIndex) -> dict[tuple[str | None, str], _Listed]:
    """Tables with SQL names, unique ignoring case, and keys expressed in them."""
    by_schema: dict[str, list[DumpTable]] = {}
    for table in index.listed():
        by_schema.setdefault(table.key[0], []).append(table)
    schemas = dict(zip(by_schema, unique_names(by_schema), strict=True))
    names: dict[Key, str] = {}
    for tables in by_schema.values():
        exposed = unique_names(table.key[1] for table in tables)
        names |= {table.key: name for table, name in zip(tables, exposed, strict=True)}
    columns = {table.key: _exposed_columns(table, index.parts(table)) for table in index.listed()}
    result: dict[tuple[str | None, str], _Listed] = {}
    for table in index.listed():
        parts = index.parts(table)
        exposed_names = {column.native_name: column.name for column in columns[table.key]}
        exposed_table = Table(
            name=names[table.key],
            native_name=table.key[1],
            columns=tuple(columns[table.key]),
            schema=schemas[table.key[0]],
            rows=sum(part.rows for part in parts),
            rows_exact=True,
            bytes=sum(part.bytes for part in parts),
            primary_key=_names(exposed_names, table.primary_key),
            foreign_keys=tuple(_foreign_keys(table, index, names, schemas, columns)),
            comment=table.comment,
        )
        types = {exposed_names[column.name]: column.type for column in table.columns if column.name in exposed_names}
        result[(exposed_table.schema, exposed_table.name)] = _Listed(exposed_table, tuple(parts), types)
    return result


def _exposed_columns(table: DumpTable, parts: Sequence[DumpTable]) -> list[Column]:
    has_rows = any(part.rows for part in parts)
    given = set[str]().union(*(part.given for part in parts))
    held = [
        column
        for column in table.columns
        if not column.generated and not (has_rows and column.default.kind == "computed" and column.name not in given)
    ]
    columns = []
    for column, name in zip(held, unique_names(column.name for column in held), strict=True):
        facts = Facts()
        for part in parts:
            facts.merge(part.facts.get(column.name, Facts()))
        columns.append(
            Column(
                name=name,
                type=duckdb_type(column.type, facts),
                native_name=column.name,
                native_type=column.type.text,
                nullable=column.nullable and column.name not in table.primary_key,
                comment=table.column_comments.get(column.name),
            )
        )
    return columns


def _names(exposed: dict[str, str], native: tuple[str, ...]) -> tuple[str, ...]:
    """Exposed names for a key's columns; none where one of them is not in the file."""
    return tuple(exposed[name] for name in native) if all(name in exposed for name in native) else ()


def _foreign_keys(
    table: DumpTable,
    index: DumpIndex,
    names: dict[Key, str],
    schemas: dict[str, str],
    columns: dict[Key, list[Column]],
) -> Iterator[ForeignKey]:
    own = {column.native_name: column.name for column in columns[table.key]}
    for reference in table.references:
        key = (reference.table[0] or table.key[0], reference.table[1])
        if key not in names:
            continue
        others = {column.native_name: column.name for column in columns[key]}
        theirs = _names(others, reference.references_columns or index.tables[key].primary_key)
        ours = _names(own, reference.columns)
        if ours and len(ours) == len(theirs):
            yield ForeignKey(ours, schemas[key[0]], names[key], theirs)


_VIEW = re.compile(
    r"CREATE (?:OR REPLACE )?(?:MATERIALIZED )?VIEW (?:(?P<schema>\w+|\"[^\"]+\")\.)?(?P<name>\w+|\"[^\"]+\")",
    re.IGNORECASE,
)
_LONGEST_VIEW = 10_000


def _views(lines: Iterable[str]) -> Iterator[WrittenQuery]:
    """The definitions of views among the statements of a dump; rows of COPY are passed by."""
    copying, view, text = False, None, []
    for line in lines:
        if copying:
            copying = line.rstrip("\n") != "\\."
        elif view is not None:
            text.append(line)
            if line.rstrip().endswith(";") or len(text) > _LONGEST_VIEW:
                yield WrittenQuery(view["name"].strip('"'), "".join(text), (view["schema"] or "public").strip('"'))
                view = None
        elif line.startswith("COPY ") and "FROM stdin" in line:
            copying = True
        elif (view := _VIEW.match(line)) is not None:
            text = [line]
            if line.rstrip().endswith(";"):
                yield WrittenQuery(view["name"].strip('"'), line, (view["schema"] or "public").strip('"'))
                view = None
