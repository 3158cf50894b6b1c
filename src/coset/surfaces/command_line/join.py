"""`coset join`: what a person says of a join."""

from __future__ import annotations

import click

from coset.surfaces.command_line.output import cell, environment_option, json_option, opened, print_json


@click.command(name="join")
@click.argument("left")
@click.argument("right")
@click.option(
    "--as", "expression", metavar="EXPRESSION", help="How they join: an equality in SQL over the two columns."
)
@click.option("--not", "rejected", is_flag=True, help="Say that they do not join; it is never proposed again.")
@environment_option
@json_option
def command(
    left: str, right: str, expression: str | None, rejected: bool, environment_path: str | None, as_json: bool
) -> None:
    """Say that the columns LEFT and RIGHT join, or with --not that they do not. A join is tested, and the share of rows
    that match is shown. It is kept in the corrections file."""
    from coset.use_cases.relations import declare_join

    with opened(environment_path) as environment:
        tested = declare_join(environment.workspace, left, right, expression, rejected=rejected)
    if as_json:
        print_json({"join": tested, "rejected": rejected})
    elif rejected:
        click.echo("kept: they do not join")
    elif tested is None:
        click.echo("kept; it could not be tested here")
    else:
        matched = f"{tested['left_match']:.0%} of its rows, {tested['right_match']:.0%} of those of the other side"
        click.echo(f"kept: {cell(tested['left_expression'], 300)} = {cell(tested['right_expression'], 300)}")
        click.echo(f"a partner is found for {matched}")
