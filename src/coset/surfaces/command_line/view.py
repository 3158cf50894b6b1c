"""`coset view`: what a question gets to see of the environment."""

from __future__ import annotations

import click

from coset.routing.views.budgets import DETAILS
from coset.surfaces.command_line.output import environment_option, json_option, opened, print_json, waiting


@click.command(name="view")
@click.argument("question")
@click.option(
    "--budget", type=click.IntRange(min=1), default=DETAILS, show_default=True,
    help="The most tokens that the details may cost; documents and directory come before them.",
)  # fmt: skip
@click.option("--no-directory", is_flag=True, help="The details alone, for small models.")
@click.option(
    "--open", "names", metavar="TABLE", multiple=True,
    help="Also the details of a table of the directory; may be given several times.",
)  # fmt: skip
@click.option("--explain", is_flag=True, help="Also print requirements, demand, anchors, scores, and what fell out.")
@environment_option
@json_option
def command(
    question: str,
    budget: int,
    no_directory: bool,
    names: tuple[str, ...],
    explain: bool,
    environment_path: str | None,
    as_json: bool,
) -> None:
    """Print the evidence view of a QUESTION: the tables, columns, joins and values that answer it, within a budget.

    No language model is asked. The SQL in the view runs in `coset sql` as written. What was left out is counted, and
    `coset recover` gets it back.
    """
    from coset.use_cases.results import View

    with waiting("reading the evidence state"), opened(environment_path) as environment:
        explanation = environment.explain(question, budget, directory=not no_directory) if explain else None
        view = View(explanation.view) if explanation else environment.view(question, budget, directory=not no_directory)
        more = environment.open_tables(names, beside=view) if names else None
    if as_json:
        values = explanation.values() if explanation else view.values()
        print_json({**values, "opened": more.values()} if more else values)
        return
    click.echo(view.text, nl=False)
    if more:
        click.echo(f"OPENED\n{more.details}", nl=False)
    if explanation:
        click.echo(f"\n{explanation.text}", nl=False)
