"""`coset readings`, `identities`, `labelers`, `teach`, `note`: what tables and columns mean, and corrections of it."""

from __future__ import annotations

from pathlib import Path

import click

from coset.errors import UserError
from coset.surfaces.command_line.output import cell, console, environment_option, json_option, opened, print_json


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
def readings_command(
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


@click.command(name="note")
@click.argument("name", required=False)
@click.argument("text", required=False)
@click.option("--list", "list_them", is_flag=True, help="List all notes.")
@click.option("--remove", type=int, metavar="NUMBER", help="Remove one note.")
@environment_option
@json_option
def note_command(
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


@click.command(name="identities")
@click.argument("role", required=False)
@click.option("--all", "whole_inventory", is_flag=True, help="List the inventory itself, with the meaning of each id.")
@click.option("--limit", type=click.IntRange(1), default=40, show_default=True, help="The most roles to list.")
@environment_option
@json_option
def identities_command(
    role: str | None, whole_inventory: bool, limit: int, environment_path: str | None, as_json: bool
) -> None:
    """List the roles that columns of this environment play, those that span several sources first: each with its
    fiber (the columns assigned to it) and its strongest competitors. With a ROLE such as customer.identifier, its
    whole fiber."""
    from coset.identities.inventory import COORDINATES, load_inventory
    from coset.use_cases.evidence import realised

    with opened(environment_path) as environment:
        inventory = load_inventory(environment.configuration.identities_file)
        found = [] if whole_inventory else realised(environment.workspace, role)
    if whole_inventory:
        listed = [
            {"coordinate": coordinate, "id": one.id, "name": one.name, "meaning": one.meaning, "own": one.own}
            for coordinate in COORDINATES
            for one in inventory.of(coordinate)
        ]
        if as_json:
            print_json({"inventory": listed})
        else:
            for item in listed:
                click.echo(f"{item['coordinate']:9}  {item['id']:16}  {cell(item['meaning'], 110)}")
        return
    shown = found if role else found[:limit]
    if as_json:
        print_json({"identities": shown, "left_out": len(found) - len(shown)})
        return
    from rich.markup import escape
    from rich.table import Table as Grid

    grid = Grid(box=None, pad_edge=False, header_style="bold")
    for title in ("role", "columns", "sources", "membership", "fiber", "competitors"):
        grid.add_column(title, overflow="fold")
    for row in shown:
        fiber = row["fiber"] if role else row["fiber"][:3]
        more = f" and {len(row['fiber']) - len(fiber)} more" if len(row["fiber"]) > len(fiber) else ""
        grid.add_row(
            row["role"], str(row["objects"]), str(row["sources"]), f"{row['membership']:.2f}",
            escape(cell(", ".join(fiber), 2000 if role else 160)) + more,
            f"{row['entity_competitor']}, {row['attribute_competitor']}",
        )  # fmt: skip
    console().print(grid)
    if len(found) > len(shown):
        click.echo(f"{len(found) - len(shown)} more roles: --limit, or --json")


@click.command(name="labelers")
@environment_option
@json_option
def labelers_command(environment_path: str | None, as_json: bool) -> None:
    """Per labeler over this environment: coverage (share of objects it speaks of), overlap (another speaks too),
    conflict (another contradicts it), and the accuracy that the label model learned for it."""
    from coset.environment.configuration import load_environment
    from coset.identities.inventory import COORDINATES
    from coset.identities.labelers import LABELERS, added_labelers
    from coset.identities.model import load_model
    from coset.identities.signals import labeler_table
    from coset.identities.store import IdentityStore
    from coset.state import EvidenceState

    environment = load_environment(environment_path)
    model = load_model(environment.identities_file)
    meanings = {labeler.name: labeler.meaning for labeler in (*LABELERS, *added_labelers())}
    rows = []
    with EvidenceState.read(environment.state_folder) as state:
        store = IdentityStore(state)
        store.require()
        for coordinate in COORDINATES:
            objects = store.signals(coordinate, model.inventory)
            for row in labeler_table(objects, model.coordinates[coordinate].labels, coordinate):
                rows.append({**row, "looks at": meanings.get(str(row["labeler"]), "")})
    if as_json:
        print_json({"labelers": rows})
        return
    from rich.table import Table as Grid

    grid = Grid(box=None, pad_edge=False, header_style="bold")
    for title in ("labeler", "coordinate", "says", "coverage", "overlap", "conflict", "accuracy", "looks at"):
        grid.add_column(title, overflow="fold")
    for row in rows:
        shares = [f"{row[name]:.1%}" for name in ("coverage", "overlap", "conflict")]
        grid.add_row(
            str(row["labeler"]),
            str(row["coordinate"]),
            str(row["says"]),
            *shares,
            f"{row['accuracy']:.2f}",
            str(row["looks at"]),
        )
    console().print(grid)


@click.command(name="teach")
@click.argument("name", required=False)
@click.argument("role", required=False)
@click.option("--not", "negative", is_flag=True, help="The object is not this.")
@click.option("--list", "list_them", is_flag=True, help="List what was taught.")
@click.option("--revoke", type=int, metavar="NUMBER", help="Take one statement back.")
@environment_option
@json_option
def teach_command(
    name: str | None,
    role: str | None,
    negative: bool,
    list_them: bool,
    revoke: int | None,
    environment_path: str | None,
    as_json: bool,
) -> None:
    """Say which role a table or column plays: its NAME as a view or `coset show` prints it, and ROLE such as
    customer.identifier, `customer.` (the entity alone) or `.identifier` (the attribute alone).

    What you teach wins over what was inferred, moves look-alikes too, and is never lost on refresh.

    \b
    coset teach crm/orders.buyer customer.identifier
    coset teach crm/orders.buyer --not .name
    """
    with opened(environment_path) as environment:
        teaching = None
        if revoke is not None:
            teaching = environment.revoke(revoke)
        elif not list_them:
            if not name or not role:
                raise UserError("give a NAME and a ROLE, --list, or --revoke NUMBER")
            teaching = environment.teach(name, role, negative=negative)
        statements = environment.taught()
    if as_json:
        print_json({"statements": statements, "changes": teaching.changes if teaching else ()})
        return
    if teaching is None:
        for said in statements:
            click.echo(f"{said.number}  {said.reference} {'is' if said.supports else 'is not'} {said.identity}")
        return
    click.echo("taken back" if revoke is not None else "taught")
    for change in teaching.changes:
        click.echo(f"{change.reference}: {change.before} -> {change.after}")
