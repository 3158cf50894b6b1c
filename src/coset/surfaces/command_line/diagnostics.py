"""`coset diagnostics`: the dirt that was seen."""

from __future__ import annotations

import click

from coset.surfaces.command_line.output import cell, console, environment_option, json_option, print_json


@click.command(name="diagnostics")
@click.argument("reference", required=False)
@click.option("--kind", help="Only diagnostics of this kind, such as null_tokens.")
@environment_option
@json_option
def command(reference: str | None, kind: str | None, environment_path: str | None, as_json: bool) -> None:
    """List the dirt that was seen and changes answers: null tokens, mixed date formats, stray characters, rows that are
    one entity. With a REFERENCE (source, source/table), only what lies there."""
    from coset.environment.configuration import load_environment
    from coset.evidence.dirt import dirt_of
    from coset.state import EvidenceState

    environment = load_environment(environment_path)
    with EvidenceState.read(environment.state_folder) as state:
        rows = dirt_of(state, reference, kind)
    if as_json:
        print_json({"diagnostics": rows})
        return
    from rich.markup import escape
    from rich.table import Table as Grid

    grid = Grid(box=None, pad_edge=False, header_style="bold")
    for title in ("where", "what", "share", "detail"):
        grid.add_column(title, overflow="fold")
    for row in rows:
        error = f" ± {row['share_error']:.1%}" if row["share_error"] else ""
        grid.add_row(
            escape(cell(row["reference"], 400)),
            row["kind"],
            f"{row['share']:.1%}{error}",
            escape(cell(row["detail"], 300)),
        )
    console().print(grid)
    if reference:
        for row in rows:
            if row["expression"]:
                click.echo(f"{cell(row['reference'], 400)} {row['kind']}: {cell(row['expression'], 1000)}")
