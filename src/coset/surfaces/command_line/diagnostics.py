"""`coset diagnostics`: the dirt that was seen."""

from __future__ import annotations

import click

from coset.surfaces.command_line.output import (
    cell,
    csv_option,
    environment_option,
    json_option,
    opened,
    print_json,
    show_list,
)


@click.command(name="diagnostics")
@click.argument("name", required=False)
@click.option("--kind", help="Only diagnostics of this kind, such as null_tokens.")
@csv_option
@environment_option
@json_option
def command(name: str | None, kind: str | None, as_csv: bool, environment_path: str | None, as_json: bool) -> None:
    """List the dirt that was seen and changes answers: null tokens, mixed date formats, stray characters, rows that are
    one entity. With the NAME of a source, table or column, only what lies there."""
    with opened(environment_path) as environment:
        rows = environment.diagnostics(name, kind=kind)
    if as_json:
        print_json({"diagnostics": rows})
        return
    listed = []
    for row in rows:
        error = f" ± {row['share_error']:.1%}" if row["share_error"] else ""
        listed.append((row["reference"], row["kind"], f"{row['share']:.1%}{error}", row["detail"]))
    show_list(("where", "what", "share", "detail"), listed, as_csv=as_csv)
    if name and not as_csv:
        for row in rows:
            if row["expression"]:
                click.echo(f"{cell(row['reference'], 400)} {row['kind']}: {cell(row['expression'], 1000)}")
