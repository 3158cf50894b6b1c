"""`coset note`: what a person says of something, kept apart from what was inferred."""

from __future__ import annotations

import click

from coset.errors import UserError
from coset.surfaces.command_line.output import cell, environment_option, json_option, opened, print_json


@click.command(name="note")
@click.argument("name", required=False)
@click.argument("text", required=False)
@click.option("--list", "list_them", is_flag=True, help="List all notes.")
@click.option("--remove", type=int, metavar="NUMBER", help="Remove one note.")
@environment_option
@json_option
def command(
    name: str | None,
    text: str | None,
    list_them: bool,
    remove: int | None,
    environment_path: str | None,
    as_json: bool,
) -> None:
    """Say something about a source, table or column: its NAME as a view or `coset show` prints it, and TEXT.

    Notes are kept apart from what was inferred, survive every refresh, and win over it.
    """
    with opened(environment_path) as environment:
        if remove is not None:
            environment.remove_note(remove)
        elif not list_them:
            if not name or not text:
                raise UserError("give a NAME and a TEXT, --list, or --remove NUMBER")
            environment.note(name, text)
        notes = environment.notes()
    if as_json:
        print_json({"notes": [{"number": note.number, "about": note.about, "text": note.text} for note in notes]})
    elif list_them:
        for note in notes:
            click.echo(f"{note.number}  {cell(note.about, 400)}: {cell(note.text, 500)}")
    else:
        click.echo("removed" if remove is not None else "noted")
