"""`coset comprehend` and `coset status`: build the evidence state; see what is there, stale or in doubt."""

from __future__ import annotations

import datetime
import itertools
import re
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from coset.errors import CosetError
from coset.surfaces.command_line.output import (
    Told,
    cell,
    csv_option,
    environment_option,
    json_option,
    opened,
    print_json,
    reporting,
    show_list,
    waiting,
)

MOST_CHANGES = 20
"""Roles that may have changed are named up to so many."""

if TYPE_CHECKING:
    from coset.use_cases.comprehend import Summary
    from coset.use_cases.readings import ReadingPlan


class Span(click.ParamType):  # type: ignore[type-arg]  # generic only in newer versions
    """A time such as 90s, 30m, 1h or 1d, as seconds."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smhd])", str(value).strip().lower())
        if found is None:
            self.fail("write a number with s, m, h or d, such as 30m or 1h", param, ctx)
        return max(1.0, float(found[1]) * {"s": 1, "m": 60, "h": 3600, "d": 86_400}[found[2]])


@click.command(name="comprehend")
@click.option("--jobs", type=click.IntRange(1), default=2, show_default=True, help="Processes to spread the work over.")
@click.option("--cluster", metavar="ADDRESS", help="A Dask cluster to spread the work over, such as tcp://host:8786.")
@click.option("--everything", is_flag=True, help="Look at all tables again, also those that did not change.")
@click.option(
    "--show-personal", is_flag=True, help="Keep names, e-mails and the like as they are instead of masking them."
)
@click.option(
    "--read-with",
    metavar="MODEL",
    help="A model that says, once, what tables and columns are (models: {reader: ...}).",
)
@click.option("--read-budget", type=click.IntRange(1000), metavar="TOKENS", help="Tokens that reading may use.")
@click.option("--link", is_flag=True, help="Link records too: which are one thing (later, kept up to date).")
@click.option("--every", type=Span(), metavar="TIME", help="Go on, and do it again each TIME: 30m, 1h, 1d.")
@click.option("--yes", is_flag=True, help="Send what is said to the model without asking.")
@environment_option
@json_option
@click.pass_context
def comprehend_command(
    context: click.Context,
    jobs: int,
    cluster: str | None,
    everything: bool,
    show_personal: bool,
    read_with: str | None,
    read_budget: int | None,
    link: bool,
    every: float | None,
    yes: bool,
    environment_path: str | None,
    as_json: bool,
) -> None:
    """Read the environment and build its evidence state: .coset/state.duckdb, which you can open with DuckDB.

    The first run reads every table once; later runs read only those that changed. It can be interrupted: what is done
    is kept, and the next run goes on. Exit code 1 when something could not be read; the rest is kept all the same.

    With --every it goes on until it is ended: each time it reads what changed; what fails is told and tried again the
    next time. Whoever reads the environment meanwhile waits for nothing.
    """
    from coset.evidence.work import over_cluster
    from coset.use_cases.readings import DEFAULT_BUDGET, ReadWith

    def once() -> Summary:
        with reporting("listing the sources") as report, opened(environment_path) as environment:
            reader = read_with or environment.configuration.models.get("reader")
            wish = ReadWith(reader, lambda plan: _agreed(plan, yes), read_budget or DEFAULT_BUDGET) if reader else None
            return environment.comprehend(
                jobs=jobs,
                everything=everything,
                mask_personal=not show_personal,
                spread=over_cluster(cluster) if cluster else None,
                read_with=wish,
                link=link,
                report=report,
            )

    def told(text: str) -> str:
        with opened(environment_path) as environment:
            return environment.workspace.names().told(text)

    if every is not None:
        again_and_again(once, every, told)
        return
    summary = once()
    if as_json:
        print_json(summary)
    else:
        with opened(environment_path) as environment:
            _show_summary(summary, environment.workspace.names().told)
    if summary.all_problems:
        context.exit(1)


def again_and_again(once: Callable[[], Summary], every: float, told: Told = str, *, rounds: int | None = None) -> None:
    """Comprehend on a schedule, until the process is ended: a line a time, and nothing that fails ends it."""
    for number in itertools.count():
        if number == rounds:
            return
        started = time.monotonic()
        at = datetime.datetime.now().astimezone().isoformat(sep=" ", timespec="seconds")
        try:
            summary = once()
            problems = len(summary.all_problems)
            click.echo(f"{at} {summary}, {summary.seconds:.1f} s" + (f", {problems} problems" if problems else ""))
            for name, problem in summary.all_problems[:SHOWN]:
                click.echo(f"{at}   {cell(told(name), 400)} could not be read: {cell(problem, 400)}", err=True)
        except CosetError as error:
            click.echo(f"{at} not comprehended, tried again in {_span(every)}: {error}", err=True)
        except Exception as error:  # Its text may hold anything.
            fault = f"unexpected {type(error).__name__}, a fault of coset's"
            click.echo(f"{at} not comprehended, tried again in {_span(every)}: {fault}", err=True)
        time.sleep(max(0.0, every - (time.monotonic() - started)))


def _span(seconds: float) -> str:
    return (
        f"{seconds / 3600:g} h" if seconds >= 3600 else f"{seconds / 60:g} min" if seconds >= 60 else f"{seconds:g} s"
    )


def _agreed(plan: ReadingPlan, yes: bool) -> bool:
    """Say what would be sent, and ask where someone can answer."""
    click.echo(str(plan), err=True)
    if yes:
        return True
    if not sys.stdin.isatty():
        click.echo("not sent: nobody can be asked here, give --yes", err=True)
        return False
    return click.confirm("Send it?", err=True)


def _show_summary(summary: Summary, told: Told) -> None:
    click.echo(
        f"{summary.looked_at:,} of {summary.units:,} tables and families read, {summary.relations:,} relations, "
        f"{summary.seconds:.1f} s"
    )
    if summary.readings is not None:
        readers = ", ".join(f"{reader} {count:,}" for reader, count in summary.readings.by_reader)
        click.echo(f"{summary.readings.objects:,} tables and columns have a reading: {readers}")
    if model := summary.model_reading:
        cost = f", ${model.cost:.2f}" if model.cost is not None else ""
        click.echo(
            f"{model.model} read {model.tables:,} tables and {model.columns:,} columns in {model.requests} requests, "
            f"{model.tokens:,} tokens{cost}; it saw {model.copies} copies and {model.codes} columns of codes"
        )
    roles, values = summary.roles, summary.values
    click.echo(
        f"{roles.objects:,} objects have roles: {roles.examined:,} looked at, "
        f"{roles.certified:,} certified to keep theirs"
    )
    if values is not None:
        click.echo(
            f"{values.values:,} values are indexed; {values.searched:,} columns hold too many and are searched "
            "at their source when a question names a value"
        )
    for change in roles.changes[:MOST_CHANGES]:
        click.echo(f"{cell(told(change.reference), 400)} may have changed role: {change.before} -> {change.after}")
    if len(roles.changes) > MOST_CHANGES:
        click.echo(f"and {len(roles.changes) - MOST_CHANGES:,} more that may have changed role")
    for name, note in summary.notes:
        click.echo(f"note: {cell(told(name), 400)} {cell(told(note), 400)}")
    for name, problem in summary.all_problems:
        about = "" if name == "corrections" else f"{cell(told(name), 400)} could not be read: "
        click.echo(f"{about}{cell(told(problem), 400)}")


SHOWN = 8


@click.command(name="status")
@click.option("--no-look", is_flag=True, help="Do not ask the sources whether they changed.")
@click.option("--review", is_flag=True, help="List what a person could settle, what most hangs on first.")
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True, help="The most to list with --review.")
@csv_option
@environment_option
@json_option
def status_command(
    no_look: bool, review: bool, limit: int, as_csv: bool, environment_path: str | None, as_json: bool
) -> None:
    """Say how the environment stands: its sources, when they were comprehended, what changed since, and what a person
    could settle. With --review, those doubts one by one: contested joins, uncertain roles, copies and code lists."""
    with opened(environment_path) as environment:
        told = environment.workspace.names().told
        if review:
            doubts = environment.review(limit)
            if as_json:
                print_json({"doubts": doubts})
                return
            show_list(
                ("what", "about", "says", "why", "sure", "joins"),
                [(each.kind, each.about, each.says, each.why, f"{each.confidence:.2f}", each.uses) for each in doubts],
                right=("joins",), as_csv=as_csv, told=told,
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
        click.echo(f"could not be read: {cell(told(name), 400)}: {cell(problem, 300)}")
    if found.changed:
        for difference in found.changed[:SHOWN]:
            click.echo(f"stale: {cell(told(difference.reference), 400)} is {difference.what}")
        click.echo(f"{len(found.changed):,} changed since: run `coset comprehend`")
    elif found.changed is not None:
        click.echo("up to date: nothing changed since")
    if found.doubts:
        click.echo(f"{found.doubts:,} things that a person could settle: coset status --review")
    click.echo(f"{found.said:,} corrections were given; model: {found.model or 'none, answers come without one'}")
    for line in found.wrong:
        click.echo(f"in the corrections file, {cell(told(line), 400)}")
