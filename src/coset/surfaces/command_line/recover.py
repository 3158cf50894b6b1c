"""`coset recover`: evidence that a view left out, by its reference or by words."""

from __future__ import annotations

from dataclasses import asdict

import click

from coset.routing.budgets import RECOVERED
from coset.surfaces.command_line.output import environment_option, json_option, print_json


@click.command(name="recover")
@click.argument("reference", required=False)
@click.option("--search", "words", metavar="WORDS", help="Search names, values and documents instead.")
@click.option(
    "--budget", type=click.IntRange(min=1), default=RECOVERED, show_default=True,
    help="The most tokens that the text may cost.",
)  # fmt: skip
@environment_option
@json_option
def command(reference: str | None, words: str | None, budget: int, environment_path: str | None, as_json: bool) -> None:
    """Print all that is known of one REFERENCE: a source, table, column, path, facet, join or document.

    References are those that a view shows, such as crm/public/orders.buyer_id or relation_0f3a...; short forms such as
    orders.buyer_id work while they are unambiguous.
    """
    from coset.environment.configuration import load_environment
    from coset.errors import UserError
    from coset.routing.objects_of_state import StateObjects
    from coset.routing.recover import recover
    from coset.routing.search import search

    if (reference is None) == (words is None):
        raise UserError("say what to recover: either a REFERENCE or --search WORDS")
    environment = load_environment(environment_path)
    objects = StateObjects(environment.state_folder)
    found = search(objects, words, budget) if words is not None else recover(objects, reference or "", budget)
    if as_json:
        print_json(asdict(found))
        return
    click.echo(found.text, nl=False)
