"""`coset links`: records of several tables that are one thing, why, and what people say of them."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

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

if TYPE_CHECKING:
    from coset.state.relations import LinkPair
    from coset.use_cases.links import Explained, Linked

SHOWN = 20


@click.command(name="links")
@click.argument("entity", required=False)
@click.option("--explain", "explained", is_flag=True, help="Why records were linked, and which were left apart.")
@click.argument("key", required=False)
@click.option("--same", nargs=2, metavar="A B", help="Say that two records are one thing: TABLE:KEY each.")
@click.option("--not-same", nargs=2, metavar="A B", help="Say that two records are two things.")
@click.option("--large", is_flag=True, help="Link also tables above the usual size.")
@click.option("--again", is_flag=True, help="Link anew though nothing changed.")
@csv_option
@environment_option
@json_option
def command(
    entity: str | None,
    explained: bool,
    key: str | None,
    same: tuple[str, str] | None,
    not_same: tuple[str, str] | None,
    large: bool,
    again: bool,
    as_csv: bool,
    environment_path: str | None,
    as_json: bool,
) -> None:
    """List the entities that live in several tables, with how many records and things each has. With an ENTITY, its
    records by cluster; SQL reads them as linked.ENTITY. With --explain, what links them and what was left apart, of one
    thing where a KEY is given. Records are linked when they are first asked for, and when something changed. What is
    said
    with --same and --not-same is kept in the corrections file and holds from then on."""
    from coset.use_cases import links

    if key is not None and not explained:
        raise UserError("a KEY goes with --explain: coset links ENTITY --explain KEY")
    with opened(environment_path) as environment:
        workspace = environment.workspace
        said = same or not_same
        if said:
            if same and not_same:
                raise UserError("say one thing at a time: --same or --not-same")
            kept = links.declare_link(workspace, said[0], said[1], same=bool(same), entity=entity)
            ends = " and ".join(f"{record.table}:{record.key}" for record in kept.records)
            click.echo(f"kept: {ends} are {'the same' if same else 'not the same'}")
            return
        problems = links.link_records(workspace, large=large, again=again)
        for name, problem in problems:
            click.echo(f"{cell(name, 200)}: {cell(problem, 300)}", err=True)
        if entity is None:
            _show_entities(links.entities(workspace), as_json, as_csv)
        elif key is not None:
            _show_things(links.explain(workspace, entity, key), as_json)
        else:
            _show_entity(links.links_of(workspace, entity), explained, as_json, as_csv)


def _show_entities(found: list, as_json: bool, as_csv: bool) -> None:  # type: ignore[type-arg]
    if as_json:
        print_json({"entities": [asdict(each) for each in found]})
        return
    show_list(
        ("entity", "tables", "records", "things", "in several records", "left apart"),
        [
            (each.entity, ", ".join(each.tables), f"{each.records:,}", f"{each.clusters:,}", f"{each.linked:,}",
             f"{each.near_misses:,}")
            for each in found
        ],
        as_csv=as_csv,
    )  # fmt: skip
    for problem in dict.fromkeys(each.problem for each in found if each.problem):
        click.echo(cell(problem, 1000), err=True)


def _show_entity(linked: Linked, explained: bool, as_json: bool, as_csv: bool) -> None:
    if as_json:
        print_json(asdict(linked))
        return
    if explained:
        for reason in linked.summary.reasons:
            click.echo(f"linked by {cell(reason, 300)}")
        for pair in linked.near_misses[:SHOWN]:
            click.echo(_told(pair))
        return
    rows = linked.records if as_csv else linked.records[:SHOWN]
    show_list(
        ("cluster", "table", "key", "evidence", "flags"),
        [(str(each.cluster), each.table, each.key, each.evidence, each.flags or "") for each in rows],
        as_csv=as_csv,
    )
    if not as_csv:
        click.echo(
            f"{linked.summary.records:,} records of {linked.summary.clusters:,} things: SELECT * FROM {linked.relation}"
        )


def _show_things(found: list[Explained], as_json: bool) -> None:
    if as_json:
        print_json({"things": [asdict(each) for each in found]})
        return
    for thing in found:
        click.echo(f"{thing.entity} {thing.cluster}")
        for record in thing.records:
            flags = f"  [{cell(record.flags, 80)}]" if record.flags else ""
            click.echo(f"  {cell(record.table, 200)}:{cell(record.key, 100)}{flags}")
        for pair in (*thing.followed, *thing.refused):
            click.echo(f"  {_told(pair)}")


def _told(pair: LinkPair) -> str:
    left, right = (cell(f"{table}:{key}", 300) for table, key in _ends(pair))
    ends = f"{left} and {right}"
    weight = f", weight {pair.weight:.1f}" if pair.weight else ""
    if pair.followed:
        return f"one: {ends}: {cell(pair.evidence, 200)}{weight}"
    return f"left apart: {ends}: {cell(pair.evidence, 200)}{weight}; {cell(pair.reason or '', 100)}"


def _ends(pair: LinkPair) -> tuple[tuple[str, str], tuple[str, str]]:
    return (pair.left_table, pair.left_key), (pair.right_table, pair.right_key)
