"""Readings that people wrote: comments of databases, data dictionaries, dbt, and documents that name a table or column.

In: the observed tables and texts about the data. Out: readings. A text names an object where a line defines it
(`POLEFFDT  effective date`), where its name stands in brackets after a phrase (`complaints (CPLHDR)`), or where a
sentence says what is in it (`the payments are in fin.pay`, `the part list is tPart`, `tPart is the part table`).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from coset.readings.observed import ObservedEnvironment
from coset.readings.reading import Reading
from coset.readings.vocabulary import vocabulary
from coset.readings.words import singular

LONGEST_NAME, LONGEST_MEANING = 6, 240
COMMENT, DEFINED, SENTENCE, MARKED, LOOSE = 0.93, 0.9, 0.82, 0.7, 0.4
"""MARKED: words of a document that a name follows in brackets, set as code: they say what it stands for. LOOSE: any
other sentence of a document; it may speak of something else in passing, as a description does not. So it is kept as a
guess that views do not show."""


@dataclass(frozen=True)
class Text:
    """A text about the data. `about` is a reference where it is about one object; `source` where about one source."""

    text: str
    place: str
    about: str | None = None
    source: str | None = None


def stated_readings(environment: ObservedEnvironment, texts: Sequence[Text]) -> Iterator[Reading]:
    """What comments and texts say of objects."""
    tables: dict[str, str] = {}
    for table, column in environment.objects:
        reference, described = (table.reference, table.description) if column is None else (
            column.reference, column.description,
        )  # fmt: skip
        tables[reference] = table.reference
        if described.strip() and "#" not in reference:
            yield _described(reference, table.reference, described, "comment", COMMENT, "comment")
    for text in texts:
        if text.about in tables and text.about is not None:
            yield _described(text.about, tables[text.about], text.text, "document", COMMENT, text.place)
    names = _Names(environment)
    for text in texts:
        if text.about not in tables:
            yield from names.read(text)


def _described(reference: str, table: str, text: str, reader: str, confidence: float, place: str) -> Reading:
    name = short_name(text)
    meaning = " ".join(text.split())[:LONGEST_MEANING]
    return Reading(
        reference, table, name, "" if meaning.lower() == name else meaning, (),
        "comment" if reader == "comment" else "document", confidence if name else confidence - 0.5, place,
    )  # fmt: skip


def short_name(text: str) -> str:
    """The first clause of a description as a name; empty where it is too long for one."""
    clause = re.split(r"[.;:(\[\n]|,\s| - | – | \(", text.strip(), maxsplit=1)[0].strip()
    words = clause.split()
    while words and words[0].lower() in ("the", "a", "an", "this", "contains", "stores", "holds"):
        words = words[1:]
    qualifies = (
        not words
        or words[0].lower() in _QUALIFYING
        or any(any(letter.isdigit() for letter in word) for word in words)
        or (len(words) == 1 and words[0].isupper())
    )
    return " ".join(words).lower() if len(words) <= LONGEST_NAME and not qualifies else ""


_NAME, _WORD = r"[A-Za-z_][\w$.]*[\w$]", r"[A-Za-z][\w'-]*"
_DEFINITION = re.compile(
    rf"^[ \t>*#|`\-•]*({_NAME})[`*]*"
    r"(?:[ \t]{2,}|[ \t]*\|[ \t]*|[ \t]*\t[ \t]*|[ \t]*[:=–—][ \t]+|[ \t]+-[ \t]+)(\S.*)$"
)
_BRACKETS = re.compile(rf"((?:{_WORD} ){{0,3}}{_WORD}) \(`?({_NAME})`?\)")
_ARE_IN = re.compile(
    rf"(?:^|[.,;:(] ?|\band )(?:the )?((?:{_WORD} and )?(?:{_WORD} ){{0,3}}?{_WORD}?)"
    rf"(?: (?:are|is|live|lie|stand)(?: kept| stored| both| all)?)? in `?({_NAME})`?",
    re.IGNORECASE,
)
_IS_NAME = re.compile(
    rf"(?:^|[.,;:(] ?|\band )(?:the )?((?:{_WORD} and )?(?:{_WORD} ){{0,3}}?{_WORD})"
    rf" (?:are|is) `?({_NAME})`?(?![\w ]* of\b)",
    re.IGNORECASE,
)
_IS_THE = re.compile(
    r"`?\b([A-Za-z_][\w$.]*)`? (?:is|are|holds?|contains?|has) (?:the |our |all )((?:[\w'-]+ ){0,4}[\w'-]+)"
)


_QUALIFYING = frozenset({
    "as", "in", "if", "see", "not", "no", "without", "with", "only", "was", "is", "are", "may", "can", "since", "until",
    "before", "after", "always", "never", "includes", "including", "excluding", "use", "used", "kept", "per",
    "from", "to",
})  # fmt: skip
"""Words with which a remark begins that says how a value is written or used, and not what it is."""


class _Names:
    """The names of objects as texts may write them."""

    def __init__(self, environment: ObservedEnvironment) -> None:
        self.objects: dict[str, list[tuple[str, str, str]]] = defaultdict(list)
        for table in environment.tables:
            path = table.reference.replace('"', "").split("/")
            for written in {table.name.lower(), ".".join(path[1:]).lower(), ".".join(path[-2:]).lower()}:
                self.objects[written].append((table.reference, table.reference, table.source))
            for column in table.columns:
                for written in (column.name.lower(), f"{table.name}.{column.name}".lower()):
                    self.objects[written].append((column.reference, table.reference, table.source))

    def read(self, text: Text) -> Iterator[Reading]:
        for line in text.text.splitlines():
            if (found := _DEFINITION.match(line)) and self._telling(found[1]):
                yield from self._said(text, found[1], short_name(found[2]), found[2], DEFINED)
        flat = " ".join(text.text.split())
        sure = SENTENCE if text.place.startswith("description") else LOOSE
        for pattern, name, phrase in ((_BRACKETS, 2, 1), (_ARE_IN, 2, 1), (_IS_NAME, 2, 1), (_IS_THE, 1, 2)):
            for found in pattern.finditer(flat):
                said = _noun(found[phrase])
                if said and self._telling(found[name]):
                    is_marked = pattern is _BRACKETS and found[0].endswith("`)")
                    how_sure = max(sure, MARKED) if is_marked else sure
                    yield from self._said(text, found[name], said, "", how_sure, tables_only=True)

    def _telling(self, name: str) -> bool:
        """Whether a word of a text is meant as a name: it is one here, and no plain word of the language."""
        lower = name.lower()
        return lower in self.objects and not vocabulary().is_word(lower)

    def _said(
        self, text: Text, written: str, name: str, meaning: str, confidence: float, *, tables_only: bool = False
    ) -> Iterator[Reading]:
        objects = self.objects[written.lower()]
        near = [each for each in objects if each[2] == text.source] or objects
        if tables_only:
            near = [each for each in near if each[0] == each[1]]
        shared = confidence if len(near) == 1 else confidence - 0.1
        cleaned = " ".join(meaning.split())[:LONGEST_MEANING]
        for reference, table, _ in near[:20]:
            sure = shared if name else shared - 0.5
            yield Reading(
                reference, table, name, "" if cleaned.lower() == name else cleaned, (), "document", sure, text.place
            )


def _noun(phrase: str) -> str:
    """The last words of a phrase that can be a name; empty where it is none."""
    words = phrase.lower().split()
    if len(words) == 3 and words[1] == "and" and not _NO_PART & {words[0], words[2]}:
        return _in_english(words)  # *Customers and dealers are both in ...*
    while words and words[-1] in _KINDS_OF_TABLES:
        words.pop()
    for number in range(len(words) - 1, -1, -1):
        if words[number] in _NO_PART:
            words = words[number + 1 :]
            break
    if not words or len(words) > LONGEST_NAME or words[-1] in _NO_PART:
        return ""
    return _in_english(words)


def _in_english(words: list[str]) -> str:
    """These sentences are English; in others the same letters say something else (*la brücke im warehouse*)."""
    known = vocabulary()
    foreign = [word for word in words if not known.is_word(word) and not known.is_word(singular(word))]
    return "" if len(foreign) > len(words) / 3 or _FOREIGN & set(words) else " ".join(words)


_FOREIGN = frozenset({
    "att", "auf", "av", "bis", "com", "con", "da", "dans", "das", "della", "dem", "den", "der", "des", "di",
    "die", "du", "een", "ein", "eine", "el", "em", "en", "es", "est", "et", "für", "gli", "het", "il", "im",
    "ist", "jest", "la", "las", "le", "les", "lo", "los", "met", "mit", "na", "nel", "nicht", "niet", "o",
    "och", "oder", "os", "ou", "par", "per", "pour", "selon", "sind", "som", "sont", "till", "un", "una",
    "und", "une", "van", "von", "voor", "w", "y", "z", "zijn", "zu",
})  # fmt: skip


_KINDS_OF_TABLES = frozenset({"table", "tables", "collection", "collections", "file", "sheet", "view"})
"""What a sentence calls the object itself, after what is in it: *tPart is the part table*."""


_NO_PART = frozenset({
    "the", "a", "an", "of", "in", "on", "at", "by", "for", "with", "and", "or", "to", "from", "is", "are",
    "was", "were", "be", "that", "which", "this", "these", "those", "it", "its", "our", "your", "their", "all",
    "one", "each", "see", "table", "tables", "collection", "collections", "field", "fields", "column",
    "columns", "called", "named", "take", "use", "only", "not", "as", "also", "than", "when", "where", "there",
    "here", "if", "then", "so", "but", "into", "out", "up", "down", "over", "under", "about", "between", "like",
    "important", "main", "put", "kept", "stored",
})  # fmt: skip
