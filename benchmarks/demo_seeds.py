"""Whether the demo's five answers are true, whatever company the seed makes.

    python benchmarks/demo_seeds.py [--seeds 0-9] [--small] [--json]

For each seed: make the company in a temporary folder, comprehend it, ask the five questions of the offline reasoner,
and compare each answer with what the generator knows. `right`, `WRONG` or `declined`; wrong and declined ones are told
with the statement. The processor seconds are of making, comprehending and answering, children included.
Ends with exit code 1 when one answer of any seed is not right.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from report import report

import coset
from coset.demo import QUESTIONS, make_company, prepare_folder, truth
from coset.demo.questions import AskedQuestion, ask_questions, comprehend_demo


def seeds(text: str) -> list[int]:
    """`3`, `1,5,8` or `0-9`."""
    first, _, last = text.partition("-")
    return list(range(int(first), int(last) + 1)) if last else [int(each) for each in text.split(",")]


def processor_seconds() -> float:
    return sum(
        used.ru_utime + used.ru_stime
        for used in (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    )


def try_seed(seed: int, small: bool) -> tuple[list[AskedQuestion], float]:
    started = processor_seconds()
    with tempfile.TemporaryDirectory(prefix="coset-demo-") as where:
        company = make_company(seed, small=small)
        prepare_folder(Path(where) / "company", company)
        with coset.open(Path(where) / "company") as environment:
            comprehend_demo(environment)
            tried = list(ask_questions(environment, truth(company)))
    return tried, processor_seconds() - started


def verdict(tried: AskedQuestion) -> str:
    return "right" if tried.right else "WRONG" if not tried.found.stopped else "declined"


def failure(seed: int, tried: AskedQuestion) -> dict[str, object]:
    found = tried.found
    got = found.rows[:5] if not found.stopped else found.stopped
    return {
        "seed": seed, "question": tried.known.question.text, "verdict": verdict(tried), "known": tried.known.in_words,
        "found": str(got), "rows": len(found.rows) if not found.stopped else 0, "sql": found.sql,
    }  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description="The demo's five answers against the truth, seed by seed.")
    parser.add_argument("--seeds", type=seeds, default="0-9")
    parser.add_argument("--small", action="store_true", help="companies a quarter as large")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    keys = [question.key for question in QUESTIONS]
    failures: list[dict[str, object]] = []
    used: list[float] = []
    # One line as soon as a seed is done, on standard error, since ten of them take minutes.
    print("seed  " + "".join(f"{key:<10}" for key in keys) + "CPU s", file=sys.stderr)
    for seed in options.seeds:
        tried, seconds = try_seed(seed, options.small)
        used.append(seconds)
        failures += [failure(seed, each) for each in tried if not each.right]
        verdicts = "".join(f"{verdict(each):<10}" for each in tried)
        print(f"{seed:<6}{verdicts}{seconds:.1f}", file=sys.stderr, flush=True)
    for each in failures:
        print("\n" + "\n".join(f"{name}: {value}" for name, value in each.items()), file=sys.stderr)
    asked = len(keys) * len(used)
    report(
        f"answers of the demo, {len(used)} seeds{', small' if options.small else ''}",
        {"asked": str(asked), "right": str(asked - len(failures)), "processor seconds a seed": sum(used) / len(used)},
        "every answer of every seed is right",
        not failures,
    )
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
