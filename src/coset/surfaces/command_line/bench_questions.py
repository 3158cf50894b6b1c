"""`coset bench questions`: your own questions, with what their answers must be."""

from __future__ import annotations

import dataclasses
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from coset.surfaces.command_line.bench_options import ask_options, asking_options, show_progress
from coset.surfaces.command_line.output import cell, environment_option, json_option, print_json

if TYPE_CHECKING:
    from coset.benchmark.questions.baseline import Change
    from coset.benchmark.systems import System


@click.command(name="questions")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--core", is_flag=True, help="Without roles, routing and records, for comparison.")
@click.option("--trials", type=click.IntRange(1), default=1, show_default=True, help="How often each is asked.")
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR",
              help="Keep attempts, traces and the report here. [default: nothing is kept]")  # fmt: skip
@click.option("--baseline", "baseline_path", type=click.Path(path_type=Path), metavar="FILE",
              help="What held before: fail only for what is lost against it.")  # fmt: skip
@click.option("--save-baseline", "saved_path", type=click.Path(path_type=Path), metavar="FILE",
              help="Keep what holds now.")  # fmt: skip
@asking_options
@environment_option
@json_option
def questions(
    file: Path,
    core: bool,
    trials: int,
    out: Path | None,
    baseline_path: Path | None,
    saved_path: Path | None,
    environment_path: str | None,
    as_json: bool,
    **given: Any,
) -> None:
    """Ask the questions of FILE, a YAML file, and compare the answers with what is expected there.

    \b
    questions:
      - question: How many orders are open?
        expected: 100
      - question: What did each city order, in dollars?
        sql: SELECT city, sum(amount) FROM shop.orders GROUP BY city
        tolerance: 1%

    expected is a value, a list of values, or a list of rows; sql gives them from the data. A question holds when more
    than half of its trials pass. Exit code 0 when nothing is lost against the baseline (without one: when all hold), 1
    otherwise, 2 when the call or the file is wrong.
    """
    from coset.benchmark.questions.baseline import change, held, read_baseline, write_baseline
    from coset.benchmark.questions.question_file import read_questions
    from coset.benchmark.questions.run import QuestionSettings, run_questions
    from coset.benchmark.report import write_reports
    from coset.benchmark.run_folder import held as held_folder
    from coset.benchmark.systems import system_of
    from coset.environment.configuration import load_environment

    expectations = read_questions(file)
    before = read_baseline(baseline_path) if baseline_path else None
    environment = load_environment(environment_path)
    options = dataclasses.replace(ask_options(given), core=core)
    with ExitStack() as stack:
        folder = out or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="coset-bench-")))
        stack.enter_context(held_folder(folder))
        settings = QuestionSettings(folder, trials, given["jobs"], given["attempt_timeout"])
        run = run_questions(expectations, environment, options, settings, show_progress())
        system = system_of(run)
        if out:
            write_reports([system], folder, f"Questions of {file.name}")
    now = held(system.attempts)
    if saved_path:
        write_baseline(saved_path, now)
    changes = change(before, now) if before is not None else None
    bad = changes.lost if changes is not None else tuple(name for name, holds in now.items() if not holds)
    if as_json:
        print_json(_as_data(system, now, changes))
    else:
        _show(system, now, changes)
    if bad:
        raise click.exceptions.Exit(1)


def _as_data(system: System, now: dict[str, bool], changes: Change | None) -> dict[str, Any]:
    from coset.benchmark.systems import figures_of

    return {
        "questions": now,
        "changes": dataclasses.asdict(changes) if changes is not None else None,
        "figures": figures_of(system),
    }


def _show(system: System, now: dict[str, bool], changes: Change | None) -> None:
    reasons = {attempt.question: attempt.reason for attempt in system.attempts if not attempt.passed}
    for name, holds in now.items():
        why = "" if holds else f": {cell(reasons.get(name, ''), 300)}"
        click.echo(f"{'holds ' if holds else 'FAILS '} {cell(name, 100)}{why}")
    click.echo(f"{sum(now.values())} of {len(now)} questions hold")
    if changes is None:
        return
    for title, names in (
        ("lost", changes.lost), ("won", changes.won), ("new", changes.new), ("no longer asked", changes.gone),
    ):  # fmt: skip
        for name in names:
            click.echo(f"{title}: {cell(name, 100)}")
