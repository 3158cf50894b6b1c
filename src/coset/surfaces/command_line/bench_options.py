"""What `coset bench dab` and `coset bench questions` share: options of the model, progress, the closing table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from coset.surfaces.command_line.output import cell, console

if TYPE_CHECKING:
    from coset.answering.ask import AskOptions
    from coset.benchmark.attempts import Attempt
    from coset.benchmark.runner import Standing
    from coset.benchmark.systems import System

Function = TypeVar("Function", bound=Callable[..., Any])

_OPTIONS = (
    click.option("--model", metavar="MODEL", help="The model: anthropic:NAME, openai:NAME, google:NAME, or URL#NAME."),
    click.option("--arbiter-model", metavar="MODEL", help="Another model for the arbiter. [default: as --model]"),
    click.option("--text-model", metavar="MODEL", help="Another model to read texts with. [default: as --model]"),
    click.option("--budget", type=click.IntRange(100), help="Tokens of evidence. [default: as in coset ask]"),
    click.option("--steps", type=click.IntRange(1), default=12, show_default=True, help="The most steps of one."),
    click.option("--max-tokens", type=click.IntRange(1), default=200_000, show_default=True,
                 help="The most tokens of an attempt."),
    click.option("--timeout", type=click.FloatRange(0.1), default=180.0, show_default=True,
                 help="Seconds a model has for one reply."),
    click.option("--attempt-timeout", type=click.FloatRange(1), default=1800.0, show_default=True,
                 help="Seconds an attempt may take in all."),
    click.option("--verify", type=click.Choice(["none", "auto", "full"]), default="auto", show_default=True,
                 help="Check answers by counting, as coset ask does."),
    click.option("--jobs", type=click.IntRange(1), default=1, show_default=True, help="Attempts at the same time."),
)  # fmt: skip


def asking_options(function: Function) -> Function:
    """The options that say how a question is asked."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def ask_options(given: dict[str, Any]) -> AskOptions:
    from coset.answering.ask import AskOptions
    from coset.answering.model_client import Limits

    return AskOptions(
        model=given["model"],
        arbiter_model=given["arbiter_model"],
        text_model=given["text_model"],
        budget=given["budget"],
        limits=Limits(given["steps"], given["max_tokens"], None, given["timeout"]),
        verify=given["verify"],
    )


def show_progress() -> Callable[[Attempt, Standing], None]:
    """One line on standard error after each attempt."""

    def show(attempt: Attempt, standing: Standing) -> None:
        used = f"{attempt.tokens:,} tokens, {attempt.seconds:.1f} s"
        price = f", ${attempt.cost:.4f}" if attempt.cost is not None else ""
        so_far = f"${standing.cost:.2f} so far" if standing.cost is not None else "cost unknown"
        why = f" ({cell(attempt.error, 160)})" if attempt.error and not attempt.passed else ""
        leak = " LEAK" if attempt.leaks else ""
        click.echo(
            f"[{standing.done}/{standing.total}] {standing.mode} {cell(attempt.dataset)} {cell(attempt.question, 60)} "
            f"trial {attempt.trial}: {attempt.verdict}{why}{leak}; {used}{price}; "
            f"{standing.passed} of {standing.done} passed, {so_far}",
            err=True,
        )

    return show


def show_systems(systems: Sequence[System]) -> None:
    """The figures as a table: one line for each figure, so that it fits a terminal."""
    from rich.markup import escape
    from rich.table import Table as Grid

    from coset.benchmark.report.tables import quality, usage

    tables = (quality(systems), usage(systems))
    grid = Grid(box=None, pad_edge=False, header_style="bold")
    grid.add_column("")
    for system in systems:
        grid.add_column(escape(cell(system.name)), justify="right", overflow="fold")
    for number, table in enumerate(tables):
        if number:
            grid.add_row(table.head[0])
        for place, title in enumerate(table.head[1:], start=1):
            grid.add_row(("  " if number else "") + title, *(escape(cell(row[place])) for row in table.rows))
    console().print(grid)
