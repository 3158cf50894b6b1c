"""What documents say to a question: which paragraphs explain its terms, and which tables and columns they lead to.

In: sections of documents in force with what they name. Out: for the words of a question the paragraphs that together
cover them, the words these lend (a term is followed to what its definition speaks of), and how much of the question
leads to each table. A question speaks of several things that are explained in several places, so each paragraph is
chosen for what the ones before it leave open. Tables of which documents say that they are frozen, abandoned, a pilot or
out of date are led to by none. Knows no vectors and nothing learned.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from coset.routing.objects.knowledge import Mention, Section
from coset.routing.objects.objects_of_state import StateObjects
from coset.routing.search.languages import all_stems, language_of
from coset.routing.search.words import Scores, WeightedWords

SAID_OF = ("name", "pattern")
"""The kinds of mention by which a table is surely meant."""
_ENDED = re.compile(
    r"\b(?:frozen|abandon\w*|obsolete|deprecated|outdated|out of date|unused|pilot|trial|stopped|retired|discontinued|"
    r"decommission\w*|(?:is|are|was|were|been) (?:superseded|replaced)|stale|left ?overs?|dead|"
    r"decoration|any ?more|no longer|nobody|"
    r"not (?:be |to be |in )?(?:use[ds]?|maintained|kept|ours|loaded|valid|filled|updated|trusted|reliable)|"
    r"(?:do|does|should|must|may) not (?:be )?used?|never (?:be )?used?|"
    r"(?:is|are|was|were) (?:wrong|incorrect)|never right|"
    r"(?:ist|sind|war|waren) falsch|(?:est|sont) (?:faux|fausses?)|et faux|(?:è|sono) sbagliat[oaie]|"
    r"(?:is|zijn) (?:fout|onjuist)|"
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


PASSAGES = 6
FADING = 0.25
"""What a word still counts for the next paragraph once one has it."""
LEAST_SHARE = 0.05
"""Of the question's weight, for a paragraph to be worth following."""
LENT = 0.5
"""What the rarest word of the best paragraph weighs beside the question's own."""
COLUMN, NAMED = 0.8, 0.5
SAID, SAID_NEARBY, FEW_PARAGRAPHS = 1.5, 0.5, 6
"""What the words of a paragraph weigh for a table that it names, and those of the paragraphs around it; half as much
where the section is long."""
_PARAGRAPH = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*#]|\d+[.)]) )")
_NAME = re.compile(r"[^\W]+(?:[.\-$#][^\W]+)*")

Named = tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Found:
    """A paragraph that explains something of a question."""

    section: str
    share: float
    """Beside the best one."""
    led_to: tuple[str, ...]
    """The columns and tables that it names."""
    columns: Named


@dataclass(frozen=True)
class DocumentHits:
    """What documents say to a question. Tables are in the order that the index was made with."""

    passages: tuple[Found, ...]
    lent: Mapping[str, float]
    """The question's words and those of the passages."""
    terms: Scores
    """How much of the question, by the rarity of its words, stands in sections that name each table: 0 to 1."""
    systems: Scores
    """The same for paragraphs that name a table's source."""
    said: Scores
    """BM25 over what documents say where they name each table."""


@dataclass(frozen=True)
class _Paragraph:
    section: str
    stems: tuple[str, ...]
    tables: Named
    columns: Named
    sources: tuple[str, ...]


class DocumentSearch:
    """The paragraphs of an environment's documents."""

    def __init__(self, objects: StateObjects, tables: Sequence[str], out_of_use: frozenset[str]) -> None:
        self.paragraphs = _paragraphs(objects, out_of_use)
        self.words = WeightedWords([dict.fromkeys(each.stems, 1.0) for each in self.paragraphs])
        self.size = len(tables)
        self._numbers = {table: number for number, table in enumerate(tables)}
        self._lengths = np.array(
            [1 + 0.15 * math.log1p(len(each.stems) / 20) for each in self.paragraphs], dtype=np.float64
        )
        by_source: dict[str, list[int]] = defaultdict(list)
        for table, number in self._numbers.items():
            by_source[objects.tables[table].source if table in objects.tables else ""].append(number)
        self._of_source = {source: np.array(own, dtype=np.int64) for source, own in by_source.items()}
        self._said = WeightedWords(self._texts())

    def find(self, words: Sequence[str]) -> DocumentHits:
        rarity = {word: self.words.rarity(word) for word in words if word in self.words}
        whole = sum(rarity.values())
        chosen = self._covering(rarity)
        lent = dict.fromkeys(words, 1.0)
        found = []
        for place, strength in chosen:
            paragraph, share = self.paragraphs[place], strength / chosen[0][1]
            rarest = max(map(self.words.rarity, paragraph.stems), default=1.0)
            for word in paragraph.stems:
                lent[word] = max(lent.get(word, 0.0), LENT * share * self.words.rarity(word) / rarest)
            led = [reference for reference, _ in paragraph.columns]
            led += [table for table, _ in paragraph.tables if not any(each.startswith(table) for each in led)]
            found.append(Found(paragraph.section, share, tuple(dict.fromkeys(led)), paragraph.columns))
        terms, systems = (np.zeros(self.size, dtype=np.float32) for _ in range(2))
        for word, weight in rarity.items():
            for number, confidence in self._leads.get(word, ()):
                terms[number] += confidence * weight / whole
            for source in self._systems.get(word, ()):
                systems[self._of_source[source]] += weight / whole
        return DocumentHits(tuple(found), lent, terms, systems, self._said.scores(dict.fromkeys(words, 1.0)))

    def _covering(self, rarity: Mapping[str, float]) -> list[tuple[int, float]]:
        """Paragraphs that together have the question's words, each with what it adds, the first with the most."""
        left, whole = dict(rarity), sum(rarity.values())
        found: list[tuple[int, float]] = []
        taken: list[int] = []
        while len(found) < PASSAGES and whole:
            gain = np.zeros(len(self.paragraphs))
            for word, weight in left.items():
                gain[self.words.places(word)] += weight
            gain /= self._lengths
            gain[taken] = 0.0
            best = int(np.argmax(gain))
            if gain[best] < LEAST_SHARE * whole:
                break
            found.append((best, float(gain[best])))
            taken.append(best)
            for word in self.paragraphs[best].stems:
                if word in left:
                    left[word] *= FADING
        return found

    @cached_property
    def _sections(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = defaultdict(list)
        for place, paragraph in enumerate(self.paragraphs):
            found[paragraph.section].append(place)
        return found

    @cached_property
    def _around(self) -> dict[str, dict[int, float]]:
        """The tables that a section names anywhere, also by a column."""
        found: dict[str, dict[int, float]] = {}
        for section, places in self._sections.items():
            own: dict[int, float] = {}
            for place in places:
                for table, confidence in self.paragraphs[place].tables:
                    if (number := self._numbers.get(table)) is not None:
                        own[number] = max(own.get(number, 0.0), confidence)
            found[section] = own
        return found

    @cached_property
    def _leads(self) -> dict[str, tuple[tuple[int, float], ...]]:
        """By word, the tables that sections with it name."""
        found: dict[str, dict[int, float]] = defaultdict(dict)
        for paragraph in self.paragraphs:
            for word in paragraph.stems if self._around[paragraph.section] else ():
                own = found[word]
                for number, confidence in self._around[paragraph.section].items():
                    own[number] = max(own.get(number, 0.0), confidence)
        return {word: tuple(own.items()) for word, own in found.items()}

    @cached_property
    def _systems(self) -> dict[str, tuple[str, ...]]:
        """By word, the sources that paragraphs with it name."""
        found: dict[str, dict[str, None]] = defaultdict(dict)
        for paragraph in self.paragraphs:
            for word in paragraph.stems if paragraph.sources else ():
                found[word] |= dict.fromkeys(each for each in paragraph.sources if each in self._of_source)
        return {word: tuple(own) for word, own in found.items()}

    def _texts(self) -> list[dict[str, float]]:
        """What documents say of each table."""
        texts: list[dict[str, float]] = [{} for _ in range(self.size)]

        def say(number: int, words: Sequence[str], weight: float) -> None:
            own = texts[number]
            for word in words:
                own[word] = max(own.get(word, 0.0), weight)

        for section, places in self._sections.items():
            nearby = SAID_NEARBY if len(places) <= FEW_PARAGRAPHS else SAID_NEARBY / 2
            for place in places:
                paragraph = self.paragraphs[place]
                for number, confidence in self._around[section].items():
                    say(number, paragraph.stems, nearby * confidence)
                for table, confidence in paragraph.tables:
                    if table in self._numbers:
                        say(self._numbers[table], paragraph.stems, SAID * confidence)
        return texts


def _paragraphs(objects: StateObjects, out_of_use: frozenset[str]) -> list[_Paragraph]:
    """Every paragraph that is in force, under the titles of its section. Tables out of use are led to by none."""
    names = table_names(objects)
    found = []
    for section in objects.knowledge.sections:
        if section.status:
            continue
        mentions = objects.knowledge.mentions.get(section.reference, ())
        language = language_of(section.text)
        for number, text in enumerate(section.paragraphs or _PARAGRAPH.split(section.text)):
            here = [mention for mention in mentions if mention.paragraph in (number, -1)]
            tables = _tables(objects, here)
            for word in _NAME.findall(text) if not mentions else ():
                tables |= dict.fromkeys(names.get(word.lower(), ()), NAMED)
            found.append(
                _Paragraph(
                    section.reference,
                    all_stems(f"{' '.join(section.titles)} {text}", language),
                    tuple(sorted((table, sure) for table, sure in tables.items() if table not in out_of_use)),
                    _columns(objects, here, number, section),
                    tuple(mention.target for mention in here if mention.how == "source"),
                )
            )
    return found


def _tables(objects: StateObjects, mentions: Sequence[Mention]) -> dict[str, float]:
    """Originals that are named, by themselves or by one of their columns."""
    found: dict[str, float] = {}
    for mention in mentions:
        table = original_of(objects, mention.target)
        if table is not None:
            sure = mention.confidence * (1.0 if mention.target in objects.tables else COLUMN)
            found[table] = max(found.get(table, 0.0), sure)
    return found


def _columns(objects: StateObjects, mentions: Sequence[Mention], number: int, section: Section) -> Named:
    return tuple(
        (each.target, each.confidence)
        for each in mentions
        if each.paragraph == number and each.target not in objects.tables and objects.table_of(each.target)
    )


def original_of(objects: StateObjects, reference: str) -> str | None:
    """The original of the table that a reference lies in."""
    table = objects.table_of(reference)
    return objects.knowledge.original(table) if table is not None else None


def table_names(objects: StateObjects) -> dict[str, list[str]]:
    """Originals by how a text may name them: bare, with the schema, with the source."""
    found: dict[str, list[str]] = defaultdict(list)
    for reference, table in objects.tables.items():
        if objects.knowledge.original(reference) != reference:
            continue
        plain = table.sql_name.replace('"', "").lower()
        parts = plain.split(".")
        for name in {plain, ".".join(parts[1:]), table.name.lower()}:
            if len(name) > 2:
                found[name].append(reference)
    return found
