"""The audit: every step is kept as it happens, nothing is changed later, no secret is in it, and a run can be replayed."""

from __future__ import annotations

import datetime
import json
import os
import signal
import sqlite3
import stat
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from coset.answering.audit import RunRecorder, Runs, kept_result, replay
from coset.answering.audit.store import FILE_NAME, digest, open_audit
from coset.environment.configuration import Environment, load_environment
from coset.environment.secrets import write_secret
from coset.errors import CosetError, UserError
from coset.session.query_session import QuerySession


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    with sqlite3.connect(tmp_path / "orders.db") as connection:
        connection.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, buyer TEXT, amount REAL)")
        connection.executemany(
            "INSERT INTO orders VALUES (?, ?, ?)", [(number, f"c{number % 7}", number / 3) for number in range(200)]
        )
    (tmp_path / "coset.yaml").write_text("sources:\n  orders: {location: orders.db}\n")
    return load_environment(tmp_path)


def change(environment: Environment, statement: str) -> None:
    with sqlite3.connect(environment.path.parent / "orders.db") as connection:
        connection.execute(statement)


def answered(environment: Environment, *statements: str, value: object = 1) -> int:
    """A run that answered with these statements."""
    with RunRecorder(environment) as recorder, QuerySession(environment) as session:
        number = recorder.start("how many orders?", environment_version="v1", models={"agent": "test:model"})
        recorder.step("view", {"text": "orders/orders", "view": {"tables": []}})
        for statement in statements:
            recorder.keep_result(kept_result(statement, session.sql(statement)))
        recorder.finish("answered", {"value": value, "sql": list(statements)})
    return number


def test_a_run_is_read_back_as_it_was_told(environment: Environment):
    with RunRecorder(environment) as recorder:
        number = recorder.start(
            "how many?", environment_version="abc", mode="core", models={"agent": "a:b", "arbiter": "c:d"},
            options={"budget": 4000},
        )  # fmt: skip
        recorder.step(
            "model", {"model": "c:d", "input_tokens": 1200, "output_tokens": 80, "cost": 0.01, "seconds": 1.5}
        )
        recorder.step(
            "tool", {"tool": "sql", "arguments": {"sql": "SELECT 1"}, "rows": 1, "truncated": False, "seconds": 0.1,
                     "odd": {Decimal("1.50"), datetime.date(2024, 2, 29)}},
        )  # fmt: skip
        recorder.finish("answered", {"value": 7, "sql": ["SELECT 1"]}, [{"name": "shape", "outcome": "doubt"}])
    run = Runs(environment.state_folder).run(number)
    assert run.summary.status == "answered" and run.summary.answer == 7 and run.summary.doubts == 1
    assert (run.summary.input_tokens, run.summary.output_tokens, run.summary.cost) == (1200, 80, 0.01)
    assert run.models == {"agent": "a:b", "arbiter": "c:d"} and run.options == {"budget": 4000}
    assert [step.kind for step in run.steps] == ["model", "tool"]
    assert run.steps[1].data["arguments"] == {"sql": "SELECT 1"}
    assert run.last("model") == run.steps[0] and run.last("view") is None


def test_a_cost_that_is_not_known_is_not_counted_as_nothing(environment: Environment):
    with RunRecorder(environment) as recorder:
        number = recorder.start("?")
        recorder.step("model", {"input_tokens": 10, "output_tokens": 1, "cost": 0.5})
        recorder.step("model", {"input_tokens": 10, "output_tokens": 1, "cost": None})
    assert Runs(environment.state_folder).summary(number).cost is None


def test_nothing_that_was_kept_can_be_changed_or_deleted(environment: Environment):
    answered(environment, "SELECT count(*) FROM orders.orders")
    connection = open_audit(environment.state_folder, create=True)
    for table in ("runs", "holders", "steps", "results", "endings"):
        assert connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] > 0
        with pytest.raises(sqlite3.IntegrityError, match="only added to"):
            connection.execute(f"DELETE FROM {table}")
        column = connection.execute(f"SELECT name FROM pragma_table_info('{table}') LIMIT 1").fetchone()[0]
        with pytest.raises(sqlite3.IntegrityError, match="only added to"):
            connection.execute(f"UPDATE {table} SET {column} = {column}")
    connection.close()


def test_only_its_owner_may_read_it(environment: Environment):
    answered(environment, "SELECT 1")
    assert stat.S_IMODE((environment.state_folder / FILE_NAME).stat().st_mode) == 0o600


KILLED = """
import os, signal, sys
from coset.answering.audit import RunRecorder
from coset.environment.configuration import load_environment
recorder = RunRecorder(load_environment(sys.argv[1]))
print(recorder.start("will it be kept?"), flush=True)
recorder.step("tool", {"tool": "sql", "arguments": {"sql": "SELECT 1"}})
recorder.keep_messages(b'[{"role": "user"}]')
recorder.step("tool", {"tool": "calc"})
if sys.argv[2] == "die":
    os.kill(os.getpid(), signal.SIGKILL)
sys.stdin.read()
"""


def test_a_run_that_is_killed_keeps_its_steps_and_can_go_on(environment: Environment):
    died = subprocess.run(
        [sys.executable, "-c", KILLED, str(environment.path), "die"], capture_output=True, text=True, check=False
    )
    assert died.returncode == -signal.SIGKILL
    number = int(died.stdout)
    runs = Runs(environment.state_folder)
    assert runs.summary(number).status == "broken off"
    assert [step.data["tool"] for step in runs.run(number).steps] == ["sql", "calc"]
    assert json.loads(runs.messages(number) or b"") == [{"role": "user"}]
    with RunRecorder(environment) as recorder:
        recorder.resume(number)
        assert runs.summary(number).status == "running"
        recorder.step("tool", {"tool": "answer"})
        recorder.finish("answered", {"value": 1})
    assert runs.summary(number).status == "answered" and runs.summary(number).steps == 3
    with pytest.raises(UserError, match="was answered"), RunRecorder(environment) as recorder:
        recorder.resume(number)


def test_a_run_that_still_goes_on_is_told_and_not_taken_over(environment: Environment):
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(environment.path), "wait"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        number = int(process.stdout.readline())
        assert Runs(environment.state_folder).summary(number).status == "running"
        with pytest.raises(UserError, match="still going on"), RunRecorder(environment) as recorder:
            recorder.resume(number)
    finally:
        process.kill()
        process.communicate()
    assert Runs(environment.state_folder).summary(number).status == "broken off"


def test_a_failed_run_may_be_resumed(environment: Environment):
    with RunRecorder(environment) as recorder:
        number = recorder.start("?")
        recorder.finish("failed", detail="the provider is down")
    runs = Runs(environment.state_folder)
    assert runs.run(number).detail == "the provider is down" and runs.summary(number).status == "failed"
    with RunRecorder(environment) as recorder:
        recorder.resume(number)
        recorder.finish("answered", {"value": 2})
    assert runs.summary(number).answer == 2


def test_runs_of_several_processes_get_numbers_of_their_own(environment: Environment):
    script = (
        "import sys\nfrom coset.answering.audit import RunRecorder\n"
        "from coset.environment.configuration import load_environment\n"
        "r = RunRecorder(load_environment(sys.argv[1]))\n"
        "for i in range(10):\n    r.start('q'); r.step('tool', {}); r.finish('answered', {'value': i})\n"
    )
    together = [subprocess.Popen([sys.executable, "-c", script, str(environment.path)]) for _ in range(3)]
    assert [process.wait() for process in together] == [0, 0, 0]
    summaries = Runs(environment.state_folder).summaries(100)
    assert sorted(each.number for each in summaries) == list(range(1, 31))
    assert {each.steps for each in summaries} == {1}


def test_no_secret_is_ever_in_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    password, key, listed = 'h@n"ter2/ü', "prov-1234567890abcdef", "from-the-secrets-file"
    monkeypatch.setenv("CRM_PASSWORD", password)
    monkeypatch.setenv("SOME_PROVIDER_API_KEY", key)
    (tmp_path / "coset.yaml").write_text(
        "sources:\n  crm: {location: 'postgresql://reader:${CRM_PASSWORD}@127.0.0.1:1/crm'}\n"
        "  bad: {location: 'postgresql://reader:${NOT_SET}@127.0.0.1:1/crm'}\n"
    )
    (tmp_path / ".coset").mkdir()
    write_secret(tmp_path / ".coset" / "secrets.env", "OTHER", listed)
    environment = load_environment(tmp_path)
    told = (
        f"{password} {key} {listed} postgresql://reader:h%40n%22ter2%2F%C3%BC@x "
        "Authorization: Bearer abcdefghij0123456789 sk-ABCDEFGHIJKLMNOPQRSTUV https://me:pass-word@host/"
    )
    with RunRecorder(environment) as recorder:
        number = recorder.start(told, models={"agent": told}, options={told: [told]})
        recorder.step("tool", {"tool": "sql", "arguments": {"sql": told}, told: {"nested": (told,)}})
        recorder.keep_messages(json.dumps([{"content": told, "parts": [told]}]))
        recorder.finish("failed", {"value": told}, [{"name": "x", "detail": told}], detail=told)
    runs = Runs(environment.state_folder)
    held = json.dumps([str(runs.run(number)), (runs.messages(number) or b"").decode()], ensure_ascii=False)
    held += (environment.state_folder / FILE_NAME).read_bytes().decode("utf-8", "replace")
    for secret in ("ter2", key, listed, "abcdefghij0123456789", "ABCDEFGHIJKLMNOPQRSTUV", "pass-word"):
        assert secret not in held, secret
    assert "***" in held and "@127" not in held


def test_a_result_is_the_same_in_any_order_and_to_the_last_digits_of_a_sum():
    assert digest([(1, "a"), (2, None)]) == digest([(2, None), (1, "a")])
    assert digest([(0.1 + 0.2,)]) == digest([(0.3,)])
    assert digest([(Decimal("2.50"),)]) == digest([(2.5,)]) and digest([(3,)]) == digest([(3.0,)])
    assert digest([(10**30,)]) != digest([(10**30 + 1,)])
    assert digest([("1",)]) != digest([(1,)]) and digest([(None,)]) != digest([("",)])
    assert digest([("a", "b")]) != digest([("b", "a")]) and digest([]) != digest([()])


def test_a_replay_says_that_nothing_changed(environment: Environment):
    number = answered(
        environment,
        "SELECT buyer, sum(amount) FROM orders.orders GROUP BY ALL",
        "SELECT count(*) FROM orders.orders",
    )
    with QuerySession(environment) as session:
        outcome = replay(Runs(environment.state_folder), number, session)
    assert outcome.verdict == "same" and [each.verdict for each in outcome.statements] == ["same", "same"]


def test_a_replay_says_what_changed_and_from_what_to_what(environment: Environment):
    number = answered(environment, "SELECT count(*) FROM orders.orders", "SELECT min(id) FROM orders.orders")
    change(environment, "DELETE FROM orders WHERE id = 100")
    with QuerySession(environment) as session:
        outcome = replay(Runs(environment.state_folder), number, session)
    assert outcome.verdict == "changed"
    assert [(each.verdict, each.detail) for each in outcome.statements] == [
        ("changed", "was 200, is 199"),
        ("same", "the same 1 row"),
    ]


def test_a_replay_says_why_a_statement_cannot_be_run(environment: Environment):
    number = answered(environment, "SELECT count(*) FROM orders.orders")
    change(environment, "ALTER TABLE orders RENAME TO sales")
    with QuerySession(environment) as session:
        outcome = replay(Runs(environment.state_folder), number, session)
    assert outcome.verdict == "cannot be run" and "there is no table 'orders.orders'" in outcome.statements[0].detail


def test_a_replay_makes_temporary_tables_again(environment: Environment):
    labels = pa.table({"buyer": ["c1", "c2"], "label": ["good", "bad"]})
    statements = [
        "SELECT count(*) FROM result.large",
        "SELECT label, count(*) FROM orders.orders JOIN result.labels USING (buyer) GROUP BY ALL",
    ]
    with RunRecorder(environment) as recorder, QuerySession(environment) as session:
        number = recorder.start("labels?")
        large = session.sql("SELECT * FROM orders.orders WHERE amount > 10")
        session.add_table("large", large.table, large.types)
        recorder.step(
            "tool", {"tool": "sql", "sql": "SELECT * FROM orders.orders WHERE amount > 10", "saved_as": "large"}
        )
        session.add_table("labels", labels)
        recorder.keep_table("labels", labels)
        recorder.step("tool", {"tool": "classify", "saved_as": 'result."labels"'})
        for statement in statements:
            recorder.keep_result(kept_result(statement, session.sql(statement)))
        recorder.finish("answered", {"value": 1, "sql": statements})
    with QuerySession(environment) as session:
        outcome = replay(Runs(environment.state_folder), number, session)
        assert [each.verdict for each in outcome.statements] == ["same", "same"], outcome
    change(environment, "UPDATE orders SET amount = 0 WHERE id > 150")
    with QuerySession(environment) as session:
        outcome = replay(Runs(environment.state_folder), number, session)
        assert [each.verdict for each in outcome.statements] == ["changed", "same"]


def test_a_step_with_a_digest_is_enough_for_a_replay(environment: Environment):
    with RunRecorder(environment) as recorder, QuerySession(environment) as session:
        number = recorder.start("?")
        kept = kept_result("SELECT max(id) FROM orders.orders", session.sql("SELECT max(id) FROM orders.orders"))
        recorder.step("tool", {"tool": "sql", "arguments": {"sql": kept.sql}, "digest": kept.digest, "rows": kept.rows})
        recorder.finish("answered", {"value": 199, "sql": "SELECT max(id)\n  FROM orders.orders;"})
        assert replay(Runs(environment.state_folder), number, session).verdict == "same"


def test_what_is_not_there_is_told_in_one_sentence(environment: Environment):
    runs = Runs(environment.state_folder)
    with pytest.raises(UserError, match="no question was asked"):
        runs.summaries()
    number = answered(environment)
    with pytest.raises(UserError, match=f"no run 99: the last one is {number}"):
        runs.run(99)
    assert runs.messages(number) is None
    with QuerySession(environment) as session, pytest.raises(UserError, match="kept no statement"):
        replay(runs, number, session)
    with RunRecorder(environment) as recorder:
        with pytest.raises(CosetError, match="no run was started"):
            recorder.step("tool", {})
        recorder.start("?")
        with pytest.raises(CosetError, match="not JSON"):
            recorder.keep_messages(b"not json")


def test_a_damaged_file_and_one_of_a_newer_version_are_told(environment: Environment):
    environment.prepare_state_folder()
    path = environment.state_folder / FILE_NAME
    path.write_bytes(b"this is no database, and long enough to be looked at" * 20)
    with pytest.raises(CosetError, match="cannot be opened"):
        RunRecorder(environment)
    path.unlink()
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(UserError, match="newer coset"):
        RunRecorder(environment)


def test_the_environment_of_a_run_needs_no_key(environment: Environment, monkeypatch: pytest.MonkeyPatch):
    for name in list(os.environ):
        if "KEY" in name:
            monkeypatch.delenv(name)
    assert answered(environment, "SELECT 1") == 1
