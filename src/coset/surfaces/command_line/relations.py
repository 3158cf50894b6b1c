"""`coset relations`: the joins that were found."""

from __future__ import annotations

import click

from coset.surfaces.command_line.output import cell, console, environment_option, json_option, print_json


@click.command(name="relations")
@click.argument("reference", required=False)
@click.option("--least", type=click.FloatRange(0, 1), default=0.0, help="Only those of at least this confidence.")
@environment_option
@json_option
def command(reference: str | None, least: float, environment_path: str | None, as_json: bool) -> None:
    """List the joins that were found: their expressions as tested, the share of rows that match on each side, and what
    stands in the way. With a REFERENCE (source, source/table), only those that touch it."""
    from coset.environment.configuration import load_environment
    from coset.evidence.joins import joins_of
    from coset.state import EvidenceState

    environment = load_environment(environment_path)
    with EvidenceState.read(environment.state_folder) as state:
        rows = joins_of(state, reference, least)
    if as_json:
        print_json({"relations": rows})
        return
    from rich.markup import escape
    from rich.table import Table as Grid

    grid = Grid(box=None, pad_edge=False, header_style="bold")
    for title in ("from", "to", "how", "matched", "", "sure"):
        grid.add_column(title, overflow="fold")
    for row in rows:
        grid.add_row(
            escape(cell(", ".join(row["left_columns"]), 400)), escape(cell(", ".join(row["right_columns"]), 400)),
            row["kind"], f"{row['left_match']:.0%} / {row['right_match']:.0%}", row["cardinality"],
            f"{row['confidence']:.2f}",
        )  # fmt: skip
    console().print(grid)
    if reference:
        for row in rows:
            click.echo(f"{cell(row['left_expression'], 300)} = {cell(row['right_expression'], 300)}")
            for reason in row["reasons"]:
                click.echo(f"  {cell(reason, 300)}")
