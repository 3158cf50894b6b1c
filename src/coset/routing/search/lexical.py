"""Plain lexical search over all that is written of each table: the floor below which no ranking may fall.

In: the state with its readings, documents and mentions. Out: for a question a BM25 score of every table, and the
passages that explain its terms. A table's text is its name, its readings, its columns with theirs, comments, commonest
values, labels of codes, and the sentences of documents and descriptions that name it. A passage that the question finds
lends it its words, so that a term is followed to what the passage speaks of. Knows no vectors and nothing learned.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coset.readings.observed import ObservedEnvironment
from coset.routing.objects.objects_of_state import StateObjects
from coset.routing.search.word_index import WordIndex, stems_of
from coset.state import EvidenceState
from coset.state.anchors import inner_names
from coset.state.tables import named_columns, values_of_tables

Scores = NDArray[np.float32]
SATURATION, LENGTH = 1.2, 0.5
"""k1 and b of BM25."""
NAME, READING, MEANING, COMMENT, COLUMN, VALUE, SENTENCE = 3.0, 3.0, 2.0, 1.5, 1.0, 0.5, 1.5
MOST_VALUES = 8
LENT, MOST_LENT, PASSAGES = 0.35, 40, 3
"""What words of a passage weigh beside the question's own, how many of them, and of how many passages."""
NAMED, NEARBY, RULED_COLUMN = 0.5, 0.5, 0.7
MOST_COLUMNS = 300
DESCRIBED, DOCUMENTED, RULED = 0.5, 0.4, 1.0
"""What it counts whatever is asked that a description of its source, or a general rule, names a table."""
_SENTENCES = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*#]|\d+[.)]) )")
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
_NAME = re.compile(r"[^\W]+(?:[.\-$#][^\W]+)*")


class WeightedWords:
    """BM25 over texts whose words have weights."""

    def __init__(self, texts: Sequence[Mapping[str, float]]) -> None:
        places: dict[str, list[int]] = defaultdict(list)
        weights: dict[str, list[float]] = defaultdict(list)
        for number, words in enumerate(texts):
            for word, weight in words.items():
                places[word].append(number)
                weights[word].append(weight)
        lengths = np.array([sum(words.values()) for words in texts], dtype=np.float32)
        mean = float(lengths.mean()) if len(texts) else 1.0
        norm = SATURATION * (1 - LENGTH + LENGTH * lengths / max(mean, 1e-6))
        self.size = len(texts)
        self._places = {word: np.array(own, dtype=np.int64) for word, own in places.items()}
        self._worth = {}
        for word, own in self._places.items():
            times = np.array(weights[word], dtype=np.float32)
            rarity = np.log1p((self.size - len(own) + 0.5) / (len(own) + 0.5))
            self._worth[word] = (rarity * times * (SATURATION + 1) / (times + norm[own])).astype(np.float32)

    def __contains__(self, word: str) -> bool:
        return word in self._places

    def scores(self, words: Mapping[str, float]) -> Scores:
        found = np.zeros(self.size, dtype=np.float32)
        for word, weight in words.items():
            if word in self._places:
                found[self._places[word]] += weight * self._worth[word]
        return found


@dataclass(frozen=True)
class Passages:
    """Paragraphs of documents by what they say, each with its section and the tables that it names."""

    references: tuple[str, ...]
    words: WeightedWords
    stems: tuple[tuple[str, ...], ...]
    targets: tuple[tuple[tuple[str, float], ...], ...]
    columns: tuple[tuple[tuple[str, float], ...], ...]
    """The columns that it names."""
    around: Mapping[str, tuple[tuple[str, float], ...]]
    """The tables that a section names anywhere."""

    def led_to(self, place: int) -> tuple[str, ...]:
        """What a paragraph names, columns first."""
        columns = [reference for reference, _ in self.columns[place]]
        tables = [table for table, _ in self.targets[place] if not any(each.startswith(table) for each in columns)]
        return tuple(dict.fromkeys((*columns, *tables)))


@dataclass(frozen=True)
class LexicalHits:
    """What plain search finds for a question."""

    tables: Scores
    """In the order of the index."""
    lent: Scores
    """The same with the words of the passages that the question found."""
    passages: tuple[tuple[str, float, tuple[str, ...]], ...]
    """(section, score, the tables and columns that its paragraph names), the best first."""
    mentioned: Mapping[str, float]
    """Tables that those passages name, with a share of the best passage's score."""
    columns: Mapping[str, float]
    """Columns that those passages or general rules name, or whose names have words of the question: 0 to 1."""


class LexicalIndex:
    """All tables of an environment."""

    def __init__(self, state: EvidenceState, objects: StateObjects, tables: Sequence[str]) -> None:
        self.tables = tuple(tables)
        texts = _texts(state, objects, tables)
        self.words = WeightedWords(texts)
        self.passages = _passages(objects)
        self.main = _main_tables(objects)
        named = sorted(named_columns(state), key=lambda each: each.reference)
        self.columns = tuple(each.reference for each in named)
        self.column_words = WordIndex(_column_stems(objects, each.reference, each.name) for each in named)
        self.ruled_columns = sorted(
            {
                reference
                for rule in objects.knowledge.rules
                if rule.is_general and not rule.status
                for reference in rule.about
                if objects.table_of(reference) not in (None, reference)
            }
        )

    def knows(self, word: str) -> bool:
        """Whether anything written here has the word: a name, a reading, a value, a document."""
        return all(part in self.words or part in self.passages.words for part in stems_of(word))

    def find(self, question: str) -> LexicalHits:
        own = dict.fromkeys(stems_of(question), 1.0)
        plain = self.words.scores(own)
        found = self.passages.words.scores(own)
        best = [int(place) for place in np.argsort(-found, kind="stable")[:PASSAGES] if found[place] > 0]
        lent = dict(own)
        mentioned: dict[str, float] = {}
        for place in best:
            share = float(found[place] / found[best[0]])
            for word in self.passages.stems[place][:MOST_LENT]:
                lent[word] = max(lent.get(word, 0.0), LENT * share)
            for table, confidence in self.passages.targets[place]:
                mentioned[table] = max(mentioned.get(table, 0.0), share * confidence)
            for table, confidence in self.passages.around[self.passages.references[place]]:
                mentioned[table] = max(mentioned.get(table, 0.0), NEARBY * share * confidence)
        hits = tuple(
            (self.passages.references[place], float(found[place]), self.passages.led_to(place)) for place in best
        )
        return LexicalHits(plain, self.words.scores(lent), hits, mentioned, self._columns(own, best, found))

    def _columns(self, question: Mapping[str, float], passages: Sequence[int], found: Scores) -> dict[str, float]:
        overlap = self.column_words.overlap(list(question))
        shares = overlap.of_question * overlap.of_object
        strongest = np.argsort(-shares, kind="stable")[:MOST_COLUMNS]
        columns = {self.columns[place]: float(shares[place]) for place in strongest if shares[place] > 0}
        for reference in self.ruled_columns:
            columns[reference] = max(columns.get(reference, 0.0), RULED_COLUMN)
        for place in passages:
            share = float(found[place] / found[passages[0]])
            for reference, confidence in self.passages.columns[place]:
                columns[reference] = max(columns.get(reference, 0.0), share * confidence)
        return columns


def texts_of_observed(environment: ObservedEnvironment) -> list[dict[str, float]]:
    """The texts of tables that no state holds."""
    found = []
    for table in environment.tables:
        words: dict[str, float] = {}
        parts = [(f"{table.name} {table.label}", NAME), (table.description, COMMENT)]
        for column in table.columns:
            parts += [(f"{column.name} {column.label}", COLUMN), (column.description, COLUMN)]
            parts.append((" ".join(sample[:60] for sample in column.samples[:MOST_VALUES]), VALUE))
        for text, weight in parts:
            for word in stems_of(text):
                words[word] = words.get(word, 0.0) + weight
        found.append(words)
    return found


def _column_stems(objects: StateObjects, reference: str, name: str) -> tuple[str, ...]:
    known = objects.knowledge.readings.get(reference)
    return stems_of(f"{name} {known.name}" if known else name)


def _texts(state: EvidenceState, objects: StateObjects, tables: Sequence[str]) -> list[dict[str, float]]:
    texts: dict[str, dict[str, float]] = {table: {} for table in tables}

    def add(table: str, text: str, weight: float) -> None:
        words = texts.get(table)
        if words is not None and text:
            for word in stems_of(text[:2_000]):
                words[word] = words.get(word, 0.0) + weight

    def read(table: str, reference: str, factor: float) -> None:
        known = objects.knowledge.readings.get(reference)
        if known is not None:
            add(table, known.name, READING * factor)
            add(table, f"{known.meaning} {' '.join(known.synonyms)}", MEANING * factor)

    for reference, facts in objects.tables.items():
        add(reference, facts.name, NAME)
        add(reference, f"{facts.comment} {' '.join(objects.notes.get(reference, ()))}", COMMENT)
        read(reference, reference, 1.0)
    for column in named_columns(state):
        table = column.table_reference
        add(table, column.name, COLUMN)
        add(table, f"{column.comment or ''} {' '.join(objects.notes.get(column.reference, ()))}", COLUMN)
        read(table, column.reference, COLUMN / READING)
        for _, label in objects.knowledge.labels.get(column.reference, ()):
            add(table, label, VALUE)
    for table, name in inner_names(state):
        add(table, name, COLUMN)
    for table, value in values_of_tables(state, MOST_VALUES):
        add(table, value[:60], VALUE)
    for text, named in _naming_sentences(objects):
        for table in named:
            add(table, text, SENTENCE)
    return [texts[table] for table in tables]


def _naming_sentences(objects: StateObjects) -> Iterable[tuple[str, set[str]]]:
    """Sentences of documents and descriptions with the tables that they name as written."""
    names = _table_names(objects)
    texts = [document.text for document in objects.source_documents if document.kind in ("description", "hint", "file")]
    texts += [section.text for section in objects.knowledge.sections if not section.status]
    for text in texts:
        for sentence in _SENTENCE.split(text):
            named = {table for word in _NAME.findall(sentence) for table in names.get(word.lower(), ())}
            if named:
                yield sentence, named


def _table_names(objects: StateObjects) -> dict[str, list[str]]:
    """Originals by how a text may name them: bare, with the schema, with the source; no plain words of the language
    unless they are written with more than letters."""
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


def _passages(objects: StateObjects) -> Passages:
    """Every paragraph that is in force, under the titles of its section."""
    references, stems, targets, columns = [], [], [], []
    names = _table_names(objects)
    for section in objects.knowledge.sections:
        if section.status:
            continue
        mentions = objects.knowledge.mentions.get(section.reference, ())
        titles = " ".join(section.titles)
        for number, text in enumerate(section.paragraphs or _SENTENCES.split(section.text)):
            own: dict[str, float] = {}
            for mention in mentions:
                if mention.paragraph in (number, -1) and (table := _original(objects, mention.target)):
                    own[table] = max(own.get(table, 0.0), mention.confidence)
            for word in _NAME.findall(text) if not mentions else ():
                own |= dict.fromkeys(names.get(word.lower(), ()), NAMED)
            references.append(section.reference)
            stems.append(stems_of(f"{titles} {text}"))
            targets.append(tuple(sorted(own.items())))
            columns.append(
                tuple(
                    (each.target, each.confidence)
                    for each in mentions
                    if each.paragraph == number and "." in each.target
                )
            )
    words = WeightedWords([dict.fromkeys(own, 1.0) for own in stems])
    around: dict[str, dict[str, float]] = defaultdict(dict)
    for reference, own_targets in zip(references, targets, strict=True):
        around[reference] |= dict(own_targets)
    everywhere = {reference: tuple(sorted(own.items())) for reference, own in around.items()}
    return Passages(tuple(references), words, tuple(stems), tuple(targets), tuple(columns), everywhere)


def _original(objects: StateObjects, reference: str) -> str | None:
    table = objects.table_of(reference)
    return objects.knowledge.original(table) if table is not None else None


def _main_tables(objects: StateObjects) -> dict[str, float]:
    """Tables that matter whatever is asked: those that descriptions of sources name, and those of general rules."""
    names = _table_names(objects)
    found: dict[str, float] = {}
    for document in objects.source_documents:
        if document.kind in ("description", "hint"):
            for word in _NAME.findall(document.text):
                found |= dict.fromkeys(names.get(word.lower(), ()), DESCRIBED)
    for section in objects.knowledge.sections:
        for mention in objects.knowledge.mentions.get(section.reference, ()) if not section.status else ():
            table = _original(objects, mention.target)
            if table is not None and mention.how == "name":
                found[table] = max(found.get(table, 0.0), DOCUMENTED)
    for rule in objects.knowledge.rules:
        if rule.is_general and not rule.status:
            sections = objects.knowledge.mentions.get(rule.section, ())
            sure = {mention.target for mention in sections if mention.how == "name"}
            for reference in rule.about:
                table = _original(objects, reference)
                if table is not None:
                    worth = RULED if reference in sure else RULED / 2
                    found[table] = max(found.get(table, 0.0), worth)
    return found
