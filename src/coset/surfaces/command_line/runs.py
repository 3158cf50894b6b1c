"""`coset runs`: the questions that were asked, newest first."""

from __future__ import annotations

import click

from coset.errors import UserError
from coset.surfaces.command_line.output import (
    csv_option,
    environment_option,
    json_option,
    opened,
    print_json,
    show_list,
)


@click.command(name="runs")
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True, help="How many of the newest to list.")
@csv_option
@environment_option
@json_option
def command(limit: int, as_csv: bool, environment_path: str | None, as_json: bool) -> None:
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
                "" if each.seconds is None else f"{each.seconds:.1f}", each.question, each.answer,
            )
        )  # fmt: skip
    show_list(
        ("run", "asked", "mode", "status", "steps", "tokens", "cost", "seconds", "question", "answer"), rows,
        right=("run", "steps", "tokens", "cost", "seconds"), as_csv=as_csv,
    )  # fmt: skip
