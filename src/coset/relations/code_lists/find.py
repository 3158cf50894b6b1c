"""Which list decodes which column: current lists, and those that are outdated though they stand nearer.

In: columns with all their values, and the parts of lists. Out: `CodeList`s. Values propose a list (it has nearly all
codes that the column holds); the names of column and domain, what documents say, and how telling the codes are, judge.
Of several lists that decode a column the one that is kept up to date is current, the others are outdated.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from coset.environment.copy_names import name_hints
from coset.relations.code_lists.agreement import CodeColumn, Said, agreement_of
from coset.relations.code_lists.lists import ListPart, plain
from coset.relations.joins.names import words
from coset.state.objects import CodeList

LEAST_HELD, LEAST_NAME, CALLED = 0.8, 0.6, 0.8
LONG_LIST, FEW_USED = 100, 0.02
"""Of a list that is longer, hardly any code is used: it lists things, which are joined by their key."""
ALL_HELD, LEAST_USED, ALL_USED, LEAST_USED_ALL = 0.99, 0.3, 0.9, 5
HALF_NAMED, LEAST_VALUES = 0.55, 3
CHANCE_BITS, CLEAR_BITS, LEAST_LISTS, MOST_ROOM, LONGEST_NUMBER = 4.0, 4.0, 8, 4_000.0, 15
NAMED_ALIKE, HELD_ALIKE, COMPLETE = 0.2, 0.02, 1.5
SAME_CODES, LEAST_SAME = 0.7, 3
STILL_HELD = 0.2
"""An outdated list may lack the codes that came later, as long as it has so many of the column's rows."""
_SMALL_NUMBERS = frozenset(map(str, range(100)))
_CODED = re.compile(
    r"status|state\b|type|kind|code|class|categor|reason|cause|method|group|flag|priority|level", re.IGNORECASE
)


@dataclass(frozen=True)
class ListStanding:
    """What is known of lists beside their rows."""

    copies: Collection[str] = ()
    retired: Collection[str] = ()
    """Tables that documents call outdated; lists of these and of copies are outdated."""
    named: Collection[str] = ()
    """Tables that documents speak of."""
    said: Mapping[str, Sequence[Said]] = field(default_factory=dict)
    """The sentences that name each table."""
    measures: Collection[str] = ()
    """Columns that count or measure: only a list that is called after one decodes it."""
    joined: Collection[tuple[str, str]] = ()
    """Pairs of a column and the code column of a list that are known to join."""


@dataclass(frozen=True)
class _Match:
    part: ListPart
    reference: str
    """Of the list's table."""
    held: float
    """The share of the column's rows whose value the list has."""
    used: float
    """The share of the list's codes that the column has."""
    name: float
    bits: float
    """How unlikely it is that a list has the column's values by chance."""

    @property
    def place(self) -> tuple[str, tuple[str, ...], str]:
        return self.reference, self.part.domain, self.part.code_column


def find_code_lists(
    columns: Sequence[CodeColumn], parts: Sequence[ListPart], standing: ListStanding | None = None
) -> list[CodeList]:
    known = standing or ListStanding()
    holders: dict[str, set[int]] = defaultdict(set)
    own: dict[str, list[ListPart]] = defaultdict(list)
    references = [str(part.table.reference) for part in parts]
    for place, part in enumerate(parts):
        if not part.domain and len(part.labels) >= 0.9 * part.table.rows:
            own[f"{references[place]}.{part.code_column}"].append(part)
        for code in part.codes:
            holders[code].add(place)
    rarity = _Rarity.of(parts)
    found: list[CodeList] = []
    for column in columns:
        counted: dict[int, int] = defaultdict(int)
        values = frozenset(map(plain, column.counts))
        for value, count in column.counts.items():
            for place in holders.get(plain(value), ()):
                counted[place] += count
        total = sum(column.counts.values())
        matches = [
            _match(column, values, parts[place], references[place], count / total, known, rarity)
            for place, count in counted.items()
            if count >= STILL_HELD * total and references[place] != column.table_reference
        ]
        found += _chosen(column, matches, own.get(column.reference, ()), known, rarity.least_bits)
    return found


@dataclass(frozen=True)
class _Rarity:
    """In how many lists each code stands, by the lists' domains: `1` is in most, `PRTL_DLV` in one."""

    lists: int
    holding: Mapping[str, int]

    @classmethod
    def of(cls, parts: Sequence[ListPart]) -> _Rarity:
        by_list: dict[object, set[str]] = defaultdict(set)
        for part in parts:
            by_list[_domain_name(part.domain) or part.codes] |= part.codes
        return cls(len(by_list), Counter(code for codes in by_list.values() for code in codes))

    @property
    def least_bits(self) -> float:
        """From here on hardly any of so many lists has the values of a column by chance."""
        return CHANCE_BITS + math.log2(max(1, self.lists))

    def bits(self, values: Collection[str], part: ListPart) -> float:
        """How unlikely it is that the list has these by chance: by the other lists that have them, and by how full of
        codes of their kind it is."""
        full = Counter(map(_shape, part.codes))
        numbers = sorted(int(code) for code in part.codes if code.isdigit() and len(code) <= LONGEST_NUMBER)
        density = len(numbers) / (numbers[-1] - numbers[0] + 1) if numbers else 1.0
        return sum(self._bits(value, full, density) for value in values if value in part.codes)

    def _bits(self, value: str, full: Mapping[str, int], density: float) -> float:
        if value.isdigit():  # Counts and sizes are near to each other.
            return min(0.25 if len(value) < 3 else 1.0, -math.log2(density))
        others = (self.holding[value] - 0.5) / max(self.lists, LEAST_LISTS)
        room = full[_shape(value)] / min(26.0 ** min(4, len(value)), MOST_ROOM)
        return -math.log2(min(1.0, max(others, room)))


def _shape(code: str) -> str:
    return "9" * len(code) if code.isdigit() else "a" * min(4, len(code))


def _match(
    column: CodeColumn,
    values: frozenset[str],
    part: ListPart,
    reference: str,
    held: float,
    standing: ListStanding,
    rarity: _Rarity,
) -> _Match:
    used = len(part.codes & values) / max(1, len(part.codes))
    near = reference.partition("/")[0] == column.reference.partition("/")[0] and not part.domain
    judged = held >= LEAST_HELD or near
    name = agreement_of(column, part, standing.said.get(reference, ())) if judged else 0.0
    return _Match(part, reference, held, used, name, rarity.bits(values, part) if held >= ALL_HELD else 0.0)


def _freshness(match: _Match, standing: ListStanding) -> tuple[float, bool, float, str]:
    """How much speaks for a list being the one that is kept up to date."""
    part, reference = match.part, match.reference
    hints = name_hints(part.table.reference.table or "", schema=part.table.reference.schema)
    score = (
        2.0 * part.is_open
        - 3.0 * (reference in standing.copies or reference in standing.retired)
        + 1.5 * part.has_validity
        + 1.0 * (reference not in standing.retired and _is_spoken_of(part, reference, standing))
        - 1.0 * bool(hints.kinds & {"superseded", "archive", "backup", "test", "year copy"})
        + 2.0 * match.held
        + COMPLETE * (match.held >= ALL_HELD)  # What is kept up to date has the newest codes.
        + 1.5 * match.name
        + 0.5 * match.used
    )
    return round(score, 2), bool(part.domain), match.held, reference


def _is_spoken_of(part: ListPart, reference: str, standing: ListStanding) -> bool:
    """A sentence that names domains of a list speaks of these; one that names none speaks of all."""
    if part.domain and (said := standing.said.get(reference)):
        return any(not each.domains or part.domain in each.domains for each in said)
    return reference in standing.named


def _chosen(
    column: CodeColumn,
    matches: Sequence[_Match],
    own: Sequence[ListPart],
    standing: ListStanding,
    least_bits: float,
) -> list[CodeList]:
    able = [each for each in matches if each.held >= LEAST_HELD]
    believed = [each for each in able if _is_believed(column, each, able, standing, least_bits)]
    if not believed:
        return []
    # What it is called decides what the list is of; then the one counts that is kept up to date.
    named = max(believed, key=lambda match: (match.name + 2 * match.held, match.bits))
    believed = [
        each
        for each in believed
        if (each.name >= named.name - NAMED_ALIKE and each.held >= named.held - HELD_ALIKE)
        or _is_version(column, each, named)
    ]
    ordered = sorted(believed, key=lambda match: _freshness(match, standing), reverse=True)
    first = ordered[0]
    if own and _freshness(first, standing) <= max(
        _freshness(_Match(part, column.table_reference, 1.0, 1.0, first.name, 0.0), standing) for part in own
    ):
        return []  # The code of a list that is newer than what could explain it.
    result: list[CodeList] = []
    current = [each for each in ordered if each.place == first.place and each.part.is_open]
    outdated = [
        each
        for each in sorted(matches, key=lambda match: _freshness(match, standing), reverse=True)
        if each not in current and _is_version(column, each, first)
    ]
    for match in (*current, *outdated):
        part, reference, is_current = match.part, match.reference, match in current
        reasons = [f"{match.held:.0%} of the rows have one of its {len(part.labels)} codes"]
        if match.name >= LEAST_NAME and part.domain:
            called = f" ({part.title})" if part.title else ""
            reasons.append(f"the column is called after {', '.join(part.domain)}{called}")
        if part.overlaps:
            reasons.append(f"{part.overlaps} of its codes have several labels in force at once: the latest is taken")
        if not is_current:
            ended = not part.is_open
            reasons.append("its rows ended" if ended else f"{first.reference} is kept up to date")
        confidence = min(0.99, 0.35 + 0.3 * match.held + 0.25 * match.name + 0.1 * match.used)
        result.append(
            CodeList(
                column.reference, reference, part.code_column, part.label_column, part.condition, part.language,
                "current" if is_current else "outdated", round(confidence, 3), tuple(reasons),
                match.held, match.used,
            )
        )  # fmt: skip
    return result


def _is_version(column: CodeColumn, match: _Match, first: _Match) -> bool:
    """Whether a list explains the same thing as the current one: the same domain, the same labels for the same codes,
    or a list of its own that stands in the column's source and is called after the column."""
    one, other = first.part, match.part
    if one.domain and other.domain:
        return _domain_name(one.domain) == _domain_name(other.domain) or (
            one.table is not other.table and _labels_alike(one, other)
        )
    if _labels_alike(one, other) or _codes_alike(one, other):
        return True
    near = match.reference.split("/")[0] == column.reference.split("/")[0]
    return near and not other.domain and match.name >= 0.8


@lru_cache(maxsize=20_000)
def _domain_name(domain: tuple[str, ...]) -> str:
    return re.sub(r"[^a-z0-9]", "", "".join(domain).lower())


def _is_believed(
    column: CodeColumn, match: _Match, able: Sequence[_Match], standing: ListStanding, least_bits: float
) -> bool:
    """Names agree; or the codes are telling and no list of other things has them all; or the two columns are known to
    join."""
    if (column.reference, f"{match.reference}.{match.part.code_column}") in standing.joined and match.held >= 0.9:
        return True
    if match.used < FEW_USED and len(match.part.labels) > LONG_LIST:
        return False  # Things of which a handful of numbers are met by chance, whatever they are called.
    is_whole = match.held >= ALL_HELD and match.used >= ALL_USED and len(column.counts) >= LEAST_USED_ALL
    if is_whole and match.name >= HALF_NAMED and (_is_sparse(column) or not match.part.codes & _SMALL_NUMBERS):
        return True
    if match.name < CALLED and column.reference in standing.measures:
        return False
    if match.name >= LEAST_NAME:
        return match.held >= 0.95 or match.name >= CALLED
    if match.held < ALL_HELD or match.used < LEAST_USED:
        return False
    rivals = [
        each
        for each in able
        if each.held >= ALL_HELD
        and each.part.is_open
        and each.used >= match.used / 2  # A long list has a few codes of any other.
        and each.place != match.place
        and not _is_version(column, each, match)
    ]
    near = match.reference.split("/")[0] == column.reference.split("/")[0]
    if near and not rivals and _is_sparse(column):
        coded = bool(_CODED.search(f"{column.name} {column.reading}"))
        if coded or (match.used >= ALL_USED and len(column.counts) >= LEAST_USED_ALL):
            return True
    clear = all(each.bits <= match.bits - CLEAR_BITS for each in rivals)
    return clear and match.bits >= least_bits and len(column.counts) >= LEAST_VALUES


def _is_sparse(column: CodeColumn) -> bool:
    """Numbers far apart, at least three: they do not stand in a list by chance."""
    return _are_sparse(column.counts, 8)


def _are_sparse(codes: Collection[str], times: int = 5) -> bool:
    held = sorted({int(code) for code in codes if re.fullmatch(r"\d{2,9}", code)})
    return len(held) >= 3 and len(held) == len(codes) and held[-1] - held[0] >= times * len(held)


def _labels_alike(one: ListPart, other: ListPart) -> bool:
    """Whether two lists explain mostly the same codes: an old and a new version of one list do."""
    labels, others = _by_plain(one), _by_plain(other)
    codes = labels.keys() & others.keys()
    same = sum(labels[code].lower() == others[code].lower() for code in codes)
    return bool(codes) and same >= 0.3 * len(codes) and len(codes) >= 0.4 * min(len(labels), len(others))


def _codes_alike(one: ListPart, other: ListPart) -> bool:
    """Whether two lists have the same codes, which no list has by chance."""
    shared = one.codes & other.codes
    telling = sum(not code.isdigit() and len(code) > 1 for code in shared)
    return len(shared) >= SAME_CODES * max(len(one.codes), len(other.codes)) and (
        telling >= LEAST_SAME or _are_sparse(shared) or not _words_of(one).isdisjoint(_words_of(other))
    )


def _words_of(part: ListPart) -> set[str]:
    """The words by which a list is told from others."""
    names = part.domain or (part.table.reference.table or "",)
    return {word for name in names for word in words(name) if len(word) >= 4}


def _by_plain(part: ListPart) -> dict[str, str]:
    return {plain(code): label for code, label in part.labels.items()}
