"""`coset relations`, `join`, `copies`, `links`: how tables belong together, and what people say of it."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from coset.errors import UserError
from coset.surfaces.command_line.output import (
    Told,
    cell,
    csv_option,
    environment_option,
    join_kind,
    json_option,
    opened,
    print_json,
    show_list,
)

if TYPE_CHECKING:
    from coset.state.relations import LinkPair
    from coset.use_cases.relations import Explained, Linked


SIDES = ("left", "right")


@click.command(name="relations")
@click.argument("name", required=False)
@click.option("--least", type=click.FloatRange(0, 1), default=0.0, help="Only those of at least this confidence.")
@csv_option
@environment_option
@json_option
def relations_command(
    name: str | None, least: float, as_csv: bool, environment_path: str | None, as_json: bool
) -> None:
    """List the joins that were found: their expressions as tested, the share of rows that match on each side, and what
    stands in the way. With the NAME of a source, table or column, only those that touch it."""
    from coset.use_cases.evidence import joins

    with opened(environment_path) as environment:
        rows, told = joins(environment.workspace, name, least), environment.workspace.names().told
    if as_json:
        names = [{f"{side}_names": [told(each) for each in row[f"{side}_columns"]] for side in SIDES} for row in rows]
        print_json({"relations": [{**row, **named} for row, named in zip(rows, names, strict=True)]})
        return
    show_list(
        ("from", "to", "how", "matched", "", "sure"),
        [
            (
                ", ".join(row["left_columns"]), ", ".join(row["right_columns"]), join_kind(row["kind"]),
                f"{row['left_match']:.0%} / {row['right_match']:.0%}", row["cardinality"], f"{row['confidence']:.2f}",
            )
            for row in rows
        ],
        as_csv=as_csv, told=told,
    )  # fmt: skip
    if name and not as_csv:
        for row in rows:
            click.echo(f"{cell(row['left_expression'], 300)} = {cell(row['right_expression'], 300)}")
            for reason in row["reasons"]:
                click.echo(f"  {cell(told(reason), 300)}")


@click.command(name="copies")
@click.argument("table", required=False)
@click.option("--of", "original", metavar="ORIGINAL", help="Say that TABLE is a copy of ORIGINAL.")
@click.option("--kind", help="With --of: backup, staging, archive, year copy, test, superseded, extract, view, ...")
@click.option("--not", "rejected", is_flag=True, help="Say that TABLE is no copy.")
@csv_option
@environment_option
@json_option
def copies_command(
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
        told = environment.workspace.names().told
        if original is not None or rejected:
            if table is None or (rejected and original is not None):
                raise UserError("say which table: coset copies TABLE --of ORIGINAL, or coset copies TABLE --not")
            said = declare_copy(environment.workspace, table, original, kind, rejected=rejected)
            if as_json:
                print_json({"kept": said.model_dump(mode="json")})
            else:
                click.echo(told(f"kept: {said.table} is {'no copy' if rejected else f'a copy of {said.original}'}"))
            return
        found = copies(environment.workspace, table)
    if as_json:
        print_json({"copies": [asdict(each) for each in found]})
        return
    show_list(
        ("table", "is a", "of", "how far from it", "sure"),
        [(each.table, each.kind, each.original or "", each.drift, f"{each.confidence:.2f}") for each in found],
        as_csv=as_csv,
        told=told,
    )
    if table and not as_csv:
        for each in found:
            for reason in each.reasons:
                click.echo(f"{cell(told(each.table), 200)}: {cell(told(reason), 300)}")


@click.command(name="join")
@click.argument("left")
@click.argument("right")
@click.option(
    "--as", "expression", metavar="EXPRESSION", help="How they join: an equality in SQL over the two columns."
)
@click.option("--not", "rejected", is_flag=True, help="Say that they do not join; it is never proposed again.")
@environment_option
@json_option
def join_command(
    left: str, right: str, expression: str | None, rejected: bool, environment_path: str | None, as_json: bool
) -> None:
    """Say that the columns LEFT and RIGHT join, or with --not that they do not. A join is tested, and the share of rows
    that match is shown. It is kept in the corrections file."""
    from coset.use_cases.relations import declare_join

    with opened(environment_path) as environment:
        tested = declare_join(environment.workspace, left, right, expression, rejected=rejected)
        told = environment.workspace.names().told
    if as_json:
        print_json({"join": tested, "rejected": rejected})
    elif rejected:
        click.echo("kept: they do not join")
    elif tested is None:
        click.echo("kept; it could not be tested here")
    else:
        matched = f"{tested['left_match']:.0%} of its rows, {tested['right_match']:.0%} of those of the other side"
        click.echo(f"kept: {cell(told(left), 300)} joins {cell(told(right), 300)}")
        click.echo(f"tested as {cell(tested['left_expression'], 300)} = {cell(tested['right_expression'], 300)}")
        click.echo(f"a partner is found for {matched}")
        if not tested["left_match"]:
            click.echo(f"no value agrees; if that was a mistake: coset join --not {left} {right}", err=True)


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
def links_command(
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
    said with --same and --not-same is kept in the corrections file and holds from then on."""
    from coset.use_cases import relations as links

    if key is not None and not explained:
        raise UserError("a KEY goes with --explain: coset links ENTITY --explain KEY")
    with opened(environment_path) as environment:
        workspace = environment.workspace
        told = workspace.names().told
        said = same or not_same
        if said:
            if same and not_same:
                raise UserError("say one thing at a time: --same or --not-same")
            kept = links.declare_link(workspace, said[0], said[1], same=bool(same), entity=entity)
            ends = " and ".join(f"{record.table}:{record.key}" for record in kept.records)
            if as_json:
                print_json({"kept": kept.model_dump(mode="json")})
            else:
                click.echo(told(f"kept: {ends} are {'the same' if same else 'not the same'}"))
            return
        problems = links.link_records(workspace, large=large, again=again)
        for name, problem in problems:
            click.echo(f"{cell(told(name), 200)}: {cell(told(problem), 300)}", err=True)
        if entity is None:
            _show_entities(links.entities(workspace), as_json, as_csv, told)
        elif key is not None:
            _show_things(links.explain_links(workspace, entity, key), as_json, told)
        else:
            _show_entity(links.links_of(workspace, entity), explained, as_json, as_csv, told)


def _show_entities(found: list, as_json: bool, as_csv: bool, told: Told) -> None:  # type: ignore[type-arg]
    if as_json:
        print_json({"entities": [asdict(each) for each in found]})
        return
    show_list(
        ("entity", "tables", "records", "things", "in several records", "left apart"),
        [
            (each.entity, ", ".join(each.tables), each.records, each.clusters, each.linked, each.near_misses)
            for each in found
        ],
        right=("records", "things", "in several records", "left apart"), as_csv=as_csv, told=told,
    )  # fmt: skip
    for problem in dict.fromkeys(each.problem for each in found if each.problem):
        click.echo(cell(problem, 1000), err=True)


def _show_entity(linked: Linked, explained: bool, as_json: bool, as_csv: bool, told: Told) -> None:
    if as_json:
        print_json(asdict(linked))
        return
    if explained:
        for reason in linked.summary.reasons:
            click.echo(f"linked by {cell(told(reason), 300)}")
        for pair in linked.near_misses[:SHOWN]:
            click.echo(told(_pair_in_words(pair)))
        return
    rows = linked.records if as_csv else linked.records[:SHOWN]
    show_list(
        ("cluster", "table", "key", "evidence", "flags"),
        [(str(each.cluster), each.table, each.key, each.evidence, each.flags or "") for each in rows],
        as_csv=as_csv,
        told=told,
    )
    if not as_csv:
        click.echo(
            f"{linked.summary.records:,} records of {linked.summary.clusters:,} things: SELECT * FROM {linked.relation}"
        )


def _show_things(found: list[Explained], as_json: bool, told: Told) -> None:
    if as_json:
        print_json({"things": [asdict(each) for each in found]})
        return
    for thing in found:
        click.echo(f"{thing.entity} {thing.cluster}")
        for record in thing.records:
            flags = f"  [{cell(record.flags, 80)}]" if record.flags else ""
            click.echo(f"  {cell(told(record.table), 200)}:{cell(record.key, 100)}{flags}")
        for pair in (*thing.followed, *thing.refused):
            click.echo(f"  {told(_pair_in_words(pair))}")


def _pair_in_words(pair: LinkPair) -> str:
    left, right = (cell(f"{table}:{key}", 300) for table, key in _ends(pair))
    ends = f"{left} and {right}"
    weight = f", weight {pair.weight:.1f}" if pair.weight else ""
    if pair.followed:
        return f"one: {ends}: {cell(pair.evidence, 200)}{weight}"
    return f"left apart: {ends}: {cell(pair.evidence, 200)}{weight}; {cell(pair.reason or '', 100)}"


def _ends(pair: LinkPair) -> tuple[tuple[str, str], tuple[str, str]]:
    return (pair.left_table, pair.left_key), (pair.right_table, pair.right_key)
