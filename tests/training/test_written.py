"""Written databases and written questions: read whole, labelled with known identities, broken lines named."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

from coset.errors import UserError
from coset.identities.inventory import shipped_inventory
from coset.training.data.corpora import read_written_questions
from coset.training.data.labelled_objects import written_objects
from coset.training.data.written_databases import read_written

TABLE = {
    "name": "shipments", "entity": "shipment", "names": ["shpmt"],
    "columns": [
        {"name": "shipment_id", "type": "integer", "entity": "shipment", "attribute": "identifier", "names": ["nr"]},
        {"name": "buyer", "type": "text", "entity": "customer", "attribute": "name", "samples": ["Ada"]},
    ],
}  # fmt: skip


def written(folder: Path, *databases: object) -> Path:
    path = folder / "written.jsonl"
    path.write_text("\n".join(json.dumps(database) for database in databases))
    return path


def test_a_table_comes_with_its_labels_and_under_its_other_names(tmp_path: Path) -> None:
    inventory = shipped_inventory()
    path = written(tmp_path, {"db": "one", "tables": [TABLE]}, {"db": "two", "tables": [TABLE]})
    one, two = read_written(inventory, path)
    assert one.label.entity == inventory.position("entity", "shipment") and one.label.column is None
    assert one.columns[1].entity == inventory.position("entity", "customer")
    assert one.columns[1].attribute == inventory.position("attribute", "name")
    assert (one.table.name, one.table.names) == ("shipments", ("shipment_id", "buyer"))
    assert (one.alias.name, one.alias.names) == ("shpmt", ("nr", "buyer"))
    assert one.alias.columns[1].samples == ("Ada",)
    assert one.label.database == ("written", "one")
    # Schemas come with keys and without.
    assert [each.table.columns[0].is_key for each in (one, two)] == [False, True]


def test_of_some_tables_the_columns_are_names_alone(tmp_path: Path) -> None:
    table = {"name": "t_17", "entity": "payment", "names": ["refunds"], "columns": ["id", "order_id", "amount"]}
    (one,) = read_written(shipped_inventory(), written(tmp_path, {"db": "one", "tables": [table]}))
    assert one.table.names == one.alias.names == ("id", "order_id", "amount")
    assert one.alias.name == "refunds" and one.columns == (None, None, None)


def test_what_ships_is_large_and_uses_nearly_every_identity() -> None:
    inventory = shipped_inventory()
    objects = written_objects(inventory)
    tables = [item for item in objects if item.column is None]
    assert len(tables) >= 1000 and len(objects) >= 8000
    assert {item.part for item in objects} == {"train"}
    assert len({item.label.entity for item in objects}) >= 0.95 * len(inventory.entities)
    assert len({item.label.attribute for item in objects}) >= 0.95 * len(inventory.attributes)
    for item in objects:
        renamed = item.under_other_names()
        assert len(renamed.table.columns) == len(item.table.columns)
        assert item.column is None or renamed.column is renamed.table.columns[item.position]


@pytest.mark.parametrize(
    ("change", "words"),
    [({"entity": "shipmemt"}, "line 2.*shipmemt"), ({"columns": [{"name": "x"}]}, "line 2.*entity")],
)
def test_a_broken_database_is_named_with_its_line(tmp_path: Path, change: dict[str, object], words: str) -> None:
    path = written(tmp_path, {"db": "one", "tables": [TABLE]}, {"db": "two", "tables": [TABLE | change]})
    with pytest.raises(UserError, match=words):
        list(read_written(shipped_inventory(), path))


def test_written_questions_name_tables_by_their_columns(tmp_path: Path) -> None:
    path = tmp_path / "questions.jsonl.zst"
    entry = {"corpus": "c", "db": "d", "question": "who?", "columns": [["a.b", "x"], ["t", "y"], ["t", "z"]]}
    with pa.output_stream(str(path), compression="zstd") as out:
        out.write((json.dumps(entry) + "\n" + json.dumps({"corpus": "c"})).encode())
    questions = read_written_questions(path)
    first = next(questions)
    assert first.tables == ("a.b", "t") and first.columns[0] == ("a.b", "x")
    with pytest.raises(UserError, match="line 2 is not a written question"):
        next(questions)
    assert len(list(read_written_questions())) >= 1500
