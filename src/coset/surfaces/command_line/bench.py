"""`coset bench`: run a part of coset over tasks on disk and write what it found, for a scorer to read."""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from pathlib import Path

import click

from coset.errors import UserError
from coset.routing.views.budgets import DETAILS
from coset.surfaces.command_line.bench_runs import dab, questions
from coset.surfaces.command_line.output import environment_option, json_option, print_json, waiting


@click.group(name="bench")
def command() -> None:
    """Run coset on benchmark tasks and write its answers."""


command.add_command(dab)
command.add_command(questions)


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
    from coset.identities.matching import rank, read_attributes, realise_schema
    from coset.identities.model import load_model
    from coset.routing.ranking.model import load_routing_encoder

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


@click.command(name="list")
@json_option
def list_benches(as_json: bool) -> None:
    """List every bench with what it measures and how it is run.

    Those under benchmarks/ are scripts of the source checkout.
    """
    from coset.benchmark.catalogue import benches

    found = benches()
    if as_json:
        print_json({"benches": [asdict(bench) for bench in found]})
        return
    width = max(len(bench.name) for bench in found) + 2
    for where, title in (("installed", "coset bench ..."), ("checkout", "In a source checkout")):
        click.echo(click.style(title, bold=True))
        for bench in found:
            if bench.where == where:
                click.echo(f"  {bench.name:<{width}}{bench.measures}\n  {'':<{width}}{bench.command}")


@click.command()
@click.option("--schemas", type=click.Path(path_type=Path), required=True, metavar="FILE",
              help="Databases, one JSON line each, plain or .zst.")  # fmt: skip
@click.option("--questions", type=click.Path(path_type=Path), required=True, metavar="FILE",
              help="Questions, one JSON line each: db, question, and the corpus where there are several.")  # fmt: skip
@click.option("--pool", is_flag=True, help="All databases of the file form one environment.")
@click.option("--evidence/--no-evidence", default=True, show_default=True,
              help="Read the hint that comes with a question (its field evidence) as part of it.")  # fmt: skip
@click.option("--out", "path", type=click.Path(path_type=Path), required=True, metavar="FILE",
              help="Where the answers go: lines of id, tables, columns, kept, seconds.")  # fmt: skip
def routing(schemas: Path, questions: Path, pool: bool, evidence: bool, path: Path) -> None:
    """Rank the tables and columns that each question needs, and say which columns the default view keeps.

    Without --pool each question sees its own database. Gold columns in the file are never read.

    \b
    coset bench routing --schemas schemas.jsonl.zst --questions questions.jsonl.zst --pool --out found.jsonl
    """
    from coset.identities.model import load_model
    from coset.routing.ranking.model import load_routing_model
    from coset.routing.schema_files import read_asked, read_schemas
    from coset.routing.schema_routing import SchemaRouter

    started = time.monotonic()
    model = load_routing_model()
    identities = load_model() if model.ranks_by_demand else None
    databases = {database.key: database for database in read_schemas(schemas)}
    by_name = {key[1]: database for key, database in databases.items()}
    asked = list(read_asked(questions))
    pooled: SchemaRouter | None = None
    if pool:
        with waiting(f"reading {len(databases)} databases"):
            pooled = SchemaRouter(list(databases.values()), model, identities)
    routers: dict[tuple[str, str], SchemaRouter] = {}
    try:
        with path.open("w", encoding="utf-8") as out:
            for question in asked:
                database = databases.get(question.key) or by_name.get(question.key[1])
                router = pooled
                if router is None:
                    if database is None:
                        raise UserError(
                            f"question {question.id} is asked of '{question.key[1]}', which {schemas.name} lacks"
                        )
                    if database.key not in routers:
                        routers[database.key] = SchemaRouter([database], model, identities)
                    router = routers[database.key]
                found = router.route(question.hinted if evidence else question.text)
                line = {
                    "id": question.id, "tables": found.tables, "columns": found.columns, "kept": found.kept,
                    "seconds": round(found.seconds, 6),
                }  # fmt: skip
                out.write(json.dumps(line, ensure_ascii=False) + "\n")
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}") from None
    click.echo(
        f"{len(asked):,} questions over {len(databases):,} databases, {time.monotonic() - started:.1f} s: {path}"
    )


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


for each in (list_benches, routing, views):
    command.add_command(each)
