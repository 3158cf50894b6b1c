"""What a `view` costs over MCP on top of the library call, at 5,000 columns.

    python benchmarks/mcp_view.py [--json] [--columns 5000] [--runs 60] [--folder DIR]

The same questions are asked of the library in this process and of `coset mcp` over standard input and output, by the
`mcp` library's own client. What would favour a side is kept out: the environment is comprehended in a process of its
own (doing it here slowed the library side alone, and the round trip then looked quicker than the call inside it), and
the two take turns in going first. The verdict is on the upper end of the 95 % interval of the median difference; where
the interval is wider than the aim, or lies below zero, the machine was too busy or something favours a side, and the
run says that it decides nothing. CPU time is told beside it, since other work on the machine hardly moves it.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import psutil
from mcp import Client, StdioServerParameters
from report import report

import coset

AIM = 25.0
COSET = ["-c", "from coset.surfaces.command_line import main; main()"]
COLUMNS_A_TABLE = 25
ROWS = 30
ENTITIES = [
    "customer",
    "order",
    "invoice",
    "product",
    "employee",
    "shipment",
    "payment",
    "supplier",
    "contract",
    "store",
]
ATTRIBUTES = ["id", "name", "city", "amount", "status", "created_at", "category", "quantity", "email", "country",
              "price", "discount", "weight", "phone", "comment", "priority", "currency", "tax", "rating", "region",
              "owner_id", "updated_at", "code", "type", "balance"]  # fmt: skip
REGIONS = ["north", "south", "east", "west", "online"]
QUESTIONS = [
    "What is the total amount of orders by city?",
    "Which customers in the north have an open balance?",
    "How many shipments were created in 2024 for each supplier?",
    "List the ten products with the highest price and their category.",
    "Average rating of stores by country",
]


def make_environment(folder: Path, columns: int) -> None:
    """Tables of 25 columns in one SQLite file, named by entity and region, with plain values."""
    chance = random.Random(5)
    with sqlite3.connect(folder / "company.db") as connection:
        for number in range(columns // COLUMNS_A_TABLE):
            entity = ENTITIES[number % len(ENTITIES)]
            table = f"{REGIONS[number // len(ENTITIES) % len(REGIONS)]}_{entity}_{number}"
            names = [f"{entity}_{attribute}" if attribute in {"id", "name"} else attribute for attribute in ATTRIBUTES]
            connection.execute(f"CREATE TABLE {table} ({', '.join(names)})")
            marks = ", ".join("?" * len(names))
            connection.executemany(
                f"INSERT INTO {table} VALUES ({marks})",
                [[value(attribute, row, chance) for attribute in ATTRIBUTES] for row in range(ROWS)],
            )
    (folder / "coset.yaml").write_text("sources:\n  company: {location: company.db}\n")


def value(attribute: str, row: int, chance: random.Random) -> object:
    if attribute in {"amount", "price", "discount", "weight", "tax", "balance"}:
        return round(chance.uniform(1, 900), 2)
    if attribute in {"id", "owner_id", "quantity", "rating", "priority"}:
        return row if attribute == "id" else chance.randrange(1, 9)
    if attribute.endswith("_at"):
        return f"2024-{chance.randrange(1, 13):02}-{chance.randrange(1, 29):02}"
    return f"{attribute} {chance.randrange(6)}"


@dataclass
class Measured:
    """Seconds, pair by pair; CPU seconds in all."""

    library: list[float] = field(default_factory=list)
    served: list[float] = field(default_factory=list)
    library_cpu: float = 0.0
    served_cpu: float = 0.0
    """Of the server and of the client together."""


async def measure(folder: Path, environment: coset.Environment, runs: int) -> Measured:
    found = Measured()
    async with Client(StdioServerParameters(command=sys.executable, args=[*COSET, "mcp", "-e", str(folder)])) as client:
        [server] = [child for child in psutil.Process().children() if "mcp" in child.cmdline()]
        await client.list_tools()
        for question in QUESTIONS:  # Both have read what these questions need, and say the same.
            said = await client.call_tool("view", {"question": question})
            assert said.structured_content is not None, said.content
            assert said.structured_content["text"] == environment.view(question).text

        def ask_library(question: str) -> None:
            started, used = time.perf_counter(), time.process_time()
            environment.view(question).text  # noqa: B018 - the text is made when it is asked for
            found.library.append(time.perf_counter() - started)
            found.library_cpu += time.process_time() - used

        async def ask_server(question: str) -> None:
            started, used = time.perf_counter(), time.process_time() + _cpu(server)
            await client.call_tool("view", {"question": question})
            found.served.append(time.perf_counter() - started)
            found.served_cpu += time.process_time() + _cpu(server) - used

        for number in range(runs):
            question = QUESTIONS[number % len(QUESTIONS)]
            if number % 2:
                ask_library(question)
                await ask_server(question)
            else:
                await ask_server(question)
                ask_library(question)
    return found


def _cpu(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def interval(differences: list[float]) -> tuple[float, float]:
    """The 95 % interval of the median, by resampling."""
    chance = random.Random(1)
    medians = sorted(statistics.median(chance.choices(differences, k=len(differences))) for _ in range(2_000))
    return medians[50], medians[1_949]


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--json", action="store_true")
    options.add_argument("--columns", type=int, default=5_000)
    options.add_argument("--runs", type=int, default=60)
    options.add_argument("--folder", type=Path, help="Keep the environment here, and use it again.")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = chosen.folder or Path(name)
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / ".coset" / "state.duckdb").exists():
            make_environment(folder, chosen.columns)
            subprocess.run([sys.executable, *COSET, "comprehend", "-e", str(folder)], check=True, capture_output=True)
        with coset.open(folder) as environment:
            found = asyncio.run(measure(folder, environment, chosen.runs))
    differences = [(b - a) * 1000 for a, b in zip(found.library, found.served, strict=True)]
    low, high = interval(differences)
    decides = high - low <= AIM and high > 0
    report(
        f"view at {chosen.columns:,} columns, over MCP (stdio)",
        {
            "library call, median ms": statistics.median(found.library) * 1000,
            "over stdio, median ms": statistics.median(found.served) * 1000,
            "difference, median of pairs, ms": statistics.median(differences),
            "difference, 95 % interval from, ms": low,
            "difference, 95 % interval to, ms": high,
            "quickest of each, difference, ms": (min(found.served) - min(found.library)) * 1000,
            "CPU, difference a call, ms": (found.served_cpu - found.library_cpu) / chosen.runs * 1000,
            "load of the machine, per core": os.getloadavg()[0] / (os.cpu_count() or 1),
            "pairs": chosen.runs,
        },
        aim=f"under {AIM:g} ms more"
        if decides
        else f"under {AIM:g} ms more (NOT DECIDED: too noisy, or a side is favoured)",
        met=decides and high < AIM,
    )


if __name__ == "__main__":
    main()
