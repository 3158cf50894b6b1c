"""Finding evidence by words: names of tables and columns with their readings, stored values, codes, documents.

In: words as a person or an agent types them; any of them may match. Out: a `Recovered` whose lines name what was found
by reference, what has most of the words first, within a budget; a table or column that alone has all of them is told in
full. Only what the state holds is searched: no masked value, none of a schema-only source. Says when nothing was found,
and what was not searched; makes no guess.
"""

from __future__ import annotations

import math
import re

from coset.errors import UserError
from coset.routing.anchors.spelling import stem
from coset.routing.objects.data_as_text import literal, one_line
from coset.routing.objects.objects_of_state import StateObjects
from coset.routing.search.recover import LEAST_BUDGET, Recovered, bounded, recover
from coset.routing.search.word_index import COMMON
from coset.routing.views.budgets import RECOVERED
from coset.routing.views.passages import excerpt
from coset.state import EvidenceState
from coset.state import search as stored

MOST_WORDS, MOST_FOUND, LETTERS = 12, 60, 300
MOST_PARTIAL = 12
"""So many names are told that hold only some of the words, where none holds all."""
MOST_DOCUMENTS, NEARLY_ALL = 8, 0.7
MOST_CODES = 12
SHORT = 4
"""A word of fewer letters counts only where a word of the name begins with it."""
_WORD = re.compile(r"[^\W_]+")


def search(objects: StateObjects, words: str, budget: int = RECOVERED) -> Recovered:
    """What the words are found in. Raises `UserError` when there are none to search for."""
    wanted = _wanted(words)
    hidden = {table.reference for table in objects.tables.values() if table.schema_only}
    with objects.reading() as state:
        whole, partial, clear = _names(state, wanted, objects)
        said = "NO NAME HOLDS ALL OF THESE; OF SOME" if partial else "NO NAME HOLDS THESE"
        sections = [
            ("NAMES", whole) if whole else (said, partial or ["none"]),
            ("VALUES", _values(state, wanted, words.strip().lower(), hidden)),
            ("CODES", _codes(state, wanted, hidden)),
            ("DOCUMENTS", _documents(state, wanted, hidden)),
        ]
    if not whole and not partial and not any(lines for _, lines in sections[1:]):
        sections = [("NOTHING FOUND", ["no name, reading, kept value, code or document holds any of these words"])]
    elif clear:
        told = recover(objects, clear, max(LEAST_BUDGET, budget // 2))
        sections = [*sections[:1], (f"{told.kind.upper()} {clear}", _lines(told)), *sections[1:]]
    if hidden:
        sections.append(("NOT SEARCHED", [f"values of {len(hidden)} tables of sources that are schema only"]))
    return bounded(" ".join(wanted), "search", sections, budget)


def _lines(told: Recovered) -> list[str]:
    return [line for title, content in told.sections for line in (title, *(f"  {each}" for each in content))]


def holding(objects: StateObjects, words: str) -> frozenset[str]:
    """References of what is named by all the words, and of columns that hold them as a value, whole."""
    wanted = _wanted(words)
    hidden = sorted(table.reference for table in objects.tables.values() if table.schema_only)
    with objects.reading() as state:
        named = stored.named_by_all(state, _patterns(wanted))
        held = stored.columns_with_value(state, words.strip().lower(), hidden)
    return frozenset((*named, *held))


def _wanted(words: str) -> list[str]:
    """The words that tell something; where none does, all."""
    every = list(dict.fromkeys(word.lower() for word in _WORD.findall(words[:1_000])))
    if not every:
        raise UserError("nothing to search for: give a word or two")
    return ([word for word in every if word not in COMMON and word != "no"] or every)[:MOST_WORDS]


def _patterns(wanted: list[str]) -> list[str]:
    """One for each word, of names: it may be written with another ending, and within a longer one."""
    stems = [stem(word) for word in wanted]
    return [word if len(word) >= SHORT else f" {word}" for word in stems]


def _names(state: EvidenceState, wanted: list[str], objects: StateObjects) -> tuple[list[str], list[str], str]:
    """Names that hold all the words; where none does, those that hold some; and the one thing that is meant, where a
    table alone holds all of them, or nothing else does."""
    rows = stored.names(state, _patterns(wanted), MOST_FOUND)
    rows.sort(key=lambda row: _is_copy(objects, row.reference))
    whole = [row for row in rows if row.hits == len(wanted)]
    lines = [
        f"{row.kind} {one_line(row.reference, 200)} {row.type or ''}".rstrip()
        + (f" ({one_line(row.reading, 60)})" if row.reading else "")
        for row in whole or rows
    ]
    tables = [row.reference for row in whole if row.kind == "table"]
    own = tables if len(tables) == 1 else [row.reference for row in whole] if len(whole) == 1 else []
    return (lines, [], own[0] if own else "") if whole else ([], lines[:MOST_PARTIAL], "")


def _is_copy(objects: StateObjects, reference: str) -> bool:
    table = objects.table_of(reference)
    return table is not None and objects.knowledge.original(table) != table


def _codes(state: EvidenceState, wanted: list[str], hidden: set[str]) -> list[str]:
    """Codes whose labels hold the words."""
    rows = stored.codes(state, wanted, sorted(hidden), MOST_CODES)
    return [
        f"{one_line(row.code_reference, 200)} = {literal(row.code, 60)}: {one_line(row.label, 120)}" for row in rows
    ]


def _values(state: EvidenceState, wanted: list[str], phrase: str, hidden: set[str]) -> list[str]:
    """Values of value groups that hold the words as words: whole phrases first, then those with most of them."""
    rows = stored.values(state, wanted, phrase, sorted(hidden), MOST_FOUND)
    return [f"{one_line(row.column_reference, 200)} = {literal(row.value, 120)}, {row.count:,} rows" for row in rows]


def _documents(state: EvidenceState, wanted: list[str], hidden: set[str]) -> list[str]:
    """Documents that hold the words as words, or are called by them, those with most of them first; where one has
    nearly all, none that has fewer: any one of several stands in half of all prose."""
    rows = stored.documents(state, wanted, sorted(hidden), MOST_DOCUMENTS)
    enough = math.ceil(NEARLY_ALL * len(wanted))
    rows = [row for row in rows if row.hits >= enough] or rows
    lines = []
    for row in rows:
        piece, _ = excerpt(row.text or "", set(wanted), (), LETTERS)
        lines.append(f"{one_line(row.reference, 200)}: {literal(one_line(piece, LETTERS), LETTERS)}")
    return lines
