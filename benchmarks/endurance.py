"""A long day: comprehension that is killed again and again, or runs out of disk; servers under load.

    python benchmarks/endurance.py kills ENVIRONMENT [--times 200] [--longest 20]
    python benchmarks/endurance.py disk-full ENVIRONMENT [--points 20]      (as root: it mounts small file systems)
    python benchmarks/endurance.py server ENVIRONMENT [--clients 20] [--minutes 10]

ENVIRONMENT is a folder with coset.yaml; it is copied, never changed. `kills` sends SIGKILL, SIGTERM or SIGHUP at a
random moment and notes something between two kills; `server` asks for views, SQL and notes over MCP, and for pages,
views and SQL of the web page, while the environment is comprehended anew and these comprehensions are killed. Told are
broken states, lost notes, leaked processes and files, calls that failed and why, and whether the state in the end is
that of an undisturbed run.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections import Counter, defaultdict
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

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


PAGES = ("/", "/tables", "/identities", "/relations", "/diagnostics", "/review", "/documents", "/runs")
QUESTIONS = (
    "how many claims or orders in {year}",
    "sum of amounts by country in {year}",
    "customers with two contracts",
)


@dataclass
class Day:
    """What the clients of a server saw."""

    folder: Path
    ends: float
    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    failures: Counter[str] = field(default_factory=Counter)
    said: list[str] = field(default_factory=list)
    memory: list[float] = field(default_factory=list)
    refreshes: int = 0
    killed: int = 0

    async def one(self, kind: str, call: Coroutine[Any, Any, str]) -> None:
        """One call, which answers with what was wrong, if anything."""
        started = time.monotonic()
        try:
            problem = await asyncio.wait_for(call, 180)
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
        self.seconds[kind].append(time.monotonic() - started)
        if problem:
            self.failures[f"{kind}: {problem[:160]}"] += 1


async def _agent(address: str, number: int, day: Day) -> None:
    """SQL, views and notes over MCP, with a new connection every five calls."""
    from mcp import Client

    turn = 0
    while time.monotonic() < day.ends:
        try:
            async with Client(address) as client:
                for _ in range(5):
                    turn += 1
                    kind = ("sql", "view", "correct")[(number + turn) % 3]
                    await day.one(f"mcp {kind}", _asked(client, kind, number, turn, day))
        except Exception as error:
            day.failures[f"mcp connection: {type(error).__name__}: {error}"[:160]] += 1
            await asyncio.sleep(0.5)


async def _asked(client: Any, kind: str, number: int, turn: int, day: Day) -> str:
    text = f"client {number} turn {turn}"
    if kind == "sql":
        answer = await client.call_tool("sql", {"query": f"SELECT {turn} AS one"})
    elif kind == "view":
        question = QUESTIONS[turn % len(QUESTIONS)].format(year=2020 + turn % 6)
        answer = await client.call_tool("view", {"question": question})
    else:
        answer = await client.call_tool("correct", {"about": about(day.folder), "note": text})
        if not answer.is_error:
            day.said.append(text)
    return " ".join(str(getattr(each, "text", "")) for each in answer.content) if answer.is_error else ""


async def _reader(address: str, number: int, day: Day) -> None:
    """Pages, views and SQL in a browser's way."""
    turn = number
    while time.monotonic() < day.ends:
        turn += 1
        kind = ("page", "question", "sql")[turn % 3]
        await day.one(f"page {kind}", asyncio.to_thread(_opened, address, kind, turn))


def _opened(address: str, kind: str, turn: int) -> str:
    try:
        if kind == "page":
            _page(address, PAGES[turn % len(PAGES)])
        elif kind == "question":
            question = QUESTIONS[turn % len(QUESTIONS)].format(year=2020 + turn % 6)
            _page(address, f"/question/view?{urllib.parse.urlencode({'q': question})}")
        else:
            token = re.search(r'name="form_token" value="([^"]+)"', _page(address, "/sql"))
            _page(address, "/sql", {"statement": f"SELECT {turn} AS one", "form_token": token[1] if token else ""})
    except urllib.error.HTTPError as error:
        return f"{error.code} {re.sub('<[^>]+>', ' ', error.read().decode())[-200:]}"
    return ""


def _page(address: str, place: str, form: dict[str, str] | None = None) -> str:
    data = urllib.parse.urlencode(form).encode() if form else None
    with urllib.request.urlopen(address.rstrip("/") + place, data, timeout=180) as answer:
        return str(answer.read().decode())


async def _disturbed(day: Day, servers: list[psutil.Process]) -> None:
    """Comprehend anew, kill every second one on its way, and note how much memory the servers have."""
    while time.monotonic() < day.ends:
        everything = ["--everything"] if day.refreshes % 3 == 2 else []
        refresh = await asyncio.create_subprocess_exec(
            *COMPREHEND, *everything, cwd=day.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        day.refreshes += 1
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(refresh.wait(), random.uniform(3, 25) if day.refreshes % 2 else 180)
        if refresh.returncode is None:
            refresh.kill()
            day.killed += 1
            await refresh.wait()
        used = 0.0
        for server in servers:
            for each in (server, *server.children(recursive=True)):
                with contextlib.suppress(psutil.Error):
                    used += each.memory_info().rss / 1e6
        day.memory.append(used)
        await asyncio.sleep(5)


def _served(command: list[str], folder: Path, mark: str) -> tuple[subprocess.Popen[str], str]:
    process = subprocess.Popen(
        [*COSET, *command, "--port", "0"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        env=marked(mark),
    )  # fmt: skip
    address = ""
    while process.stdout and not address.startswith("http"):
        address = next((word for word in process.stdout.readline().split() if word.startswith("http")), "")
    threading.Thread(target=lambda: list(process.stdout or ()), daemon=True).start()
    return process, address


def server(environment: Path, clients: int, minutes: float) -> dict[str, float | str]:
    """Half of the clients are agents over MCP, half read the page, each from a process of its own."""
    with tempfile.TemporaryDirectory() as work:
        folder = copied(environment, Path(work) / "environment")
        subprocess.run([*COSET, "comprehend"], cwd=folder, stdout=subprocess.DEVNULL, check=True)
        mark = f"{work}-server"
        served = [_served(["mcp", "--http"], folder, mark), _served(["ui"], folder, mark)]
        day = Day(folder, time.monotonic() + minutes * 60)

        async def run() -> None:
            asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(clients))
            await asyncio.gather(
                _disturbed(day, [psutil.Process(each.pid) for each, _ in served]),
                *((_reader if number % 2 else _agent)(served[number % 2][1], number, day) for number in range(clients)),
            )

        asyncio.run(run())
        alive = sum(each.poll() is None for each, _ in served)
        for each, _ in served:
            each.terminate()
            each.wait(30)
        after = subprocess.run([*COSET, "comprehend"], cwd=folder, stdout=subprocess.DEVNULL, check=False)
        for failure, number in day.failures.most_common():
            print(f"{number} x {failure}", file=sys.stderr)
        found: dict[str, float | str] = {
            "clients": clients, "minutes": minutes, "calls": sum(map(len, day.seconds.values())),
            "calls that failed": sum(day.failures.values()), "servers alive of 2": alive,
            "refreshes beside it": day.refreshes, "of these killed": day.killed,
            "comprehends afterwards": "yes" if after.returncode == 0 else "no",
            "memory MB first": round(day.memory[0]), "memory MB highest": round(max(day.memory)),
            "memory MB last": round(day.memory[-1]), "notes acknowledged": len(day.said),
            "notes lost": len(set(day.said) - set(notes(folder))), "processes left": gone(mark),
        }  # fmt: skip
        for kind, seconds in sorted(day.seconds.items()):
            ordered = sorted(seconds)
            found[f"{kind}: calls, median s, 95th s, longest s"] = (
                f"{len(ordered)}, {statistics.median(ordered):.2f}, {ordered[int(len(ordered) * 0.95)]:.2f}, "
                f"{ordered[-1]:.2f}"
            )
        return found


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
