"""`coset map`: a picture of objects, prototypes, fibers and radii."""

from __future__ import annotations

from pathlib import Path

import click

from coset.errors import UserError
from coset.surfaces.command_line.output import environment_option


@click.command(name="map")
@click.option("-o", "--out", type=click.Path(path_type=Path), default=Path("map.html"), show_default=True,
              metavar="FILE", help="Where the page goes: one HTML file that needs nothing else.")  # fmt: skip
@click.option("--coordinate", type=click.Choice(["entity", "attribute"]), default="attribute", show_default=True)
@environment_option
def command(out: Path, coordinate: str, environment_path: str | None) -> None:
    """Draw what was understood: every object at its place, every prototype as this environment realises it, with
    fibers by colour and stability radii as rings. Opens in any browser, offline."""
    from coset.environment.configuration import load_environment
    from coset.identities.inventory import load_inventory
    from coset.identities.picture import picture
    from coset.state import EvidenceState

    environment = load_environment(environment_path)
    if out.suffix.lower() not in (".html", ".htm"):
        raise UserError(f"'{out}': the map is an HTML page, give it a name that ends with .html")
    with EvidenceState.read(environment.state_folder) as state:
        page = picture(
            state,
            load_inventory(environment.identities_file),
            "entity" if coordinate == "entity" else "attribute",
            f"coset: {environment.path.parent.name}",
        )
    try:
        out.write_text(page, encoding="utf-8")
    except OSError as error:
        raise UserError(f"cannot write {out}: {error.strerror}") from None
    click.echo(str(out))
