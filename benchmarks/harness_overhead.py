"""What the harness adds to an attempt, without the model: against running the same SQL directly in DuckDB.

    python benchmarks/harness_overhead.py [--tables 2754] [--attempts 8] [--learned] [--json]

A made-up dataset in the benchmark's layout: one DuckDB file with that many tables of one shape and a SQLite file that
names them. A scripted model behind a local endpoint sends one statement and answers at once. Per attempt: wall time
less the time the model took, split into the attempt itself (session, evidence, statement, checks) and judging and
keeping; the first attempt also pays for starting its process. Directly: DuckDB opens the file and runs the statement.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "tests")]
from harness_dataset import STATEMENT, asked_records, make_dataset
from report import report

from answering.wire_servers import Wire, call
from coset.answering.ask import AskOptions
from coset.benchmark.dab.checkout import read_checkout
from coset.benchmark.dab.run import DabSettings, run_dab


def directly(path: Path, runs: int) -> float:
    import duckdb

    seconds = []
    for _ in range(runs):
        started = time.monotonic()
        with duckdb.connect(str(path), read_only=True) as connection:
            connection.execute(STATEMENT.replace("prices.", "")).fetchall()
        seconds.append(time.monotonic() - started)
    return statistics.median(seconds)


def reply(request: dict) -> object:
    if any(tool["function"]["name"] == "records" for tool in request["tools"]):
        return asked_records()
    if not any(message["role"] == "tool" for message in request["messages"]):
        return call("sql", query=STATEMENT)
    return call("answer", text="7", results=["result_1"])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tables", type=int, default=2754)
    parser.add_argument("--attempts", type=int, default=8)
    parser.add_argument("--learned", action="store_true")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    mode = "learned" if arguments.learned else "core"
    with tempfile.TemporaryDirectory() as name, Wire(reply) as wire:
        root = Path(name)
        dataset = make_dataset(root / "checkout" / "query_prices", arguments.tables)
        told: list[tuple[float, float, float, float]] = []
        before = [0.0]

        def progress(attempt: object, _: object) -> None:
            now = time.monotonic()
            told.append((now - before[0], attempt.seconds, attempt.model_seconds, attempt.cpu_seconds))
            before[0] = now

        def say(text: str) -> None:
            print(text, file=sys.stderr)
            before[0] = time.monotonic()

        checkout = read_checkout(root / "checkout")
        run = lambda trials: run_dab(  # noqa: E731
            checkout, AskOptions(model=wire.url), DabSettings(root / "out", (mode,), trials), progress, say
        )
        started = time.monotonic()
        run(1)
        comprehension = time.monotonic() - started
        told.clear()
        run(1 + arguments.attempts)
        warm = told[1:]
        direct = directly(dataset / "query_dataset" / "prices.duckdb", arguments.attempts)
        whole = statistics.median(total - model for total, _, model, _ in warm)
        figures: dict[str, float | str] = {
            "tables": str(arguments.tables),
            "mode": mode,
            "comprehension with the first attempt, s": comprehension,
            "the same SQL directly, s": direct,
            "overhead of an attempt, median, s": whole - direct,
            "  of it within the attempt, s": statistics.median(inside - model for _, inside, model, _ in warm),
            "  of it judging and keeping, s": statistics.median(total - inside for total, inside, _, _ in warm),
            "overhead of an attempt, worst, s": max(total - model for total, _, model, _ in warm) - direct,
            "processor time of an attempt, median, s": statistics.median(cpu for _, _, _, cpu in warm),
        }
        report("harness overhead", figures, "under 2 s an attempt", whole - direct < 2)


if __name__ == "__main__":
    main()
