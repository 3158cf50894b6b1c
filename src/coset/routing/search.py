"""Finding evidence by words: names of tables and columns, stored values, documents.

In: words as a person or an agent types them. Out: a `Recovered` whose lines name what was found by reference, the best
first, within a budget. Only what the state holds is searched: no masked value, none of a schema-only source. Says when
nothing was found; makes no guess.
"""

from __future__ import annotations

import math
import re

from coset.errors import Mistake
from coset.evidence.state import EvidenceState
from coset.routing.data_as_text import literal, one_line
from coset.routing.objects_of_state import StateObjects
from coset.routing.passages import excerpt
from coset.routing.recover import DEFAULT_BUDGET, Recovered, bounded
from coset.routing.word_index import COMMON

MOST_WORDS, MOST_FOUND, LETTERS = 12, 60, 300
MOST_DOCUMENTS, NEARLY_ALL = 8, 0.7
_WORD = re.compile(r"[^\W_]+")
HITS = "len(list_filter($1::VARCHAR[], lambda word: contains(lower({text}), word)))"


def search(objects: StateObjects, words: str, budget: int = DEFAULT_BUDGET) -> Recovered:
    """What the words are found in. Raises `Mistake` when there are none to search for."""
    wanted = list(dict.fromkeys(word.lower() for word in _WORD.findall(words[:1_000])))[:MOST_WORDS]
    if not wanted:
        raise Mistake("nothing to search for: give a word or two")
    hidden = {table.reference for table in objects.tables.values() if table.schema_only}
    with objects.reading() as state:
        sections = [
            ("NAMES", _names(state, wanted)),
            ("VALUES", _values(state, wanted, words.strip().lower(), hidden)),
            ("DOCUMENTS", _documents(state, wanted, hidden)),
        ]
    if not any(lines for _, lines in sections):
        sections = [("NOTHING FOUND", ["no name, kept value or document holds any of these words"])]
    return bounded(" ".join(wanted), "search", sections, budget)


def _names(state: EvidenceState, wanted: list[str]) -> list[str]:
    rows = state.rows(
        "WITH named AS ("
        "SELECT reference, name, 'table' AS kind, '' AS type FROM tables UNION ALL "
        "SELECT reference, name, 'column', type FROM columns UNION ALL "
        "SELECT reference, array_to_string(path, ' '), 'path', type FROM paths UNION ALL "
        "SELECT reference, name, 'facet', type FROM facets) "
        f"SELECT *, {HITS.format(text='name')} AS hits FROM named WHERE hits > 0 "
        f"ORDER BY hits DESC, length(name), reference LIMIT {MOST_FOUND}",
        [wanted],
    )
    return [f"{row['kind']} {one_line(row['reference'], 200)} {row['type'] or ''}".rstrip() for row in rows]


def _values(state: EvidenceState, wanted: list[str], phrase: str, hidden: set[str]) -> list[str]:
    """Values of value groups, whole phrases first."""
    rows = state.rows(
        f"SELECT column_reference, value, count, {HITS.format(text='value')} AS hits, "
        "contains(lower(value), $2) AS whole FROM group_values WHERE value IS NOT NULL AND hits > 0 "
        "AND NOT list_contains($3::VARCHAR[], table_reference) "
        f"ORDER BY lower(value) = $2 DESC, whole DESC, hits DESC, length(value), column_reference, value "
        f"LIMIT {MOST_FOUND}",
        [wanted, phrase, sorted(hidden)],
    )
    personal = {
        row["reference"]
        for row in state.rows(
            "SELECT reference FROM columns WHERE personal IS NOT NULL AND reference IN (SELECT unnest($1::VARCHAR[]))",
            [[row["column_reference"] for row in rows]],
        )
    }
    return [
        f"{one_line(row['column_reference'], 200)} = {literal(row['value'], 120)}, {row['count']:,} rows"
        for row in rows
        if row["column_reference"] not in personal
    ]


def _documents(state: EvidenceState, wanted: list[str], hidden: set[str]) -> list[str]:
    """Documents that hold the words as words, nearly all of them: any one of several stands in half of all prose."""
    text = "lower(concat_ws(' ', title, text))"
    whole = "'(^|[^\\pL\\pN])' || word || '(e?s|e?d|ing)?([^\\pL\\pN]|$)'"
    hits = f"len(list_filter($1::VARCHAR[], lambda word: regexp_matches({text}, {whole})))"
    words = [word for word in wanted if word not in COMMON] or wanted
    rows = state.rows(
        f"SELECT reference, title, text, {hits} AS hits FROM documents WHERE hits >= $3 "
        "AND NOT list_contains($2::VARCHAR[], coalesce(table_reference, '')) "
        f"ORDER BY hits DESC, length(text), reference LIMIT {MOST_DOCUMENTS}",
        [words, sorted(hidden), math.ceil(NEARLY_ALL * len(words))],
    )
    lines = []
    for row in rows:
        piece, _ = excerpt(row["text"] or "", set(wanted), (), LETTERS)
        lines.append(f"{one_line(row['reference'], 200)}: {literal(one_line(piece, LETTERS), LETTERS)}")
    return lines
