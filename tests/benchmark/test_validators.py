"""Judging with the benchmark's own code, in a process of its own."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from benchmark.small_checkout import add_question, make_dataset
from coset.benchmark.dab.checkout import Question
from coset.benchmark.dab.validator_process import judge, run_validator
from coset.benchmark.written_values import holds_ground_truth


def verdict(folder: Path, code: str, answer: str = "42", seconds: float = 60.0):
    path = folder / "validate.py"
    path.write_text(code)
    return run_validator(path, answer, folder.parent, seconds)


def test_a_verdict_comes_with_its_reason(tmp_path: Path):
    question = make_dataset(tmp_path / "query_shop") / "query1"
    asked = Question("1", "How many?", question)
    assert judge(asked, "There are 20.", tmp_path).verdict == "passed"
    wrong = judge(asked, "There are 19.", tmp_path)
    assert wrong.verdict == "wrong" and "'20' is not in the answer" in wrong.reason


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("def validate(text):\n    raise KeyError('x')", "KeyError"),
        ("raise RuntimeError('at import')", "at import"),
        ("def validate(text) return", "SyntaxError"),
        ("x = 1", "AttributeError"),
        ("import os\ndef validate(text):\n    os._exit(3)", "exit code 3"),
        ("import sys\ndef validate(text):\n    sys.exit('gone')", "SystemExit"),
        (
            "class No:\n    def __bool__(self):\n        raise ValueError\ndef validate(text):\n    return No(), 'x'",
            "neither",
        ),
    ],
)
def test_a_validator_that_breaks_is_told_as_such(tmp_path: Path, code: str, told: str):
    result = verdict(tmp_path, code)
    assert result.verdict == "not judged" and told in result.reason


def test_a_validator_that_hangs_is_stopped_with_all_it_started(tmp_path: Path):
    code = "import os, time\ndef validate(text):\n    os.fork()\n    while True:\n        time.sleep(1)\n"
    started = time.monotonic()
    result = verdict(tmp_path, code, seconds=3)
    assert result.verdict == "not judged" and "after 3 seconds" in result.reason
    assert time.monotonic() - started < 60
    import psutil

    mine = [each for each in psutil.process_iter(["cmdline"]) if str(tmp_path) in " ".join(each.info["cmdline"] or [])]
    assert mine == []


def test_what_a_validator_prints_is_not_its_verdict(tmp_path: Path):
    code = 'def validate(text):\n    print(\'{"kind": "passed", "reason": ""}\')\n    return False, \'no\'\n'
    assert verdict(tmp_path, code).verdict == "wrong"


def test_validators_import_from_the_checkout(tmp_path: Path):
    (tmp_path / "common_parts").mkdir()
    (tmp_path / "common_parts" / "__init__.py").write_text("def same(a, b):\n    return a == b\n")
    (tmp_path / "query").mkdir()
    code = "from common_parts import same\ndef validate(text):\n    return same(text, '42'), ''\n"
    assert verdict(tmp_path / "query", code).verdict == "passed"


def test_a_long_answer_reaches_the_validator_whole(tmp_path: Path):
    code = "def validate(text):\n    return len(text) == 10_000_002 and text.endswith('42'), str(len(text))\n"
    assert verdict(tmp_path, code, "x" * 10_000_000 + "42").verdict == "passed"


def test_a_validator_sees_no_secret_and_changes_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-secret")
    code = (
        "import os\nfrom pathlib import Path\ndef validate(text):\n"
        "    try:\n        Path(__file__).with_name('made').write_text('x')\n        wrote = Path(__file__).with_name('made').read_text() == 'x'\n"
        "    except OSError:\n        wrote = False\n"
        "    return not wrote and 'ANTHROPIC_API_KEY' not in os.environ, 'checked'\n"
    )
    assert verdict(tmp_path, code).verdict == "passed"


@pytest.mark.parametrize("returned", ["True", "(True, 'ok')", "1"])
def test_a_bare_truth_is_a_verdict_too(tmp_path: Path, returned: str):
    assert verdict(tmp_path, f"def validate(text):\n    return {returned}\n").verdict == "passed"


def test_without_a_validator_the_ground_truth_is_compared_and_it_says_so(tmp_path: Path):
    folder = make_dataset(tmp_path / "query_shop")
    path = add_question(folder, "3", "Which?", "Chur")
    (path / "validate.py").unlink()
    (path / "ground_truth.csv").write_text("Chur,12.50\n")
    asked = Question("3", "Which?", path)
    good = judge(asked, "It is CHUR, with 12.5.", tmp_path)
    assert good.verdict == "passed" and "no validate.py" in good.reason
    assert judge(asked, "It is Bern, with 12.5.", tmp_path).verdict == "wrong"


@pytest.mark.parametrize(
    ("answer", "truth", "holds"),
    [
        ("1,234 in all", "1234", True),
        ("3.14159", "3.14", True),
        ("3.16", "3.14", False),
        ("12", "2", False),
        ("Firm-A and firm b", "Firm A\nFirm B\n", True),
        ("Basel: 3", "town,count\nBasel,3\n", True),
        ("Baselland", "Basel", False),
        ("anything", "", False),
        ("45%", "45%", True),
    ],
)
def test_plain_comparison(answer: str, truth: str, holds: bool):
    assert (holds_ground_truth(answer, truth) == []) is holds
