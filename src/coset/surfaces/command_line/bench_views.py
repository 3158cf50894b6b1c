"""`coset bench views`: how much of what questions need their views show."""

from __future__ import annotations

from pathlib import Path

import click

from coset.routing.budgets import DETAILS
from coset.surfaces.command_line.output import environment_option, json_option, print_json, waiting


@click.command()
@click.option("--questions", "path", type=click.Path(path_type=Path), required=True, metavar="FILE",
              help="A JSON list of questions with id, question, tables, columns, documents.")  # fmt: skip
@click.option("--budget", type=click.IntRange(min=1), default=DETAILS, show_default=True, help="As of `coset view`.")
@click.option("--no-directory", is_flag=True, help="As of `coset view`.")
@click.option("--each", is_flag=True, help="Also a line for each question: what is missing.")
@environment_option
@json_option
def views(path: Path, budget: int, no_directory: bool, each: bool, environment_path: str | None, as_json: bool) -> None:
    """Score the view of each question against the tables, columns and documents that it needs.

    A table counts as detailed where the view describes it, and as named where at least the directory lists it.

    \b
    coset bench views --questions questions.json --each
    """
    from dataclasses import asdict

    from coset.benchmark.views import read_view_questions, score_view, summary_of
    from coset.environment.configuration import load_environment
    from coset.routing.router import Router
    from coset.session.query_session import QuerySession

    asked = read_view_questions(path)
    environment = load_environment(environment_path)
    scores = []
    with QuerySession(environment) as session:
        with waiting("reading the evidence state"):
            router = Router.open(environment, session)
        for question in asked:
            score = score_view(question, router.view(question.question, budget, directory=not no_directory))
            scores.append(score)
            if each and not as_json:
                click.echo(
                    f"{score.id} {score.detailed}/{score.tables} tables; not detailed: {_listed(score.not_detailed)}; "
                    f"not named: {_listed(score.not_named)}; columns not shown: {_listed(score.not_shown)}; "
                    f"documents not shown: {_listed(score.without_documents)}"
                )
    summary = summary_of(scores)
    if as_json:
        print_json({"summary": asdict(summary), "questions": [asdict(score) for score in scores]})
    else:
        click.echo(summary.text)


def _listed(names: tuple[str, ...]) -> str:
    return " ".join(names) or "-"
