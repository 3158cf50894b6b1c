"""`coset demo`: a company made on the spot, comprehended, and asked its five questions without a model."""

from __future__ import annotations

import shutil
import textwrap
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from coset.api.environment import Environment
from coset.demo.questions import AskedQuestion
from coset.errors import CosetError
from coset.state import EvidenceState
from coset.state.listings import quality_of
from coset.state.names import names_of
from coset.state.read_model import ReadModel
from coset.state.relations import RelationRow
from coset.state.tables import TableRow
from coset.surfaces.command_line.output import Told, cell, join_kind, opened, reporting, waiting
from coset.use_cases.results import Answer

if TYPE_CHECKING:
    from coset.demo.questions import AskedQuestion


LEAST_WIDTH, SQL_LINES, FEW, NAMED = 100, 4, 5, 3
"""Columns to use where the terminal does not say how many it has; lines of a statement; rows of an
answer that are shown all, or else so many."""
NEXT = (
    ("view", 'coset view "How many tickets report error E42?"', "the evidence that a question gets to see"),
    ("ask", 'coset ask "How many paid invoices are there?"', "a question of your own, answered or declined"),
    ("show", "coset show beacon/orders.buyer_id", "all that is known of a column, and why"),
    ("map", "coset map -o map.html", "the roles of all columns as a picture"),
    ("sql", 'coset sql "SELECT count(*) FROM beacon.orders"', "one SELECT across all sources, read-only"),
    ("ui", "coset ui", "all of it in a browser"),
    ("mcp", "coset mcp", "all of it for your agent"),
    ("init", "coset init crm=postgresql://... files=./exports", "your own data, in a folder of its own"),
)
"""Command that must exist, what to type, what it gives."""


def title(text: str) -> None:
    click.secho(text, bold=True)


def _heading(text: str, beside: str = "") -> None:
    click.echo("  " + click.style(text, fg="cyan") + (click.style(f"  {beside}", dim=True) if beside else ""))


def _grid(rows: Sequence[Sequence[str]], lines: int = 1) -> None:
    """Cells in columns. The last is folded into so many lines and cut there; the others keep their width."""
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))] if rows else []
    room = shutil.get_terminal_size((LEAST_WIDTH, 24)).columns - 5 - sum(width + 2 for width in widths[:-1])
    for row in rows:
        *others, last = (cell(text, 400) for text in row)
        padded = "".join(f"{text:<{width}}  " for text, width in zip(others, widths, strict=False))
        for place, line in enumerate(_folded(last, max(room, 20), lines)):
            click.echo(f"    {' ' * len(padded) if place else padded}{line}")


def _folded(text: str, width: int, lines: int) -> list[str]:
    """The text in at most so many lines; the last says when there was more."""
    folded = textwrap.wrap(text, width, break_on_hyphens=False) or [""]
    return folded if len(folded) <= lines else [*folded[: lines - 1], f"{folded[lines - 1][: width - 2]} …"]


def show_sources(state: EvidenceState) -> None:
    model = ReadModel(state)
    held: dict[str, list[TableRow]] = {}
    for table in model.tables.values():
        held.setdefault(table.source, []).append(table)
    _grid(
        [
            (
                source, model.sources[source].kind, f"{sum(table.rows or 0 for table in tables):>7,} rows",
                ", ".join(sorted(table.name for table in tables)),
            )
            for source, tables in sorted(held.items())
        ]
    )  # fmt: skip


def show_joins(state: EvidenceState) -> None:
    model = ReadModel(state)
    rows = sorted(
        (row for row in model.relations if row.crosses_sources),
        key=lambda row: (row.kind == "identity", -row.confidence, row.left_columns),
    )
    _heading("Joins between the departments", f"and {len(model.relations) - len(rows)} within them")
    told = model.names.told
    _grid([_join(row, told) for row in rows])
    for row in rows:
        if row.kind != "identity":
            click.secho(f"      {cell(row.left_expression, 200)}", dim=True)
            click.secho(f"        = {cell(row.right_expression, 200)}", dim=True)


def _join(row: RelationRow, told: Told) -> tuple[str, ...]:
    left, right = (told(", ".join(columns)) for columns in (row.left_columns, row.right_columns))
    return left, "=", right, join_kind(row.kind), f"{row.left_match:>4.0%} match", row.cardinality


def show_dirt(state: EvidenceState) -> None:
    rows = quality_of(state)
    _heading("Quality", "the expressions that clean it: coset diagnostics")
    told = names_of(state).told
    _grid([(told(row["reference"]), row["kind"].replace("_", " "), row["detail"]) for row in rows], lines=2)


def show_roles(environment: Environment) -> None:
    from coset.use_cases.evidence import realised

    found = realised(environment.workspace)
    _heading("Roles that columns of several departments share", "all roles: coset identities")
    told = environment.workspace.names().told
    _grid([(row["role"], ", ".join(map(told, row["fiber"]))) for row in found if row["sources"] > 1], lines=4)


def show_tried(tried: AskedQuestion) -> None:
    """The question, its answer beside what the generator knows, then view, reading, checks and statement."""
    known, found = tried.known, tried.found
    click.echo("\n  " + click.style(cell(known.question.text, 200), fg="cyan", bold=True))
    if not found.stopped:
        _line("true" if tried.right else "NOT true", _rows_in_words(found), fg="green" if tried.right else "red")
    else:
        _line("declined", found.stopped, fg="yellow")
    if not tried.right:
        _line("truth", known.in_words)
    view = found.view.evidence if found.view else None
    if view is None:
        return
    columns = sum(len(table.columns) for table in view.tables)
    _line(
        "view",
        f"{_several(len(view.tables), 'table')}, {_several(columns, 'column')}, "
        f"{_several(len(view.relations), 'join')} in {view.cost:,} tokens",
    )
    if found.reading:
        _line("read", "; ".join(found.reading))
    passed = [check.name for check in found.checks if check.outcome == "passed"]
    if passed:
        _line("checks", f"{len(passed)} passed: {', '.join(dict.fromkeys(passed))}".replace("_", " "))
    if found.sql:
        _line("sql", " ".join(found.sql[0].split()), dim=True)


def _several(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _line(name: str, text: str, **style: Any) -> None:
    """A named line, folded under itself; of a long one the beginning."""
    for place, line in enumerate(_folded(cell(text, 4_000), LEAST_WIDTH - 14, SQL_LINES)):
        click.echo(f"    {'' if place else name:<9}" + click.style(line, **style))


def _rows_in_words(found: Answer) -> str:
    """All rows where they are few, else their number and the first."""
    few = len(found.rows) <= FEW
    shown = ", ".join(_number(row[0]) for row in found.rows[: FEW if few else NAMED])
    return shown if few else f"{len(found.rows):,}: {shown} and {len(found.rows) - NAMED:,} more"


def _number(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4f}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else cell(value, 40)


def show_next(folder: Path) -> None:
    from coset.surfaces.command_line import COMMANDS

    title(f"\nNext: cd {cell(str(folder), 200)}")
    _grid([(typed, gives) for name, typed, gives in NEXT if name in COMMANDS])


@click.command(name="demo")
@click.argument("folder", type=click.Path(path_type=Path), default=Path("coset-demo"), metavar="[FOLDER]")
@click.option("--seed", type=click.IntRange(0), default=7, show_default=True, help="Another seed is another company.")
@click.option("--small", is_flag=True, help="The short form: a quarter of the customers and rows.")
@click.option("--only-data", is_flag=True, help="Make the folder with its coset.yaml, and stop there.")
@click.option(
    "--rental", is_flag=True, help="Another company: 28 tables in five systems, as one meets them. Data only."
)
def demo_command(folder: Path, seed: int, small: bool, only_data: bool, rental: bool) -> None:
    """Make a small company in FOLDER (coset-demo if not named), comprehend it, and answer five questions about it.

    Two departments sell two products and keep their customers in two engines under two names; a help desk and an
    office with code tables serve both. All of it is made up on the spot from the seed: nothing is downloaded, no server
    and no key is needed. FOLDER must be new or empty, or an earlier demo of the same company.

    With --rental it makes a machine rental instead, and stops there: a PostgreSQL dump, a ledger with short German
    names, backups, an outdated code list and a handbook whose rules decide figures. The tutorial uses it.

    Exit code 1 when an answer is not what the company was made with.
    """
    from coset.demo import make_company, prepare_folder, truth
    from coset.demo.folder import can_read_dumps, check_folder, which_company
    from coset.demo.questions import ask_questions, comprehend_demo

    if rental:
        _make_rental(folder, seed)
        return
    check_folder(folder, which_company(seed, small))
    started = time.monotonic()
    with waiting("making the company"):
        company = make_company(seed, small=small)
        made = prepare_folder(folder, company)
    where, how = cell(str(folder), 200), f"made in {_since(started)}" if made else "already there"
    title(f"A company in {where}: {company.rows:,} rows, seed {seed}, {how}")
    if not can_read_dumps():
        click.echo("  Its tickets are JSON lines: a MongoDB dump needs pip install 'coset[mongodb]'.")
    if only_data:
        return
    started = time.monotonic()
    wrong: list[str] = []
    with opened(str(folder)) as environment:
        with reporting("listing the sources") as report:
            comprehend_demo(environment, report)
        with environment.reading() as state:
            show_sources(state)
            title(f"\nComprehended in {_since(started)}")
            show_joins(state)
            show_dirt(state)
        show_roles(environment)
        title("\nFive questions, answered without a model")
        click.echo(
            "  The generator of the company knows the truth and marks each answer; `coset ask` shows one in full"
        )
        questions = ask_questions(environment, truth(company))
        while (tried := _next(questions)) is not None:
            show_tried(tried)
            wrong += [] if tried.right else [tried.known.question.text]
    show_next(folder)
    if wrong:
        raise CosetError(f"{len(wrong)} of the demo's answers are not right for seed {seed}: {' '.join(wrong)}")


def _make_rental(folder: Path, seed: int) -> None:
    from coset.demo.rental import write_rental

    tables = write_rental(folder, seed).tables
    rows = sum(len(rows) for system in tables.values() for _, rows in system.values())
    title(f"A machine rental in {cell(str(folder), 200)}: {sum(map(len, tables.values()))} tables, {rows:,} rows")
    click.echo(f"Next: cd {cell(str(folder), 200)} && coset comprehend && coset ui")


def _since(started: float) -> str:
    return f"{time.monotonic() - started:.1f} s"


def _next(each: Iterator[AskedQuestion]) -> AskedQuestion | None:
    with waiting("answering"):
        return next(each, None)
