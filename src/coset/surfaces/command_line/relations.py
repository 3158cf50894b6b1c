"""`coset relations`: the joins that were found."""

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


@click.command(name="relations")
@click.argument("name", required=False)
@click.option("--least", type=click.FloatRange(0, 1), default=0.0, help="Only those of at least this confidence.")
@csv_option
@environment_option
@json_option
def command(name: str | None, least: float, as_csv: bool, environment_path: str | None, as_json: bool) -> None:
    """List the joins that were found: their expressions as tested, the share of rows that match on each side, and what
    stands in the way. With the NAME of a source, table or column, only those that touch it."""
    from coset.use_cases.evidence import joins

    with opened(environment_path) as environment:
        rows = joins(environment.workspace, name, least)
    if as_json:
        print_json({"relations": rows})
        return
    show_list(
        ("from", "to", "how", "matched", "", "sure"),
        [
            (
                ", ".join(row["left_columns"]), ", ".join(row["right_columns"]), row["kind"],
                f"{row['left_match']:.0%} / {row['right_match']:.0%}", row["cardinality"], f"{row['confidence']:.2f}",
            )
            for row in rows
        ],
        as_csv=as_csv,
    )  # fmt: skip
    if name and not as_csv:
        for row in rows:
            click.echo(f"{cell(row['left_expression'], 300)} = {cell(row['right_expression'], 300)}")
            for reason in row["reasons"]:
                click.echo(f"  {cell(reason, 300)}")
