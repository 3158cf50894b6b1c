"""`coset demo`: a company made on the spot, comprehended, and asked its five questions without a model."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from coset.errors import CosetError
from coset.surfaces.command_line.output import cell, opened, reporting, waiting

if TYPE_CHECKING:
    from coset.demo.questions import Tried


@click.command(name="demo")
@click.argument("folder", type=click.Path(path_type=Path), default=Path("coset-demo"), metavar="[FOLDER]")
@click.option("--seed", type=click.IntRange(0), default=7, show_default=True, help="Another seed is another company.")
@click.option("--small", is_flag=True, help="The short form: a quarter of the customers and rows.")
@click.option("--only-data", is_flag=True, help="Make the folder with its coset.yaml, and stop there.")
def command(folder: Path, seed: int, small: bool, only_data: bool) -> None:
    """Make a small company in FOLDER (coset-demo if not named), comprehend it, and answer five questions about it.

    Two departments sell two products and keep their customers in two engines under two names; a help desk and an
    office with code tables serve both. All of it is made up on the spot from the seed: nothing is downloaded, no server
    and no key is needed. FOLDER must be new or empty, or an earlier demo of the same company.

    Exit code 1 when an answer is not what the company was made with.
    """
    from coset.demo import make_company, prepare_folder, truth
    from coset.demo.folder import can_read_dumps, check_folder, which_company
    from coset.demo.questions import ask_questions, comprehend_demo
    from coset.surfaces.command_line import demo_pages as pages

    check_folder(folder, which_company(seed, small))
    started = time.monotonic()
    with waiting("making the company"):
        company = make_company(seed, small=small)
        made = prepare_folder(folder, company)
    where, how = cell(str(folder), 200), f"made in {_since(started)}" if made else "already there"
    pages.title(f"A company in {where}: {company.rows:,} rows, seed {seed}, {how}")
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
            pages.show_sources(state)
            pages.title(f"\nComprehended in {_since(started)}")
            pages.show_joins(state)
            pages.show_dirt(state)
        pages.show_roles(environment)
        pages.title("\nFive questions, answered without a model")
        click.echo(
            "  The generator of the company knows the truth and marks each answer; `coset ask` shows one in full"
        )
        questions = ask_questions(environment, truth(company))
        while (tried := _next(questions)) is not None:
            pages.show_answer(tried)
            wrong += [] if tried.right else [tried.known.question.text]
    pages.show_next(folder)
    if wrong:
        raise CosetError(f"{len(wrong)} of the demo's answers are not right for seed {seed}: {' '.join(wrong)}")


def _since(started: float) -> str:
    return f"{time.monotonic() - started:.1f} s"


def _next(each: Iterator[Tried]) -> Tried | None:
    with waiting("answering"):
        return next(each, None)
