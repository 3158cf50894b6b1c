"""`coset copies`: the tables that are copies of others, and what people say of them."""

from __future__ import annotations

from dataclasses import asdict

import click

from coset.errors import UserError
from coset.surfaces.command_line.output import (
    cell,
    csv_option,
    environment_option,
    json_option,
    opened,
    print_json,
    show_list,
)


@click.command(name="copies")
@click.argument("table", required=False)
@click.option("--of", "original", metavar="ORIGINAL", help="Say that TABLE is a copy of ORIGINAL.")
@click.option("--kind", help="With --of: backup, staging, archive, year copy, test, superseded, extract, view, ...")
@click.option("--not", "rejected", is_flag=True, help="Say that TABLE is no copy.")
@csv_option
@environment_option
@json_option
def command(
    table: str | None,
    original: str | None,
    kind: str | None,
    rejected: bool,
    as_csv: bool,
    environment_path: str | None,
    as_json: bool,
) -> None:
    """List the tables that are copies: of which table, of which kind, and how far they are from it. With a TABLE, only
    those of which it is the copy or the original. What is said with --of and --not is kept in the corrections file, and
    holds from the next `coset comprehend` on."""
    from coset.use_cases.relations import copies, declare_copy

    with opened(environment_path) as environment:
        if original is not None or rejected:
            if table is None or (rejected and original is not None):
                raise UserError("say which table: coset copies TABLE --of ORIGINAL, or coset copies TABLE --not")
            said = declare_copy(environment.workspace, table, original, kind, rejected=rejected)
            click.echo(f"kept: {said.table} is {'no copy' if rejected else f'a copy of {said.original}'}")
            return
        found = copies(environment.workspace, table)
    if as_json:
        print_json({"copies": [asdict(each) for each in found]})
        return
    show_list(
        ("table", "is a", "of", "how far from it", "sure"),
        [(each.table, each.kind, each.original or "", each.drift, f"{each.confidence:.2f}") for each in found],
        as_csv=as_csv,
    )
    if table and not as_csv:
        for each in found:
            for reason in each.reasons:
                click.echo(f"{cell(each.table, 200)}: {cell(reason, 300)}")
