"""`coset bench`: run a part of coset over tasks on disk and write what it found, for a scorer to read."""

from __future__ import annotations

import time
from pathlib import Path

import click

from coset.errors import UserError
from coset.surfaces.command_line.bench_list import list_benches
from coset.surfaces.command_line.bench_routing import routing
from coset.surfaces.command_line.bench_runs import dab, questions
from coset.surfaces.command_line.bench_views import views


@click.group(name="bench")
def command() -> None:
    """Run coset on benchmark tasks and write its answers."""


command.add_command(list_benches)
command.add_command(dab)
command.add_command(routing)
command.add_command(questions)
command.add_command(views)


@command.command()
@click.option("--tasks", "folder", type=click.Path(path_type=Path), required=True, metavar="DIR",
              help="Folder with one folder for each task: left.csv, right.csv, columns.json.")  # fmt: skip
@click.option("--out", "path", type=click.Path(path_type=Path), required=True, metavar="FILE",
              help="Where the answers go, one JSON line for each task.")  # fmt: skip
def joins(folder: Path, path: Path) -> None:
    """Find how two columns join although their values are written differently.

    Each line of the outcome has the task, the pairs of ids that join, and the rule that joins them as a DuckDB
    condition, or null where only resemblance does. A gold.csv is never read.

    \b
    coset bench joins --tasks joins/ --out found.jsonl
    """
    from coset.relations.transformations.tasks import read_tasks, solve

    started = time.monotonic()
    tasks = pairs = rules = 0
    todo = read_tasks(folder)
    try:
        with path.open("w", encoding="utf-8") as out:
            for prediction in map(solve, todo):
                out.write(prediction.as_json() + "\n")
                out.flush()
                tasks, pairs, rules = tasks + 1, pairs + len(prediction.pairs), rules + (prediction.rule is not None)
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}") from None
    click.echo(f"{tasks} tasks, {pairs} pairs, {rules} with a rule, in {time.monotonic() - started:.1f} s: {path}")


@command.command()
@click.option("--source", type=click.Path(path_type=Path), required=True, metavar="FILE",
              help="Attributes of one schema, one JSON line each: attribute, table, column, and where known "
              "description, type, samples. Plain or .zst.")  # fmt: skip
@click.option("--target", type=click.Path(path_type=Path), required=True, metavar="FILE",
              help="Attributes of the other schema, in the same form.")  # fmt: skip
@click.option("--out", "path", type=click.Path(path_type=Path), required=True, metavar="FILE",
              help="Where the answers go: lines of source and target_ranked.")  # fmt: skip
def matching(source: Path, target: Path, path: Path) -> None:
    """Rank, for each attribute of one schema, the attributes of another that play the same role.

    \b
    coset bench matching --source a.jsonl.zst --target b.jsonl.zst --out ranked.jsonl
    """
    import json

    from coset.identities.matching import rank, read_attributes, realise_schema
    from coset.identities.model import load_model
    from coset.routing.model import load_routing_encoder

    started = time.monotonic()
    model, meanings = load_model(), load_routing_encoder()
    left, right = (realise_schema(read_attributes(file), model, meanings) for file in (source, target))
    try:
        with path.open("w", encoding="utf-8") as out:
            for attribute, ranked in rank(left, right):
                out.write(json.dumps({"source": attribute, "target_ranked": ranked}, ensure_ascii=False) + "\n")
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}") from None
    seconds = time.monotonic() - started
    click.echo(f"{len(left.attributes)} attributes against {len(right.attributes)}, in {seconds:.1f} s: {path}")
