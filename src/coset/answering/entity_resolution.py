"""Rows that are one real thing, brought together: a cluster for every row of a table, as a temporary table to join on.

In: a session, the evidence state, a table in which duplicates were diagnosed (or the columns that name its things).
Out: `ResolvedEntities`: a temporary table with the table's key and a cluster number, what speaks for the clusters,
examples to check and pairs that were left apart with some doubt. Reads the table through the session, changes nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from coset.answering.entity_pairs import LinkedPairs, link
from coset.errors import LimitReached, UserError
from coset.evidence.duplicates import normalised
from coset.evidence.state import EvidenceState
from coset.session.local_tables import quoted
from coset.session.query_session import QuerySession

if TYPE_CHECKING:
    import pyarrow as pa

MOST_ROWS = 200_000
ONE = 0.9
"""From this probability on two rows are one thing."""
PERHAPS = 0.4
EXAMPLES = 8
MOST_COLUMNS = 12
LONGEST = 200


@dataclass(frozen=True)
class ResolvedEntities:
    """`name` is what SQL writes. Its columns: the key of the table, `cluster` (a number; the smallest row of a cluster
    gives it), `cluster_size`, and `cluster_name`, its commonest spelling."""

    name: str
    table: pa.Table
    keys: tuple[str, ...]
    named_by: tuple[str, ...]
    rows: int
    entities: int
    merged: int
    """Entities that have more than one row."""
    examples: tuple[tuple[str, ...], ...]
    """Spellings that were brought together, the most varied first."""
    doubtful: tuple[tuple[str, str, float], ...]
    """Pairs that were left apart though they may be one, with the probability."""
    weights: dict[str, dict[str, float]]


@dataclass(frozen=True)
class _Plan:
    relation: str
    keys: tuple[str, ...]
    named_by: tuple[tuple[str, str], ...]
    """(column, type)."""
    others: tuple[str, ...]


def resolve_entities(
    session: QuerySession,
    state: EvidenceState,
    table_reference: str,
    *,
    named_by: Sequence[str] = (),
    name: str = "entities",
) -> ResolvedEntities:
    """`named_by` are the columns that name a thing; those of the diagnosis when left out."""
    plan = _plan(state, table_reference, named_by)
    key = normalised(list(plan.named_by), suffixes=True)
    texts = [f"left(CAST({quoted(column)} AS VARCHAR), {LONGEST})" for column, _ in plan.named_by]
    cells = [f"left(CAST({quoted(column)} AS VARCHAR), {LONGEST})" for column in plan.others]
    selected = [*(quoted(column) for column in plan.keys), key, f"concat_ws(' ', {', '.join(texts)})", *cells]
    outputs = ", ".join(f"{expression} AS c{number}" for number, expression in enumerate(selected))
    order = ", ".join(f"c{number}" for number in range(len(selected)))
    result = session.sql(f"SELECT {outputs} FROM {plan.relation} ORDER BY {order}", max_rows=MOST_ROWS)
    if result.truncated:
        raise LimitReached(f"'{table_reference}' has more than {MOST_ROWS:,} rows: resolve a part of it, by a view")
    rows = result.rows()
    width = len(plan.keys)
    names = [row[width] for row in rows]
    spelt = [row[width + 1] or "" for row in rows]
    others = {
        column: [row[width + 2 + number] for row in rows] for number, column in enumerate(plan.others)
    }  # fmt: skip
    pairs = link(names, others)
    clusters = clusters_of(len(rows), pairs)
    table = _table(result.table, plan.keys, clusters, spelt)
    types = (*result.types[:width], "BIGINT", "BIGINT", "VARCHAR")
    members = _members(clusters)
    return ResolvedEntities(
        session.add_table(name, table, types),
        table,
        plan.keys,
        tuple(column for column, _ in plan.named_by),
        len(rows),
        len(members),
        sum(1 for each in members.values() if len(each) > 1),
        _examples(members, spelt),
        _doubtful(pairs, clusters, spelt),
        pairs.weights,
    )


def clusters_of(rows: int, pairs: LinkedPairs) -> list[int]:
    """A cluster for each row, named by its smallest row. Likely pairs first; two groups stay apart when half of the
    compared pairs between them are two things, so that a chain of likenesses does not join strangers."""
    against = dict(
        zip(zip(pairs.left.tolist(), pairs.right.tolist(), strict=True), pairs.against.tolist(), strict=True)
    )
    group = list(range(rows))
    members = {number: [number] for number in range(rows)}
    likely = np.flatnonzero(pairs.probability >= ONE)
    for place in likely[np.lexsort((pairs.right[likely], pairs.left[likely], -pairs.probability[likely]))]:
        left, right = sorted((group[pairs.left[place]], group[pairs.right[place]]))
        if left == right:
            continue
        between = [
            against[min(a, b), max(a, b)]
            for a in members[left]
            for b in members[right]
            if (min(a, b), max(a, b)) in against
        ]
        if 2 * sum(between) >= len(between):
            continue
        for number in members[right]:
            group[number] = left
        members[left] += members.pop(right)
    return [min(members[each]) for each in group]


def _plan(state: EvidenceState, reference: str, named_by: Sequence[str]) -> _Plan:
    tables = state.rows("SELECT * FROM tables WHERE reference = $1", [reference])
    if not tables:
        raise UserError(f"there is no table '{reference}' in the evidence: `coset sources` lists the tables")
    table = tables[0]
    columns = state.rows("SELECT * FROM columns WHERE table_reference = $1 ORDER BY position", [reference])
    by_name = {row["name"].lower(): row for row in columns}
    if not named_by:
        signs = state.rows("SELECT columns FROM duplicates WHERE table_reference = $1", [reference])
        if not signs:
            raise UserError(
                f"no duplicates were diagnosed in '{reference}': say which columns name a thing, if some rows are one"
            )
        named_by = signs[0]["columns"]
    missing = [column for column in named_by if column.lower() not in by_name]
    if missing:
        known = ", ".join(row["name"] for row in columns)
        raise UserError(f"'{reference}' has no column '{missing[0]}': it has {known}")
    named = [by_name[column.lower()] for column in named_by]
    keys = list(table["primary_key"]) or [row["name"] for row in columns if row["is_unique"]][:1]
    # Without a key of its own, a row is told by what names it: equal names then share a cluster, as they must.
    keys = keys or [row["name"] for row in named]
    chosen = {row["name"] for row in named} | set(keys)
    others = [
        row["name"] for row in columns if row["name"] not in chosen and not row["is_unique"] and _compares(row["type"])
    ]
    parts = [part for part in (table["source"], table["schema_name"], table["name"]) if part]
    return _Plan(
        ".".join(quoted(part) for part in parts),
        tuple(keys),
        tuple((row["name"], row["type"]) for row in named),
        tuple(others[:MOST_COLUMNS]),
    )


def _compares(kind: str) -> bool:
    return not kind.endswith("]") and not kind.startswith(("STRUCT", "MAP", "BLOB", "JSON"))


def _members(clusters: Sequence[int]) -> dict[int, list[int]]:
    members: defaultdict[int, list[int]] = defaultdict(list)
    for number, cluster in enumerate(clusters):
        members[cluster].append(number)
    return dict(members)


def _table(rows: Any, keys: Sequence[str], clusters: Sequence[int], spelt: Sequence[str]) -> pa.Table:
    import pyarrow as pa

    members = _members(clusters)
    # The commonest spelling; of equally common ones the longest, which leaves least out.
    names = {
        cluster: max({spelt[n] for n in each}, key=lambda text: (sum(spelt[n] == text for n in each), len(text), text))
        for cluster, each in members.items()
    }
    table = pa.table([rows.column(number) for number in range(len(keys))], names=list(keys))
    table = table.append_column("cluster", pa.array(clusters, pa.int64()))
    table = table.append_column("cluster_size", pa.array([len(members[each]) for each in clusters], pa.int64()))
    return table.append_column("cluster_name", pa.array([names[each] for each in clusters], pa.string()))


def _examples(members: dict[int, list[int]], spelt: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    varied = [tuple(dict.fromkeys(spelt[number] for number in each)) for each in members.values() if len(each) > 1]
    return tuple(sorted(varied, key=lambda each: (-len(each), each))[:EXAMPLES])


def _doubtful(pairs: LinkedPairs, clusters: Sequence[int], spelt: Sequence[str]) -> tuple[tuple[str, str, float], ...]:
    found = [
        (spelt[int(one)], spelt[int(two)], round(float(value), 2))
        for one, two, value in zip(pairs.left, pairs.right, pairs.probability, strict=True)
        if value >= PERHAPS and clusters[int(one)] != clusters[int(two)]
    ]
    return tuple(sorted(set(found), key=lambda each: (-each[2], each))[:EXAMPLES])
