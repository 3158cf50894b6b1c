"""`coset init` and `coset sources`: a `coset.yaml` whose every connection was tried, and what the sources hold."""

from __future__ import annotations

import os
import re
from collections import Counter
from pathlib import Path
from urllib.parse import unquote

import click
import yaml

from coset.environment.catalogue import Catalogue, SourceListing
from coset.environment.configuration import FILE_NAME, STATE_FOLDER, check_source_name, load_environment
from coset.environment.locations import recognise
from coset.environment.secrets import REFERENCE, SECRETS_FILE, passwords_of, without_password, write_secret
from coset.environment.source import NO_TABLE, Table
from coset.errors import UserError
from coset.evidence.documents.files import FORMATS, documents_beside, expand, find_documents
from coset.surfaces.command_line.output import (
    cell,
    csv_option,
    environment_option,
    json_option,
    print_json,
    show_list,
    size,
    waiting,
)

SHOWN_TABLES = 200


@click.command(name="sources")
@click.argument("names", nargs=-1, metavar="[SOURCE]...")
@click.option("--tables", is_flag=True, help="List the tables of every source, not only of those named.")
@csv_option
@environment_option
@json_option
@click.pass_context
def sources_command(
    context: click.Context,
    names: tuple[str, ...],
    tables: bool,
    as_csv: bool,
    environment_path: str | None,
    as_json: bool,
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
    elif as_csv and (names or tables):
        found = [(listing, table) for listing in catalogue.listings.values() for table in listing.tables]
        show_list(
            ("table", "kind", "rows", "bytes", "columns"),
            [(f"{listing.name}.{table.qualified_name}", table.kind, table.rows, table.bytes, len(table.columns))
             for listing, table in found],
            as_csv=True,
        )  # fmt: skip
    elif as_csv:
        _show_sources(catalogue, as_csv=True)
    else:
        show_listings(catalogue)
        show_documents(catalogue, each=bool(names or tables))
        for listing in catalogue.listings.values() if names or tables else ():
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
    _show_sources(catalogue)
    for listing in catalogue.listings.values():
        if listing.problem:
            click.echo(f"{listing.name} is unreachable: {cell(listing.problem, 600)}")
        for file, reason in listing.skipped:
            if reason == NO_TABLE and Path(file).suffix.lower() in FORMATS:
                continue  # A document: listed as one.
            click.echo(f"{listing.name}: passed over {cell(file)}: {cell(reason, 300)}")


def _show_sources(catalogue: Catalogue, *, as_csv: bool = False) -> None:
    rows: list[tuple[object, ...]] = []
    for each in catalogue.listings.values():
        state = "unreachable" if each.problem else "schema only" if each.schema_only else ""
        if each.problem:
            rows.append((each.name, each.kind, "", "", "", state))
        elif as_csv:
            known = [table.rows for table in each.tables if table.rows is not None]
            sizes = [table.bytes for table in each.tables if table.bytes is not None]
            rows.append((each.name, each.kind, len(each.tables), sum(known), sum(sizes) if sizes else None, state))
        else:
            rows.append((each.name, each.kind, f"{len(each.tables):,}", _rows(each.tables), _bytes(each.tables), state))
    show_list(
        ("source", "kind", "tables", "rows", "bytes" if as_csv else "size", "state" if as_csv else ""), rows,
        right=("tables", "rows", "size"), as_csv=as_csv,
    )  # fmt: skip


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
    if not listing.tables:
        return
    rows = []
    for table in listing.tables[:SHOWN_TABLES]:
        columns = ", ".join(f"{column.name} {column.type}" for column in table.columns) if with_columns else ""
        rows.append(
            (
                f"{listing.name}.{table.qualified_name}", table.kind, _rows((table,)), size(table.bytes),
                columns or f"{len(table.columns)}",
            )
        )  # fmt: skip
    click.echo()
    show_list(("table", "kind", "rows", "size", "columns"), rows, right=("rows", "size"), longest=2_000)
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


HEADER = """\
# The sources that one question may range over. Each may also have:
#   description, description_file, hints, documents, queries, include, exclude, schema_only, limits, options
# `description` and `documents` beside `sources` are about all of them. Entries of `documents` are files, folders or
# patterns; `!pattern` takes some out again.
# Secrets are never written here: ${NAME} is taken from the environment or from .coset/secrets.env
"""

Entry = dict[str, str | list[str]]


@click.command(name="init")
@click.argument("sources", nargs=-1, required=True, metavar="NAME=LOCATION...")
@click.option("-d", "--directory", type=click.Path(file_okay=False), default=".", help="Where to write coset.yaml.")
@click.option("--force", is_flag=True, help="Replace an existing coset.yaml; the old one is kept as coset.yaml.bak.")
@json_option
@click.pass_context
def init_command(context: click.Context, sources: tuple[str, ...], directory: str, force: bool, as_json: bool) -> None:
    """Write coset.yaml from NAME=LOCATION arguments and check every connection.

    A location is a database URL (postgresql://, mysql://, mongodb://, or any dialect of SQLAlchemy), a place in an
    object store (s3://, gs://, az://, https://; delta+s3:// and iceberg+s3:// for tables of these formats) or a path: a
    SQLite or DuckDB file, a plain
    pg_dump, a mongodump folder, a CSV, TSV, JSON, JSONL, Parquet or Excel file, or a folder of them. Without NAME=,
    the name is taken from the location.

    A password in a URL is not written to coset.yaml: it goes to .coset/secrets.env, which only you can read.

    \b
    coset init crm=postgresql://reader@localhost/crm orders=./orders.db events=./events/
    coset init 'crm=postgresql://reader:${CRM_PASSWORD}@localhost/crm'
    """
    folder = Path(directory)
    file = folder / FILE_NAME
    if file.exists() and not force:
        raise UserError(
            f"'{file}' exists already: edit it, or replace it with --force (the old one is kept as {FILE_NAME}.bak)"
        )
    entries, secrets = _entries(sources, folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name, value in secrets.items():
        write_secret(folder / STATE_FOLDER / SECRETS_FILE, name, value)
    beside = _documents(entries, folder)
    content = {**({"documents": beside} if beside else {}), "sources": entries}
    text = HEADER + yaml.safe_dump(content, sort_keys=False, allow_unicode=True)
    if file.exists():
        file.replace(file.with_suffix(".yaml.bak"))
    part = file.with_suffix(".part")
    part.write_text(text, encoding="utf-8")
    part.replace(file)
    environment = load_environment(file)
    environment.prepare_state_folder()
    with waiting("checking the sources"):
        catalogue = Catalogue(environment).list_sources()
    catalogue.close()
    if as_json:
        print_json({"file": str(file), "secrets": sorted(secrets), **listings_as_json(catalogue)})
    else:
        show_listings(catalogue)
        show_documents(catalogue)
        click.echo(f"wrote {file}")
        for name in secrets:
            click.echo(f"kept a password out of it: {name} is in {folder / STATE_FOLDER / SECRETS_FILE}")
    unreachable = [listing.name for listing in catalogue.listings.values() if listing.problem]
    if unreachable:
        context.exit(1)


def _documents(entries: dict[str, Entry], folder: Path) -> list[str]:
    """Name the folders with documents of each files source in its entry; answers with the documents that lie beside
    the sources, or in a folder for documents there."""
    places = {name: folder / str(entry["location"]) for name, entry in entries.items()}
    own: list[Path] = []
    for name, place in places.items():
        if place.is_dir() and (found := expand([str(place)], [], quietly=True)):
            own.append(place.absolute())
            entries[name]["documents"] = sorted({_relative(str(path.parent), folder) for path in found})
    local = [folder, *(place.parent for place in places.values() if place.exists())]
    beside = [path.absolute() for path in documents_beside(local)]
    return [_relative(str(path), folder) for path in beside if not any(path.is_relative_to(each) for each in own)]


def _entries(arguments: tuple[str, ...], folder: Path) -> tuple[dict[str, Entry], dict[str, str]]:
    """The `sources:` mapping and the secrets taken out of it. Names every problem at once."""
    entries: dict[str, Entry] = {}
    secrets: dict[str, str] = {}
    problems: list[str] = []
    for argument in arguments:
        name, location = _name_and_location(argument)
        if problem := check_source_name(name):
            problems.append(problem)
            continue
        if name.lower() in {other.lower() for other in entries}:
            problems.append(f"there are two sources named '{name}'")
            continue
        if not location:
            problems.append(f"'{argument}' names no location: write {name}=LOCATION")
            continue
        try:
            if not REFERENCE.fullmatch(location):
                recognise(location, Path.cwd())
        except UserError as mistake:
            problems.append(f"{name}: {mistake}")
            continue
        for password in passwords_of(location):
            if not REFERENCE.search(password):
                secret = f"{name.upper()}_PASSWORD"
                secrets[secret] = unquote(password)
                location = without_password(location, f"${{{secret}}}")
                break
        entries[name] = {"location": _relative(location, folder)}
    if problems:
        raise UserError("; ".join(problems))
    return entries, secrets


def _name_and_location(argument: str) -> tuple[str, str]:
    name, separator, location = argument.partition("=")
    # A URL may hold '=' in its query, a path may hold one too: a name has neither '/' nor ':'.
    if separator and not re.search(r"[/:\\.]", name):
        return name, location
    stem = Path(argument.split("?", maxsplit=1)[0].rstrip("/")).name.split(".")[0]
    name = re.sub(r"[^A-Za-z0-9_]+", "_", stem).strip("_").lower()
    return name if name[:1].isalpha() else f"source_{name}", argument


def _relative(location: str, folder: Path) -> str:
    """Paths are kept relative to coset.yaml where they lie beside or below it, so that the folder can be moved."""
    if "://" in location or REFERENCE.fullmatch(location):
        return location
    path = Path(location).expanduser().absolute()
    base = folder.absolute()
    return os.path.relpath(path, base) if path.is_relative_to(base) else str(path)
