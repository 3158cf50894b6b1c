"""`coset bench list`: every bench, with what it measures."""

from __future__ import annotations

from dataclasses import asdict

import click

from coset.surfaces.command_line.output import json_option, print_json


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
