"""Judging an answer with the benchmark's own `validate.py`, in a child process with a time-out.

In: a question of a checkout and an answer. Out: a `Judgement`. The child has a bare environment and is confined (no
file grows or changes, no connection), for a validator is code of others; one that raises, hangs, or gives something
unreadable is told as such and never as a wrong answer. Where a question has no validator, its ground truth is compared
plainly, and the judgement says so.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from coset.benchmark.attempts import COMPARED_PLAINLY, Judgement
from coset.benchmark.dab.checkout import Question
from coset.benchmark.written_values import holds_ground_truth

SECONDS = 60.0
LONGEST_REASON = 500


def judge(question: Question, answer: str, root: Path, seconds: float = SECONDS) -> Judgement:
    """What the benchmark says of an answer. `root` is its checkout: validators may import from there."""
    if question.validator is not None:
        return run_validator(question.validator, answer, root, seconds)
    if question.ground_truth is None:
        return Judgement("not judged", "the question has neither validator nor ground truth")
    try:
        text = question.ground_truth.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        return Judgement("not judged", f"the ground truth cannot be read ({type(error).__name__})")
    missing = holds_ground_truth(answer, text)
    return Judgement("wrong" if missing else "passed", COMPARED_PLAINLY)


def run_validator(path: Path, answer: str, root: Path, seconds: float = SECONDS) -> Judgement:
    search_path = os.pathsep.join(entry for entry in sys.path if entry)
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL", "TMPDIR") if name in os.environ}
    process = subprocess.Popen(
        [sys.executable, "-c", "from coset.benchmark.dab.validator_child import main; main()", str(path), str(root)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=path.parent,
        env={**kept, "PYTHONPATH": search_path, "PYTHONDONTWRITEBYTECODE": "1"}, start_new_session=True,
    )  # fmt: skip
    try:
        said, _ = process.communicate(answer.encode("utf-8", "replace"), timeout=seconds)
    except subprocess.TimeoutExpired:
        return Judgement("not judged", f"the validator was stopped after {seconds:g} seconds")
    finally:
        # Whatever it started goes with it.
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass
        process.communicate()
    try:
        content = json.loads(said.decode("utf-8", "replace").strip().splitlines()[-1])
        kind, reason = str(content["kind"]), str(content["reason"])[:LONGEST_REASON]
    except (ValueError, IndexError, KeyError, TypeError):
        return Judgement("not judged", f"the validator ended without a verdict (exit code {process.returncode})")
    if kind == "passed":
        return Judgement("passed", reason)
    return Judgement("wrong" if kind == "wrong" else "not judged", reason)
