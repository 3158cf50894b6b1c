"""Names, values, codes and documents of a state that hold some words.

In: words, or pieces of words as names are compared with. Out: frozen rows, those that hold most of them first. Nothing
of tables whose values are hidden, or of personal columns, is handed on. Knows nothing of endings: pieces are made by
the caller.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from coset.state.evidence_state import EvidenceState
from coset.state.queries import fetch, select, texts

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
