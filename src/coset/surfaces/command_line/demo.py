"""`coset demo`: a company made on the spot, comprehended, and what was understood of it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from coset.surfaces.command_line.output import cell, console, waiting

if TYPE_CHECKING:
    from coset.demo.questions import Truth
    from coset.environment.configuration import Environment
    from coset.evidence.state import EvidenceState

NEXT = (
    ("view", 'coset view "How many tickets report error E42?"', "what a question gets to see"),
    ("relations", "coset relations", "every join, with match rates"),
    ("show", "coset show beacon/orders.buyer_id", "all that is known of a column, and why"),
    ("sql", 'coset sql "SELECT count(*) FROM beacon.orders"', "one SELECT across all sources"),
    ("ask", 'coset ask "Which customers use both products?"', "a question in plain words"),
    ("ui", "coset ui", "the same in a browser"),
    ("mcp", "coset mcp", "the same for your agent"),
    ("init", "coset init name=location ...", "your own data"),
)
"""Command that must exist, what to type, what it gives."""


@click.command(name="demo")
@click.argument("folder", type=click.Path(path_type=Path), default=Path("coset-demo"), metavar="[FOLDER]")
@click.option("--seed", type=click.IntRange(0), default=7, show_default=True, help="Another seed is another company.")
@click.option("--only-data", is_flag=True, help="Make the folder with its coset.yaml, and stop there.")
def command(folder: Path, seed: int, only_data: bool) -> None:
    """Make a small company in FOLDER (coset-demo if not named), comprehend it, and show what was understood.

    Two departments sell two products and keep their customers in two engines under two names; a help desk and an
    office with code tables serve both. All of it is made up on the spot from the seed: nothing is downloaded, no server
    and no key is needed. FOLDER must be new or empty, or an earlier demo of the same seed.
    """
    from coset.demo import make_company, prepare_folder, truth
    from coset.demo.folder import can_read_dumps
    from coset.environment.configuration import load_environment
    from coset.evidence.state import EvidenceState

    started = time.monotonic()
    with waiting("making the company"):
        company = make_company(seed)
        made = prepare_folder(folder, company)
    _title(f"A company in {cell(str(folder), 200)}, {'made' if made else 'already there'} in {_since(started)}")
    if not can_read_dumps():
        click.echo("Its tickets are JSON lines: a MongoDB dump needs pip install 'coset[mongodb]'.")
    if only_data:
        click.echo(f"{company.rows:,} rows, seed {seed}")
        return
    environment = load_environment(folder)
    seconds = _comprehend(environment)
    with EvidenceState.read(environment.state_folder) as state:
        _show_sources(state)
        _title(f"\nComprehended in {seconds:.1f} s. Joins between the departments")
        _show_joins(state)
        _title("\nDirt, each with an expression that cleans it or a warning")
        _show_dirt(state)
        _title("\nRoles that columns of several departments share")
        _show_roles(environment, state)
        _title("\nQuestions, answered without a model, beside what the generator knows")
        _show_answers(environment, state, truth(company))
    _show_next(folder)


def _comprehend(environment: Environment) -> float:
    from coset.errors import CosetError
    from coset.evidence.comprehend import comprehend
    from coset.routing.comprehension import comprehend_meaning

    started = time.monotonic()
    with _reading() as progress:
        summary = comprehend(environment, progress=progress)
    for name, problem in (*summary.unreachable, *summary.problems, *summary.damaged):
        raise CosetError(f"the demo's '{name}' could not be read: {problem}")
    with waiting("realising the identities, indexing values and words"):
        comprehend_meaning(environment)
    return time.monotonic() - started


@contextmanager
def _reading() -> Iterator[Callable[[int, int, str], None] | None]:
    """Which table was just read, on standard error, and only where a person is looking."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console

    with Console(stderr=True).status("listing the sources ...") as status:
        yield lambda done, total, name: status.update(
            f"{done} of {total} tables read, {name}" if done < total else "finding joins ..."
        )


def _title(text: str) -> None:
    click.echo(click.style(text, bold=True))


def _since(started: float) -> str:
    return f"{time.monotonic() - started:.1f} s"


def _grid(rows: list[tuple[str, ...]]) -> None:
    from rich.markup import escape
    from rich.table import Table as Grid

    grid = Grid(box=None, pad_edge=False, show_header=False, padding=(0, 3, 0, 0))
    for _ in rows[0] if rows else ():
        grid.add_column(overflow="fold")
    for row in rows:
        grid.add_row(*(escape(cell(text, 200)) for text in row))
    from rich.padding import Padding

    console().print(Padding(grid, (0, 0, 0, 2)))


def _show_sources(state: EvidenceState) -> None:
    rows = state.rows(
        "SELECT source, any_value(s.kind) AS kind, string_agg(name, ', ' ORDER BY name) AS names, sum(rows) AS rows "
        "FROM tables JOIN sources s USING (source) GROUP BY source ORDER BY source"
    )
    _grid([(row["source"], row["kind"], f"{row['rows']:,} rows", row["names"]) for row in rows])


def _short(reference: str) -> str:
    """`atlas/main/customers.customer_id` without the schema that says nothing."""
    return reference.replace("/main/", "/")


def _show_joins(state: EvidenceState) -> None:
    rows = state.rows(
        "SELECT * FROM relations WHERE split_part(left_table, '/', 1) <> split_part(right_table, '/', 1) "
        "ORDER BY kind = 'identity', confidence DESC, left_columns"
    )
    within = state.count("relations") - len(rows)
    _grid([_join(row) for row in rows])
    for row in rows:
        if row["kind"] != "identity":
            click.echo(f"    {_equation(row)}")
    click.echo(f"  and {within} within the departments")


def _join(row: dict[str, Any]) -> tuple[str, ...]:
    left, right = (_short(", ".join(row[side])) for side in ("left_columns", "right_columns"))
    matched = f"{row['left_match']:.0%} of rows match"
    return left, "->", right, row["kind"].replace("_", " "), matched, row["cardinality"]


def _equation(row: dict[str, Any]) -> str:
    return cell(f"{row['left_expression']} = {row['right_expression']}", 240)


def _show_dirt(state: EvidenceState) -> None:
    rows = state.rows(
        "SELECT column_reference AS reference, kind, share, detail FROM diagnostics UNION ALL "
        "SELECT table_reference, 'duplicates', share, detail FROM duplicates ORDER BY reference, kind"
    )
    _grid([(_short(row["reference"]), row["kind"].replace("_", " "), cell(row["detail"], 110)) for row in rows])


def _show_roles(environment: Environment, state: EvidenceState) -> None:
    from coset.identities.explain import realised_identities
    from coset.identities.inventory import load_inventory

    found = realised_identities(state, load_inventory(environment.identities_file))
    shared = [row for row in found if row["sources"] > 1]
    _grid([(row["role"], cell(", ".join(map(_short, row["fiber"])), 190)) for row in shared])


def _show_answers(environment: Environment, state: EvidenceState, truths: tuple[Truth, ...]) -> None:
    """Each question with its answer or why there is none, how it was read, the statement and the checks."""
    from coset.answering.offline import Answered, answer
    from coset.routing.router import Router
    from coset.session.query_session import QuerySession

    with QuerySession(environment) as session:
        with waiting("opening the router"):
            router = Router.open(environment, session)
        for known in truths:
            with waiting("answering"):
                found = answer(known.question.text, router, session, state)
            click.echo(f"  {known.question.text}")
            click.echo(f"    known:    {cell(known.in_words, 110)}")
            if not isinstance(found, Answered):
                click.echo(f"    declined: {cell(found.reason, 160)}")
                continue
            agrees = "the same" if known.agrees(found.rows) else "NOT the same"
            click.echo(f"    answered: {agrees}, {_few(found.rows)}")
            click.echo(f"    read as:  {cell('; '.join(found.reading), 200)}")
            passed = sum(check.outcome == "passed" for check in found.checks)
            click.echo(f"    sql:      {cell(' '.join(found.sql.split()), 100)}  ({passed} checks passed)")


def _few(rows: tuple[tuple[object, ...], ...]) -> str:
    shown = ", ".join(cell(f"{row[0]:.4f}" if isinstance(row[0], float) else row[0], 40) for row in rows[:3])
    return f"{shown} and {len(rows) - 3:,} more" if len(rows) > 3 else shown


def _show_next(folder: Path) -> None:
    from coset.surfaces.command_line import COMMANDS

    _title(f"\nNext: cd {cell(str(folder), 200)}")
    _grid([(typed, gives) for name, typed, gives in NEXT if name in COMMANDS])
