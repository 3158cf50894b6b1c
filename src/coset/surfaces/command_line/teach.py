"""`coset teach`: what a person says an object is, or is not."""

from __future__ import annotations

import click

from coset.errors import UserError
from coset.surfaces.command_line.output import environment_option, json_option, print_json


@click.command(name="teach")
@click.argument("reference", required=False)
@click.argument("role", required=False)
@click.option("--not", "negative", is_flag=True, help="The object is not this.")
@click.option("--list", "list_them", is_flag=True, help="List what was taught.")
@click.option("--revoke", type=int, metavar="NUMBER", help="Take one statement back.")
@environment_option
@json_option
def command(
    reference: str | None,
    role: str | None,
    negative: bool,
    list_them: bool,
    revoke: int | None,
    environment_path: str | None,
    as_json: bool,
) -> None:
    """Say which role a table or column plays: REFERENCE as `coset show` prints it, and ROLE such as
    customer.identifier, `customer.` (the entity alone) or `.identifier` (the attribute alone).

    What you teach wins over what was inferred, moves look-alikes too, and is never lost on refresh.

    \b
    coset teach crm/orders.buyer customer.identifier
    coset teach crm/orders.buyer --not .name
    """
    from coset.environment.configuration import load_environment
    from coset.identities.comprehension import comprehend_identities
    from coset.identities.model import load_model
    from coset.identities.store import IdentityStore
    from coset.state import EvidenceState

    environment = load_environment(environment_path)
    EvidenceState.read(environment.state_folder).close()  # Says what to do when there is none.
    with EvidenceState.open(environment.state_folder) as state:
        store = IdentityStore(state)
        store.require()
        changes = []
        if revoke is not None:
            store.revoke(revoke)
            changes = list(comprehend_identities(state, load_model(environment.identities_file)).changes)
        elif not list_them:
            if not reference or not role:
                raise UserError("give a REFERENCE and a ROLE, --list, or --revoke NUMBER")
            about = store.resolve_object(reference)
            model = load_model(environment.identities_file)
            wanted = model.inventory.role(role)
            store.teach(
                (about, coordinate, model.inventory.of(coordinate)[position].id, not negative)
                for coordinate, position in wanted.items()
            )
            changes = list(comprehend_identities(state, model).changes)
        statements = store.statements()
    if as_json:
        print_json(
            {
                "statements": statements,
                "changes": [
                    {"reference": c.reference, "coordinate": c.coordinate, "before": c.before, "after": c.after}
                    for c in changes
                ],
            }
        )
        return
    if list_them:
        for row in statements:
            click.echo(f"{row['number']}  {row['reference']} {'is' if row['supports'] else 'is not'} {row['identity']}")
        return
    click.echo("taken back" if revoke is not None else "taught")
    for change in changes:
        click.echo(f"{change.reference}: {change.before} -> {change.after}")
