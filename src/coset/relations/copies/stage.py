"""The stage of comprehension that finds copies: what documents say of tables, what rows say, what people say.

In: the environment, its state, and tables that can be read. Out: the state's `copies`.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

from coset.environment.configuration import Environment
from coset.environment.copy_names import COPY_KINDS
from coset.evidence.reading import JoinableTable
from coset.relations.copies.find import Standing, find_copies
from coset.relations.copies.row_overlap import PassingOver
from coset.state.documents import sections, written_sql
from coset.state.evidence_state import corrections_in_force
from coset.state.objects import Copy
from coset.state.read_model import ReadModel
from coset.state.tables import SourceRow, times_of_tables, versions_of_tables

if TYPE_CHECKING:
    import duckdb

    from coset.environment.corrections import Copy as SaidCopy
    from coset.state import EvidenceState


_RETIRED = re.compile(
    r"\b(frozen|no longer|not (?:used|kept|maintained|loaded|updated|filled) any ?more|nobody (?:runs|uses|maintains)"
    r"|superseded by|replaced by|stopped|obsolete|deprecated|retired|abandoned|discontinued|out of date|outdated"
    r"|never rolled out|not to be used|must not be used|do not use"
    r"|nicht mehr|veraltet|abgelöst|eingestellt|eingefroren|stillgelegt"
    r"|n['’]est plus|ne sont plus|obsolètes?|remplacée?s? par|abandonnée?s?|figée?s?|gelée?s?|périmée?s?"
    r"|non è più|non sono più|non viene più|obsolet[oaie]|sostituit[oaie] da|dismess[oaie]|congelat[oaie]"
    r"|abbandonat[oaie]"
    r"|ya no|reemplazad[oa]s? por|en desuso|descontinuad[oa]|niet meer|vervangen door|verouderd)(?!\w)",
    re.IGNORECASE,
)
_NEVER_UPDATED = re.compile(
    r"\b(?:never|not been|was not|were not|is not|are not) (?:updated|maintained|kept up|refreshed)\b", re.IGNORECASE
)
"""Said of a list of codes, its labels are old; a table of anything else may still be the only one."""
_DENIED = re.compile(r"\b(not|never|nicht|jamais|non|nunca)\s+$", re.IGNORECASE)
SENTENCE = re.compile(r"(?<=[.!?;:])\s+|\n{2,}|\n(?=\s*(?:[-*•]|\d+[.)]))|\|")
_OTHER_SUBJECT = re.compile(r"[,;]\s*(?:\w+\s+){1,3}(?:is|are|was|were|ist|sind|est|sont|è|sono|es|son|wird)\b")
NEAR = 60
"""So many letters may stand between a table's name and what is said of it."""


@dataclass(frozen=True)
class Spoken:
    """`named`: tables that some text speaks of; `retired`: those that one retires, with the sentence."""

    named: frozenset[str]
    retired: Mapping[str, str]


def spoken_of(texts: Iterable[str], tables: Sequence[tuple[str, str]], *, lists: bool = False) -> Spoken:
    """`tables`: pairs of a reference and the name under which a text would speak of it; `lists`: they list codes, and
    one that was never updated is retired."""
    by_name: dict[str, list[str]] = {}
    for reference, name in tables:
        if is_telling(name):
            by_name.setdefault(name.lower(), []).append(reference)
    named: set[str] = set()
    retired: dict[str, str] = {}
    for text in texts:
        for sentence in SENTENCE.split(text):
            found = [
                (match.start(), match.end(), match[0].lower())
                for match in re.finditer(r"[A-Za-z_][\w$]*", sentence)
                if match[0].lower() in by_name and _is_written_as_name(match[0])
            ]
            if not found:
                continue
            named.update(reference for _, _, name in found for reference in by_name[name])
            for name in _retired_in(sentence, found, lists):
                for reference in by_name[name]:
                    retired.setdefault(reference, " ".join(sentence.split())[:200])
    return Spoken(frozenset(named), retired)


def is_telling(name: str) -> bool:
    return len(name) >= 4 or any(letter.isdigit() or letter == "_" for letter in name)


def _is_written_as_name(word: str) -> bool:
    """Whether a word in prose is a name: `task` and `note` are words, `ord_hdr`, `ORDMST` and `x1234` are names."""
    return "_" in word or any(letter.isdigit() for letter in word) or word.isupper() or not word[1:].islower()


def _retired_in(sentence: str, found: Sequence[tuple[int, int, str]], lists: bool) -> list[str]:
    """The names that stand right before a phrase of retirement, with no clause of another subject between."""
    names: list[str] = []
    phrases = [*_RETIRED.finditer(sentence), *(_NEVER_UPDATED.finditer(sentence) if lists else ())]
    for phrase in phrases:
        before = [each for each in found if each[1] <= phrase.start()]
        if not before or _DENIED.search(sentence[: phrase.start()]):
            continue
        between = sentence[before[-1][1] : phrase.start()]
        if len(between) <= NEAR and not _OTHER_SUBJECT.search(between):
            names.append(before[-1][2])
    return names


COPIES_FOUND = "copies"
"""The key of the state's `meta` under which `copies_digest` stands as it was when copies were last found."""


def copies_digest(environment: Environment, state: EvidenceState) -> str:
    """What copies depend on: when it is the same, they are."""
    digest = hashlib.sha256()
    spoken = spoken_of(texts_in_force(state), [(row.reference, row.name) for row in ReadModel(state).tables.values()])
    for known in (
        versions_of_tables(state),
        times_of_tables(state),
        sorted(spoken.named),
        sorted(spoken.retired.items()),
        [(each.reference, each.name, each.tables) for each in written_sql(state)],
    ):
        digest.update(repr(known).encode())
    digest.update(repr(corrections_in_force(environment, state).copies).encode())
    return digest.hexdigest()


def copies_with_originals(state: EvidenceState) -> set[str]:
    """The tables that are copies of another one here. Joins are those of the originals."""
    return {copy.table for copy in state.copies() if copy.original is not None}


def find_and_store_copies(
    environment: Environment,
    state: EvidenceState,
    connection: duckdb.DuckDBPyConnection,
    tables: Sequence[JoinableTable],
    opens: Callable[[JoinableTable], None] | None = None,
    passing_over: PassingOver = nullcontext,
) -> None:
    found = find_copies(connection, tables, standing_of(state, tables), opens, passing_over)
    copies = overruled(
        found, corrections_in_force(environment, state).copies, {str(table.reference) for table in tables}
    )
    state.store_copies(copies)


def standing_of(state: EvidenceState, tables: Sequence[JoinableTable]) -> Standing:
    """Which tables are spoken of, retired, referred to, or views."""
    names = [(str(table.reference), table.reference.table or "") for table in tables if not table.members]
    spoken = spoken_of(texts_in_force(state), names)
    return Standing(spoken.named - set(spoken.retired), spoken.retired, _referred_to(state, tables), _views(state))


def texts_in_force(state: EvidenceState) -> list[str]:
    """What is in force of what people wrote."""
    current = [each for each in sections(state) if each.status == "current"]
    texts = [each.text for each in sorted(current, key=lambda each: each.reference)]
    return texts + [each.description for each in ReadModel(state).all(SourceRow) if each.description is not None]


def _referred_to(state: EvidenceState, tables: Iterable[JoinableTable]) -> Counter[str]:
    """How many other tables declare a key that refers to each, and how many statements that people wrote read it."""
    by_place = {(each.reference.source, each.reference.schema, each.reference.table): each for each in tables}
    counts: Counter[str] = Counter()
    for table in tables:
        for key in table.foreign_keys:
            place = table.reference.source, key.references_schema or table.reference.schema, key.references_table
            if (target := by_place.get(place)) is not None and target is not table:
                counts[str(target.reference)] += 1
    for read in {(read, each.reference) for each in written_sql(state) for read in each.tables}:
        counts[read[0]] += 1
    return counts


def _views(state: EvidenceState) -> dict[str, str | None]:
    """The views, each with the first table that it reads, where that is known."""
    known = ReadModel(state).tables
    read = {each.reference.rpartition("#")[0]: each.tables for each in written_sql(state) if each.origin == "view"}
    views = [reference for reference, row in known.items() if row.kind == "view"]
    return {
        view: next((table for table in read.get(view, ()) if table in known and table != view), None) for view in views
    }


def overruled(found: Sequence[Copy], said: Sequence[SaidCopy], known: set[str]) -> list[Copy]:
    """What people said wins: a table that they call a copy is one, and one that they call none is none. Of two
    statements on one table the later holds."""
    by_table = {each.table: each for each in found}
    for each in said:
        if each.table not in known:
            continue
        if each.rejected:
            by_table.pop(each.table, None)
        else:
            before = by_table.get(each.table)
            drift = before.drift if before and before.original == each.original else ""
            kind = next((kind for kind in COPY_KINDS if kind == each.kind), before.kind if before else "superseded")
            by_table[each.table] = Copy(each.table, each.original, kind, 1.0, drift, ("a person said so",))
    return [by_table[table] for table in sorted(by_table)]
