"""54 questions in 5 trials with a scripted model: memory, processes and disk while it goes.

    python benchmarks/harness_endurance.py [--trials 5] [--jobs 2] [--learned] [--curve FILE.svg] [--work DIR] [--json]

Twelve made-up datasets, 54 questions. After every attempt: resident memory of the harness and of all it started, how
many processes there are, and by how much the dataset's environment grew on disk since its first attempt. Nothing may
grow with the attempts: the slope of the last half is told for each, and no process may be left.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

import psutil

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "tests")]
from harness_dataset import STATEMENT, make_dataset
from harness_overhead import reply
from report import report

from answering.wire_servers import Wire
from coset.answering.ask import AskOptions
from coset.benchmark.attempts import Attempt
from coset.benchmark.dab.checkout import read_checkout
from coset.benchmark.dab.run import DabSettings, run_dab
from coset.benchmark.report.drawing import INK, SOFT, Drawing, colour, ticks
from coset.benchmark.runner import Standing

QUESTIONS = (5, 4, 5, 4, 5, 4, 5, 4, 5, 4, 5, 4)


def bytes_in(folder: Path) -> int:
    """Attempts come and go meanwhile: what is gone when it is looked at counts for nothing."""
    total = 0
    for where, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                total += (Path(where) / name).lstat().st_size
    return total


def slope(values: list[float]) -> float:
    """Growth by attempt over the last half."""
    half = values[len(values) // 2 :]
    return statistics.linear_regression(range(len(half)), half).slope


def curve(rows: list[tuple[float, float, float, float]]) -> Drawing:
    drawing = Drawing(860, 520, "Memory, processes and disk over the attempts")
    titles = (
        "memory of the harness, MB",
        "memory of its processes, MB",
        "processes",
        "growth of the dataset's environment on disk, MB",
    )
    for panel, title in enumerate(titles):
        top, bottom, left, right = 30 + panel * 120, 110 + panel * 120, 80, 840
        values = [row[panel] for row in rows]
        most = max(*values, 0.01) * 1.1
        drawing.text(left, top - 8, title, bold=True)
        for tick in ticks(0, most, 3):
            y = bottom - tick / most * (bottom - top)
            drawing.line(left, y, right, y)
            drawing.text(left - 8, y + 4, f"{tick:g}", size=11, anchor="end", fill=SOFT)
        points = [
            (left + number / max(1, len(values) - 1) * (right - left), bottom - value / most * (bottom - top))
            for number, value in enumerate(values)
        ]
        drawing.path(points, colour(panel))
    drawing.text(460, 512, f"{len(rows)} attempts", anchor="middle", fill=INK)
    return drawing


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--trials", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--tables", type=int, default=12)
    parser.add_argument("--learned", action="store_true")
    parser.add_argument("--curve", type=Path)
    parser.add_argument("--work", type=Path, help="keep the datasets here, comprehended, for the next run")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    mode = "learned" if arguments.learned else "core"
    me = psutil.Process()
    rows: list[tuple[float, float, float, float]] = []
    with tempfile.TemporaryDirectory() as name, Wire(reply(STATEMENT)) as wire:
        work = arguments.work or Path(name)
        for number, count in enumerate(QUESTIONS):
            folder = work / "checkout" / f"query_d{number:02}"
            if not folder.exists():
                make_dataset(folder, arguments.tables, count)
        out = Path(name) / "out"
        first: dict[str, int] = {}

        def progress(attempt: Attempt, standing: Standing) -> None:
            wire.requests.clear(), wire.raw.clear(), wire.headers.clear(), wire.paths.clear()
            alive = []
            for each in me.children(recursive=True):
                try:
                    alive.append(each.memory_info().rss)
                except psutil.Error:
                    continue
            size = bytes_in(work / "environments" / attempt.dataset)
            grown = size - first.setdefault(attempt.dataset, size)
            rows.append((me.memory_info().rss / 1e6, sum(alive) / 1e6, float(len(alive)), grown / 1e6))
            if not standing.done % 30:
                print(f"{standing.done} of {standing.total}; so far {rows[-1]}", file=sys.stderr)
                if arguments.curve:
                    arguments.curve.write_text(curve(rows).svg())

        started = time.monotonic()
        settings = DabSettings(out, (mode,), arguments.trials, jobs=arguments.jobs, environments=work / "environments")
        runs = run_dab(
            read_checkout(work / "checkout"), AskOptions(model=wire.url), settings, progress,
            lambda text: print(text, file=sys.stderr),
        )  # fmt: skip
        seconds = time.monotonic() - started
        attempts = runs[0].attempts
        time.sleep(3)
        left = [each for each in me.children(recursive=True) if "resource_tracker" not in " ".join(each.cmdline())]
        by_attempt = bytes_in(out / mode) / len(attempts)
    if arguments.curve:
        arguments.curve.write_text(curve(rows).svg())
    harness, processes = [row[0] for row in rows], [row[1] for row in rows]
    figures: dict[str, float | str] = {
        "attempts": str(len(attempts)),
        "passed": str(sum(each.passed for each in attempts.values())),
        "seconds in all": seconds,
        "memory of the harness, first and last, MB": f"{harness[0]:.0f}, {harness[-1]:.0f}",
        "its growth over the last half, kB an attempt": 1000 * slope(harness),
        "memory of its processes, most, MB": max(processes),
        "their growth over the last half, kB an attempt": 1000 * slope(processes),
        "processes at most": max(row[2] for row in rows),
        "processes left at the end": str(len(left)),
        "growth of an environment on disk, most, kB": 1000 * max(row[3] for row in rows),
        "kept by attempt, kB": by_attempt / 1000,
    }
    met = len(attempts) == 54 * arguments.trials and not left and slope(harness) < 0.2
    report("harness endurance", figures, "270 attempts, no process left, the harness grows by < 200 kB each", met)


if __name__ == "__main__":
    main()
