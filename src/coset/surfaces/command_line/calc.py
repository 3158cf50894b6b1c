"""`coset calc`: a calculator that parses and never evaluates code."""

from __future__ import annotations

import sys

import click

from coset.session.calculator import calculate, describe_functions, format_value
from coset.surfaces.command_line.output import json_option, json_value, print_json


@click.command(name="calc", epilog="Functions: coset calc --functions")
@click.argument("expression", required=False)
@click.option("--functions", is_flag=True, help="List every function with what it does.")
@json_option
def command(expression: str | None, functions: bool, as_json: bool) -> None:
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
