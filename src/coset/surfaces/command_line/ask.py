"""`coset ask`: a question in words, answered with the queries behind it.

The answer alone goes to standard output, all that it stands on to standard error; or one JSON document. Exit code 1
when there is no answer.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

import click

from coset.errors import UserError
from coset.surfaces.command_line.output import (
    cell,
    environment_option,
    json_option,
    opened,
    print_json,
    show_rows,
    waiting,
)

if TYPE_CHECKING:
    from coset.use_cases.results import Answer


TABLES = 6


@click.command(name="ask")
@click.argument("question", required=False)
@click.option(
    "--model", metavar="MODEL", help="The model: anthropic:NAME, openai:NAME, google:NAME, ollama:NAME, or URL#NAME."
)
@click.option("--arbiter-model", metavar="MODEL", help="Another model for the arbiter. [default: as --model]")
@click.option("--text-model", metavar="MODEL", help="Another model to read texts with. [default: as --model]")
@click.option("--core", is_flag=True, help="Without roles, routing and records: the plain schema, for comparison.")
@click.option("--quick", is_flag=True, help="Let the offline reasoner answer what it is sure of, without a model.")
@click.option("--interactive", is_flag=True, help="Ask back when the question can be read in several ways.")
@click.option("--budget", type=click.IntRange(100), help="Tokens of details. [default: as of view; 8000 with --core]")
@click.option("--steps", type=click.IntRange(1), default=12, show_default=True, help="The most steps of the agent.")
@click.option(
    "--max-tokens",
    type=click.IntRange(1),
    default=200_000,
    show_default=True,
    help="The most tokens for a question.",
)
@click.option("--max-cost", type=click.FloatRange(0, min_open=True), metavar="DOLLARS", help="The most this may cost.")
@click.option(
    "--timeout", type=click.FloatRange(0.1), default=180.0, show_default=True, help="Seconds a model has for one reply."
)
@click.option(
    "--verify",
    type=click.Choice(["none", "auto", "full"]),
    default="auto",
    show_default=True,
    help="Check the answer by counting, and compute it a second time: never, when in doubt, always.",
)
@click.option("--resume", "run", type=click.IntRange(1), metavar="RUN", help="Go on with a run that was not answered.")
@click.option("-q", "--quiet", is_flag=True, help="Print the answer alone.")
@environment_option
@json_option
def command(
    question: str | None,
    model: str | None,
    arbiter_model: str | None,
    text_model: str | None,
    core: bool,
    quick: bool,
    interactive: bool,
    budget: int | None,
    steps: int,
    max_tokens: int,
    max_cost: float | None,
    timeout: float,
    verify: Literal["none", "auto", "full"],
    run: int | None,
    quiet: bool,
    environment_path: str | None,
    as_json: bool,
) -> None:
    """Answer QUESTION over all sources, with the queries behind the answer.

    A model decides what the question means in terms of your data, computes it with read-only SQL, and checks it. Its
    key comes from the environment (ANTHROPIC_API_KEY, OPENAI_API_KEY, GOOGLE_API_KEY; COSET_MODEL_KEY for an address).
    The model may also be set in coset.yaml (models:) or as COSET_MODEL. Every run is kept: see coset runs. Where no
    model is set, a small built-in reasoner answers what it is sure of, and otherwise says why it does not.

    Exit code 1 when it stopped without an answer: at a limit, or because the model failed.
    """
    from coset.answering.ask import AskOptions
    from coset.answering.models.client import Limits
    from coset.use_cases.ask import ask, resume

    if (question is None) == (run is None):
        raise UserError("give one question, or the run to go on with: --resume RUN")
    if interactive and not sys.stdin.isatty():
        raise UserError("--interactive needs a terminal to ask at: leave it out")
    options = AskOptions(
        model=model,
        arbiter_model=arbiter_model,
        text_model=text_model,
        core=core,
        budget=budget,
        limits=Limits(steps, max_tokens, max_cost, timeout),
        ask_user=ask_user if interactive else None,
        verify=verify,
    )
    with opened(environment_path) as environment:
        workspace = environment.workspace

        def answered() -> Answer:
            if run is not None:
                return resume(workspace, run, options)
            return ask(workspace, question or "", options, reasoner="quick" if quick and not core else None)

        show_answer(answered, interactive=interactive, as_json=as_json, quiet=quiet)


def show_answer(answered: Callable[[], Answer], *, interactive: bool, as_json: bool, quiet: bool) -> None:
    """What `coset ask` and `coset run --resume` print."""
    # A person who is asked back must not have a spinner over the question.
    if interactive:
        answer = answered()
    else:
        with waiting("answering"):
            answer = answered()
    if as_json:
        view = {"view": answer.view.text} if answer.is_declined and answer.view else {}
        print_json({**answer.values(), **view})
    elif answer.is_declined:
        _show_declined(answer)
    else:
        _show(answer, quiet)
    if answer.stopped:
        raise click.exceptions.Exit(1)


def ask_user(question: str, choices: tuple[str, ...]) -> str:
    click.echo(cell(question, 1_000), err=True)
    for number, choice in enumerate(choices, start=1):
        click.echo(f"  {number}. {cell(choice, 400)}", err=True)
    said = str(click.prompt("a number, or in your own words" if choices else "you", err=True)).strip()
    return choices[int(said) - 1] if said.isdecimal() and 1 <= int(said) <= len(choices) else said


def _show_declined(answer: Answer) -> None:
    """Why there is no answer, what the question touches, and how to go on."""
    from coset.answering.models.choices import HOW_TO_SET

    click.echo(f"not sure: {cell(answer.stopped, 600)}", err=True)
    if answer.view is not None and answer.view.tables:
        shown = ", ".join(answer.view.tables[:TABLES]) + (", ..." if len(answer.view.tables) > TABLES else "")
        click.echo(f"it touches {cell(shown, 400)}; to see the evidence: coset view {shlex.quote(answer.question)}",
                   err=True)  # fmt: skip
    click.echo(HOW_TO_SET, err=True)


def _show(answer: Answer, quiet: bool) -> None:
    if answer.stopped:
        click.echo(f"no answer: {cell(answer.stopped, 400)}", err=True)
        if answer.rows:
            click.echo("the last result it had:", err=True)
    elif answer.text:
        for line in answer.text.splitlines():
            click.echo(cell(line, 4_000))
    elif not answer.rows:
        click.echo("no rows: the statement ran and found nothing")
    if answer.rows and (answer.stopped or not answer.text):
        show_rows(answer.columns, answer.rows, answer.truncated)
    if quiet:
        return
    for title, lines in (("assumed", answer.assumptions), ("other readings", answer.readings)):
        for line in lines:
            click.echo(f"{title}: {cell(line, 600)}", err=True)
    if answer.reading:
        _show_reading(answer)
    for check in answer.checks:
        if check.outcome in {"failed", "doubt"}:
            click.echo(f"{check.outcome}: {cell(check.name, 40)}: {cell(check.detail, 600)}", err=True)
    for statement in answer.sql:
        click.echo("\n" + "\n".join(cell(line, 4_000) for line in statement.splitlines()), err=True)
    click.echo(f"\n{_in_short(answer)}; run {answer.run}", err=True)


def _show_reading(answer: Answer) -> None:
    """How the question was read without a model, and what was done."""
    click.echo("\nread as", err=True)
    for line in answer.reading:
        click.echo(f"  {cell(line, 400)}", err=True)
    click.echo("then", err=True)
    for number, line in enumerate(answer.plan, start=1):
        click.echo(f"  {number}. {cell(line, 400)}", err=True)


def _in_short(answer: Answer) -> str:
    if answer.mode == "offline":
        passed = sum(check.outcome == "passed" for check in answer.checks)
        why = f" ({'; '.join(answer.doubts)})" if answer.doubts else ""
        return f"without a model, {passed} checks passed, sure to {answer.confidence:.0%}{why}"
    price = f", ${answer.cost:.4f}" if answer.cost is not None else ""
    requests = f"{len(answer.steps)} {'request' if len(answer.steps) == 1 else 'requests'}"
    return f"confidence {answer.confidence:.2f}, {requests}, {answer.tokens:,} tokens{price}"
