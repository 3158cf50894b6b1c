"""Records that are alike without sharing a key, weighed by splink on DuckDB.

In: `link_records` of some masters, with the cluster that keys gave each. Out: pairs with their match weight, and what
each attribute adds to it, in words. Which attributes are compared, and by which pairs of them candidates are found,
follows from what the records have. How often two records of one thing agree is learned from the pairs that keys have
linked (a careful guess stands where these are few), how often strangers do, from pairs drawn at random. A pair is
only as good as its margin: where a second record is nearly as like, both
stay apart. Does not know what clusters do with the pairs.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from coset.errors import CosetError, UserError
from coset.relations.links.records import RECORDS, names_agree

if TYPE_CHECKING:
    import duckdb

LEAST_FILLED = 0.05
MOST_PAIRS = 5_000_000
SAMPLED_PAIRS = 500_000.0
LEAST_LABELLED = 30
LIKELY = 0.99
"""From this probability on two records are one thing."""
PERHAPS = 0.5
MARGIN = 3.0
"""So many bits must lie between the likest record of a table and the next."""
TELLING = ("birth", "email", "phone", "bank_account", "tax", "street", "postal_code")
COMPARED = ("birth", "email", "phone", "street", "postal_code", "city", "country")
INSTALL = "splink is not installed: pip install 'coset[links]'"


@dataclass(frozen=True)
class Likeness:
    left: int
    right: int
    probability: float
    weight: float
    words: str
    sure: bool
    """Whether it is likely enough, agrees in more than a name, and has no near rival."""


def has_splink() -> bool:
    import importlib.util

    return importlib.util.find_spec("splink") is not None


def likenesses(connection: duckdb.DuckDBPyConnection, masters: Sequence[int]) -> list[Likeness]:
    """Pairs of records of these masters that are alike and in different clusters. `link_clusters` (record, cluster)
    holds
    what keys have linked. Raises `UserError` when splink is missing, `CosetError` when there are too many
    candidates."""
    numbers = ", ".join(map(str, masters))
    columns = ", ".join(COMPARED)
    connection.execute(
        "CREATE OR REPLACE TEMP TABLE link_compared AS SELECT r.record AS unique_id, r.master, r.name, "
        f"left(r.name, 4) AS start, {columns}, c.cluster FROM {RECORDS} r LEFT JOIN link_clusters c USING (record) "
        f"WHERE r.master IN ({numbers}) AND r.name IS NOT NULL AND len(r.words) >= 2"
    )
    counts = ", ".join(f"count({name}), count(DISTINCT {name})" for name in COMPARED)
    [row] = connection.execute(f"SELECT count(*), {counts} FROM link_compared").fetchall()
    rows = row[0]
    usable = [
        name
        for place, name in enumerate(COMPARED)
        if row[1 + 2 * place] >= LEAST_FILLED * rows and row[2 + 2 * place] > 1
    ]
    if rows < 2 or not set(usable) & set(TELLING):
        return []  # A name and a country tell nobody.
    rules = _blocking(usable)
    _refuse_too_many(connection, rules)
    _predicted(connection, usable, rules)
    return _judged(connection, usable)


def _blocking(usable: Sequence[str]) -> list[tuple[str, ...]]:
    rules: list[tuple[str, ...]] = [("name",)]
    rules += [(name, "start") for name in ("postal_code", "city") if name in usable][:1]
    rules += [(name,) for name in ("birth", "email", "phone") if name in usable]
    return rules


def _refuse_too_many(connection: duckdb.DuckDBPyConnection, rules: Sequence[tuple[str, ...]]) -> None:
    total = 0
    for rule in rules:
        columns = ", ".join(rule)
        filled = " AND ".join(f"{column} IS NOT NULL" for column in rule)
        [(pairs,)] = connection.execute(
            f"SELECT coalesce(sum(n * (n - 1) / 2), 0) FROM (SELECT count(*) AS n FROM link_compared WHERE {filled} "
            f"GROUP BY {columns})"
        ).fetchall()
        total += int(pairs)
    if total > MOST_PAIRS:
        raise CosetError(f"likeness was not weighed: {total:,} pairs of records begin alike, more than {MOST_PAIRS:,}")


def _predicted(connection: duckdb.DuckDBPyConnection, usable: Sequence[str], rules: Sequence[tuple[str, ...]]) -> None:
    """Splink's pairs with their weights, in `link_likely`."""
    try:
        from splink import DuckDBAPI, Linker, SettingsCreator, block_on
    except ImportError:
        raise UserError(INSTALL) from None
    logging.getLogger("splink").setLevel(logging.ERROR)
    [(labelled,)] = connection.execute(
        "SELECT coalesce(sum(n * (n - 1) / 2), 0) FROM (SELECT count(*) AS n FROM link_compared WHERE cluster IS "
        "NOT NULL "
        "GROUP BY cluster)"
    ).fetchall()
    [(rows,)] = connection.execute("SELECT count(*) FROM link_compared").fetchall()
    settings = SettingsCreator(
        link_type="dedupe_only",
        comparisons=_comparisons(usable),
        blocking_rules_to_generate_predictions=[block_on(*rule) for rule in rules],
        probability_two_random_records_match=min(0.5, max(1e-7, float(labelled or 1) / (rows * (rows - 1) / 2))),
        retain_intermediate_calculation_columns=True,
        retain_matching_columns=True,
        additional_columns_to_retain=["master", "cluster"],
    )
    api = DuckDBAPI(connection=connection)
    linker = Linker(api.register("link_compared"), settings, log_level=logging.ERROR)
    linker.training.estimate_u_using_random_sampling(max_pairs=SAMPLED_PAIRS, seed=1)
    if labelled >= LEAST_LABELLED:
        linker.training.estimate_m_from_label_column("cluster")
    found = linker.inference.predict(threshold_match_probability=PERHAPS)
    connection.execute(f"CREATE OR REPLACE TEMP TABLE link_likely AS FROM {found.physical_name}")


def _comparisons(usable: Sequence[str]) -> list[Any]:
    import splink.comparison_level_library as level
    import splink.comparison_library as library

    name = library.CustomComparison(
        output_column_name="name",
        comparison_levels=[
            level.NullLevel("name"),
            level.ExactMatchLevel("name", term_frequency_adjustments=True),
            level.JaroWinklerLevel("name", 0.94),
            level.JaroWinklerLevel("name", 0.85),
            level.ElseLevel(),
        ],
    ).configure(m_probabilities=[0.75, 0.12, 0.08, 0.05])
    fuzzy = {"street": [0.9], "birth": [0.9], "city": [0.92]}
    others = [
        library.JaroWinklerAtThresholds(column, fuzzy[column]).configure(m_probabilities=[0.8, 0.1, 0.1])
        if column in fuzzy
        else library.ExactMatch(column).configure(m_probabilities=[0.85, 0.15])
        for column in usable
    ]
    return [name, *others]


def _judged(connection: duckdb.DuckDBPyConnection, usable: Sequence[str]) -> list[Likeness]:
    weights = ", ".join(f"p.mw_{name}" for name in ("name", *usable))
    telling = [name for name in usable if name in TELLING]
    agree = " OR ".join(f"l.{name} = r.{name}" for name in telling)
    rows = connection.execute(
        f"""
        WITH judged AS (
            SELECT p.unique_id_l AS one, p.unique_id_r AS other, p.match_probability AS probability, p.match_weight
            AS weight,
                   l.master AS one_master, r.master AS other_master, {names_agree("l", "r")} AS alike,
                   coalesce({agree}, false) AS tells, {weights}
            FROM link_likely p JOIN {RECORDS} l ON l.record = p.unique_id_l JOIN {RECORDS} r ON r.record = p.unique_id_r
            WHERE p.cluster_l IS NULL OR p.cluster_r IS NULL OR p.cluster_l <> p.cluster_r
        ), ends AS (
            SELECT one AS record, other_master AS master, other AS rival, weight FROM judged
            UNION ALL SELECT other, one_master, one, weight FROM judged
        ), ranked AS (
            SELECT record, master, rival, weight, weight - coalesce(max(weight) OVER (PARTITION BY record, master
            ORDER BY weight DESC
                   ROWS BETWEEN 1 FOLLOWING AND 1 FOLLOWING), -99) AS margin,
                   row_number() OVER (PARTITION BY record, master ORDER BY weight DESC, rival) AS place FROM ends
        )
        SELECT j.*, a.place = 1 AND a.margin >= {MARGIN} AND b.place = 1 AND b.margin >= {MARGIN} AS alone
        FROM judged j JOIN ranked a ON a.record = j.one AND a.rival = j.other
        JOIN ranked b ON b.record = j.other AND b.rival = j.one ORDER BY weight DESC, one, other
        """
    ).fetchall()
    return [_likeness(row, usable) for row in rows]


def _likeness(row: tuple[Any, ...], usable: Sequence[str]) -> Likeness:
    one, other, probability, weight, _, _, alike, tells, *said, alone = row
    parts = zip(("name", *usable), said[: 1 + len(usable)], strict=True)
    words = ", ".join(f"{name.replace('_', ' ')} {value:+.1f}" for name, value in parts if value)
    sure = bool(probability >= LIKELY and alike and tells and alone)
    return Likeness(int(one), int(other), float(probability), float(weight), words, sure)
