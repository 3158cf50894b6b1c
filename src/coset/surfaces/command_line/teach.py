"""`coset teach`: what a person says an object is, or is not."""

from __future__ import annotations

import click

from coset.errors import UserError
from coset.surfaces.command_line.output import environment_option, json_option, opened, print_json


@click.command(name="teach")
@click.argument("name", required=False)
@click.argument("role", required=False)
@click.option("--not", "negative", is_flag=True, help="The object is not this.")
@click.option("--list", "list_them", is_flag=True, help="List what was taught.")
@click.option("--revoke", type=int, metavar="NUMBER", help="Take one statement back.")
@environment_option
@json_option
def command(
    name: str | None,
    role: str | None,
    negative: bool,
    list_them: bool,
    revoke: int | None,
    environment_path: str | None,
    as_json: bool,
) -> None:
    """Say which role a table or column plays: its NAME as a view or `coset show` prints it, and ROLE such as
    customer.identifier, `customer.` (the entity alone) or `.identifier` (the attribute alone).

    What you teach wins over what was inferred, moves look-alikes too, and is never lost on refresh.

    \b
    coset teach crm/orders.buyer customer.identifier
    coset teach crm/orders.buyer --not .name
    """
    with opened(environment_path) as environment:
        teaching = None
        if revoke is not None:
            teaching = environment.revoke(revoke)
        elif not list_them:
            if not name or not role:
                raise UserError("give a NAME and a ROLE, --list, or --revoke NUMBER")
            teaching = environment.teach(name, role, negative=negative)
        statements = environment.taught()
    if as_json:
        print_json({"statements": statements, "changes": teaching.changes if teaching else ()})
        return
    if teaching is None:
        for said in statements:
            click.echo(f"{said.number}  {said.reference} {'is' if said.supports else 'is not'} {said.identity}")
        return
    click.echo("taken back" if revoke is not None else "taught")
    for change in teaching.changes:
        click.echo(f"{change.reference}: {change.before} -> {change.after}")
