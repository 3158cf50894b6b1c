"""The two products' databases: Atlas keeps DuckDB, Beacon keeps SQLite, and neither knows the other's words.

In: the company and the file to write. Out: the file. The same company gives the same rows in the same order. SQLite
files are then equal byte for byte; DuckDB puts a random identifier into each of its own.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from coset.demo import vocabulary as words
from coset.demo.company import Company, chance
from coset.demo.spelling import atlas_names, buyer_id, customer_id, mail_address, mixed_days, typed_buyer_ids

_ATLAS = """
CREATE TABLE customers (
    customer_id VARCHAR PRIMARY KEY, name VARCHAR, email VARCHAR, country_code VARCHAR, segment VARCHAR,
    signed_up DATE
);
CREATE TABLE subscriptions (
    subscription_id INTEGER PRIMARY KEY, customer_id VARCHAR, plan_code VARCHAR, started_on DATE, ended_on DATE
);
CREATE TABLE invoices (
    invoice_id VARCHAR PRIMARY KEY, customer_id VARCHAR, issued_on DATE, amount_eur DECIMAL(12,2), status VARCHAR
);
CREATE TABLE sessions (
    session_id INTEGER PRIMARY KEY, customer_id VARCHAR, used_on DATE, minutes INTEGER, pages INTEGER
);
COMMENT ON TABLE customers IS 'Who has an Atlas account. Some signed up twice.';
COMMENT ON COLUMN invoices.amount_eur IS 'Euros, VAT not included.';
"""
_BEACON = """
CREATE TABLE buyers (
    buyer_id TEXT PRIMARY KEY, company TEXT, country TEXT, registered TEXT, order_count INTEGER
);
CREATE TABLE orders (
    order_no INTEGER PRIMARY KEY, buyer_id TEXT, order_date TEXT, status_code TEXT, total_cents INTEGER
);
CREATE TABLE order_lines (order_no INTEGER, article_no INTEGER, quantity INTEGER, unit_price_cents INTEGER);
CREATE TABLE articles (article_no INTEGER PRIMARY KEY, title TEXT, list_price_cents INTEGER);
"""


def write_atlas(company: Company, file: Path) -> None:
    draw = chance(company.seed, "atlas as written")
    tables = {
        "customers": _customers(company, draw),
        "subscriptions": _numbered("subscription_id", company.subscriptions, "plan_code", "started_on", "ended_on"),
        "invoices": _invoices(company),
        "sessions": _numbered("session_id", company.sessions, "used_on", "minutes", "pages"),
    }
    # One thread: the rows lie in the file in one order.
    with duckdb.connect(str(file), config={"threads": 1}) as connection:
        connection.execute(_ATLAS)
        for name, table in tables.items():
            connection.register("written", table)
            connection.execute(f'INSERT INTO "{name}" SELECT * FROM written')
            connection.unregister("written")


def _customer_ids(table: pa.Table) -> list[str]:
    return [customer_id(account) for account in table.column("account").to_pylist()]


def _customers(company: Company, draw: np.random.Generator) -> pa.Table:
    accounts = company.atlas_accounts
    customers = company.customers.take(accounts.column("customer"))
    names = customers.column("name").to_pylist()
    unknown = draw.random(len(names)) < 0.06
    tokens = np.array(words.NULL_TOKENS, dtype=object)[draw.integers(0, len(words.NULL_TOKENS), len(names))]
    segments = np.where(unknown, tokens, np.array(accounts.column("segment").to_pylist(), dtype=object))
    return pa.table(
        {
            "customer_id": _customer_ids(accounts),
            "name": atlas_names(company),
            "email": [mail_address(name) for name in names],
            "country_code": customers.column("country"),
            "segment": segments.tolist(),
            "signed_up": accounts.column("signed_up"),
        }
    )


def _numbered(key: str, table: pa.Table, *names: str) -> pa.Table:
    """A table of account numbers as Atlas has it: a key of its own, `customer_id`, then the rest under these names."""
    rest = [table.column(name) for name in table.column_names if name != "account"]
    return pa.table(
        [pa.array(np.arange(table.num_rows) + 1), pa.array(_customer_ids(table)), *rest],
        names=[key, "customer_id", *names],
    )


def _invoices(company: Company) -> pa.Table:
    invoices = company.invoices
    years = invoices.column("issued").to_numpy().astype("datetime64[Y]").astype(int) + 1970
    numbers = [f"INV-{year}-{number:06}" for number, year in enumerate(years.tolist(), start=1)]
    amounts = [Decimal(cents).scaleb(-2) for cents in invoices.column("cents").to_pylist()]
    return pa.table(
        {
            "invoice_id": numbers,
            "customer_id": _customer_ids(invoices),
            "issued_on": invoices.column("issued"),
            "amount_eur": pa.array(amounts, pa.decimal128(12, 2)),
            "status": invoices.column("state"),
        }
    )


def write_beacon(company: Company, file: Path) -> None:
    draw = chance(company.seed, "beacon as written")
    tables = {
        "buyers": _buyers(company, draw),
        "orders": _orders(company, draw),
        "order_lines": _rows(company.order_lines),
        "articles": _rows(company.articles),
    }
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.executescript(_BEACON)
        for name, rows in tables.items():
            marks = ", ".join("?" * len(rows[0]))
            connection.executemany(f'INSERT INTO "{name}" VALUES ({marks})', rows)


def _rows(table: pa.Table) -> list[tuple[Any, ...]]:
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def _buyers(company: Company, draw: np.random.Generator) -> list[tuple[Any, ...]]:
    """With a count of orders that nobody has kept up to date."""
    buyers = company.buyers
    accounts = buyers.column("account").to_pylist()
    customers = company.customers.take(buyers.column("customer"))
    countries = {country.code: country.name for country in words.COUNTRIES}
    ordered, counts = np.unique(company.orders.column("account").to_numpy(), return_counts=True)
    count = dict(zip(ordered.tolist(), counts.tolist(), strict=True))
    missed = draw.integers(0, 4, len(accounts)).tolist()
    return list(
        zip(
            map(buyer_id, accounts),
            customers.column("name").to_pylist(),
            (countries[code] for code in customers.column("country").to_pylist()),
            mixed_days(draw, buyers.column("registered").to_pylist()),
            (max(0, count[account] - few) for account, few in zip(accounts, missed, strict=True)),
            strict=True,
        )
    )


def _orders(company: Company, draw: np.random.Generator) -> list[tuple[Any, ...]]:
    orders = company.orders
    return list(
        zip(
            orders.column("order").to_pylist(),
            typed_buyer_ids(draw, orders.column("account").to_pylist()),
            mixed_days(draw, orders.column("ordered").to_pylist()),
            orders.column("state").to_pylist(),
            orders.column("cents").to_pylist(),
            strict=True,
        )
    )
