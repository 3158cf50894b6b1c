"""Table families: tables that partition one thing are one object with a name pattern and its members.

In: the tables of one source (names and columns, no rows). Out: the families; a table is in at most one, and no two have
the same pattern or the same name in SQL. The work grows with the number of columns in all, not with pairs of tables.

A family is a partition: every row belongs to one member. So its members have the same columns (or nearly, where they
are numbered), and the part of the name in which they differ looks like a partition key: dates (`events_20240101`),
numbers in sequence (`part_1`), or words for what there is one table of each (`sales_north`, a ticker). A table and its
own backup, a staging table and its target, the layers of a warehouse are no family, though they look alike: their rows
would be counted twice. In doubt the tables stay apart. Twenty tables of one shape are one whatever they are called.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal, Protocol

from coset.environment.catalogue import SourceListing
from coset.environment.copy_names import HINTS, CopyKind, name_hints, words_of
from coset.environment.scan import family as type_family
from coset.environment.source import Source, Table

SLOT = "{}"
ACROSS_SCHEMAS = f"{SLOT}/"
"""The pattern of one table in many schemas begins so."""
SlotKind = Literal["number", "date", "symbol"]

MANY_TABLES = 20
"""So many tables of one shape are a family whatever they are called."""
SOME_TABLES, WIDE_SHAPE = 5, 5
"""So many whose names have no word in common are one when the shape is at least this wide."""
LEAST_WORDS, LEAST_STEM = 3, 3
"""Two tables that differ in a word are as likely a table and its copy."""
COVERED = 0.8
"""The share of a shape's tables that must follow patterns for it to be split into them."""
ALIKE = 0.8
"""The share of columns that two shapes of one family have in common."""
GAP = 20
"""Numbers in sequence are on average at most so far apart: `part_1` and `part_12`, but not `f4211` and `f42119`."""

_DIGITS = re.compile(r"\d+")
_DATE_DIGITS = re.compile(r"(19|20)\d{2}((0[1-9]|1[0-2])([0-2]\d|3[01])?)?")
_YEAR_BEFORE = re.compile(r"(?<!\d)(19|20)\d{2}[_-]((0[1-9]|1[0-2])[_-])?$")
_TOKEN_BORDER = re.compile(r"[_\-. /]")
_LOOKUP_COLUMN = re.compile(
    r"(.*_)?(id|code|key|name|label|title|description|desc|text|value|abbreviation|abbr|sort_?order|position|active"
    r"|lang|language|valid_?(from|to)|remark)"
)
_LAYERS = frozenset({
    "dim", "fact", "fct", "mart", "dwh", "dw", "core", "int", "intermediate", "agg", "cube", "hub", "sat", "link",
    "lnk", "bridge", "brg", "xref", "ref", "map", "src", "source", "log", "audit", "err", "error", "errors",
    "current", "cur", "live", "prod", "final", "latest",
})  # fmt: skip
"""Names of the layers that data passes through: the same rows are in each."""
_NO_PARTITION: frozenset[CopyKind] = frozenset({"backup", "staging", "test", "leftover"})
"""What has such a word in the part of its name that all members share is not worth a union, whatever its number."""


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
    """Columns whose type is not the same in all members; their type here holds the values of all."""


@dataclass(frozen=True)
class _Cluster:
    places: tuple[int, ...]
    prefix: str
    suffix: str
    by_number: bool
    """Whether the names differ in digits only."""


def relation_name(pattern: str) -> str:
    """`all_tables` for `{}`, `events_all_tables` for `events_{}`, `orders_all_schemas` for `{}/orders`."""
    if pattern.startswith(ACROSS_SCHEMAS):
        return f"{pattern.removeprefix(ACROSS_SCHEMAS)}_all_schemas"
    before, _, after = pattern.partition(SLOT)
    return "_".join(part for part in (before.rstrip("_-. "), "all_tables", after.lstrip("_-. ")) if part)


def naming_column(pattern: str, columns: Iterable[str]) -> str:
    """The column of the relation that holds the name of the table (or schema) that a row is of."""
    taken = {column.lower() for column in columns}
    wanted = "schema_name" if pattern.startswith(ACROSS_SCHEMAS) else "table_name"
    name, number = wanted, 1
    while name in taken:
        number += 1
        name = f"{wanted}_{number}"
    return name


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
    clusters = [part for cluster in clusters for part in _partitions(tables, shapes, cluster)]
    families = [(min(cluster.places), _family(tables, cluster)) for cluster in clusters]
    taken = {place for cluster in clusters for place in cluster.places}
    by_name: dict[tuple[str, frozenset[str]], list[int]] = defaultdict(list)
    for place, table in enumerate(tables):
        if place not in taken:
            by_name[table.name.lower(), shapes[place]].append(place)
    for places in by_name.values():
        if len(places) >= _SCHEMAS and not any(_is_layer(tables[place].schema or "") for place in places):
            families.append((places[0], _across_schemas(tables, places)))
    return _told_apart([family for _, family in sorted(families, key=lambda item: item[0])], tables)


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
    if all(_LOOKUP_COLUMN.fullmatch(name) for name in shape):
        return []
    if whole.prefix or whole.suffix:
        return [whole]
    result: list[_Cluster] = []
    remaining = list(places)
    for end in (0, -1):
        groups = _grouped(remaining, lambda place, end=end: _word(name_of[place], end))  # type: ignore[misc]
        groups = [group for group in groups if len(group) >= LEAST_WORDS]
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


def _partitions(tables: Sequence[TableLike], shapes: Sequence[frozenset[str]], cluster: _Cluster) -> list[_Cluster]:
    """What of a cluster is a partition of one thing, judged by its names; nothing when it may as well be copies."""
    if len(cluster.places) >= MANY_TABLES:
        return [cluster]
    name_of = {place: tables[place].name for place in cluster.places}
    fixed = words_of(f"{cluster.prefix} {cluster.suffix}")
    if not _NO_PARTITION.isdisjoint(HINTS[word] for word in fixed if word in HINTS and len(word) > 1):
        return []
    if not cluster.by_number:
        return [cluster] if _are_words_of_a_partition([tables[place] for place in cluster.places]) else []
    if len(cluster.places) < SOME_TABLES and _has_stem(tables, shapes, cluster):
        return []
    groups: dict[tuple[int, ...], list[int]] = defaultdict(list)
    if _in_sequence([name_of[place] for place in cluster.places], cluster):
        return [cluster]
    for place in cluster.places:  # Days and years side by side: each is a partition for itself, if at all.
        digits = _DIGITS.findall(_slot(name_of[place], cluster))
        groups[tuple(map(len, digits))].append(place)
    parts = [_cluster(group, name_of, by_number=True) for group in groups.values() if len(group) > 1]
    return [part for part in parts if _in_sequence([name_of[place] for place in part.places], part)]


def _has_stem(tables: Sequence[TableLike], shapes: Sequence[frozenset[str]], cluster: _Cluster) -> bool:
    """Whether there is a table called as the family without its slot, or with letters in its place (`CASEFL` beside
    `CASE23` and `CASE24`): then its few numbered ones are copies of it."""
    prefix, suffix = cluster.prefix.rstrip("_-. ").lower(), cluster.suffix.lower()
    first = cluster.places[0]

    def is_stem(name: str) -> bool:
        glued = len(prefix) >= LEAST_STEM and cluster.prefix == cluster.prefix.rstrip("_-. ")
        rest = name.removeprefix(prefix).removesuffix(suffix)
        return name == prefix + suffix or (glued and name.startswith(prefix) and rest.isalpha() and len(rest) <= 2)

    return any(
        is_stem(table.name.lower()) and table.schema == tables[first].schema and _alike(shapes[place], shapes[first])
        for place, table in enumerate(tables)
        if place not in cluster.places
    )


def _slot(name: str, cluster: _Cluster) -> str:
    return name[len(cluster.prefix) : len(name) - len(cluster.suffix)]


def _in_sequence(names: Sequence[str], cluster: _Cluster) -> bool:
    """Whether the slots are dates of one form, or numbers of which each part counts on without large gaps."""
    slots = [_DIGITS.findall(_slot(name, cluster)) for name in names]
    joined = ["".join(digits) for digits in slots]
    if len({len(text) for text in joined}) == 1 and all(_DATE_DIGITS.fullmatch(text) for text in joined):
        return True
    if len({len(digits) for digits in slots}) > 1:
        return False
    numbers = [tuple(map(int, digits)) for digits in slots]
    return all(max(part) - min(part) <= GAP * len(names) for part in zip(*numbers, strict=True))


def _are_words_of_a_partition(tables: Sequence[TableLike]) -> bool:
    """Whether tables whose names differ in words are one for each of something, rather than one thing copied."""
    if len(tables) < LEAST_WORDS or any(_is_layer(table.name) for table in tables):
        return False
    if len({tuple((column.name.lower(), column.type) for column in table.columns) for table in tables}) > 1:
        return False  # Made by one program, they have the same types in the same order.
    words = [frozenset(words_of(table.name)) for table in tables]
    names = [re.sub(r"[^a-z]", "", table.name.lower()) for table in tables]
    return not any(
        words[one] <= words[other]
        or words[other] <= words[one]
        or (len(names[one]) > 2 and names[one] in names[other])
        or (len(names[other]) > 2 and names[other] in names[one])
        for one, other in combinations(range(len(tables)), 2)
    )


def _is_layer(name: str) -> bool:
    # A hint is one only beside another word.
    return bool(name_hints(f"of {name}").kinds - {"year copy"}) or not _LAYERS.isdisjoint(words_of(name))


def _told_apart(families: Sequence[Family], tables: Sequence[TableLike]) -> list[Family]:
    """Families that SQL would call the same get a name of their own each, by a column that only they have.

    None of them keeps the plain name: whoever writes `events_all_tables` would get a part of what they expect."""
    taken = {(table.schema, table.name.lower()) for table in tables}
    same: dict[tuple[str | None, str], list[Family]] = defaultdict(list)
    for family in families:
        same[_place_in_sql(family)].append(family)
    result = []
    for family in families:
        others = [each for each in same[_place_in_sql(family)] if each is not family]
        if others or _place_in_sql(family) in taken:
            family = replace(family, pattern=f"{family.pattern}_{_difference(family, others)}")
        number, pattern = 1, family.pattern
        while _place_in_sql(family) in taken:
            number += 1
            family = replace(family, pattern=f"{pattern}_{number}")
        taken.add(_place_in_sql(family))
        result.append(family)
    return result


def _place_in_sql(family: Family) -> tuple[str | None, str]:
    schemas = {member.schema for member in family.members}
    return family.members[0].schema if len(schemas) == 1 else None, relation_name(family.pattern).lower()


def _difference(family: Family, others: Sequence[Family]) -> str:
    """`with_label` or `without_label`: the first column that tells a family from others of its pattern."""
    own = [name for name, _ in (*family.columns, *family.optional)]
    theirs = [name for other in others for name, _ in (*other.columns, *other.optional)]
    known_to_others, known = {name.lower() for name in theirs}, {name.lower() for name in own}
    for word, names, elsewhere in (("with", own, known_to_others), ("without", theirs, known)):
        for name in names if others else ():
            if name.lower() not in elsewhere:
                return f"{word}_{name}"
    return "tables"


def _alike(left: frozenset[str], right: frozenset[str]) -> bool:
    return bool(left) and len(left & right) >= ALIKE * len(left | right)


def _family(tables: Sequence[TableLike], cluster: _Cluster) -> Family:
    places = sorted(cluster.places)
    members = []
    for place in places:
        name = tables[place].name
        members.append(Member(tables[place].schema, name, _slot(name, cluster)))
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
    named = {name: (spelling[name], _holding(counts)) for name, counts in types.items()}
    shared = tuple(named[name] for name, counts in types.items() if counts.total() == len(places))
    optional = tuple(named[name] for name, counts in types.items() if counts.total() < len(places))
    return shared, optional, tuple(spelling[name] for name, counts in types.items() if len(counts) > 1)


def _holding(types: Collection[str]) -> str:
    """The type that holds the values of all of these."""
    if len(types) == 1:
        return next(iter(types))
    return "DOUBLE" if all(type_family(each) == "number" or each == "FLOAT" for each in types) else "VARCHAR"


@dataclass(frozen=True)
class Unit:
    """A table, or a family of tables of one shape that are looked at as one."""

    table: Table
    """The table itself; of a family its name pattern and the columns that all members have."""
    members: tuple[Table, ...] = ()

    @property
    def rows(self) -> int:
        return sum(member.rows or 0 for member in self.members) if self.members else self.table.rows or 0


def units_of(listing: SourceListing) -> list[Unit]:
    """The tables of a source, those of one shape taken together."""
    families = find_families(listing.tables)
    by_place = {(table.schema, table.name): table for table in listing.tables}
    taken = {(member.schema, member.name) for family in families for member in family.members}
    units = [Unit(table) for table in listing.tables if (table.schema, table.name) not in taken]
    return units + [_family_unit(family, by_place) for family in families]


def _family_unit(family: Family, by_place: dict[tuple[str | None, str], Table]) -> Unit:
    members = tuple(by_place[member.schema, member.name] for member in family.members)
    shared, retyped = dict(family.columns), set(family.retyped)
    columns = tuple(
        replace(column, type=shared[column.name]) if column.name in retyped else column
        for column in members[0].columns
        if column.name in shared
    )
    schemas = {member.schema for member in members}
    table = replace(
        members[0], name=family.pattern, native_name=family.pattern, columns=columns,
        schema=members[0].schema if len(schemas) == 1 else None, primary_key=(), foreign_keys=(), comment=None,
    )  # fmt: skip
    return Unit(table, members)


def token_of(source: Source, unit: Unit) -> str | None:
    """What tells whether the rows of a unit may have changed; None when nothing does."""
    if unit.members:
        return union_token([source.change_token(member) for member in unit.members])
    return source.change_token(unit.table)


def union_token(tokens: Sequence[str | None]) -> str | None:
    """One token for several tables; unknown when one of them is."""
    if any(token is None for token in tokens):
        return None
    return hashlib.sha256("\n".join(str(token) for token in tokens).encode()).hexdigest()
