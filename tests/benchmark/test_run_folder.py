"""What a run keeps, and what it refuses to mix."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from coset.benchmark.attempts import Attempt
from coset.benchmark.run_folder import ATTEMPTS, INLINE_LETTERS, RunFolder, file_name, held
from coset.errors import UserError

SETTINGS = {"mode": "core", "model": "m"}
QUESTIONS = {"shop/1": "aa", "shop/2": "bb"}


def begun(folder: Path, questions: dict[str, str] = QUESTIONS, **settings: str) -> RunFolder:
    return RunFolder.begin(folder, {**SETTINGS, **settings}, questions, dict.fromkeys(questions, "How many?"))


def kept(run: RunFolder, trial: int = 1, passed: bool = True, answer: str = "7", question: str = "1") -> Attempt:
    verdict = "passed" if passed else "wrong"
    attempt = Attempt(dataset="shop", question=question, trial=trial, status="answered", verdict=verdict)
    return run.add(attempt, answer, [{"kind": "view"}])


def test_a_run_is_read_back_as_it_was(tmp_path: Path):
    first = begun(tmp_path)
    kept(first, 1)
    kept(first, 2, passed=False)
    again = begun(tmp_path)
    assert again.attempts == first.attempts
    assert again.trace(again.attempts[("shop", "1", 1)]) == [{"kind": "view"}]


@pytest.mark.parametrize("torn", [b'{"dataset": "shop", "quest', b"\xff\xfe\x00", b"null\n", b"\n"])
def test_a_line_that_a_kill_cut_off_is_left_out_and_nothing_else_is_lost(tmp_path: Path, torn: bytes):
    kept(begun(tmp_path), 1)
    with (tmp_path / ATTEMPTS).open("ab") as file:
        file.write(torn)
    again = begun(tmp_path)
    assert list(again.attempts) == [("shop", "1", 1)]
    kept(again, 2)
    assert list(begun(tmp_path).attempts) == [("shop", "1", 1), ("shop", "1", 2)]


def test_a_later_attempt_counts_and_the_earlier_line_stays(tmp_path: Path):
    run = begun(tmp_path)
    kept(run, 1, passed=False)
    kept(run, 1, passed=True)
    assert begun(tmp_path).attempts[("shop", "1", 1)].passed
    assert len((tmp_path / ATTEMPTS).read_text().splitlines()) == 2


def test_a_long_answer_is_kept_whole_beside_the_attempts(tmp_path: Path):
    answer = "é" * 5_000_000
    attempt = kept(begun(tmp_path), answer=answer)
    assert attempt.answer_letters == 5_000_000 and len(attempt.answer) == INLINE_LETTERS
    again = begun(tmp_path)
    assert again.whole_answer(again.attempts[("shop", "1", 1)]) == answer
    assert (tmp_path / ATTEMPTS).stat().st_size < 100_000


def test_an_answer_that_is_no_proper_text_is_kept(tmp_path: Path):
    kept(begun(tmp_path), answer="half of a pair \ud800")
    assert "half of a pair" in begun(tmp_path).attempts[("shop", "1", 1)].answer


def test_other_settings_are_refused_with_their_name(tmp_path: Path):
    kept(begun(tmp_path), 1)
    with pytest.raises(UserError, match=r'another model \("m", not "n"\)'):
        begun(tmp_path, model="n")
    assert len(begun(tmp_path).attempts) == 1


@pytest.mark.parametrize(
    ("questions", "told"),
    [({"shop/1": "zz", "shop/2": "bb"}, "shop/1 changed"), ({"shop/2": "bb"}, "shop/1 is gone")],
)
def test_a_changed_question_set_is_refused_and_the_attempts_stay(tmp_path: Path, questions: dict[str, str], told: str):
    kept(begun(tmp_path), 1)
    before = (tmp_path / ATTEMPTS).read_bytes()
    with pytest.raises(UserError, match=told):
        begun(tmp_path, questions)
    assert (tmp_path / ATTEMPTS).read_bytes() == before


def test_more_datasets_may_join(tmp_path: Path):
    kept(begun(tmp_path), 1)
    joined = begun(tmp_path, {"farm/1": "cc"})
    assert joined.questions == {**QUESTIONS, "farm/1": "cc"} and len(joined.attempts) == 1


def test_two_processes_cannot_write_to_one_folder(tmp_path: Path):
    code = "import sys\nfrom pathlib import Path\nfrom coset.benchmark.run_folder import held\nwith held(Path(sys.argv[1])):\n    pass\n"
    with held(tmp_path):
        other = subprocess.run([sys.executable, "-c", code, tmp_path], capture_output=True, text=True, check=False)
        assert f"another run (process {os.getpid()})" in other.stderr
    assert subprocess.run([sys.executable, "-c", code, tmp_path], check=False).returncode == 0


def test_a_folder_that_cannot_be_written_is_a_mistake(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="--out"), held(tmp_path / "file" / "run"):
        pass


def test_a_run_that_is_none_or_of_a_newer_version_is_refused(tmp_path: Path):
    with pytest.raises(UserError, match="no run"):
        RunFolder.read(tmp_path)
    begun(tmp_path)
    content = json.loads((tmp_path / "run.json").read_text())
    (tmp_path / "run.json").write_text(json.dumps({**content, "version": 99}))
    with pytest.raises(UserError, match="newer"):
        RunFolder.read(tmp_path)
    (tmp_path / "run.json").write_text("{")
    with pytest.raises(UserError, match="cannot be read"):
        RunFolder.read(tmp_path)


def test_no_two_attempts_share_a_file():
    names = {
        file_name(*each)
        for each in (("a-b", "c", 1), ("a", "b-c", 1), ("a b", "c", 1), ("a", "b/c", 1), ("a-b", "c", 2))
    }
    assert len(names) == 5
    assert all("/" not in name for name in names)
