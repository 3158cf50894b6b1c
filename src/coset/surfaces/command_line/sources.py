"""`coset sources`: what the environment holds, and what of it cannot be reached."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import click

from coset.environment.catalogue import Catalogue, SourceListing
from coset.environment.configuration import load_environment
from coset.environment.source import NO_TABLE, Table
from coset.errors import UserError
from coset.evidence.documents.files import FORMATS, find_documents
from coset.surfaces.command_line.output import cell, console, environment_option, json_option, print_json, size, waiting

SHOWN_TABLES = 200


@click.command(name="sources")
@click.argument("names", nargs=-1, metavar="[SOURCE]...")
@click.option("--tables", is_flag=True, help="List the tables of every source, not only of those named.")
@environment_option
@json_option
@click.pass_context
def command(
    context: click.Context, names: tuple[str, ...], tables: bool, environment_path: str | None, as_json: bool
) -> None:
    """List the sources with their tables, rows and sizes, and what is unreachable and why.

    With the name of a SOURCE, its tables and their columns are listed too. Row counts with ~ are the engine's own
    estimates. Exit code 1 when a source is unreachable; the others are listed all the same.
    """
    environment = load_environment(environment_path)
    unknown = [name for name in names if name not in environment.sources]
    if unknown:
        raise UserError(
            f"there is no source {' or '.join(map(repr, unknown))}: there are {', '.join(environment.names)}"
        )
    with waiting("listing the sources"):
        catalogue = Catalogue(environment).list_sources(names or None)
    catalogue.close()
    if as_json:
        print_json(listings_as_json(catalogue))
    else:
        show_listings(catalogue)
        show_documents(catalogue, each=bool(names or tables))
        for listing in catalogue.listings.values():
            if names or tables:
                _show_tables(listing, with_columns=bool(names))
    if any(listing.problem for listing in catalogue.listings.values()):
        context.exit(1)


def listings_as_json(catalogue: Catalogue) -> dict[str, object]:
    """The catalogue in the shape that `--json` prints."""
    return {
        "sources": [
            {
                "name": listing.name,
                "kind": listing.kind,
                "reachable": listing.problem is None,
                "problem": listing.problem,
                "schema_only": listing.schema_only,
                "description": listing.description,
                "skipped": [{"file": file, "reason": reason} for file, reason in listing.skipped],
                "tables": [_table_as_json(table) for table in listing.tables],
            }
            for listing in catalogue.listings.values()
        ],
        "documents": [
            {"reference": each.reference, "source": each.source, "format": each.format, "file": str(each.path)}
            for each in find_documents(catalogue.environment).documents
        ],
    }


def _table_as_json(table: Table) -> dict[str, object]:
    return {
        "name": table.name,
        "schema": table.schema,
        "kind": table.kind,
        "rows": table.rows,
        "rows_exact": table.rows_exact,
        "bytes": table.bytes,
        "comment": table.comment,
        "primary_key": list(table.primary_key),
        "columns": [
            {"name": column.name, "type": column.type, "native_type": column.native_type, "comment": column.comment}
            for column in table.columns
        ],
    }


def show_listings(catalogue: Catalogue) -> None:
    """One line a source; problems and passed-over files below, in full."""
    from rich.markup import escape
    from rich.table import Table as Grid

    grid = Grid(box=None, pad_edge=False, header_style="bold")
    for title, side in (
        ("source", "left"),
        ("kind", "left"),
        ("tables", "right"),
        ("rows", "right"),
        ("size", "right"),
        ("", "left"),
    ):
        grid.add_column(title, justify=side)  # type: ignore[arg-type]
    for listing in catalogue.listings.values():
        if listing.problem:
            grid.add_row(escape(listing.name), listing.kind, "", "", "", "[red]unreachable[/red]")
            continue
        note = "schema only" if listing.schema_only else ""
        grid.add_row(
            escape(listing.name), listing.kind, f"{len(listing.tables):,}", _rows(listing.tables),
            _bytes(listing.tables), note,
        )  # fmt: skip
    out = console()
    out.print(grid)
    for listing in catalogue.listings.values():
        if listing.problem:
            click.echo(f"{listing.name} is unreachable: {cell(listing.problem, 600)}")
        for file, reason in listing.skipped:
            if reason == NO_TABLE and Path(file).suffix.lower() in FORMATS:
                continue  # A document: listed as one.
            click.echo(f"{listing.name}: passed over {cell(file)}: {cell(reason, 300)}")


def show_documents(catalogue: Catalogue, *, each: bool = False) -> None:
    """How many documents each source has, and the environment as a whole; `each`: with their names."""
    found = find_documents(catalogue.environment)
    owners = [name for name in (*catalogue.listings, None) if any(item.source == name for item in found.documents)]
    for owner in owners:
        documents = [item for item in found.documents if item.source == owner]
        formats = ", ".join(
            f"{count} {name}" for name, count in Counter(item.format for item in documents).most_common()
        )
        click.echo(
            f"{owner or 'all sources'}: {len(documents):,} document{'s' if len(documents) > 1 else ''} ({formats})"
        )
        for item in documents if each else ():
            click.echo(f"  {cell(item.reference, 200)}")
    for entry, reason in found.problems:
        click.echo(f"documents: {cell(entry, 200)}: {cell(reason, 300)}")


def _show_tables(listing: SourceListing, *, with_columns: bool) -> None:
    from rich.markup import escape
    from rich.table import Table as Grid

    if not listing.tables:
        return
    grid = Grid(box=None, pad_edge=False, header_style="bold")
    for title, side in (("table", "left"), ("kind", "left"), ("rows", "right"), ("size", "right"), ("columns", "left")):
        grid.add_column(title, justify=side, overflow="fold")  # type: ignore[arg-type]
    for table in listing.tables[:SHOWN_TABLES]:
        columns = f"{len(table.columns)}"
        if with_columns:
            columns = ", ".join(f"{column.name} {column.type}" for column in table.columns)
        grid.add_row(
            escape(cell(f"{listing.name}.{table.qualified_name}")), table.kind, _rows((table,)), size(table.bytes),
            escape(cell(columns, 2000)),
        )  # fmt: skip
    out = console()
    out.print()
    out.print(grid)
    if len(listing.tables) > SHOWN_TABLES:
        left_out = len(listing.tables) - SHOWN_TABLES
        click.echo(f"... and {left_out:,} more tables of {listing.name}: --json lists them all")


def _rows(tables: tuple[Table, ...]) -> str:
    known = [table for table in tables if table.rows is not None]
    if not known:
        return ""
    estimate = len(known) < len(tables) or not all(table.rows_exact for table in known)
    return f"{'~' if estimate else ''}{sum(table.rows or 0 for table in known):,}"


def _bytes(tables: tuple[Table, ...]) -> str:
    known = [table.bytes for table in tables if table.bytes is not None]
    return size(sum(known)) if known else ""
