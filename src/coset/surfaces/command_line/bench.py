"""`coset bench`: run a part of coset over tasks on disk and write what it found, for a scorer to read."""

from __future__ import annotations

import time
from pathlib import Path

import click

from coset.errors import Mistake


@click.group(name="bench")
def command() -> None:
    """Run coset on benchmark tasks and write its answers."""


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
    from coset.evidence.joining.tasks import read_tasks, solve

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
        raise Mistake(f"cannot write {path}: {error.strerror}") from None
    click.echo(f"{tasks} tasks, {pairs} pairs, {rules} with a rule, in {time.monotonic() - started:.1f} s: {path}")
