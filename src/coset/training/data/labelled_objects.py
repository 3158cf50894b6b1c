"""Labelled objects with their surroundings, and the disguised variants that training sees.

In: corpora and annotation. Out: for each labelled object its table and column as observed, and texts and numbers of it
plain or with parts hidden. Knows no model.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from coset.identities.features import SHOWN_COLUMNS, numbers_of, referred_tables, text_of
from coset.identities.inventory import Inventory
from coset.identities.text_encoder import ObjectTexts
from coset.readings.observed import ObservedColumn, ObservedEnvironment, ObservedTable
from coset.readings.words import words_of
from coset.training.annotation import Key, Labelled, Part, read_annotation, split_databases
from coset.training.data.corpora import read_environments, read_synonyms
from coset.training.data.disguised_names import PREFIXES, STYLES, rename, shipped_thesaurus
from coset.training.data.written_databases import FILES, read_written

INVENTORY: Key = ("coset", "inventory")
POINTING = frozenset(
    ("id", "key", "code", "name", "uuid", "number", "no", "by", "user", "owner", "parent", "type", "email", "address",
     "city", "country", "state")
)  # fmt: skip
INHERITED = 3
WINDOW = 4
"""How many columns on either side of the labelled one are renamed with it: as many as its text can show."""


@dataclass(frozen=True)
class TrainingObject:
    """An annotated table or column where it stands."""

    label: Labelled
    part: Part
    table: ObservedTable
    column: ObservedColumn | None
    position: int
    alias: ObservedTable | None = None
    """The same table as another team might have named it and its columns."""
    referred: ObservedTable | None = None
    """The table that the column refers to."""

    def under_other_names(self) -> TrainingObject:
        if self.alias is None:
            return self
        return replace(self, table=self.alias, column=self.column and self.alias.columns[self.position])


@dataclass(frozen=True)
class TrainingSet:
    environments: dict[Key, ObservedEnvironment]
    objects: list[TrainingObject]
    synonyms: dict[str, list[str]]
    """Other names by name, from training databases alone."""
    held_out: dict[Key, dict[str, list[str]]]
    """Other names of the databases that are not trained on, each for itself."""

    def held_out_synonyms(self, database: Key) -> dict[str, list[str]]:
        return self.held_out.get(database, {})

    def part(self, part: Part) -> list[int]:
        return [number for number, item in enumerate(self.objects) if item.part == part]


def read_training_set(corpus: Path, inventory: Inventory, *, written: int = 1) -> TrainingSet:
    """All annotated objects, and those of one in `written` of the databases that language models wrote."""
    environments = read_environments(corpus)
    labels = read_annotation(inventory)
    keys = {label.database for label in labels if label.database in environments}
    names = {key: frozenset(t.name.lower() for t in environments[key].tables) for key in keys}
    parts = split_databases(keys, names)
    tables = {(key, table.name): table for key in keys for table in environments[key].tables}
    referred = {key: referred_columns(environments[key].tables) for key in keys}
    objects = []
    for label in labels:
        table = tables.get((label.database, label.table))
        if table is None:
            continue
        if label.column is None:
            objects.append(TrainingObject(label, parts[label.database], table, None, -1))
        elif label.column in table.names:
            position = table.names.index(label.column)
            target = referred[label.database].get((table.name, label.column))
            own = table.columns[position]
            objects.append(TrainingObject(label, parts[label.database], table, own, position, referred=target))
    objects += inherited_objects(objects) + inventory_objects(inventory) + written_objects(inventory, written)
    seen: dict[str, list[str]] = {}
    held_out: dict[Key, dict[str, list[str]]] = {}
    for (database, table_name, column), others in read_synonyms(corpus).items():
        key = ("spider", database)
        name = " ".join(words_of(column or table_name))
        chosen = [other for other in others if " ".join(words_of(other)) != name]
        if key not in parts or not chosen:
            continue
        home = seen if parts[key] == "train" else held_out.setdefault(key, {})
        home.setdefault(name, []).extend(chosen)
    return TrainingSet(environments, objects, seen, held_out)


def referred_columns(tables: Sequence[ObservedTable]) -> dict[tuple[str, str], ObservedTable]:
    """The table that a column refers to, by the names of its table and of itself."""
    return {
        (tables[place].name, tables[place].names[position]): tables[target]
        for (place, position), target in referred_tables(tables).items()
    }


def disguise_tables(
    tables: Sequence[ObservedTable],
    kind: str,
    generator: random.Random,
    synonyms: Mapping[str, Sequence[str]] | None = None,
) -> tuple[ObservedTable, ...]:
    """A whole schema under other names: another case, abbreviations, or synonyms. Labels for people are gone."""
    style = generator.choice(STYLES[:4])
    short = 0.5 if kind == "abbreviations" else 0.0
    new: dict[str, str] = {}

    def other(name: str) -> str:
        if name not in new:
            new[name] = rename(name, generator, style=style, abbreviations=short, synonyms=synonyms)
        return new[name]

    renamed = []
    for table in tables:
        columns = tuple(
            replace(
                column, name=other(column.name), label="",
                refers_to=column.refers_to and (other(column.refers_to[0]), other(column.refers_to[1])),
            )
            for column in table.columns
        )  # fmt: skip
        renamed.append(replace(table, name=other(table.name), label="", columns=columns))
    return tuple(renamed)


@dataclass(frozen=True)
class Seen:
    """What the model sees of an object."""

    texts: ObjectTexts
    numbers: NDArray[np.float32]

    @property
    def text(self) -> str:
        return self.texts.own


def plain(item: TrainingObject) -> Seen:
    """The object as it is."""
    at = max(0, item.position)
    own, table = text_of(item.table, item.column, at), text_of(item.table, None)
    return Seen(ObjectTexts(own, table, _referred(item)), numbers_of(item.table, item.column, at))


def _referred(item: TrainingObject) -> str:
    return "" if item.referred is None else text_of(item.referred, None)


def variant(item: TrainingObject, generator: random.Random, synonyms: Mapping[str, Sequence[str]]) -> Seen:
    """The object with some parts hidden and its names, sometimes, in disguise."""
    if generator.random() < 0.4:
        item = item.under_other_names()
    disguised = generator.random() < 0.5
    style, prefix = generator.choice(STYLES), generator.choice(PREFIXES) if generator.random() < 0.1 else ""
    short, rewording = generator.choice((0.0, 0.3, 0.5)), generator.choice((0.0, 0.3, 0.6))
    thesaurus = shipped_thesaurus()
    hide_words, hide_values = generator.random() < 0.35, generator.random() < 0.25
    hide_neighbours, hide_keys = generator.random() < 0.25, generator.random() < 0.2
    hide_table = generator.random() < 0.1

    def other(name: str) -> str:
        if not disguised:
            return name
        return rename(
            name, generator, style=style, abbreviations=short, synonyms=synonyms, thesaurus=thesaurus,
            rewording=rewording,
        )  # fmt: skip

    table = replace(
        item.table,
        name="" if hide_table and item.column is None else prefix + other(item.table.name),
        label="" if disguised or hide_words else item.table.label,
        description="" if hide_words else item.table.description,
    )
    shown = [replace(column, name=other(column.name)) for column in table.columns[:SHOWN_COLUMNS]]
    if generator.random() < 0.5:
        shown = [column for column in shown if generator.random() < 0.7] or shown[:1]
    if generator.random() < 0.3:
        generator.shuffle(shown)
    whole = text_of(replace(table, columns=tuple(shown)), None)
    if item.column is None:
        return Seen(ObjectTexts(whole, whole), numbers_of(table, None))
    column = _changed(item.column, generator, hide_words or disguised, hide_words, hide_values, hide_keys)
    column = replace(column, name=other(column.name))
    begin = max(0, item.position - WINDOW)
    beside = () if hide_neighbours else item.table.columns[begin : item.position + WINDOW]
    around = [
        column if begin + offset == item.position else replace(near, name=other(near.name))
        for offset, near in enumerate(beside)
    ]
    seen = replace(table, columns=tuple(around or [column]))
    here = item.position - begin if around else 0
    texts = ObjectTexts(text_of(seen, column, here), whole, "" if hide_keys else _referred(item))
    return Seen(texts, numbers_of(table, column, item.position))


def _changed(
    column: ObservedColumn,
    generator: random.Random,
    hide_label: bool,
    hide_words: bool,
    hide_values: bool,
    hide_keys: bool,
) -> ObservedColumn:
    """A column with some of what is known of it hidden."""
    if hide_label:
        column = replace(column, label="")
    if hide_words:
        column = replace(column, description="")
    if hide_values:
        column = replace(column, samples=(), nulls=None, distinct=None, rows=None)
    elif len(column.samples) > 4:
        column = replace(
            column, samples=tuple(generator.sample(column.samples, generator.randint(3, len(column.samples))))
        )
    if hide_keys:
        column = replace(column, is_key=False, refers_to=None, referred_by=0)
    return column


def inventory_objects(inventory: Inventory) -> list[TrainingObject]:
    """The inventory's own example names as objects: a table of that name, or a column of that name."""
    found = []
    for number, identity in enumerate(inventory.entities):
        for name in (identity.name, *identity.examples):
            table = ObservedTable(name, (ObservedColumn("id"), ObservedColumn("name")))
            found.append(TrainingObject(Labelled(INVENTORY, name, None, number, None), "train", table, None, -1))
    for number, identity in enumerate(inventory.attributes):
        for name in (identity.name, *identity.examples):
            if " not " in name:
                continue
            table = ObservedTable("", (ObservedColumn(name),))
            found.append(TrainingObject(Labelled(INVENTORY, "", name, -1, number), "train", table, table.columns[0], 0))
    return found


def inherited_objects(objects: Sequence[TrainingObject]) -> list[TrainingObject]:
    """Columns of tables whose columns nobody annotated: a plain fact of the row has the entity of its table.

    Only training tables, a few columns each, and none that may point elsewhere: no reference, no name, code or id.
    """
    annotated = {(item.label.database, item.label.table) for item in objects if item.column is not None}
    found = []
    for item in objects:
        if item.column is not None or item.part != "train" or (item.label.database, item.label.table) in annotated:
            continue
        kept = 0
        for position, column in enumerate(item.table.columns):
            words = words_of(column.name)
            if column.refers_to or not words or words[-1] in POINTING or kept == INHERITED:
                continue
            label = Labelled(item.label.database, item.label.table, column.name, item.label.entity, None)
            found.append(TrainingObject(label, "train", item.table, column, position))
            kept += 1
    return found


def written_objects(inventory: Inventory, one_in: int = 1) -> list[TrainingObject]:
    """One in so many of the written databases: every table, and every column that has its roles."""
    found = []
    every = itertools.chain.from_iterable(read_written(inventory, path) for path in FILES)
    for number, (_, tables) in enumerate(itertools.groupby(every, lambda written: written.label.database)):
        if number % one_in:
            continue
        together = list(tables)
        referred = referred_columns([written.table for written in together])
        for written in together:
            found.append(TrainingObject(written.label, "train", written.table, None, -1, written.alias))
            for position, label in enumerate(written.columns):
                if label is None:
                    continue
                column = written.table.columns[position]
                target = referred.get((written.table.name, column.name))
                found.append(TrainingObject(label, "train", written.table, column, position, written.alias, target))
    return found
