"""Which tables people wrote are not to be used any more: frozen, abandoned, a pilot, out of date.

In: the sections of documents in force, and what their paragraphs name. Out: references of tables. A clause that names a
table and says such a thing takes it out of use, unless another clause names it without. Brackets belong to the clause
around them ("rates kept elsewhere (ledger: X, warehouse: Y) are not ours"); what follows "but", "use" or "replaced by"
is the other one. Only names as they are written count, no guesses. Knows no question.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from coset.routing.objects.knowledge import Mention
from coset.routing.objects.objects_of_state import StateObjects

SAID_OF = ("name", "pattern")
"""The kinds of mention by which a table is surely meant."""
_ENDED = re.compile(
    r"\b(?:frozen|abandon\w*|obsolete|deprecated|outdated|out of date|unused|pilot|trial|stopped|retired|discontinued|"
    r"decommission\w*|(?:is|are|was|were|been) (?:superseded|replaced)|stale|left ?overs?|dead|"
    r"decoration|any ?more|no longer|nobody|"
    r"not (?:be |to be |in )?(?:use[ds]?|maintained|kept|ours|loaded|valid|filled|updated|trusted|reliable)|"
    r"(?:do|does|should|must|may) not (?:be )?used?|never (?:be )?used?|"
    r"veraltet\w*|eingefroren\w*|nicht mehr|abgelöst\w*|stillgelegt\w*|abgeschaltet\w*|"
    r"obsolètes?|gelée?s?|abandonnée?s?|périmée?s?|(?:est|sont|été) remplacée?s?|"
    r"(?:n'est|ne sont|n'a) plus|n'est pas utilisée?|"
    r"obsolet[oaie]|dismess[oaie]|congelat[oaie]|non (?:è |sono )?più|non (?:si )?usare|non si usa|superat[oaie]|"
    r"congelad[oa]s?|abandonad[oa]s?|ya no|no se usan?|"
    r"verouderd\w*|bevroren|niet meer|(?:is|werd|zijn) vervangen)\b",
    re.IGNORECASE,
)
_OTHER_ONE = re.compile(
    r"\b(?:but|instead use|use instead|use|replaced by|superseded by|in favou?r of|took its place|"
    r"sondern|abgelöst durch|ersetzt durch|mais|remplacée?s? par|utiliser|ma|bensì|sostituit[oaie] da|usare|"
    r"sino|pero|usar|maar|vervangen door)\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+|;")


def tables_out_of_use(objects: StateObjects) -> frozenset[str]:
    """Tables of which documents say so more often than not."""
    said: Counter[str] = Counter()
    denied: set[str] = set()
    for section in objects.knowledge.sections:
        if section.status:
            continue
        mentions = objects.knowledge.mentions.get(section.reference, ())
        for number, paragraph in enumerate(section.paragraphs or (section.text,)):
            own = [each for each in mentions if each.paragraph == number and each.how in SAID_OF]
            for mention in own:
                ended = _is_ended(mention, paragraph)
                if mention.target in objects.tables and ended is not None:
                    said[mention.target] += -1 if ended else 1
                    denied |= {mention.target} if ended else set()
    return frozenset(table for table in denied if said[table] <= 0)


def _is_ended(mention: Mention, paragraph: str) -> bool | None:
    """Whether every clause that names the thing ends its use; None where no clause does."""
    words = mention.words.strip().lower()
    own = [clause for clause in clauses(paragraph) if words and words in clause.lower()]
    return all(_ends(clause, words) for clause in own) if own else None


def _ends(clause: str, words: str) -> bool:
    found = list(_ENDED.finditer(clause))
    if not found:
        return False
    inside = [match.span() for match in found]
    turns = [
        match
        for match in _OTHER_ONE.finditer(clause)
        if match.start() and not any(begin <= match.start() < end and match.end() <= end for begin, end in inside)
    ]
    if not turns:
        return True
    turn, place = turns[0], clause.lower().find(words)
    # "Do not use A but B", "A was replaced by B": what stands before the turn has ended, what follows has not.
    return place < turn.start() or any(match.start() > turn.end() for match in found)


def clauses(text: str) -> Iterator[str]:
    """Sentences, cut at commas outside brackets."""
    for sentence in _SENTENCE.split(text):
        depth, begin = 0, 0
        for place, letter in enumerate(sentence):
            depth = max(0, depth + (letter in "([") - (letter in ")]"))
            if letter == "," and not depth:
                yield sentence[begin:place]
                begin = place + 1
        yield sentence[begin:]
