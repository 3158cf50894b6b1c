"""The process that runs SQL: its limits always hold, and the operating system confines it."""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa
import pytest

from coset.errors import CosetError, LimitReached, UserError
from coset.session.worker_process import Deadline, WorkerLimits, WorkerProcess

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="Landlock is Linux's")


@pytest.fixture
def worker(tmp_path: Path):
    process = WorkerProcess(WorkerLimits(seconds=20, memory_bytes=2**29))
    yield process
    process.close()


def run(worker: WorkerProcess, sql: str, folder: Path, **changes: Any) -> tuple[dict[str, Any], pa.Table]:
    head = {
        "operation": "run", "sql": sql, "relations": [], "attach": [], "files": [], "folders": [f"{folder}/"],
        "stamp": "", "max_rows": 100, "max_bytes": 2**20, **changes,
    }  # fmt: skip
    seconds = changes.get("seconds")
    answer, payload = worker.request(head, None if seconds is None else Deadline(seconds))
    return answer, pa.ipc.open_stream(payload).read_all()


def test_runs_a_statement_and_stays_warm(worker: WorkerProcess, tmp_path: Path):
    answer, table = run(worker, "SELECT 42 AS a", tmp_path)
    first = worker._process.pid
    assert table.to_pydict() == {"a": [42]} and not answer["truncated"]
    run(worker, "SELECT 1", tmp_path)
    assert worker._process.pid == first


def test_rows_and_bytes_are_cut_and_said_to_be(worker: WorkerProcess, tmp_path: Path):
    answer, table = run(worker, "SELECT * FROM range(1000)", tmp_path, max_rows=7)
    assert table.num_rows == 7 and answer["truncated"]
    answer, table = run(worker, "SELECT repeat('x', 10000) FROM range(1000)", tmp_path, max_rows=10**6)
    assert 0 < table.nbytes <= 2**20 and answer["truncated"]
    answer, table = run(worker, "SELECT * FROM range(7)", tmp_path, max_rows=7)
    assert table.num_rows == 7 and not answer["truncated"]


def test_one_row_that_is_too_large_is_an_error_not_an_empty_result(worker: WorkerProcess, tmp_path: Path):
    with pytest.raises(LimitReached, match="one row of the result is larger"):
        run(worker, "SELECT repeat('x', 3000000)", tmp_path)


def test_time_is_kept_even_when_the_engine_would_not_listen(worker: WorkerProcess, tmp_path: Path):
    started = time.monotonic()
    with pytest.raises(LimitReached, match=r"after 0\.5 seconds"):
        run(worker, "SELECT count(*) FROM range(1000000000) a, range(1000000) b", tmp_path, seconds=0.5)
    assert time.monotonic() - started < 15
    assert run(worker, "SELECT 1 AS a", tmp_path)[1].to_pydict() == {"a": [1]}


def test_memory_is_kept(worker: WorkerProcess, tmp_path: Path):
    with pytest.raises(LimitReached, match="more memory"):
        run(worker, "SELECT list(i) FROM range(300000000) t(i)", tmp_path)
    assert run(worker, "SELECT 1 AS a", tmp_path)[1].to_pydict() == {"a": [1]}


def test_a_killed_worker_is_replaced(worker: WorkerProcess, tmp_path: Path):
    run(worker, "SELECT 1", tmp_path)
    os.kill(worker._process.pid, 9)
    time.sleep(0.1)
    assert run(worker, "SELECT 2 AS a", tmp_path)[1].to_pydict() == {"a": [2]}


def test_a_worker_killed_in_the_middle_is_told_and_replaced(worker: WorkerProcess, tmp_path: Path):
    run(worker, "SELECT 1", tmp_path)
    threading.Timer(0.3, lambda: os.kill(worker._process.pid, 9)).start()
    with pytest.raises(LimitReached, match="signal 9"):
        run(worker, "SELECT count(*) FROM range(1000000000) a, range(1000000) b", tmp_path)
    assert run(worker, "SELECT 2 AS a", tmp_path)[1].to_pydict() == {"a": [2]}


def test_it_holds_no_variable_of_ours(worker: WorkerProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CRM_PASSWORD", "s3cr3t")
    run(worker, "SELECT 1", tmp_path)
    assert "CRM_PASSWORD" not in psutil.Process(worker._process.pid).environ()


def test_it_ends_with_its_parent(tmp_path: Path):
    import subprocess

    script = (
        "import sys, os\n"
        "from coset.session.worker_process import WorkerLimits, WorkerProcess\n"
        "worker = WorkerProcess(WorkerLimits())\n"
        "worker.request({'operation': 'parse', 'sql': 'SELECT 1'})\n"
        "print(worker._process.pid, flush=True)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    answer = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    child = int(answer.stdout)
    for _ in range(100):
        if not psutil.pid_exists(child) or psutil.Process(child).status() == psutil.STATUS_ZOMBIE:
            return
        time.sleep(0.1)
    pytest.fail("the worker outlived its parent")


@linux_only
@pytest.mark.parametrize(
    "statement",
    [
        "COPY (SELECT 1) TO '{folder}/new.parquet'",
        "COPY (SELECT 1) TO '{folder}/kept.parquet' (USE_TMP_FILE false)",
        "COPY (SELECT 1) TO '{folder}/kept.parquet'",
        "ATTACH '{folder}/new.duckdb' AS written",
        "COPY (SELECT 1) TO '/tmp/elsewhere.csv'",
        "EXPORT DATABASE '{folder}/all'",
    ],
)
def test_no_file_can_be_written_even_where_files_may_be_read(worker: WorkerProcess, tmp_path: Path, statement: str):
    """The guard is not asked here: this is what holds without it."""
    import duckdb

    duckdb.sql("SELECT 7 AS a").write_parquet(str(tmp_path / "kept.parquet"))
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(CosetError):
        run(worker, statement.format(folder=tmp_path), tmp_path)
        run(worker, "CREATE TABLE written.t AS SELECT 1", tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM read_text('/etc/passwd')",
        "SELECT * FROM '/etc/passwd'",
        "SELECT * FROM glob('/*')",
        "SET enable_external_access = true",
        "SET allowed_directories = ['/']",
        "RESET lock_configuration",
        "INSTALL httpfs",
        "LOAD httpfs",
        "ATTACH '/tmp/any.duckdb'",
        "SELECT * FROM read_csv('https://example.com/a.csv')",
    ],
)
def test_the_engine_refuses_by_itself(worker: WorkerProcess, tmp_path: Path, statement: str):
    with pytest.raises(CosetError):
        run(worker, statement, tmp_path)


def test_errors_are_one_plain_sentence(worker: WorkerProcess, tmp_path: Path):
    with pytest.raises(UserError) as error:
        run(worker, "SELECT nonesuch FROM range(3) t(i)", tmp_path)
    assert "\n" not in str(error.value) and "nonesuch" in str(error.value) and "Binder Error" not in str(error.value)
