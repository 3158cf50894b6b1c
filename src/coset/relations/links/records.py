"""Tables that hold records of things (`Master`s), and their records in one temporary table, in comparable forms.

In: masters whose tables are open in a connection. Out: `link_records` (record, master, key, name, words of the name,
attributes, flags) in that connection. `Agreement` says how often the names of pairs agree, the test that every proposal
of a link must pass. Does not know where pairs come from.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import duckdb

from coset.evidence.reading import JoinableTable
from coset.sql_text import identifier, literal
from coset.state.memberships import MembershipRow
from coset.state.tables import ColumnRow, PathRow

LEAST_ROWS = 5
MOST_NAME_COLUMNS = 4
STRONG = ("tax", "bank_account", "email", "phone")
"""Attributes by which two records are one thing, the strongest first."""
SINGLE = frozenset({"tax", "birth"})
"""Attributes of which a thing has one: two that differ oppose a link."""
NAMING = frozenset({"name", "title", "given_name", "family_name", "username"})
DESCRIBING = frozenset({"description", "model"})
LONGEST_NAME = 60
KEYS = frozenset({"identifier", "code", "key", "username"})
BY_ROLE = {
    "email": "email", "phone": "phone", "postal_code": "postal_code", "city_of": "city", "country_of": "country",
    "birth_date": "birth",
}  # fmt: skip
BY_PERSONAL = {"email": "email", "phone": "phone", "iban": "bank_account", "birth_date": "birth"}
_WORDS = (
    ("tax", re.compile(r"\b(tax|vat|fiscal|tin|nip|siren|siret|company "
    r"registration)\b.*\b(number|no|id|code)\b|\bvat\b")),
    ("bank_account", re.compile(r"\biban\b|\bbank account\b")),
    ("email", re.compile(r"\be-?mail\b")),
    ("phone", re.compile(r"\b(phone|telephone|mobile)\b")),
    ("birth", re.compile(r"\b(birth|born)\b")),
    ("postal_code", re.compile(r"\b(post(al)? ?code|zip|postcode)\b")),
    ("city", re.compile(r"\b(city|town)\b")),
    ("street", re.compile(r"\b(street|address line|street address)\b")),
)  # fmt: skip
_FLAG = re.compile(r"\b(test|internal|dummy|training|demo|deleted|inactive|own group|group company|intercompany)\b")
_NAME = re.compile(r"\bname\b")
_PART = re.compile(r"\b(first|given|last|family|sur|middle|fore)[ -]?name\b|\bname ?\d\b|\bname (one|two|line)\b")


@dataclass(frozen=True)
class Master:
    """A table of records. Expressions are SQL over its relation, and give text."""

    number: int
    table: JoinableTable
    entity: str
    """Its role, and how sure that is."""
    sure: float
    reading: str
    key: str
    key_column: str
    name: str | None
    attributes: Mapping[str, str] = field(default_factory=dict)
    flags: tuple[tuple[str, str], ...] = ()
    """(what a filled flag says, the expression that is true for such records)."""
    codes: tuple[tuple[str, str], ...] = ()
    """(column, text of it) of columns that may hold the key of another table."""

    @property
    def reference(self) -> str:
        return str(self.table.reference)


@dataclass(frozen=True)
class KnownTables:
    """What the state says of tables, as far as links need it."""

    columns: Mapping[str, Sequence[ColumnRow]]
    roles: Mapping[tuple[str, str], MembershipRow]
    """By reference and coordinate."""
    readings: Mapping[str, str]
    paths: Mapping[str, Sequence[PathRow]]

    def attribute(self, reference: str) -> str:
        row = self.roles.get((reference, "attribute"))
        return row.identity if row else ""

    def entity(self, reference: str) -> tuple[str, float]:
        row = self.roles.get((reference, "entity"))
        return (row.identity, row.membership) if row else ("", 0.0)

    def words(self, reference: str, name: str) -> str:
        return f"{self.readings.get(reference, '')} {split_name(name)}".lower()


def split_name(name: str) -> str:
    """`legalName`, `TAX_NO` and `billing-city` as words."""
    parted = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", re.sub(r"[^A-Za-z0-9]+", " ", name))
    return re.sub(r"\b(no|nr|num)\b", "number", parted.lower())


def masters_of(tables: Iterable[JoinableTable], known: KnownTables, spoken_of: Collection[str] = ()) -> list[Master]:
    """The tables that have a key; views of families do not, since a member is told by its table as well. Very small
    tables are left out, but for those that a person spoke of."""
    found: list[Master] = []
    for table in tables:
        if table.members or (table.rows < LEAST_ROWS and str(table.reference) not in spoken_of):
            continue
        master = _master(len(found), table, known)
        if master is not None:
            found.append(master)
    return found


def _master(number: int, table: JoinableTable, known: KnownTables) -> Master | None:
    reference = str(table.reference)
    columns = [column for column in known.columns.get(reference, ()) if _is_plain(column.type)]
    key = _key_column(table, columns, known)
    if key is None:
        return None
    entity, sure = known.entity(reference)
    names = _name_columns(columns, key, known)
    attributes: dict[str, str] = {}
    for column in columns:
        kind = _attribute(column, known)
        if kind is not None and column is not key and kind not in attributes:
            attributes[kind] = normal(kind, text_of(identifier(column.name), column.type), column.type)
    for path in known.paths.get(reference, ()):
        kind = _kind_of_words(known.words(path.reference, " ".join(path.path)))
        if kind is not None and kind not in attributes and path.type == "VARCHAR" and path.keys_expression is None:
            attributes[kind] = normal(kind, path.expression, path.type)
    named = {column.name for column in names}
    codes = [
        (column.name, text_of(identifier(column.name), column.type))
        for column in columns
        if column is not key and column.name not in named and known.attribute(column.reference) in KEYS
    ]
    return Master(
        number, table, entity, sure, known.readings.get(reference, ""), text_of(identifier(key.name), key.type),
        key.name, _joined_names(names), attributes, tuple(_flags(columns, known)), tuple(codes),
    )  # fmt: skip


def _key_column(table: JoinableTable, columns: Sequence[ColumnRow], known: KnownTables) -> ColumnRow | None:
    if len(table.primary_key) == 1:
        return next((column for column in columns if column.name == table.primary_key[0]), None)
    unique = [column for column in columns if column.is_unique and not column.nulls]
    return next(
        (column for column in unique if known.attribute(column.reference) in KEYS),
        next((column for column in unique[:1] if column.position <= 1), None),
    )


def _name_columns(columns: Sequence[ColumnRow], key: ColumnRow, known: KnownTables) -> list[ColumnRow]:
    """The columns that together name a thing: parts of a name, or the one that is surest to be it."""
    texts = [column for column in columns if column is not key and column.type == "VARCHAR"]
    called = {column.name: known.words(column.reference, column.name) for column in texts}
    naming = [column for column in texts if known.attribute(column.reference) in NAMING - {"username"}]
    parts = [column for column in texts if _PART.search(called[column.name])]
    if len(parts) >= 2 and any(column in naming for column in parts):
        return parts[:MOST_NAME_COLUMNS]

    def surely(column: ColumnRow) -> tuple[bool, float, float]:
        row = known.roles[column.reference, "attribute"]
        return bool(_NAME.search(called[column.name])), column.distinct_values or 0, row.membership

    telling = [column for column in naming if (column.distinct_values or 0) > 3]
    if not telling:  # Things are often called by a short description.
        telling = [
            column
            for column in texts
            if known.attribute(column.reference) in DESCRIBING
            and (column.distinct_values or 0) > 3
            and (column.mean_length or LONGEST_NAME) < LONGEST_NAME
        ]
    return [max(telling, key=surely)] if telling else []


def _attribute(column: ColumnRow, known: KnownTables) -> str | None:
    role, words = known.attribute(column.reference), known.words(column.reference, column.name)
    kind = BY_PERSONAL.get(column.personal or "") or BY_ROLE.get(role) or _kind_of_words(words)
    return kind or ("tax" if role in KEYS and re.search(r"\btax\b", words) else None)


def _kind_of_words(words: str) -> str | None:
    return next((kind for kind, pattern in _WORDS if pattern.search(words)), None)


def _flags(columns: Sequence[ColumnRow], known: KnownTables) -> Iterable[tuple[str, str]]:
    for column in columns:
        words = known.words(column.reference, column.name)
        said = _FLAG.search(words)
        if said is None or not 1 < (column.distinct_values or 0) <= 3:
            continue
        text = f"lower(trim({text_of(identifier(column.name), column.type)}))"
        yield said[1], f"{text} IN ('1', 'y', 'yes', 'true', 't', 'x', 'j', 'o', 's', 'd')"


def _is_plain(kind: str) -> bool:
    return not kind.endswith("]") and not kind.startswith(("STRUCT", "MAP", "BLOB", "JSON", "UNION"))


def text_of(column: str, kind: str) -> str:
    return column if kind == "VARCHAR" else f"CAST({column} AS VARCHAR)"


def _joined_names(columns: Sequence[ColumnRow]) -> str | None:
    if not columns:
        return None
    return f"concat_ws(' ', {', '.join(identifier(column.name) for column in columns)})"


def normal(kind: str, text: str, column_type: str) -> str:
    """An attribute in the form in which it is compared; NULL where it says nothing."""
    digits = f"ltrim(regexp_replace({text}, '[^0-9]+', '', 'g'), '0')"
    if kind == "tax":
        return f"CASE WHEN length({digits}) >= 6 THEN {digits} END"
    if kind == "phone":
        return f"CASE WHEN length({digits}) >= 7 THEN right({digits}, 9) END"
    if kind == "bank_account":
        plain = f"upper(regexp_replace({text}, '[^A-Za-z0-9]+', '', 'g'))"
        return f"CASE WHEN length({plain}) >= 10 THEN {plain} END"
    if kind == "email":
        return f"CASE WHEN contains({text}, '@') THEN lower(trim({text})) END"
    if kind == "birth":
        return _date(text, column_type)
    return rf"nullif(trim(regexp_replace(strip_accents(lower({text})), '[^\pL\pN]+', ' ', 'g')), '')"


def _date(text: str, column_type: str) -> str:
    """A day as `yymmdd`: some systems keep no century."""
    if column_type == "DATE" or column_type.startswith("TIMESTAMP"):
        return f"strftime(CAST({text} AS TIMESTAMP), '%y%m%d')"
    return (
        f"CASE WHEN regexp_full_match({text}, '[0-9]{{5,8}}') THEN right(lpad({text}, 6, '0'), 6) "
        f"ELSE strftime(TRY_CAST(left({text}, 10) AS DATE), '%y%m%d') END"
    )


def name_tokens(text: str) -> str:
    """The words of a name, each once and sorted, without case, accents and punctuation."""
    plain = f"regexp_replace(strip_accents(lower({text})), '[''’`.]', '', 'g')"
    words = rf"trim(regexp_replace({plain}, '[^\pL\pN]+', ' ', 'g'))"
    return f"list_sort(list_distinct(string_split(nullif({words}, ''), ' ')))"


RECORDS = "link_records"
CODES = "link_codes"
"""Keys and other single codes of records: (master, record, place of the column, letters and digits alone, digits)."""
LEAST_SINGLE = 0.9
MOST_CODES = 6
ATTRIBUTES = ("tax", "bank_account", "email", "phone", "birth", "postal_code", "city", "country", "street")
MOST_WITH_A_VALUE = 4
"""A value that more records of one table have (an e-mail of an office, a number made of nines) tells nobody."""
JUDGED = 1_000
"""So many pairs are looked at to say how often names agree."""


@dataclass(frozen=True)
class Agreement:
    """Of `pairs`, how many have names on both sides, and how many of those agree."""

    pairs: int
    judged: int
    agree: int

    @property
    def share(self) -> float:
        return self.agree / self.judged if self.judged else 0.0


def make_records(connection: duckdb.DuckDBPyConnection, masters: Sequence[Master]) -> int:
    """Fill the table; how many records there are."""
    attributes = ", ".join(f"{name} VARCHAR" for name in ATTRIBUTES)
    connection.execute(
        f"CREATE OR REPLACE TEMP TABLE {RECORDS} (record BIGINT, master INTEGER, key VARCHAR, name VARCHAR, "
        f"words VARCHAR[], {attributes}, flags VARCHAR)"
    )
    connection.execute(
        f"CREATE OR REPLACE TEMP TABLE {CODES} (master INTEGER, record BIGINT, place INTEGER, plain VARCHAR, digits "
        f"VARCHAR)"
    )
    for master in masters:
        add_records(connection, master)
        for place, (_, text) in enumerate(codes_of(master)):
            _add_codes(connection, master, place, text)
    return int(connection.execute(f"SELECT count(*) FROM {RECORDS}").fetchall()[0][0])


def add_records(connection: duckdb.DuckDBPyConnection, master: Master) -> None:
    values = [f"({master.attributes[name]})" if name in master.attributes else "NULL" for name in ATTRIBUTES]
    flags = [f"CASE WHEN {expression} THEN {literal(said)} END" for said, expression in master.flags]
    flagged = f"nullif(concat_ws(', ', {', '.join(flags)}), '')" if flags else "NULL"
    words = name_tokens(master.name) if master.name else "NULL"
    columns = ", ".join(f"{value} AS {name}" for value, name in zip(values, ATTRIBUTES, strict=True))
    # A value that many records share is taken out here, so that no rule meets it.
    kept = ", ".join(
        f"CASE WHEN count({name}) OVER (PARTITION BY {name}) <= {MOST_WITH_A_VALUE} THEN {name} END AS {name}"
        if name in {"tax", "bank_account", "email", "phone"} and name in master.attributes
        else name
        for name in ATTRIBUTES
    )
    connection.execute(
        f"INSERT INTO {RECORDS} SELECT (SELECT count(*) FROM {RECORDS}) + row_number() OVER (ORDER BY key) - 1, "
        f"{master.number}, key, array_to_string(words, ' '), words, {kept}, flags FROM ("
        f"SELECT {master.key} AS key, {words} AS words, {columns}, {flagged} AS flags FROM {master.table.relation}"
        ") WHERE key IS NOT NULL QUALIFY row_number() OVER (PARTITION BY key) = 1"
    )


def codes_of(master: Master) -> list[tuple[str, str]]:
    """(column, text) of the key and of other columns that may tell a record, in the order of their places."""
    return [(master.key_column, master.key), *master.codes[:MOST_CODES]]


def _add_codes(connection: duckdb.DuckDBPyConnection, master: Master, place: int, text: str) -> None:
    """Codes that hardly repeat."""
    plain = "upper(regexp_replace(value, '[^A-Za-z0-9]+', '', 'g'))"
    digits = "nullif(ltrim(regexp_replace(value, '[^0-9]+', '', 'g'), '0'), '')"
    connection.execute(
        f"INSERT INTO {CODES} WITH found AS (SELECT r.record, {plain} AS plain, {digits} AS digits FROM (SELECT "
        f"{master.key} "
        f"AS key, {text} AS value FROM {master.table.relation}) t JOIN {RECORDS} r ON r.master = {master.number} "
        "AND r.key = t.key WHERE value <> '') "
        f"SELECT {master.number}, record, {place}, plain, digits FROM found "
        f"WHERE (SELECT count(DISTINCT plain) >= {LEAST_SINGLE} * count(*) FROM found)"
    )


def names_agree(left: str, right: str) -> str:
    """Whether two records are named alike: the same words in any order, one's words among the other's, a
    misspelling."""
    shared = f"len(list_intersect({left}.words, {right}.words))"
    shorter = f"least(len({left}.words), len({right}.words))"
    return (
        f"({left}.name = {right}.name OR jaro_winkler_similarity({left}.name, {right}.name) >= 0.94 "
        f"OR ({shared} >= {shorter} AND {shorter} >= 2) OR {_initials(left, right)} OR {_initials(right, left)})"
    )


def _initials(short: str, long: str) -> str:
    """`grosjean p` for `grosjean piotr`: the same number of words, each the other's or its first letter."""
    return (
        f"(len({short}.words) = len({long}.words) AND len({short}.words) >= 2 AND "
        f"len(list_filter({short}.words, lambda w: length(w) > 1)) >= 1 AND "
        f"len(list_filter({short}.words, lambda w: NOT (list_contains({long}.words, w) OR (length(w) = 1 AND "
        f"len(list_filter({long}.words, lambda v: starts_with(v, w))) >= 1)))) = 0)"
    )


def agreement(connection: duckdb.DuckDBPyConnection, pairs: str) -> Agreement:
    """`pairs` is a query that gives `left_record` and `right_record`."""
    [(count, judged, agree)] = connection.execute(
        f"WITH pairs AS (SELECT *, row_number() OVER (ORDER BY hash(left_record, right_record)) AS place FROM "
        f"({pairs})), "
        f"looked AS (SELECT {names_agree('l', 'r')} AS agree FROM pairs "
        f"JOIN {RECORDS} l ON l.record = left_record JOIN {RECORDS} r ON r.record = right_record "
        f"WHERE place <= {JUDGED} AND l.name IS NOT NULL AND r.name IS NOT NULL) "
        "SELECT (SELECT count(*) FROM pairs), (SELECT count(*) FROM looked), (SELECT count(*) FROM looked WHERE agree)"
    ).fetchall()
    return Agreement(int(count), int(judged), int(agree))
