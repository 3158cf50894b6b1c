"""A SQLite file: conditions, order and aggregates mean what they mean in DuckDB."""

from __future__ import annotations

import datetime
import itertools
from decimal import Decimal

import duckdb
import pyarrow as pa
import pytest

from coset.environment.scan import Aggregate, All, Among, Any, Comparison, Null, Order, Scan, family
from coset.environment.source import Table
from coset.environment.sources.sqlite.source import SQLiteFile
from environment.sqlite.sqlite_files import BIG, day, make_table, moment, rows_of, source_of


def ask(session: duckdb.DuckDBPyConnection, scan: Scan, table: Table) -> list[tuple]:
    """The same in DuckDB over the whole table, written independently of `scan_to_sql`, values as parameters."""
    parameters: list = []

    def where(condition) -> str:
        match condition:
            case All(parts):
                return "(" + " AND ".join(map(where, parts)) + ")"
            case Any(parts):
                return "(" + " OR ".join(map(where, parts)) + ")"
            case Null(column, negated):
                return f'"{column}" IS {"NOT " if negated else ""}NULL'
            case Among(column, values):
                parameters.extend(values)
                return f'"{column}" IN ({", ".join("?" * len(values))})'
            case Comparison(column, operator, value):
                parameters.append(value)
                return f'"{column}" {operator} ?'

    if scan.is_aggregate:
        functions = {"count_distinct": "count(DISTINCT {})"}
        outputs = [f'"{name}"' for name in scan.group_by]
        for item in scan.aggregates:
            column = "*" if item.column is None else f'"{item.column}"'
            outputs.append(functions.get(item.function, item.function + "({})").format(column))
    else:
        outputs = [f'"{name}"' for name in scan.columns or [column.name for column in table.columns]]
    sql = f"SELECT {', '.join(outputs)} FROM t"
    if scan.where:
        sql += f" WHERE {where(scan.where)}"
    if scan.group_by:
        sql += " GROUP BY " + ", ".join(f'"{name}"' for name in scan.group_by)
    if scan.order:
        sql += " ORDER BY " + ", ".join(
            f'"{order.column}" {"DESC" if order.descending else "ASC"} NULLS {"FIRST" if order.nulls_first else "LAST"}'
            for order in scan.order
        )
    if scan.limit is not None:
        sql += f" LIMIT {scan.limit}"
    return session.execute(sql, parameters).fetchall()


def same(pair, scan: Scan) -> None:
    source, table, session = pair
    answer = source.read(table, scan).read_all()
    ours = list(zip(*[column.to_pylist() for column in answer.columns], strict=True))
    theirs = ask(session, scan, table)
    if scan.order:
        assert ours == theirs, scan
    else:
        assert sorted(ours, key=repr) == sorted(theirs, key=repr), scan


OPERATORS = ["=", "<>", "<", "<=", ">", ">="]
CONSTANTS = {
    "txt": ["a", "A", "ä", "b", "b ", "", "12", "S", "�", "a\x00b", "😀"],
    "pad": ["b", "b ", "B"],
    "mixed": ["12", "1.5", "9", "a", ""],
    "num": [0, 1, -1, BIG + 1, 2**62, 2**63, -(2**63), -(2**64), Decimal("0.5"), Decimal("-1.5"), 1.5, float(BIG), float(2**62)],
    "real": [0.1, 0.3, 0.30000000000000004, 3, 12, Decimal("0.1"), BIG + 1, float("inf"), float("-inf"), float("nan")],
    "price": [Decimal("19.99"), Decimal("19.985"), 20, 0, Decimal("-0.01"), Decimal("-0.015"), 19.99, 0.1, -5.5, 10**20, Decimal("1e-30")],
    "day": [day(2024, 1, 5), day(1, 1, 1), moment(2024, 1, 5), moment(2024, 1, 5, 12), moment(1999, 12, 31, 23, 59, 59, 999999)],
    "time": [moment(2024, 1, 5), day(2024, 1, 5), moment(2024, 1, 5, 10), moment(2024, 1, 5, 10, 0, 0, 500000), moment(1999, 12, 31, 23, 59, 59, 999999)],
    "flag": [True, False],
}  # fmt: skip


@pytest.mark.parametrize("column", list(CONSTANTS))
def test_comparisons_mean_what_they_mean_in_duckdb(pair, column):
    key = next(name for name in ("num", "txt") if name != column)
    for operator, value in itertools.product(OPERATORS, CONSTANTS[column]):
        same(pair, Scan(columns=(column, key), where=Comparison(column, operator, value)))
    same(pair, Scan(where=Null(column)))
    same(pair, Scan(where=Null(column, negated=True)))


@pytest.mark.parametrize("column", list(CONSTANTS))
def test_membership_means_what_it_means_in_duckdb(pair, column):
    kinds = {}
    for value in CONSTANTS[column]:
        kinds.setdefault(type(value), []).append(value)
    for values in kinds.values():
        same(pair, Scan(where=Among(column, tuple(values))))
        same(pair, Scan(where=Among(column, (values[0],))))


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("txt", [*[f"x{number}" for number in range(3000)], "a", "ä", "b "]),
        ("num", [*range(10, 3000), -7]),
        ("price", [Decimal(number) / 100 for number in range(3000)]),
        ("time", [moment(2024, 1, 5) + datetime.timedelta(seconds=number) for number in range(3000)]),
    ],
)
def test_membership_in_a_long_list_means_the_same(pair, column, values):
    scan = Scan(where=Among(column, tuple(values)))
    same(pair, scan)
    assert pair[0].read(pair[1], scan).read_all().num_rows > 0


def test_conditions_combine(pair):
    parts = (
        Comparison("txt", ">", "a"),
        Null("num"),
        Comparison("price", "<", Decimal("19.99")),
        Among("flag", (True,)),
    )
    for first, second, third in itertools.permutations(parts, 3):
        same(pair, Scan(where=All((first, Any((second, third))))))
        same(pair, Scan(where=Any((All((first, second)), third))))


def test_order_and_limit_mean_what_they_mean_in_duckdb(pair):
    _, table, _ = pair
    for column, descending, nulls_first in itertools.product(table.columns, (False, True), (False, True)):
        order = Order(column.name, descending, nulls_first)
        same(pair, Scan(columns=(column.name,), order=(order,)))
        same(pair, Scan(columns=(column.name,), order=(order,), limit=17, where=Null("num", negated=True)))
    everything = tuple(Order(column.name) for column in table.columns)
    same(pair, Scan(order=everything))
    assert pair[0].read(table, Scan(limit=0)).read_all().num_rows == 0
    assert pair[0].read(table, Scan(limit=7)).read_all().num_rows == 7


def test_aggregates_mean_what_they_mean_in_duckdb(pair):
    source, table, _ = pair
    for column in table.columns:
        functions = ["count", "count_distinct", "min", "max"]
        pushed = source.pushes_for(table, column.name)
        assert ("aggregate:sum" in pushed) == (column.type != "DOUBLE")
        if family(column.type) == "number" and "aggregate:sum" in pushed:
            functions.append("sum")
        aggregates = tuple(Aggregate(function, column.name, f"{function}!") for function in functions)
        same(pair, Scan(aggregates=aggregates))
        same(pair, Scan(aggregates=aggregates, where=Comparison("num", ">", 2**63)))  # nothing
        same(pair, Scan(aggregates=(Aggregate("count", None, "n"), *aggregates), group_by=(column.name,)))
        same(pair, Scan(aggregates=aggregates, group_by=("flag", "txt"), where=Null("price", negated=True)))
        same(pair, Scan(group_by=(column.name,)))
    same(pair, Scan(aggregates=(Aggregate("count", None, "n"),)))


def test_a_sum_beyond_64_bits_is_exact(file):
    make_table(file, "a INTEGER, p DECIMAL(15,2)", [(2**63 - 1, 9999999999999.99)] * 10_000 + [(None, None), (5, 0.01)])
    source = source_of(file)
    scan = Scan(aggregates=(Aggregate("sum", "a", "a"), Aggregate("sum", "p", "p"), Aggregate("count", None, "n")))
    assert rows_of(source, scan) == [(Decimal((2**63 - 1) * 10_000 + 5), Decimal("99999999999999900.01"), 10_002)]


def test_average_is_not_promised():
    assert "aggregate:avg" not in SQLiteFile.pushes


def test_only_the_columns_asked_for_come_in_the_order_asked_for(pair):
    source, table, _ = pair
    answer = source.read(table, Scan(columns=("flag", "txt"), limit=1)).read_all()
    assert answer.schema == pa.schema([("flag", pa.bool_()), ("txt", pa.string())])
