"""Learn the weights of the fuzzy matcher from join tasks with gold, and say how it does on tasks it has not seen.

    python benchmarks/joins_training.py ../shared/corpora/joins            # cross-fitted figures
    python benchmarks/joins_training.py ../shared/corpora/joins --write    # and write weights.py anew

Only tasks of one family (`--family`, what stands before `__` in their names) teach. For the figures the tasks are dealt
into folds; each task is joined end to end, rules and all, by weights that were fitted without any task of its fold.
The weights that are written are fitted on all of them. What must not match is taught by right values of one task held
against the left values of the next. NumPy alone does the fitting: a softmax over the candidates of each right value
ranks them, and a logistic regression says how far the winner can be trusted, both by Newton's method.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
from benchmarks.joins import Pairs, read_gold, scores

from coset.relations.transformations import fuzzy, weights
from coset.relations.transformations.fuzzy import CONTEST, EVIDENCE, Candidates
from coset.relations.transformations.matching import LEAST_PROBABILITY
from coset.relations.transformations.resemblance import FEATURES, Columns, Floats, Integers
from coset.relations.transformations.search import distinct
from coset.relations.transformations.tasks import Task, read_tasks, solve

WEIGHTS = Path(weights.__file__)
# Strengths of the ridge: on the mean loss of the ranking, and on the summed loss of the trust; both per standard
# deviation of a feature.
RANKING_RIDGE, CONTEST_RIDGE, TRUST_RIDGE = 1e-3, 1e-6, 20.0
STRANGERS, STRANGERS_LEFT, STRANGERS_WEIGHT = 40, 1500, 0.5
TRIED = (0.0, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5)


@dataclass(frozen=True)
class Lesson:
    """A task as the matcher sees it: candidate pairs, which of them are true, and pairs none of which is."""

    task: Task
    gold: Pairs
    found: Candidates
    true: np.ndarray
    strangers: Candidates


@dataclass(frozen=True)
class Fitted:
    ranking: Floats
    contest: Floats
    trust: Floats

    def put_to_use(self) -> None:
        weights.RANKING, weights.CONTEST, weights.TRUST = self.ranking, self.contest, self.trust


def lessons_of(folder: Path, family: str) -> list[Lesson]:
    tasks = [task for task in read_tasks(folder) if task.name.split("__")[0] == family]
    tasks = [task for task in tasks if task.right.values]
    lessons = []
    for place, task in enumerate(tasks):
        gold = read_gold(folder / task.name)
        left, right = distinct(task.left.values), distinct(task.right.values)
        spelled_left = dict(zip(task.left.ids, task.left.values, strict=True))
        spelled_right = dict(zip(task.right.ids, task.right.values, strict=True))
        spelled = {(spelled_left[one], spelled_right[other]) for one, other in gold}
        found = fuzzy.candidates(Columns(left, right), range(len(right)))
        true = np.array([(left[i], right[j]) in spelled for i, j in zip(found.left, found.right, strict=True)])
        others = distinct(tasks[(place + 1) % len(tasks)].right.values)[:STRANGERS]
        strangers = fuzzy.candidates(Columns(left[:STRANGERS_LEFT], others), range(len(others)))
        lessons.append(Lesson(task, gold, found, true, strangers))
        print(f"{task.name}: {true.sum()} of {len(spelled)} true pairs among {len(true)} candidates", file=sys.stderr)
    return lessons


def fit(lessons: list[Lesson]) -> Fitted:
    groups = [(lesson.found.right, lesson.true) for lesson in lessons]
    ranking = softmax_regression([lesson.found.features for lesson in lessons], groups, RANKING_RIDGE)
    contests = [fuzzy.contest(lesson.found, lesson.found.features @ ranking) for lesson in lessons]
    contest = softmax_regression(contests, groups, CONTEST_RIDGE)
    rows, labels, importance = [], [], []
    for lesson in lessons:
        best = fuzzy.winners(lesson.found, ranking, contest)
        rows.append(best.evidence)
        labels.append(lesson.true[best.places])
        # Between weighing every task alike and weighing every pair alike.
        importance.append(np.full(len(best.places), len(best.places) ** -0.5))
        if len(lesson.strangers):
            best = fuzzy.winners(lesson.strangers, ranking, contest)
            rows.append(best.evidence)
            labels.append(np.zeros(len(best.places), dtype=bool))
            importance.append(np.full(len(best.places), STRANGERS_WEIGHT * len(best.places) ** -0.5))
    trust = logistic_regression(np.vstack(rows), np.concatenate(labels), np.concatenate(importance), TRUST_RIDGE)
    return Fitted(ranking, contest, trust)


def softmax_regression(tables: list[Floats], groups: list[tuple[Integers, np.ndarray]], ridge: float) -> Floats:
    """Weights under which the true candidates of each right value outweigh the others.

    Right values without a true candidate teach nothing. A task weighs as the root of their number.
    """
    rows, shares_wanted, starts, group_weights, total = [], [], [], [], 0
    for table, (right, true) in zip(tables, groups, strict=True):
        known = np.isin(right, right[true])
        table, right, true = table[known], right[known], true[known]
        first = np.flatnonzero(np.append(True, right[1:] != right[:-1]))
        sizes = np.diff(np.append(first, len(right)))
        rows.append(table)
        shares_wanted.append(true / np.repeat(np.add.reduceat(true.astype(float), first), sizes))
        starts.append(first + total)
        group_weights.append(np.full(len(first), len(first) ** -0.5))
        total += len(right)
    x, wanted, first, weight = (np.concatenate(part) for part in (rows, shares_wanted, starts, group_weights))
    spread = x.std(axis=0)
    spread[spread == 0] = 1.0
    x = (x - x.mean(axis=0)) / spread
    sizes = np.diff(np.append(first, total))
    weight = weight / weight.sum()
    each = np.repeat(weight, sizes)
    beta = np.zeros(x.shape[1])

    def loss_and_shares(beta: Floats) -> tuple[float, Floats]:
        s = x @ beta
        s -= np.repeat(np.maximum.reduceat(s, first), sizes)
        logs = s - np.log(np.repeat(np.add.reduceat(np.exp(s), first), sizes))
        return float(-(each * wanted * logs).sum() + ridge * beta @ beta), np.exp(logs)

    loss, p = loss_and_shares(beta)
    for _ in range(50):
        gradient = (each * (p - wanted)) @ x + 2 * ridge * beta
        means = np.add.reduceat(p[:, None] * x, first)
        hessian = (x * (each * p)[:, None]).T @ x - (means * weight[:, None]).T @ means
        step = np.linalg.solve(hessian + 2 * ridge * np.eye(len(beta)), gradient)
        size = 1.0
        while size > 1e-4:
            tried, tried_p = loss_and_shares(beta - size * step)
            if tried <= loss:
                break
            size /= 2
        beta, gained, loss, p = beta - size * step, loss - tried, tried, tried_p
        if gained < 1e-10:
            break
    return np.asarray(beta / spread)


def logistic_regression(x: Floats, y: np.ndarray, weight: Floats, ridge: float) -> Floats:
    """The first column is the constant, which is not held back."""
    spread, middle = x.std(axis=0), x.mean(axis=0)
    spread[spread == 0] = 1.0
    spread[0], middle[0] = 1.0, 0.0
    z = (x - middle) / spread
    weight = weight / weight.mean()
    penalty = np.full(x.shape[1], ridge)
    penalty[0] = 1e-6
    beta = np.zeros(x.shape[1])
    for _ in range(60):
        p = 1 / (1 + np.exp(-np.clip(z @ beta, -30, 30)))
        gradient = z.T @ (weight * (y - p)) - penalty * beta
        hessian = (z * (weight * p * (1 - p))[:, None]).T @ z + np.diag(penalty)
        step = np.linalg.solve(hessian, gradient)
        beta += step
        if np.abs(step).max() < 1e-8:
            break
    beta = beta / spread
    beta[0] -= beta[1:] @ middle[1:]
    return np.asarray(beta)


def dealt(lessons: list[Lesson], folds: int, seed: int) -> list[list[Lesson]]:
    order = np.random.default_rng(seed).permutation(len(lessons))
    return [[lessons[place] for place in order[fold::folds]] for fold in range(folds)]


def by_threshold(lesson: Lesson, fitted: Fitted) -> list[tuple[float, float, float]]:
    """Scores of resemblance alone, without rules, at each of `TRIED`: to see how much the threshold matters."""
    best = fuzzy.winners(lesson.found, fitted.ranking, fitted.contest)
    probability = 1 / (1 + np.exp(-best.evidence @ fitted.trust))
    true = lesson.true[best.places]
    outcome = []
    for least in TRIED:
        kept = probability >= least
        right, count = int((true & kept).sum()), int(kept.sum())
        outcome.append((right / max(1, count), right / len(lesson.gold), 2 * right / (count + len(lesson.gold))))
    return outcome


def cross_fit(lessons: list[Lesson], folds: int, seed: int) -> None:
    joined: dict[str, tuple[float, float, float]] = {}
    thresholds = []
    accepted = strangers = 0
    for held_out in dealt(lessons, folds, seed):
        names = {lesson.task.name for lesson in held_out}
        fitted = fit([lesson for lesson in lessons if lesson.task.name not in names])
        fitted.put_to_use()
        for lesson in held_out:
            joined[lesson.task.name] = scores(set(solve(lesson.task).pairs), lesson.gold)
            thresholds.append(by_threshold(lesson, fitted))
            if len(lesson.strangers):
                best = fuzzy.winners(lesson.strangers, fitted.ranking, fitted.contest)
                accepted += int(
                    (best.evidence @ fitted.trust >= np.log(LEAST_PROBABILITY / (1 - LEAST_PROBABILITY))).sum()
                )
                strangers += len(best.places)
    for name, each in sorted(joined.items()):
        print("    {:44s} P {:.3f} R {:.3f} F1 {:.3f}".format(name, *each))
    mean = np.mean(list(joined.values()), axis=0)
    print(
        "cross-fitted, end to end, {} tasks, seed {}: mean P {:.3f} R {:.3f} F1 {:.3f}".format(len(joined), seed, *mean)
    )
    print(f"strangers accepted: {accepted} of {strangers}")
    for least, (precision, recall, f1) in zip(TRIED, np.mean(thresholds, axis=0), strict=True):
        print(f"    resemblance alone, kept from {least:.2f} on: mean P {precision:.3f} R {recall:.3f} F1 {f1:.3f}")


def written(fitted: Fitted) -> str:
    def block(name: str, names: tuple[str, ...], values: Floats) -> list[str]:
        lines = [f"        {value:.3f},  # {label}" for label, value in zip(names, values, strict=True)]
        return [f"{name}: Floats = np.array(", "    [", *lines, "    ]", ")"]

    head = WEIGHTS.read_text(encoding="utf-8").split("RANKING: Floats")[0].rstrip()
    blocks = [
        block("RANKING", FEATURES, fitted.ranking),
        block("CONTEST", CONTEST, fitted.contest),
        block("TRUST", EVIDENCE, fitted.trust),
    ]
    return head + "\n\n" + "\n\n".join("\n".join(lines) for lines in blocks) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", type=Path, help="the folder that holds one folder for each task")
    parser.add_argument("--family", default="autofj")
    parser.add_argument("--folds", type=int, default=6)
    parser.add_argument("--seed", type=int, default=0, help="how the tasks are dealt into folds")
    parser.add_argument("--write", action="store_true", help=f"replace {WEIGHTS.name}")
    parser.add_argument("--no-figures", action="store_true", help="fit and write only")
    given = parser.parse_args()
    lessons = lessons_of(given.tasks, given.family)
    if not given.no_figures:
        cross_fit(lessons, given.folds, given.seed)
    if given.write:
        WEIGHTS.write_text(written(fit(lessons)), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
