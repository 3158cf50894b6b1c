"""Which list decodes which column: current lists, and those that are outdated though they stand nearer.

In: columns with all their values, and the parts of lists. Out: `CodeList`s. Values propose a list (it has nearly all
codes that the column holds); the names of column and domain, and how telling the codes are, judge. Of several lists
that decode a column the one that is kept up to date is current, the others are outdated.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from coset.environment.copy_names import name_hints
from coset.relations.code_lists.lists import ListPart
from coset.relations.joins.names import KEY_WORDS, bare_name, column_names_table, columns_agree, table_prefix
from coset.state.objects import CodeList

LEAST_HELD, LEAST_NAME = 0.8, 0.6
_CODE_ENDS = ("code", "cod", "cd", "typ", "type", "kz")


@dataclass(frozen=True)
class CodeColumn:
    """A column that may hold codes, with its values and how many rows have each."""

    reference: str
    table: str
    name: str
    siblings: tuple[str, ...]
    """The names of all columns of its table."""
    table_reference: str
    counts: Mapping[str, int]


@dataclass(frozen=True)
class _Match:
    part: ListPart
    held: float
    """The share of the column's rows whose value the list has."""
    used: float
    """The share of the list's codes that the column has."""
    name: float


def find_code_lists(
    columns: Sequence[CodeColumn],
    parts: Sequence[ListPart],
    *,
    copies: Collection[str] = (),
    retired: Collection[str] = (),
    named: Collection[str] = (),
    joined: Collection[tuple[str, str]] = (),
) -> list[CodeList]:
    """`copies` and `retired`: tables whose lists are outdated; `named`: those that documents speak of; `joined`: pairs
    of a column and the code column of a list that are known to join."""
    holders: dict[str, set[int]] = defaultdict(set)
    for place, part in enumerate(parts):
        for code in part.labels:
            holders[_plain(code)].add(place)
    found: list[CodeList] = []
    for column in columns:
        counted: dict[int, int] = defaultdict(int)
        for value, count in column.counts.items():
            for place in holders.get(_plain(value), ()):
                counted[place] += count
        total = sum(column.counts.values())
        matches = [
            _match(column, parts[place], count / total)
            for place, count in counted.items()
            if count >= LEAST_HELD * total and str(parts[place].table.reference) != column.table_reference
        ]
        found += _chosen(column, matches, copies, retired, named, joined)
    return found


def _match(column: CodeColumn, part: ListPart, held: float) -> _Match:
    codes = {_plain(code) for code in part.labels}
    used = len(codes & {_plain(value) for value in column.counts}) / max(1, len(codes))
    return _Match(part, held, used, domain_agreement(column, part))


def _chosen(
    column: CodeColumn,
    matches: Sequence[_Match],
    copies: Collection[str],
    retired: Collection[str],
    named: Collection[str],
    joined: Collection[tuple[str, str]],
) -> list[CodeList]:
    believed = [each for each in matches if _is_believed(column, each, matches, joined)]
    if not believed:
        return []

    def freshness(match: _Match) -> tuple[float, bool, float, str]:
        reference = str(match.part.table.reference)
        hints = name_hints(match.part.table.reference.table or "", schema=match.part.table.reference.schema)
        score = (
            2.0 * match.part.is_open
            - 3.0 * (reference in copies or reference in retired)
            + 1.5 * match.part.has_validity
            + 1.0 * (reference in named and reference not in retired)
            - 1.0 * bool(hints.kinds & {"superseded", "archive", "backup", "test", "year copy"})
            + 2.0 * match.held
            + 1.5 * match.name
            + 0.5 * match.used
        )
        return round(score, 2), bool(match.part.domain), match.held, reference

    first = max(believed, key=freshness)
    current = (str(first.part.table.reference), first.part.domain)
    result: list[CodeList] = []
    for match in sorted(believed, key=freshness, reverse=True):
        part = match.part
        reference = str(part.table.reference)
        is_current = (reference, part.domain) == current and part.is_open
        same_thing = is_current or match.name >= LEAST_NAME or _labels_alike(first.part, part)
        if not same_thing:
            continue
        reasons = [f"{match.held:.0%} of the rows have one of its {len(part.labels)} codes"]
        if match.name >= LEAST_NAME and part.domain:
            reasons.append(f"the column is called after {', '.join(part.domain)}")
        if not is_current:
            reasons.append("its rows ended" if not part.is_open else f"{current[0]} is kept up to date")
        confidence = min(0.99, 0.35 + 0.3 * match.held + 0.25 * match.name + 0.1 * match.used)
        result.append(
            CodeList(
                column.reference, reference, part.code_column, part.label_column, part.condition, part.language,
                "current" if is_current else "outdated", round(confidence, 3), tuple(reasons),
            )
        )  # fmt: skip
    return result


def _is_believed(
    column: CodeColumn, match: _Match, matches: Sequence[_Match], joined: Collection[tuple[str, str]]
) -> bool:
    """Names agree; or the codes are telling and no other domain has them all; or the two columns are known to join."""
    code = f"{match.part.table.reference}.{match.part.code_column}"
    if (column.reference, code) in joined and match.held >= 0.9:
        return True
    if match.name >= LEAST_NAME:
        return match.held >= 0.95 or match.name >= 0.8
    whole = [each for each in matches if each.held >= 0.99 and each.part.is_open]
    fits = len(column.counts) >= 4 and match.held >= 0.99 and match.used >= 0.7 and bool(match.part.domain)
    if fits and {each.part.domain for each in whole if each.used >= 0.7} == {match.part.domain}:
        return True
    telling = sum(any(letter.isalpha() for letter in value) for value in column.counts)
    near = str(match.part.table.reference).split("/")[0] == column.reference.split("/")[0]
    if telling < 3 or match.held < 0.99 or match.used < 0.3:
        return False
    long = all(len(value) >= 2 for value in column.counts)
    alone = {(str(each.part.table.reference), each.part.domain) for each in whole}
    return long or (near and match.used >= 0.5 and len(alone) == 1)


def _labels_alike(one: ListPart, other: ListPart) -> bool:
    """Whether two lists explain mostly the same codes: an old and a new version of one list do."""
    codes = {_plain(code) for code in one.labels} & {_plain(code) for code in other.labels}
    labels, others = _by_plain(one), _by_plain(other)
    same = sum(labels[code].lower() == others[code].lower() for code in codes)
    return bool(codes) and same >= 0.3 * len(codes)


def _by_plain(part: ListPart) -> dict[str, str]:
    return {_plain(code): label for code, label in part.labels.items()}


def _plain(code: str) -> str:
    """A code without what engines add: 4, 04 and 4.0 are one."""
    text = code.strip().lower()
    if re.fullmatch(r"\d+([.]0+)?", text):
        return text.split(".")[0].lstrip("0") or "0"
    return text


def domain_agreement(column: CodeColumn, part: ListPart) -> float:
    """How well a column's name agrees with a domain's (or, of a list without domains, with the table's and its code's):
    `ORPRTY` of ORDMST with PRIORTY, `sts_cd` of ord_hdr with ORDSTS."""
    bare_column = bare_name(column.name, table_prefix(column.siblings))
    bare = _core(bare_column)
    whole = _core(column.name)
    if not whole:
        return 0.0
    if not part.domain:
        siblings = tuple(each.name for each in part.table.columns)
        list_name, code = part.table.reference.table or "", part.code_column
        return max(
            columns_agree(column.name, code),
            columns_agree(bare_column, bare_name(code, table_prefix(siblings))),
            column_names_table(column.name, list_name, code),
        )
    targets = [*part.domain, "".join(part.domain)]
    near = re.sub(r"[^a-z0-9]", "", column.table.lower()) + whole
    best = 0.0
    for target in targets:
        plain = re.sub(r"[^a-z0-9]", "", target.lower())
        if len(plain) < 2:
            continue
        for name in {bare, whole}:
            if len(name) < 2:
                continue
            own = _common(plain, name) / len(name)
            back = _common(plain, near) / len(plain)
            best = max(best, 0.6 * own + 0.4 * back if own >= 0.75 else 0.0)
    return best


def _core(name: str) -> str:
    """A column's name without what says that it is a code."""
    kept = [word for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+", name) if word.lower() not in KEY_WORDS]
    text = "".join(kept).lower()
    for end in _CODE_ENDS:
        if text.endswith(end) and len(text) >= len(end) + 2:
            return text[: -len(end)]
    return text


def _common(one: str, other: str) -> int:
    """The length of the longest text that both hold with letters left out."""
    row = [0] * (len(other) + 1)
    for letter in one:
        before = 0
        for place, each in enumerate(other, start=1):
            before, row[place] = row[place], before + 1 if letter == each else max(row[place], row[place - 1])
    return row[-1]
