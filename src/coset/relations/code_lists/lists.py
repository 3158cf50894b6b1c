"""Tables that explain codes: which column holds the code, which its label, and which rows belong together.

In: a small table that a DuckDB connection can read. Out: `ListPart`s: the codes of one domain (of the whole table,
where it has no domains) that are in force, with their labels by language, and the same for those that ended. Nothing
here knows which column of which table the codes stand in.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import TYPE_CHECKING

from coset.evidence.column_expressions import ColumnKind, column_kind
from coset.evidence.reading import JoinableTable
from coset.relations.joins.column_values import NESTED, access, places_inside
from coset.relations.joins.names import bare_name, table_prefix
from coset.sql_text import identifier, literal

if TYPE_CHECKING:
    import duckdb

MOST_ROWS, MOST_COLUMNS = 20_000, 24
_READ = ("text", "enum", "integer", "date", "timestamp", "decimal")
COMPLETE = 0.8
SHORT_CODE = 12
LONGEST_CODE, MOST_DOMAINS = 24, 2_000
LANGUAGES = frozenset((
    "en", "de", "fr", "it", "es", "nl", "pt", "pl", "sv", "da", "no", "nb", "fi", "cs", "sk", "hu", "ro", "bg", "el",
    "tr", "ru", "uk", "ja", "zh", "ko", "ar", "he", "e", "d", "f", "i", "s", "n",
))  # fmt: skip
_BEGIN = re.compile(r"from|fr$|frm$|start|begin|since|debut|dal|desde|inizio|ab$|von|frdt|effd|strt", re.IGNORECASE)
_END = re.compile(r"to$|to_|_to|end|until|till|fin|bis|hasta|al$|todt|expd|thru", re.IGNORECASE)
_LABEL = re.compile(
    r"name|nam$|nm$|label|lbl|text|txt|desc|dsc|title|meaning|libell|bez|descri|denom|wording|dl01|lang", re.IGNORECASE
)
_DOMAIN = re.compile(r"dom|type|typ$|cat|class|group|grp|list|table|kind|object|set$|section", re.IGNORECASE)
_CODE = re.compile(r"code|cod|cd$|cd_|val|key|ky|id$|no$|nr$|abbr|short|kuerzel|sigle", re.IGNORECASE)


@dataclass(frozen=True)
class ListPart:
    """Codes of one domain with their labels. `condition` chooses its rows in SQL over the table, None chooses all."""

    table: JoinableTable
    code_column: str
    label_column: str
    domain: tuple[str, ...]
    condition: str | None
    language: str | None
    is_open: bool
    """Whether these are the codes in force; False for those that ended."""
    has_validity: bool
    labels: dict[str, str] = field(hash=False, compare=False)


@dataclass(frozen=True)
class _Columns:
    code: str
    label: str
    domain: tuple[str, ...]
    language: str | None
    begin: str | None
    end: str | None


def may_be_list(table: JoinableTable) -> bool:
    """Whether a table is small and has text, without a look at its rows."""
    if not 2 <= table.rows <= MOST_ROWS or not 2 <= len(table.columns) <= MOST_COLUMNS or table.members:
        return False
    return any(kind in ("text", "enum") for kind in _kinds(table).values())


def _kinds(table: JoinableTable) -> dict[str, ColumnKind]:
    columns = [each for column in table.columns for each in (column, *(one for _, one in places_inside(column, 0)))]
    return {column.name: column_kind(column.type) for column in columns}


def parts_of(connection: duckdb.DuckDBPyConnection, table: JoinableTable) -> list[ListPart]:
    """The parts of a table that may be a code list; none when it is not."""
    if not may_be_list(table):
        return []
    kinds = _kinds(table)
    names = [name for name, kind in kinds.items() if kind in _READ]
    selected = ", ".join(f"trim(CAST({access(name)} AS VARCHAR))" for name in names)
    rows = connection.execute(f"SELECT {selected} FROM {table.relation} LIMIT {MOST_ROWS}").fetchall()
    values = {name: [row[place] for row in rows] for place, name in enumerate(names)}
    found = _columns_of(values, {name: kinds[name] for name in names})
    if not found:
        return []
    parts = list(_parts(table, found, values))
    # Codes that happen to be unique in the whole list still belong to domains, where a column names these.
    if not found.domain and (domain := _domain_beside(found, values)):
        parts += _parts(table, replace(found, domain=(domain,)), values)
    return parts


def _domain_beside(columns: _Columns, values: dict[str, list[str | None]]) -> str | None:
    for name, held in values.items():
        if name in (columns.code, columns.label, columns.language, columns.begin, columns.end):
            continue
        if _DOMAIN.search(name) and _may_be_domain(held):
            return name
    return None


def _columns_of(values: dict[str, list[str | None]], kinds: dict[str, ColumnKind]) -> _Columns | None:
    """What each column of a list is for: by its values, then by its name."""
    language = next((name for name in values if kinds[name] == "text" and _are_languages(values[name])), None)
    dates = [name for name in values if _are_dates(values[name]) and name != language]
    begin = next((name for name in dates if _BEGIN.search(name)), None)
    end = next((name for name in dates if _END.search(name) and name != begin), None)
    if begin is None and end is None and len(dates) == 2:
        begin, end = sorted(dates, key=lambda name: max(_present(values[name])))
    elif begin is None and end is not None:
        begin = next((name for name in dates if name != end), None)
    rest = [name for name in values if name not in (language, begin, end) and name not in dates]
    labels = sorted(
        (name for name in rest if kinds[name] in ("text", "enum") and _are_labels(values[name])),
        key=lambda name: (not _LABEL.search(name), -_mean_length(values[name])),
    )
    if not labels:
        return None
    best: tuple[tuple[int, int, bool, int], _Columns] | None = None
    label = labels[0]
    codes = [name for name in rest if name != label and _are_codes(values[name])]
    # Keys that a machine made up are the codes only where there are no others.
    codes.sort(key=lambda name: _mean_length(values[name]) > SHORT_CODE)
    order = list(values)
    prefix = table_prefix(tuple(order))
    for code in codes:
        if best is not None and _mean_length(values[code]) > SHORT_CODE:
            break
        further = [name for name in (language, begin) if name]
        domains = [
            name
            for name in rest
            if name not in (code, label)
            and None not in values[name]
            and len(set(values[name])) <= MOST_DOMAINS
            and not _is_key(values, (name,))
        ]
        for size in range(3):
            for domain in combinations(domains[:6], size):
                if not _is_key(values, (*domain, code, *further)):
                    continue
                # A domain stands before its codes, and has more of a name than they have.
                before = sum(order.index(name) < order.index(code) for name in domain)
                longer = sum(_mean_length(values[name]) >= _mean_length(values[code]) for name in domain)
                rank = size, -before - longer, not _CODE.search(bare_name(code, prefix)), order.index(code)
                if best is None or rank < best[0]:
                    best = rank, _Columns(code, label, domain, language, begin, end)
            if best is not None and best[0][0] <= size:
                break
    if best is None:
        return None
    found = best[1]
    # Further columns that repeat and stand before the code belong to the domain, though it is a key without them.
    first = [name for name in rest if order.index(name) < order.index(found.code) and _may_be_domain(values[name])]
    if found.domain and len(first) <= 2 and set(found.domain) <= set(first):
        return replace(found, domain=tuple(first))
    return found


def _may_be_domain(values: Sequence[str | None]) -> bool:
    return None not in values and 2 <= len(set(values)) <= len(values) / 2


def _parts(table: JoinableTable, columns: _Columns, values: dict[str, list[str | None]]) -> Iterator[ListPart]:
    count = len(values[columns.code])
    groups: _Groups = {}
    ends = values[columns.end] if columns.end else [None] * count
    is_open = [_is_open(end) for end in ends]
    has_validity = columns.end is not None and any(is_open) and not all(is_open)
    label_column, inner = columns.label.replace(NESTED, "."), columns.label.split(NESTED)[-1].lower()
    for row in range(count):
        code, label = values[columns.code][row], values[columns.label][row]
        if not code or not label:
            continue
        domain = tuple(str(values[name][row]) for name in columns.domain)
        language = values[columns.language][row] if columns.language else None
        key = domain, language, is_open[row] or not has_validity
        groups.setdefault(key, {})[code] = label
    groups = _with_languages_together(groups)
    for (domain, language, in_force), labels in groups.items():
        tests = [f"{access(name)} = {literal(value)}" for name, value in zip(columns.domain, domain, strict=True)]
        if columns.language and language:
            tests.append(f"{identifier(columns.language)} = {literal(language)}")
        if has_validity and columns.end:
            tests.append(_in_force(columns.end) if in_force else f"NOT {_in_force(columns.end)}")
        if language is None and NESTED in columns.label and inner in LANGUAGES:
            language = inner
        condition = " AND ".join(tests) or None
        code_column = columns.code.replace(NESTED, ".")
        yield ListPart(table, code_column, label_column, domain, condition, language, in_force, has_validity, labels)


_Groups = dict[tuple[tuple[str, ...], str | None, bool], dict[str, str]]


def _with_languages_together(groups: _Groups) -> _Groups:
    """Where each code is explained in one language or another, all of them are one list."""
    together: _Groups = {}
    for (domain, _, in_force), labels in groups.items():
        whole = together.setdefault((domain, None, in_force), {})
        together[domain, None, in_force] = {**labels, **whole}
    return {
        key: labels
        for (domain, language, in_force), found in groups.items()
        for key, labels in (
            [((domain, language, in_force), found)]
            if len(found) >= COMPLETE * len(together[domain, None, in_force])
            else [((domain, None, in_force), together[domain, None, in_force])]
        )
    }


def _in_force(end: str) -> str:
    name = identifier(end)
    return f"({name} IS NULL OR CAST({name} AS VARCHAR) = '' OR CAST({name} AS VARCHAR) >= '2090')"


def _is_open(end: str | None) -> bool:
    return end is None or end == "" or end >= "2090"


def _present(values: Sequence[str | None]) -> list[str]:
    return [value for value in values if value]


def _are_languages(values: Sequence[str | None]) -> bool:
    found = {re.split(r"[-_]", value.lower())[0] for value in _present(values)}
    return 1 <= len(found) <= 12 and found <= LANGUAGES and (len(found) > 1 or len(next(iter(found))) == 2)


def _are_dates(values: Sequence[str | None]) -> bool:
    found = _present(values)
    return bool(found) and all(re.match(r"(1[89]|2\d|9\d)\d\d-?[01]\d-?[0-3]\d", value) for value in found)


def _are_labels(values: Sequence[str | None]) -> bool:
    """Words that hardly repeat: what codes stand for."""
    found = _present(values)
    wordy = sum(bool(re.search(r"[^\W\d_]{3}", value)) for value in found)
    return (
        bool(found) and wordy >= 0.7 * len(found) and len(set(found)) >= 0.4 * len(found) and _mean_length(values) >= 3
    )


def _are_codes(values: Sequence[str | None]) -> bool:
    found = _present(values)
    return bool(found) and len(found) >= 0.95 * len(values) and max(map(len, found)) <= LONGEST_CODE


def _mean_length(values: Sequence[str | None]) -> float:
    found = _present(values)
    return sum(map(len, found)) / len(found) if found else 0.0


def _is_key(values: dict[str, list[str | None]], names: tuple[str, ...]) -> bool:
    rows = list(zip(*(values[name] for name in names), strict=True))
    return len(set(rows)) >= 0.99 * len(rows)
