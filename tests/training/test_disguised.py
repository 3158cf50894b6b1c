"""Databases in disguise: other names, the same things, the same under the same seed."""

from __future__ import annotations

import pytest

from coset.readings.observed import ObservedColumn, ObservedTable
from coset.readings.words import words_of
from coset.training.annotation import Labelled
from coset.training.data.disguised_databases import AS_IN_COMPANIES, MEASURED, disguise, disguised_set, together
from coset.training.data.disguised_names import KINDS, Habits
from coset.training.data.labelled_objects import TrainingObject, TrainingSet

TABLES = (
    ObservedTable(
        "customers",
        (
            ObservedColumn("customer_id", "whole", is_key=True),
            ObservedColumn("last_name", "text", description="family name"),
            ObservedColumn("creation_date", "date"),
        ),
        description="who buys",
    ),
    ObservedTable(
        "order_items",
        (
            ObservedColumn("order_number", "whole"),
            ObservedColumn("customer_id", "whole", refers_to=("customers", "customer_id")),
            ObservedColumn("quantity", "whole"),
        ),
    ),
)
HIDDEN = [kind for kind in KINDS if kind != "readable"]


@pytest.mark.parametrize("kind", HIDDEN)
def test_a_disguise_is_the_same_under_its_seed_and_keeps_what_each_object_is(kind):
    one, again = (disguise(("c", "shop"), TABLES, kind, "7") for _ in range(2))
    assert one == again
    assert one != disguise(("c", "shop"), TABLES, kind, "8")
    assert sorted(one.origins.values(), key=str) == sorted(
        [(("c", "shop"), t.name, c) for t in TABLES for c in (None, *t.names)], key=str
    )
    first, second = one.environment.tables
    assert second.columns[1].refers_to == (first.name, first.columns[0].name)
    assert not first.description and not first.columns[1].description
    assert [column.type for column in first.columns] == ["whole", "text", "date"]


def test_readable_names_labels_and_descriptions_stay():
    found = disguise(("c", "shop"), TABLES, "readable", "7").environment
    assert [(t.name, t.names, t.description) for t in found.tables] == [
        (t.name, t.names, t.description) for t in TABLES
    ]


def test_a_word_has_one_short_form_in_a_database_and_no_two_columns_of_a_table_one_name():
    for seed in range(20):
        habits = Habits("abbreviated", str(seed))
        table = ObservedTable("t", tuple(ObservedColumn(f"customer_{word}") for word in ("category", "catalog", "cat")))
        names = [habits.column(table.name, name, place) for place, name in enumerate(table.names)]
        assert len({name.lower() for name in names}) == 3
        assert habits.column(table.name, "customer_cat", 2) == names[2]


def test_every_table_of_many_has_a_code():
    habits = Habits("numbered", "3")
    names = [f"s{number}" for number in range(1_500)]
    assert all(habits.column(name, "price", 0) for name in names)


def test_numbered_names_share_no_word_with_what_they_name():
    for seed in range(10):
        for table in disguise(("c", "shop"), TABLES, "numbered", str(seed)).environment.tables:
            assert not {"customer", "customers", "order", "items", "quantity"} & {*words_of(table.name)}


def test_copies_and_a_handbook_stand_in_a_company_and_offline_readers_read_them():
    several = [disguise(("c", f"shop{n}"), TABLES, HIDDEN[n % 3], str(n), AS_IN_COMPANIES, f"s{n}") for n in range(12)]
    company = together(several)
    assert len(company.environment.tables) > 24
    assert company.copies and all(copy.original in company.origins for copy in company.copies.values())
    assert {company.origins[copy] for copy in company.copies} <= set(company.origins.values())
    assert company.texts
    read = company.with_readings()
    assert any(table.label for table in read.tables)
    assert any("customer" in column.label for table in read.tables for column in table.columns)


def test_labelled_objects_are_found_again_and_databases_stay_in_their_part():
    def item(database, table, column, position, part):
        label = Labelled(("c", database), table.name, column and column.name, 1, None if column is None else 2)
        return TrainingObject(label, part, table, column, position)

    objects = [
        item(database, table, column, place, part)
        for database, part in (("a", "train"), ("b", "validation"))
        for table in TABLES
        for place, column in enumerate((None, *table.columns), start=-1)
    ]
    training = TrainingSet({}, objects, {}, {})
    hidden = disguised_set(training, "1", kind="numbered", conditions=MEASURED)
    assert len(hidden.objects) == len(objects)
    assert [each.part for each in hidden.objects].count("validation") == len(objects) // 2
    for each in hidden.objects:
        assert (each.column is None) == (each.label.column is None)
        assert each.table.name != each.label.table
    referring = [each for each in hidden.objects if each.referred is not None]
    assert {each.label.column for each in referring} == {"customer_id"}
    assert {each.part for each in disguised_set(training, "1", parts=("train",)).objects} == {"train"}
