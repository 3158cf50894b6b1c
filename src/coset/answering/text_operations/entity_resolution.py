"""
Rows that are one real thing, brought together: a cluster for every row of a table, as a temporary table to join on.

In: a session, the evidence state, a table in which duplicates were diagnosed (or the columns that name its things).
Out: `ResolvedEntities`: a temporary table with the table's key and a cluster number, what speaks for the clusters,
examples to check and pairs that were left apart with some doubt. Reads the table through the session, changes nothing.

"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import fuzz

from coset.errors import LimitReached, UserError
from coset.evidence.duplicates import normalised
from coset.session.query_session import QuerySession
from coset.sql_text import identifier
from coset.state import EvidenceState
from coset.state.read_model import ReadModel
from coset.state.tables import ColumnRow, DuplicatesRow, TableRow

if TYPE_CHECKING:
    import pyarrow as pa


Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
MOST_IN_A_BLOCK = 60
MOST_PAIRS = 500_000
RANDOM_PAIRS = 20_000
ROUNDS = 25
NAME_LEVELS = ("equal", "misspelt", "one within the other", "alike", "numbers differ", "different")
NUMBERS_DIFFER = NAME_LEVELS.index("numbers differ")
CELL_LEVELS = ("equal", "alike", "different", "missing")
# Where the learning starts: how often each level occurs among pairs that are one.
NAME_START = np.array([0.55, 0.2, 0.12, 0.08, 0.01, 0.04])
CELL_START = np.array([0.75, 0.1, 0.15, 0.0])
# The strongest word that one column may have, as a logarithm: no column alone decides.
MOST_WEIGHT = 6.0
# What the levels of a name may say at most: names that are alike speak against, and are outvoted by much agreement.
NAME_CEILINGS = np.array([MOST_WEIGHT, 4.0, 3.0, -1.0, -np.inf, -np.inf])
CONTRADICTS = -2.0
"""Other columns that together say less than this say that two rows are two things."""
_NUMBER = re.compile(r"\d+")
_WORD = re.compile(r"\w+")
_ORDINALS = frozenset(
    ("i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "first", "second", "third", "north", "south", "east",
     "west")
)  # fmt: skip


@dataclass(frozen=True)
class LinkedPairs:
    """Pairs of row numbers, the first the smaller, with the probability that they are one thing."""

    left: Integers
    right: Integers
    probability: Floats
    against: NDArray[np.bool_]
    """Where the numbers in the names, or the other columns, say that they are two things. Names that merely differ say
    no such thing: two spellings of one may be further from each other than both are from a third."""
    weights: dict[str, dict[str, float]]
    """What each level of each column says, as the logarithm of its odds: to be shown to a person."""


def link(names: Sequence[str | None], cells: Mapping[str, Sequence[str | None]]) -> LinkedPairs:
    left, right = _candidates(names)
    if not len(left):
        return LinkedPairs(left, right, np.zeros(0), np.zeros(0, dtype=bool), {})
    name_levels = _name_levels(names, left, right)
    usable = {column: values for column, values in cells.items() if _tells(values)}
    levels = {column: _cell_levels(values, left, right) for column, values in usable.items()}
    by_chance = {column: _by_chance(values) for column, values in usable.items()}
    return _learned(left, right, name_levels, levels, by_chance, len(names))


def _learned(
    left: Integers,
    right: Integers,
    name_levels: Integers,
    levels: dict[str, Integers],
    by_chance: dict[str, Floats],
    rows: int,
) -> LinkedPairs:
    # Candidates share a word or a beginning, so their names are more alike than chance has it: what their levels say is
    # learned from the candidates themselves, held in place by the other columns.
    name_same = NAME_START.copy()
    name_other = _shares(name_levels, len(NAME_LEVELS), np.ones(len(left)))
    same = {column: CELL_START[:3] for column in levels}
    prior = min(0.5, max(0.01, float((name_levels == 0).mean())))
    probability = np.zeros(len(left))
    weights: dict[str, Floats] = {}
    said_by_cells = np.zeros(len(left))
    for _ in range(ROUNDS):
        weights = {"name": np.minimum(_ordered(_log_odds(name_same, name_other)), NAME_CEILINGS)}
        for column in levels:
            said = _ordered(_log_odds(same[column], by_chance[column]))
            # Where agreement speaks against (where each row came from, say), the column knows nothing of the thing.
            weights[column] = np.append(said if said[0] > 0 else np.zeros(3), 0.0)
        said_by_cells = np.zeros(len(left))
        for column, found in levels.items():
            said_by_cells += weights[column][found]
        total = np.log(prior / (1 - prior)) + weights["name"][name_levels] + said_by_cells
        previous, probability = probability, 1 / (1 + np.exp(-np.clip(total, -30, 30)))
        if np.abs(previous - probability).max() < 1e-4:
            break
        prior = float(np.clip(probability.mean(), 1 / (10 * len(left)), 0.95))
        name_same = _shares(name_levels, len(NAME_LEVELS), probability, NAME_START * 5)
        name_other = _shares(name_levels, len(NAME_LEVELS), 1 - probability)
        for column, found in levels.items():
            there = found < 3
            same[column] = _shares(found[there], 3, probability[there], CELL_START[:3] * 5)
    against = (name_levels == NUMBERS_DIFFER) | (said_by_cells < CONTRADICTS)
    if not levels:
        against = name_levels >= NUMBERS_DIFFER
        # A name alone: only what is equal in all but its spelling is one thing.
        probability = np.choose(name_levels, [0.97, 0.6, 0.3, 0.1, 0.0, 0.0])
    shown = {
        column: {
            level: round(max(float(value), -99.0), 2)
            for level, value in zip(NAME_LEVELS if column == "name" else CELL_LEVELS, found, strict=True)
        }
        for column, found in weights.items()
    }
    return LinkedPairs(left, right, np.asarray(probability), against, shown)


def _candidates(names: Sequence[str | None]) -> tuple[Integers, Integers]:
    """Pairs with equal names, with a seldom word in common, or with the same beginning."""
    words = [sorted(set(_WORD.findall(name))) if name else [] for name in names]
    frequency = Counter(word for each in words for word in each)
    blocks: defaultdict[str, list[int]] = defaultdict(list)
    for number, (name, each) in enumerate(zip(names, words, strict=True)):
        if not name:
            continue
        blocks["=" + name].append(number)
        blocks["^" + name.replace(" ", "")[:6]].append(number)
        for word in sorted((word for word in each if len(word) > 2), key=lambda word: (frequency[word], word))[:4]:
            blocks["w" + word].append(number)
            blocks["p" + word[:5]].append(number)
    pairs: set[tuple[int, int]] = set()
    # The smallest blocks first: what few rows share says most, should there be too many pairs.
    for _, block in sorted(blocks.items(), key=lambda item: (len(item[1]), item[0])):
        if len(block) > MOST_IN_A_BLOCK or len(pairs) > MOST_PAIRS:
            continue
        members = sorted(set(block))
        pairs.update((one, two) for place, one in enumerate(members) for two in members[place + 1 :])
    found = np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2)
    return found[:, 0], found[:, 1]


def _name_levels(names: Sequence[str | None], left: Integers, right: Integers) -> Integers:
    return np.array(
        [_name_level(names[one] or "", names[two] or "") for one, two in zip(left, right, strict=True)], dtype=np.int64
    )


def _name_level(one: str, two: str) -> int:
    if one == two:
        return 0
    if _telling(one) != _telling(two):
        # One may leave a number out; two different numbers are two things.
        return 4 if _telling(one) and _telling(two) else 3 if fuzz.token_set_ratio(one, two) >= 95 else 5
    ratio = fuzz.ratio(one, two)
    if ratio >= 86:
        return 1
    if fuzz.token_set_ratio(one, two) >= 95 and min(len(one), len(two)) >= 5:
        return 2
    return 3 if ratio >= 78 else 5


def _telling(name: str) -> frozenset[str]:
    """The numbers, single letters and ordinals of a name: they tell things of one series apart."""
    return frozenset(w for w in _WORD.findall(name) if w.isdigit() or w in _ORDINALS) | frozenset(_NUMBER.findall(name))


def _cell_levels(values: Sequence[str | None], left: Integers, right: Integers) -> Integers:
    folded = [value.strip().lower() if value and value.strip() else None for value in values]
    return np.array(
        [_cell_level(folded[one], folded[two]) for one, two in zip(left, right, strict=True)], dtype=np.int64
    )


def _cell_level(one: str | None, two: str | None) -> int:
    if one is None or two is None:
        return 3
    if one == two:
        return 0
    if _NUMBER.findall(one) != _NUMBER.findall(two):
        return 2
    return 1 if fuzz.token_set_ratio(one, two) >= 85 and min(len(one), len(two)) >= 3 else 2


def _tells(values: Sequence[str | None]) -> bool:
    """Whether a column can speak at all: filled often enough, and neither constant nor different in every row."""
    filled = [value for value in values if value]
    different = len(set(filled))
    return len(filled) >= 0.1 * max(1, len(values)) and 1 < different < 0.995 * len(filled)


def _by_chance(values: Sequence[str | None]) -> Floats:
    """How often two rows picked at random agree at each level, missing ones apart."""
    chance = np.random.default_rng(0)
    pairs = chance.integers(0, len(values), size=(2, RANDOM_PAIRS // 4))
    levels = _cell_levels(values, pairs[0], pairs[1])
    there = (levels < 3) & (pairs[0] != pairs[1])
    return _shares(levels[there], 3, np.ones(int(there.sum())))


def _shares(levels: Integers, count: int, weights: Floats, start: Floats | None = None) -> Floats:
    """The weighted share of each level, never quite nothing."""
    counts = np.bincount(levels, weights=weights, minlength=count) + (0.5 / count if start is None else start)
    return np.asarray(counts / counts.sum())


def _log_odds(same: Floats, other: Floats) -> Floats:
    return np.asarray(np.clip(np.log(same / other), -MOST_WEIGHT, MOST_WEIGHT))


def _ordered(weights: Floats) -> Floats:
    """A closer level never says less than one further away: learning without labels may otherwise change sides."""
    return np.asarray(np.minimum.accumulate(weights))


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
    texts = [f"left(CAST({identifier(column)} AS VARCHAR), {LONGEST})" for column, _ in plan.named_by]
    cells = [f"left(CAST({identifier(column)} AS VARCHAR), {LONGEST})" for column in plan.others]
    selected = [*(identifier(column) for column in plan.keys), key, f"concat_ws(' ', {', '.join(texts)})", *cells]
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
    model = ReadModel(state)
    tables = model.of_tables(TableRow, [reference])
    if not tables:
        raise UserError(f"there is no table '{reference}' in the evidence: `coset sources` lists the tables")
    table, columns = tables[0], model.of_tables(ColumnRow, [reference])
    by_name = {row.name.lower(): row for row in columns}
    if not named_by:
        signs = model.of_tables(DuplicatesRow, [reference])
        if not signs:
            raise UserError(
                f"no duplicates were diagnosed in '{reference}': say which columns name a thing, if some rows are one"
            )
        named_by = signs[0].columns
    missing = [column for column in named_by if column.lower() not in by_name]
    if missing:
        known = ", ".join(row.name for row in columns)
        raise UserError(f"'{reference}' has no column '{missing[0]}': it has {known}")
    named = [by_name[column.lower()] for column in named_by]
    keys = list(table.primary_key) or [row.name for row in columns if row.is_unique][:1]
    # Without a key of its own, a row is told by what names it: equal names then share a cluster, as they must.
    keys = keys or [row.name for row in named]
    chosen = {row.name for row in named} | set(keys)
    others = [row.name for row in columns if row.name not in chosen and not row.is_unique and _compares(row.type)]
    parts = [part for part in (table.source, table.schema_name, table.name) if part]
    return _Plan(
        ".".join(identifier(part) for part in parts),
        tuple(keys),
        tuple((row.name, row.type) for row in named),
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
