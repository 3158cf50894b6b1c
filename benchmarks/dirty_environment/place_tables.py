"""Step: every table goes to an engine. One source an engine; the two halves of a table never share one if avoidable."""

from __future__ import annotations

from .draft import Draft
from .options import Options

NAMES = (
    "core", "ledger", "exports", "portal", "archive", "backoffice", "field", "legacy", "vault", "records", "hub",
    "annex",
)  # fmt: skip


def place_tables(draft: Draft, options: Options) -> None:
    rng = draft.chance("engines")
    names = rng.sample(NAMES, len(NAMES))
    sources = dict(zip(options.engines, names, strict=False))
    order = rng.sample(draft.tables, len(draft.tables))
    turns = [engine for _ in range(len(order)) for engine in rng.sample(options.engines, len(options.engines))]
    for table, engine in zip(order, turns, strict=False):
        table.engine = engine
    for table in draft.tables:
        others = [engine for engine in options.engines if table.part_of and engine != table.part_of.engine]
        if table.part_of and table.engine == table.part_of.engine and others:
            table.engine = rng.choice(others)
    for table in draft.tables:
        table.source = sources[table.engine]  # type: ignore[index]
