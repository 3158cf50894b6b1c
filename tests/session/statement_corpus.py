"""The two fixture files of statements, and the small shop database they are about."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import duckdb

from coset.session.guard import TableName

SHOP = """
CREATE TABLE orders (id INTEGER, customer_id INTEGER, ordered_at TIMESTAMP, shipped DATE, amount DECIMAL(10, 2),
    status VARCHAR, tags VARCHAR[], note JSON, attributes MAP(VARCHAR, VARCHAR));
INSERT INTO orders VALUES
 (1, 1, '2024-01-03 10:00', '2024-01-05', 12.50, 'paid', ['new', 'gift'], '{"size": "L", "list": [1, 2]}', MAP {'color': 'red'}),
 (2, 1, '2024-02-10 11:30', '2024-02-12', 80.00, 'open', ['old'], '{"size": "S", "list": []}', MAP {'color': 'blue'}),
 (3, 2, '2024-02-11 09:15', NULL, 7.25, 'paid', [], '{"size": "M"}', MAP {}),
 (4, 3, '2024-03-01 17:45', '2024-03-02', 140.00, 'lost', NULL, NULL, NULL),
 (5, 2, '2024-03-15 08:00', '2024-03-20', 55.10, NULL, ['new'], '{"size": "L"}', MAP {'color': 'red'});
CREATE TABLE customers (id INTEGER, name VARCHAR, city VARCHAR, active BOOLEAN, address STRUCT(street VARCHAR, zip VARCHAR));
INSERT INTO customers VALUES (1, 'Ana Silva', 'Lisboa', TRUE, {'street': 'Rua A', 'zip': '1000'}),
    (2, 'Bo Ek', 'Umeå', FALSE, {'street': 'Gata 2', 'zip': '903'}), (3, 'Ana Lima', 'Porto', NULL, NULL);
CREATE TABLE prices (symbol VARCHAR, moment TIMESTAMP, price DOUBLE);
INSERT INTO prices VALUES ('A', '2024-01-01 10:00', 1.0), ('A', '2024-01-01 11:00', NULL), ('A', '2024-01-01 12:00', 3.0),
    ('B', '2024-01-01 10:00', 9.0);
CREATE TABLE trades (symbol VARCHAR, moment TIMESTAMP, quantity INTEGER);
INSERT INTO trades VALUES ('A', '2024-01-01 10:30', 5), ('B', '2024-01-01 10:00', 2);
CREATE TABLE edges (source INTEGER, target INTEGER);
INSERT INTO edges VALUES (1, 2), (2, 3), (3, 1), (3, 4);
CREATE TABLE monthly (product VARCHAR, january INTEGER, february INTEGER, march INTEGER);
INSERT INTO monthly VALUES ('pen', 1, 2, 3), ('ink', 4, NULL, 6);
CREATE TABLE logs (visitor INTEGER, moment TIMESTAMP);
INSERT INTO logs VALUES (1, '2024-01-01 10:00'), (1, '2024-01-01 10:10'), (1, '2024-01-01 12:00');
CREATE SEQUENCE numbers;
CREATE SCHEMA archive;
CREATE TABLE archive.orders AS SELECT * FROM orders WHERE id <= 2;
"""
TABLES = {"orders", "customers", "prices", "trades", "edges", "monthly", "logs"}
CANARY = "canary-5d1f0c"


@dataclass(frozen=True)
class Statement:
    name: str
    text: str
    why: str = ""
    says: str = ""
    engine: str = ""


def read(file: str) -> list[Statement]:
    text = (Path(__file__).parent / file).read_text("utf-8")
    found = []
    for block in re.split(r"^-- name: ", text, flags=re.MULTILINE)[1:]:
        name, _, rest = block.partition("\n")
        facts = {}
        while match := re.match(r"-- (why|says|engine): (.*)\n", rest):
            facts[match[1]] = match[2]
            rest = rest[match.end() :]
        found.append(Statement(name, rest.strip("\n"), **facts))
    return found


def shop_knows(table: TableName) -> bool:
    """The names under which the shop's tables are known when the shop is the database in use."""
    catalog, schema, name = table.catalog.lower(), table.schema.lower(), table.name.lower()
    if (catalog, schema) in {("", ""), ("shop", "main"), ("", "main"), ("", "shop")}:
        return name in TABLES
    return (catalog, schema) in {("shop", "archive"), ("", "archive")} and name == "orders"


def fill_folder(folder: Path) -> Path:
    """The shop as a database file, beside canary files that no statement may read. The path of the database."""
    with duckdb.connect(str(folder / "shop.duckdb")) as shop:
        shop.execute(SHOP)
    (folder / "canary.txt").write_text(CANARY)
    (folder / "canary.csv").write_text(f"id,content\n1,{CANARY}\n")
    (folder / "canary.json").write_text(f'{{"id": 1, "content": "{CANARY}"}}\n')
    with duckdb.connect(str(folder / "other.duckdb")) as other:
        other.execute(f"CREATE TABLE canary AS SELECT '{CANARY}' AS content")
        other.execute(f"COPY canary TO '{folder / 'canary.parquet'}'")
    return folder / "shop.duckdb"


def locked(database: Path) -> duckdb.DuckDBPyConnection:
    """A connection with every lock that DuckDB itself has, and the shop attached read-only."""
    connection = duckdb.connect(config={"python_enable_replacements": False, "threads": 1})
    connection.execute(f"ATTACH '{database}' AS shop (READ_ONLY)")
    connection.execute("USE shop")
    for setting in ("autoinstall_known_extensions", "autoload_known_extensions", "enable_external_access"):
        connection.execute(f"SET {setting} = false")
    connection.execute("SET lock_configuration = true")
    return connection


def contents(folder: Path) -> dict[str, tuple[int, int]]:
    """Every file below a folder, with its size and the moment of its last change."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): (path.stat().st_size, path.stat().st_mtime_ns) for path in files}
