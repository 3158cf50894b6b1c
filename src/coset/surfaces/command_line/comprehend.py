"""`coset comprehend`: builds the evidence state."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict

import click

from coset.surfaces.command_line.output import cell, environment_option, json_option, print_json


@click.command(name="comprehend")
@click.option("--jobs", type=click.IntRange(1), default=2, show_default=True, help="Processes to spread the work over.")
@click.option("--cluster", metavar="ADDRESS", help="A Dask cluster to spread the work over, such as tcp://host:8786.")
@click.option("--everything", is_flag=True, help="Look at all tables again, also those that did not change.")
@click.option(
    "--show-personal", is_flag=True, help="Keep names, e-mails and the like as they are instead of masking them."
)
@environment_option
@json_option
@click.pass_context
def command(
    context: click.Context,
    jobs: int,
    cluster: str | None,
    everything: bool,
    show_personal: bool,
    environment_path: str | None,
    as_json: bool,
) -> None:
    """Read the environment and build its evidence state: .coset/state.duckdb, which you can open with DuckDB.

    The first run reads every table once; later runs read only those that changed. It can be interrupted: what is done
    is kept, and the next run goes on. Exit code 1 when something could not be read; the rest is kept all the same.
    """
    from coset.environment.configuration import load_environment
    from coset.evidence.work import over_cluster, over_processes
    from coset.use_cases.comprehend import Settings, comprehend

    environment = load_environment(environment_path)
    spread = over_cluster(cluster) if cluster else over_processes(jobs)
    with _bar() as progress:
        summary = comprehend(environment, Settings(everything, not show_personal, spread=spread), progress)
    if as_json:
        print_json(asdict(summary))
    else:
        click.echo(
            f"{summary.looked_at:,} of {summary.units:,} tables and families read, {summary.relations:,} relations, "
            f"{summary.seconds:.1f} s"
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
        for change in roles.changes:
            click.echo(f"{cell(change.reference, 400)} may have changed role: {change.before} -> {change.after}")
        for name, problem in summary.all_problems:
            click.echo(f"{cell(name, 400)} could not be read: {cell(problem, 400)}")
    if summary.all_problems:
        context.exit(1)


@contextmanager
def _bar() -> Iterator[Callable[[int, int, str], None] | None]:
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("listing the sources", total=None)

        def update(done: int, total: int, name: str) -> None:
            bar.update(task, completed=done, total=total or None, description=cell(name, 60))

        yield update
