"""`coset identities`: the roles that this environment realises."""

from __future__ import annotations

import click

from coset.surfaces.command_line.output import cell, console, environment_option, json_option, print_json


@click.command(name="identities")
@click.argument("role", required=False)
@click.option("--all", "whole_inventory", is_flag=True, help="List the inventory itself, with the meaning of each id.")
@click.option("--limit", type=click.IntRange(1), default=40, show_default=True, help="The most roles to list.")
@environment_option
@json_option
def command(role: str | None, whole_inventory: bool, limit: int, environment_path: str | None, as_json: bool) -> None:
    """List the roles that columns of this environment play, those that span several sources first: each with its
    fiber (the columns assigned to it) and its strongest competitors. With a ROLE such as customer.identifier, its
    whole fiber."""
    from coset.environment.configuration import load_environment
    from coset.errors import UserError
    from coset.identities.explain import realised_identities
    from coset.identities.inventory import COORDINATES, load_inventory
    from coset.identities.store import IdentityStore
    from coset.state import EvidenceState

    environment = load_environment(environment_path)
    inventory = load_inventory(environment.identities_file)
    if whole_inventory:
        listed = [
            {"coordinate": coordinate, "id": one.id, "name": one.name, "meaning": one.meaning, "own": one.own}
            for coordinate in COORDINATES
            for one in inventory.of(coordinate)
        ]
        if as_json:
            print_json({"inventory": listed})
        else:
            for item in listed:
                click.echo(f"{item['coordinate']:9}  {item['id']:16}  {cell(item['meaning'], 110)}")
        return
    with EvidenceState.read(environment.state_folder) as state:
        IdentityStore(state).require()
        found = realised_identities(state, inventory)
    if role is not None:
        wanted = inventory.role(role)
        names = {c: inventory.of(c)[position].id for c, position in wanted.items()}
        found = [
            row for row in found
            if row["role"].split(".")[0] == names.get("entity", row["role"].split(".")[0])
            and row["role"].split(".")[1] == names.get("attribute", row["role"].split(".")[1])
        ]  # fmt: skip
        if not found:
            raise UserError(f"no column of this environment plays '{role}'")
    shown = found if role else found[:limit]
    if as_json:
        print_json({"identities": shown, "left_out": len(found) - len(shown)})
        return
    from rich.markup import escape
    from rich.table import Table as Grid

    grid = Grid(box=None, pad_edge=False, header_style="bold")
    for title in ("role", "columns", "sources", "membership", "fiber", "competitors"):
        grid.add_column(title, overflow="fold")
    for row in shown:
        fiber = row["fiber"] if role else row["fiber"][:3]
        more = f" and {len(row['fiber']) - len(fiber)} more" if len(row["fiber"]) > len(fiber) else ""
        grid.add_row(
            row["role"], str(row["objects"]), str(row["sources"]), f"{row['membership']:.2f}",
            escape(cell(", ".join(fiber), 2000 if role else 160)) + more,
            f"{row['entity_competitor']}, {row['attribute_competitor']}",
        )  # fmt: skip
    console().print(grid)
    if len(found) > len(shown):
        click.echo(f"{len(found) - len(shown)} more roles: --limit, or --json")
