"""Questions with known answers, put to whoever answers for a model: right, tokens, requests, stated confidence.

    python benchmarks/by_hand.py ENVIRONMENT TRUTH --tool by-hand-model --dir RUN --questions Q01,Q07
        [--mode learned|core] [--allowed N] [--draw N --seed S]
    python benchmarks/by_hand.py --report RUN [RUN ...] [--truth TRUTH]

ENVIRONMENT is a folder with a comprehended coset.yaml; TRUTH has questions.json (id, question) and check.py
(`check(id, text) -> (bool, reason)`). --tool is a program that serves a model answered by hand
(`TOOL serve --dir RUN --port P`, an endpoint of chat completions that keeps `requests/*.json` and `replies/*.json` in
RUN): it is started and ended here. A real model, or an endpoint that runs already, is named with --model instead.
--allowed 1 or 2 permits so many requests a question. Nothing is retried. Each answer is kept in RUN/answers.jsonl as
soon as it is there; the same command goes on where it was broken off. Answers are judged only when all are there, so
that whoever answers learns nothing.

--report prints one table for several runs, with right by stated confidence and by requests, and each run against the
first run of core mode over the same questions. Tokens are those the endpoint reports; *sent before* are those that
stood, letter for letter, at the beginning of an earlier request of the run (tools, then messages), which a provider's
cache would hold, or what the provider says that it read from its cache. Each run is counted for itself, as if nobody
had asked before it, and all runs of a mode together, as if one cache served them all.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import importlib.util
import json
import random
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from coset.answering.answer import Answer
from coset.answering.ask import AskOptions
from coset.answering.models.client import Limits, Retries
from coset.answering.run_store import ask_and_keep
from coset.environment.configuration import load_environment
from coset.errors import CosetError

CONFIDENCES = ((0.0, 0.5), (0.5, 0.7), (0.7, 0.8), (0.8, 0.9), (0.9, 1.01))
ANSWERS, SETTINGS = "answers.jsonl", "run.json"


@dataclasses.dataclass(frozen=True)
class Asked:
    """What one question cost, and what was answered."""

    question: str
    mode: str
    allowed: int | None
    text: str
    failed: str
    requests: int
    tokens: int
    sent_before: int
    confidence: float
    checks: str
    steps: str


@dataclasses.dataclass(frozen=True)
class Judged:
    asked: Asked
    right: bool
    why: str


def main() -> None:
    given = arguments()
    if given.report:
        runs = [(folder, judged_run(folder, given.truth)) for folder in given.report]
        return report(runs)
    folder: Path = given.dir
    folder.mkdir(parents=True, exist_ok=True)
    settings = {"mode": given.mode, "allowed": given.allowed, "truth": str(given.truth.resolve())}
    (folder / SETTINGS).write_text(json.dumps(settings))
    with model(given) as url:
        ask_all(given, folder, url)
    report([(folder, judged_run(folder, given.truth))])


def ask_all(given: argparse.Namespace, folder: Path, url: str) -> None:
    environment = load_environment(given.environment)
    options = AskOptions(
        model=url,
        core=given.mode == "core",
        limits=Limits(request_seconds=given.timeout, requests=given.allowed),
        retries=Retries(attempts=1),
    )
    done = {each.question for each in kept_answers(folder)}
    for question in questions(given):
        if question["id"] in done:
            continue
        before = len(kept_requests(folder))
        answer, failed = None, ""
        try:
            answer, _ = ask_and_keep(question["question"], environment, options)
        except CosetError as error:
            failed = str(error)
        requests = kept_requests(folder)
        row = asked(question["id"], given, answer, failed, len(requests) - before, sent_before(requests, before))
        with (folder / ANSWERS).open("a", encoding="utf-8") as file:
            file.write(json.dumps(dataclasses.asdict(row), ensure_ascii=False) + "\n")
        print(f"{question['id']}: asked", flush=True)


def asked(name: str, given: argparse.Namespace, answer: Answer | None, failed: str, sent: int, stood: int) -> Asked:
    if answer is None:
        return Asked(name, given.mode, given.allowed, "", failed, sent, 0, stood, 0.0, "", "")
    said = [f"{each.name} {each.outcome}" for each in answer.checks if each.outcome in {"failed", "doubt"}]
    return Asked(
        name,
        given.mode,
        given.allowed,
        written(answer),
        answer.stopped,
        len(answer.steps),
        answer.tokens,
        stood or sum(step.cached_tokens for step in answer.steps),
        answer.confidence,
        ", ".join(said),
        ", ".join(step.step for step in answer.steps),
    )


def written(answer: Answer) -> str:
    """The answer as a person reads it: its words, or its rows."""
    if answer.text:
        return answer.text
    return "\n".join(", ".join(str(value) for value in row) for row in answer.rows)


@contextlib.contextmanager
def model(given: argparse.Namespace) -> Iterator[str]:
    """The model's name: as given, or that of an endpoint which is served as long as it is needed."""
    if given.model:
        yield given.model
        return
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    tool = str(given.tool)
    served = subprocess.Popen([tool, "serve", "--dir", str(given.dir), "--port", str(port)])
    try:
        until = time.monotonic() + 20
        while not answers_at(port):
            if served.poll() is not None or time.monotonic() > until:
                sys.exit(f"{tool} does not serve on port {port}")
            time.sleep(0.1)
        print(f"for whoever answers: {tool} next --dir {given.dir}; {tool} call --dir {given.dir} ID TOOL JSON")
        yield f"http://127.0.0.1:{port}/v1#by-hand"
    finally:
        served.terminate()
        served.wait(10)


def answers_at(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(0.5)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def kept_requests(folder: Path) -> list[str]:
    """Every request as the model reads it: its tools, then its messages."""
    found = []
    for path in sorted((folder / "requests").glob("*.json")):
        request = json.loads(path.read_text())
        messages = "".join(json.dumps(each, ensure_ascii=False) for each in request["messages"])
        found.append(json.dumps(request.get("tools", []), ensure_ascii=False) + messages)
    return found


def sent_before(requests: Sequence[str], first: int) -> int:
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


def kept_answers(folder: Path) -> list[Asked]:
    path = folder / ANSWERS
    return [Asked(**json.loads(line)) for line in path.read_text("utf-8").splitlines()] if path.exists() else []


def judged_run(folder: Path, truth: Path | None) -> list[Judged]:
    settings = json.loads((folder / SETTINGS).read_text())
    check = check_of(truth or Path(settings["truth"]))
    found = []
    for each in kept_answers(folder):
        right, why = check(each.question, each.text) if not each.failed else (False, each.failed)
        found.append(Judged(each, bool(right), "" if right else str(why)))
    return found


def check_of(truth: Path) -> Any:
    described = importlib.util.spec_from_file_location("check", truth / "check.py")
    assert described is not None and described.loader is not None
    module = importlib.util.module_from_spec(described)
    described.loader.exec_module(module)
    return module.check


def questions(given: argparse.Namespace) -> list[dict[str, Any]]:
    known = {each["id"]: each for each in json.loads((given.truth / "questions.json").read_text(encoding="utf-8"))}
    if given.draw:
        names = random.Random(given.seed).sample(sorted(known), given.draw)
    else:
        names = given.questions.split(",") if given.questions else sorted(known)
    return [known[name] for name in names]


def report(runs: Sequence[tuple[Path, list[Judged]]]) -> None:
    print("| run | question | mode | right | requests | tokens | sent before | confidence | checks |")
    print("|---|---|---|---|---|---|---|---|---|")
    for folder, rows in runs:
        for row in rows:
            one = row.asked
            mark = "yes" if row.right else f"no: {row.why}"
            numbers = f"{one.requests} ({one.steps}) | {one.tokens:,} | {one.sent_before:,} | {one.confidence:.2f}"
            print(f"| {folder.name} | {one.question} | {one.mode} | {mark} | {numbers} | {one.checks} |")
    print()
    core = next((rows for _, rows in runs if rows and rows[0].asked.mode == "core"), [])
    for folder, rows in runs:
        print(f"{folder.name}: {summary(rows)}")
        if core and rows and rows[0].asked.mode != "core":
            print(f"{folder.name} against core: {against(rows, core)}")
    one_cache(runs)
    everything = [row for _, rows in runs for row in rows]
    for low, high in CONFIDENCES:
        those = [row for row in everything if low <= row.asked.confidence < high]
        if those:
            right = sum(row.right for row in those)
            print(f"stated confidence {low:.1f} to {min(high, 1.0):.1f}: {right} of {len(those)} right")


def one_cache(runs: Sequence[tuple[Path, list[Judged]]]) -> None:
    """The runs of each mode one after another, as a provider sees them: its cache holds what an earlier run sent."""
    new: dict[str, float] = {}
    for mode in sorted({rows[0].asked.mode for _, rows in runs if rows}):
        those = [(folder, rows) for folder, rows in runs if rows and rows[0].asked.mode == mode]
        requests = [text for folder, _ in those for text in kept_requests(folder)]
        tokens = sum(row.asked.tokens for _, rows in those for row in rows)
        questions = sum(len(rows) for _, rows in those)
        before = sent_before(requests, 0)
        new[mode] = (tokens - before) / questions
        print(
            f"all runs of {mode} mode with one cache: {questions} questions, tokens {tokens:,}, of these {before:,} "
            f"sent before; new {new[mode]:,.0f} a question"
        )
    if len(new) == 2 and new["core"]:
        print(f"new tokens a question against core, each mode with one cache: {new['learned'] / new['core']:.2f}")


def summary(rows: Sequence[Judged]) -> str:
    if not rows:
        return "nothing asked yet"
    requests = [row.asked.requests for row in rows]
    tokens, before = sum(row.asked.tokens for row in rows), sum(row.asked.sent_before for row in rows)
    return (
        f"right {sum(row.right for row in rows)} of {len(rows)}; tokens {tokens:,}, of these {before:,} sent before; "
        f"requests {sum(requests)}, median {statistics.median(requests):g}; right within one request "
        f"{within(rows, 1)}, within two {within(rows, 2)}"
    )


def against(rows: Sequence[Judged], core: Sequence[Judged]) -> str:
    """Shares of core's cost over the questions that both were asked."""
    theirs = {row.asked.question: row for row in core}
    pairs = [(row.asked, theirs[row.asked.question].asked) for row in rows if row.asked.question in theirs]
    if not pairs:
        return "no question in common"

    def share(of: Any) -> str:
        whole = sum(of(other) for _, other in pairs)
        return f"{sum(of(one) for one, _ in pairs) / whole:.2f}" if whole else "-"

    right = sum(theirs[one.question].right for one, _ in pairs)
    return (
        f"{len(pairs)} questions, core right {right}; tokens {share(lambda one: one.tokens)}, tokens not sent before "
        f"{share(lambda one: one.tokens - one.sent_before)}, requests {share(lambda one: one.requests)}"
    )


def within(rows: Sequence[Judged], requests: int) -> str:
    return f"{sum(row.right and row.asked.requests <= requests for row in rows)} of {len(rows)}"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("environment", type=Path, nargs="?")
    parser.add_argument("truth_folder", type=Path, nargs="?")
    parser.add_argument("--tool", type=Path, help="serves a model answered by hand")
    parser.add_argument("--model", help="a model or an endpoint that runs already, instead of --tool")
    parser.add_argument("--dir", type=Path, help="where requests, replies and answers are kept")
    parser.add_argument("--questions", help="ids, with commas between")
    parser.add_argument("--draw", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--mode", choices=["learned", "core"], default="learned")
    parser.add_argument("--allowed", type=int, help="the most requests a question")
    parser.add_argument("--timeout", type=float, default=3600.0, help="seconds for one reply")
    parser.add_argument("--report", type=Path, nargs="+", metavar="RUN", help="only judge and compare these runs")
    parser.add_argument("--truth", type=Path, help="with --report: instead of the one the run was asked with")
    given = parser.parse_args()
    if not given.report:
        if not (given.environment and given.truth_folder and given.dir and (given.tool or given.model)):
            parser.error("name ENVIRONMENT, TRUTH, --dir, and --tool or --model")
        given.truth = given.truth_folder
    return given


if __name__ == "__main__":
    main()
