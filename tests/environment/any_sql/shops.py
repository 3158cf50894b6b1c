"""One small shop, the same in every engine: names, values and keys that engines treat differently."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

from coset.environment.source import Limits, Source, SourceSettings
from coset.environment.sources import open_source

CUSTOMERS = [
    (1, "a", "Ann's", "10.50", "2020-01-01", "2020-01-01 00:00:00", 0.5),
    (2, "A", "100% \\ \"quoted\"", "-3.25", "2020-02-29", "2020-01-01 12:30:15", -2.5),
    (3, "ä", "😀 ünï", "0.00", "1999-12-31", "1999-12-31 23:59:59", 1e300),
    (4, "b ", "", None, None, None, None),
    (5, None, None, "99999999.99", "2024-06-30", "2024-06-30 06:00:00", 3.0),
    (6, "Z", "x" * 100, "1.10", "2020-01-01", "2020-01-01 00:00:00", 7.25),
]  # fmt: skip
ORDERS = [(number, number % 6 + 1, f"n{number % 7}", number % 5) for number in range(300)]


@dataclass(frozen=True)
class Shop:
    """Where the shop lies: by its own source, and by another way."""

    kind: str
    native: str
    other: str
    secret: str = ""


def statements(engine: str) -> list[str]:
    text, moment, double = {
        "postgresql": ("VARCHAR(200)", "TIMESTAMP", "DOUBLE PRECISION"),
        "mysql": ("VARCHAR(200)", "DATETIME", "DOUBLE"),
        "sqlite": ("VARCHAR(200)", "TIMESTAMP", "DOUBLE"),
        "duckdb": ("VARCHAR", "TIMESTAMP", "DOUBLE"),
        "snowflake": ("VARCHAR", "TIMESTAMP_NTZ", "DOUBLE"),
    }[engine]
    quote = "`" if engine == "mysql" else '"'
    made = [
        f"CREATE TABLE customers (id INTEGER PRIMARY KEY, code {text}, {quote}full name{quote} {text}, "
        f"balance DECIMAL(10,2), born DATE, seen {moment}, score {double})",
        f"CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER, label {text}, quantity INTEGER, "
        "FOREIGN KEY (customer_id) REFERENCES customers (id))",
    ]
    return made + _inserts(engine)


def clickhouse_statements() -> list[str]:
    """The same shop in ClickHouse, where only what is said to be may be NULL."""
    made = [
        "CREATE TABLE customers (id Int32, code Nullable(String), `full name` Nullable(String), "
        "balance Nullable(Decimal(10,2)), born Nullable(Date32), seen Nullable(DateTime64(6)), score Nullable(Float64)) "
        "ENGINE = MergeTree ORDER BY id COMMENT 'who buys'",
        "CREATE TABLE orders (id Int32, customer_id Int32, label String COMMENT 'what it says', quantity Int32) "
        "ENGINE = MergeTree ORDER BY id",
    ]
    return made + _inserts("clickhouse")


def _inserts(engine: str) -> list[str]:
    made = []
    for table, rows in (("customers", CUSTOMERS), ("orders", ORDERS)):
        values = ", ".join("(" + ", ".join(_literal(value, engine) for value in row) + ")" for row in rows)
        made.append(f"INSERT INTO {table} VALUES {values}")
    return made


def _literal(value: object, engine: str) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, str):
        value = value.replace("\\", "\\\\") if engine in {"mysql", "clickhouse", "snowflake"} else value
        return "'" + value.replace("'", "''") + "'"
    return repr(value)


def opened(
    location: str, kind: str, options: dict[str, str] | None = None, secrets: tuple[str, ...] = (), **limits: float
) -> Source:
    settings = SourceSettings(
        "shop",
        location,
        kind,
        limits=Limits(**limits),
        options=options or {},
        secrets=secrets,  # type: ignore[arg-type]
    )
    return open_source(settings)


def rows_of(source: Source) -> dict[str, list[tuple[object, ...]]]:
    """All rows of all tables in one form, whatever types the two ways give."""
    found = {}
    for table in source.tables():
        read = source.read(table).read_all()
        columns = [
            # A driver may hand a decimal over as its text.
            [
                value if value is None or not column.type.startswith("DECIMAL") else float(value)
                for value in given.to_pylist()
            ]
            for column, given in zip(table.columns, read.columns, strict=True)
        ]
        found[table.name] = sorted((tuple(map(_plain, row)) for row in zip(*columns, strict=True)), key=repr)
    return found


def _plain(value: object) -> object:
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, datetime.datetime):
        return value.isoformat()
    if isinstance(value, datetime.date):
        return value.isoformat()
    return float(value) if isinstance(value, int) else value


Maker = Callable[[str], Shop]
