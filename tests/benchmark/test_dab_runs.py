"""Whole runs over a small checkout, with a scripted model behind a local endpoint."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from answering.wire_servers import Fail, Say, Wire, call
from benchmark.conftest import Here, asked, has_results, of_schema, own_shop, right, wires
from benchmark.small_checkout import CANARY, make_dataset
from coset.answering.ask import AskOptions
from coset.answering.models.client import Limits, Retries
from coset.benchmark.attempts import Attempt, Judgement, Task
from coset.benchmark.dab.checkout import read_checkout
from coset.benchmark.dab.run import DabSettings, run_dab, write_submission
from coset.benchmark.report import write_reports
from coset.benchmark.run_folder import RunFolder
from coset.benchmark.runner import Plan, Standing, run_attempts
from coset.benchmark.systems import system_of
from coset.errors import CosetError, UserError
from coset.surfaces.command_line.measuring import dab

Start = Callable[..., Wire]
QUICK = Retries(attempts=1, first_seconds=0.01)


def options(wire: Wire, **changes: Any) -> AskOptions:
    return AskOptions(model=wire.url, **{"core": True, "retries": QUICK, **changes})


def run(
    shop: Path, wire: Wire, trials: int = 1, say: Callable[[str], None] = lambda _: None, **changes: Any
) -> RunFolder:
    progress = changes.pop("progress", lambda *_: None)
    settings = DabSettings(shop / "out", ("core",), trials, environments=shop / "environments", **changes)
    return run_dab(read_checkout(shop / "checkout"), options(wire), settings, progress, say, [Here()])[0]


def attempts(
    shop: Path, wire: Wire, question: str = "How many customers are in Basel?", trials: int = 1, **changes: Any
) -> tuple[Attempt, ...]:
    """Trials of one question, without comprehension and without a judge."""
    kept = RunFolder.begin(shop / "attempts", {}, {}, {})
    task = Task("shop", "1", question, shop / "environments" / "shop")
    plan = Plan([task], trials, options(wire, **changes))
    run_attempts(plan, kept, lambda *_: Judgement("passed", ""), None, lambda *_: None, [Here()])
    return tuple(kept.attempts.values())


def wrong_in_core(request: dict[str, Any]) -> Say:
    """A model that is right with the learned layer, and wrong without it at the first question."""
    if "records" in {tool["function"]["name"] for tool in request["tools"]}:
        return call("records", shape={"meaning": "customers in Basel", "form": "value"})
    if "Basel?" in asked(request) and "customers in Basel" not in str(request["messages"]) and has_results(request):
        return call("answer", text="19")
    return right(request)


@dataclass(frozen=True)
class Called:
    """The command in both modes, and once more."""

    folder: Path
    result: Result
    again: Result
    requests: int
    requests_again: int


@pytest.fixture(scope="module")
def called(comprehended_shop: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Called]:
    folder = own_shop(comprehended_shop, tmp_path_factory.mktemp("called"))
    with wires() as start:
        model = start(wrong_in_core)
        arguments = [str(folder / "checkout"), "--mode", "both", "--trials", "1", "--model", model.url,
                     "--out", str(folder / "out"), "--environments", str(folder / "environments")]  # fmt: skip
        result = CliRunner().invoke(dab, arguments)
        requests = len(model.requests)
        again = CliRunner().invoke(dab, [*arguments, "--json"])
        yield Called(folder, result, again, requests, len(model.requests))


def test_the_command_runs_judges_and_reports(called: Called):
    assert called.result.exit_code == 0, called.result.output
    assert "stratified Pass@1" in called.result.stdout and "100.00 %" in called.result.stdout
    page = (called.folder / "out" / "report.html").read_text()
    assert "<svg" in page and "How many customers are in Basel?" in page
    submission = json.loads((called.folder / "out" / "core" / "submission.json").read_text())
    assert [(each["query"], each["run"], each["answer"]) for each in submission] == [
        ("1", "0", "19"),
        ("2", "0", "Chur"),
    ]
    assert "hints: not used" in (called.folder / "out" / "core" / "submission.md").read_text()
    figures = json.loads((called.folder / "out" / "summary.json").read_text())["figures"]["core · scripted"]
    assert figures["per_trial"]["input_tokens"] == 100 * figures["per_trial"]["requests"] > 0
    assert figures["per_trial"]["tool_calls"] == 2
    assert figures["per_trial"]["cost"] is None, "an endpoint of one's own has no price"


def test_progress_shows_mode_dataset_question_trial_passes_and_cost(called: Called):
    lines = [line for line in called.result.stderr.splitlines() if line.startswith("[")]
    assert [line.partition(":")[0] for line in lines] == [
        "[1/4] learned shop 1 trial 1", "[2/4] learned shop 2 trial 1", "[3/4] core shop 1 trial 1",
        "[4/4] core shop 2 trial 1",
    ]  # fmt: skip
    assert "3 of 4 passed, cost unknown" in lines[-1]


def test_the_same_command_asks_nothing_again_and_reports_the_same(called: Called):
    assert called.again.exit_code == 0
    told = json.loads(called.again.stdout)
    of_schema("bench dab", told)
    assert [each["name"] for each in told["systems"]] == ["learned · scripted", "core · scripted"]
    assert {each["name"]: each for each in told["systems"]} == json.loads(
        (called.folder / "out" / "summary.json").read_text()
    )["figures"]
    assert called.requests_again == called.requests


def test_learned_and_core_stand_side_by_side(called: Called):
    text = (called.folder / "out" / "report.md").read_text()
    assert "learned · scripted against core · scripted" in text
    assert "customers in Basel" in text, "the course of the learned run shows what was decided"
    assert "| learned · scripted (passed) | core · scripted (wrong) |" in text


@pytest.mark.parametrize("core", [True, False])
def test_ground_truth_and_validators_are_out_of_the_agents_reach(shop: Path, wire: Start, core: bool):
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
    # A model that only ever fails is stopped; one that also works is not.
    works = [("sql", {"query": f"SELECT count(*) + {n} FROM crm_database.customers"}) for n in range(len(tries))]
    tries = [each for pair in zip(tries, works, strict=True) for each in pair]

    def snoop(request: dict[str, Any]) -> Any:
        if "records" in {tool["function"]["name"] for tool in request["tools"]}:
            queries = [{"purpose": "look", "sql": query["query"]} for _, query in tries[:5:2]]
            return call("records", shape={"meaning": "customers", "form": "value"}, queries=queries)
        done = sum(message["role"] == "tool" for message in request["messages"])
        return call(*tries[done][:1], **tries[done][1]) if done < len(tries) else call("answer", text="20")

    model = wire(snoop)
    (attempt,) = attempts(shop, model, core=core, limits=Limits(steps=30))
    assert attempt.tool_calls >= len(tries)
    # What the model itself wrote is in the conversation; what came back is what counts.
    came_back = [
        message["content"]
        for request in model.requests
        for message in request["messages"]
        if message["role"] != "assistant"
    ]
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


def test_a_trial_learns_nothing_from_the_labels_of_another(shop: Path, wire: Start):
    """Labels that a model gave to texts are remembered between questions of a user, and never between attempts."""

    def reader(request: dict[str, Any]) -> Any:
        if "labels" in {tool["function"]["name"] for tool in request["tools"]}:
            return call("labels", labels=[{"number": number, "label": "odd"} for number in range(1, 61)])
        if not has_results(request):
            query = "SELECT customer_id, name FROM crm_database.customers LIMIT 12"
            return call("classify", query=query, column="name", categories=["odd", "even"])
        return call("answer", text="12")

    model = wire(reader)
    both = attempts(shop, model, trials=2)
    assert [attempt.requests for attempt in both] == [3, 3], "the texts are read again"
    assert both[0].tokens == both[1].tokens > 0
    left = sorted(path.name for path in (shop / "environments" / "shop" / ".coset").iterdir())
    assert "labels.sqlite" not in left
    assert list((shop / "environments" / "shop" / ".coset" / "attempts").iterdir()) == []


def test_a_dataset_without_its_data_is_reported_and_the_others_run(shop: Path, wire: Start):
    """One whose file is missing, and one whose file turns out to be damaged when it is read."""
    missing, damaged = (make_dataset(shop / "checkout" / f"query_{name}") for name in ("farm", "mill"))
    (missing / "query_dataset" / "orders.sql").unlink()
    (damaged / "query_dataset" / "crm.db").write_bytes(b"SQLite format 3\x00" + b"\x00" * 5000)
    said: list[str] = []
    standings: list[Standing] = []
    kept = run(shop, wire(right), say=said.append, progress=lambda _, standing: standings.append(standing))
    assert "farm cannot be run: its data file 'query_dataset/orders.sql' is missing" in said
    assert "crm_database" in kept.notes["not_runnable"]["mill"]
    assert len(kept.attempts) == 2 and all(each.passed for each in kept.attempts.values())
    assert (standings[-1].done, standings[-1].total, standings[-1].passed) == (2, 2, 2)
    system = system_of(kept)
    write_reports([system], shop / "out", "Title")
    assert "farm was not run" in (shop / "out" / "report.md").read_text()
    write_submission(system)
    assert "not run: farm" in (kept.folder / "submission.md").read_text()


def test_a_changed_question_set_is_refused_on_resume(shop: Path, wire: Start):
    model = wire(right)
    run(shop, model)
    (shop / "checkout" / "query_shop" / "query1" / "query.json").write_text('"Another question?"')
    with pytest.raises(UserError, match="shop/1 changed since: its 2 attempts stay"):
        run(shop, model)


def test_failed_attempts_are_recorded_and_asked_again_only_when_told(shop: Path, wire: Start):
    def moody(request: dict[str, Any]) -> Any:
        return Fail(400) if "Basel?" in asked(request) and moody.down else right(request)

    moody.down = True
    model = wire(moody)
    found = run(shop, model).attempts
    assert {key: each.status for key, each in found.items()} == {
        ("shop", "1", 1): "failed", ("shop", "2", 1): "answered",
    }  # fmt: skip
    assert "status 400" in found[("shop", "1", 1)].error
    moody.down = False
    before = len(model.requests)
    assert run(shop, model).attempts[("shop", "1", 1)].status == "failed" and len(model.requests) == before
    mended = run(shop, model, retry_failed=True).attempts
    assert all(each.passed for each in mended.values())


def test_a_run_in_which_everything_fails_alike_stops_early(shop: Path, wire: Start):
    model = wire(Fail(401, {"error": {"message": "no"}}))
    with pytest.raises(CosetError, match=r"first 3 attempts failed alike.*--retry-failed"):
        attempts(shop, model, trials=5)
    assert len(RunFolder.begin(shop / "attempts", {}, {}, {}).attempts) == 3


def test_an_environment_that_is_gone_is_a_failed_attempt(shop: Path, wire: Start):
    (shop / "environments" / "shop" / "coset.yaml").unlink()
    (attempt,) = attempts(shop, wire(right))
    assert attempt.status == "failed" and attempt.error_kind == "UserError" and attempt.error


def test_an_answer_of_ten_megabytes_is_judged_and_kept_whole(shop: Path, wire: Start):
    def long(request: dict[str, Any]) -> Any:
        if "Basel?" not in asked(request) or not has_results(request):
            return right(request)
        return call("answer", text="x" * 10_000_000 + " 20", results=["result_1"])

    found = run(shop, wire(long))
    first = found.attempts[("shop", "1", 1)]
    assert first.passed and first.answer_letters == 10_000_003
    assert found.whole_answer(first).endswith(" 20")
    assert (found.folder / "attempts.jsonl").stat().st_size < 100_000


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
        assert isinstance(result.exception, UserError), arguments
    assert not (shop / "out").exists()
