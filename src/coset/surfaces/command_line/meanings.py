"""`coset readings`, `identities`, `labelers`, `teach`, `note`: what tables and columns mean, and corrections of it."""

from __future__ import annotations

from pathlib import Path

import click

from coset.errors import UserError
from coset.surfaces.command_line.output import (
    cell,
    csv_option,
    environment_option,
    json_option,
    opened,
    print_json,
    show_list,
)


@click.command(name="readings")
@click.argument("reference", required=False)
@click.option("--reader", "readers", multiple=True, metavar="READER", help="Only what this reader says (repeatable).")
@click.option("--below", type=float, metavar="SHARE", help="Only readings less sure than this.")
@click.option("--all", "every", is_flag=True, help="Every reading of an object, not the best alone.")
@click.option("--export", "export_to", type=click.Path(dir_okay=False), metavar="FILE", help="Write them to a file.")
@click.option(
    "--import", "import_from", type=click.Path(exists=True, dir_okay=False), metavar="FILE", help="Take a file over."
)
@csv_option
@environment_option
@json_option
def readings_command(
    reference: str | None,
    readers: tuple[str, ...],
    below: float | None,
    every: bool,
    export_to: str | None,
    import_from: str | None,
    as_csv: bool,
    environment_path: str | None,
    as_json: bool,
) -> None:
    """What tables and columns are, in plain words: of all, or of REFERENCE (a source, a table, a column).

    A person's reading wins over all others; write one with --import, or into coset.corrections.yaml.
    """
    from coset.use_cases.readings import export_readings, import_readings, list_readings

    with opened(environment_path) as place:
        environment, told = place.configuration, place.workspace.names().told
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
                        "reference": each.reference, "sql_name": told(each.reference), "name": each.name,
                        "meaning": each.meaning, "synonyms": list(each.synonyms), "reader": each.reader,
                        "confidence": each.confidence, "source": each.source,
                    }
                    for each in found
                ]
            }
        )  # fmt: skip
    else:
        show_list(
            ("of", "what it is", "who says so", "sure"),
            [
                (
                    each.reference, f"{each.name}: {each.meaning}" if each.meaning else each.name, each.reader,
                    f"{each.confidence:.2f}",
                )
                for each in found
            ],
            as_csv=as_csv, told=told,
        )  # fmt: skip


@click.command(name="note")
@click.argument("name", required=False)
@click.argument("text", required=False)
@click.option("--list", "list_them", is_flag=True, help="List all notes.")
@click.option("--remove", type=int, metavar="NUMBER", help="Remove one note.")
@csv_option
@environment_option
@json_option
def note_command(
    name: str | None,
    text: str | None,
    list_them: bool,
    remove: int | None,
    as_csv: bool,
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
        notes, told = environment.notes(), environment.workspace.names().told
    if as_json:
        print_json({"notes": [{"number": note.number, "about": note.about, "text": note.text} for note in notes]})
    elif list_them:
        show_list(
            ("number", "about", "note"), [(each.number, told(each.about), each.text) for each in notes],
            right=("number",), as_csv=as_csv,
        )  # fmt: skip
    else:
        click.echo("removed" if remove is not None else "noted")


@click.command(name="identities")
@click.argument("role", required=False)
@click.option("--all", "whole_inventory", is_flag=True, help="List the inventory itself, with the meaning of each id.")
@click.option("--limit", type=click.IntRange(1), default=40, show_default=True, help="The most roles to list.")
@csv_option
@environment_option
@json_option
def identities_command(
    role: str | None, whole_inventory: bool, limit: int, as_csv: bool, environment_path: str | None, as_json: bool
) -> None:
    """List the roles that columns of this environment play, those that span several sources first: each with the
    columns that play it (its fiber) and the roles that come next (its competitors). With a ROLE such as
    customer.identifier, all of its columns."""
    from coset.identities.inventory import COORDINATES, load_inventory
    from coset.use_cases.evidence import realised

    with opened(environment_path) as environment:
        inventory = load_inventory(environment.configuration.identities_file)
        found = [] if whole_inventory else realised(environment.workspace, role)
        told = environment.workspace.names().told
    if whole_inventory:
        listed = [
            {"coordinate": coordinate, "id": one.id, "name": one.name, "meaning": one.meaning, "own": one.own}
            for coordinate in COORDINATES
            for one in inventory.of(coordinate)
        ]
        if as_json:
            print_json({"inventory": listed})
        else:
            show_list(
                ("coordinate", "id", "meaning"),
                [(item["coordinate"], item["id"], item["meaning"]) for item in listed], as_csv=as_csv,
            )  # fmt: skip
        return
    shown = found if role or as_csv else found[:limit]
    if as_json:
        print_json({"identities": shown, "left_out": len(found) - len(shown)})
        return
    most = len(found) and max(len(row["fiber"]) for row in found) if role or as_csv else 3
    rows = []
    for row in shown:
        more = f" and {len(row['fiber']) - most} more" if len(row["fiber"]) > most else ""
        rows.append(
            (
                row["role"], row["objects"], row["sources"], f"{row['membership']:.2f}",
                ", ".join(map(told, row["fiber"][:most])) + more,
                f"{row['entity_competitor']}, {row['attribute_competitor']}",
            )
        )  # fmt: skip
    show_list(
        ("role", "columns", "sources", "membership", "played by", "next"), rows, right=("columns", "sources"),
        as_csv=as_csv,
    )  # fmt: skip
    if len(found) > len(shown):
        click.echo(f"{len(found) - len(shown)} more roles: --limit, --csv or --json")


@click.command(name="labelers")
@csv_option
@environment_option
@json_option
def labelers_command(as_csv: bool, environment_path: str | None, as_json: bool) -> None:
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
    show_list(
        ("labeler", "coordinate", "says", "coverage", "overlap", "conflict", "accuracy", "looks at"),
        [
            (
                row["labeler"], row["coordinate"], row["says"], f"{row['coverage']:.1%}", f"{row['overlap']:.1%}",
                f"{row['conflict']:.1%}", f"{row['accuracy']:.2f}", row["looks at"],
            )
            for row in rows
        ],
        right=("coverage", "overlap", "conflict", "accuracy"), as_csv=as_csv,
    )  # fmt: skip


@click.command(name="teach")
@click.argument("name", required=False)
@click.argument("role", required=False)
@click.option("--not", "negative", is_flag=True, help="The object is not this.")
@click.option("--list", "list_them", is_flag=True, help="List what was taught.")
@click.option("--revoke", type=int, metavar="NUMBER", help="Take one statement back.")
@csv_option
@environment_option
@json_option
def teach_command(
    name: str | None,
    role: str | None,
    negative: bool,
    list_them: bool,
    revoke: int | None,
    as_csv: bool,
    environment_path: str | None,
    as_json: bool,
) -> None:
    """Say which role a table or column plays: its NAME as a view or `coset show` prints it, and ROLE such as
    customer.identifier, `customer.` (the entity alone) or `.identifier` (the attribute alone).

    What you teach wins over what was inferred, moves look-alikes too, and is never lost on refresh.

    \b
    coset teach crm.orders.buyer customer.identifier
    coset teach crm.orders.buyer --not .name
    """
    with opened(environment_path) as environment:
        teaching = None
        if revoke is not None:
            teaching = environment.revoke(revoke)
        elif not list_them:
            if not name or not role:
                raise UserError("give a NAME and a ROLE, --list, or --revoke NUMBER")
            teaching = environment.teach(name, role, negative=negative)
        statements, told = environment.taught(), environment.workspace.names().told
    if as_json:
        print_json({"statements": statements, "changes": teaching.changes if teaching else ()})
        return
    if teaching is None:
        show_list(
            ("number", "about", "", "role"),
            [(said.number, said.reference, "is" if said.supports else "is not", said.identity) for said in statements],
            right=("number",), as_csv=as_csv, told=told,
        )  # fmt: skip
        return
    click.echo("taken back" if revoke is not None else "taught")
    for change in teaching.changes:
        click.echo(f"{told(change.reference)}: {change.before} -> {change.after}")
