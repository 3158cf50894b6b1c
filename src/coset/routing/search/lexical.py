"""Plain search over all that is written of each table: the floor below which no ranking may fall.

In: the state with its readings, documents and mentions. Out: for a question a BM25 score of every table, the passages
that explain its terms, and the columns that they or its words name. A table's text is its name, its readings, its
columns with theirs, comments, commonest values, labels of codes, and the sentences of documents and descriptions that
name it. Knows no vectors and nothing learned.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from coset.readings.observed import ObservedEnvironment
from coset.routing.objects.objects_of_state import StateObjects
from coset.routing.search.document_search import (
    DocumentHits,
    DocumentSearch,
    original_of,
    table_names,
    tables_out_of_use,
)
from coset.routing.search.languages import all_stems
from coset.routing.search.words import Scores, WeightedWords, WordIndex, stems_of
from coset.state import EvidenceState
from coset.state.search import inner_names
from coset.state.tables import named_columns, values_of_tables

NAME, READING, MEANING, COMMENT, COLUMN, VALUE, SENTENCE = 3.0, 3.0, 2.0, 1.5, 1.0, 0.5, 1.5
MOST_VALUES = 8
RULED_COLUMN = 0.7
MOST_COLUMNS = 300
DESCRIBED, DOCUMENTED, RULED = 0.5, 0.4, 1.0
"""What it counts whatever is asked that a description of its source, or a general rule, names a table."""
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
_NAME = re.compile(r"[^\W]+(?:[.\-$#][^\W]+)*")


@dataclass(frozen=True)
class LexicalHits:
    """What plain search finds for a question. Scores are in the order of the index."""

    tables: Scores
    lent: Scores
    """The same with the words of the passages that the question found."""
    documents: DocumentHits
    columns: Mapping[str, float]
    """Columns that passages or general rules name, or whose names have words of the question: 0 to 1."""


class LexicalIndex:
    """All tables of an environment."""

    def __init__(self, state: EvidenceState, objects: StateObjects, tables: Sequence[str]) -> None:
        self.tables = tuple(tables)
        self.out_of_use = tables_out_of_use(objects)
        self.words = WeightedWords(_texts(state, objects, tables))
        self.documents = DocumentSearch(objects, tables, self.out_of_use)
        self.main = _main_tables(objects, self.out_of_use)
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
        return all(part in self.words or part in self.documents.words for part in stems_of(word))

    def find(self, question: str) -> LexicalHits:
        own = all_stems(question)
        plain = self.words.scores(dict.fromkeys(own, 1.0))
        documents = self.documents.find(own)
        return LexicalHits(plain, self.words.scores(documents.lent), documents, self._columns(own, documents))

    def _columns(self, question: Sequence[str], documents: DocumentHits) -> dict[str, float]:
        overlap = self.column_words.overlap(question)
        shares = overlap.of_question * overlap.of_object
        strongest = np.argsort(-shares, kind="stable")[:MOST_COLUMNS]
        columns = {self.columns[place]: float(shares[place]) for place in strongest if shares[place] > 0}
        for reference in self.ruled_columns:
            columns[reference] = max(columns.get(reference, 0.0), RULED_COLUMN)
        for passage in documents.passages:
            for reference, confidence in passage.columns:
                columns[reference] = max(columns.get(reference, 0.0), passage.share * confidence)
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
        said = " ".join(all_stems(text[:2_000]))
        for table in named:
            add(table, said, SENTENCE)
    return [texts[table] for table in tables]


def _naming_sentences(objects: StateObjects) -> Iterable[tuple[str, set[str]]]:
    """Sentences of documents and descriptions with the tables that they name as written."""
    names = table_names(objects)
    texts = [document.text for document in objects.source_documents if document.kind in ("description", "hint", "file")]
    texts += [section.text for section in objects.knowledge.sections if not section.status]
    for text in texts:
        for sentence in _SENTENCE.split(text):
            named = {table for word in _NAME.findall(sentence) for table in names.get(word.lower(), ())}
            if named:
                yield sentence, named


def _main_tables(objects: StateObjects, out_of_use: frozenset[str]) -> dict[str, float]:
    """Tables that matter whatever is asked: those that descriptions of sources name, and those of general rules."""
    names = table_names(objects)
    found: dict[str, float] = {}
    for document in objects.source_documents:
        if document.kind in ("description", "hint"):
            for word in _NAME.findall(document.text):
                found |= dict.fromkeys(names.get(word.lower(), ()), DESCRIBED)
    for section in objects.knowledge.sections:
        for mention in objects.knowledge.mentions.get(section.reference, ()) if not section.status else ():
            table = original_of(objects, mention.target)
            if table is not None and mention.how == "name":
                found[table] = max(found.get(table, 0.0), DOCUMENTED)
    for rule in objects.knowledge.rules:
        if rule.is_general and not rule.status:
            sections = objects.knowledge.mentions.get(rule.section, ())
            shared = Counter(mention.words.lower() for mention in sections if mention.how == "pattern")
            sure = {
                mention.target
                for mention in sections
                if mention.how == "name" or (mention.how == "pattern" and shared[mention.words.lower()] == 1)
            }
            for reference in rule.about:
                table = original_of(objects, reference)
                if table is not None:
                    worth = RULED if reference in sure else RULED / 2
                    found[table] = max(found.get(table, 0.0), worth)
    return {table: worth for table, worth in found.items() if table not in out_of_use}
