"""`coset note`: what a person says of something, kept apart from what was inferred."""

from __future__ import annotations

import click

from coset.errors import UserError
from coset.surfaces.command_line.output import cell, environment_option, json_option, print_json


@click.command(name="note")
@click.argument("reference", required=False)
@click.argument("text", required=False)
@click.option("--list", "list_them", is_flag=True, help="List all notes.")
@click.option("--remove", type=int, metavar="NUMBER", help="Remove one note.")
@environment_option
@json_option
def command(
    reference: str | None,
    text: str | None,
    list_them: bool,
    remove: int | None,
    environment_path: str | None,
    as_json: bool,
) -> None:
    """Say something about a source, table or column: REFERENCE as `coset show` prints it, and TEXT.

    Notes are kept in the evidence state apart from what was inferred, survive every refresh, and win over it.
    """
    from coset.environment.configuration import load_environment
    from coset.evidence.lookup import resolve
    from coset.state import EvidenceState

    environment = load_environment(environment_path)
    EvidenceState.read(environment.state_folder).close()  # Says what to do when there is none.
    with EvidenceState.open(environment.state_folder) as state:
        if remove is not None:
            state.remove_note(remove)
        elif not list_them:
            if not reference or not text:
                raise UserError("give a REFERENCE and a TEXT, --list, or --remove NUMBER")
            state.add_note(resolve(state, reference), text)
        notes = state.notes()
    if as_json:
        print_json({"notes": [{"number": note.number, "about": note.about, "text": note.text} for note in notes]})
    elif list_them:
        for note in notes:
            click.echo(f"{note.number}  {cell(note.about, 400)}: {cell(note.text, 500)}")
    else:
        click.echo("removed" if remove is not None else "noted")
