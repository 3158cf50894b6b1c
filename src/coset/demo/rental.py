"""A company as one meets them, made under a seed: a machine rental with thirty tables in five systems.

In: a seed and a folder. Out: a plain PostgreSQL dump (CRM), a SQLite file with short German names (ERP), a DuckDB file
(fleet), folders of CSV, JSON lines and Parquet (service, finance), and a handbook whose rules decide figures. As in
companies, the same customer is an account here and a `kdst` there, keys are written in several ways, some tables are
backups, one code list is out of date, and test customers lie among the real ones. Nothing of it is random between two
runs with one seed. The tutorial uses it.
"""

from __future__ import annotations

import csv
import datetime
import json
import random
import sqlite3
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from coset.errors import UserError

FIRST, LAST = datetime.date(2023, 1, 1), datetime.date(2025, 6, 30)
CITIES = ("Bergen", "Oslo", "Hamar", "Tromso", "Malmo", "Lund", "Aarhus", "Odense", "Kiel", "Rostock")
COUNTRY = dict(zip(CITIES, ("NO",) * 4 + ("SE",) * 2 + ("DK",) * 2 + ("DE",) * 2, strict=True))
WORDS = (
    "Fjord",
    "Granit",
    "Nordlys",
    "Birk",
    "Hav",
    "Elv",
    "Stein",
    "Bro",
    "Skog",
    "Vik",
    "Tind",
    "Sund",
    "Myr",
    "Lark",
)
TRADES = ("Bygg", "Anlegg", "Tunnel", "Havn", "Betong", "Montage", "Tiefbau", "Energi", "Vei", "Park")
FORMS = {"NO": "AS", "SE": "AB", "DK": "ApS", "DE": "GmbH"}
GIVEN = ("Ida", "Jonas", "Mette", "Lars", "Greta", "Henrik", "Sofie", "Nils", "Astrid", "Karl", "Maja", "Olav")
FAMILY = ("Berg", "Dahl", "Holm", "Lund", "Moen", "Nygaard", "Solberg", "Strand", "Vang", "Winther")
TYPES = (
    ("MB08", "Mini excavator 0.8 t", "excavator", 800, 9000),
    ("MB18", "Mini excavator 1.8 t", "excavator", 1800, 13500),
    ("KB14", "Crawler excavator 14 t", "excavator", 14000, 41000), ("RL30", "Wheel loader 3 t", "loader", 3000, 22000),
    ("TS12", "Scissor lift 12 m", "platform", 2900, 11500), ("GT20", "Boom lift 20 m", "platform", 9800, 24500),
    ("SG60", "Generator 60 kVA", "power", 1300, 7800), ("WP10", "Roller 10 t", "compaction", 10000, 29000),
)  # fmt: skip
FAULTS = (
    ("H1", "Hydraulic leak", "hydraulics"), ("H2", "Hydraulic pump failed", "hydraulics"),
    ("E1", "Battery empty", "electrics"), ("E4", "Control unit failed", "electrics"), ("M1", "Track worn", "mechanics"),
    ("M3", "Engine overheated", "engine"), ("W0", "Planned maintenance", "maintenance"),
)  # fmt: skip
CODES = (
    # table, code, language, text, valid to: the list of 2019 called G3 a bank.
    ("KDGRP", "G1", "D", "Bauunternehmen", None), ("KDGRP", "G1", "E", "Construction firm", None),
    ("KDGRP", "G2", "D", "Kommune", None), ("KDGRP", "G2", "E", "Municipality", None),
    ("KDGRP", "G3", "D", "Bank", 20191231), ("KDGRP", "G3", "E", "Bank", 20191231),
    ("KDGRP", "G3", "D", "Veranstalter", None), ("KDGRP", "G3", "E", "Event organiser", None),
    ("KDGRP", "TX", "D", "Testkunde", None), ("KDGRP", "TX", "E", "Test customer", None),
    ("VTSTA", "A", "E", "Active", None), ("VTSTA", "B", "E", "Ended", None), ("VTSTA", "S", "E", "Cancelled", None),
    ("RGART", "RE", "E", "Invoice", None), ("RGART", "GU", "E", "Credit note", None),
    ("RGART", "PF", "E", "Pro forma", None),
)  # fmt: skip

REVENUE = """\
# Revenue

Owner: finance. In force since 1 January 2023.

## What counts

Revenue is the net amount (`netto`) of invoices (`rgk`) of type RE, less that of credit notes of type GU. Pro forma
invoices (type PF) never count. Amounts in `rgk` are in cents. Invoices to test customers (customer group TX) do not
count as revenue.

## Dates

The invoice date `rgdat` decides which period revenue belongs to, not the date of payment.
"""
FLEET = """\
# Fleet policy 2025

This replaces the fleet policy of 2021.

## Utilisation

The utilisation of a machine is its operating hours in `telematics` divided by 8 hours for each working day. Machines
with status `sold` are left out.

## Service

A visit with fault code W0 is planned maintenance and is no breakdown.
"""
OLD_FLEET = """\
# Fleet policy 2021

Superseded by the fleet policy 2025.

## Utilisation

The utilisation of a machine is its operating hours divided by 10 hours for each calendar day.
"""
NOTES = """\
# Where things are

| system | what it holds |
|---|---|
| crm | accounts, contacts, opportunities; the account number `erp_no` is the customer number of the ERP |
| erp | the ledger: customers (`kdst`), contracts (`vtrk`, `vtrp`), invoices (`rgk`), payments (`zhl`) |
| fleet | machines, depots, telematics |
| service | visits of technicians, fault codes, spare parts |
| finance | exchange rates, budgets, cost centres |

Tables of the ERP that end in `_sik` or in a year are backups. `zz_` tables are leftovers of a migration.
"""
SOURCES = """\
# A machine rental, seed {seed}: five systems as five departments keep them.
documents: [handbook]
sources:
  crm:
    location: crm.sql
    description: "Customer relations: accounts, contacts, opportunities, what sales did."
  erp:
    location: erp.sqlite
    description: "The ledger: customers, rental contracts, invoices, payments. Short German names."
  fleet:
    location: fleet.duckdb
    description: "Machines, their types and depots, hours and fuel by day."
  service:
    location: service
    description: "Visits of technicians to machines, fault codes, spare parts used."
  finance:
    location: finance
    description: "Exchange rates, budgets and cost centres."
"""
Row = tuple[Any, ...]
Tables = dict[str, tuple[Sequence[str], list[Row]]]
"""Names of columns and rows, by table."""


@dataclass(frozen=True)
class Known:
    """A question and what is true of it, from the rows as they were made, before they were written anywhere."""

    question: str
    truth: float | str

    def agrees(self, rows: Sequence[Sequence[Any]]) -> bool:
        """Whether one row says the same, with whatever else beside it."""
        if len(rows) != 1:
            return False
        if isinstance(self.truth, str):
            return self.truth in rows[0]
        return any(isinstance(cell, int | float) and abs(cell - self.truth) < 0.005 for cell in rows[0])


@dataclass
class Rental:
    """The rows of every table, by system and table: names of columns, then rows."""

    seed: int
    tables: dict[str, Tables]
    known: tuple[Known, ...]


def make_rental(seed: int = 7) -> Rental:
    """All rows, and questions whose truth follows from them."""
    chance = random.Random(seed)  # noqa: S311 - the same rows for the same seed
    customers = [_customer(chance, number) for number in range(420)]
    reps = [
        (number, f"{chance.choice(GIVEN)} {chance.choice(FAMILY)}", chance.choice(CITIES)) for number in range(1, 15)
    ]
    depots = [(number, f"Depot {city}", city, COUNTRY[city]) for number, city in enumerate(CITIES, start=1)]
    machines = [_machine(chance, number) for number in range(1, 181)]
    contracts, positions, invoices, payments = _business(chance, customers, machines)
    telematics = [
        (
            f"M{machine[0]:04d}",
            FIRST + datetime.timedelta(days=day),
            round(chance.uniform(0, 9), 1),
            chance.randint(0, 80),
        )
        for machine in machines
        for day in range(730, 850)
    ]
    visits, parts = _service(chance, machines)
    erp = _erp(customers, contracts, positions, invoices, payments)
    tables: dict[str, Tables] = {
        "crm": _crm(chance, customers, reps),
        "erp": erp,
        "fleet": {
            "machines": (
                ("machine_no", "type_code", "serial", "bought_on", "price_eur", "home_depot", "status"), machines,
            ),
            "machine_types": (("code", "label", "category", "weight_kg", "day_rate_cents"), list(TYPES)),
            "depots": (("depot_id", "name", "city", "country"), depots),
            "telematics": (("machine", "day", "hours", "fuel_l"), telematics),
            "machines_archive": (
                ("machine_no", "type_code", "serial", "bought_on", "price_eur", "home_depot", "status"),
                [machine for machine in machines if machine[3].year < 2021],
            ),
        },
        "service": {
            "visits": (("visit_no", "serial", "visited_on", "technician", "minutes", "fault", "depot"), visits),
            "fault_codes": (("fault", "meaning", "area"), list(FAULTS)),
            "technicians": (
                ("technician", "name", "depot"),
                [(f"T{n:02d}", f"{chance.choice(GIVEN)} {chance.choice(FAMILY)}", 1 + n % 10) for n in range(1, 19)],
            ),
            "parts_used": (("visit", "parts"), parts),
        },
        "finance": _finance(chance),
    }  # fmt: skip
    return Rental(seed, tables, _known(tables, customers))


def _customer(chance: random.Random, number: int) -> dict[str, Any]:
    city = chance.choice(CITIES)
    name = f"{chance.choice(WORDS)}{chance.choice(WORDS).lower()} {chance.choice(TRADES)} {FORMS[COUNTRY[city]]}"
    is_test = number % 35 == 34
    return {
        "account": 5000 + number * 3, "erp": f"{100200 + number * 7:010d}",
        "name": f"Test {number}" if is_test else name,
        "city": city, "country": COUNTRY[city], "test": is_test, "in_crm": chance.random() < 0.93,
        "group": "TX" if is_test else chance.choices(("G1", "G2", "G3"), (6, 3, 2))[0],
        "since": FIRST - datetime.timedelta(days=chance.randint(30, 3000)),
    }  # fmt: skip


def _machine(chance: random.Random, number: int) -> Row:
    bought = datetime.date(2017, 1, 1) + datetime.timedelta(days=chance.randint(0, 2900))
    kind = chance.choice(TYPES)
    status = chance.choices(("rented", "in depot", "repair", "sold"), (6, 3, 1, 1))[0]
    serial = f"{kind[0]}{bought.year}{number:05d}"
    return number, kind[0], serial, bought, round(kind[4] * chance.uniform(2.1, 2.9)), chance.randint(1, 10), status


def _business(
    chance: random.Random, customers: Sequence[dict[str, Any]], machines: Sequence[Row]
) -> tuple[list[Row], list[Row], list[Row], list[Row]]:
    """Contracts with their positions, invoices and payments; the last customers never rented anything."""
    contracts: list[Row] = []
    positions: list[Row] = []
    invoices: list[Row] = []
    payments: list[Row] = []
    rate = {kind[0]: kind[4] for kind in TYPES}
    for number in range(1, 1601):
        customer = customers[int(chance.triangular(0, 360, 60))]
        start = FIRST + datetime.timedelta(days=chance.randint(0, 880))
        days = chance.randint(2, 60)
        state = chance.choices(("B", "A", "S"), (8, 2, 1))[0]
        contracts.append(
            (number, customer["erp"], _plain(start), _plain(start + datetime.timedelta(days=days)),
             chance.choice(("K", "L")), state, chance.randint(1, 10))
        )  # fmt: skip
        total = 0
        for place in range(1, chance.randint(2, 4)):
            machine = chance.choice(machines)
            price = rate[machine[1]]
            total += price * days
            positions.append((number, place * 10, f"M{machine[0]:04d}", days, price))
        if state == "S":
            continue
        for part in range(chance.choice((1, 1, 2))):
            kind = chance.choices(("RE", "GU", "PF"), (12, 1, 1))[0]
            amount = total // (2 if part else 1) // (4 if kind == "GU" else 1)
            dated = min(start + datetime.timedelta(days=days + part * 30), LAST)
            invoice = 900_000 + len(invoices)
            invoices.append((invoice, customer["erp"], number, _plain(dated), kind, amount, "EUR"))
            if kind == "RE" and chance.random() < 0.86:
                paid = dated + datetime.timedelta(days=chance.randint(1, 70))
                payments.append((len(payments) + 1, f"RG{invoice}", _plain(paid), round(amount * 1.19)))
    return contracts, positions, invoices, payments


def _plain(day: datetime.date) -> int:
    return int(day.strftime("%Y%m%d"))


def _service(chance: random.Random, machines: Sequence[Row]) -> tuple[list[Row], list[Row]]:
    """Visits write a serial number with dashes and days as people do; parts lie in lists within a line."""
    visits: list[Row] = []
    parts: list[Row] = []
    for number in range(1, 1301):
        serial = chance.choice(machines)[2]
        day = FIRST + datetime.timedelta(days=chance.randint(0, 880))
        fault = chance.choices([each[0] for each in FAULTS], (5, 2, 6, 1, 4, 2, 9))[0]
        written = f"{serial[:4]}-{serial[4:8]}-{serial[8:]}"
        visits.append(
            (number, written, day.strftime("%d.%m.%Y"), f"T{chance.randint(1, 18):02d}", chance.randint(20, 400), fault,
             chance.randint(1, 10))
        )  # fmt: skip
        if chance.random() < 0.6:
            used = [
                {"part": f"P-{chance.randint(100, 180)}", "pieces": chance.randint(1, 4)}
                for _ in range(chance.randint(1, 3))
            ]
            parts.append((number, used))
    return visits, parts


def _crm(chance: random.Random, customers: Sequence[dict[str, Any]], reps: list[Row]) -> Tables:
    known = [each for each in customers if each["in_crm"]]
    accounts = [
        (each["account"], each["name"], each["country"], each["city"], chance.choice(reps)[0],
         each["erp"].lstrip("0"), each["since"])
        for each in known
    ]  # fmt: skip
    contacts = []
    for number, each in enumerate(known * 2, start=1):
        given, family = chance.choice(GIVEN), chance.choice(FAMILY)
        mail = f"{given}.{family}{number}@example.com".lower()
        contacts.append((number, each["account"], given, family, mail, f"+47 {chance.randint(20, 99)} {number:06d}"))
    stages = ("lead", "offer", "won", "lost")
    opportunities = [
        (number, chance.choice(known)["account"], chance.choice(stages), chance.randint(2, 90) * 1000,
         FIRST + datetime.timedelta(days=chance.randint(0, 880)), chance.choice(TYPES)[0])
        for number in range(1, 901)
    ]  # fmt: skip
    activities = [
        (number, chance.choice(known)["account"], chance.choice(reps)[0], chance.choice(("call", "visit", "mail")),
         FIRST + datetime.timedelta(days=chance.randint(0, 880)))
        for number in range(1, 1501)
    ]  # fmt: skip
    columns = ("account_id", "name", "country", "city", "rep_id", "erp_no", "created_on")
    return {
        "accounts": (columns, accounts),
        "accounts_backup_2024": (columns, accounts[: len(accounts) - 20]),
        "contacts": (("contact_id", "account_id", "given_name", "family_name", "email", "phone"), contacts),
        "sales_reps": (("rep_id", "name", "office"), reps),
        "opportunities": (("id", "account_id", "stage", "expected_eur", "closes_on", "machine_type"), opportunities),
        "activities": (("id", "account_id", "rep_id", "kind", "done_on"), activities),
    }


def _erp(
    customers: Sequence[dict[str, Any]], contracts: list[Row], positions: list[Row], invoices: list[Row],
    payments: list[Row],
) -> Tables:  # fmt: skip
    kdst = [
        (each["erp"], each["name"].upper(), each["city"].upper(), each["country"], each["group"], _plain(each["since"]))
        for each in customers
    ]
    head = ("vtrnr", "kdnr", "beg", "ende", "vtrart", "vtsta", "nl")
    names = ("kdnr", "nam1", "ort", "land", "kdgrp", "anldat")
    bills = ("rgnr", "kdnr", "vtrnr", "rgdat", "rgart", "netto", "waehr")
    return {
        "kdst": (names, kdst),
        "kdst_sik": (names, kdst[:-15]),
        "vtrk": (head, contracts),
        "vtrk_2023": (head, [row for row in contracts if row[2] < 20240101]),
        "vtrp": (("vtrnr", "pos", "gernr", "tage", "tagpr"), positions),
        "rgk": (bills, invoices),
        "rgk_sik": (bills, invoices[:-60]),
        "zhl": (("zhlnr", "beleg", "zdat", "betr"), payments),
        "tcod": (("tab", "code", "spr", "text", "gbis"), list(CODES)),
        "zz_kd_mig": (("kdnr", "alt_nr", "ok"), [(row[0], f"A{place}", "X") for place, row in enumerate(kdst[:50])]),
    }


def _finance(chance: random.Random) -> Tables:
    months = [datetime.date(2023 + month // 12, 1 + month % 12, 1) for month in range(30)]
    rates = [
        (currency, month, round(base * chance.uniform(0.97, 1.03), 4))
        for month in months
        for currency, base in (("NOK", 0.087), ("SEK", 0.088), ("DKK", 0.134))
    ]
    centres = [(400 + number, f"Depot {city}", number) for number, city in enumerate(CITIES, start=1)]
    budget = [
        (centre[0], month.strftime("%Y-%m"), chance.randint(40, 120) * 1000) for centre in centres for month in months
    ]
    return {
        "fx_rates": (("currency", "month", "eur"), rates),
        "cost_centres": (("cost_centre", "name", "depot"), centres),
        "budget": (("cost_centre", "month", "revenue_eur"), budget),
    }


def _known(tables: dict[str, Tables], customers: Sequence[dict[str, Any]]) -> tuple[Known, ...]:
    """Fifteen questions as a newcomer would ask them, and what is true of each."""
    rows = {name: table for system in tables.values() for name, (_, table) in system.items()}
    machines, visits, contracts, invoices = rows["machines"], rows["visits"], rows["vtrk"], rows["rgk"]
    kind = {each[0]: each[2] for each in TYPES}
    place = {row[0]: row[2] for row in rows["depots"]}
    city = {each["erp"]: each["city"] for each in customers}
    payer = {f"RG{row[0]}": row[1] for row in invoices}
    test = {each["erp"] for each in customers if each["test"]}
    sign = {"RE": 1, "GU": -1, "PF": 0}
    revenue = sum(sign[row[4]] * row[5] for row in invoices if row[1] not in test and row[3] // 10_000 == 2024)
    homes = Counter(row[5] for row in machines)
    return (
        Known("How many machines are rented?", sum(row[6] == "rented" for row in machines)),
        Known("How many accounts are there?", len(rows["accounts"])),
        Known("How many accounts are in Oslo?", sum(row[3] == "Oslo" for row in rows["accounts"])),
        Known("How many visits report a hydraulic leak?", sum(row[5] == "H1" for row in visits)),
        Known("How many visits were there in Kiel?", sum(place[row[6]] == "Kiel" for row in visits)),
        Known("What is the average price of a machine?", sum(row[4] for row in machines) / len(machines)),
        Known("How many machines were bought in 2023?", sum(row[3].year == 2023 for row in machines)),
        Known("How many technicians work in Hamar?", sum(place[row[2]] == "Hamar" for row in rows["technicians"])),
        Known(
            "What is the total expected amount of won opportunities?",
            sum(row[3] for row in rows["opportunities"] if row[2] == "won"),
        ),
        Known("Which depot has the most machines?", f"Depot {place[max(homes, key=lambda each: homes[each])]}"),
        Known("How many machines are excavators?", sum(kind[row[1]] == "excavator" for row in machines)),
        Known(
            "How many payments do customers in Bergen have?",
            sum(city[payer[row[1]]] == "Bergen" for row in rows["zhl"]),
        ),
        Known("How many contracts were cancelled?", sum(row[5] == "S" for row in contracts)),
        Known("How many breakdowns were there?", sum(row[5] != "W0" for row in visits)),
        Known("What was the revenue in 2024, in euros?", revenue / 100),
    )


def write_rental(folder: Path, seed: int = 7) -> Rental:
    """Write the company into an absent or empty folder, with its `coset.yaml`."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UserError(f"'{folder}' is not empty: name a new or empty folder for the company")
    rental = make_rental(seed)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "crm.sql").write_text(dump_of(rental.tables["crm"]), encoding="utf-8")
        _write_sqlite(folder / "erp.sqlite", rental.tables["erp"])
        _write_duckdb(folder / "fleet.duckdb", rental.tables["fleet"])
        for system in ("service", "finance"):
            (folder / system).mkdir()
            for name, (columns, rows) in rental.tables[system].items():
                _write_file(folder / system, name, columns, rows)
        for name, text in (
            ("revenue", REVENUE), ("fleet-policy-2025", FLEET), ("fleet-policy-2021", OLD_FLEET), ("systems", NOTES),
        ):  # fmt: skip
            (folder / "handbook").mkdir(exist_ok=True)
            (folder / "handbook" / f"{name}.md").write_text(text, encoding="utf-8")
        (folder / "coset.yaml").write_text(SOURCES.format(seed=seed), encoding="utf-8")
    except OSError as error:
        raise UserError(f"cannot write the company to '{folder}': {error.strerror or error}") from error
    return rental


def dump_of(tables: Tables) -> str:
    """The tables as `pg_dump` writes them: definitions, COPY blocks, then keys."""
    lines = ["--", "-- PostgreSQL database dump", "--", "", "SET client_encoding = 'UTF8';", ""]
    keys = []
    for name, (columns, rows) in tables.items():
        types = [_postgresql_type(row) for row in rows[0]]
        defined = ",\n".join(f"    {column} {kind}" for column, kind in zip(columns, types, strict=True))
        lines += [f"CREATE TABLE public.{name} (\n{defined}\n);", ""]
        lines.append(f"COPY public.{name} ({', '.join(columns)}) FROM stdin;")
        lines += ["\t".join("\\N" if value is None else str(value) for value in row) for row in rows]
        lines += ["\\.", ""]
        if columns[0] in ("account_id", "contact_id", "rep_id", "id") and "backup" not in name:
            keys.append(f"ALTER TABLE ONLY public.{name}\n    ADD CONSTRAINT {name}_pkey PRIMARY KEY ({columns[0]});\n")
    return "\n".join([*lines, *keys])


def _postgresql_type(value: Any) -> str:
    return "integer" if isinstance(value, int) else "date" if isinstance(value, datetime.date) else "text"


def _write_sqlite(file: Path, tables: Tables) -> None:
    with sqlite3.connect(file) as connection:
        for name, (columns, rows) in tables.items():
            connection.execute(f"CREATE TABLE {name} ({', '.join(columns)})")
            places = ", ".join("?" * len(columns))
            connection.executemany(f"INSERT INTO {name} VALUES ({places})", rows)
    connection.close()


def _write_duckdb(file: Path, tables: Tables) -> None:
    import pyarrow as pa

    with duckdb.connect(str(file)) as connection:
        for name, (columns, rows) in tables.items():
            frame = pa.table({column: [row[place] for row in rows] for place, column in enumerate(columns)})
            connection.register("frame", frame)
            connection.execute(f"CREATE TABLE {name} AS FROM frame")
            connection.unregister("frame")


def _write_file(folder: Path, name: str, columns: Sequence[str], rows: Iterable[Row]) -> None:
    """Lists go into lines of JSON, exchange rates into Parquet, all else into CSV."""
    rows = list(rows)
    if any(isinstance(value, list) for value in rows[0]):
        lines = (json.dumps(dict(zip(columns, row, strict=True))) for row in rows)
        (folder / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    elif name == "fx_rates":
        import pyarrow as pa
        from pyarrow import parquet

        parquet.write_table(
            pa.table({c: [row[p] for row in rows] for p, c in enumerate(columns)}), folder / f"{name}.parquet"
        )
    else:
        with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(columns)
            writer.writerows(rows)
