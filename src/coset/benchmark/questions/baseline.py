"""What a team's questions could do before, kept in a small file that belongs into version control.

In: a run. Out: the file, and what was lost or won against it. A question holds when more than half of its trials pass.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from coset.benchmark.attempts import Attempt
from coset.errors import UserError


@dataclass(frozen=True)
class Change:
    """Questions by what became of them since the baseline."""

    lost: tuple[str, ...]
    """Held before, and does not now: a regression."""
    won: tuple[str, ...]
    new: tuple[str, ...]
    """Not in the baseline."""
    gone: tuple[str, ...]
    """In the baseline, and not asked now."""


def held(attempts: Iterable[Attempt]) -> dict[str, bool]:
    """Which questions hold."""
    trials: dict[str, list[bool]] = {}
    for attempt in attempts:
        trials.setdefault(attempt.question, []).append(attempt.passed)
    return {name: sum(passed) * 2 > len(passed) for name, passed in trials.items()}


def read_baseline(path: Path) -> dict[str, bool]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return {str(name): bool(holds) for name, holds in content["questions"].items()}
    except FileNotFoundError:
        raise UserError(f"there is no baseline at '{path}': make one with --save-baseline") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise UserError(f"'{path}' is no baseline: make one with --save-baseline") from None


def write_baseline(path: Path, now: dict[str, bool]) -> None:
    try:
        path.write_text(json.dumps({"questions": dict(sorted(now.items()))}, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise UserError(f"cannot write the baseline '{path}': {error.strerror}") from None


def change(before: dict[str, bool], now: dict[str, bool]) -> Change:
    return Change(
        lost=tuple(name for name, holds in now.items() if before.get(name) and not holds),
        won=tuple(name for name, holds in now.items() if holds and before.get(name) is False),
        new=tuple(name for name in now if name not in before),
        gone=tuple(name for name in before if name not in now),
    )
