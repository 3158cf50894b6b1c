"""Databases in disguise: the corpora as companies have them, each object keeping its identity.

In: databases of the corpora, a kind of naming, a seed. Out: environments under other names, in which every table and
column says where it comes from: descriptions missing, keys undeclared, copies beside the originals, a page of
documentation for some tables, several databases as one environment. Deterministic under the seed. What the offline
readers make of the names is put on as labels, as a state does it, or left away.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from coset.readings.observe import SURE_ENOUGH
from coset.readings.observed import ObservedColumn, ObservedEnvironment, ObservedTable
from coset.readings.offline import CopyOf, read_offline
from coset.readings.reading import best_readings
from coset.readings.stated import Text
from coset.readings.words import words_of
from coset.training.annotation import Key, Labelled
from coset.training.data.disguised_names import KINDS, Habits, Kind
from coset.training.data.labelled_objects import TrainingObject, TrainingSet, referred_columns

Origin = tuple[Key, str, str | None]
"""The database, table and column (None for the table) that an object was."""
COPY_NAMES = (
    "{}_bak", "{}_old", "{}_2019", "{}_2021_11", "stg_{}", "tmp_{}", "zz_{}", "{}_copy", "{}_test", "arch_{}",
    "{}_hist", "{}2",
)  # fmt: skip
MOST_COLUMNS, MOST_TABLES = 40, 30
"""Columns of a table that take part, the labelled ones in any case: some tables of the corpora have thousands. And
tables of a training database, always the same ones: some have a thousand."""


@dataclass(frozen=True)
class Conditions:
    """What else is as in companies, beside the names. Chances are by object unless said otherwise."""

    described: float = 0.15
    """Descriptions that are left."""
    keys_told: float = 0.7
    """Keys and references that are declared or were found."""
    copies: float = 0.0
    """Tables that have a copy beside them."""
    documented: float = 0.0
    """Tables that a page of documentation names, with what they hold."""


MEASURED = Conditions(described=0.0, keys_told=1.0)
"""Names are all that differs from the readable database, but that nobody wrote descriptions and labels."""
AS_IN_COMPANIES = Conditions(copies=0.3, documented=0.25)


@dataclass(frozen=True)
class Disguised:
    """An environment in disguise."""

    environment: ObservedEnvironment
    origins: dict[str, Origin]
    """By reference; copies and their columns have the origin of what they are copies of."""
    copies: dict[str, CopyOf] = field(default_factory=dict)
    texts: tuple[Text, ...] = ()

    def with_readings(self) -> ObservedEnvironment:
        """What the offline readers read, as labels, where it is sure enough and more than the name."""
        best = best_readings(each for each in read_offline(self.environment, self.texts, self.copies) if each.name)

        def label(reference: str, name: str) -> str:
            reading = best.get(reference)
            if reading is None or reading.confidence < SURE_ENOUGH or " ".join(words_of(name)) == reading.name.lower():
                return ""
            return reading.name

        tables = tuple(
            replace(
                table, label=label(table.reference, table.name),
                columns=tuple(replace(each, label=label(each.reference, each.name)) for each in table.columns),
            )
            for table in self.environment.tables
        )  # fmt: skip
        return replace(self.environment, tables=tables)


def disguise(
    key: Key,
    tables: Sequence[ObservedTable],
    kind: Kind,
    seed: str,
    conditions: Conditions = MEASURED,
    source: str = "s",
) -> Disguised:
    """One database in disguise. A readable one keeps its names and labels."""
    own = f"{seed}:{'/'.join(key)}"
    habits, generator = Habits(kind, own), random.Random(f"disguise:{own}")
    by_name = {table.name: table for table in tables}
    found: list[ObservedTable] = []
    origins: dict[str, Origin] = {}
    copies: dict[str, CopyOf] = {}
    pages: list[str] = []
    for table in tables:
        seen = _table(table, habits, generator, conditions, source, by_name)
        found.append(seen)
        origins |= _origins(key, table, seen)
        told = table.label or " ".join(words_of(table.name))
        if generator.random() < conditions.documented and not any(letter.isdigit() for letter in told):
            pages.append(f"{seen.name}: {told}")
        if generator.random() < conditions.copies:
            copy = _copy(seen, generator)
            found.append(copy)
            origins |= _origins(key, table, copy)
            copies[copy.reference] = CopyOf(seen.reference, "backup")
    texts = (Text("\n".join(pages), "handbook", None, source),) if pages else ()
    return Disguised(ObservedEnvironment(source, tuple(found)), origins, copies, texts)


def together(parts: Sequence[Disguised]) -> Disguised:
    """Several databases as the sources of one environment."""
    tables = tuple(table for part in parts for table in part.environment.tables)
    origins = {reference: origin for part in parts for reference, origin in part.origins.items()}
    copies = {reference: copy for part in parts for reference, copy in part.copies.items()}
    return Disguised(
        ObservedEnvironment("", tables), origins, copies, tuple(text for part in parts for text in part.texts)
    )


def _table(
    table: ObservedTable,
    habits: Habits,
    generator: random.Random,
    conditions: Conditions,
    source: str,
    others: Mapping[str, ObservedTable],
) -> ObservedTable:
    plain = habits.kind == "readable"
    name = habits.table(table.name)
    reference = f"{source}/{name}"
    columns = []
    for place, column in enumerate(table.columns):
        own = habits.column(table.name, column.name, place)
        refers = column.refers_to if generator.random() < conditions.keys_told else None
        if refers and (target := others.get(refers[0])):
            at = target.names.index(refers[1]) if refers[1] in target.names else 0
            refers = habits.table(target.name), habits.column(target.name, refers[1], at)
        columns.append(
            replace(
                column, name=own, reference=f"{reference}.{own}", label=column.label if plain else "",
                description=column.description if plain or generator.random() < conditions.described else "",
                is_key=column.is_key and (plain or generator.random() < conditions.keys_told), refers_to=refers,
            )
        )  # fmt: skip
    described = plain or generator.random() < conditions.described
    return replace(
        table, name=name, reference=reference, source=source, label=table.label if plain else "",
        description=table.description if described else "", columns=tuple(columns),
    )  # fmt: skip


def _copy(table: ObservedTable, generator: random.Random) -> ObservedTable:
    name = generator.choice(COPY_NAMES).format(table.name)
    reference = f"{table.source}/{name}"
    kept = [column for column in table.columns if generator.random() < 0.95] or list(table.columns)
    columns = tuple(
        replace(column, reference=f"{reference}.{column.name}", is_key=False, refers_to=None) for column in kept
    )
    return replace(table, name=name, reference=reference, columns=columns, description="")


def _origins(key: Key, table: ObservedTable, seen: ObservedTable) -> dict[str, Origin]:
    """Columns of a disguised table stand in their old order; those of a copy are found by their names."""
    found: dict[str, Origin] = {seen.reference: (key, table.name, None)}
    if len(seen.columns) == len(table.columns):
        found |= {
            own.reference: (key, table.name, column.name)
            for own, column in zip(seen.columns, table.columns, strict=True)
        }
    return found


def disguised_set(
    training: TrainingSet,
    seed: str,
    *,
    kind: Kind | None = None,
    parts: Sequence[str] = ("train", "dev", "validation"),
    conditions: Conditions = MEASURED,
    readings: float = 1.0,
    one_in: int = 1,
    first: int = 0,
) -> TrainingSet:
    """The labelled objects of a training set where they stand in disguise, each database in a kind of its own unless
    one is told. `readings` is the share of databases that offline readers have read. One in so many of the training
    databases takes part, from the `first` on; the inventory's own examples do not."""
    groups: dict[Key, list[TrainingObject]] = {}
    for item in training.objects:
        if item.part in parts and item.label.database[0] != "coset":
            groups.setdefault(item.label.database, []).append(item)
    found: list[TrainingObject] = []
    environments: dict[Key, ObservedEnvironment] = {}
    for number, (key, items) in enumerate(sorted(groups.items())):
        if items[0].part == "train" and number % one_in != first:
            continue
        generator = random.Random(f"kinds:{seed}:{'/'.join(key)}")
        chosen: Kind = generator.choice(KINDS[1:]) if kind is None else kind
        tables = _labelled_tables(items)
        if items[0].part == "train" and len(tables) > MOST_TABLES:
            tables = random.Random(f"tables:{'/'.join(key)}").sample(tables, MOST_TABLES)
        hidden = disguise(key, tables, chosen, seed, conditions)
        read = generator.random() < readings
        environment = hidden.with_readings() if read and chosen != "readable" else hidden.environment
        environments[key] = environment
        found += _objects(items, environment, hidden.origins)
    return TrainingSet(environments, found, training.synonyms, training.held_out)


def _labelled_tables(items: Sequence[TrainingObject]) -> list[ObservedTable]:
    """The tables of labelled objects, with the labelled columns and others up to a bound, each once."""
    wanted: dict[str, set[str]] = {}
    tables: dict[str, ObservedTable] = {}
    for item in items:
        tables[item.table.name] = item.table
        names = wanted.setdefault(item.table.name, set())
        if item.column is not None:
            names.add(item.column.name)
    found = []
    for name, table in tables.items():
        seen: set[str] = set()
        columns: list[ObservedColumn] = []
        for place, column in enumerate(table.columns):
            if column.name not in seen and (place < MOST_COLUMNS or column.name in wanted[name]):
                columns.append(column)
                seen.add(column.name)
        found.append(replace(table, columns=tuple(columns)))
    return found


def _objects(
    items: Sequence[TrainingObject], environment: ObservedEnvironment, origins: Mapping[str, Origin]
) -> list[TrainingObject]:
    labels: dict[tuple[str, str | None], Labelled] = {}
    for item in items:
        labels[item.label.table, item.label.column] = item.label
        labels.setdefault((item.table.name, item.label.column), item.label)
    part = items[0].part
    referred = referred_columns(environment.tables)
    found = []
    for table in environment.tables:
        for position, column in enumerate((None, *table.columns), start=-1):
            origin = origins.get(table.reference if column is None else column.reference)
            label = labels.get(origin[1:]) if origin else None
            if label is not None:
                target = referred.get((table.name, column.name)) if column is not None else None
                found.append(TrainingObject(label, part, table, column, position, referred=target))
    return found
