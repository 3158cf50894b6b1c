"""`coset recover`: evidence that a view left out, by its name or by words."""

from __future__ import annotations

import click

from coset.errors import UserError
from coset.routing.views.budgets import RECOVERED
from coset.surfaces.command_line.output import environment_option, json_option, opened, print_json


@click.command(name="recover")
@click.argument("name", required=False)
@click.option("--search", "words", metavar="WORDS", help="Search names, values and documents instead.")
@click.option(
    "--budget", type=click.IntRange(min=1), default=RECOVERED, show_default=True,
    help="The most tokens that the text may cost.",
)  # fmt: skip
@environment_option
@json_option
def command(name: str | None, words: str | None, budget: int, environment_path: str | None, as_json: bool) -> None:
    """Print all that is known of one NAME: a source, table, column, path, facet, join or document.

    Names are those that a view shows, such as crm.orders.buyer_id, crm/public/orders.buyer_id or relation_0f3a...;
    short forms such as orders.buyer_id work while they are unambiguous.
    """
    if (name is None) == (words is None):
        raise UserError("say what to recover: either a NAME or --search WORDS")
    with opened(environment_path) as environment:
        found = environment.search(words, budget) if words is not None else environment.recover(name or "", budget)
    if as_json:
        print_json(found)
        return
    click.echo(found.text, nl=False)
