"""`coset view`: what a question gets to see of the environment."""

from __future__ import annotations

import click

from coset.routing.budgets import DETAILS
from coset.surfaces.command_line.output import environment_option, json_option, print_json, waiting


@click.command(name="view")
@click.argument("question")
@click.option(
    "--budget", type=click.IntRange(min=1), default=DETAILS, show_default=True,
    help="The most tokens that the details may cost; documents and directory come before them.",
)  # fmt: skip
@click.option("--no-directory", is_flag=True, help="The details alone, for small models.")
@click.option(
    "--open", "references", metavar="REFERENCE", multiple=True,
    help="Also the details of a table of the directory; may be given several times.",
)  # fmt: skip
@click.option("--explain", is_flag=True, help="Also print requirements, demand, anchors, scores, and what fell out.")
@environment_option
@json_option
def command(
    question: str,
    budget: int,
    no_directory: bool,
    references: tuple[str, ...],
    explain: bool,
    environment_path: str | None,
    as_json: bool,
) -> None:
    """Print the evidence view of a QUESTION: the tables, columns, joins and values that answer it, within a budget.

    No language model is asked. The SQL in the view runs in `coset sql` as written. What was left out is counted, and
    `coset recover` gets it back.
    """
    from coset.environment.configuration import load_environment
    from coset.routing.router import Router
    from coset.routing.view_json import view_values
    from coset.routing.view_text import details_text, view_text
    from coset.session.query_session import QuerySession

    environment = load_environment(environment_path)
    with waiting("reading the evidence state"), QuerySession(environment) as session:
        router = Router.open(environment, session)
        explanation = router.explain(question, budget, directory=not no_directory) if explain else None
        view = explanation.view if explanation else router.view(question, budget, directory=not no_directory)
        more = router.opened(references, beside=view) if references else None
    if as_json:
        values = explanation.values() if explanation else view_values(view)
        print_json({**values, "opened": view_values(more)} if more else values)
        return
    click.echo(view_text(view), nl=False)
    if more:
        click.echo(f"OPENED\n{details_text(more)}", nl=False)
    if explanation:
        click.echo(f"\n{explanation.text}", nl=False)
