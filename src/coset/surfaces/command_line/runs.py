"""`coset runs` and `coset run N`: the questions that were asked, and one of them as a trace, replayed or resumed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from coset.errors import UserError
from coset.surfaces.command_line.asking import show_answer
from coset.surfaces.command_line.output import (
    cell,
    csv_option,
    environment_option,
    json_option,
    opened,
    print_json,
    show_list,
    waiting,
)

if TYPE_CHECKING:
    from coset.api.environment import Environment


@click.command(name="runs")
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True, help="How many of the newest to list.")
@csv_option
@environment_option
@json_option
def runs_command(limit: int, as_csv: bool, environment_path: str | None, as_json: bool) -> None:
    """List the questions that were asked, the newest first, with how each ended and what it cost.

    `coset run N` shows one of them whole.
    """
    with opened(environment_path) as environment:
        summaries = environment.runs(limit)
    if not summaries:
        raise UserError("no question was asked in this environment yet: `coset ask` keeps every run")
    if as_json:
        print_json({"runs": summaries})
        return
    rows = []
    for each in summaries:
        doubts = f", {each.doubts} in doubt" if each.doubts else ""
        rows.append(
            (
                each.number, each.started_at[:16].replace("T", " "), each.mode, each.status + doubts, each.steps,
                f"{each.input_tokens + each.output_tokens:,}", "" if each.cost is None else f"${each.cost:.4f}",
                "" if each.seconds is None else f"{each.seconds:.1f}", each.by or "", each.question, each.answer,
            )
        )  # fmt: skip
    show_list(
        ("run", "asked", "mode", "status", "steps", "tokens", "cost", "seconds", "by", "question", "answer"), rows,
        right=("run", "steps", "tokens", "cost", "seconds"), as_csv=as_csv,
    )  # fmt: skip


@click.command(name="run")
@click.argument("number", type=click.IntRange(1))
@click.option("--replay", "is_replay", is_flag=True, help="Run its statements again, without a model, and compare.")
@click.option("--resume", "is_resumed", is_flag=True, help="Go on with it, if it was not answered.")
@click.option("--confirm", "is_confirmed", is_flag=True, help="Keep that its answer is right, for questions like it.")
@click.option("--model", metavar="MODEL", help="With --resume: the model to go on with. [default: as for coset ask]")
@click.option("--steps", type=click.IntRange(1), help="With --resume: the most steps of the agent. [default: 12]")
@click.option("--whole", is_flag=True, help="Cut no text.")
@environment_option
@json_option
def run_command(
    number: int,
    is_replay: bool,
    is_resumed: bool,
    is_confirmed: bool,
    model: str | None,
    steps: int | None,
    whole: bool,
    environment_path: str | None,
    as_json: bool,
) -> None:
    """Show run NUMBER: the question, the view, the records, every step with what it cost, the answer and its checks.

    With --replay the statements behind the answer run again on today's data, without a model, and each is said to give
    the same, something else, or not to run. The exit code is 0 when the answer still holds, 1 otherwise. With --resume
    a run that was not answered goes on from its last whole step; coset ask --resume does the same with more options.
    With --confirm its question and statement go to the corrections file: similar questions see them, and the next
    comprehension learns joins, filters and formulas from the statement.
    """
    from coset.answering.audit.runs import trace

    if is_replay + is_resumed + is_confirmed + whole > 1:
        raise UserError("--replay, --resume, --confirm and --whole are different things to do with a run: choose one")
    if (model is not None or steps is not None) and not is_resumed:
        raise UserError("--model and --steps belong to --resume: showing and replaying a run need no model")
    with opened(environment_path) as environment:
        if is_resumed:
            _resume(environment, number, model, steps, as_json)
            return
        if is_confirmed:
            entry = environment.confirm(number)
            print_json(entry) if as_json else click.echo(f"kept as right: {cell(entry.question, 400)}")
            return
        if is_replay:
            _replay(environment, number, as_json)
            return
        run = environment.run(number)
    if as_json:
        print_json(run)
        return
    for line in trace(run, whole=whole):
        click.echo(cell(line, 10**9))


def _resume(environment: Environment, number: int, model: str | None, steps: int | None, as_json: bool) -> None:
    from coset.answering.models.client import Limits

    limits = Limits(steps=steps) if steps else Limits()
    show_answer(
        lambda: environment.resume(number, model=model, limits=limits), interactive=False, as_json=as_json, quiet=False
    )


def _replay(environment: Environment, number: int, as_json: bool) -> None:
    with waiting("running its statements"):
        outcome = environment.replay(number)
    if as_json:
        print_json(outcome)
    else:
        said = {
            "same": "the answer still holds",
            "changed": "the data changed under the answer",
            "cannot be run": "the answer cannot be checked",
        }
        click.echo(f"run {number}: {outcome.verdict}: {said[outcome.verdict]}")
        for statement in outcome.statements:
            click.echo(f"\n  {statement.verdict}: {cell(statement.detail, 600)}")
            click.echo(f"  {cell(statement.sql, 2000)}")
    if outcome.verdict != "same":
        raise click.exceptions.Exit(1)
