"""A made-up dataset in the benchmark's layout, for the benches of the harness: many tables of one shape."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import duckdb

from answering.wire_servers import call

STATEMENT = "SELECT count(*) AS days FROM prices.T0007 WHERE close > 20"
VALIDATOR = "def validate(llm_output):\n    return '7' in llm_output, 'looked for 7'\n"


def make_dataset(folder: Path, tables: int, questions: int = 1) -> Path:
    data = folder / "query_dataset"
    data.mkdir(parents=True)
    with duckdb.connect(str(data / "prices.duckdb")) as connection:
        connection.execute("BEGIN")
        for number in range(tables):
            connection.execute(
                f"CREATE TABLE T{number:04} AS SELECT DATE '2024-01-01' + CAST(i AS INTEGER) AS day, "
                f"10.0 + (i * {number % 7 + 1}) % 30 AS open, 11.0 + (i * {number % 5 + 1}) % 30 AS close, "
                f"i * 100 AS volume FROM range(40) r(i)"
            )
        connection.execute("COMMIT")
    with sqlite3.connect(data / "names.db") as connection:
        connection.execute("CREATE TABLE listed (symbol TEXT PRIMARY KEY, name TEXT, country TEXT)")
        connection.executemany(
            "INSERT INTO listed VALUES (?, ?, ?)",
            [(f"T{number:04}", f"Firm {number}", ["CH", "FR", "IT"][number % 3]) for number in range(tables)],
        )
    (folder / "db_config.yaml").write_text(
        "db_clients:\n  prices: {db_type: duckdb, db_path: query_dataset/prices.duckdb}\n"
        "  names: {db_type: sqlite, db_path: query_dataset/names.db}\n"
    )
    (folder / "db_description.txt").write_text("1. prices\n   one table a firm\n2. names\n   the firms\n")
    for number in range(1, questions + 1):
        question = folder / f"query{number}"
        question.mkdir()
        text = f"On how many days did Firm {number} close above 20?"
        (question / "query.json").write_text(json.dumps(text))
        (question / "ground_truth.csv").write_text("7\n")
        (question / "validate.py").write_text(VALIDATOR)
    return folder


def asked_records() -> object:
    return call("records", shape={"meaning": "days on which it closed above 20", "form": "value"})
