"""`coset runs` and `coset run`, as a person or a script meets them."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from commands import coset
from coset.answering.audit import RunRecorder, kept_result
from coset.environment.configuration import load_environment
from coset.evidence.work import here
from coset.session.query_session import QuerySession
from coset.use_cases.comprehend import EVIDENCE, Settings, comprehend

STATEMENT = "SELECT count(*) FROM shop.orders"


@pytest.fixture
def asked(tmp_path: Path) -> Path:
    with sqlite3.connect(tmp_path / "shop.db") as connection:
        connection.execute("CREATE TABLE orders (id INTEGER)")
        connection.executemany("INSERT INTO orders VALUES (?)", [(number,) for number in range(42)])
    (tmp_path / "coset.yaml").write_text("sources:\n  shop: {location: shop.db}\n")
    environment = load_environment(tmp_path)
    with RunRecorder(environment) as recorder, QuerySession(environment) as session:
        recorder.start("how many orders \x1b[31mare there?", models={"agent": "test:model"})
        recorder.step("view", {"text": "shop/orders\n" + "a long line of the view\n" * 100})
        recorder.step("records", {"records": [{"kind": "shape", "grain": "all orders"}]})
        recorder.step("model", {"model": "test:model", "input_tokens": 1500, "output_tokens": 20, "cost": 0.002})
        recorder.step("tool", {"tool": "sql", "arguments": {"sql": STATEMENT}, "rows": 1, "seconds": 0.02})
        recorder.keep_result(kept_result(STATEMENT, session.sql(STATEMENT)))
        recorder.finish(
            "answered", {"value": 42, "sql": [STATEMENT]},
            [{"name": "shape", "outcome": "passed", "detail": "one value"},
             {"name": "join loss", "outcome": "doubt", "detail": "3% lost"}],
        )  # fmt: skip
        recorder.start("and this?")
        recorder.finish("failed", detail="the provider is down")
    return tmp_path


def test_runs_lists_what_was_asked_newest_first(asked: Path):
    answer = coset("runs", folder=asked)
    assert answer.returncode == 0, answer.stderr
    lines = answer.stdout.splitlines()
    assert lines[1].split()[0] == "2" and "failed" in lines[1]
    assert "answered, 1 in doubt" in lines[2] and "1,520" in lines[2] and "$0.0020" in lines[2] and "42" in lines[2]
    assert "\x1b" not in answer.stdout
    document = json.loads(coset("runs", "--limit", "1", "--json", folder=asked).stdout)
    assert [run["number"] for run in document["runs"]] == [2]


def test_run_prints_a_readable_trace(asked: Path):
    answer = coset("run", "1", folder=asked)
    assert answer.returncode == 0, answer.stderr
    text = answer.stdout
    for part in ("how many orders", "agent: test:model", "1. view", "lines more", "2. records", "all orders",
                 "4. tool sql  (1 rows; 0.02 s)", STATEMENT, "value: 42", "ok      shape: one value",
                 "doubt   join loss: 3% lost"):  # fmt: skip
        assert part in text, part
    assert "\x1b" not in text and text.count("a long line") < 50
    assert coset("run", "1", "--whole", folder=asked).stdout.count("a long line") == 100


def test_run_as_json_is_whole(asked: Path):
    document = json.loads(coset("run", "1", "--json", folder=asked).stdout)
    assert document["answer"]["value"] == 42 and len(document["steps"]) == 4
    assert document["steps"][0]["data"]["text"].count("a long line") == 100


def test_replay_tells_whether_the_answer_still_holds(asked: Path):
    answer = coset("run", "1", "--replay", folder=asked)
    assert answer.returncode == 0 and "same: the answer still holds" in answer.stdout
    with sqlite3.connect(asked / "shop.db") as connection:
        connection.execute("INSERT INTO orders VALUES (1000)")
    answer = coset("run", "1", "--replay", folder=asked)
    assert answer.returncode == 1 and "changed: was 42, is 43" in answer.stdout
    document = json.loads(coset("run", "1", "--replay", "--json", folder=asked).stdout)
    assert document["verdict"] == "changed" and document["statements"][0]["now"]["preview"] == [[43]]
    (asked / "shop.db").unlink()
    answer = coset("run", "1", "--replay", folder=asked)
    assert answer.returncode == 1 and "cannot be run" in answer.stdout and "not reachable" in answer.stdout


def test_a_run_is_gone_on_with_only_where_that_makes_sense(asked: Path):
    comprehend(load_environment(asked), Settings(spread=here), stages=EVIDENCE)
    answer = coset("run", "1", "--resume", "--model", "http://127.0.0.1:9/v1#none", folder=asked)
    assert answer.returncode == 2 and "run 1 was answered" in answer.stderr
    answer = coset("run", "1", "--resume", "--replay", folder=asked)
    assert answer.returncode == 2 and "choose one" in answer.stderr
    answer = coset("run", "1", "--model", "x:y", folder=asked)
    assert answer.returncode == 2 and "belong to --resume" in answer.stderr


def test_wrong_numbers_and_nothing_asked_are_told(asked: Path, tmp_path_factory: pytest.TempPathFactory):
    answer = coset("run", "77", folder=asked)
    assert answer.returncode == 2 and answer.stderr == "coset: there is no run 77: the last one is 2\n"
    answer = coset("run", "2", "--replay", folder=asked)
    assert answer.returncode == 2 and "kept no statement" in answer.stderr
    empty = tmp_path_factory.mktemp("empty")
    (empty / "a.csv").write_text("a\n1\n")
    (empty / "coset.yaml").write_text("sources:\n  a: {location: a.csv}\n")
    answer = coset("runs", folder=empty)
    assert answer.returncode == 2 and "no question was asked" in answer.stderr
