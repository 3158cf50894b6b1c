"""Corpora, annotation, split and disguises: what training stands on, without torch."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pyarrow as pa
import pytest

from coset.errors import UserError
from coset.identities.inventory import shipped_inventory
from coset.readings.words import words_of
from coset.training.annotation import FOLDER, read_annotation, split_databases
from coset.training.data.corpora import SCHEMAS, read_environments
from coset.training.data.disguised_names import (
    STYLES,
    abbreviate,
    read_thesaurus,
    rename,
    restyle,
    shipped_thesaurus,
)
from coset.training.data.labelled_objects import inventory_objects, read_training_set, variant
from coset.training.identities.evaluate import read_reworded

SCHEMA = {
    "db": "shop", "corpus": "own",
    "tables": [
        {"name": "orders", "description": "sales", "primary_key": ["id"], "columns": [
            {"name": "id", "type": "int", "samples": ["1", "2"]},
            {"name": "buyer", "type": "int", "description": "who bought", "natural_name": "Buyer", "samples": []},
        ]},
        {"name": "people", "description": "", "primary_key": ["id"], "columns": [{"name": "id", "type": "int"}]},
    ],
    "foreign_keys": [{"table": "orders", "columns": ["buyer"], "ref_table": "people", "ref_columns": ["id"]}],
}  # fmt: skip


def write(folder: Path, lines: list[str]) -> None:
    with pa.output_stream(str(folder / SCHEMAS), compression="zstd") as out:
        out.write("\n".join(lines).encode())


def test_a_schema_is_read_with_keys_and_references(tmp_path: Path) -> None:
    write(tmp_path, [json.dumps(SCHEMA)])
    environment = read_environments(tmp_path)[("own", "shop")]
    orders = environment.tables[0]
    assert orders.columns[0].is_key and orders.columns[1].refers_to == ("people", "id")
    assert environment.tables[1].columns[0].referred_by == 1
    assert orders.columns[1].label == "Buyer" and orders.columns[1].type == "whole"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{broken", "line 2 is not valid JSON"),
        ("[1]", "line 2 is not an object"),
        ('{"db": "x"}', "line 2 is not a schema"),
    ],
)
def test_a_broken_line_is_named_with_its_number(tmp_path: Path, line: str, words: str) -> None:
    write(tmp_path, [json.dumps(SCHEMA), line])
    with pytest.raises(UserError, match=words):
        read_environments(tmp_path)


def test_a_corpus_without_schemas_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=SCHEMAS):
        read_environments(tmp_path)


def test_the_annotation_is_as_large_as_asked_and_names_only_known_identities() -> None:
    inventory = shipped_inventory()
    labels = read_annotation(inventory)
    columns = [label for label in labels if label.column is not None]
    assert len(columns) >= 5000
    assert len({label.database for label in columns}) >= 120
    assert len({(label.database, label.table, label.column) for label in labels}) == len(labels)
    used = {label.attribute for label in columns}, {label.entity for label in labels}
    assert len(used[0]) >= 0.95 * len(inventory.attributes) and len(used[1]) >= 0.95 * len(inventory.entities)


def test_two_annotators_saw_at_least_five_hundred_columns() -> None:
    inventory = shipped_inventory()
    first = {(label.database, label.table, label.column): label for label in read_annotation(inventory)}
    second = [label for label in read_annotation(inventory, FOLDER / "second.tsv") if label.column is not None]
    both = [(first[key], label) for label in second if (key := (label.database, label.table, label.column)) in first]
    assert len(both) >= 500
    assert 0.5 < sum(one.entity == other.entity for one, other in both) / len(both) <= 1.0


def test_a_bad_line_of_annotation_is_named(tmp_path: Path) -> None:
    path = tmp_path / "bad.tsv"
    path.write_text("corpus\tdatabase\ttable\tcolumn\tentity\tattribute\na\tb\tc\td\tcustomer\tidentifer\n")
    with pytest.raises(UserError, match=r"line 2.*identifier"):
        read_annotation(shipped_inventory(), path)
    path.write_text("a\tb\tc\n")
    with pytest.raises(UserError, match="line 1 has 3 fields"):
        read_annotation(shipped_inventory(), path)


def test_versions_of_one_database_stay_on_one_side_of_the_split() -> None:
    tables = {("c", f"db{n}"): frozenset({f"t{n}_{m}" for m in range(4)}) for n in range(60)}
    for n in range(60):
        tables["c", f"db{n}_copy"] = tables["c", f"db{n}"] | {"extra"}
    parts = split_databases(tables, tables)
    assert all(parts["c", f"db{n}"] == parts["c", f"db{n}_copy"] for n in range(60))
    assert set(parts.values()) == {"train", "dev", "validation"}
    assert parts == split_databases(reversed(list(tables)), tables)


def test_a_disguise_keeps_the_words_unless_it_abbreviates() -> None:
    generator = random.Random(3)
    for style in STYLES[:4]:
        assert words_of(rename("customer_billing_address", generator, style=style, abbreviations=0.0)) == (
            "customer", "billing", "address",
        )  # fmt: skip
    assert restyle(["order", "date"], "joined") == "orderdate"
    assert len(abbreviate("description", generator)) < len("description")
    assert (
        rename("name", generator, style="snake", abbreviations=0.0, synonyms={"name": ["full title"]}) == "full_title"
    )


def test_the_thesaurus_gives_other_words_for_whole_names_and_for_words(tmp_path: Path) -> None:
    path = tmp_path / "thesaurus.tsv"
    path.write_text("first name\tgiven name\t-\nname\ttitle; label\tnm\ncustomer\tbuyer\tcst\n")
    thesaurus, generator = read_thesaurus(path), random.Random(2)

    def others(name: str, chance: float, abbreviations: float = 0.0) -> set[str]:
        return {
            rename(
                name, generator, style="snake", abbreviations=abbreviations, thesaurus=thesaurus, rewording=chance
            )
            for _ in range(60)
        }  # fmt: skip

    assert others("first_name", 1.0) == {"given_name"}
    assert others("customerName", 1.0) == {"buyer_title", "buyer_label"}
    assert others("customerName", 0.0) == {"customer_name"}
    assert "cst_name" in others("customer_name", 0.0, abbreviations=0.5)
    path.write_text("name\ttitle\n")
    with pytest.raises(UserError, match="line 1 has 2 fields"):
        read_thesaurus(path)
    assert len(shipped_thesaurus().synonyms) > 1000


def test_the_inventory_itself_is_training_data() -> None:
    inventory = shipped_inventory()
    objects = inventory_objects(inventory)
    assert {item.label.entity for item in objects if item.column is None} == set(range(len(inventory.entities)))
    assert {item.label.attribute for item in objects if item.column is not None} == set(
        range(len(inventory.attributes))
    )


@pytest.mark.shared
def test_the_corpora_give_a_training_set_without_leaks(shared: Path) -> None:
    training = read_training_set(shared / "corpora", shipped_inventory())
    parts: dict[tuple[str, str], set[str]] = {}
    for item in training.objects:
        parts.setdefault(item.label.database, set()).add(item.part)
    assert all(len(found) == 1 for found in parts.values())
    assert {"train", "dev", "validation"} == {part for found in parts.values() for part in found}
    generator = random.Random(1)
    for item in training.objects[:: len(training.objects) // 300]:
        seen = variant(item, generator, training.synonyms)
        assert seen.text and seen.texts.table and len(seen.numbers)


def test_fewer_written_databases_are_learned_from_when_asked(tmp_path: Path) -> None:
    write(tmp_path, [json.dumps(SCHEMA)])
    inventory = shipped_inventory()
    whole, part = (read_training_set(tmp_path, inventory, written=one_in) for one_in in (1, 40))
    databases = [{item.label.database for item in each.objects} for each in (whole, part)]
    assert databases[1] < databases[0]
    assert len(databases[0]) / 50 < len(databases[1]) < len(databases[0]) / 30


def test_other_words_for_names_are_read_and_a_broken_line_is_named(tmp_path: Path) -> None:
    reworded = read_reworded()
    assert len(reworded) > 80 and sum(map(len, reworded.values())) > 6_000
    changed = [other != [name] for names in reworded.values() for name, other in names.items()]
    assert sum(changed) > 0.95 * len(changed)
    (tmp_path / "r.tsv").write_text("spider\tfarm\tcity\ttown\nspider\tfarm\n")
    with pytest.raises(UserError, match=r"'r\.tsv' line 2 has 2 fields instead of 4"):
        read_reworded(tmp_path / "r.tsv")
