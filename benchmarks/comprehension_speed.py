"""What profiles and value groups cost, against DuckDB's own SUMMARIZE over the same tables in the same run.

    python benchmarks/comprehension_speed.py [--rows 10000000] [--stock FILE.duckdb] [--costs] [--json]

Two settings: one generated table of 60 columns (numbers, dates, categories, keys, sentences) in a DuckDB file, and
2,754 small tables of one shape (generated, or those of the DuckDB file given with --stock). Each measurement has a
process of its own with one gigabyte for DuckDB, so that its peak memory is its own. `--costs` prints what single
aggregates cost on a tenth of the rows.

    python benchmarks/comprehension_speed.py --environment FOLDER

comprehends an environment anew (its state is deleted) in one process and prints the processor seconds of each stage,
all of them as a ratio to SUMMARIZE over the same tables in the same run.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import resource
import shutil
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import duckdb
from report import report

from coset.environment.catalogue import Catalogue
from coset.environment.configuration import load_environment
from coset.environment.families import units_of
from coset.evidence.profiles import profile_table
from coset.evidence.reading import make_unit_readable, open_connection
from coset.evidence.sampled_rows import sampled_rows
from coset.evidence.value_groups import value_groups
from coset.evidence.work import here
from coset.use_cases.comprehend import STAGES, Run, Settings, Stage, comprehend

SMALL_TABLES, SMALL_ROWS = 2_754, 700
MEMORY = "1GB"


@dataclass(frozen=True)
class ProfiledTable:
    relation: str
    columns: tuple[tuple[str, str], ...]
    rows: int


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--rows", type=int, default=10_000_000)
    arguments.add_argument("--stock", type=Path)
    arguments.add_argument("--costs", action="store_true")
    arguments.add_argument("--json", action="store_true")
    arguments.add_argument("--environment", type=Path)
    given = arguments.parse_args()
    if given.environment:
        compare_environment(given.environment.resolve())
        return
    with tempfile.TemporaryDirectory() as name:
        large = Path(name) / "large.duckdb"
        in_process(generate_large, large, given.rows)
        if given.costs:
            figures = in_process(aggregate_costs, large, given.rows // 10)
            report("cost of aggregates over a tenth of the rows, seconds", figures, aim="none", met=True)
        compare(f"one table of {given.rows:,} rows and 60 columns", large, "large")
        large.unlink()
        small = given.stock
        if small is None:
            small = Path(name) / "small.duckdb"
            in_process(generate_small, small, SMALL_ROWS)
        compare("many small tables", small, "small")


def compare(title: str, path: Path, prefix: str) -> None:
    tables, summarize, summarize_cpu, summarize_peak = in_process(summarize_all, path, 0)
    _, profile, profile_cpu, profile_peak, groups = in_process(profile_all, path, 0)
    report(
        f"profiles and value groups against SUMMARIZE, {title}",
        {
            "tables": float(tables),
            "SUMMARIZE, s": summarize,
            "profiles and value groups, s": profile,
            "ratio": profile / summarize,
            "ratio of processor time": profile_cpu / summarize_cpu,
            "value groups found": float(groups),
            "peak memory of SUMMARIZE, MB": summarize_peak,
            "peak memory of profiles, MB": profile_peak,
        },
        aim="at most 1.5 times SUMMARIZE, under 2,000 MB",
        met=profile / summarize <= 1.5 and profile_peak < 2_000,
    )


def compare_environment(folder: Path) -> None:
    shutil.rmtree(load_environment(folder).state_folder, ignore_errors=True)
    stages = in_process(comprehend_by_stage, folder)
    tables, summarize = in_process(summarize_environment, folder)
    whole = sum(stages.values())
    figures = {f"{name}, CPU s": seconds for name, seconds in stages.items()}
    figures |= {"comprehension, CPU s": whole, "tables and families": float(tables), "SUMMARIZE, CPU s": summarize}
    figures["ratio"] = whole / summarize
    report(f"comprehension of {folder.name} against SUMMARIZE of its tables", figures, aim="none", met=True)


def comprehend_by_stage(folder: Path) -> dict[str, float]:
    """Processor seconds of each stage, with those of the processes it started."""
    spent: dict[str, float] = {}

    def timed(stage: Stage) -> Stage:
        def run(given: Run) -> None:
            before = _processor_seconds()
            stage.run(given)
            spent[stage.what] = _processor_seconds() - before

        return Stage(stage.what, run)

    summary = comprehend(load_environment(folder), Settings(spread=here), stages=[timed(stage) for stage in STAGES])
    for name, problem in summary.all_problems:
        print(f"{name}: {problem}")
    return spent


def _processor_seconds() -> float:
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in used)


def summarize_environment(folder: Path) -> tuple[int, float]:
    """SUMMARIZE over every table and family as comprehension reads them, from local copies where there are some."""
    environment = load_environment(folder)
    catalogue = Catalogue(environment).list_sources()
    tables, spent = 0, 0.0
    with open_connection(catalogue.sources.values(), environment.state_folder) as connection:
        for name, listing in catalogue.listings.items():
            for unit in () if listing.problem else units_of(listing):
                view = f"table_{tables}"
                readable = make_unit_readable(connection, catalogue.sources[name], unit, environment.state_folder, view)
                before = time.process_time()
                connection.execute(f"SUMMARIZE {readable.relation}").fetchall()
                spent += time.process_time() - before
                tables += 1
    catalogue.close()
    return tables, spent


def in_process(work: Callable, *arguments: object):
    """Runs `work` in a fresh process, so that its peak memory is its own."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(work, *arguments).result()


def opened(path: Path) -> tuple[duckdb.DuckDBPyConnection, list[ProfiledTable]]:
    connection = duckdb.connect(config={"memory_limit": MEMORY})
    connection.execute("SET enable_progress_bar = false")
    connection.execute(f"ATTACH '{path}' AS data (READ_ONLY)")
    columns: dict[str, list[tuple[str, str]]] = {}
    for table, column, kind in connection.execute(
        "SELECT table_name, column_name, data_type FROM duckdb_columns() WHERE database_name = 'data' "
        "ORDER BY table_name, column_index"
    ).fetchall():
        columns.setdefault(table, []).append((column, kind))
    rows = dict(
        connection.execute(
            "SELECT table_name, estimated_size FROM duckdb_tables() WHERE database_name = 'data'"
        ).fetchall()
    )
    quote = str.maketrans({'"': '""'})
    return connection, [
        ProfiledTable(f'data."{table.translate(quote)}"', tuple(found), rows[table]) for table, found in columns.items()
    ]


def measured_from(started: tuple[float, float]) -> tuple[float, float, float]:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1_000
    return time.perf_counter() - started[0], time.process_time() - started[1], peak


def summarize_all(path: Path, _: int) -> tuple[int, float, float, float]:
    connection, tables = opened(path)
    started = time.perf_counter(), time.process_time()
    for table in tables:
        connection.execute(f"SUMMARIZE {table.relation}").fetchall()
    return len(tables), *measured_from(started)


def profile_all(path: Path, _: int) -> tuple[int, float, float, float, int]:
    connection, tables = opened(path)
    groups = 0
    started = time.perf_counter(), time.process_time()
    for table in tables:
        sample = sampled_rows(connection, table.relation, table.columns, rows=table.rows)
        profiles = profile_table(connection, table.relation, table.columns, rows=table.rows, sample=sample)
        groups += len(value_groups(connection, table.relation, table.columns, profiles, rows=table.rows, sample=sample))
    return len(tables), *measured_from(started), groups


def generate_large(path: Path, rows: int) -> None:
    connection = duckdb.connect(path, config={"memory_limit": MEMORY, "preserve_insertion_order": "false"})
    connection.execute("SET enable_progress_bar = false")
    kinds = [
        "({h} % 10000000)::BIGINT",
        "({h} % 100000)::INTEGER",
        "(({h} % 1000000) / 997.0)::DOUBLE",
        "(({h} % 10000000) / 100)::DECIMAL(12, 2)",
        "DATE '2015-01-01' + ({h} % 3650)::INTEGER",
        "TIMESTAMP '2015-01-01' + to_seconds(({h} % 300000000)::BIGINT)",
        "CASE {h} % 5 WHEN 0 THEN 'new' WHEN 1 THEN 'open' WHEN 2 THEN 'Closed Won' WHEN 3 THEN 'Closed Lost' END",
        "'CITY-' || ({h} % 900)",
        "'cust_' || ({h} % 2000000)",
        "'The order ' || ({h} % 100000) || ' was shipped by ' || ({h} % 977) || ' on time'",
        "({h} % 3 = 0)",
        "CASE WHEN {h} % 10 < 3 THEN NULL ELSE ({h} % 50)::SMALLINT END",
    ]
    columns = ["i AS c0"]
    columns += [kinds[number % len(kinds)].format(h=f"hash(i, {number})") + f" AS c{number}" for number in range(1, 60)]
    connection.execute(f"CREATE TABLE large AS SELECT {', '.join(columns)} FROM range({rows}) AS r(i)")


def generate_small(path: Path, rows: int) -> None:
    connection = duckdb.connect(path, config={"memory_limit": MEMORY})
    for number in range(SMALL_TABLES):
        prices = ", ".join(
            f"(hash(i, {number}, {place}) % 10000 / 100)::FLOAT AS {name}"
            for place, name in enumerate(("opened", "high", "low", "closed", "adjusted"))
        )
        connection.execute(
            f"CREATE TABLE s{number} AS SELECT CAST(DATE '2019-01-01' + i::INTEGER AS VARCHAR) AS day, {prices}, "
            f"(hash(i, {number}, 9) % 1000000)::BIGINT AS volume FROM range({rows + number % 97}) AS r(i)"
        )


def aggregate_costs(path: Path, rows: int) -> dict[str, float]:
    connection, tables = opened(path)
    texts = [name for name, kind in tables[0].columns if kind == "VARCHAR"]
    numbers = [
        name for name, kind in tables[0].columns if kind in ("BIGINT", "INTEGER", "DOUBLE", "DECIMAL(12,2)", "SMALLINT")
    ]
    connection.execute(f"CREATE TEMP TABLE part AS FROM {tables[0].relation} LIMIT {rows}")
    trials: dict[str, tuple[str, list[str]]] = {
        "count": ("count({})", texts + numbers),
        "min, max of numbers": ("min({0}), max({0})", numbers),
        "min, max of text": ("min({0}), max({0})", texts),
        "avg, stddev": ("avg({0}), stddev({0})", numbers),
        "length of text": ("avg(length({0})), max(length({0}))", texts),
        "approx_count_distinct": ("approx_count_distinct({})", texts + numbers),
        "count(DISTINCT)": ("count(DISTINCT {})", texts + numbers),
        "approx_quantile": ("approx_quantile({}, 0.5)", numbers),
        "approx_top_k of text": ("approx_top_k({}, 20)", texts),
        "try_cast of text to double": ("count(try_cast({} AS DOUBLE))", texts),
        "hash of lower-case text": ("max(hash(lower({})))", texts),
        "hash of text without separators, by pattern": ("max(hash(regexp_replace({}, '[^a-z0-9]+', '', 'g')))", texts),
        "hash of text without one separator, by replace": ("max(hash(replace({}, ' ', '')))", texts),
    }
    figures = {f"columns of text {len(texts)}, of numbers": float(len(numbers))}
    for name, (template, columns) in trials.items():
        started = time.perf_counter()
        connection.execute(f"SELECT {', '.join(template.format(column) for column in columns)} FROM part").fetchall()
        figures[name] = time.perf_counter() - started
    started = time.perf_counter()
    connection.execute("SUMMARIZE part").fetchall()
    figures["SUMMARIZE of all 60 columns"] = time.perf_counter() - started
    return figures


if __name__ == "__main__":
    os.environ.setdefault("PYTHONWARNINGS", "ignore")
    main()
