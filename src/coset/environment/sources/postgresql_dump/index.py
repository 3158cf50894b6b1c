r"""One pass over a PostgreSQL dump: which tables it defines, and where in the file their rows are.

In: a `DumpFile`. Out: a `DumpIndex` with every table's columns, keys and comments, the places of its COPY blocks and
runs of INSERT statements, exact row counts, and the `Facts` of its values that decide DuckDB types.

Statements are recognised, never executed. What only a server could follow and would change the rows (UPDATE, DELETE,
INSERT ... SELECT, a renamed column) is refused with its line; what does not touch rows (functions, views, grants) is
passed over. A file with tables of several databases (pg_dumpall) is refused.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field
from typing import Literal

from coset.environment.sources.postgresql_dump.definitions import (
    COMPUTED,
    TEXT,
    ColumnDefinition,
    Malformed,
    Name,
    PgType,
    Reference,
    TableDefinition,
    Tokens,
    parse_column,
    parse_create_table,
    parse_default,
    parse_table_constraint,
    parse_type,
    tokenize,
)
from coset.environment.sources.postgresql_dump.file import Cursor, DumpFile, Unreadable
from coset.environment.sources.postgresql_dump.lexer import end_of_statement, skip_blanks
from coset.environment.sources.postgresql_dump.rows import (
    DEFAULT_WORDS,
    NULL_WORDS,
    CopyLines,
    InsertRows,
    literals_to_text,
    split_copy_lines,
)
from coset.environment.sources.postgresql_dump.types import Facts, always_watched, observe, suspects

Key = tuple[str, str]
"""Schema and name of a table, as PostgreSQL knows them."""

NOTHING: dict[bytes, bytes | None] = dict.fromkeys((*NULL_WORDS, *DEFAULT_WORDS))


@dataclass
class Segment:
    """A stretch of the file with rows of one table. The values of each row are those of `columns`.

    Between the INSERT statements of a segment there may be some for other tables or columns, which are not its own.
    """

    kind: Literal["copy", "insert"]
    offset: int
    line: int
    columns: tuple[str, ...]
    end: int = 0
    default_schema: str = "public"
    backslash_escapes: bool = False


@dataclass
class DumpTable:
    key: Key
    columns: list[ColumnDefinition] = field(default_factory=list)
    primary_key: tuple[str, ...] = ()
    references: list[Reference] = field(default_factory=list)
    comment: str | None = None
    column_comments: dict[str, str] = field(default_factory=dict)
    parents: list[Key] = field(default_factory=list)
    partition: bool = False
    foreign: bool = False
    declared: bool = True
    """False where the dump has rows but no CREATE TABLE (--data-only): all columns are then text."""
    segments: list[Segment] = field(default_factory=list)
    rows: int = 0
    bytes: int = 0
    facts: dict[str, Facts] = field(default_factory=dict)
    given: set[str] = field(default_factory=set)
    """The columns for which the dump holds values."""
    too_long: int | None = None
    """A line with a row so long that it is not read."""

    def column(self, name: str) -> ColumnDefinition | None:
        return next((column for column in self.columns if column.name == name), None)


class DumpIndex:
    def __init__(self, tables: dict[Key, DumpTable]) -> None:
        self.tables = tables
        self._children: dict[Key, list[Key]] = {}
        for table in tables.values():
            for parent in table.parents:
                self._children.setdefault(parent, []).append(table.key)

    def listed(self) -> list[DumpTable]:
        """The tables a person would name: no partitions, and no foreign tables whose rows are elsewhere."""
        return [
            table
            for table in self.tables.values()
            if table.columns and not table.partition and (table.rows or not table.foreign)
        ]

    def parts(self, table: DumpTable) -> list[DumpTable]:
        """The table, its partitions, and the tables that inherit from it: where a SELECT finds its rows."""
        found, waiting = {table.key: table}, [table.key]
        while waiting:
            for key in self._children.get(waiting.pop(), ()):
                if key not in found:
                    found[key] = self.tables[key]
                    waiting.append(key)
        return list(found.values())


def build_index(file: DumpFile, longest: int) -> DumpIndex:
    """`longest`: how many bytes one row or statement may have."""
    cursor = file.open()
    try:
        return _Pass(cursor, longest).run()
    finally:
        cursor.close()


def insert_columns(table: DumpTable, listed: tuple[str, ...] | None, width: int) -> tuple[str, ...]:
    """What the values of an INSERT statement are for; without a list, the table's columns from the first on."""
    names = listed if listed is not None else tuple(column.name for column in table.columns)
    if width > len(names):
        raise Unreadable(
            f"an INSERT statement gives {width} values to the {len(names)} columns of {'.'.join(table.key)}"
        )
    return names[:width]


_CREATE_TABLE = re.compile(
    rb"CREATE\s+(?:(?:GLOBAL|LOCAL)\s+)?(?:TEMPORARY\s+|TEMP\s+|UNLOGGED\s+|(?P<foreign>FOREIGN\s+))?TABLE\s", re.I
)
_CREATE_TYPE = re.compile(rb"CREATE\s+(?P<kind>TYPE|DOMAIN)\s", re.I)
_ALTER_TABLE = re.compile(rb"ALTER\s+(?:FOREIGN\s+)?TABLE\s", re.I)
_DROP_TABLE = re.compile(rb"(?P<kind>DROP|TRUNCATE)\s+(?:FOREIGN\s+)?TABLE\s|TRUNCATE\s", re.I)
_COMMENT = re.compile(rb"COMMENT\s+ON\s+(?:FOREIGN\s+)?(?P<kind>TABLE|COLUMN)\s", re.I)
_COPY = re.compile(rb"COPY\s", re.I)
_SETTING = re.compile(
    rb"(?:SET\s+(?:SESSION\s+|LOCAL\s+)?(?P<name>\w+)\s*(?:=|\sTO\s)\s*(?P<value>[^;]*)"
    rb"|SELECT\s+(?:pg_catalog\s*\.\s*)?set_config\s*\(\s*'(?P<name2>\w+)'\s*,\s*'(?P<value2>[^']*)')",
    re.I,
)
_CHANGES_ROWS = re.compile(rb"(?:UPDATE(?!\s+pg_catalog\s*\.)|DELETE|MERGE|WITH|INSERT|REPLACE)\s", re.I)
_CONNECT = re.compile(r"\\c(?:onnect)?\s+(?:-reuse-previous=\S+\s+)?(?P<name>\S.*)")


class _Pass:
    def __init__(self, cursor: Cursor, longest: int) -> None:
        self._cursor = cursor
        self._longest = longest
        self._tables: dict[Key, DumpTable] = {}
        self._domains: dict[Key, PgType] = {}
        self._composites: dict[Key, list[ColumnDefinition]] = {}
        self._schema = "public"
        self._backslash_escapes = False
        self._inserts = InsertRows(cursor, False, longest)
        self._database: str | None = None
        self._database_with_tables: str | None = None
        # The segments that a further INSERT statement may belong to; any other statement ends them.
        self._open_inserts: dict[tuple[Key, tuple[str, ...]], Segment] = {}

    def run(self) -> DumpIndex:
        cursor = self._cursor
        statements = 0
        while skip_blanks(cursor):
            while len(cursor.buffer) - cursor.position < len(b"INSERT") and cursor.more():
                pass
            if cursor.buffer.startswith(b"\\", cursor.position):
                self._meta_command()
            elif cursor.buffer[cursor.position : cursor.position + 6].upper() == b"INSERT":
                self._insert()
            else:
                self._open_inserts.clear()
                line = cursor.line
                end = end_of_statement(cursor, self._backslash_escapes, self._longest)
                statement = cursor.buffer[cursor.position : end]
                cursor.position = end
                try:
                    self._statement(statement, line)
                except Malformed as error:
                    raise Unreadable(f"the statement in line {line} does not read as PostgreSQL: {error}") from None
                except UnicodeDecodeError:
                    raise Unreadable(f"line {line} is not UTF-8 text, though the dump should be") from None
            statements += 1
        if not statements:
            raise Unreadable("the file holds no statement")
        return DumpIndex(self._tables)

    def _meta_command(self) -> None:
        """psql's own commands. \\restrict, \\unrestrict and the like say nothing about tables."""
        cursor = self._cursor
        while (end := cursor.buffer.find(b"\n", cursor.position)) < 0 and cursor.more():
            pass
        end = len(cursor.buffer) if end < 0 else end
        text = cursor.buffer[cursor.position : end].decode(errors="replace").strip()
        if re.match(r"\\(?:i|ir|include|include_relative|copy)\s", text):
            raise Unreadable(f"line {cursor.line} refers to another file ({text[:60]}), which is not read")
        cursor.position = end
        if connect := _CONNECT.match(text):
            name = connect["name"].strip()
            inner = re.fullmatch(r"\"?(?:dbname=)?'?(.*?)'?\"?", name)
            self._database = inner[1] if inner else name
            self._open_inserts.clear()

    def _statement(self, statement: bytes, line: int) -> None:
        if match := _COPY.match(statement):
            self._copy(self._tokens(statement, match.end()), line)
        elif match := _CREATE_TABLE.match(statement):
            self._create_table(self._tokens(statement, match.end()), foreign=bool(match["foreign"]), line=line)
        elif match := _CREATE_TYPE.match(statement):
            self._create_type(self._tokens(statement, match.end()), domain=match["kind"].upper() == b"DOMAIN")
        elif match := _ALTER_TABLE.match(statement):
            self._alter_table(self._tokens(statement, match.end()), line)
        elif match := _COMMENT.match(statement):
            self._comment(self._tokens(statement, match.end()), column=match["kind"].upper() == b"COLUMN")
        elif match := _DROP_TABLE.match(statement):
            self._drop_table(self._tokens(statement, match.end()), drop=(match["kind"] or b"").upper() == b"DROP")
        elif match := _SETTING.match(statement):
            name = (match["name"] or match["name2"]).decode().lower()
            self._setting(name, (match["value"] or match["value2"] or b"").decode())
        elif _CHANGES_ROWS.match(statement):
            shown = " ".join(statement[:60].decode(errors="replace").split())
            raise Unreadable(
                f"line {line} changes rows in a way that only a server can follow ({shown}...); "
                "load the file into PostgreSQL and name that as the source"
            )

    def _tokens(self, statement: bytes, start: int) -> Tokens:
        return Tokens(tokenize(statement[start:-1].decode(), self._backslash_escapes))

    def _setting(self, name: str, value: str) -> None:
        if name == "search_path":
            first = value.split(",", maxsplit=1)[0].strip().strip("'\"").strip()
            self._schema = first if first and first not in {"pg_catalog", "$user"} else "public"
        elif name == "standard_conforming_strings":
            self._backslash_escapes = value.strip().strip("'").lower() in {"off", "false", "0", "no"}
            self._inserts = InsertRows(self._cursor, self._backslash_escapes, self._longest)

    def _key(self, name: Name) -> Key:
        return (name[0] or self._schema, name[1])

    # --- definitions

    def _create_table(self, tokens: Tokens, foreign: bool, line: int) -> None:
        definition = parse_create_table(tokens)
        if definition is None:
            raise Unreadable(
                f"line {line} makes a table from a query, which only a server can run; "
                "load the file into PostgreSQL and name that as the source"
            )
        key = self._key(definition.name)
        if key in self._tables and self._database == self._database_with_tables:
            return
        self._note_database()
        parents = [self._key(parent) for parent in definition.inherits]
        if definition.partition_of is not None:
            parents.append(self._key(definition.partition_of))
        columns: dict[str, ColumnDefinition] = {}
        for parent in [*parents, *(self._key(like) for like in definition.like)]:
            if parent in self._tables:
                columns |= {column.name: column for column in self._tables[parent].columns}
        if definition.of_type is not None:
            columns |= {column.name: column for column in self._composites.get(self._key(definition.of_type), [])}
        for column in definition.columns:
            column.type = self._without_domain(column.type)
            columns[column.name] = column
        self._tables[key] = DumpTable(
            key,
            list(columns.values()),
            definition.primary_key,
            [self._resolved(reference) for reference in definition.references],
            parents=parents,
            partition=definition.partition_of is not None,
            foreign=foreign,
        )

    def _note_database(self) -> None:
        """Tables of two databases would answer to the same names."""
        if self._tables and self._database != self._database_with_tables:
            raise Unreadable(
                f"the file holds several databases ('{self._database_with_tables or 'the first'}' and "
                f"'{self._database}'); dump the one you want with: pg_dump {shlex.quote(self._database or '')}"
            )
        self._database_with_tables = self._database

    def _resolved(self, reference: Reference) -> Reference:
        return Reference(reference.columns, self._key(reference.table), reference.references_columns)

    def _without_domain(self, type_: PgType) -> PgType:
        """The type beneath a domain; the text stays the domain's name."""
        base = self._domains.get((type_.schema or self._schema, type_.name))
        if base is None:
            return type_
        if base.array and type_.array:
            return PgType("", type_.text)
        return PgType(base.name, type_.text, base.schema, base.modifiers, base.array or type_.array)

    def _create_type(self, tokens: Tokens, domain: bool) -> None:
        """Enumerations need no note: what is not known is text."""
        key = self._key(tokens.name())
        if domain:
            tokens.accept("as")
            self._domains[key] = self._without_domain(parse_type(tokens))
        elif tokens.accept("as", "("):
            holder = TableDefinition(key)
            while tokens.left and not tokens.accept(")"):
                column = parse_column(tokens, holder)
                column.type = self._without_domain(column.type)
                holder.columns.append(column)
                tokens.accept(",")
            self._composites[key] = holder.columns

    def _alter_table(self, tokens: Tokens, line: int) -> None:
        tokens.accept("if", "exists")
        tokens.accept("only")
        key = self._key(tokens.name())
        tokens.accept("*")
        table = self._tables.get(key)
        if table is None:
            return
        if tokens.at("rename") or tokens.at("set", "schema"):
            raise Unreadable(
                f"line {line} renames something of {'.'.join(key)}, which is not followed; make the dump with pg_dump"
            )
        while tokens.left:
            if tokens.accept("attach", "partition"):
                part = self._tables.get(self._key(tokens.name()))
                if part is not None:
                    part.parents.append(key)
                    part.partition = True
                return
            if tokens.accept("inherit"):
                table.parents.append(self._key(tokens.name()))
            elif tokens.accept("add"):
                self._add_to_table(tokens, table)
            elif tokens.accept("alter"):
                self._alter_column(tokens, table)
            elif tokens.at("drop") and not tokens.at("drop", "constraint"):
                raise Unreadable(
                    f"line {line} drops something of {'.'.join(key)}, which is not followed; make the dump with pg_dump"
                )
            tokens.skip_item()
            if not tokens.accept(","):
                return

    def _add_to_table(self, tokens: Tokens, table: DumpTable) -> None:
        holder = TableDefinition(table.key, table.columns, table.primary_key)
        named = tokens.accept("constraint")
        if named:
            tokens.identifier()
        if named or any(tokens.at(word) for word in ("primary", "foreign", "unique", "check", "exclude", "not")):
            parse_table_constraint(tokens, holder)
        elif tokens.peek().kind != "symbol":
            tokens.accept("column")
            tokens.accept("if", "not", "exists")
            column = parse_column(tokens, holder)
            column.type = self._without_domain(column.type)
            if table.column(column.name) is None:
                table.columns.append(column)
        table.primary_key = holder.primary_key
        table.references += [self._resolved(reference) for reference in holder.references]

    def _alter_column(self, tokens: Tokens, table: DumpTable) -> None:
        tokens.accept("column")
        column = table.column(tokens.identifier())
        if column is None:
            return
        if tokens.accept("set", "default"):
            column.default = parse_default(tokens)
        elif tokens.accept("add", "generated"):
            column.default = COMPUTED
        elif tokens.accept("set", "not", "null"):
            column.nullable = False
        elif tokens.accept("type") or tokens.accept("set", "data", "type"):
            column.type = self._without_domain(parse_type(tokens))

    def _comment(self, tokens: Tokens, column: bool) -> None:
        path = tokens.dotted()
        tokens.expect("is")
        text = tokens.next()
        if text.kind != "string":
            return
        owner = path[:-1] if column else path
        table = self._tables.get(self._key((owner[-2] if len(owner) > 1 else None, owner[-1]))) if owner else None
        if table is None:
            return
        if column:
            table.column_comments[path[-1]] = text.value
        else:
            table.comment = text.value

    def _drop_table(self, tokens: Tokens, drop: bool) -> None:
        tokens.accept("if", "exists")
        while tokens.left and tokens.peek().kind != "symbol":
            tokens.accept("only")
            key = self._key(tokens.name())
            if drop:
                self._tables.pop(key, None)
            elif key in self._tables:
                table = self._tables[key]
                table.segments, table.rows, table.bytes = [], 0, 0
            tokens.accept("*")
            if not tokens.accept(","):
                return

    # --- rows

    def _table_with_rows(self, name: Name) -> DumpTable:
        key = self._key(name)
        if key not in self._tables:
            self._note_database()
            self._tables[key] = DumpTable(key, declared=False)
        elif self._database != self._database_with_tables:
            self._note_database()
        return self._tables[key]

    @staticmethod
    def _take_columns(table: DumpTable, names: tuple[str, ...]) -> None:
        if table.given.issuperset(names):
            return
        if not table.declared:
            known = {column.name for column in table.columns}
            table.columns += [ColumnDefinition(name, TEXT) for name in names if name not in known]
        for name in names:
            if table.column(name) is None:
                raise Unreadable(f"rows of {'.'.join(table.key)} have a column '{name}' that the table does not have")
        table.given.update(names)

    def _copy(self, tokens: Tokens, line: int) -> None:
        cursor = self._cursor
        table = self._table_with_rows(tokens.name())
        listed = tokens.identifiers() if tokens.at("(") else None
        if not tokens.accept("from", "stdin") or tokens.left:
            raise Unreadable(
                f"the COPY statement in line {line} is not the kind that pg_dump writes (COPY ... FROM stdin;)"
            )
        columns = listed
        if columns is None:
            columns = tuple(column.name for column in table.columns if not column.generated)
        self._take_columns(table, columns)
        while (end := cursor.buffer.find(b"\n", cursor.position)) < 0 and cursor.more():
            pass
        cursor.position = len(cursor.buffer) if end < 0 else end + 1
        if cursor.position == len(cursor.buffer):
            cursor.more()
        segment = Segment("copy", cursor.offset, cursor.line, columns)
        watch = _Watch(table, columns)
        lines = CopyLines(cursor, self._longest, skip_longer=True)
        rows = 0
        for chunk in lines:
            first_line = segment.line + rows
            rows += chunk.count(b"\n")
            table.bytes += len(chunk)
            watch.copy_lines(chunk, first_line)
        if lines.longer_line is not None:
            table.too_long = lines.longer_line
            rows += 1
        segment.end = cursor.offset
        table.rows += rows
        if rows and columns:
            table.segments.append(segment)

    def _insert(self) -> None:
        cursor = self._cursor
        offset, line = cursor.offset, cursor.line
        statements = self._inserts
        header = statements.header()
        if header is None:
            end = end_of_statement(cursor, self._backslash_escapes, self._longest)
            statement = cursor.buffer[cursor.position : end]
            if re.match(rb"INSERT\s+INTO\s+\S+\s+DEFAULT\s+VALUES\s*;", statement, re.I):
                cursor.position = end  # a table without columns
                return
            self._statement(statement, line)
            raise Unreadable(f"the INSERT statement in line {line} cannot be read")
        table = self._table_with_rows(header.name)
        width = statements.width(header)
        if not table.declared and header.columns is None:
            self._take_columns(table, tuple(f"column{place + 1}" for place in range(width)))
        columns = insert_columns(table, header.columns, width)
        self._take_columns(table, columns)
        watch = _Watch(table, columns)
        for batch in statements.rows(header, watch.places, lenient=True):
            table.rows += len(batch)
            watch.literals(batch)
        table.bytes += cursor.offset - offset
        segment = self._open_inserts.get((table.key, columns))
        if segment is None:
            segment = Segment(
                "insert",
                offset,
                line,
                columns,
                default_schema=self._schema,
                backslash_escapes=self._backslash_escapes,
            )
            self._open_inserts[(table.key, columns)] = segment
            table.segments.append(segment)
        segment.end = cursor.offset


class _Watch:
    """Looks at those columns of a table whose DuckDB type depends on the values."""

    def __init__(self, table: DumpTable, columns: tuple[str, ...]) -> None:
        self._width = len(columns)
        self._watched: list[tuple[int, PgType, Facts, tuple[re.Pattern[bytes], ...]]] = []
        for place, name in enumerate(columns):
            column = table.column(name)
            if column is None or column.generated:
                continue
            patterns = () if always_watched(column.type) else suspects(column.type)
            if patterns or always_watched(column.type):
                facts = table.facts.setdefault(name, Facts())
                self._watched.append((place, column.type, facts, patterns))
        self.places = tuple(place for place, *_ in self._watched)

    def copy_lines(self, chunk: bytes, first_line: int) -> None:
        found: dict[re.Pattern[bytes], bool] = {}
        wanted: list[tuple[int, PgType, Facts]] = []
        for place, type_, facts, patterns in self._watched:
            for pattern in patterns:
                if pattern not in found:
                    found[pattern] = pattern.search(chunk) is not None
            if not patterns or any(found[pattern] for pattern in patterns):
                wanted.append((place, type_, facts))
        if not wanted:
            return
        arrays = split_copy_lines(chunk, self._width, [place for place, *_ in wanted], first_line)
        for place, type_, facts in wanted:
            observe(type_, arrays[place], facts)

    def literals(self, batch: list[tuple[bytes, ...]]) -> None:
        if not batch or not self._watched:
            return
        for literals, (_, type_, facts, patterns) in zip(zip(*batch, strict=True), self._watched, strict=True):
            if patterns:
                together = b"\n".join(literals)
                if not any(pattern.search(together) for pattern in patterns):
                    continue
            observe(type_, literals_to_text(literals, NOTHING), facts)
