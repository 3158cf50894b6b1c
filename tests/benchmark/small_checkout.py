"""A checkout in the layout of the Data Agent Benchmark, made on the spot: one dataset of two databases (SQLite and a
PostgreSQL dump) with two questions, and on demand more of it, or broken parts."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

TOWNS = ["Basel", "Bern", "Chur"]
CANARY = "CANARY-7f3a91"
"""Stands in every file that only a judge may read, and nowhere else."""
VALIDATOR = '''"""{canary} validator"""
from pathlib import Path

EXPECTED = (Path(__file__).parent / "ground_truth.csv").read_text().splitlines()[0].split(",")[0]


def validate(llm_output: str):
    if EXPECTED in llm_output:
        return True, "found"
    return False, f"'{{EXPECTED}}' is not in the answer ({canary})"
'''
QUESTIONS = {
    "1": ("How many customers are in Basel?", "20"),
    "2": ("Which town has the customer with the highest number?", "Chur"),
}
DUMP = """--
-- PostgreSQL database dump
--
SET client_encoding = 'UTF8';
CREATE TABLE public.orders (
    order_no integer NOT NULL,
    buyer text,
    amount numeric
);
COPY public.orders (order_no, buyer, amount) FROM stdin;
{rows}
\\.
"""


def make_checkout(root: Path, *names: str) -> Path:
    """A checkout with these datasets, all alike."""
    for name in names or ("shop",):
        make_dataset(root / f"query_{name}")
    return root


def make_dataset(folder: Path) -> Path:
    data = folder / "query_dataset"
    data.mkdir(parents=True)
    with sqlite3.connect(data / "crm.db") as connection:
        connection.execute("CREATE TABLE customers (customer_id TEXT PRIMARY KEY, name TEXT, town TEXT)")
        connection.executemany(
            "INSERT INTO customers VALUES (?, ?, ?)", [(f"C-{n:03}", f"Firm {n}", TOWNS[n % 3]) for n in range(60)]
        )
    rows = "\n".join(f"{n}\tC-{n % 60:03}\t{n * 1.5}" for n in range(120))
    (data / "orders.sql").write_text(DUMP.format(rows=rows))
    (folder / "db_config.yaml").write_text(
        "db_clients:\n"
        "  crm_database:\n    db_type: sqlite\n    db_path: query_dataset/crm.db\n"
        "  orders_database:\n    db_type: postgres\n    db_name: orders\n    sql_file: query_dataset/orders.sql\n"
    )
    (folder / "db_description.txt").write_text(
        "You work with two databases.\n\n1. crm_database\n   - customers: who buys\n\n2. orders_database\n   - orders\n"
    )
    (folder / "db_description_withhint.txt").write_text(
        "HINTS:\n- The town is where a customer lives.\n- Mind blanks.\n"
    )
    for number, (text, truth) in QUESTIONS.items():
        add_question(folder, number, text, truth)
    return folder


def add_question(folder: Path, number: str, text: str, truth: str, validator: str | None = None) -> Path:
    question = folder / f"query{number}"
    question.mkdir()
    (question / "query.json").write_text(json.dumps(text))
    (question / "ground_truth.csv").write_text(f"{truth},{CANARY}-truth\nsecond line,{CANARY}-more\n")
    (question / "validate.py").write_text(validator or VALIDATOR.format(canary=CANARY))
    return question
