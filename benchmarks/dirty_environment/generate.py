"""A dirty environment from a clean database, from top to bottom.

In: a clean database, an empty folder, a seed. Out: the files of all sources, `coset.yaml`, and the truth. The same seed
gives the same environment.
"""

from __future__ import annotations

from pathlib import Path

from .clean import CleanDatabase
from .dangle_keys import dangle_keys
from .draft import Draft, start_draft
from .duplicate_entities import duplicate_entities
from .measure import measure
from .move_into_text import move_into_text
from .options import Dirt, Options, preset
from .place_tables import place_tables
from .plant_diagnostics import plant_diagnostics
from .read_back import read_back
from .rename import rename
from .split_tables import split_tables
from .truth import Truth, write_truth
from .write_keys import write_keys
from .write_sources import write_configuration, write_source
from .written_table import written_tables

STEPS = (
    duplicate_entities,
    dangle_keys,
    move_into_text,
    split_tables,
    place_tables,
    write_keys,
    plant_diagnostics,
    rename,
)


def make_dirty_environment(
    database: CleanDatabase,
    folder: Path | str,
    *,
    seed: int = 0,
    dirt: Dirt = "medium",
    options: Options | None = None,
) -> Truth:
    """Write the environment into `folder` and return what is true of it. `options` replaces the preset of `dirt`."""
    folder = Path(folder)
    if folder.exists() and any(folder.iterdir()):
        raise ValueError(f"'{folder}' is not empty: name a new folder")
    options = options or preset(dirt)
    if not options.engines or not any(table.rows for table in database.tables):
        raise ValueError("an environment needs at least one engine and one table with rows")
    draft = start_draft(database, seed, options.max_rows)
    for step in STEPS:
        step(draft, options)
    folder.mkdir(parents=True, exist_ok=True)
    sources = _write(draft, folder, options)
    with read_back(folder, sources) as connection:
        truth = measure(draft, connection, {name: engine for name, (engine, _) in sources.items()})
    write_truth(truth, folder)
    return truth


def _write(draft: Draft, folder: Path, options: Options) -> dict[str, tuple[str, str]]:
    sources: dict[str, tuple[str, str]] = {}
    for name, engine in sorted({(table.source, table.engine) for table in draft.tables}):
        tables = [
            written
            for table in draft.tables
            if table.source == name
            for written in written_tables(table, declare_primary_key=options.declare_primary_keys)
        ]
        sources[name] = engine, write_source(engine, name, tables, folder)
    write_configuration(folder, {name: location for name, (_, location) in sources.items()})
    return sources
