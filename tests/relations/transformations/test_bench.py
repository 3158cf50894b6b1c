"""`coset bench joins` end to end, and what it says of broken tasks."""

import json
import sys
from pathlib import Path

import duckdb
import pytest

from coset.surfaces.command_line import main

SHARED = Path(__file__).parents[4] / "shared" / "corpora" / "joins"


def run(monkeypatch, capsys, *arguments):
    monkeypatch.setattr(sys, "argv", ["coset", *map(str, arguments)])
    with pytest.raises(SystemExit) as stopped:
        main()
    return stopped.value.code, capsys.readouterr()


@pytest.fixture
def tasks(tmp_path):
    folder = tmp_path / "tasks"
    names = ["Jan Kotas", "Andrew Cencici", "Nancy Freehafer", "Mariya Sergienko"]
    write(folder / "family__names", "full name", names, "login", [f"{n[0]}{n.split()[1]}".lower() for n in names])
    write(
        folder / "family__titles", "t", ["Kingdom of Dali", "Sacred Cod"], "t", ["Dali Kingdom", "Sacred Cod (statue)"]
    )
    write(folder / "family__empty", "t", ["a"], "t", [])
    return folder


def write(folder, left_column, left, right_column, right):
    folder.mkdir(parents=True)
    for side, column, values in (("left", left_column, left), ("right", right_column, right)):
        lines = [f"id,{column}", *(f'{side[0]}{row},"{value}"' for row, value in enumerate(values))]
        (folder / f"{side}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    columns = {"left_column": left_column, "right_column": right_column}
    (folder / "columns.json").write_text(json.dumps(columns), encoding="utf-8")


def test_each_task_gets_one_line_with_its_pairs_and_rule(monkeypatch, capsys, tasks, tmp_path):
    out = tmp_path / "found.jsonl"
    code, printed = run(monkeypatch, capsys, "bench", "joins", "--tasks", tasks, "--out", out)
    assert code == 0 and printed.out.startswith("3 tasks, 6 pairs, 1 with a rule")
    lines = {line["task"]: line for line in map(json.loads, out.read_text(encoding="utf-8").splitlines())}
    assert list(lines) == ["family__empty", "family__names", "family__titles"]
    assert lines["family__empty"] == {"task": "family__empty", "pairs": [], "rule": None}
    assert lines["family__names"]["pairs"] == [[f"l{n}", f"r{n}"] for n in range(4)]
    assert lines["family__titles"] == {"task": "family__titles", "pairs": [["l0", "r0"], ["l1", "r1"]], "rule": None}
    folder = tasks / "family__names"
    joined = duckdb.execute(
        f"SELECT l.id, r.id FROM '{folder}/left.csv' l JOIN '{folder}/right.csv' r ON {lines['family__names']['rule']}"
    ).fetchall()
    assert sorted(map(list, joined)) == lines["family__names"]["pairs"]


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda f: (f / "right.csv").unlink(), "right.csv is missing"),
        (lambda f: (f / "columns.json").unlink(), "columns.json is missing"),
        (lambda f: (f / "columns.json").write_text("{broken"), "cannot be read as JSON"),
        (lambda f: (f / "columns.json").write_text("[]"), "must name the columns to join"),
        (lambda f: (f / "columns.json").write_text('{"left_column": "x", "right_column": "t"}'), "has no column 'x': its columns are id, t"),
        (lambda f: (f / "left.csv").write_text("t\na\n"), "has no column 'id'"),
        (lambda f: (f / "left.csv").write_text(""), "has no column 'id': its columns are none"),
        (lambda f: (f / "left.csv").write_bytes(b"id,t\n0,\xff\xfe\n"), "cannot be read as CSV in UTF-8"),
    ],
)  # fmt: skip
def test_a_broken_task_is_named_in_one_sentence_before_any_work(monkeypatch, capsys, tasks, tmp_path, spoil, message):
    spoil(tasks / "family__titles")
    out = tmp_path / "found.jsonl"
    code, printed = run(monkeypatch, capsys, "bench", "joins", "--tasks", tasks, "--out", out)
    assert code == 2 and message in printed.err and "family__titles" in printed.err
    assert len(printed.err.strip().splitlines()) == 1
    assert not out.exists()


def test_a_missing_folder_an_empty_one_and_an_unwritable_outcome_are_mistakes(monkeypatch, capsys, tasks, tmp_path):
    code, printed = run(monkeypatch, capsys, "bench", "joins", "--tasks", tmp_path / "none", "--out", tmp_path / "o")
    assert code == 2 and "there is no folder" in printed.err
    (tmp_path / "hollow").mkdir()
    code, printed = run(monkeypatch, capsys, "bench", "joins", "--tasks", tmp_path / "hollow", "--out", tmp_path / "o")
    assert code == 2 and "holds no task" in printed.err
    code, printed = run(monkeypatch, capsys, "bench", "joins", "--tasks", tasks, "--out", tmp_path / "no" / "o")
    assert code == 2 and "cannot write" in printed.err


@pytest.mark.shared
@pytest.mark.skipif(not SHARED.is_dir(), reason="the development tasks are not here")
@pytest.mark.parametrize("task", ["flashfill__initials_long", "flashfill__phone_2_long", "flashfill__name_combine_4"])
def test_string_transformations_are_found_exactly(task):
    from coset.relations.transformations.tasks import read_task, solve

    gold = {tuple(line.split(",")) for line in (SHARED / task / "gold.csv").read_text().splitlines()[1:]}
    assert set(solve(read_task(SHARED / task)).pairs) == gold
