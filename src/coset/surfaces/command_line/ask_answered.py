"""An answer as a person or a program reads it: what `coset ask` and `coset run --resume` print.

In: what gives the answer and the number of its run. Out: the answer alone on standard output, all that it stands on
beside it on standard error, or one JSON document. Exit code 1 when the run stopped without an answer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from coset.surfaces.command_line.output import cell, json_value, print_json, show_rows, waiting

if TYPE_CHECKING:
    from coset.answering.answer import Answer


def show_answered(answered: Callable[[], tuple[Answer, int]], *, interactive: bool, as_json: bool, quiet: bool) -> None:
    from coset.answering.run_store import answer_data

    # A person who is asked back must not have a spinner over the question.
    if interactive:
        answer, number = answered()
    else:
        with waiting("answering"):
            answer, number = answered()
    if as_json:
        print_json({**json_value(answer_data(answer)), "run": number})
    else:
        _show(answer, number, quiet)
    if answer.stopped:
        raise click.exceptions.Exit(1)


def ask_user(question: str, choices: tuple[str, ...]) -> str:
    click.echo(cell(question, 1_000), err=True)
    for number, choice in enumerate(choices, start=1):
        click.echo(f"  {number}. {cell(choice, 400)}", err=True)
    said = str(click.prompt("a number, or in your own words" if choices else "you", err=True)).strip()
    return choices[int(said) - 1] if said.isdecimal() and 1 <= int(said) <= len(choices) else said


def _show(answer: Answer, number: int, quiet: bool) -> None:
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
    for check in answer.checks:
        if check.outcome in {"failed", "doubt"}:
            click.echo(f"{check.outcome}: {cell(check.name, 40)}: {cell(check.detail, 600)}", err=True)
    for statement in answer.sql:
        click.echo("\n" + "\n".join(cell(line, 4_000) for line in statement.splitlines()), err=True)
    price = f", ${answer.cost:.4f}" if answer.cost is not None else ""
    calls = f"{len(answer.steps)} {'request' if len(answer.steps) == 1 else 'requests'}"
    click.echo(
        f"\nconfidence {answer.confidence:.2f}, {calls}, {answer.tokens:,} tokens{price}; run {number}", err=True
    )
