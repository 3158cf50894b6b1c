"""Score found joins against gold, per family, and run peers on the same tasks in the same run.

    coset bench joins --tasks DIR --out found.jsonl
    python benchmarks/joins.py --tasks DIR --found found.jsonl --peer rapidfuzz --peer string_grouper

A family is what stands before `__` in a task's name. Precision, recall and F1 are given as the mean over tasks and
pooled over all pairs; a task without gold counts as 1 where nothing is found and 0 otherwise. Each peer runs with its
defaults, or the setting its documentation suggests; peers are imported only when asked for and are no part of coset.
`--halves` also scores every second task of each family alone. The weights that coset ships were fitted on tasks of
entity titles, so its score on those very tasks is not a held-out one.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from report import report

from coset.relations.transformations.tasks import Task, read_tasks

Pairs = set[tuple[str, str]]


def read_gold(folder: Path) -> Pairs:
    lines = (folder / "gold.csv").read_text(encoding="utf-8").splitlines()[1:]
    return {(left, right) for left, right in (line.split(",") for line in lines if line)}


def rapidfuzz_matches(task: Task) -> Pairs:
    """The nearest left value by token_sort_ratio, from 80 on."""
    from rapidfuzz import fuzz, process, utils

    found = set()
    for row, value in enumerate(task.right.values):
        best = process.extractOne(
            value, task.left.values, scorer=fuzz.token_sort_ratio, processor=utils.default_process, score_cutoff=80
        )
        if best:
            found.add((task.left.ids[best[2]], task.right.ids[row]))
    return found


def string_grouper_matches(task: Task) -> Pairs:
    """The nearest left value by TF-IDF cosine of 3-grams, from its default similarity of 0.8 on."""
    import pandas
    from string_grouper import match_strings

    if not task.right.values:
        return set()
    matches = match_strings(
        pandas.Series(task.left.values, name="left"),
        pandas.Series(task.right.values, name="right"),
        pandas.Series(task.left.ids, name="left_id"),
        pandas.Series(task.right.ids, name="right_id"),
        max_n_matches=len(task.right.values),
    )
    best: dict[str, tuple[float, str]] = {}
    for _, row in matches.iterrows():
        best[row["right_right_id"]] = max(
            best.get(row["right_right_id"], (0.0, "")), (row["similarity"], row["left_left_id"])
        )
    return {(left, right) for right, (_, left) in best.items()}


def autofj_matches(task: Task) -> Pairs:
    """Auto-FuzzyJoin (Li et al. 2021) with its small space of join functions and a precision target of 0.9."""
    import pandas
    from autofj import AutoFJ

    if not task.right.values:
        return set()
    left = pandas.DataFrame({"autoid": task.left.ids, "title": task.left.values})
    right = pandas.DataFrame({"autoid": task.right.ids, "title": task.right.values})
    # It keeps a cache in the working folder, which must not outlive the task.
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        result = AutoFJ(precision_target=0.9, n_jobs=1).join(left, right, "autoid")
    return set(zip(result["autoid_l"], result["autoid_r"], strict=True))


PEERS: dict[str, Callable[[Task], Pairs]] = {
    "rapidfuzz": rapidfuzz_matches,
    "string_grouper": string_grouper_matches,
    "autofj": autofj_matches,
}


def scores(found: Pairs, gold: Pairs) -> tuple[float, float, float]:
    if not found and not gold:
        return 1.0, 1.0, 1.0
    right = len(found & gold)
    return (
        right / len(found) if found else 0.0,
        right / len(gold) if gold else 0.0,
        2 * right / (len(found) + len(gold)),
    )


def figures_of(
    title: str, answers: dict[str, Pairs], gold: dict[str, Pairs], seconds: float | None
) -> dict[str, float | str]:
    """For each family of tasks: the mean over tasks, and all pairs taken together."""
    figures: dict[str, float | str] = {}
    for family in sorted({name.split("__")[0] for name in answers}):
        names = [name for name in sorted(answers) if name.split("__")[0] == family]
        each = [scores(answers[name], gold[name]) for name in names]
        mean = [sum(column) / len(each) for column in zip(*each, strict=True)]
        pooled = scores(tagged(names, answers), tagged(names, gold))
        start = f"{title}, {family} ({len(names)} tasks)"
        figures[f"{start}: mean P, R, F1"] = ", ".join(f"{score:.3f}" for score in mean)
        figures[f"{start}: pooled P, R, F1"] = ", ".join(f"{score:.3f}" for score in pooled)
    return figures if seconds is None else {**figures, f"{title}, s": seconds}


def tagged(names: Iterable[str], pairs: dict[str, Pairs]) -> Pairs:
    return {(f"{name}/{left}", f"{name}/{right}") for name in names for left, right in pairs[name]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", type=Path, required=True)
    parser.add_argument("--found", type=Path, help="what `coset bench joins` wrote")
    parser.add_argument("--peer", action="append", choices=sorted(PEERS), default=[])
    parser.add_argument("--family", action="append", default=[], help="only tasks of this family")
    parser.add_argument("--task", action="append", default=[], help="only this task; may be given several times")
    parser.add_argument("--halves", action="store_true", help="score every second task of each family alone, too")
    parser.add_argument("--each", action="store_true", help="a line for each task, too")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    tasks = [t for t in read_tasks(options.tasks) if not options.family or t.name.split("__")[0] in options.family]
    tasks = [task for task in tasks if not options.task or task.name in options.task]
    gold = {task.name: read_gold(options.tasks / task.name) for task in tasks}
    everyone: dict[str, tuple[dict[str, Pairs], float | None]] = {}
    if options.found:
        lines = [json.loads(line) for line in options.found.read_text(encoding="utf-8").splitlines()]
        found = {line["task"]: {(str(left), str(right)) for left, right in line["pairs"]} for line in lines}
        everyone["coset"] = ({name: found.get(name, set()) for name in gold}, None)
    for peer in options.peer:
        started = time.monotonic()
        answers = {task.name: PEERS[peer](task) for task in tasks}
        everyone[peer] = (answers, time.monotonic() - started)
    figures: dict[str, float | str] = {}
    for title, (answers, seconds) in everyone.items():
        figures |= figures_of(title, answers, gold, seconds)
        if options.halves:
            for half, start in (("first half", 0), ("second half", 1)):
                names = {
                    name
                    for family in {name.split("__")[0] for name in gold}
                    for name in sorted(n for n in gold if n.split("__")[0] == family)[start::2]
                }
                figures |= figures_of(f"{title}, {half}", {name: answers[name] for name in names}, gold, None)
        if options.each:
            for name in sorted(answers):
                told = ", ".join(f"{score:.3f}" for score in scores(answers[name], gold[name]))
                figures[f"{title}, {name}: P, R, F1"] = told
    report("joins of two columns", figures)


if __name__ == "__main__":
    main()
