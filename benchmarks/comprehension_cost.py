"""What comprehending an environment costs, against DuckDB's own SUMMARIZE over the same tables plus reading them.

    python benchmarks/comprehension_cost.py [--rows 10000000] [--columns 60] [--stock FILE] [--json]

Three settings in one run: a generated wide table in a DuckDB file; a file of thousands of small tables of one shape
(`--stock`, or 2,754 generated ones); and a refresh after one changed table out of 500. Peak memory is that of the whole
process tree.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import threading
import time
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


def comprehended(folder: Path) -> tuple[float, float]:
    """Seconds and peak memory in GB of `coset comprehend` in a process of its own."""
    command = [sys.executable, "-c", "from coset.surfaces.command_line import main; main()", "comprehend"]
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
    return seconds, peak / 1e9


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
    seconds, peak = comprehended(folder)
    ratio = seconds / (summarise + read)
    met = ratio <= 3 and (memory_aim is None or peak < memory_aim) and (seconds_aim is None or seconds < seconds_aim)
    aim = "at most 3 times SUMMARIZE plus reading"
    aim += f", under {memory_aim:g} GB" if memory_aim else ""
    aim += f", under {seconds_aim:g} s" if seconds_aim else ""
    figures: dict[str, float | str] = {
        "SUMMARIZE, s": summarise, "reading, s": read, "coset comprehend, s": seconds, "ratio": ratio,
        "peak memory, GB": peak,
    }  # fmt: skip
    report(title, figures, aim, met)


def refresh(folder: Path) -> None:
    data = folder / "many"
    data.mkdir()
    for number in range(500):
        rows = "\n".join(f"{number * 1000 + i},item {i},{i % 17},2024-01-{i % 28 + 1:02}" for i in range(400))
        words = ("alpha", "beta", "gamma", "delta", "epsilon")
        column = f"{words[number % 5]}_{number}"
        (data / f"{words[number % 5]}{chr(97 + number % 26)}{number}.csv").write_text(
            f"id_{number},{column},n,day\n{rows}\n"
        )
    environment(folder, str(data))
    first, _ = comprehended(folder)
    changed = next(data.iterdir())
    changed.write_text(changed.read_text() + "999999,new,1,2024-02-01\n")
    second, _ = comprehended(folder)
    report(
        "refresh after one changed table out of 500",
        {"first run, s": first, "refresh, s": second, "share": second / first},
        "under 5 %",
        second < 0.05 * first,
    )


def main() -> None:
    rows, columns = int(option("--rows", "10000000")), int(option("--columns", "60"))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wide = folder / "wide.duckdb"
        print(f"making {rows:,} rows of {columns} columns ...", file=sys.stderr)
        with duckdb.connect(str(wide), config={"memory_limit": "4GB"}) as connection:
            outputs = ", ".join(f"{KINDS[n % len(KINDS)]} AS c{n}" for n in range(columns))
            connection.execute(f"CREATE TABLE wide AS SELECT {outputs} FROM range({rows}) r(i)")
        measure(f"{rows:,} rows of {columns} columns", folder, wide, 2.0, None)
        wide.unlink()
        small = Path(option("--stock", str(folder / "small.duckdb")))
        if not small.exists():
            with duckdb.connect(str(small)) as connection:
                for number in range(2754):
                    connection.execute(
                        f"CREATE TABLE S{number} AS SELECT DATE '2020-01-01' + i::INT AS day, i * 1.5 AS open, "
                        "i * 1.6 AS close, i AS volume FROM range(700) r(i)"
                    )
        measure("thousands of small tables of one shape", folder, small, None, 180.0)
        refresh(folder)


if __name__ == "__main__":
    main()
