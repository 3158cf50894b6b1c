"""`coset readings`: what tables and columns are, in plain words, and who says so."""

from __future__ import annotations

from pathlib import Path

import click

from coset.surfaces.command_line.output import cell, environment_option, json_option, print_json


@click.command(name="readings")
@click.argument("reference", required=False)
@click.option("--reader", "readers", multiple=True, metavar="READER", help="Only what this reader says (repeatable).")
@click.option("--below", type=float, metavar="SHARE", help="Only readings less sure than this.")
@click.option("--all", "every", is_flag=True, help="Every reading of an object, not the best alone.")
@click.option("--export", "export_to", type=click.Path(dir_okay=False), metavar="FILE", help="Write them to a file.")
@click.option(
    "--import", "import_from", type=click.Path(exists=True, dir_okay=False), metavar="FILE", help="Take a file over."
)
@environment_option
@json_option
def command(
    reference: str | None,
    readers: tuple[str, ...],
    below: float | None,
    every: bool,
    export_to: str | None,
    import_from: str | None,
    environment_path: str | None,
    as_json: bool,
) -> None:
    """What tables and columns are, in plain words: of all, or of REFERENCE (a source, a table, a column).

    A person's reading wins over all others; write one with --import, or into coset.corrections.yaml.
    """
    from coset.environment.configuration import load_environment
    from coset.use_cases.readings import export_readings, import_readings, list_readings

    environment = load_environment(environment_path)
    if import_from is not None:
        handed = import_readings(environment, Path(import_from).read_text(encoding="utf-8"), Path(import_from).name)
        if as_json:
            print_json({"taken": handed.taken, "unknown": list(handed.unknown)})
        else:
            click.echo(f"{handed.taken} readings taken over")
            for name in handed.unknown[:20]:
                click.echo(f"not here: {cell(name, 300)}")
        return
    found = list_readings(environment, reference, readers=readers, below=below, every=every)
    if export_to is not None:
        Path(export_to).write_text(export_readings(environment, found), encoding="utf-8")
        click.echo(f"{len(found)} readings written to {export_to}")
    elif as_json:
        print_json(
            {
                "readings": [
                    {
                        "reference": each.reference, "name": each.name, "meaning": each.meaning,
                        "synonyms": list(each.synonyms), "reader": each.reader, "confidence": each.confidence,
                        "source": each.source,
                    }
                    for each in found
                ]
            }
        )  # fmt: skip
    else:
        for each in found:
            said = f"{each.name}: {each.meaning}" if each.meaning else each.name
            click.echo(f"{cell(each.reference, 200)}  {cell(said, 300)}  ({each.reader} {each.confidence:.2f})")
