"""Passages for a view: what was written of the chosen objects, and what the question's words were found in.

In: documents of the environment, the chosen tables, the anchors. Out: passages, the most useful first, each cut to the
part that has most to do with what was chosen. What people stated comes before what was found. Knows no budget.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from coset.routing.objects.data_as_text import one_line
from coset.routing.objects.facts import DocumentFacts
from coset.routing.objects.objects_of_state import StateObjects
from coset.routing.request import Anchor
from coset.routing.views.view import Passage

MOST = 6
LEAST_WORDS = 12
_WORD = re.compile(r"[^\W_]{3,}")
_PARAGRAPH = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*#]|\d+[.)]) )")


def passages_for(
    tables: Sequence[str], columns: Sequence[str], anchors: Sequence[Anchor], objects: StateObjects, letters: int
) -> list[tuple[float, Passage]]:
    """Passages with their worth, the worthiest first; each at most `letters` long."""
    sources = {objects.tables[table].source for table in tables}
    anchored = {anchor.reference: anchor.score for anchor in anchors if anchor.kind == "document"}
    chosen = {*tables, *columns}
    words = _words([*tables, *columns, *(anchor.phrase for anchor in anchors)])
    phrases = [anchor.phrase.lower() for anchor in anchors]
    found: dict[str, tuple[float, Passage]] = {}
    documents = objects.documents(sorted(anchored)) if anchored else []
    for document in (*documents, *objects.source_documents):
        # A comment of a table stands on the table's own line.
        if document.kind == "comment" or (document.about in objects.tables and document.reference not in anchored):
            continue
        near = anchored.get(document.reference, 0.0)
        if not near and document.about and document.about not in chosen and document.about not in sources:
            continue
        text, hits = excerpt(document.text, words, phrases, letters)
        worth = max(near, 0.25 + 0.05 * min(hits, 8)) + (0.1 if document.provenance == "stated" else 0.0)
        if not text or (not near and not hits and document.kind == "file"):
            continue
        if document.kind == "passage" and len(_WORD.findall(text)) < LEAST_WORDS:
            continue  # `Excellent` says nothing to who wants to query.
        known = found.get(document.reference)
        if known is None or worth > known[0]:
            found[document.reference] = (worth, _passage(document, text))
    return sorted(found.values(), key=lambda each: (-each[0], each[1].reference))[:MOST]


def excerpt(text: str, words: set[str], phrases: Sequence[str], letters: int) -> tuple[str, int]:
    """The paragraphs that say most about the words, in their order, and how many of the words they hold."""
    paragraphs = [part.strip() for part in _PARAGRAPH.split(text) if part.strip()]
    rated = []
    for number, paragraph in enumerate(paragraphs):
        lowered = paragraph.lower()
        hits = len(words & set(_WORD.findall(lowered))) + 3 * sum(phrase in lowered for phrase in phrases)
        rated.append((-hits, number))
    kept: list[int] = []
    room, hits = letters, 0
    for negative, number in sorted(rated):
        if room <= 0 or (kept and negative == 0):
            break
        kept.append(number)
        room -= len(paragraphs[number]) + 1
        hits -= negative
    lines, left = [], letters
    for number in sorted(kept):
        if left <= 20:
            break
        for line in paragraphs[number].splitlines():
            if line.strip() and left > 20:
                lines.append(one_line(line, left))
                left -= len(lines[-1]) + 1
    return "\n".join(lines), hits


def _passage(document: DocumentFacts, text: str) -> Passage:
    return Passage(document.reference, document.title or document.kind, text, document.provenance)


def _words(texts: Iterable[str]) -> set[str]:
    found: set[str] = set()
    for text in texts:
        parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", text)
        found |= set(_WORD.findall(parted.lower()))
    return found - _COMMON


_COMMON = frozenset(["the", "and", "for", "with", "from", "that", "this", "are", "was", "main", "public"])
