"""`coset sql`: one read-only SELECT across all sources."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from coset.errors import UserError
from coset.surfaces.command_line.output import (
    cell,
    console,
    environment_option,
    json_option,
    json_value,
    opened,
    print_json,
    reporting,
)


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
def command(
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
