"""Questions with known answers, asked of a model one after another: right, tokens, requests, stated confidence.

    python benchmarks/by_hand.py ENVIRONMENT TRUTH --model http://127.0.0.1:8399/v1#by-hand --questions Q01,Q07
        [--mode learned|core] [--requests DIR] [--steps N] [--out table.tsv]

ENVIRONMENT is a folder with a comprehended coset.yaml; TRUTH has questions.json (id, question) and check.py
(`check(id, text) -> (bool, reason)`). Without --questions all are asked, with `--draw N --seed S` so many at random.
The endpoint may be a person or an agent who answers by hand; nothing is retried, and the answers are judged only when
all questions are asked, so that whoever answers learns nothing. A row is appended to --out as soon as it is known.

Tokens are those the endpoint reports. `cacheable` are those of them that stood, letter for letter, at the beginning of
an earlier request (tools, then messages): with --requests, the folder where the endpoint keeps what it was sent;
otherwise what the provider says that it read from its cache.
"""

from __future__ import annotations

import argparse
import csv
import dataclasses
import importlib.util
import json
import random
import statistics
from pathlib import Path
from typing import Any

from coset.answering.answer import Answer
from coset.answering.ask import AskOptions
from coset.answering.models.client import Limits, Retries
from coset.answering.run_store import ask_and_keep
from coset.environment.configuration import load_environment
from coset.errors import CosetError

CONFIDENCES = ((0.0, 0.7), (0.7, 0.9), (0.9, 1.01))


@dataclasses.dataclass(frozen=True)
class Asked:
    """What one question cost, and whether its answer is right."""

    question: str
    mode: str
    right: bool
    why: str
    requests: int
    tokens: int
    cacheable: int
    confidence: float
    checks: str
    answer: str


def check_of(truth: Path) -> Any:
    described = importlib.util.spec_from_file_location("check", truth / "check.py")
    assert described is not None and described.loader is not None
    module = importlib.util.module_from_spec(described)
    described.loader.exec_module(module)
    return module.check


def written(answer: Answer) -> str:
    """The answer as a person reads it: its words, or its rows."""
    if answer.text:
        return answer.text
    return "\n".join(", ".join(str(value) for value in row) for row in answer.rows)


def kept_requests(folder: Path) -> list[str]:
    """Every request as the model reads it: its tools, then its messages."""
    found = []
    for path in sorted((folder / "requests").glob("*.json")):
        request = json.loads(path.read_text())
        messages = "".join(json.dumps(each, ensure_ascii=False) for each in request["messages"])
        found.append(json.dumps(request.get("tools", []), ensure_ascii=False) + messages)
    return found


def cacheable(requests: list[str], first: int) -> int:
    """Tokens (letters by four) of the requests from `first` on that an earlier one began with."""
    return sum(
        max((shared(requests[place], earlier) for earlier in requests[:place]), default=0) // 4
        for place in range(first, len(requests))
    )


def shared(one: str, other: str) -> int:
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def main() -> None:
    given = arguments()
    environment = load_environment(given.environment)
    wanted = questions(given)
    options = AskOptions(
        model=given.model,
        core=given.mode == "core",
        limits=Limits(steps=given.steps, request_seconds=given.timeout),
        retries=Retries(attempts=1),
    )
    asked: list[tuple[dict[str, Any], Answer | None, int, str]] = []
    for question in wanted:
        before = len(kept_requests(given.requests)) if given.requests else 0
        try:
            answer, _ = ask_and_keep(question["question"], environment, options)
            failed = ""
        except CosetError as error:
            answer, failed = None, str(error)
        stood = cacheable(kept_requests(given.requests), before) if given.requests else 0
        asked.append((question, answer, stood, failed))
        print(f"{question['id']}: asked", flush=True)
    check = check_of(given.truth)
    rows = [judged(check, given.mode, *each) for each in asked]
    if given.out:
        is_new = not given.out.exists()
        with given.out.open("a", newline="", encoding="utf-8") as file:
            table = csv.DictWriter(file, [each.name for each in dataclasses.fields(Asked)], delimiter="\t")
            if is_new:
                table.writeheader()
            table.writerows(dataclasses.asdict(row) for row in rows)
    report(rows)


def judged(check: Any, mode: str, question: dict[str, Any], answer: Answer | None, stood: int, failed: str) -> Asked:
    if answer is None:
        return Asked(question["id"], mode, False, failed, 0, 0, 0, 0.0, "", "")
    text = written(answer)
    right, why = check(question["id"], text)
    said = ", ".join(f"{each.name} {each.outcome}" for each in answer.checks if each.outcome in {"failed", "doubt"})
    return Asked(
        question["id"],
        mode,
        bool(right),
        why,
        len(answer.steps),
        answer.tokens,
        stood or sum(step.cached_tokens for step in answer.steps),
        answer.confidence,
        said,
        " ".join(text.split())[:300],
    )


def questions(given: argparse.Namespace) -> list[dict[str, Any]]:
    known = {each["id"]: each for each in json.loads((given.truth / "questions.json").read_text(encoding="utf-8"))}
    if given.draw:
        names = random.Random(given.seed).sample(sorted(known), given.draw)
    else:
        names = given.questions.split(",") if given.questions else sorted(known)
    return [known[name] for name in names]


def report(rows: list[Asked]) -> None:
    print("| question | right | requests | tokens | of these cacheable | confidence | checks |")
    print("|---|---|---|---|---|---|---|")
    for row in rows:
        mark = "yes" if row.right else f"no: {row.why}"
        numbers = f"{row.requests} | {row.tokens:,} | {row.cacheable:,} | {row.confidence:.2f}"
        print(f"| {row.question} | {mark} | {numbers} | {row.checks} |")
    requests = [row.requests for row in rows]
    right = sum(row.right for row in rows)
    print(f"\nright {right} of {len(rows)}; tokens {sum(row.tokens for row in rows):,}, of these "
          f"{sum(row.cacheable for row in rows):,} cacheable; requests {sum(requests)}, median "
          f"{statistics.median(requests):g}; right within one request {_within(rows, 1)}, within two "
          f"{_within(rows, 2)}")  # fmt: skip
    for low, high in CONFIDENCES:
        those = [row for row in rows if low <= row.confidence < high]
        if those:
            end = min(high, 1.0)
            print(f"stated confidence {low:.1f} to {end:.1f}: {sum(row.right for row in those)} of {len(those)} right")


def _within(rows: list[Asked], requests: int) -> str:
    return f"{sum(row.right and row.requests <= requests for row in rows)} of {len(rows)}"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("environment", type=Path)
    parser.add_argument("truth", type=Path)
    parser.add_argument("--model", required=True)
    parser.add_argument("--questions", help="ids, with commas between")
    parser.add_argument("--draw", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--mode", choices=["learned", "core"], default="learned")
    parser.add_argument("--requests", type=Path, help="where the endpoint keeps the requests it was sent")
    parser.add_argument("--steps", type=int, default=12, help="the most steps of the agent")
    parser.add_argument("--timeout", type=float, default=3600.0, help="seconds for one reply")
    parser.add_argument("--out", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    main()
