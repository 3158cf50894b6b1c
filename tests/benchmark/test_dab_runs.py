"""Whole runs over a small checkout, with a scripted model behind a local endpoint."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
from click.testing import CliRunner

from answering.wire_servers import Fail, Wire, call
from benchmark.conftest import Here, asked, has_results, right
from benchmark.small_checkout import CANARY, make_dataset
from coset.answering.ask import AskOptions
from coset.answering.exchange import Retries
from coset.answering.usage import Limits
from coset.benchmark.attempt_process import AttemptProcess
from coset.benchmark.attempting import Outcome
from coset.benchmark.attempts import Attempt, Judgement, Task
from coset.benchmark.dab.checkout import read_checkout
from coset.benchmark.dab.run import DabSettings, run_dab
from coset.benchmark.report import write_reports
from coset.benchmark.run_folder import RunFolder
from coset.benchmark.runner import Plan, run_attempts
from coset.benchmark.submission import write_submission
from coset.benchmark.systems import system_of
from coset.errors import CosetError, Mistake
from coset.surfaces.command_line.bench_dab import dab

Start = Callable[..., Wire]
QUICK = Retries(attempts=1, first_seconds=0.01)


def options(wire: Wire, **changes: Any) -> AskOptions:
    return AskOptions(model=wire.url, core=True, retries=QUICK, **changes)


def run(
    shop: Path, wire: Wire, trials: int = 1, say: Callable[[str], None] = lambda _: None, **changes: Any
) -> RunFolder:
    settings = DabSettings(shop / "out", ("core",), trials, environments=shop / "environments", **changes)
    return run_dab(read_checkout(shop / "checkout"), options(wire), settings, lambda *_: None, say, Here)[0]


def attempts_only(
    shop: Path, wire: Wire, tell: Callable[[Attempt], None] = lambda _: None, **changes: Any
) -> RunFolder:
    """The attempts of both questions, without comprehension; judged by whether the answer is 20 or Chur."""
    folder = shop / "environments" / "shop"
    dataset = read_checkout(shop / "checkout").datasets[0]
    only = changes.pop("only", "12")
    place = changes.pop("place", AttemptProcess)
    asked = [question for question in dataset.questions if question.number in only]
    tasks = [Task("shop", question.number, question.text, folder) for question in asked]
    kept = RunFolder.begin(shop / "attempts", {}, {}, {})
    asking = options(wire, limits=changes.pop("limits", Limits()))
    plan = Plan(tasks, changes.pop("trials", 1), asking, **changes)

    def judge(task: Task, outcome: Outcome) -> Judgement:
        return Judgement("passed" if outcome.text in {"20", "Chur"} else "wrong", "")

    run_attempts(plan, kept, judge, None, lambda attempt, _: tell(attempt), place)
    return kept


def children() -> list[psutil.Process]:
    """What this process started; Python's own tracker of shared things stays for good."""
    found = psutil.Process().children(recursive=True)
    return [each for each in found if each.is_running() and "resource_tracker" not in " ".join(each.cmdline())]


def test_the_command_runs_judges_and_reports(shop: Path, wire: Start):
    model = wire(right)
    arguments = [str(shop / "checkout"), "--mode", "core", "--trials", "2", "--model", model.url, "--out", str(shop / "out"),
                 "--environments", str(shop / "environments")]  # fmt: skip
    result = CliRunner().invoke(dab, arguments)
    assert result.exit_code == 0, result.output
    assert "stratified Pass@1" in result.stdout and "100.00 %" in result.stdout
    assert "[4/4] shop 2 trial 2: passed" in result.stderr and "4 of 4 passed" in result.stderr
    page = (shop / "out" / "report.html").read_text()
    assert "<svg" in page and "How many customers are in Basel?" in page
    submission = json.loads((shop / "out" / "core" / "submission.json").read_text())
    assert [(each["query"], each["run"], each["answer"]) for each in submission] == [
        ("1", "0", "20"), ("1", "1", "20"), ("2", "0", "Chur"), ("2", "1", "Chur"),
    ]  # fmt: skip
    assert "hints: not used" in (shop / "out" / "core" / "submission.md").read_text()
    summary = json.loads((shop / "out" / "summary.json").read_text())
    figures = summary["figures"]["core · scripted"]
    assert figures["per_trial"]["input_tokens"] == 400 and figures["per_trial"]["tool_calls"] == 2
    assert figures["per_trial"]["cost"] is None, "an endpoint of one's own has no price"
    # All is kept: the same command asks nothing again, and reports the same.
    before = len(model.requests)
    again = CliRunner().invoke(dab, arguments)
    assert again.exit_code == 0 and again.stdout == result.stdout
    assert len(model.requests) == before
    assert children() == []


def test_ground_truth_and_validators_are_out_of_the_agents_reach(shop: Path, wire: Start):
    """The model tries every way it has to read them; not a letter of them reaches it."""
    secret = shop / "checkout" / "query_shop" / "query1"
    truth, validator = secret / "ground_truth.csv", secret / "validate.py"
    tries = [
        ("sql", {"query": f"SELECT * FROM read_text('{truth}')"}),
        ("sql", {"query": f"SELECT * FROM read_csv('{truth}')"}),
        ("sql", {"query": f"SELECT * FROM '{truth}'"}),
        ("sql", {"query": f"SELECT * FROM read_blob('{validator}')"}),
        ("sql", {"query": f"SELECT * FROM glob('{secret}/*')"}),
        ("sql", {"query": f"ATTACH '{secret}/x.db'"}),
        ("sql", {"query": f"COPY (SELECT 1) TO '{secret}/x'"}),
        ("sql", {"query": "SELECT * FROM duckdb_settings()"}),
        ("recover", {"what": str(truth)}),
        ("recover", {"what": CANARY}),
        ("calc", {"expression": f"open('{truth}')"}),
    ]

    def snoop(request: dict[str, Any]) -> Any:
        done = sum(message["role"] == "tool" for message in request["messages"])
        return call(*tries[done][:1], **tries[done][1]) if done < len(tries) else call("answer", text="20")

    model = wire(snoop)
    folder = shop / "environments" / "shop"
    task = Task("shop", "1", "How many customers are in Basel?", folder)
    kept = RunFolder.begin(shop / "attempts", {}, {}, {})
    plan = Plan([task], 1, AskOptions(model=model.url, core=True, retries=QUICK, limits=Limits(steps=20)))
    run_attempts(plan, kept, lambda *_: Judgement("passed", ""), None, lambda *_: None, Here)
    assert kept.attempts[("shop", "1", 1)].tool_calls >= 3
    # What the model itself wrote is in the conversation; what came back is what counts.
    came_back = [
        message["content"]
        for request in model.requests
        for message in request["messages"]
        if message["role"] != "assistant"
    ]
    assert came_back
    told = "\n".join(map(str, came_back)).replace(f"'{CANARY}'", "")
    assert f"{CANARY}-" not in told and "llm_output" not in told and "EXPECTED" not in told
    assert not (secret / "x").exists()


def test_ground_truth_in_the_evidence_is_reported_as_a_leak(shop: Path, wire: Start):
    folder = shop / "checkout" / "query_shop"
    truth = (folder / "query1" / "ground_truth.csv").read_text()
    (folder / "db_description.txt").write_text(f"1. crm_database\n{truth}\n2. orders_database\nOrders.\n")
    found = run(shop, wire(right)).attempts
    assert found[("shop", "1", 1)].leaks
    assert found[("shop", "1", 1)].passed, "the verdict stays; the report says that it means nothing"


def test_a_dataset_without_its_data_is_reported_and_the_others_run(shop: Path, wire: Start):
    broken = make_dataset(shop / "checkout" / "query_farm")
    (broken / "query_dataset" / "orders.sql").unlink()
    said: list[str] = []
    kept = run(shop, wire(right), say=said.append)
    assert "farm cannot be run: its data file 'query_dataset/orders.sql' is missing" in said
    assert len(kept.attempts) == 2 and all(each.passed for each in kept.attempts.values())
    system = system_of(kept)
    write_reports([system], shop / "out", "Title")
    assert "farm was not run" in (shop / "out" / "report.md").read_text()
    write_submission(system)
    assert "not run: farm" in (kept.folder / "submission.md").read_text()


def test_a_damaged_database_is_found_when_it_is_read(shop: Path, wire: Start):
    broken = make_dataset(shop / "checkout" / "query_farm")
    (broken / "query_dataset" / "crm.db").write_bytes(b"SQLite format 3\x00" + b"\x00" * 5000)
    kept = run(shop, wire(right))
    assert "crm_database" in kept.notes["not_runnable"]["farm"]
    assert len(kept.attempts) == 2


def test_a_changed_question_set_is_refused_on_resume(shop: Path, wire: Start):
    model = wire(right)
    run(shop, model)
    (shop / "checkout" / "query_shop" / "query1" / "query.json").write_text('"Another question?"')
    with pytest.raises(Mistake, match="shop/1 changed since: its 2 attempts stay"):
        run(shop, model)


def test_failed_attempts_are_recorded_and_asked_again_only_when_told(shop: Path, wire: Start):
    def moody(request: dict[str, Any]) -> Any:
        return Fail(400) if "Basel?" in asked(request) and moody.down else right(request)

    moody.down = True
    model = wire(moody)
    found = attempts_only(shop, model, place=Here, trials=2)
    assert {key: each.status for key, each in found.attempts.items()} == {
        ("shop", "1", 1): "failed", ("shop", "2", 1): "answered", ("shop", "1", 2): "failed", ("shop", "2", 2): "answered",
    }  # fmt: skip
    assert "status 400" in found.attempts[("shop", "1", 1)].error
    moody.down = False
    before = len(model.requests)
    again = attempts_only(shop, model, place=Here, trials=2)
    assert again.attempts[("shop", "1", 1)].status == "failed" and len(model.requests) == before
    mended = attempts_only(shop, model, place=Here, trials=2, retry_failed=True)
    assert all(each.passed for each in mended.attempts.values())


def test_a_run_in_which_everything_fails_alike_stops_early(shop: Path, wire: Start):
    model = wire(Fail(401, {"error": {"message": "no"}}))
    with pytest.raises(CosetError, match=r"first 3 attempts failed alike.*--retry-failed"):
        attempts_only(shop, model, place=Here, trials=5)
    assert len(RunFolder.begin(shop / "attempts", {}, {}, {}).attempts) == 3


def test_an_attempt_that_overstays_is_ended_and_the_next_one_runs(shop: Path, wire: Start):
    def slow(request: dict[str, Any]) -> Any:
        if "Basel?" in asked(request):
            time.sleep(60)
        return right(request)

    model = wire(slow)
    found = attempts_only(shop, model, only="1", attempt_seconds=3.0).attempts
    assert found[("shop", "1", 1)].status == "failed" and "after 3 seconds" in found[("shop", "1", 1)].error
    assert attempts_only(shop, model).attempts[("shop", "2", 1)].passed
    assert children() == []


def test_a_process_that_dies_costs_one_attempt(shop: Path, wire: Start):
    me = psutil.Process()

    def deadly(request: dict[str, Any]) -> Any:
        if "Basel?" in asked(request):
            for each in me.children():
                if "resource_tracker" not in " ".join(each.cmdline()):
                    each.kill()
        return right(request)

    found = attempts_only(shop, wire(deadly)).attempts
    assert found[("shop", "1", 1)].error_kind == "ProcessDied"
    assert found[("shop", "2", 1)].passed


def test_attempts_run_beside_each_other(shop: Path, wire: Start):
    found = attempts_only(shop, wire(right), trials=3, jobs=2).attempts
    assert len(found) == 6 and all(each.passed for each in found.values())
    assert children() == []


def test_an_interrupt_ends_what_runs_and_counts_it_as_nothing(shop: Path, wire: Start):
    def interrupt(attempt: Attempt) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        attempts_only(shop, wire(right), interrupt, trials=5, jobs=2)
    assert children() == []
    kept = RunFolder.begin(shop / "attempts", {}, {}, {}).attempts
    assert 1 <= len(kept) <= 2 and all(each.passed for each in kept.values())


def test_a_killed_run_goes_on_where_it_stopped(shop: Path, wire: Start):
    """The harness is killed, as by a power cut, after some attempts; the same call asks only for the rest."""
    model = wire(right)
    script = (
        "import sys\nfrom pathlib import Path\nsys.path[:0] = sys.argv[2:]\n"
        "if __name__ == '__main__':\n"
        "    from benchmark.test_dab_runs import attempts_only\n"
        "    class Model:\n        url = sys.stdin.readline().strip()\n"
        "    attempts_only(Path(sys.argv[1]), Model, lambda _: print('kept', flush=True), trials=50)\n"
    )
    path = shop / "killed.py"
    path.write_text(script)
    process = subprocess.Popen(
        [sys.executable, str(path), str(shop), *sys.path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(f"{model.url}\n")
    process.stdin.flush()
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
    asked_before = len(model.requests)
    whole = attempts_only(shop, model, trials=trials).attempts
    assert len(whole) == trials * 2
    assert {key: whole[key].model_dump_json() for key in first} == first
    assert len(model.requests) - asked_before == 2 * (len(whole) - len(first))


def test_an_answer_of_ten_megabytes_is_judged_and_kept_whole(shop: Path, wire: Start):
    def long(request: dict[str, Any]) -> Any:
        if not has_results(request):
            return right(request)
        return call("answer", text="x" * 10_000_000 + " 20 Chur", results=["result_1"])

    found = run(shop, wire(long))
    first = found.attempts[("shop", "1", 1)]
    assert first.passed and first.answer_letters == 10_000_008
    assert found.whole_answer(first).endswith(" 20 Chur")
    assert (found.folder / "attempts.jsonl").stat().st_size < 100_000


def test_learned_and_core_stand_side_by_side(shop: Path, wire: Start):
    from coset.identities.model import load_model
    from coset.routing.model import load_routing_model

    try:
        load_routing_model(load_model(None))
    except CosetError as error:
        pytest.skip(f"this checkout has no routing weights: {error}")

    def both(request: dict[str, Any]) -> Any:
        names = {tool["function"]["name"] for tool in request["tools"]}
        if "records" in names:
            return call("records", shape={"meaning": "customers in Basel", "form": "value"})
        if asked(request).startswith("How many") and "Records:" not in str(request["messages"]):
            return call("answer", text="19") if has_results(request) else right(request)
        return right(request)

    result = CliRunner().invoke(
        dab,
        [str(shop / "checkout"), "--mode", "both", "--trials", "1", "--model", wire(both).url, "--out", str(shop / "out"),
         "--environments", str(shop / "environments")],
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    text = (shop / "out" / "report.md").read_text()
    assert "learned · scripted against core · scripted" in text
    assert "customers in Basel" in text, "the course of the learned run shows what was decided"
    assert "| learned · scripted (passed) | core · scripted (wrong) |" in text


def test_a_wrong_call_is_told_before_anything_is_asked(shop: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("COSET_MODEL", raising=False)
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    for arguments in (
        [],
        ["--model", "anthropic:claude-x"],
        ["--model", "nonsense"],
        ["--model", "http://127.0.0.1:1#m", "--compare", "x"],
    ):
        result = CliRunner().invoke(dab, [str(shop / "checkout"), "--out", str(shop / "out"), *arguments])
        assert isinstance(result.exception, Mistake), arguments
    assert not (shop / "out").exists()
