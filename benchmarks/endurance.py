"""A long day: comprehension that is killed again and again, or runs out of disk; servers under load.

    python benchmarks/endurance.py kills ENVIRONMENT [--times 200] [--longest 20]
    python benchmarks/endurance.py disk-full ENVIRONMENT [--points 20]      (as root: it mounts small file systems)
    python benchmarks/endurance.py server ENVIRONMENT [--clients 20] [--minutes 10]

ENVIRONMENT is a folder with coset.yaml; it is copied, never changed. `kills` sends SIGKILL, SIGTERM or SIGHUP at a
random moment and notes something between two kills; `server` asks for views, SQL and notes over MCP while the
environment is comprehended anew and these comprehensions are killed. Told are broken states, lost notes, leaked
processes and files, and whether the state in the end is that of an undisturbed run.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb
import psutil
import yaml
from report import report

COSET = [sys.executable, "-c", "from coset.surfaces.command_line import main; main()"]
ENDING = """
import signal
signal.signal(signal.SIGHUP, signal.SIG_DFL)
from coset.surfaces.command_line import main
main()
"""
COMPREHEND = [sys.executable, "-c", ENDING, "comprehend"]
MARK = "COSET_ENDURANCE"


def marked(mark: str) -> dict[str, str]:
    return {**os.environ, MARK: mark}


def processes(mark: str) -> list[int]:
    """The processes that were started with this mark and still run."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if process.status() != psutil.STATUS_ZOMBIE and process.environ().get(MARK) == mark:
                found.append(process.pid)
    return found


def gone(mark: str, patience: float = 20.0) -> int:
    """How many of them are left after a while."""
    ends = time.monotonic() + patience
    while (left := processes(mark)) and time.monotonic() < ends:
        time.sleep(0.2)
    return len(left)


def copied(environment: Path, into: Path) -> Path:
    shutil.copytree(environment, into, ignore=shutil.ignore_patterns(".coset", "coset.corrections.yaml"), symlinks=True)
    return into


def about(folder: Path) -> str:
    """Something to note things about: the first source."""
    return next(iter(yaml.safe_load((folder / "coset.yaml").read_text())["sources"]))


def notes(folder: Path) -> list[str]:
    file = folder / "coset.corrections.yaml"
    return [each["text"] for each in (yaml.safe_load(file.read_text()) or {}).get("notes", [])] if file.exists() else []


def roles(folder: Path) -> set[tuple[object, ...]]:
    with duckdb.connect(str(folder / ".coset" / "state.duckdb"), read_only=True) as state:
        return set(state.execute("SELECT reference, coordinate, identity FROM memberships").fetchall())


def joins(folder: Path) -> set[tuple[object, ...]]:
    with duckdb.connect(str(folder / ".coset" / "state.duckdb"), read_only=True) as state:
        return {
            (str(a), str(b)) for a, b in state.execute("SELECT left_columns, right_columns FROM relations").fetchall()
        }


def opens(folder: Path) -> bool:
    """Whether the state can be read as it is."""
    if not (folder / ".coset" / "state.duckdb").exists():
        return True
    return subprocess.run([*COSET, "status"], cwd=folder, capture_output=True, check=False).returncode == 0


def kills(environment: Path, times: int, longest: float, seed: int = 0) -> dict[str, float | str]:
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as work:
        folder, other = copied(environment, Path(work) / "killed"), copied(environment, Path(work) / "undisturbed")
        temporary = Path(work) / "tmp"
        temporary.mkdir()
        said, broken, leaked, left_over, by_itself = [], 0, 0, 0, 0
        for number in range(times):
            mark = f"{work}-{number}"
            process = subprocess.Popen(
                COMPREHEND, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                env={**marked(mark), "TMPDIR": str(temporary)},
            )  # fmt: skip
            try:
                process.wait(chance.uniform(0.3, longest))
                by_itself += 1
            except subprocess.TimeoutExpired:
                process.send_signal(chance.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGHUP]))
                process.wait()
            leaked += gone(mark)
            if number % 4 == 0:
                text = f"note {number}"
                noted = subprocess.run(
                    [*COSET, "note", about(folder), text], cwd=folder, capture_output=True, check=False
                )
                if noted.returncode == 0:
                    said.append(text)
            broken += not opens(folder)
        for each in (folder, other):
            subprocess.run([*COSET, "comprehend"], cwd=each, stdout=subprocess.DEVNULL, check=True)
        left_over = sum(1 for _ in temporary.iterdir()) + len(list((folder / ".coset").rglob("*.part")))
        return {
            "kills": times - by_itself, "ended by itself before": by_itself, "broken states": broken,
            "notes acknowledged": len(said), "notes lost": len(set(said) - set(notes(folder))),
            "processes leaked": leaked, "temporary and half-written files in the end": left_over,
            "roles": len(roles(other)), "roles that differ from an undisturbed run": len(roles(folder) ^ roles(other)),
            "joins that differ from an undisturbed run": len(joins(folder) ^ joins(other)),
        }  # fmt: skip


def disk_full(environment: Path, points: int) -> dict[str, float | str]:
    """Comprehension with its state on a file system that is too small, in steps up to one that suffices."""
    with tempfile.TemporaryDirectory() as work:
        folder = copied(environment, Path(work) / "environment")
        subprocess.run([*COSET, "comprehend"], cwd=folder, stdout=subprocess.DEVNULL, check=True)
        needed = sum(path.stat().st_size for path in (folder / ".coset").rglob("*") if path.is_file())
        shutil.rmtree(folder / ".coset")
        (folder / ".coset").mkdir()
        told, broken, leaked, traces = 0, 0, 0, 0
        for number in range(points):
            size = int(needed * 1.1 * (number + 1) / points) + 65_536
            mark = f"{work}-{number}"
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder / ".coset")], check=True)
            try:
                run = subprocess.run(
                    [*COSET, "comprehend"], cwd=folder, capture_output=True, text=True, env=marked(mark), check=False
                )
                told += run.returncode != 0 or "space" in run.stdout + run.stderr
                traces += "Traceback" in run.stderr
                leaked += gone(mark)
                subprocess.run(["mount", "-o", f"remount,size={needed * 4}", str(folder / ".coset")], check=True)
                again = subprocess.run([*COSET, "comprehend"], cwd=folder, capture_output=True, check=False)
                broken += again.returncode != 0 or not opens(folder)
            finally:
                subprocess.run(["umount", str(folder / ".coset")], check=True)
        return {
            "sizes": points, "needed, MB": round(needed / 1e6, 1), "told": told, "stack traces": traces,
            "broken once there is room": broken, "processes leaked": leaked,
        }  # fmt: skip


async def _client(address: str, ends: float, number: int, folder: Path, seconds: list[float], said: list[str]) -> int:
    from mcp import Client

    failed, turn = 0, 0
    while time.monotonic() < ends:
        try:
            async with Client(address) as client:
                for _ in range(5):
                    turn += 1
                    started = time.monotonic()
                    kind = (number + turn) % 3
                    if kind == 0:
                        answer = await client.call_tool("sql", {"query": "SELECT 1 AS one"})
                    elif kind == 1:
                        answer = await client.call_tool(
                            "view", {"question": f"how many claims or orders in {2020 + turn % 6}"}
                        )
                    else:
                        text = f"client {number} turn {turn}"
                        answer = await client.call_tool("correct", {"about": about(folder), "note": text})
                        if not answer.is_error:
                            said.append(text)
                    failed += bool(answer.is_error)
                    seconds.append(time.monotonic() - started)
        except Exception:
            failed += 1
            await asyncio.sleep(0.5)
    return failed


def server(environment: Path, clients: int, minutes: float) -> dict[str, float | str]:
    with tempfile.TemporaryDirectory() as work:
        folder = copied(environment, Path(work) / "environment")
        subprocess.run([*COSET, "comprehend"], cwd=folder, stdout=subprocess.DEVNULL, check=True)
        mark = f"{work}-server"
        process = subprocess.Popen(
            [*COSET, "mcp", "--http", "--port", "0"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, env=marked(mark),
        )  # fmt: skip
        address = ""
        while not address.startswith("http"):
            line = process.stdout.readline() if process.stdout else ""
            address = next((word for word in line.split() if word.startswith("http")), "")
        memory: list[float] = []
        seconds: list[float] = []
        said: list[str] = []
        refreshes = 0

        async def disturb(ends: float) -> None:
            """Comprehend anew, and kill every second one on its way."""
            nonlocal refreshes
            while time.monotonic() < ends:
                refresh = await asyncio.create_subprocess_exec(
                    *COMPREHEND, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
                )
                refreshes += 1
                with contextlib.suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(refresh.wait(), 8 if refreshes % 2 else 60)
                if refresh.returncode is None:
                    refresh.kill()
                    await refresh.wait()
                tree = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
                with contextlib.suppress(psutil.Error):
                    memory.append(sum(each.memory_info().rss for each in tree) / 1e6)
                await asyncio.sleep(10)

        async def run() -> list[int]:
            ends = time.monotonic() + minutes * 60
            disturbing = asyncio.create_task(disturb(ends))
            failed = await asyncio.gather(
                *(_client(address, ends, number, folder, seconds, said) for number in range(clients))
            )
            await disturbing
            return failed

        failed = asyncio.run(run())
        alive = process.poll() is None
        process.terminate()
        process.wait(30)
        ordered = sorted(seconds)
        return {
            "clients": clients, "minutes": minutes, "calls": len(seconds), "calls that failed": sum(failed),
            "server alive": alive, "refreshes beside it": refreshes, "median s": round(statistics.median(ordered), 2),
            "95th s": round(ordered[int(len(ordered) * 0.95)], 2), "memory MB first": round(memory[0]),
            "memory MB last": round(memory[-1]), "notes acknowledged": len(said),
            "notes lost": len(set(said) - set(notes(folder))), "processes left": gone(mark),
        }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("kills", "disk-full", "server"))
    parser.add_argument("environment", type=Path)
    parser.add_argument("--times", type=int, default=200)
    parser.add_argument("--longest", type=float, default=20.0)
    parser.add_argument("--points", type=int, default=20)
    parser.add_argument("--clients", type=int, default=20)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    if given.what == "kills":
        found = kills(given.environment, given.times, given.longest)
    elif given.what == "disk-full":
        found = disk_full(given.environment, given.points)
    else:
        found = server(given.environment, given.clients, given.minutes)
    report(f"endurance: {given.what}", found)


if __name__ == "__main__":
    main()
