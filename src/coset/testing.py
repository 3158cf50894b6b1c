"""What every kind of source must keep to, as one call: `check_source`, for tests of sources, ours and other people's.

In: a function that opens the source, and functions that open it wrongly (a wrong password, a file that is none). Out: a
`Report` of what was checked, or `SourceProblems` with every problem in a sentence of its own. What the source says it
evaluates (`pushes`) is asked of it with values from its own rows, and compared with what DuckDB makes of the same rows.
Only reads; knows no kind of source.
"""

from __future__ import annotations

import datetime
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, cast

from coset.environment.scan import (
    EVERYTHING,
    Aggregate,
    All,
    Among,
    Comparison,
    Condition,
    Null,
    Operator,
    Order,
    Scan,
    Value,
    family,
    needed_operations,
    scan_to_sql,
)
from coset.environment.scan import Any as AnyOf
from coset.environment.source import Column, Source, Table
from coset.errors import CosetError, LimitReached, TableVanished, plain_cause
from coset.sql_text import identifier

if TYPE_CHECKING:
    import duckdb

OPERATORS: tuple[Operator, ...] = ("=", "<>", "<", "<=", ">", ">=")
LONGEST_MESSAGE = 600
INSTANT = "TIMESTAMP WITH TIME ZONE"


class SourceProblems(AssertionError):
    """What a source does not keep to; `problems` has a sentence for each."""

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        super().__init__(f"{len(self.problems)} problems:\n" + "\n".join(f"- {problem}" for problem in self.problems))


@dataclass
class Report:
    """What was checked: tables and rows read, scans compared with DuckDB, limits and faults tried."""

    tables: int = 0
    rows: int = 0
    scans: int = 0
    limits: int = 0
    faults: int = 0
    pushed: set[str] = field(default_factory=set)
    """The operations that the source evaluated and DuckDB confirmed."""


def check_source(
    open_source: Callable[[], Source],
    *,
    faults: Mapping[str, Callable[[], Source]] | None = None,
    secrets: Sequence[str] = (),
    most_rows: int = 20_000,
    probes: int = 3,
) -> Report:
    """Check a source against everything that the session relies on.

    `faults` are sources that must fail when they are listed, by what is wrong with them; `secrets` must be in no
    message. Tables of more than `most_rows` rows are listed, but not compared. Comparisons are made with at most
    `probes` values of each column: the least, the greatest, one between. Raises `SourceProblems`.
    """
    kit = _Kit(open_source, secrets, most_rows, probes)
    kit.check()
    for name, open_wrongly in (faults or {}).items():
        kit.check_fault(name, open_wrongly)
    if kit.problems:
        raise SourceProblems(kit.problems)
    return kit.report


class _Kit:
    def __init__(self, open_source: Callable[[], Source], secrets: Sequence[str], most_rows: int, probes: int) -> None:
        self.open_source = open_source
        self.secrets = secrets
        self.probes = probes
        self.most_rows = most_rows
        self.problems: list[str] = []
        self.report = Report()

    def check(self) -> None:
        source = self.open_source()
        try:
            tables = source.tables()
            self._check_names(source, tables)
            for table in tables:
                self._check_table(source, table)
            if tables:
                self._check_vanished(source, tables[0])
            self._check_cell_limit(tables)
        except CosetError as error:
            self.problems.append(f"a source that should work fails: {error}")
        finally:
            source.close()
            source.close()  # may be called twice

    # Names and types

    def _check_names(self, source: Source, tables: list[Table]) -> None:
        if not tables:
            self.problems.append("it lists no table")
        names = [table.qualified_name.lower() for table in tables]
        self._each("two tables are called '{}' to SQL", {name for name in names if names.count(name) > 1})
        if [table.qualified_name for table in source.tables()] != [table.qualified_name for table in tables]:
            self.problems.append("a second listing has other tables, or the same in another order")
        by_name = {(table.schema, table.name): table for table in tables}
        for table in tables:
            where = f"table '{table.qualified_name}'"
            columns = [column.name.lower() for column in table.columns]
            if not columns:
                self.problems.append(f"{where} has no columns")
            self._each(f"{where} has two columns '{{}}' to SQL", {name for name in columns if columns.count(name) > 1})
            own = {column.name for column in table.columns}
            self._each(f"the primary key of {where} has no column '{{}}'", set(table.primary_key) - own)
            for key in table.foreign_keys:
                target = by_name.get((key.references_schema, key.references_table))
                known = {column.name for column in target.columns} if target else set()
                if not set(key.columns) <= own or not set(key.references_columns) <= known:
                    self.problems.append(f"a foreign key of {where} names a table or column that is not listed")

    def _each(self, sentence: str, names: set[str]) -> None:
        self.problems += [sentence.format(name) for name in sorted(names)]

    # Rows and push-down

    def _check_table(self, source: Source, table: Table) -> None:
        where = f"table '{table.qualified_name}'"
        self.report.tables += 1
        token = source.change_token(table)
        if token is not None and source.change_token(table) != token:
            self.problems.append(f"{where} has another change token although nothing changed")
        if (table.rows or 0) > self.most_rows or source.settings.schema_only:
            return
        import duckdb

        with duckdb.connect(config={"python_enable_replacements": "false"}) as mirror:
            mirror.execute("SET TimeZone = 'UTC'")
            try:
                rows = _copied(mirror, source, table)
            except duckdb.Error as error:
                self.problems.append(f"rows of {where} are not of the types listed: {error}")
                return
            self.report.rows += rows
            if table.rows_exact and table.rows != rows:
                self.problems.append(f"{where} is listed with {table.rows} rows and has {rows}")
            for scan in _scans(source, table, _probes(mirror, table, self.probes)):
                self._compare(source, table, scan, mirror)

    def _compare(self, source: Source, table: Table, scan: Scan, mirror: duckdb.DuckDBPyConnection) -> None:
        self.report.scans += 1
        try:
            given = source.read(table, scan).read_all()
        except Exception as error:
            self.problems.append(
                f"table '{table.qualified_name}' cannot be asked for {scan}: {type(error).__name__}: {error}"
            )
            return
        wanted = tuple(column.name for column in table.columns) if scan.columns is None else scan.columns
        names = (*scan.group_by, *(item.alias for item in scan.aggregates)) if scan.is_aggregate else wanted
        if tuple(given.column_names) != names:
            self.problems.append(
                f"table '{table.qualified_name}': {scan} gives columns {given.column_names}, not {list(names)}"
            )
            return
        types = dict(_answer_types(mirror, scan))
        mirror.register("given", given)
        casts = ", ".join(_as_python(f"CAST({identifier(name)} AS {types[name]})", types[name]) for name in names)
        theirs = mirror.execute(f"SELECT {casts} FROM given").fetchall()
        mirror.unregister("given")
        shown = ", ".join(_as_python(identifier(name), types[name]) for name in names)
        ours = mirror.execute(f"SELECT {shown} FROM ({_sql(replace(scan, limit=None, order=()))})").fetchall()
        if problem := _difference(scan, names, theirs, ours):
            self.problems.append(f"table '{table.qualified_name}': {scan} {problem}")
            return
        self.report.pushed |= needed_operations(scan, lambda name: family(table.column(name).type))

    # Limits and faults

    def _check_vanished(self, source: Source, table: Table) -> None:
        self.report.faults += 1
        gone = replace(table, name=f"{table.name}_gone", native_name=f"{table.native_name}_gone")
        try:
            source.read(gone, EVERYTHING).read_all()
        except TableVanished as error:
            self._check_message("a table that is gone", error)
        except Exception as error:
            if plain_cause(error) is None:
                self.problems.append(f"a table that is gone raises {type(error).__name__}, not TableVanished: {error}")
        else:
            self.problems.append("a table that is not there can be read")

    def _check_cell_limit(self, tables: list[Table]) -> None:
        """A value above `cell_bytes` is refused, wherever a table holds a text that is long enough to try it."""
        source = self.open_source()
        try:
            for table in tables:
                texts = [column.name for column in table.columns if column.type == "VARCHAR"]
                if not texts or (table.rows or 0) > self.most_rows:
                    continue
                longest = _longest(source, table, texts)
                if longest > 64:
                    self._try_cell_limit(source, table, longest - 1)
                    return
        finally:
            source.close()

    def _try_cell_limit(self, source: Source, table: Table, limit: int) -> None:
        self.report.limits += 1
        limits = replace(source.settings.limits, cell_bytes=limit)
        strict = type(source)(replace(source.settings, limits=limits))
        try:
            strict.tables()
            strict.read(table, EVERYTHING).read_all()
        except Exception as error:
            found = plain_cause(error)
            if found is None:
                self.problems.append(f"a value above cell_bytes raises {type(error).__name__}: {error}")
            elif isinstance(found, LimitReached):
                self._check_message("a value above cell_bytes", found)
        else:
            self.problems.append(f"table '{table.qualified_name}' gives a value above cell_bytes = {limit}")
        finally:
            strict.close()

    def check_fault(self, name: str, open_wrongly: Callable[[], Source]) -> None:
        self.report.faults += 1
        try:
            source = open_wrongly()
        except CosetError as error:
            self._check_message(name, error)
            return
        try:
            source.tables()
        except CosetError as error:
            self._check_message(name, error)
        except Exception as error:
            self.problems.append(f"{name}: raises {type(error).__name__}, not a CosetError: {error}")
        else:
            self.problems.append(f"{name}: is listed as if nothing were wrong")
        finally:
            source.close()

    def _check_message(self, what: str, error: Exception) -> None:
        text = str(error)
        if "\n" in text or not text.strip() or len(text) > LONGEST_MESSAGE:
            self.problems.append(f"{what}: the message is no single sentence: {text!r}")
        if any(secret and secret in text for secret in self.secrets):
            self.problems.append(f"{what}: the message holds a secret")


def _copied(mirror: duckdb.DuckDBPyConnection, source: Source, table: Table) -> int:
    """All rows of a table in DuckDB, of the types that were listed; how many."""
    reader = source.read(table, EVERYTHING)
    mirror.register("arriving", reader)
    casts = ", ".join(
        f"CAST({identifier(field.name)} AS {column.type}) AS {identifier(column.name)}"
        for field, column in zip(reader.schema, table.columns, strict=True)
    )
    mirror.execute(f"CREATE OR REPLACE TABLE copied AS SELECT {casts} FROM arriving")
    mirror.unregister("arriving")
    found = mirror.execute("SELECT count(*) FROM copied").fetchone()
    return int(found[0]) if found else 0


def _probes(mirror: duckdb.DuckDBPyConnection, table: Table, most: int) -> dict[str, list[Value]]:
    """For each column that can be compared, a few of its values: the least, the greatest, and one between."""
    probes: dict[str, list[Value]] = {}
    for column in table.columns:
        if family(column.type) == "other":
            continue
        name = identifier(column.name)
        is_instant = column.type == INSTANT
        name = f"({name} AT TIME ZONE 'UTC')" if is_instant else name
        found = mirror.execute(
            f"SELECT min({name}), max({name}), quantile_disc({name}, 0.4) FROM copied WHERE {name} IS NOT NULL"
        ).fetchone()
        if is_instant and found:
            found = tuple(value and value.replace(tzinfo=datetime.UTC) for value in found)
        values = dict.fromkeys(value for value in found or () if value is not None and not _is_odd(value))
        probes[column.name] = list(values)[:most]
    return probes


def _as_python(expression: str, kind: str) -> str:
    """The expression as Python can take it: instants as text, since DuckDB hands them over by another package."""
    return f"CAST({expression} AS VARCHAR)" if kind == INSTANT else expression


def _is_odd(value: object) -> bool:
    return isinstance(value, float) and not math.isfinite(value)


def _scans(source: Source, table: Table, probes: Mapping[str, list[Value]]) -> Iterator[Scan]:
    """What is asked of the source: everything that it says it evaluates, for each column."""
    for scan in _proposed(table, probes):
        if scan.columns is not None and "columns" not in source.pushes:
            continue  # It is only ever asked for everything.
        needed = needed_operations(scan, lambda name: family(table.column(name).type))
        spoken = _columns_of(scan)
        if needed <= source.pushes and all(
            needed_operations(_only(scan, name), lambda each: family(table.column(each).type)) - {"limit", "order"}
            <= source.pushes_for(table, name)
            for name in spoken
        ):
            yield scan


def _proposed(table: Table, probes: Mapping[str, list[Value]]) -> Iterator[Scan]:
    first = table.columns[0].name
    yield Scan(columns=(table.columns[-1].name,))
    yield Scan(limit=1)
    yield Scan(aggregates=(Aggregate("count", None, "n"),))
    for column in table.columns:
        name, values = column.name, probes.get(column.name, [])
        yield Scan(columns=(first,), where=Null(name))
        yield Scan(columns=(first,), where=Null(name, negated=True))
        for operator, value in itertools.product(OPERATORS, values):
            yield Scan(columns=(first,), where=Comparison(name, operator, value))
        if values:
            yield Scan(columns=(first,), where=Among(name, tuple(values)))
            either = AnyOf((Comparison(name, "=", values[0]), Null(name)))
            yield Scan(columns=(first,), where=All((either, Null(name, negated=True))))
            yield Scan(columns=(name,), order=(Order(name, descending=True),), limit=3)
            yield Scan(columns=(name,), order=(Order(name),), limit=3, where=Comparison(name, ">=", values[0]))
            yield Scan(group_by=(name,), aggregates=(Aggregate("count", None, "n"),))
            yield Scan(aggregates=(Aggregate("count_distinct", name, "d"), Aggregate("count", name, "n")))
            yield Scan(aggregates=(Aggregate("min", name, "least"), Aggregate("max", name, "most")))
        if family(column.type) == "number":
            yield Scan(aggregates=(Aggregate("sum", name, "total"),))
            yield Scan(aggregates=(Aggregate("avg", name, "mean"),))
    yield from _groups_of_numbers(table, probes)


def _groups_of_numbers(table: Table, probes: Mapping[str, list[Value]]) -> Iterator[Scan]:
    texts = [column for column in table.columns if family(column.type) == "text" and probes.get(column.name)]
    numbers = [column for column in table.columns if family(column.type) == "number"]
    for text, number in itertools.islice(itertools.product(texts, numbers), 4):
        where = Comparison(text.name, "<>", probes[text.name][0])
        yield Scan(group_by=(text.name,), aggregates=(Aggregate("sum", number.name, "total"),), where=where)


def _columns_of(scan: Scan) -> set[str]:
    names = {*scan.group_by, *(item.column for item in scan.aggregates if item.column)}
    names |= {order.column for order in scan.order}
    stack: list[Condition] = [scan.where] if scan.where else []
    while stack:
        condition = stack.pop()
        if isinstance(condition, All | AnyOf):
            stack.extend(condition.conditions)
        else:
            names.add(condition.column)
    return names


def _only(scan: Scan, name: str) -> Scan:
    """The part of a scan that concerns one column; conditions of this kit are about one column each."""
    return Scan(
        where=scan.where if scan.where and name in _columns_of(Scan(where=scan.where)) else None,
        group_by=tuple(each for each in scan.group_by if each == name),
        aggregates=tuple(item for item in scan.aggregates if item.column == name),
        order=tuple(order for order in scan.order if order.column == name),
    )


def _sql(scan: Scan) -> str:
    import sqlglot.expressions as sge

    if not scan.is_aggregate and scan.columns is None:
        return "SELECT * FROM copied"
    return scan_to_sql(scan, sge.to_table("copied"), "duckdb", lambda name: sge.column(name, quoted=True))


def _answer_types(mirror: duckdb.DuckDBPyConnection, scan: Scan) -> list[tuple[str, str]]:
    plain = replace(scan, limit=None, order=(), where=None)
    return [(str(row[0]), str(row[1])) for row in mirror.execute(f"DESCRIBE {_sql(plain)}").fetchall()]


def _difference(
    scan: Scan, names: Sequence[str], theirs: list[tuple[Any, ...]], ours: list[tuple[Any, ...]]
) -> str | None:
    """What is wrong with the source's rows; None where they are right."""
    if scan.limit is not None and len(theirs) != min(scan.limit, len(ours)):
        return f"gives {len(theirs)} rows where {min(scan.limit, len(ours))} are right"
    if scan.order:
        place = list(names).index(scan.order[0].column)
        wanted = sorted(
            (row[place] for row in ours if row[place] is not None), key=_rank, reverse=scan.order[0].descending
        )
        wanted += [None] * sum(row[place] is None for row in ours)
        given, ours_only = [_rank(row[place]) for row in theirs], [_rank(value) for value in wanted[: scan.limit]]
        return None if given == ours_only else f"gives {theirs[:3]} where {wanted[: scan.limit]} is right"
    if scan.limit is not None:
        return None
    left, right = sorted(map(_key, theirs)), sorted(map(_key, ours))
    if len(left) != len(right):
        return f"gives {len(left)} rows where {len(right)} are right"
    for one, other in zip(left, right, strict=True):
        if not all(map(_same, one, other)):
            return f"gives {one} where {other} is right"
    return None


def _rank(value: Any) -> Any:
    """Texts sort by bytes, as in DuckDB."""
    return value.encode() if isinstance(value, str) else value


def _key(row: tuple[Any, ...]) -> tuple[str, ...]:
    return tuple(_text(value) for value in row)


def _text(value: Any) -> str:
    if isinstance(value, Decimal):
        return f"{value.normalize():f}" if value else "0"
    if isinstance(value, float):
        return f"{value:.12g}"
    return value.isoformat() if isinstance(value, datetime.datetime) else repr(value)


def _same(one: str, other: str) -> bool:
    if one == other:
        return True
    try:
        return math.isclose(float(one), float(other), rel_tol=1e-12)
    except ValueError:
        return False


def _longest(source: Source, table: Table, texts: Sequence[str]) -> int:
    rows = source.read(table, Scan(columns=tuple(texts)) if "columns" in source.pushes else EVERYTHING).read_all()
    values = (value for name in texts for value in rows.column(name).to_pylist() if value is not None)
    return max((len(cast(str, value).encode()) for value in values), default=0)


__all__ = ["Column", "Report", "SourceProblems", "check_source"]
