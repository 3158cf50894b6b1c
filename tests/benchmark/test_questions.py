"""A team's own questions: the file, the comparison, the baseline, and the exit code that their CI sees."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from answering.wire_servers import Wire, call
from benchmark.conftest import asked, has_results, here, of_schema
from coset.benchmark.attempting import Outcome
from coset.benchmark.own_questions import Tolerance, change, judge_rows, read_baseline, read_questions, write_baseline
from coset.errors import UserError
from coset.surfaces.command_line.measuring import questions

Start = Callable[..., Wire]
FILE = """
questions:
  - name: towns
    question: How many towns are there?
    expected: 3
  - name: by town
    question: How many customers has each town?
    sql: SELECT town, count(*) FROM crm_database.customers GROUP BY town
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "questions.yaml"
    path.write_text(text)
    return path


def test_a_file_is_read_with_values_lists_rows_and_sql(tmp_path: Path):
    found = read_questions(written(tmp_path, """
- question: A?
  expected: 3
  tolerance: 1%
- {question: "B?", expected: [x, y], ordered: true, tolerance: 0.5}
- {question: "C?", expected: [[x, 1], [y, 2024-01-31]]}
- {question: "D?", sql: SELECT 1, name: d}
- {question: "E?", expected: []}
"""))  # fmt: skip
    assert [each.rows for each in found] == [
        ((3,),), (("x",), ("y",)), (("x", 1), ("y", datetime.date(2024, 1, 31))), (), (),
    ]  # fmt: skip
    assert [each.name for each in found] == ["A?", "B?", "C?", "d", "E?"]
    assert found[0].tolerance == Tolerance(share=0.01) and found[1].tolerance == Tolerance(amount=0.5)
    assert found[1].ordered and found[3].sql == "SELECT 1"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("questions: []", "questions"),
        ('- {question: "A?"}', "either expected or sql"),
        ('- {question: "A?", expected: 1, sql: SELECT 1}', "either expected or sql"),
        ('- {question: "A?", expected: 1, tolerence: 2}', "tolerence"),
        ('- {question: "A?", expected: 1, tolerance: lots}', "tolerance is a number"),
        ('- {question: "A?", expected: 1, tolerance: -1}', "tolerance is a number"),
        ('- {question: "A?", expected: {a: 1}}', "must be a value"),
        ('- {question: "A?", expected: [[1], [1, 2]]}', "differ in length"),
        ('- {question: "A?", expected: 1}\n- {question: "A?", expected: 2}', "two questions are called 'A?'"),
        ("- {question: '', expected: 1}", "question"),
        ("- [", "line"),
    ],
)
def test_mistakes_in_the_file_are_named(tmp_path: Path, text: str, told: str):
    with pytest.raises(UserError, match=r"questions\.yaml") as caught:
        read_questions(written(tmp_path, text))
    assert told in str(caught.value)
    with pytest.raises(UserError, match="no file of questions"):
        read_questions(tmp_path / "none.yaml")


EXACT = Tolerance()


def judged(expected: Any, text: str = "", rows: Any = (), tolerance: Tolerance = EXACT, ordered: bool = False) -> str:
    outcome = Outcome("answered", text=text or "\n".join(map(str, rows)), rows=rows, from_rows=not text)
    return judge_rows(expected, outcome, tolerance, ordered).verdict


def test_rows_are_compared_with_rows():
    rows = (("Basel", Decimal("20.0")), ("Bern", 20))
    assert judged([("bern", 20), ("BASEL", 20.0)], rows=rows) == "passed"
    assert judged([("bern", 20), ("BASEL", 20.0)], rows=rows, ordered=True) == "wrong"
    assert judged([("Basel", 21), ("Bern", 20)], rows=rows) == "wrong"
    assert judged([("Basel", 21), ("Bern", 20)], rows=rows, tolerance=Tolerance(amount=1)) == "passed"
    assert judged([("Basel", 21), ("Bern", 20)], rows=rows, tolerance=Tolerance(share=0.05)) == "passed"
    assert judged([(None,)], rows=((0,),)) == "wrong"


def test_a_value_among_too_many_rows_is_not_the_answer():
    assert judged([("Basel",)], rows=(("Basel",), ("Bern",))) == "wrong"
    assert judged([("Basel",)], rows=(("Basel", 20),)) == "passed", "a column more does no harm"


def test_values_are_found_in_words():
    assert judged([(20,)], "There are 20 customers in 3 towns.") == "passed"
    assert judged([(20,)], "There are 200 customers.") == "wrong"
    assert judged([(1234.5,)], "It is $1,234.50.") == "passed"
    assert judged([("Basel",), ("Bern",)], "Bern and Basel") == "passed"
    assert judged([("Basel",), ("Bern",)], "Bern and Basel", ordered=True) == "wrong"
    assert judged([(datetime.date(2024, 1, 31),)], "on 2024-01-31") == "passed"


def test_nothing_is_an_answer_too():
    assert judged([], "There are none.") == "passed"
    assert judged([], "Basel") == "wrong"


def test_the_baseline_tells_lost_from_won(tmp_path: Path):
    write_baseline(tmp_path / "b.json", {"a": True, "b": False, "c": True, "gone": True})
    found = change(read_baseline(tmp_path / "b.json"), {"a": False, "b": True, "c": True, "d": False})
    assert (found.lost, found.won, found.new, found.gone) == (("a",), ("b",), ("d",), ("gone",))
    for content in ("[]", "{", '{"questions": 3}'):
        (tmp_path / "b.json").write_text(content)
        with pytest.raises(UserError, match="no baseline"):
            read_baseline(tmp_path / "b.json")


def test_the_exit_code_tells_regressions(shop: Path, wire: Start, monkeypatch: pytest.MonkeyPatch):
    """Saved while all holds; then the model gets worse at one question."""
    monkeypatch.setattr("coset.benchmark.own_questions.attempt_places", here)

    def model(request: dict[str, Any]) -> Any:
        if "How many towns" in asked(request):
            return call("answer", text=model.towns)
        if not has_results(request):
            return call("sql", query="SELECT town, count(*) AS n FROM crm_database.customers GROUP BY town")
        return call("answer", text="", results=["result_1"])

    model.towns = "3"
    path, baseline, out = written(shop, FILE), shop / "baseline.json", shop / "out"
    start = [
        str(path),
        "-e",
        str(shop / "environments" / "shop"),
        "--core",
        "--model",
        wire(model).url,
        "--out",
        str(out),
    ]
    kept = shop / "environments" / "shop" / "coset.corrections.yaml"
    good = CliRunner().invoke(questions, [*start, "--save-baseline", str(baseline)])
    assert good.exit_code == 0, good.output
    assert not kept.exists(), "nothing is remembered by itself"
    assert "2 of 2 questions hold" in good.stdout
    assert json.loads(baseline.read_text()) == {"questions": {"by town": True, "towns": True}}
    assert "How many customers has each town?" in (out / "report.html").read_text()
    model.towns = "4"
    bad = CliRunner().invoke(questions, [*start, "--baseline", str(baseline), "--json", "--confirm"])
    assert bad.exit_code == 1
    assert "How many customers has each town?" in kept.read_text() and "GROUP BY town" in kept.read_text()
    assert "How many towns" not in kept.read_text(), "what does not hold, or has no statement, is not confirmed"
    told = json.loads(bad.stdout)
    of_schema("bench questions", told)
    assert told["changes"]["lost"] == ["towns"] and told["questions"] == {"towns": False, "by town": True}
    assert sorted(each.name for each in out.glob("run-*")) == ["run-1", "run-2"], (
        "a complete run is followed by a new one"
    )
    # What failed before is no regression.
    write_baseline(baseline, {"towns": False, "by town": True})
    assert CliRunner().invoke(questions, [*start, "--baseline", str(baseline)]).exit_code == 0


def test_sql_that_does_not_run_is_told_before_a_model_is_asked(shop: Path, wire: Start):
    path = written(shop, '- {question: "A?", name: a, sql: SELECT nothing FROM crm_database.nowhere}')
    model = wire(call("answer", text="1"))
    result = CliRunner().invoke(
        questions, [str(path), "-e", str(shop / "environments" / "shop"), "--core", "--model", model.url]
    )
    assert isinstance(result.exception, UserError) and "sql of question 'a' does not run" in str(result.exception)
    assert model.requests == []
