"""A small company with the dirt that changes answers, comprehended for real: what the checks are tried on."""

from __future__ import annotations

import random
import sqlite3
from pathlib import Path

from coset.environment.configuration import load_environment
from coset.evidence.work import here
from coset.use_cases.comprehend import EVIDENCE, Settings, comprehend

CITIES = ["Basel", "Lyon", "Turin", "Gent", "N/A"]
PLACES = ["Zug", "Bonn", "Metz", "Nice", "Pisa", "Bari", "Linz", "Graz", "Lodz", "Brno"]
WORDS = ["Northwind", "Harbour", "Crimson", "Pioneer", "Sterling", "Evergreen", "Cobalt", "Meridian", "Summit", "Lantern",
         "Falcon", "Orchard", "Granite", "Beacon", "Willow", "Amber", "Juniper", "Copper", "Silver", "Marble"]  # fmt: skip
TRADES = [
    "Logistics",
    "Textiles",
    "Foods",
    "Optics",
    "Robotics",
    "Chemicals",
    "Printing",
    "Shipping",
    "Dairy",
    "Motors",
]


def build(folder: Path) -> Path:
    """120 customers, 600 orders with stray signs in their keys, 1,200 items, 280 companies of which some are one."""
    chance = random.Random(7)
    with sqlite3.connect(folder / "shop.db") as connection:
        connection.execute(
            "CREATE TABLE customers (customer_id TEXT PRIMARY KEY, name TEXT, city TEXT, balance INTEGER, orders_placed INTEGER)"
        )
        connection.executemany(
            "INSERT INTO customers VALUES (?, ?, ?, ?, ?)",
            [(f"CUST-{n:04}", f"{WORDS[n % 20]} {PLACES[n // 20 % 10]} {n}", CITIES[n % 5], 100 + n, n % 9)
             for n in range(120)],
        )  # fmt: skip
        connection.execute(
            "CREATE TABLE orders (order_id INTEGER PRIMARY KEY, buyer TEXT, amount REAL, placed TEXT, weight TEXT, "
            "price TEXT, rating INTEGER)"
        )
        connection.executemany(
            "INSERT INTO orders VALUES (?, ?, ?, ?, ?, ?, ?)",
            [
                (
                    n,
                    ("#" if n % 5 == 0 else "") + f"CUST-{chance.randrange(120):04}",
                    round(chance.uniform(5, 500), 2),
                    f"2024-{n % 12 + 1:02}-{n % 28 + 1:02}" if n % 2 else f"{n % 28 + 1:02}/{n % 12 + 1:02}/2024",
                    f"{n % 40 + 1} kg" if n % 3 else f"{(n % 40 + 1) * 100} g",
                    f"${chance.randrange(1, 3000):,}.00",
                    None if n % 4 == 0 else n % 5 + 1,
                )
                for n in range(600)
            ],
        )
        connection.execute(
            "CREATE TABLE items (item_id INTEGER PRIMARY KEY, order_id INTEGER, product TEXT, quantity INTEGER)"
        )
        connection.executemany(
            "INSERT INTO items VALUES (?, ?, ?, ?)",
            [(n, chance.randrange(600), f"P{n % 40:03}", n % 7 + 1) for n in range(1200)],
        )
    companies = []
    for number in range(200):
        word, trade, place = WORDS[number % 20], TRADES[number // 20], PLACES[number * 7 % 10]
        companies.append((f"{word} {trade}", place, 1950 + number % 60))
        if number % 5 == 0:
            companies.append((f"{word.upper()} {trade}, Inc.", place, 1950 + number % 60))
            companies.append((f"{trade} {word}", place, 1950 + number % 60))
    chance.shuffle(companies)
    lines = [
        f'{n},"{name}",{place},{founded},{chance.randrange(10, 900)}'
        for n, (name, place, founded) in enumerate(companies)
    ]
    (folder / "companies.csv").write_text("company_no,company,place,founded,employees\n" + "\n".join(lines) + "\n")
    (folder / "coset.yaml").write_text("sources:\n  shop: {location: shop.db}\n  trade: {location: companies.csv}\n")
    comprehend(load_environment(folder), Settings(spread=here), stages=EVIDENCE)
    return folder
