"""How dirty an environment is to be: every number that the steps ask for, and three presets.

Shares are probabilities or shares of rows between 0 and 1; counts are how many the generator tries to place, fewer
where the database has no fitting column. What was really done stands in the truth, never here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Engine = Literal["sqlite", "duckdb", "csv", "parquet", "jsonl", "pg_dump", "mongodump"]
Dirt = Literal["light", "medium", "heavy"]
ENGINES: tuple[Engine, ...] = ("sqlite", "duckdb", "csv", "parquet", "jsonl", "pg_dump", "mongodump")


@dataclass(frozen=True)
class Options:
    """Explicit settings; `preset` gives the usual ones."""

    engines: tuple[Engine, ...] = ENGINES
    max_rows: int = 20_000
    """Rows kept of each clean table, from its beginning."""

    # names
    synonym_share: float = 0.3
    abbreviation_share: float = 0.25
    prefix_share: float = 0.15
    noise_share: float = 0.03

    # keys
    structure_share: float = 0.5
    """How likely a key column is written in another form on all of its rows."""
    speck_share: float = 0.4
    """How likely a key column has stray characters or blanks on some of its rows."""
    speck_rows: float = 0.15
    dangling_share: float = 0.4
    """How likely a foreign key has rows that point nowhere."""
    dangling_rows: float = 0.04
    declare_primary_keys: bool = False

    # tables
    families: int = 1
    family_members: int = 40
    """A table is split into at most this many tables of one shape."""
    vertical_splits: int = 1

    # rows
    texts: int = 2
    """How many tables have attributes moved into text."""
    facts_per_text: int = 2
    templates_per_fact: int = 1
    duplicate_tables: int = 1
    duplicate_rows: float = 0.05

    # diagnostics, each the number of columns it is planted in
    null_tokens: int = 2
    mixed_dates: int = 2
    mixed_units: int = 1
    stray_characters: int = 1
    padding: int = 1
    mixed_case: int = 1
    sentinels: int = 1
    stale_counters: int = 1
    constants: int = 1
    empties: int = 1
    diagnostic_rows: float = 0.12
    """Share of the rows that a planted diagnostic touches."""


def preset(dirt: Dirt, engines: tuple[Engine, ...] = ENGINES) -> Options:
    """The usual settings for a level of dirt."""
    if dirt == "light":
        return Options(
            engines=engines, synonym_share=0.1, abbreviation_share=0.1, prefix_share=0.05, noise_share=0.0,
            structure_share=0.15, speck_share=0.15, speck_rows=0.05, dangling_share=0.15, dangling_rows=0.01,
            declare_primary_keys=True, families=0, vertical_splits=0, texts=1, facts_per_text=1, duplicate_tables=1,
            duplicate_rows=0.02, null_tokens=1, mixed_dates=1, mixed_units=0, mixed_case=0, sentinels=1,
            diagnostic_rows=0.05,
        )  # fmt: skip
    if dirt == "medium":
        return Options(engines=engines)
    if dirt == "heavy":
        return Options(
            engines=engines, synonym_share=0.45, abbreviation_share=0.45, prefix_share=0.3, noise_share=0.1,
            structure_share=0.85, speck_share=0.7, speck_rows=0.3, dangling_share=0.7, dangling_rows=0.1,
            families=2, vertical_splits=2, texts=4, facts_per_text=3, templates_per_fact=2, duplicate_tables=3,
            duplicate_rows=0.1, null_tokens=5, mixed_dates=4, mixed_units=3, stray_characters=3, padding=3,
            mixed_case=3, sentinels=3, stale_counters=3, constants=2, empties=2, diagnostic_rows=0.25,
        )  # fmt: skip
    raise ValueError(f"'{dirt}' is not a level of dirt: use light, medium or heavy")
