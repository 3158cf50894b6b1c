"""Realising identities, features included, on one core: 1,000 and 10,000 columns, all different.

    python benchmarks/identities_speed.py [--json]

The columns are generated (500 tables of 20), so that no text is encoded twice. The time is CPU time of this process.
"""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from report import report

from coset.identities.model import load_model
from coset.identities.realise import realise_environment
from coset.readings.observed import ObservedColumn, ObservedEnvironment, ObservedTable

PER_TABLE = 20
WORDS = (
    "customer",
    "order",
    "invoice",
    "product",
    "shipment",
    "ticket",
    "account",
    "payment",
    "region",
    "store",
    "device",
    "sensor",
    "patient",
    "visit",
    "course",
    "student",
    "employee",
    "contract",
    "price",
    "stock",
    "campaign",
    "message",
    "review",
    "station",
    "flight",
    "vehicle",
    "gene",
    "sample",
    "project",
    "task",
)
ENDS = (
    "id",
    "name",
    "code",
    "date",
    "status",
    "type",
    "amount",
    "count",
    "rate",
    "description",
    "city",
    "country",
    "email",
    "start",
    "end",
    "total",
    "score",
)
TYPES = ("whole", "text", "number", "date", "time", "flag")


def environment(columns: int, seed: int) -> ObservedEnvironment:
    generator = random.Random(seed)
    tables = []
    for number in range(columns // PER_TABLE):
        name = f"{generator.choice(WORDS)}_{generator.choice(WORDS)}_{number}"
        tables.append(
            ObservedTable(
                name,
                tuple(
                    ObservedColumn(
                        f"{generator.choice(WORDS)}_{generator.choice(ENDS)}_{place}", generator.choice(TYPES),
                        f"{name}.{place}", description=f"the {generator.choice(ENDS)} of {generator.choice(WORDS)}",
                        samples=tuple(str(generator.randrange(10**6)) for _ in range(8)),
                        rows=1000, distinct=500, nulls=0.1,
                    )
                    for place in range(PER_TABLE)
                ),
                name,
            )
        )  # fmt: skip
    return ObservedEnvironment("generated", tuple(tables))


def main() -> None:
    model = load_model(threads=1)
    model.text_encoder.encode(["warm"])
    seconds = {}
    for columns in (1000, 10_000):
        generated = environment(columns, columns)
        started = time.process_time()
        realise_environment(generated, model)
        seconds[columns] = time.process_time() - started
    report(
        "identities: realising an environment on one core",
        {
            "1,000 columns, CPU seconds": seconds[1000],
            "10,000 columns, CPU seconds": seconds[10_000],
            "ten times the columns cost, times": seconds[10_000] / seconds[1000],
        },
        "under 6 s and under 60 s",
        seconds[1000] < 6 and seconds[10_000] < 60,
    )


if __name__ == "__main__":
    main()
