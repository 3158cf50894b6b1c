"""The answers of a run in the form that the benchmark's board takes, with traces and a note.

In: a run. Out: `submission.json` (one entry for each dataset, query and run, with the answer), the traces beside it,
and a note that says how the answers came about: model, mode, hints, limits, what was not run, what failed. Answers are
given whole, and as they were; an attempt without an answer has an empty one.
"""

from __future__ import annotations

import json
from pathlib import Path

from coset.benchmark.metrics import natural
from coset.benchmark.run_folder import RunFolder
from coset.benchmark.systems import System

BOARD_TRIALS = 5
"""The board takes runs of at least so many trials."""


def write_submission(system: System) -> Path:
    """Write both files into the run's folder; the path of the JSON."""
    run = system.run
    entries = [
        {
            "dataset": attempt.dataset, "query": attempt.question, "run": str(attempt.trial - 1),
            "answer": run.whole_answer(attempt),
        }
        for attempt in sorted(system.attempts, key=lambda each: (each.dataset, natural(each.question), each.trial))
    ]  # fmt: skip
    path = run.folder / "submission.json"
    path.write_text(json.dumps(entries, indent=1, ensure_ascii=False) + "\n", encoding="utf-8", errors="replace")
    (run.folder / "submission.md").write_text("\n".join(_note(system, run)) + "\n", encoding="utf-8")
    return path


def _note(system: System, run: RunFolder) -> list[str]:
    settings = run.settings
    shown = {
        "model": settings.get("model"), "arbiter": settings.get("arbiter_model") or "the same",
        "text operations": settings.get("text_model") or "the same", "mode": settings.get("mode"),
        "dataset hints": "used" if settings.get("hints") else "not used",
        "evidence budget": settings.get("budget") or "default", "steps at most": settings.get("steps"),
        "tokens at most": settings.get("max_tokens"), "verification": settings.get("verify"),
        "coset": settings.get("coset"),
    }  # fmt: skip
    lines = [
        "# Submission",
        "",
        f"{len(system.attempts)} attempts: {system.questions} questions in {system.trials} trials. "
        "`submission.json` has the answers, `traces/` every step of each attempt, `attempts.jsonl` the verdicts.",
        "",
        *(f"- {key}: {value}" for key, value in shown.items()),
        f"- attempts that ended with an error: {system.statuses.get('failed', 0)}; stopped by a limit: "
        f"{system.statuses.get('stopped', 0)} (their answers are empty)",
        f"- prompts that held text of a ground truth or validator: {len(system.leaks)}",
    ]
    if system.trials < BOARD_TRIALS:
        lines.append(f"- fewer trials than the board asks for: {system.trials} of {BOARD_TRIALS}")
    for name, why in system.not_runnable.items():
        lines.append(f"- not run: {name}: {why}")
    return lines
