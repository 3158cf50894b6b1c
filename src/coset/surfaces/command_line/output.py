"""What the commands print: tables for people, one JSON shape for programs, errors in one sentence."""

from __future__ import annotations

import base64
import dataclasses
import datetime
import json
import math
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console

    from coset.api.environment import Environment
    from coset.session.worker_process import WorkerLimits
    from coset.use_cases.cancellation import Progress, Report

_json_wanted = False
Told = Callable[[str], str]
"""References in a text become what SQL calls them, which every command takes: `workspace.names().told`."""
LONGEST_ERROR, LONGEST_CELL, SHOWN_ROWS, WIDE = 2_000, 400, 50, 100_000
_STEERING = re.compile("[\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")

json_option = click.option(
    "--json", "as_json", is_flag=True, callback=lambda context, parameter, value: want_json(value), expose_value=True,
    help="Print JSON instead of a table; errors too.",
)  # fmt: skip
csv_option = click.option("--csv", "as_csv", is_flag=True, help="Print CSV instead of a table.")
environment_option = click.option(
    "-e", "--environment", "environment_path", type=click.Path(), default=None, metavar="PATH",
    help="The coset.yaml to use, or its folder. [default: the nearest one, here or above]",
)  # fmt: skip


def want_json(value: bool) -> bool:
    global _json_wanted  # noqa: PLW0603 - errors raised anywhere below must know how to print themselves
    _json_wanted = value
    return value


def show_error(message: str, kind: str) -> None:
    """One plain sentence on standard error, or the JSON error shape on standard output."""
    message = " ".join(message.split())
    if _json_wanted:
        print_json({"error": {"kind": kind, "message": message}})
    else:
        click.echo(f"coset: {cell(message, LONGEST_ERROR)}", err=True)


def print_json(value: Any) -> None:
    text = json.dumps(value, default=json_value, ensure_ascii=False, allow_nan=False)
    # JSON itself escapes only the first 32 of the letters that steer a terminal or turn its text around.
    click.echo(_STEERING.sub(lambda match: f"\\u{ord(match[0]):04x}", text))


def json_value(value: Any) -> Any:
    """A value as JSON can hold it. A decimal is a number where a double is exact, otherwise its digits as text."""
    if isinstance(value, Decimal):
        return float(value) if value.is_finite() and Decimal(repr(float(value))) == value else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: json_value(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if hasattr(value, "model_dump"):
        return json_value(value.model_dump(mode="json"))
    if isinstance(value, set | frozenset):
        return sorted(json_value(item) for item in value)
    if isinstance(value, dict):
        return {str(key): json_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple) and not hasattr(value, "nanoseconds"):
        return [json_value(item) for item in value]
    if value is None or isinstance(value, bool | int | str):
        return value
    return str(value)


def cell(value: Any, width: int = 80) -> str:
    """A value for a person: short, on one line, and never able to steer the terminal."""
    if value is None:
        return "NULL"
    if isinstance(value, datetime.datetime):
        text = value.isoformat(sep=" ")
    elif isinstance(value, str | int | Decimal | datetime.date | datetime.time):
        text = str(value)
    elif isinstance(value, float):
        text = repr(value)
    elif isinstance(value, bytes):
        text = "0x" + value[:width].hex()
    else:
        text = json.dumps(json_value(value), ensure_ascii=False)
    text = text[: width + 1]
    text = "".join(letter if letter.isprintable() else "\ufffd" if letter not in "\n\t\r" else " " for letter in text)
    return text if len(text) <= width else text[: width - 1] + "…"


def join_kind(kind: str) -> str:
    """How two columns were made to fit, in words."""
    return "as stored" if kind == "identity" else kind.replace("_", " ")


def size(count: int | None) -> str:
    """Bytes in the unit a person would use."""
    if count is None:
        return ""
    amount, unit = float(count), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if amount < 1000:
            break
        amount, unit = amount / 1000, larger
    return f"{amount:.0f} {unit}" if unit == "B" or amount >= 100 else f"{amount:.1f} {unit}"


def console() -> Console:
    """Fits a terminal; anywhere else nothing is wrapped, so that programs find whole lines."""
    from rich.console import Console

    return Console(highlight=False) if sys.stdout.isatty() else Console(highlight=False, width=WIDE)


@contextmanager
def opened(path: str | None, limits: WorkerLimits | None = None) -> Iterator[Environment]:
    """The environment of a command."""
    from coset.api.environment import open

    with open(path, limits=limits) as environment:
        yield environment


def show_list(
    columns: Sequence[str], rows: Sequence[Sequence[Any]], *, right: Sequence[str] = (), as_csv: bool = False,
    longest: int = LONGEST_CELL, told: Told | None = None,
) -> None:  # fmt: skip
    """Rows of a listing: a table for people, or CSV with whole values. `told`: what names in them become."""
    if told is not None:
        rows = [[told(value) if isinstance(value, str) else value for value in row] for row in rows]
    if as_csv:
        print_csv(columns, rows)
        return
    from rich.markup import escape
    from rich.table import Table as Grid

    grid = Grid(box=None, pad_edge=False, header_style="bold")
    for name in columns:
        grid.add_column(name, justify="right" if name in right else "left", overflow="fold")
    for row in rows:
        grid.add_row(*["" if value is None else escape(cell(value, longest)) for value in row])
    console().print(grid)


def print_csv(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    import csv

    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        values = [json_value(value) for value in row]
        writer.writerow([json.dumps(v, ensure_ascii=False) if isinstance(v, list | dict) else v for v in values])


@contextmanager
def reporting(first: str = "") -> Iterator[Report | None]:
    """What a long call reports, on standard error, and only where a person is looking."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(first, total=None)

        def update(progress: Progress) -> None:
            bar.update(task, completed=progress.done, total=progress.total, description=escape(cell(progress.message)))

        yield update


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """A sign of life while sources are asked, on standard error, and only where a person is looking."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(f"{what} ..."):
        yield


def show_rows(columns: Sequence[str], rows: Sequence[Sequence[Any]], truncated: bool) -> None:
    """An answer's rows as a table; the rest is counted."""
    from rich import box
    from rich.markup import escape
    from rich.table import Table as Grid

    grid = Grid(box=box.SIMPLE_HEAD, header_style="bold")
    for name in columns:
        grid.add_column(escape(cell(name)), overflow="fold")
    for row in rows[:SHOWN_ROWS]:
        grid.add_row(*[escape(cell(value, 2_000)) for value in row])
    console().print(grid)
    if len(rows) > SHOWN_ROWS or truncated:
        more = "more than " if truncated else ""
        click.echo(f"{min(SHOWN_ROWS, len(rows))} of {more}{len(rows):,} rows; --json has them all", err=True)
