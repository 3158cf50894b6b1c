"""What comprehending an environment costs, against DuckDB's own SUMMARIZE over the same tables plus reading them.

    python benchmarks/comprehension_cost.py [--rows 10000000] [--columns 60] [--stock FILE] [--table-rows 5000] [--json]
    python benchmarks/comprehension_cost.py --only refresh          # or wide, or many

Three settings in one run: a generated wide table in a DuckDB file (`wide`); a file of thousands of small tables of one
shape (`many`; `--stock`, or 2,754 generated ones); and a `refresh` after one changed table out of 500 that all share
values. Measured is the building of the evidence state, in a process of its own. Peak memory is that of the whole
process tree; CPU seconds are those of all its processes, and say more than seconds on a machine that has other work.
"""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import duckdb
import psutil
from report import report

KINDS = (
    "(i * 7919) % 1000003", "(i % 97)", "(i % 100000) / 7.0", "'code ' || (i % 500)", "'name ' || (i * 31 % 100000)",
    "DATE '2000-01-01' + (i % 9000)::INT", "CASE WHEN i % 11 = 0 THEN NULL ELSE i % 13 END", "(i % 3 = 0)",
    "md5(((i * 13) % 50000)::VARCHAR)", "TIMESTAMP '2020-01-01' + to_seconds(i % 50000000)",
)  # fmt: skip


def option(name: str, default: str) -> str:
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else default


COMPREHEND = """
import json, pathlib, time
from coset.environment.configuration import load_environment
from coset.use_cases import comprehend as steps
relate, spent = steps.relate, []
def timed(*given):
    started = time.process_time()
    found = relate(*given)
    spent.append(time.process_time() - started)
    return found
steps.relate = timed
steps.comprehend(load_environment(pathlib.Path(".")))
pathlib.Path("relating.json").write_text(json.dumps(sum(spent)))
"""


@dataclass(frozen=True)
class Cost:
    seconds: float
    cpu: float
    relating: float
    """CPU seconds for finding relations, once each table by itself is known."""
    gigabytes: float


def comprehended(folder: Path) -> Cost:
    """What building the evidence state takes, in a process of its own."""
    command = [sys.executable, "-c", COMPREHEND]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL)
    peak = 0

    def watch() -> None:
        nonlocal peak
        while process.poll() is None:
            try:
                tree = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
                peak = max(peak, sum(each.memory_info().rss for each in tree))
            except psutil.Error:
                pass
            time.sleep(0.05)

    watcher = threading.Thread(target=watch)
    watcher.start()
    if process.wait() != 0:
        raise SystemExit("coset comprehend failed")
    seconds = time.perf_counter() - started
    watcher.join()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(seconds, cpu, json.loads((folder / "relating.json").read_text()), peak / 1e9)


def summarised(file: Path) -> tuple[float, float]:
    """Seconds of SUMMARIZE over every table, and of reading every column of every table once."""
    with duckdb.connect(str(file), read_only=True, config={"memory_limit": "2GB"}) as connection:
        names = [row[0] for row in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()]
        started = time.perf_counter()
        for name in names:
            connection.execute(f'SUMMARIZE "{name}"').fetchall()
        middle = time.perf_counter()
        for name in names:
            connection.execute(f'SELECT count(COLUMNS(*)) FROM "{name}"').fetchall()
        return middle - started, time.perf_counter() - middle


def environment(folder: Path, location: str) -> None:
    (folder / "coset.yaml").write_text(f"sources:\n  data: {{location: '{location}'}}\n")
    shutil.rmtree(folder / ".coset", ignore_errors=True)


def measure(title: str, folder: Path, file: Path, memory_aim: float | None, seconds_aim: float | None) -> None:
    environment(folder, str(file))
    summarise, read = summarised(file)
    cost = comprehended(folder)
    ratio = cost.seconds / (summarise + read)
    met = ratio <= 3 and (memory_aim is None or cost.gigabytes < memory_aim)
    met = met and (seconds_aim is None or cost.seconds < seconds_aim)
    aim = "at most 3 times SUMMARIZE plus reading"
    aim += f", under {memory_aim:g} GB" if memory_aim else ""
    aim += f", under {seconds_aim:g} s" if seconds_aim else ""
    figures: dict[str, float | str] = {
        "SUMMARIZE, s": summarise, "reading, s": read, "comprehension, s": cost.seconds, "ratio": ratio,
        "comprehension, CPU s": cost.cpu, "of it finding relations, CPU s": cost.relating,
        "peak memory, GB": cost.gigabytes,
    }  # fmt: skip
    report(title, figures, aim, met)


def refresh(folder: Path) -> None:
    data, rows_each = folder / "many", int(option("--table-rows", "5000"))
    data.mkdir()
    for number in range(500):
        rows = "\n".join(
            f"{number * 10 * rows_each + i},item {i},{i % 17},2024-01-{i % 28 + 1:02}" for i in range(rows_each)
        )
        words = ("alpha", "beta", "gamma", "delta", "epsilon")
        column = f"{words[number % 5]}_{number}"
        (data / f"{words[number % 5]}{chr(97 + number % 26)}{number}.csv").write_text(
            f"id_{number},{column},n,day\n{rows}\n"
        )
    environment(folder, str(data))
    first = comprehended(folder)
    # The first, one in the middle and the last: how many others a table is compared with depends on where it stands.
    files = sorted(data.iterdir())
    refreshes = []
    for changed in (files[0], files[250], files[-1]):
        changed.write_text(changed.read_text() + "999999,new,1,2024-02-01\n")
        refreshes.append(comprehended(folder))
    seconds, cpu = max(each.seconds for each in refreshes), max(each.cpu for each in refreshes)
    figures: dict[str, float | str] = {
        "first run, s": first.seconds, "first run, CPU s": first.cpu,
        "of it finding relations, CPU s": first.relating,
        "slowest of three refreshes, s": seconds, "slowest of three refreshes, CPU s": cpu,
        "share of seconds": seconds / first.seconds, "share of CPU seconds": cpu / first.cpu,
    }  # fmt: skip
    report(
        f"refresh after one changed table of {rows_each:,} rows out of 500",
        figures,
        "under 5 %",
        seconds < 0.05 * first.seconds,
    )


def wide_table(folder: Path) -> None:
    rows, columns = int(option("--rows", "10000000")), int(option("--columns", "60"))
    wide = folder / "wide.duckdb"
    print(f"making {rows:,} rows of {columns} columns ...", file=sys.stderr)
    with duckdb.connect(str(wide), config={"memory_limit": "4GB"}) as connection:
        outputs = ", ".join(f"{KINDS[n % len(KINDS)]} AS c{n}" for n in range(columns))
        connection.execute(f"CREATE TABLE wide AS SELECT {outputs} FROM range({rows}) r(i)")
    measure(f"{rows:,} rows of {columns} columns", folder, wide, 2.0, None)
    wide.unlink()


def many_tables(folder: Path) -> None:
    small = Path(option("--stock", str(folder / "small.duckdb")))
    if not small.exists():
        with duckdb.connect(str(small)) as connection:
            for number in range(2754):
                connection.execute(
                    f"CREATE TABLE S{number} AS SELECT DATE '2020-01-01' + i::INT AS day, i * 1.5 AS open, "
                    "i * 1.6 AS close, i AS volume FROM range(700) r(i)"
                )
    measure("thousands of small tables of one shape", folder, small, None, 180.0)


def main() -> None:
    only = option("--only", "")
    with tempfile.TemporaryDirectory() as name:
        for setting, run in (("wide", wide_table), ("many", many_tables), ("refresh", refresh)):
            if only in ("", setting):
                run(Path(name))


if __name__ == "__main__":
    main()
