"""`coset identities`: the roles that this environment realises."""

from __future__ import annotations

import click

from coset.surfaces.command_line.output import cell, console, environment_option, json_option, opened, print_json


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
    from coset.identities.inventory import COORDINATES, load_inventory
    from coset.use_cases.evidence import realised

    with opened(environment_path) as environment:
        inventory = load_inventory(environment.configuration.identities_file)
        found = [] if whole_inventory else realised(environment.workspace, role)
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
