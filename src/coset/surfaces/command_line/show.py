"""`coset show`: all that is known of one thing, and how it is known."""

from __future__ import annotations

from typing import Any

import click

from coset.surfaces.command_line.output import cell, environment_option, json_option, opened, print_json


@click.command(name="show")
@click.argument("name")
@environment_option
@json_option
def command(name: str, environment_path: str | None, as_json: bool) -> None:
    """Print all that is known of a source, table, family or column, and how it is known.

    NAME is as in SQL (crm.orders.buyer_id), a reference (crm/public/orders.buyer_id), or a short form such as
    orders.buyer_id while it is unambiguous.
    """
    with opened(environment_path) as environment:
        known = environment.show(name)
    if as_json:
        print_json(known)
        return
    click.echo(click.style(cell(known["reference"], 400), bold=True) + f"  ({known['kind']})")
    for section, content in known.items():
        if section in {"reference", "kind"} or content in (None, [], {}):
            continue
        click.echo(f"\n{section}")
        for line in _lines(content):
            click.echo(f"  {line}")


def _lines(content: Any) -> list[str]:
    if isinstance(content, dict):
        return [
            line for key, value in content.items() if value not in (None, [], {}, "") for line in _entries(key, value)
        ]
    if isinstance(content, list):
        return [_one_line(item) for item in content]
    return [cell(content, 2000)]


def _entries(key: str, value: Any) -> list[str]:
    """A list of sentences one below the other; anything else on one line."""
    if isinstance(value, list) and any(isinstance(item, str) and " " in item for item in value):
        return [f"{key}:", *(f"  {cell(item, 300)}" for item in value)]
    return [f"{key}: {cell(value, 400)}"]


def _one_line(item: Any) -> str:
    if not isinstance(item, dict):
        return cell(item, 400)
    return "; ".join(f"{key} {cell(value, 200)}" for key, value in item.items() if value not in (None, [], {}, ""))
