"""What the harness adds to an attempt, without the model: against running the same SQL directly in DuckDB.

    python benchmarks/harness_overhead.py [--tables 2754] [--attempts 8] [--core] [--json]
    python benchmarks/harness_overhead.py --environment DIR --statement SQL [--question TEXT] [...]

Without --environment: a made-up dataset in the benchmark's layout, a DuckDB file with that many tables of one shape
and a SQLite file that names them; with it: an environment that was comprehended before. A scripted model behind a local
endpoint sends one statement and answers at once. Per attempt: wall time less the time the model took, which is the
attempt itself (session, evidence, statement, checks) with judging and keeping; and processor time of all processes of
the attempt, which a busy machine does not stretch. The attempts before the measured ones start the process and fill its
caches. Directly: DuckDB attaches the DuckDB files of the environment and runs the statement, which reads from these.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

import duckdb

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "tests")]
from harness_dataset import STATEMENT, asked_records, make_dataset
from report import report

from answering.wire_servers import Wire, call
from coset.answering.ask import AskOptions
from coset.benchmark.attempting import Outcome, Request
from coset.benchmark.attempts import Attempt, Judgement, Task
from coset.benchmark.dab.checkout import Question, read_checkout
from coset.benchmark.dab.run import write_environment
from coset.benchmark.dab.validator_process import judge
from coset.benchmark.run_folder import RunFolder
from coset.benchmark.runner import Plan, attempt_places, run_attempts
from coset.environment.configuration import load_environment

QUESTION = "On how many days did Firm 7 close above 20?"
UNMEASURED = 2


def directly(environment: Path, statement: str, runs: int) -> float:
    found = load_environment(environment)
    seconds = []
    for _ in range(runs):
        started = time.monotonic()
        with duckdb.connect() as connection:
            for name in found.names:
                settings = found.settings(name)
                if settings.kind == "duckdb":
                    connection.execute(f"ATTACH '{settings.location}' AS {name} (READ_ONLY)")
            connection.execute(statement).fetchall()
        seconds.append(time.monotonic() - started)
    return statistics.median(seconds)


def reply(statement: str):
    def scripted(request: dict) -> object:
        if any(tool["function"]["name"] == "records" for tool in request["tools"]):
            return asked_records()
        if not any(message["role"] == "tool" for message in request["messages"]):
            return call("sql", query=statement)
        return call("answer", text="7", results=["result_1"])

    return scripted


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tables", type=int, default=2754)
    parser.add_argument("--attempts", type=int, default=8)
    parser.add_argument("--core", action="store_true")
    parser.add_argument("--environment", type=Path)
    parser.add_argument("--statement", default=STATEMENT)
    parser.add_argument("--question", default=QUESTION)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    figures: dict[str, float | str] = {"mode": "core" if arguments.core else "learned"}
    with (
        tempfile.TemporaryDirectory() as name,
        Wire(reply(arguments.statement)) as wire,
        attempt_places(1) as places,
    ):
        root = Path(name)
        made = make_dataset(root / "query_prices", 3 if arguments.environment else arguments.tables)
        environment = arguments.environment
        if environment is None:
            dataset = read_checkout(root).datasets[0]
            environment = write_environment(dataset, root / "environment", hints=False)
            outcome = places[0].run(Request(environment, None), 3600.0)
            assert outcome.status == "answered", outcome.error
            figures |= {"tables": str(arguments.tables), "comprehension, s": outcome.seconds}
        told: list[tuple[float, Attempt]] = []
        before = [time.monotonic()]

        def progress(attempt: Attempt, _: object) -> None:
            now = time.monotonic()
            told.append((now - before[0], attempt))
            before[0] = now

        def judged(task: Task, outcome: Outcome) -> Judgement:
            return judge(Question("1", task.text, made / "query1"), outcome.text, root)

        task = Task("prices", "1", arguments.question, environment)
        plan = Plan([task], UNMEASURED + arguments.attempts, AskOptions(model=wire.url, core=arguments.core))
        run_attempts(plan, RunFolder.begin(root / "run", {}, {}, {}), judged, None, progress, places)
        measured = told[UNMEASURED:]
        assert all(attempt.passed and not attempt.tool_errors for _, attempt in measured), measured[-1]
        direct = directly(environment, arguments.statement, arguments.attempts)
    whole = [seconds - attempt.model_seconds - direct for seconds, attempt in measured]
    figures |= {
        "the same SQL directly, s": direct,
        "overhead of an attempt, median, s": statistics.median(whole),
        "  of it judging and keeping, s": statistics.median(seconds - attempt.seconds for seconds, attempt in measured),
        "overhead of an attempt, best, s": min(whole),
        "overhead of an attempt, worst, s": max(whole),
        "processor time of an attempt, median, s": statistics.median(attempt.cpu_seconds for _, attempt in measured),
    }
    report("harness overhead", figures, "under 2 s an attempt", statistics.median(whole) < 2)


if __name__ == "__main__":
    main()
