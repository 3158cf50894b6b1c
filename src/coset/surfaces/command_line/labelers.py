"""`coset labelers`: who speaks for and against roles, how often, and how far each is trusted."""

from __future__ import annotations

import click

from coset.surfaces.command_line.output import console, environment_option, json_option, print_json


@click.command(name="labelers")
@environment_option
@json_option
def command(environment_path: str | None, as_json: bool) -> None:
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
