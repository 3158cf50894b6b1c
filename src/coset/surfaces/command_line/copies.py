"""`coset copies`: the tables that are copies of others, and what people say of them."""

from __future__ import annotations

import click

from coset.surfaces.command_line.output import cell, console, environment_option, json_option, print_json


@click.command(name="copies")
@click.argument("table", required=False)
@click.option("--of", "original", metavar="ORIGINAL", help="Say that TABLE is a copy of ORIGINAL.")
@click.option("--kind", help="With --of: backup, staging, archive, year copy, test, superseded, extract, view, ...")
@click.option("--not", "rejected", is_flag=True, help="Say that TABLE is no copy.")
@environment_option
@json_option
def command(
    table: str | None,
    original: str | None,
    kind: str | None,
    rejected: bool,
    environment_path: str | None,
    as_json: bool,
) -> None:
    """List the tables that are copies: of which table, of which kind, and how far they are from it. With a TABLE
    (source/table), only those of which it is the copy or the original. What is said with --of and --not is kept in the
    corrections file, and holds from the next `coset comprehend` on."""
    from coset.environment.configuration import load_environment
    from coset.state import EvidenceState

    environment = load_environment(environment_path)
    if original is not None or rejected:
        _say(environment, table, original, kind, rejected)
        return
    with EvidenceState.read(environment.state_folder) as state:
        copies = [each for each in state.copies() if table is None or table in (each.table, each.original)]
    if as_json:
        print_json(
            {
                "copies": [
                    {
                        "table": each.table, "original": each.original, "kind": each.kind,
                        "confidence": each.confidence, "drift": each.drift, "reasons": list(each.reasons),
                    }
                    for each in copies
                ]
            }
        )  # fmt: skip
        return
    from rich.markup import escape
    from rich.table import Table as Grid

    grid = Grid(box=None, pad_edge=False, header_style="bold")
    for title in ("table", "is a", "of", "how far from it", "sure"):
        grid.add_column(title, overflow="fold")
    for each in copies:
        grid.add_row(
            escape(cell(each.table, 200)), each.kind, escape(cell(each.original or "", 200)),
            escape(cell(each.drift, 300)), f"{each.confidence:.2f}",
        )  # fmt: skip
    console().print(grid)
    if table:
        for each in copies:
            for reason in each.reasons:
                click.echo(f"{cell(each.table, 200)}: {cell(reason, 300)}")


def _say(environment: object, table: str | None, original: str | None, kind: str | None, rejected: bool) -> None:
    from coset.environment.configuration import Environment
    from coset.environment.copy_names import COPY_KINDS
    from coset.environment.corrections import Copy, add_corrections, load_corrections
    from coset.errors import UserError

    if not isinstance(environment, Environment) or table is None or (rejected and original is not None):
        raise UserError("say which table: coset copies TABLE --of ORIGINAL, or coset copies TABLE --not")
    if kind is not None and kind not in COPY_KINDS:
        raise UserError(f"{kind!r} is no kind of copy: it is one of {', '.join(COPY_KINDS)}")
    said = [each for each in load_corrections(environment).copies if each.table == table]
    new = Copy(table=table, original=original, kind=kind, rejected=rejected)
    add_corrections(environment, [new], instead_of=said)
    click.echo(f"{table} is {'no copy' if rejected else f'a copy of {original}'}: kept in the corrections file")
