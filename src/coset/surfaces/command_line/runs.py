"""`coset runs`: the questions that were asked, newest first."""

from __future__ import annotations

from dataclasses import asdict

import click

from coset.surfaces.command_line.output import cell, console, environment_option, json_option, print_json


@click.command(name="runs")
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True, help="How many of the newest to list.")
@environment_option
@json_option
def command(limit: int, environment_path: str | None, as_json: bool) -> None:
    """List the questions that were asked, the newest first, with how each ended and what it cost.

    `coset run N` shows one of them whole.
    """
    from coset.answering.audit.runs import Runs
    from coset.environment.configuration import load_environment

    environment = load_environment(environment_path)
    summaries = Runs(environment.state_folder).summaries(limit)
    if as_json:
        print_json({"runs": [asdict(summary) for summary in summaries]})
        return
    from rich.markup import escape
    from rich.table import Table as Grid

    grid = Grid(box=None, pad_edge=False, header_style="bold")
    for title, justify in (
        ("run", "right"), ("asked", "left"), ("mode", "left"), ("status", "left"), ("steps", "right"),
        ("tokens", "right"), ("cost", "right"), ("seconds", "right"), ("question", "left"), ("answer", "left"),
    ):  # fmt: skip
        grid.add_column(title, justify=justify, overflow="fold")  # type: ignore[arg-type]
    for each in summaries:
        doubts = f", {each.doubts} in doubt" if each.doubts else ""
        grid.add_row(
            str(each.number), each.started_at[:16].replace("T", " "), each.mode, each.status + doubts, str(each.steps),
            f"{each.input_tokens + each.output_tokens:,}", "" if each.cost is None else f"${each.cost:.4f}",
            "" if each.seconds is None else f"{each.seconds:.1f}", escape(cell(each.question, 200)),
            "" if each.answer is None else escape(cell(each.answer, 120)),
        )  # fmt: skip
    console().print(grid)
