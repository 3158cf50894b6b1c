"""Table families: many tables of one shape in one source are one object with a name pattern and its members.

In: the tables of one source (names and columns, no rows). Out: the families; a table is in at most one. The work
grows with the number of columns in all, not with pairs of tables.

Two small tables of one shape are no family by that alone (`color (id, name)` and `size (id, name)`). What makes one is
names that differ in a number or date only (`events_20240101`, `part_1`), names with a word in common, or a shape so
wide or so often repeated that it is no accident. A few tables of which one looks like the original of the others
(`orders`, `orders_bak`, `orders_2023`) are no family either: their union would count the same rows twice.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from coset.environment.copy_names import name_hints

SLOT = "{}"
SlotKind = Literal["number", "date", "symbol"]

MANY_TABLES = 20
"""So many tables of one shape are a family whatever they are called."""
SOME_TABLES, WIDE_SHAPE = 5, 5
"""So many are one when the shape is at least this wide."""
COVERED = 0.8
"""The share of a shape's tables that must follow patterns for it to be split into them."""
ALIKE = 0.8
"""The share of columns that two shapes of one family have in common."""

_DIGITS = re.compile(r"\d+")
_DATE_DIGITS = re.compile(r"(19|20)\d{2}((0[1-9]|1[0-2])([0-2]\d|3[01])?)?")
_YEAR_BEFORE = re.compile(r"(?<!\d)(19|20)\d{2}[_-]((0[1-9]|1[0-2])[_-])?$")
_TOKEN_BORDER = re.compile(r"[_\-. /]")
_LOOKUP_COLUMN = re.compile(
    r"(.*_)?(id|code|key|name|label|title|description|desc|text|value|abbreviation|abbr|sort_?order|position|active)"
)


_SCHEMAS = 3
"""A table that is the same in so many schemas is a family of the schemas."""
_PATTERN_SHAPES = 20


class ColumnLike(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def type(self) -> str: ...


class TableLike(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def schema(self) -> str | None: ...
    @property
    def columns(self) -> Sequence[ColumnLike]: ...


@dataclass(frozen=True)
class Member:
    schema: str | None
    name: str
    slot: str
    """What stands in the pattern's slot: `20240101` in `events_20240101`, all of the name when the pattern is `{}`."""


@dataclass(frozen=True)
class Family:
    """Tables of one shape. `columns` are those all members have, `optional` those that only some have."""

    pattern: str
    slot_kind: SlotKind
    members: tuple[Member, ...]
    columns: tuple[tuple[str, str], ...]
    optional: tuple[tuple[str, str], ...] = ()
    retyped: tuple[str, ...] = ()
    """Columns whose type is not the same in all members; `columns` gives the commonest."""


@dataclass(frozen=True)
class _Cluster:
    places: tuple[int, ...]
    prefix: str
    suffix: str
    by_number: bool
    """Whether the names differ in digits only."""


def find_families(tables: Sequence[TableLike]) -> list[Family]:
    """The families among the tables of one source, in the order of their first members."""
    shapes = [frozenset(column.name.lower() for column in table.columns) for table in tables]
    by_shape: dict[tuple[str | None, frozenset[str]], list[int]] = defaultdict(list)
    for place, table in enumerate(tables):
        by_shape[table.schema, shapes[place]].append(place)
    clusters: list[_Cluster] = []
    for (_, shape), places in by_shape.items():
        clusters += _clusters(places, [tables[place].name for place in places], shape)
    clusters = _with_near_shapes(tables, shapes, clusters)
    clusters = [cluster for cluster in clusters if not _holds_copies(tables, shapes, cluster)]
    families = [(min(cluster.places), _family(tables, cluster)) for cluster in clusters]
    taken = {place for cluster in clusters for place in cluster.places}
    by_name: dict[tuple[str, frozenset[str]], list[int]] = defaultdict(list)
    for place, table in enumerate(tables):
        if place not in taken:
            by_name[table.name.lower(), shapes[place]].append(place)
    families += [(places[0], _across_schemas(tables, places)) for places in by_name.values() if len(places) >= _SCHEMAS]
    return [family for _, family in sorted(families, key=lambda item: item[0])]


def _clusters(places: Sequence[int], names: Sequence[str], shape: frozenset[str]) -> list[_Cluster]:
    """Which tables of exactly one shape belong together, by how they are called."""
    if len(places) < 2:
        return []
    name_of = dict(zip(places, names, strict=True))
    numbered = _grouped(
        places, lambda place: _DIGITS.sub("#", name_of[place]) if _DIGITS.search(name_of[place]) else None
    )
    if sum(map(len, numbered)) >= COVERED * len(places) or len(places) < MANY_TABLES:
        rest = set(places) - {place for group in numbered for place in group}
        remaining = [place for place in places if place in rest]
        return [_cluster(group, name_of, by_number=True) for group in numbered] + _by_words(remaining, name_of, shape)
    return _by_words(places, name_of, shape)


def _by_words(places: Sequence[int], name_of: dict[int, str], shape: frozenset[str]) -> list[_Cluster]:
    if len(places) < 2:
        return []
    whole = _cluster(places, name_of, by_number=False)
    is_lookup = len(shape) <= 3 and all(_LOOKUP_COLUMN.fullmatch(name) for name in shape)
    if is_lookup or not shape:
        return []
    if whole.prefix or whole.suffix:
        # A common word in the names counts for as much as many tables; two narrow tables may still have it by chance.
        return [whole] if len(places) >= 3 or len(shape) >= WIDE_SHAPE else []
    result: list[_Cluster] = []
    remaining = list(places)
    for end in (0, -1):
        groups = _grouped(remaining, lambda place, end=end: _word(name_of[place], end))  # type: ignore[misc]
        groups = [group for group in groups if len(group) >= 3 or len(shape) >= WIDE_SHAPE]
        if sum(map(len, groups)) >= COVERED * len(remaining):
            result += [_cluster(group, name_of, by_number=False) for group in groups]
            grouped = {place for group in groups for place in group}
            remaining = [place for place in remaining if place not in grouped]
            break
    if len(remaining) >= MANY_TABLES or (len(remaining) >= SOME_TABLES and len(shape) >= WIDE_SHAPE):
        result.append(_cluster(remaining, name_of, by_number=False))
    return result


def _word(name: str, end: int) -> str | None:
    words = _TOKEN_BORDER.split(name.lower())
    return words[end] if len(words) > 1 and len(words[end]) > 1 else None


def _grouped(places: Iterable[int], key: Callable[[int], str | None]) -> list[list[int]]:
    groups: dict[str, list[int]] = defaultdict(list)
    for place in places:
        text = key(place)
        if text is not None:
            groups[text].append(place)
    return [group for group in groups.values() if len(group) > 1]


def _cluster(places: Sequence[int], name_of: dict[int, str], *, by_number: bool) -> _Cluster:
    """The members with what their names have in common: up to a digit where they are numbered, else whole words."""
    names = [name_of[place] for place in places]
    prefix = _common_prefix(names)
    suffix = _common_prefix([name[len(prefix) :][::-1] for name in names])[::-1]
    if by_number:
        prefix, suffix = prefix.rstrip("0123456789"), suffix.lstrip("0123456789")
        # The year in `log_2024_01` belongs to the slot, though all members have it.
        year = _YEAR_BEFORE.search(prefix)
        return _Cluster(tuple(places), prefix[: year.start()] if year else prefix, suffix, by_number=True)
    borders = [match.end() for match in _TOKEN_BORDER.finditer(prefix)]
    prefix = prefix[: borders[-1]] if borders else ""
    border = _TOKEN_BORDER.search(suffix)
    suffix = suffix[border.start() :] if border else ""
    return _Cluster(tuple(places), prefix, suffix, by_number=False)


def _common_prefix(names: Sequence[str]) -> str:
    # What the first and the last in order have in common, all between them have too.
    first, last = min(names), max(names)
    length = 0
    while length < len(first) and first[length] == last[length]:
        length += 1
    return first[:length]


def _with_near_shapes(
    tables: Sequence[TableLike], shapes: Sequence[frozenset[str]], clusters: list[_Cluster]
) -> list[_Cluster]:
    """Tables left alone, and smaller clusters, join the largest one whose pattern and nearly whose shape they have."""
    taken = {place for cluster in clusters for place in cluster.places}
    alone = [
        _Cluster((place,), "", "", by_number=bool(_DIGITS.search(table.name)))
        for place, table in enumerate(tables)
        if place not in taken
    ]
    merged: dict[tuple[str | None, str], list[_Cluster]] = defaultdict(list)
    result: list[_Cluster] = []
    large = [cluster for cluster in clusters if len(cluster.places) >= MANY_TABLES and not cluster.by_number]
    for cluster in sorted([*clusters, *alone], key=lambda one: (-len(one.places), one.places)):
        first = tables[cluster.places[0]]
        if not cluster.by_number:
            if len(cluster.places) > 1:
                result.append(cluster)
            continue
        same_pattern = merged[first.schema, _DIGITS.sub("#", first.name)]
        for number, other in enumerate(same_pattern[:_PATTERN_SHAPES]):
            if _alike(shapes[other.places[0]], shapes[cluster.places[0]]):
                same_pattern[number] = replace(other, places=(*other.places, *cluster.places))
                break
        else:
            same_pattern.append(cluster)
    numbered = [cluster for group in merged.values() for cluster in group]
    for cluster in numbered:
        if len(cluster.places) > 1:
            names = {place: tables[place].name for place in cluster.places}
            result.append(_cluster(sorted(cluster.places), names, by_number=True))
    return _absorbed(tables, shapes, result, large[:_PATTERN_SHAPES]) if large else result


def _absorbed(
    tables: Sequence[TableLike], shapes: Sequence[frozenset[str]], clusters: list[_Cluster], large: list[_Cluster]
) -> list[_Cluster]:
    """Large families named by nothing but their members take in the lone tables of nearly their shape."""
    taken = {place for cluster in clusters for place in cluster.places}
    joined: dict[_Cluster, list[int]] = defaultdict(list)
    for place, table in enumerate(tables):
        if place in taken:
            continue
        for cluster in large:
            fits = table.name.startswith(cluster.prefix) and table.name.endswith(cluster.suffix)
            same_schema = tables[cluster.places[0]].schema == table.schema
            if fits and same_schema and _alike(shapes[cluster.places[0]], shapes[place]):
                joined[cluster].append(place)
                break
    return [
        replace(one, places=tuple(sorted((*one.places, *joined[one])))) if one in joined else one for one in clusters
    ]


def _holds_copies(tables: Sequence[TableLike], shapes: Sequence[frozenset[str]], cluster: _Cluster) -> bool:
    """Whether the names of a few tables say that some are copies of others, or all of a table beside them."""
    if len(cluster.places) >= MANY_TABLES:
        return False
    names = [tables[place].name.lower() for place in cluster.places]
    slots = [tables[place].name[len(cluster.prefix) :].removesuffix(cluster.suffix) for place in cluster.places]
    if not cluster.by_number:
        # A hint is one only beside another word, so that a table `test` is plain.
        plain = all(name_hints(f"of {slot}").is_plain for slot in slots)
        return not plain or any(one != other and one in other for one in names for other in names)
    digits = ["".join(_DIGITS.findall(slot)) for slot in slots]
    is_dated = all(_DATE_DIGITS.fullmatch(text) for text in digits)
    numbers = [int(text) for text in digits]
    if len(names) < SOME_TABLES and not is_dated and max(numbers) - min(numbers) > 10 * len(names):
        return True
    stem = cluster.prefix.lower().rstrip("_-. ")
    shape = shapes[cluster.places[0]]
    return any(
        _alike(shape, shapes[place]) and _is_original_of(table.name.lower(), stem, names)
        for place, table in enumerate(tables)
        if place not in cluster.places
    )


def _is_original_of(name: str, stem: str, members: Sequence[str]) -> bool:
    """Whether a table beside numbered ones is what they are parts of: `orders` of `orders_2022`. What is called after
    one of them (`orders_2022_bak`) is not."""
    return bool(stem) and stem in name and not any(member in name for member in members)


def _alike(left: frozenset[str], right: frozenset[str]) -> bool:
    return bool(left) and len(left & right) >= ALIKE * len(left | right)


def _family(tables: Sequence[TableLike], cluster: _Cluster) -> Family:
    places = sorted(cluster.places)
    ends = len(cluster.prefix), len(cluster.suffix)
    members = []
    for place in places:
        name = tables[place].name
        members.append(Member(tables[place].schema, name, name[ends[0] : len(name) - ends[1]]))
    digits = ["".join(_DIGITS.findall(member.slot)) for member in members]
    kind: SlotKind = "symbol"
    if cluster.by_number:
        kind = "date" if all(_DATE_DIGITS.fullmatch(text) for text in digits) else "number"
    pattern = f"{cluster.prefix}{SLOT}{cluster.suffix}"
    return Family(pattern, kind, tuple(members), *_columns(tables, places))


def _across_schemas(tables: Sequence[TableLike], places: Sequence[int]) -> Family:
    members = tuple(Member(tables[place].schema, tables[place].name, tables[place].schema or "") for place in places)
    return Family(f"{SLOT}/{tables[places[0]].name}", "symbol", members, *_columns(tables, places))


def _columns(
    tables: Sequence[TableLike], places: Sequence[int]
) -> tuple[tuple[tuple[str, str], ...], tuple[tuple[str, str], ...], tuple[str, ...]]:
    """Shared, optional and retyped columns, in the order of the first member that has them."""
    types: dict[str, Counter[str]] = {}
    spelling: dict[str, str] = {}
    for place in places:
        for column in tables[place].columns:
            spelling.setdefault(column.name.lower(), column.name)
            types.setdefault(column.name.lower(), Counter())[column.type] += 1
    named = {name: (spelling[name], counts.most_common(1)[0][0]) for name, counts in types.items()}
    shared = tuple(named[name] for name, counts in types.items() if counts.total() == len(places))
    optional = tuple(named[name] for name, counts in types.items() if counts.total() < len(places))
    return shared, optional, tuple(spelling[name] for name, counts in types.items() if len(counts) > 1)
