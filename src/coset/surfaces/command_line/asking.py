"""`coset ask`, `coset sql`, `coset calc`: a question in words, one read-only SELECT, an expression.

Of an answer in words, the answer alone goes to standard output and all that it stands on to standard error; or one JSON
document. Exit code 1 when there is no answer.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from coset.errors import UserError
from coset.session.calculator import calculate, describe_functions, format_value
from coset.surfaces.command_line.output import (
    cell,
    console,
    environment_option,
    json_option,
    json_value,
    opened,
    print_json,
    reporting,
    show_rows,
    waiting,
)

if TYPE_CHECKING:
    from coset.use_cases.results import Answer


TABLES = 6


@click.command(name="ask")
@click.argument("question", required=False)
@click.option(
    "--model", metavar="MODEL", help="The model: anthropic:NAME, openai:NAME, google:NAME, ollama:NAME, or URL#NAME."
)
@click.option("--arbiter-model", metavar="MODEL", help="Another model for the arbiter. [default: as --model]")
@click.option("--text-model", metavar="MODEL", help="Another model to read texts with. [default: as --model]")
@click.option("--core", is_flag=True, help="Without roles, routing and records: the plain schema, for comparison.")
@click.option("--quick", is_flag=True, help="Let the offline reasoner answer what it is sure of, without a model.")
@click.option("--interactive", is_flag=True, help="Ask back when the question can be read in several ways.")
@click.option("--budget", type=click.IntRange(100), help="Tokens of details. [default: as of view; 8000 with --core]")
@click.option("--steps", type=click.IntRange(1), default=12, show_default=True, help="The most steps of the agent.")
@click.option("--requests", type=click.IntRange(1), help="The most requests to models, of which the last must answer.")
@click.option(
    "--max-tokens",
    type=click.IntRange(1),
    default=200_000,
    show_default=True,
    help="The most tokens for a question.",
)
@click.option("--max-cost", type=click.FloatRange(0, min_open=True), metavar="DOLLARS", help="The most this may cost.")
@click.option(
    "--timeout", type=click.FloatRange(0.1), default=180.0, show_default=True, help="Seconds a model has for one reply."
)
@click.option(
    "--verify",
    type=click.Choice(["none", "auto", "full"]),
    default="auto",
    show_default=True,
    help="Check the answer by counting, and compute it a second time: never, when in doubt, always.",
)
@click.option("--resume", "run", type=click.IntRange(1), metavar="RUN", help="Go on with a run that was not answered.")
@click.option("-q", "--quiet", is_flag=True, help="Print the answer alone.")
@environment_option
@json_option
def ask_command(
    question: str | None,
    model: str | None,
    arbiter_model: str | None,
    text_model: str | None,
    core: bool,
    quick: bool,
    interactive: bool,
    budget: int | None,
    steps: int,
    requests: int | None,
    max_tokens: int,
    max_cost: float | None,
    timeout: float,
    verify: Literal["none", "auto", "full"],
    run: int | None,
    quiet: bool,
    environment_path: str | None,
    as_json: bool,
) -> None:
    """Answer QUESTION over all sources, with the queries behind the answer.

    A model decides what the question means in terms of your data, computes it with read-only SQL, and checks it. Its
    key comes from the environment (ANTHROPIC_API_KEY, OPENAI_API_KEY, GOOGLE_API_KEY; COSET_MODEL_KEY for an address).
    The model may also be set in coset.yaml (models:) or as COSET_MODEL. Every run is kept: see coset runs. Where no
    model is set, a small built-in reasoner answers what it is sure of, and otherwise says why it does not.

    Exit code 1 when it stopped without an answer: at a limit, or because the model failed.
    """
    from coset.answering.ask import AskOptions
    from coset.answering.models.client import Limits
    from coset.use_cases.ask import ask, resume

    if (question is None) == (run is None):
        raise UserError("give one question, or the run to go on with: --resume RUN")
    if interactive and not sys.stdin.isatty():
        raise UserError("--interactive needs a terminal to ask at: leave it out")
    options = AskOptions(
        model=model,
        arbiter_model=arbiter_model,
        text_model=text_model,
        core=core,
        budget=budget,
        limits=Limits(steps, max_tokens, max_cost, timeout, requests),
        ask_user=ask_user if interactive else None,
        verify=verify,
    )
    with opened(environment_path) as environment:
        workspace = environment.workspace

        def answered() -> Answer:
            if run is not None:
                return resume(workspace, run, options)
            return ask(workspace, question or "", options, reasoner="quick" if quick and not core else None)

        show_answer(answered, interactive=interactive, as_json=as_json, quiet=quiet)


def show_answer(answered: Callable[[], Answer], *, interactive: bool, as_json: bool, quiet: bool) -> None:
    """What `coset ask` and `coset run --resume` print."""
    # A person who is asked back must not have a spinner over the question.
    if interactive:
        answer = answered()
    else:
        with waiting("answering"):
            answer = answered()
    if as_json:
        view = {"view": answer.view.text} if answer.is_declined and answer.view else {}
        print_json({**answer.values(), **view})
    elif answer.is_declined:
        _show_declined(answer)
    else:
        _show(answer, quiet)
    if answer.stopped:
        raise click.exceptions.Exit(1)


def ask_user(question: str, choices: tuple[str, ...]) -> str:
    click.echo(cell(question, 1_000), err=True)
    for number, choice in enumerate(choices, start=1):
        click.echo(f"  {number}. {cell(choice, 400)}", err=True)
    said = str(click.prompt("a number, or in your own words" if choices else "you", err=True)).strip()
    return choices[int(said) - 1] if said.isdecimal() and 1 <= int(said) <= len(choices) else said


def _show_declined(answer: Answer) -> None:
    """Why there is no answer, where it most likely lies, and how to go on."""
    click.echo(f"not sure: {cell(answer.stopped, 600)}", err=True)
    if answer.view is not None and answer.view.matched:
        likely = ", ".join(answer.view.likeliest[:TABLES])
        click.echo(f"most likely it lies in {cell(likely, 400)}", err=True)
    click.echo(f"to see the evidence: coset view {shlex.quote(answer.question)}", err=True)
    click.echo("a language model can answer more: coset ask --model ... (coset ask --help says which)", err=True)


def _show(answer: Answer, quiet: bool) -> None:
    if answer.stopped:
        click.echo(f"no answer: {cell(answer.stopped, 400)}", err=True)
        if answer.rows:
            click.echo("the last result it had:", err=True)
    elif answer.text:
        for line in answer.text.splitlines():
            click.echo(cell(line, 4_000))
    elif not answer.rows:
        click.echo("no rows: the statement ran and found nothing")
    if answer.rows and (answer.stopped or not answer.text):
        show_rows(answer.columns, answer.rows, answer.truncated)
    if not quiet:
        _show_grounds(answer)


def _show_grounds(answer: Answer) -> None:
    """What the answer stands on: assumptions, how it was read, checks, statements, and what it took."""
    for title, lines in (("assumed", answer.assumptions), ("other readings", answer.readings)):
        for line in lines:
            click.echo(f"{title}: {cell(line, 600)}", err=True)
    if answer.reading:
        _show_reading(answer)
    for check in answer.checks:
        if check.outcome in {"failed", "doubt"}:
            click.echo(f"{check.outcome}: {cell(check.name, 40)}: {cell(check.detail, 600)}", err=True)
    for statement in answer.sql:
        click.echo("\n" + "\n".join(cell(line, 4_000) for line in statement.splitlines()), err=True)
    click.echo(f"\n{_in_short(answer)}; run {answer.run}", err=True)


def _show_reading(answer: Answer) -> None:
    """How the question was read without a model, and what was done."""
    click.echo("\nread as", err=True)
    for line in answer.reading:
        click.echo(f"  {cell(line, 400)}", err=True)
    click.echo("then", err=True)
    for number, line in enumerate(answer.plan, start=1):
        click.echo(f"  {number}. {cell(line, 400)}", err=True)


def _in_short(answer: Answer) -> str:
    if answer.mode == "offline":
        passed = sum(check.outcome == "passed" for check in answer.checks)
        why = f" ({'; '.join(answer.doubts)})" if answer.doubts else ""
        return f"without a model, {passed} checks passed, sure to {answer.confidence:.0%}{why}"
    price = f", ${answer.cost:.4f}" if answer.cost is not None else ""
    requests = f"{len(answer.steps)} {'request' if len(answer.steps) == 1 else 'requests'}"
    return f"confidence {answer.confidence:.2f}, {requests}, {answer.tokens:,} tokens{price}"


@click.command(name="sql")
@click.argument("statement", required=False)
@click.option("-f", "--file", "statement_file", type=click.Path(dir_okay=False), help="Read the statement from a file.")
@click.option(
    "--rows", "max_rows", type=click.IntRange(1), default=1000, show_default=True, help="The most rows to show."
)
@click.option("--seconds", type=click.FloatRange(0.1), default=60.0, show_default=True, help="The most time to take.")
@click.option("--memory", type=click.FloatRange(0.1), default=4.0, show_default=True, help="The most memory, in GB.")
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")
@click.option("-v", "--verbose", is_flag=True, help="Say how each table was read and how many rows travelled.")
@environment_option
@json_option
def sql_command(
    statement: str | None,
    statement_file: str | None,
    max_rows: int,
    seconds: float,
    memory: float,
    as_csv: bool,
    verbose: bool,
    environment_path: str | None,
    as_json: bool,
) -> None:
    """Run one read-only SELECT, in DuckDB's SQL, across all sources.

    Tables are named source.table, or source.schema.table where a source has schemas. STATEMENT may be - for standard
    input. Small tables are copied locally and kept while they do not change; of large ones, columns, filters, limits
    and plain aggregates are asked of their own database.

    \b
    coset sql "SELECT c.name, sum(o.amount) FROM crm.customers c JOIN orders.orders o ON o.buyer = c.id GROUP BY ALL"
    """
    from coset.session import WorkerLimits

    text = _statement(statement, statement_file)
    limits = WorkerLimits(seconds=seconds, memory_bytes=int(memory * 2**30), max_rows=max_rows)
    with reporting() as report, opened(environment_path, limits) as environment:
        result = environment.sql(text, report=report)
    if as_json:
        print_json(
            {
                "columns": [{"name": n, "type": t} for n, t in zip(result.columns, result.types, strict=True)],
                "rows": [[json_value(value) for value in row] for row in result.rows],
                "row_count": len(result),
                "truncated": result.truncated,
                "seconds": round(result.seconds, 4),
                "tables": [{"table": u.table, "reading": u.reading, "rows": u.rows} for u in result.uses],
            }
        )
        return
    if as_csv:
        import pyarrow.csv as arrow_csv

        arrow_csv.write_csv(result.table, sys.stdout.buffer)
    else:
        from rich import box
        from rich.markup import escape
        from rich.table import Table as Grid

        grid = Grid(box=box.SIMPLE_HEAD, header_style="bold")
        numeric = ("INT", "DOUBLE", "FLOAT", "DECIMAL")
        for name, kind in zip(result.columns, result.types, strict=True):
            right = any(word in kind for word in numeric) and "(" not in kind.replace("DECIMAL(", "")
            grid.add_column(escape(cell(name)), justify="right" if right else "left", overflow="fold")
        for row in result.rows:
            grid.add_row(*[escape(cell(value)) for value in row])
        console().print(grid)
    count = len(result)
    more = " (truncated: there are more, see --rows and LIMIT)" if result.truncated else ""
    click.echo(f"{count:,} {'row' if count == 1 else 'rows'} in {result.seconds:.2f} s{more}", err=True)
    if verbose:
        for use in result.uses:
            travelled = f", {use.rows:,} rows travelled" if use.rows else ""
            click.echo(f"  {use.table}: {use.reading}{travelled}", err=True)


def _statement(statement: str | None, file: str | None) -> str:
    if (statement is None) == (file is None):
        raise UserError("give one statement: as the argument, as - for standard input, or with --file")
    if file is not None:
        try:
            return Path(file).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(f"cannot read the statement from '{file}'") from error
    return sys.stdin.read() if statement == "-" else statement or ""


@click.command(name="calc", epilog="Functions: coset calc --functions")
@click.argument("expression", required=False)
@click.option("--functions", is_flag=True, help="List every function with what it does.")
@json_option
def calc_command(expression: str | None, functions: bool, as_json: bool) -> None:
    """Work out an expression: arithmetic, statistics, dates and sets over literal lists.

    EXPRESSION may be - for standard input. Numbers are exact decimals; nothing is ever run as code.

    \b
    coset calc "mean([3, 4, 8]) * 1.19"
    coset calc "days_between('2024-02-01', '2024-03-01')"
    coset calc "intersection(['a', 'b'], ['b', 'c'])"
    """
    if functions:
        click.echo(describe_functions())
        return
    if expression is None:
        raise click.UsageError("give an expression, or --functions for what there is")
    text = sys.stdin.read() if expression == "-" else expression
    value = calculate(text)
    if as_json:
        print_json({"expression": text, "value": json_value(value), "text": format_value(value)})
    else:
        click.echo(format_value(value))
