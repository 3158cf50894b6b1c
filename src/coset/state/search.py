"""What questions and words are looked up in, besides values: names, ranges, texts, codes and documents of a state.

In: an open state, and words or pieces of words where only what holds them is wanted. Out: narrow frozen rows, made for
environments with a hundred thousand columns; what holds most of the words comes first. Nothing of tables whose values
are hidden, or of personal columns, is found by words. Knows no question and no endings of words.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass

from coset.state.evidence_state import EvidenceState
from coset.state.queries import fetch, select, texts

Texts = tuple[str, ...]


@dataclass(frozen=True)
class OpenTable:
    """A table whose rows may be searched at its source."""

    reference: str
    source: str
    schema_name: str | None
    name: str
    rows: int | None

    @property
    def place(self) -> Texts:
        """The parts of its name in SQL."""
        return tuple(part for part in (self.source, self.schema_name, self.name) if part is not None)


@dataclass(frozen=True)
class LongText:
    """A column of long texts."""

    reference: str
    table_reference: str
    name: str


@dataclass(frozen=True)
class FamilyKey:
    """A column whose values name the tables of a family."""

    key: str
    owner: str
    family: str
    members: Texts


@dataclass(frozen=True)
class Readable:
    """A column, nested path or facet, and how SQL reads it: a column by its name."""

    reference: str
    text: str
    is_column: bool
    is_open: bool


@dataclass(frozen=True)
class RangeRow:
    """Between what a column's values lie: days where it is dated, else numbers."""

    reference: str
    name: str
    type: str
    first: datetime.date | None
    last: datetime.date | None
    low: float | None
    high: float | None
    is_unique: bool | None


@dataclass(frozen=True)
class TitledRow:
    reference: str
    kind: str
    title: str | None
    text: str | None


def open_tables(state: EvidenceState) -> list[OpenTable]:
    return select(
        state,
        OpenTable,
        "SELECT t.reference, t.source, t.schema_name, t.name, t.rows FROM tables t "
        "JOIN sources s ON s.source = t.source WHERE t.family IS NULL AND t.problem IS NULL "
        "AND NOT coalesce(s.schema_only, false) ORDER BY t.reference",
    )


def long_texts(state: EvidenceState, longer: int) -> list[LongText]:
    return select(
        state,
        LongText,
        "SELECT reference, table_reference, name FROM columns WHERE type = 'VARCHAR' AND personal IS NULL "
        f"AND mean_length > {longer} ORDER BY reference",
    )


def family_keys(state: EvidenceState) -> list[FamilyKey]:
    """The surest first."""
    return select(
        state,
        FamilyKey,
        "SELECT r.key, r.owner, r.family, f.members FROM ("
        "SELECT left_columns[1] AS key, left_table AS owner, right_table AS family, confidence, id FROM relations "
        "WHERE kind = 'table_name' UNION ALL "
        "SELECT right_columns[1], right_table, left_table, confidence, id FROM relations WHERE kind = 'table_name') r "
        "JOIN families f ON f.reference = r.family WHERE r.key <> r.owner ORDER BY r.confidence DESC, r.id",
    )


def readable(state: EvidenceState, table: str) -> list[Readable]:
    """What can be read of a table."""
    return select(
        state,
        Readable,
        "SELECT reference, name AS text, true AS is_column, personal IS NULL AS is_open FROM columns "
        "WHERE table_reference = $1 UNION ALL "
        "SELECT reference, expression, false, true FROM paths WHERE table_reference = $1 UNION ALL "
        "SELECT reference, expression, false, true FROM facets WHERE table_reference = $1 ORDER BY 1",
        [table],
    )


def said_of_objects(state: EvidenceState) -> dict[str, str]:
    """The beginning of what dictionaries and people say of an object; people win."""
    rows = fetch(
        state,
        "SELECT about, left(text, 400) FROM documents WHERE about IS NOT NULL AND kind NOT IN ('passage', 'hint') "
        "ORDER BY provenance = 'stated', reference",
    )
    return dict(rows) | {note.about: note.text[:400] for note in state.notes()}


def ranges(state: EvidenceState) -> list[RangeRow]:
    """Text has extremes by its letters, which are those in time only where the years come first."""
    return select(
        state,
        RangeRow,
        r"""
        SELECT reference, name, type,
            CASE WHEN dated THEN try_cast(left(minimum, 10) AS DATE) END AS first,
            CASE WHEN dated THEN try_cast(left(maximum, 10) AS DATE) END AS last,
            try_cast(minimum AS DOUBLE) AS low, try_cast(maximum AS DOUBLE) AS high, is_unique
        FROM (
            SELECT *, type LIKE 'DATE%' OR type LIKE 'TIMESTAMP%' OR (
                regexp_matches(minimum, '^\d{4}-\d{2}-\d{2}') AND regexp_matches(maximum, '^\d{4}-\d{2}-\d{2}')
            ) AS dated
            FROM columns WHERE minimum IS NOT NULL AND personal IS NULL
        )
        WHERE dated OR (try_cast(minimum AS DOUBLE) IS NOT NULL AND try_cast(maximum AS DOUBLE) IS NOT NULL)
        ORDER BY reference
        """,
    )


def columns_with_days(state: EvidenceState) -> list[str]:
    """Columns and facets that hold days in texts."""
    return texts(
        state,
        "SELECT DISTINCT column_reference FROM diagnostics WHERE kind IN ('date_as_text', 'mixed_date_formats') "
        "UNION SELECT reference FROM facets WHERE kind = 'date' ORDER BY ALL",
    )


def titled_documents(state: EvidenceState, most: int) -> list[TitledRow]:
    """Documents with the beginning of their texts, without that of rows of tables of texts, which come last."""
    return select(
        state,
        TitledRow,
        "SELECT reference, kind, title, CASE WHEN kind = 'passage' THEN '' ELSE left(text, 20000) END AS text "
        "FROM documents WHERE kind IN ('passage', 'file', 'hint', 'description') "
        f"ORDER BY kind = 'passage', reference, title LIMIT {most}",
    )


def single_joins(state: EvidenceState, least: float = 0.0) -> list[tuple[str, str]]:
    """(left column, right column) of joins by one column each, the surest first."""
    rows = fetch(
        state,
        "SELECT left_columns[1], right_columns[1] FROM relations WHERE len(left_columns) = 1 "
        "AND len(right_columns) = 1 AND confidence >= $1 ORDER BY confidence DESC, id",
        [least],
    )
    return [(left, right) for left, right in rows]


def inner_names(state: EvidenceState) -> list[tuple[str, str]]:
    """(table, name) of every nested path, its steps with blanks between."""
    rows = fetch(state, "SELECT table_reference, array_to_string(path, ' ') FROM paths")
    return [(table, name) for table, name in rows]


_HITS = "len(list_filter($1::VARCHAR[], lambda piece: contains({text}, piece)))"
# A pattern that is the same for all rows is compiled once: words are told apart by blanks, and found as plain pieces.
_WORDS = r"' ' || regexp_replace(lower({text}), '[^\pL\pN]+', ' ', 'g') || ' '"
# `IsWon` is found by `won` and by `iswon`.
_SPACED = r"regexp_replace({text}, '(\p{{Ll}}|\d)(\p{{Lu}})', '\1 \2', 'g') || ' ' || {text}"
_OWN = _HITS.format(text=_WORDS.format(text=_SPACED.format(text="concat_ws(' ', name, reading)")))
_WITH_TABLE = _HITS.format(text=_WORDS.format(text=_SPACED.format(text="concat_ws(' ', of_table, name, reading)")))
_OBJECTS = (
    "SELECT reference, name, 'table' AS kind, '' AS type, NULL AS of_table FROM tables UNION ALL "
    "SELECT c.reference, c.name, 'column', c.type, t.name FROM columns c JOIN tables t "
    "ON t.reference = c.table_reference UNION ALL "
    "SELECT p.reference, array_to_string(p.path, ' '), 'path', p.type, t.name FROM paths p JOIN tables t "
    "ON t.reference = p.table_reference UNION ALL "
    "SELECT f.reference, f.name, 'facet', f.type, t.name FROM facets f JOIN tables t ON t.reference = f.table_reference"
)
_NAMED = (
    "SELECT o.*, concat_ws(' ', r.name, array_to_string(r.synonyms, ' ')) AS reading "
    f"FROM ({_OBJECTS}) o LEFT JOIN best_readings r USING (reference)"
)
"""Everything that has a name, with its reading: a column by its own and its table's, of which its own must have a
part."""


@dataclass(frozen=True)
class NamedObject:
    """`hits`: how many of the pieces its name, reading or table has; `own`: how many without its table."""

    reference: str
    name: str
    kind: str
    type: str | None
    reading: str
    hits: int
    own: int


@dataclass(frozen=True)
class FoundCode:
    code_reference: str
    code: str
    label: str


@dataclass(frozen=True)
class FoundValue:
    column_reference: str
    value: str
    count: int


@dataclass(frozen=True)
class FoundDocument:
    reference: str
    title: str | None
    text: str | None
    hits: int


def named_by_all(state: EvidenceState, pieces: Sequence[str]) -> list[str]:
    """References of what has all the pieces in its name, its reading or its table's name, one of them its own."""
    return texts(
        state,
        f"SELECT reference FROM ({_NAMED}) WHERE {_OWN} > 0 AND {_WITH_TABLE} = len($1::VARCHAR[])",
        [list(pieces)],
    )


def columns_with_value(state: EvidenceState, value: str, hidden: Sequence[str]) -> list[str]:
    """Columns that hold a value, in lower case, but for those of hidden tables."""
    return texts(
        state,
        "SELECT DISTINCT column_reference AS reference FROM group_values WHERE lower(trim(value)) = $1 "
        "AND NOT list_contains($2::VARCHAR[], table_reference)",
        [value, list(hidden)],
    )


def names(state: EvidenceState, pieces: Sequence[str], most: int) -> list[NamedObject]:
    return select(
        state,
        NamedObject,
        f"SELECT *, {_WITH_TABLE} AS hits, {_OWN} AS own FROM ({_NAMED}) WHERE own > 0 "
        f"ORDER BY hits DESC, own DESC, length(name), reference LIMIT {most}",
        [list(pieces)],
    )


def codes(state: EvidenceState, words: Sequence[str], hidden: Sequence[str], most: int) -> list[FoundCode]:
    """Codes whose labels hold the words."""
    return select(
        state,
        FoundCode,
        f"SELECT code_reference, code, label, {_HITS.format(text=_WORDS.format(text='label'))} AS hits "
        "FROM code_labels "
        "WHERE hits > 0 AND NOT list_contains($2::VARCHAR[], coalesce(table_reference, '')) "
        f"ORDER BY hits DESC, length(label), code_reference, code LIMIT {most}",
        [[f" {word} " for word in words], list(hidden)],
    )


def values(
    state: EvidenceState, words: Sequence[str], phrase: str, hidden: Sequence[str], most: int
) -> list[FoundValue]:
    """Values that hold the words as words: whole phrases first. Of the first `most`, those that are not personal."""
    found = select(
        state,
        FoundValue,
        f"SELECT column_reference, value, count, {_HITS.format(text=_WORDS.format(text='value'))} AS hits, "
        "contains(lower(value), $2) AS whole FROM group_values WHERE value IS NOT NULL AND hits > 0 "
        "AND NOT list_contains($3::VARCHAR[], table_reference) "
        "ORDER BY lower(value) = $2 DESC, whole DESC, hits DESC, length(value), column_reference, value "
        f"LIMIT {most}",
        [[f" {word} " for word in words], phrase, list(hidden)],
    )
    personal = texts(
        state,
        "SELECT reference FROM columns WHERE personal IS NOT NULL AND reference IN (SELECT unnest($1::VARCHAR[]))",
        [[each.column_reference for each in found]],
    )
    return [each for each in found if each.column_reference not in personal]


def documents(state: EvidenceState, words: Sequence[str], hidden: Sequence[str], most: int) -> list[FoundDocument]:
    """Documents that hold the words as words, with common endings, or are called by them."""
    text = _WORDS.format(text="concat_ws(' ', reference, title, text)")
    endings = "['', 's', 'es', 'd', 'ed', 'ing']"
    whole = f"len(list_filter({endings}, lambda ending: contains(words, ' ' || word || ending || ' '))) > 0"
    hits = f"len(list_filter($1::VARCHAR[], lambda word: {whole}))"
    return select(
        state,
        FoundDocument,
        f"SELECT reference, title, text, {hits} AS hits FROM (SELECT *, {text} AS words FROM documents) "
        "WHERE hits > 0 AND NOT list_contains($2::VARCHAR[], coalesce(table_reference, '')) "
        f"ORDER BY hits DESC, length(text), reference LIMIT {most}",
        [list(words), list(hidden)],
    )


@dataclass(frozen=True)
class HoldingColumn:
    table_reference: str
    name: str
    type: str


@dataclass(frozen=True)
class Holding:
    """What holds all of some words, plainly compared."""

    tables: list[str]
    columns: list[HoldingColumn]
    values: list[tuple[str, str]]
    """(column, value)"""
    documents: list[tuple[str | None, str]]
    """(title, text), five at most."""


def holding_all(state: EvidenceState, words: Sequence[str], most: int) -> Holding:
    holds = "list_bool_and(list_transform($1::VARCHAR[], lambda w: contains(lower({}), w)))"
    wanted = [list(words)]
    values = fetch(
        state,
        "SELECT column_reference, value FROM group_values WHERE value IS NOT NULL AND "
        f"{holds.format('value')} ORDER BY column_reference, position LIMIT {most}",
        wanted,
    )
    written = fetch(
        state,
        "SELECT title, text FROM (SELECT reference, title, text FROM documents WHERE kind <> 'file' UNION ALL "
        "SELECT reference, document || ': ' || array_to_string(title_path, ' / '), text FROM sections) "
        f"""WHERE text IS NOT NULL AND {holds.format("concat_ws(' ', title, text)")} ORDER BY reference LIMIT 5""",
        wanted,
    )
    return Holding(
        texts(
            state,
            f"SELECT reference FROM tables WHERE {holds.format('reference')} ORDER BY reference LIMIT {most}",
            wanted,
        ),
        select(
            state,
            HoldingColumn,
            f"SELECT table_reference, name, type FROM columns WHERE {holds.format('reference')} "
            f"ORDER BY reference LIMIT {most}",
            wanted,
        ),
        [(column, value) for column, value in values],
        [(title, text) for title, text in written],
    )
