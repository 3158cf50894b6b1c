"""How long `coset --help` takes, beside an interpreter that starts and does nothing.

    python benchmarks/help_time.py [--runs 15] [--json]

Both are run in turn, so that a busy moment of the machine falls on both; the figures are medians of wall time. One run
of each goes uncounted before, to have the files in the page cache and the bytecode written. No aim is set here: the
figures say what the imports behind `--help` cost.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from report import report


def coset_script() -> Path:
    """The installed `coset` beside the running interpreter; not resolved, because a venv's python is a link."""
    script = Path(sys.executable).parent / "coset"
    if not script.exists():
        sys.exit(f"there is no 'coset' next to {sys.executable}: install the package with pip install -e .")
    return script


def seconds(command: list[str]) -> float:
    started = time.perf_counter()
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    elapsed = time.perf_counter() - started
    if done.returncode:
        sys.exit(f"'{' '.join(command)}' failed: {done.stderr.decode(errors='replace').strip()[-500:]}")
    return elapsed


def main() -> None:
    parser = argparse.ArgumentParser(description="Wall time of coset --help against python -c pass.")
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.runs < 1:
        parser.error("--runs must be at least 1")

    bare, helped = [sys.executable, "-c", "pass"], [str(coset_script()), "--help"]
    seconds(bare)
    seconds(helped)
    bare_times: list[float] = []
    help_times: list[float] = []
    for _ in range(options.runs):
        bare_times.append(seconds(bare) * 1000)
        help_times.append(seconds(helped) * 1000)

    bare_ms, help_ms = statistics.median(bare_times), statistics.median(help_times)
    figures: dict[str, float | str] = {
        "python -c pass, ms": bare_ms,
        "python -c pass, fastest, ms": min(bare_times),
        "coset --help, ms": help_ms,
        "coset --help, fastest, ms": min(help_times),
        "difference, ms": help_ms - bare_ms,
        "ratio": help_ms / bare_ms,
    }
    report(f"coset --help, median of {options.runs} runs", figures)


if __name__ == "__main__":
    main()
