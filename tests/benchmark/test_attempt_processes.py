"""Attempts in processes of their own: what overstays, dies, is interrupted or killed, and what stays of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import psutil
import pytest

from answering.wire_servers import Wire, call
from benchmark.conftest import Here, asked, has_results, right
from coset.answering.ask import AskOptions
from coset.benchmark.attempt_process import AttemptPlace, AttemptProcess, sweep
from coset.benchmark.attempting import Outcome, Request
from coset.benchmark.attempts import Attempt, Judgement, Task
from coset.benchmark.dab.checkout import read_checkout
from coset.benchmark.run_folder import RunFolder
from coset.benchmark.runner import Plan, attempt_places, run_attempts

Start = Callable[..., Wire]
PATIENCE = 300.0


def go_on(
    shop: Path, url: str, tell: Callable[[Attempt], None], places: Sequence[AttemptPlace], trials: int
) -> dict[Any, Attempt]:
    """Both questions, judged by whether the answer is 20 or Chur."""
    folder = shop / "environments" / "shop"
    questions = read_checkout(shop / "checkout").datasets[0].questions
    tasks = [Task("shop", question.number, question.text, folder) for question in questions]
    kept = RunFolder.begin(shop / "attempts", {}, {}, {})

    def judge(task: Task, outcome: Outcome) -> Judgement:
        return Judgement("passed" if outcome.text in {"20", "Chur"} else "wrong", "")

    plan = Plan(tasks, trials, AskOptions(model=url, core=True))
    run_attempts(plan, kept, judge, None, lambda attempt, _: tell(attempt), places)
    return kept.attempts


Children = Callable[[], list[psutil.Process]]


@pytest.fixture
def children() -> Children:
    """The processes that the test itself has started, as long as they run. What ran before is not its business, such as
    the database servers that tests share; nor is Python's own tracker of shared things, which stays for good."""
    before = set(psutil.Process().children())

    def found() -> list[psutil.Process]:
        since = [each for each in psutil.Process().children() if each not in before and each.is_running()]
        return [each for each in since if "resource_tracker" not in " ".join(each.cmdline())]

    return found


@pytest.fixture
def process() -> Iterator[AttemptProcess]:
    found = AttemptProcess()
    yield found
    found.close()


def test_one_that_overstays_or_dies_is_ended_and_the_next_one_runs(
    shop: Path, wire: Start, children: Children, process: AttemptProcess
):
    def moody(request: dict[str, Any]) -> Any:
        if "sleep" in asked(request):
            time.sleep(60)
        if "die" in asked(request) and has_results(request):
            for each in children():
                each.kill()
        return right(request)

    options = AskOptions(model=wire(moody).url, core=True)
    folder = shop / "environments" / "shop"
    slow = process.run(Request(folder, "sleep", options), 2.0)
    assert (slow.status, slow.error_kind) == ("failed", "TimeOut") and "after 2 seconds" in slow.error
    assert children() == []
    good = process.run(Request(folder, "How many customers are in Basel?", options), PATIENCE)
    assert (good.status, good.text) == ("answered", "20")
    dead = process.run(Request(folder, "die", options), PATIENCE)
    assert (dead.status, dead.error_kind) == ("failed", "ProcessDied")
    assert [step["kind"] for step in dead.trace] == ["view", "model", "tool"], "what it did until then is kept"
    assert (dead.requests, dead.input_tokens, dead.tool_calls) == (1, 100, 1) and len(dead.prompts) == 2
    assert children() == []
    sweep(folder / ".coset")
    left = list((folder / ".coset" / "attempts").iterdir())
    assert left == [], "the next attempt takes away what a killed one left"


def test_attempts_run_beside_each_other_and_an_interrupt_ends_them(shop: Path, wire: Start, children: Children):
    together = threading.Barrier(2)

    def meeting(request: dict[str, Any]) -> Any:
        if not has_results(request) and not meeting.met:
            together.wait(PATIENCE)  # Nobody is answered before two have asked.
            meeting.met = True
        return right(request)

    meeting.met = False
    kept: list[Attempt] = []

    def interrupt(attempt: Attempt) -> None:
        kept.append(attempt)
        if len(kept) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), attempt_places(2) as places:
        go_on(shop, wire(meeting).url, interrupt, places, trials=5)
    assert children() == []
    found = RunFolder.begin(shop / "attempts", {}, {}, {}).attempts
    assert 3 <= len(found) <= 4 and all(each.passed for each in found.values()), "what was cut off is not kept"


def test_a_killed_run_goes_on_where_it_stopped(shop: Path, wire: Start):
    """The harness is killed, as by a power cut, after some attempts; the same call asks only for the rest."""

    def model(request: dict[str, Any]) -> Any:
        return right(request) if has_results(request) else call(
            "sql", query="SELECT town, count(*) AS n FROM crm_database.customers GROUP BY town"
        )  # fmt: skip

    server = wire(model)
    script = (
        "import sys\nfrom pathlib import Path\nsys.path[:0] = sys.argv[3:]\n"
        "if __name__ == '__main__':\n"
        "    from benchmark.test_attempt_processes import go_on\n"
        "    from coset.benchmark.runner import attempt_places\n"
        "    with attempt_places(1) as places:\n"
        "        go_on(Path(sys.argv[1]), sys.argv[2], lambda _: print('kept', flush=True), places, 50)\n"
    )
    path = shop / "killed.py"
    path.write_text(script)
    process = subprocess.Popen(
        [sys.executable, str(path), str(shop), server.url, *sys.path], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    for _ in range(3):
        assert process.stdout.readline() == "kept\n"
    started = psutil.Process(process.pid).children(recursive=True)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    _, alive = psutil.wait_procs(started, timeout=60)
    assert alive == [], "what it had started ended with it"
    kept = RunFolder.begin(shop / "attempts", {}, {}, {}).attempts
    assert 3 <= len(kept) < 100
    first = {key: each.model_dump_json() for key, each in kept.items()}
    trials = max(trial for _, _, trial in kept)
    asked_before = len(server.requests)
    whole = go_on(shop, server.url, lambda _: None, [Here()], trials)
    assert len(whole) == trials * 2
    assert {key: whole[key].model_dump_json() for key in first} == first
    assert len(server.requests) - asked_before == 2 * (len(whole) - len(first))
