"""`coset status`: what is there, what is stale, what needs a person."""

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
    waiting,
)

SHOWN = 8


@click.command(name="status")
@click.option("--no-look", is_flag=True, help="Do not ask the sources whether they changed.")
@click.option("--review", is_flag=True, help="List what a person could settle, what most hangs on first.")
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True, help="The most to list with --review.")
@csv_option
@environment_option
@json_option
def command(no_look: bool, review: bool, limit: int, as_csv: bool, environment_path: str | None, as_json: bool) -> None:
    """Say how the environment stands: its sources, when they were comprehended, what changed since, and what a person
    could settle. With --review, those doubts one by one: contested joins, uncertain roles, copies and code lists."""
    with opened(environment_path) as environment:
        if review:
            doubts = environment.review(limit)
            if as_json:
                print_json({"doubts": doubts})
                return
            show_list(
                ("what", "about", "says", "why", "sure", "joins"),
                [(each.kind, each.about, each.says, each.why, f"{each.confidence:.2f}", each.uses) for each in doubts],
                right=("joins",), as_csv=as_csv,
            )  # fmt: skip
            return
        with waiting("asking the sources"):
            found = environment.status(look=not no_look)
    if as_json:
        print_json(found)
        return
    show_list(
        ("source", "kind", "tables", "problem"),
        [(each.name, each.kind, each.tables, each.problem) for each in found.sources], right=("tables",), as_csv=as_csv,
    )  # fmt: skip
    if as_csv:
        return
    if found.comprehended_at is None:
        click.echo("\nnot comprehended yet: run `coset comprehend`")
        return
    click.echo(
        f"\n{found.tables:,} tables ({found.copies:,} of them copies), {found.columns:,} columns, "
        f"{found.relations:,} joins, {found.documents:,} documents; "
        f"read {found.comprehended_at.isoformat(sep=' ', timespec='minutes')}"
    )
    for name, problem in found.unread[:SHOWN]:
        click.echo(f"could not be read: {cell(name, 400)}: {cell(problem, 300)}")
    if found.changed:
        for difference in found.changed[:SHOWN]:
            click.echo(f"stale: {cell(difference.reference, 400)} is {difference.what}")
        click.echo(f"{len(found.changed):,} changed since: run `coset comprehend`")
    elif found.changed is not None:
        click.echo("up to date: nothing changed since")
    if found.doubts:
        click.echo(f"{found.doubts:,} things that a person could settle: coset status --review")
    click.echo(f"{found.said:,} corrections were given; model: {found.model or 'none, answers come without one'}")
    for line in found.wrong:
        click.echo(f"in the corrections file, {cell(line, 400)}")
