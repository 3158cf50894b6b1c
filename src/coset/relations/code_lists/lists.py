"""Tables that explain codes: which column holds the code, which its label, and which rows belong together.

In: a small table that a DuckDB connection can read. Out: `ListPart`s: the codes of one domain (of the whole table,
where it has no domains) that are in force, with their labels by language, and the same for those that ended. Nothing
here knows which column of which table the codes stand in.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import combinations
from typing import TYPE_CHECKING

from coset.environment.source import Column
from coset.evidence.column_expressions import ColumnKind, column_kind
from coset.evidence.reading import JoinableTable
from coset.relations.joins.column_values import NESTED, access, places_inside
from coset.relations.joins.names import bare_name, column_names_table, is_key_name, stem, table_prefix
from coset.sql_text import identifier, literal

if TYPE_CHECKING:
    import duckdb

MOST_ROWS, MOST_COLUMNS, MOST_KEYS = 20_000, 24, 2
LEAST_MADE_UP, SHORT_KEY = 5, 4
_READ = ("text", "enum", "integer", "date", "timestamp", "decimal", "boolean")
COMPLETE = 0.8
SHORT_CODE = 12
LONGEST_CODE, MOST_DOMAINS = 24, 2_000
LEAST_FILLED, MOST_NAMED_DOMAINS, LEAST_CODES = 0.6, 100, 1.3
_NAME_OF_DOMAIN = re.compile(r"[^\W\d][\w.$-]{1,29}")
LANGUAGES = frozenset((
    "en", "de", "fr", "it", "es", "nl", "pt", "pl", "sv", "da", "no", "nb", "fi", "cs", "sk", "hu", "ro", "bg", "el",
    "tr", "ru", "uk", "ja", "zh", "ko", "ar", "he", "e", "d", "f", "i", "s", "n", "p", "enu", "eng", "deu", "ger",
    "fra", "fre", "esp", "spa", "ita", "por", "ptg", "ptb", "nld", "dut", "nor", "swe", "sve", "dan", "fin", "pol",
    "plk", "ces", "cze", "csy", "hun", "ron", "rum", "rus", "tur", "trk", "ell", "jpn", "zho", "chs", "kor",
))  # fmt: skip
LOCALES = {
    "1031": "de", "2055": "de", "3079": "de", "1033": "en", "2057": "en", "1036": "fr", "2060": "fr", "4108": "fr",
    "1040": "it", "2064": "it", "1034": "es", "3082": "es", "1043": "nl", "2067": "nl", "1046": "pt", "2070": "pt",
    "1045": "pl", "1053": "sv", "1030": "da", "1044": "nb", "1035": "fi", "1029": "cs", "1051": "sk", "1038": "hu",
    "1048": "ro", "1026": "bg", "1032": "el", "1055": "tr", "1049": "ru", "1058": "uk", "1041": "ja", "2052": "zh",
    "1042": "ko", "1025": "ar", "1037": "he",
}  # fmt: skip
"""Languages by the numbers that Windows gives them, which many systems store."""
_LETTERS = {
    "d": "de", "e": "en", "f": "fr", "i": "it", "s": "es", "n": "nl", "p": "pt", "l": "pl", "v": "sv", "k": "da",
    "o": "nb", "u": "fi", "c": "cs", "q": "sk", "h": "hu", "w": "bg", "g": "el", "t": "tr", "r": "ru", "j": "ja",
    "a": "ar", "b": "he",
}  # fmt: skip
"""Languages by the letters that SAP gives them."""
_IN_WORDS = {
    "english": "en", "englisch": "en", "german": "de", "deutsch": "de", "french": "fr", "francais": "fr",
    "français": "fr", "italian": "it", "italiano": "it", "spanish": "es", "espanol": "es", "español": "es",
    "dutch": "nl", "nederlands": "nl", "portuguese": "pt", "portugues": "pt", "português": "pt", "polish": "pl",
    "polski": "pl", "swedish": "sv", "svenska": "sv", "danish": "da", "dansk": "da", "norwegian": "nb", "norsk": "nb",
    "finnish": "fi", "suomi": "fi", "czech": "cs", "hungarian": "hu", "romanian": "ro", "turkish": "tr",
    "russian": "ru", "japanese": "ja", "chinese": "zh", "korean": "ko", "arabic": "ar",
}  # fmt: skip
_ORDER = re.compile(r"order|sort|seq|rank|posit|ordre|reihenf|ordin", re.IGNORECASE)
_LANGUAGE = re.compile(
    r"lang|lng|lcid|locale|sprach|spras|lingua|idiom|taal|j[eę]zyk|spr[aå]k|(?<![a-z])lg(?![a-z])", re.IGNORECASE
)
_BEGIN = re.compile(
    r"from|fr$|frm$|start|begin|since|debut|dal|desde|inizio|ab$|von|frdt|effd|strt|vanaf|ingang"
    r"|(?<![a-z])(?:od|fran|från|de)(?![a-z])",
    re.IGNORECASE,
)
_END = re.compile(
    r"to$|to_|_to|end|until|till|fin|bis|hasta|al$|todt|expd|thru?$|eind|fim"
    r"|(?<![a-z])(?:do|tot|ate|até)(?![a-z])",
    re.IGNORECASE,
)
_LABEL = re.compile(
    r"name|nam$|nm$|label|lbl|text|txt|desc|dsc|title|meaning|libell|bez|descri|denom|wording|dl01|lang", re.IGNORECASE
)
_IN_USE = re.compile(
    r"activ|attiv|aktiv|actif|valid|enabled|current|in_?use|gueltig|vigent|abilitat|habilitad", re.IGNORECASE
)
_OUT_OF_USE = re.compile(
    r"inactiv|inattiv|inaktiv|deleted|del_?fl|obsolet|disabled|retired|closed|annul|eliminat|geloescht|gesperrt|supprim",
    re.IGNORECASE,
)
_YES, _NO = (
    frozenset(("1", "y", "yes", "true", "t", "j", "ja", "o", "oui", "s", "si", "x", "a")),
    frozenset(("0", "n", "no", "false", "f", "nein", "non", "-", "i")),
)
_DOMAIN = re.compile(r"dom|type|typ$|cat|class|group|grp|list|table|kind|object|set$|section", re.IGNORECASE)
_ID = re.compile(r"(?:^|_)id$|Id$|ID$")
_WHOLE = re.compile(r"\d+([.]0+)?")
_WORDY = re.compile(r"[^\W\d_]{3}")
_DATE = re.compile(r"(1[89]|2\d|9\d)\d\d-?[01]\d-?[0-3]\d|[01]\d\d(0[1-9]|1[0-2])([0-2]\d|3[01])$")
"""Years of four digits, or of three since 1900, as midrange systems store them."""
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
    overlaps: int = 0
    """How many codes have several labels in force at once; the one that began last is taken."""
    title: str = ""
    """What the domain, or a list of its own, is called in words, where that is known."""
    decodes: frozenset[tuple[str, str]] = frozenset()
    """The columns, each with its table, that the system's own dictionary says are decoded, in small letters."""

    @cached_property
    def codes(self) -> frozenset[str]:
        """The codes as they are compared."""
        return frozenset(map(plain, self.labels))


@dataclass(frozen=True)
class _Columns:
    code: str
    label: str
    domain: tuple[str, ...]
    language: str | None
    begin: str | None
    end: str | None
    flag: str | None = None
    """The column that says whether a row is in use."""


@lru_cache(maxsize=100_000)
def plain(code: str) -> str:
    """A code without what engines add: 4, 04 and 4.0 are one."""
    text = code.strip().lower()
    if text[:1].isdigit() and _WHOLE.fullmatch(text):
        return text.split(".")[0].lstrip("0") or "0"
    return text


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
    parts = _parts_of_rows(connection, table)
    for column in table.columns:
        if column.type.upper().startswith("STRUCT") and column.type.endswith("[]"):
            parts += _parts_inside(connection, table, column)
    return parts


def _parts_inside(connection: duckdb.DuckDBPyConnection, table: JoinableTable, column: Column) -> list[ListPart]:
    """The parts of lists that stand inside the rows of a table: `{list: 'state', entries: [{c: 'O', t: 'Open'}]}`."""
    name, kind = identifier(column.name), column.type[:-2].replace("JSON", "VARCHAR")
    relation = f"(SELECT * EXCLUDE ({name}), CAST(unnest({name}) AS {kind}) AS {name} FROM {table.relation})"
    inner = tuple(replace(each, type=kind) if each is column else each for each in table.columns)
    elements = replace(table, relation=relation, columns=inner, rows=MOST_ROWS)

    def place(inside: str) -> str:
        begins = f"{column.name}."
        return f"{column.name}[].{inside[len(begins) :]}" if inside.startswith(begins) else inside

    return [
        replace(part, table=table, code_column=place(part.code_column), label_column=place(part.label_column))
        for part in _parts_of_rows(connection, elements)
        if part.code_column.startswith(f"{column.name}.")
    ]


def _parts_of_rows(connection: duckdb.DuckDBPyConnection, table: JoinableTable) -> list[ListPart]:
    kinds = _kinds(table)
    names = [name for name, kind in kinds.items() if kind in _READ]
    if not names:
        return []
    selected = ", ".join(f"trim(CAST({access(name)} AS VARCHAR), ' \"')" for name in names)
    rows = connection.execute(f"SELECT {selected} FROM {table.relation} LIMIT {MOST_ROWS}").fetchall()
    values = {name: [row[place] for row in rows] for place, name in enumerate(names)}
    found = _columns_of(values, {name: kinds[name] for name in names})
    if not found:
        return []
    parts: list[ListPart] = []
    for each in _variants(table, found, values):
        parts += _parts(table, each, values)
        # Codes that happen to be unique in the whole list still belong to domains, where a column names these.
        if not each.domain and (domain := _domain_beside(each, values)):
            parts += _parts(table, replace(each, domain=(domain,)), values)
    return parts


def with_titles(parts: Sequence[ListPart], readings: Mapping[str, str] | None = None) -> list[ListPart]:
    """Parts with what they are called: where another table of the source lists the domains, what it says (system 40 and
    type CM are `Cost methods` there); a list of its own by what its table is read as."""
    titles: dict[tuple[str, ...], set[str]] = {}
    for part in parts:
        for code, label in part.labels.items():
            place = part.table.reference.source, *part.domain, code
            titles.setdefault(tuple(map(str.lower, place)), set()).add(label)
    result = []
    for part in parts:
        if not part.domain:
            title = (readings or {}).get(str(part.table.reference), "")
            result.append(replace(part, title=title) if title else part)
            continue
        place = tuple(map(str.lower, (part.table.reference.source, *part.domain)))
        known = titles.get(place) or titles.get((place[0], place[-1]), set())
        result.append(replace(part, title=next(iter(known))) if len(known) == 1 else part)
    return result


def _variants(table: JoinableTable, found: _Columns, values: dict[str, list[str | None]]) -> Iterator[_Columns]:
    """A list as it was read; once more for each further key by which its rows are referred to (a made-up id beside the
    code), and for each further column with labels in another language (`title_fr` beside `title_en`)."""
    yield found
    taken = {found.code, found.label, found.language, found.begin, found.end, found.flag, *found.domain}
    for code in [name for name in values if name not in taken and _is_own_key(name, table, values)][:MOST_KEYS]:
        yield replace(found, code=code, domain=())
    begins, language = _without_language(found.label)
    if language is None:
        return
    for name, held in values.items():
        if name not in taken and _without_language(name)[0] == begins and _are_labels(held):
            yield replace(found, label=name)


def _is_own_key(name: str, table: JoinableTable, values: dict[str, list[str | None]]) -> bool:
    """Whether a column is a key of its table and stands first, is short, or is called so (`Id`, `record_type_id` of
    record_types)."""
    if not _are_codes(values[name]) or not _is_key(values, (name,)) or _ORDER.search(name):
        return False
    letters = sum(value[0].isalpha() for value in _present(values[name])) >= 0.9 * len(values[name])
    if name == next(iter(values)) or (letters and _mean_length(values[name]) <= SHORT_KEY):
        return True
    return is_key_name(name) and (not stem(name) or column_names_table(name, table.reference.table or "", "") >= 0.8)


def _without_language(name: str) -> tuple[str, str | None]:
    """`title_fr` as `title` and `fr`."""
    begins, _, end = name.replace(NESTED, "_").rpartition("_")
    return (begins, end.lower()) if begins and len(end) == 2 and end.lower() in LANGUAGES else (name, None)


def _domain_beside(columns: _Columns, values: dict[str, list[str | None]]) -> str | None:
    """A column that is called after domains, or one before the codes in which words name several codes each."""
    used = (columns.code, columns.label, columns.language, columns.begin, columns.end, columns.flag)
    free = [name for name, held in values.items() if name not in used and _may_be_domain(held) and not _ID.search(name)]
    order = list(values)
    named = [name for name in free if _DOMAIN.search(name)]
    before = [
        name for name in free if order.index(name) < order.index(columns.code) and _name_domains(name, columns, values)
    ]
    return next(iter((*named, *before)), None)


def _name_domains(name: str, columns: _Columns, values: dict[str, list[str | None]]) -> bool:
    """Whether the values of a column are the names of a few domains, each beside several codes."""
    names = set(_present(values[name]))
    if len(names) > MOST_NAMED_DOMAINS or not all(_NAME_OF_DOMAIN.fullmatch(each) for each in names):
        return False
    codes = set(zip(values[name], values[columns.code], strict=True))
    return 2 * len(names) <= len(codes) and sum(bool(_WORDY.search(each)) for each in names) >= 0.8 * len(names)


def _columns_of(values: dict[str, list[str | None]], kinds: dict[str, ColumnKind]) -> _Columns | None:
    """What each column of a list is for: by its values, then by its name."""
    texts = [name for name in values if kinds[name] in ("text", "enum")]
    language = next((name for name in texts if _LANGUAGE.search(name) and _may_be_languages(values[name])), None)
    if language is None:
        language = next((name for name in texts if _are_languages(values[name])), None)
    if language is None:
        language = next((name for name in values if _are_language_numbers(name, values[name])), None)
    dates = [name for name in values if _are_dates(values[name]) and name != language]
    begin, end = _period(dates, values)
    flag = next((name for name in values if name != language and _says_use(name, values[name])), None)
    rest = [name for name in values if name not in (language, begin, end, flag) and name not in dates]
    labels = sorted(
        (name for name in rest if kinds[name] in ("text", "enum") and _are_labels(values[name])),
        key=lambda name: (not _LABEL.search(name), -_mean_length(values[name])),
    )
    if not labels:
        return None
    label = labels[0]
    codes = [name for name in rest if name != label and _are_codes(values[name])]
    # Keys that a machine made up are the codes only where there are no others.
    codes.sort(key=lambda name: _mean_length(values[name]) > SHORT_CODE)
    order = list(values)
    prefix = table_prefix(tuple(order))
    # Labels in another language, the order in which codes are shown, and numbers of rows are codes only where nothing
    # else is.
    begins, language_of_label = _without_language(label)
    likely = [
        name
        for name in codes
        if not (
            _ORDER.search(name)
            or (language_of_label and _without_language(name)[0] == begins)
            or _numbers_rows(name, codes, values)
        )
    ]
    fixed = [name for name in (language, begin, end, flag) if name]
    for some in (likely, codes):
        best = _best_code(some, label, rest, fixed, values, order, prefix)
        if best is not None:
            break
    if best is None:
        return None
    code, domain = best
    found = _Columns(code, label, domain, language, begin, end, flag)
    # Further columns that repeat and stand before the code belong to the domain, though it is a key without them.
    first = [name for name in rest if order.index(name) < order.index(found.code) and _may_be_domain(values[name])]
    if found.domain and len(first) <= 2 and set(found.domain) <= set(first):
        return replace(found, domain=tuple(first))
    return found


def _period(dates: Sequence[str], values: dict[str, list[str | None]]) -> tuple[str | None, str | None]:
    """The columns that say from when and until when a row is in force: by their names, else by their values."""
    begin = next((name for name in dates if _BEGIN.search(name) and not _END.search(name)), None)
    begin = begin or next((name for name in dates if _BEGIN.search(name)), None)
    end = next((name for name in dates if _END.search(name) and name != begin), None)
    if begin is None and end is None and len(dates) == 2:
        one, other = dates
        pairs = [(left, right) for left, right in zip(values[one], values[other], strict=True)]
        ended_later = sum(_is_before(left, right) for left, right in pairs)
        ended_sooner = sum(_is_before(right, left) for left, right in pairs)
        begin, end = (one, other) if ended_later >= ended_sooner else (other, one)
    elif begin is None and end is not None:
        begin = next((name for name in dates if name != end), None)
    elif end is None and len(dates) == 2:
        end = next(name for name in dates if name != begin)
    return begin, end


def _is_before(begin: str | None, end: str | None) -> bool:
    """Whether a period may begin and end so: one without an end has just begun."""
    if not begin or begin in _NO_DATE:
        return False
    return not end or end in _NO_DATE or _year_first(begin) <= _year_first(end)


def _numbers_rows(name: str, codes: Sequence[str], values: dict[str, list[str | None]]) -> bool:
    """Whether a column numbers the rows one by one, also as `1-G00A` or `6500000341aa0003`, while one with letters, or
    one that repeats, may hold the codes."""
    held = _present(values[name])
    if len(held) < len(values[name]) or len(set(held)) < len(held):
        return False
    if not (_are_serials(held) or _are_made_up(held)):
        return False
    others = (each for each in codes if each != name and not _ORDER.search(each))
    return any(
        any(letter.isalpha() for value in _present(values[each]) for letter in value)
        and (not _may_be_domain(values[each]) or len(codes) > 2)
        for each in others
    )


def _are_serials(held: Sequence[str]) -> bool:
    if not all(map(str.isdigit, held)):
        return False
    numbers = sorted(map(int, held))
    return numbers[-1] - numbers[0] < 1.2 * len(numbers)


def _are_made_up(held: Sequence[str]) -> bool:
    """Whether values have one length, begin alike and go on with digits: what a machine gives to rows."""
    first, last = min(held), max(held)
    same = next((place for place, pair in enumerate(zip(first, last, strict=False)) if pair[0] != pair[1]), len(first))
    return (
        len(held) >= LEAST_MADE_UP
        and len({len(value) for value in held}) == 1
        and len(held[0]) >= LEAST_MADE_UP
        and same >= 2
        and all(any(letter.isdigit() for letter in value) for value in held)
        and sum(value[-1].isdigit() for value in held) >= 0.15 * len(held)
    )


def _best_code(
    codes: Sequence[str],
    label: str,
    rest: Sequence[str],
    fixed: Sequence[str],
    values: dict[str, list[str | None]],
    order: Sequence[str],
    prefix: str,
) -> tuple[str, tuple[str, ...]] | None:
    """The code, and the columns of its domain, that tell the rows apart together with what is `fixed`."""
    best: tuple[tuple[int, int, bool, int], str, tuple[str, ...]] | None = None
    for code in codes:
        if best is not None and _mean_length(values[code]) > SHORT_CODE:
            break
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
                if not _is_key(values, (*domain, code, *fixed)) or not _has_several(values, domain, code):
                    continue
                # A domain stands before its codes, and has more of a name than they have.
                before = sum(order.index(name) < order.index(code) for name in domain)
                longer = sum(_mean_length(values[name]) >= _mean_length(values[code]) for name in domain)
                rank = size, -before - longer, not _CODE.search(bare_name(code, prefix)), order.index(code)
                if best is None or rank < best[0]:
                    best = rank, code, domain
            if best is not None and best[0][0] <= size:
                break
    return best[1:] if best else None


def _has_several(values: dict[str, list[str | None]], domain: tuple[str, ...], code: str) -> bool:
    """Whether domains have several codes: what has one is a code itself."""
    if not domain:
        return True
    domains = list(zip(*(values[name] for name in domain), strict=True))
    return len(set(zip(domains, values[code], strict=True))) >= LEAST_CODES * len(set(domains))


def _may_be_domain(values: Sequence[str | None]) -> bool:
    return None not in values and 2 <= len(set(values)) <= len(values) / 2


def _parts(table: JoinableTable, columns: _Columns, values: dict[str, list[str | None]]) -> Iterator[ListPart]:
    count = len(values[columns.code])
    groups: _Groups = {}
    begins: dict[tuple[object, ...], str] = {}
    overlaps: dict[tuple[str, ...], set[str]] = {}
    is_open, in_force_is = _validity(columns, values)
    has_validity = in_force_is is not None
    for row in range(count):
        code, label = values[columns.code][row], values[columns.label][row]
        if not code or not label:
            continue
        domain = tuple(str(values[name][row]) for name in columns.domain)
        language = values[columns.language][row] if columns.language else None
        key = domain, language, is_open[row] or not has_validity
        begin = str(values[columns.begin][row] or "") if columns.begin else ""
        known = groups.setdefault(key, {})
        if code in known and known[code] != label and key[2]:
            overlaps.setdefault(domain, set()).add(code)
        if code not in known or begin >= begins[(*key, code)]:
            known[code], begins[(*key, code)] = label, begin
    groups = _with_languages_together(groups)
    label_column, inner = columns.label.replace(NESTED, "."), columns.label.split(NESTED)[-1].lower()
    said = _without_language(columns.label)[1]
    for (domain, language, in_force), labels in groups.items():
        tests = [f"{access(name)} = {literal(value)}" for name, value in zip(columns.domain, domain, strict=True)]
        if columns.language and language:
            tests.append(f"{identifier(columns.language)} = {literal(language)}")
        if in_force_is:
            tests.append(in_force_is if in_force else f"NOT {in_force_is}")
        language = _language_in_short(language)
        if language is None:
            language = inner if NESTED in columns.label and inner in LANGUAGES else said
        condition = " AND ".join(tests) or None
        yield ListPart(
            table, columns.code.replace(NESTED, "."), label_column, domain, condition, language, in_force, has_validity,
            labels, len(overlaps.get(domain, ())) if in_force else 0,
        )  # fmt: skip


def _language_in_short(written: str | None) -> str | None:
    """`de` for 1031 and for POLISH `pl`; what is short already stays as it is written, but for the letters of SAP."""
    if written is None:
        return None
    named = next((_IN_WORDS[word] for word in re.findall(r"[^\W\d_]+", written.lower()) if word in _IN_WORDS), None)
    return LOCALES.get(written) or named or _LETTERS.get(written.lower(), written)


def _validity(columns: _Columns, values: dict[str, list[str | None]]) -> tuple[list[bool], str | None]:
    """Which rows are in force, and the SQL that chooses them; None where all are, or nothing says so. Where rows end
    and are marked as in use as well, both must hold."""
    is_open, tests = [True] * len(values[columns.code]), list[str]()
    if columns.end:
        ends = values[columns.end]
        # Where every row ends some day, the last ones are those in force.
        last = max((_year_first(end) for end in ends if end), default="")
        far = "2090" if any(_is_open(end, "2090") for end in ends) else last
        not_ended = [_is_open(end, far) for end in ends]
        if any(not_ended) and not all(not_ended):
            is_open = not_ended
            tests.append(_in_force(columns.end, far, european=any(_EUROPEAN.match(end) for end in ends if end)))
    if columns.flag:
        held = sorted({value for value in values[columns.flag] if value is not None})
        chosen = [value for value in held if (value.lower() in _YES) is not bool(_OUT_OF_USE.search(columns.flag))]
        in_use = [one and value in chosen for one, value in zip(is_open, values[columns.flag], strict=True)]
        if any(in_use) and len(chosen) < len(held):
            is_open = in_use
            tests.append(f"(CAST({access(columns.flag)} AS VARCHAR) IN ({', '.join(map(literal, chosen))}))")
    return is_open, f"({' AND '.join(tests)})" if len(tests) > 1 else next(iter(tests), None)


def _says_use(name: str, values: Sequence[str | None]) -> bool:
    """Whether a column says yes or no to a row being in use."""
    if not (_OUT_OF_USE.search(name) or _IN_USE.search(name)):
        return False
    held = {value.lower() for value in _present(values)}
    return len(held) == 2 and bool(held & _YES) and bool(held & _NO)


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


_EUROPEAN = re.compile(r"[0-3]?\d[./-][01]?\d[./-]((?:1[89]|2\d|9\d)\d\d)")
_NO_DATE = ("", "0", "00000000")


def _in_force(end: str, far: str, *, european: bool) -> str:
    text = f"CAST({access(end)} AS VARCHAR)"
    empty = f"{access(end)} IS NULL OR {text} IN ('', '0', '00000000')"
    return f"({empty} OR {f'right({text}, 4)' if european else text} >= {literal(far[:4] if european else far)})"


def _is_open(end: str | None, far: str) -> bool:
    return end is None or end in _NO_DATE or _year_first(end) >= far


def _year_first(date: str) -> str:
    """A date as it is compared: by its year, where that stands last."""
    found = _EUROPEAN.match(date)
    return found[1] if found else date


def _present(values: Sequence[str | None]) -> list[str]:
    return [value for value in values if value]


def _may_be_languages(values: Sequence[str | None]) -> bool:
    """Whether the values of a column that is called after languages may be some, whatever letters they have."""
    found = set(_present(values))
    return (
        None not in values
        and 1 <= len(found) <= 12
        and len(found) <= max(1, len(values) / 2)
        and all(re.fullmatch(r"[^\W\d]{1,20}(?:-[^\W\d]{2,8})?", value) for value in found)
    )


def _are_languages(values: Sequence[str | None]) -> bool:
    found = set[str]()
    for value in filter(None, dict.fromkeys(values)):
        language = value[:4].lower().partition("-")[0].partition("_")[0]
        if language not in LANGUAGES:
            return False
        found.add(language)
    return 1 <= len(found) <= 12 and found <= LANGUAGES and (len(found) > 1 or len(next(iter(found))) > 1)


def _are_language_numbers(name: str, values: Sequence[str | None]) -> bool:
    """Whether languages stand as numbers: as systems number them (1031 is German, 1036 French), or in a column that is
    called after languages."""
    found = set(_present(values))
    if None in values or not 2 <= len(found) <= 12 or not all(map(str.isdigit, found)):
        return False
    return found <= LOCALES.keys() or (bool(_LANGUAGE.search(name)) and 2 * len(found) <= len(values))


def _are_dates(values: Sequence[str | None]) -> bool:
    found = _present(values)
    dated = [value for value in found if value not in _NO_DATE and value.strip("9")]
    return bool(dated) and all(_DATE.match(value) or _EUROPEAN.match(value) for value in dated)


def _are_labels(values: Sequence[str | None]) -> bool:
    """Words that hardly repeat: what codes stand for."""
    counts = Counter(_present(values))
    count = counts.total()
    if not count or len(counts) < 0.4 * count or _mean_length(values) < 3:
        return False
    return sum(times for value, times in counts.items() if _WORDY.search(value)) >= 0.7 * count


def _are_codes(values: Sequence[str | None]) -> bool:
    """Short values of which there are several; a blank may stand for none of them, missing ones may not."""
    found = _present(values)
    known = sum(value is not None for value in values)
    return (
        len(set(found)) > 1
        and known >= 0.95 * len(values)
        and len(found) >= LEAST_FILLED * len(values)
        and max(map(len, found)) <= LONGEST_CODE
    )


def _mean_length(values: Sequence[str | None]) -> float:
    found = _present(values)
    return sum(map(len, found)) / len(found) if found else 0.0


def _is_key(values: dict[str, list[str | None]], names: tuple[str, ...]) -> bool:
    rows = list(zip(*(values[name] for name in names), strict=True))
    return len(set(rows)) >= 0.99 * len(rows)
