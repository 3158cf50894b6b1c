"""`coset view`, `recover`, `show`, `diagnostics`, `map`: look at what is known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from coset.errors import UserError
from coset.routing.views.budgets import DETAILS, RECOVERED
from coset.surfaces.command_line.output import (
    cell,
    csv_option,
    environment_option,
    join_kind,
    json_option,
    opened,
    print_json,
    show_list,
    waiting,
)

BOOKKEEPING = {"id", "shape", "token", "digest", "seconds"}
"""What only coset needs to know of a table; --json has it too."""


@click.command(name="view")
@click.argument("question")
@click.option(
    "--budget", type=click.IntRange(min=1), default=DETAILS, show_default=True,
    help="The most tokens that the details may cost; documents and directory come before them.",
)  # fmt: skip
@click.option("--no-directory", is_flag=True, help="The details alone, for small models.")
@click.option(
    "--open", "names", metavar="TABLE", multiple=True,
    help="Also the details of a table of the directory; may be given several times.",
)  # fmt: skip
@click.option("--explain", is_flag=True, help="Also print requirements, demand, anchors, scores, and what fell out.")
@environment_option
@json_option
def view_command(
    question: str,
    budget: int,
    no_directory: bool,
    names: tuple[str, ...],
    explain: bool,
    environment_path: str | None,
    as_json: bool,
) -> None:
    """Print the evidence view of a QUESTION: the tables, columns, joins and values that answer it, within a budget.

    No language model is asked. The SQL in the view runs in `coset sql` as written. What was left out is counted, and
    `coset recover` gets it back.
    """
    from coset.use_cases.results import View

    with waiting("reading the evidence state"), opened(environment_path) as environment:
        explanation = environment.explain(question, budget, directory=not no_directory) if explain else None
        view = View(explanation.view) if explanation else environment.view(question, budget, directory=not no_directory)
        more = environment.open_tables(names, beside=view) if names else None
        told = environment.workspace.names().told
    if as_json:
        values = explanation.values() if explanation else view.values()
        print_json({**values, "opened": more.values()} if more else values)
        return
    click.echo(view.text, nl=False)
    if more:
        click.echo(f"OPENED\n{more.details}", nl=False)
    if explanation:
        click.echo(f"\n{told(explanation.text)}", nl=False)


@click.command(name="recover")
@click.argument("name", required=False)
@click.option("--search", "words", metavar="WORDS", help="Search names, values and documents instead.")
@click.option(
    "--budget", type=click.IntRange(min=1), default=RECOVERED, show_default=True,
    help="The most tokens that the text may cost.",
)  # fmt: skip
@environment_option
@json_option
def recover_command(
    name: str | None, words: str | None, budget: int, environment_path: str | None, as_json: bool
) -> None:
    """Print all that is known of one NAME: a source, table, column, path, facet, join or document.

    Names are those that a view shows, such as crm.orders.buyer_id, crm/public/orders.buyer_id or relation_0f3a...;
    short forms such as orders.buyer_id work while they are unambiguous.
    """
    if (name is None) == (words is None):
        raise UserError("say what to recover: either a NAME or --search WORDS")
    with opened(environment_path) as environment:
        found = environment.search(words, budget) if words is not None else environment.recover(name or "", budget)
    if as_json:
        print_json(found)
        return
    click.echo(found.text, nl=False)


@click.command(name="show")
@click.argument("name")
@environment_option
@json_option
def show_command(name: str, environment_path: str | None, as_json: bool) -> None:
    """Print all that is known of a source, table, family or column, and how it is known.

    NAME is as in SQL (crm.orders.buyer_id), a reference (crm/public/orders.buyer_id), or a short form such as
    orders.buyer_id while it is unambiguous.
    """
    with opened(environment_path) as environment:
        known, told = environment.show(name), environment.workspace.names().told
    if as_json:
        print_json({"reference": known["reference"], "sql_name": told(known["reference"]), **known})
        return
    click.echo(click.style(cell(told(known["reference"]), 400), bold=True) + f"  ({known['kind']})")
    for section, content in known.items():
        if section in {"reference", "kind"} or content in (None, [], {}):
            continue
        if isinstance(content, dict):
            content = {name: value for name, value in content.items() if name not in BOOKKEEPING}
        click.echo(f"\n{section}")
        for line in _join_lines(content) if section == "relations" else _lines(content):
            click.echo(f"  {told(line)}")


def _lines(content: Any) -> list[str]:
    if isinstance(content, dict):
        return [
            line
            for key, value in content.items()
            if value not in (None, [], {}, "")
            for line in _section_lines(key, value)
        ]
    if isinstance(content, list):
        return [_one_line(item) for item in content]
    return [cell(content, 2000)]


def _section_lines(key: str, value: Any) -> list[str]:
    """A list of sentences one below the other; anything else on one line."""
    if isinstance(value, list) and any(isinstance(item, str) and " " in item for item in value):
        return [f"{key}:", *(f"  {cell(item, 300)}" for item in value)]
    return [f"{key}: {cell(value, 400)}"]


def _join_lines(joins: list[dict[str, Any]]) -> list[str]:
    """As `coset relations NAME` says them: the two sides, how sure, and why."""
    lines = []
    for each in joins:
        ends = " = ".join(", ".join(each[side]) for side in ("left_columns", "right_columns"))
        matched = f"{each['left_match']:.0%} / {each['right_match']:.0%} {each['cardinality']}"
        lines += [
            f"{cell(ends, 1000)}  {join_kind(each['kind'])}, matched {matched}, sure {each['confidence']:.2f}",
            f"  {cell(each['left_expression'], 1000)} = {cell(each['right_expression'], 1000)}",
            *(f"  {cell(reason, 400)}" for reason in each["reasons"]),
        ]
    return lines


def _one_line(item: Any) -> str:
    if not isinstance(item, dict):
        return cell(item, 400)
    return "; ".join(f"{key} {cell(value, 200)}" for key, value in item.items() if value not in (None, [], {}, ""))


@click.command(name="diagnostics")
@click.argument("name", required=False)
@click.option("--kind", help="Only diagnostics of this kind, such as null_tokens.")
@csv_option
@environment_option
@json_option
def diagnostics_command(
    name: str | None, kind: str | None, as_csv: bool, environment_path: str | None, as_json: bool
) -> None:
    """List what is wrong with values and would change answers: null tokens, mixed date formats, stray characters, rows
    that are one entity. With the NAME of a source, table or column, only what lies there."""
    with opened(environment_path) as environment:
        rows, told = environment.diagnostics(name, kind=kind), environment.workspace.names().told
    if as_json:
        print_json({"diagnostics": [{**row, "sql_name": told(row["reference"])} for row in rows]})
        return
    listed = []
    for row in rows:
        error = f" ± {row['share_error']:.1%}" if row["share_error"] else ""
        listed.append((told(row["reference"]), row["kind"], f"{row['share']:.1%}{error}", row["detail"]))
    show_list(("where", "what", "share", "detail"), listed, as_csv=as_csv)
    if name and not as_csv:
        for row in rows:
            if row["expression"]:
                click.echo(f"{cell(told(row['reference']), 400)} {row['kind']}: {cell(row['expression'], 1000)}")


@click.command(name="map")
@click.option("-o", "--out", type=click.Path(path_type=Path), default=Path("map.html"), show_default=True,
              metavar="FILE", help="Where the page goes: one HTML file that needs nothing else.")  # fmt: skip
@click.option("--coordinate", type=click.Choice(["entity", "attribute"]), default="attribute", show_default=True)
@environment_option
def map_command(out: Path, coordinate: str, environment_path: str | None) -> None:
    """Draw what was understood: every table or column as a dot, coloured by its role and the closer the more alike;
    every role as a cross, with a ring as far as a dot may move and keep it. Opens in any browser, offline."""
    from coset.environment.configuration import load_environment
    from coset.identities.inventory import load_inventory
    from coset.identities.picture import picture
    from coset.state import EvidenceState

    environment = load_environment(environment_path)
    if out.suffix.lower() not in (".html", ".htm"):
        raise UserError(f"'{out}': the map is an HTML page, give it a name that ends with .html")
    with EvidenceState.read(environment.state_folder) as state:
        page = picture(
            state,
            load_inventory(environment.identities_file),
            "entity" if coordinate == "entity" else "attribute",
            f"coset: {environment.path.parent.name}",
        )
    try:
        out.write_text(page, encoding="utf-8")
    except OSError as error:
        raise UserError(f"cannot write {out}: {error.strerror}") from None
    click.echo(str(out))
