"""Routing over schemas in files, through the command that scorers call."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from coset.errors import UserError
from coset.routing.schema_files import read_asked, read_schemas
from coset.surfaces.command_line.measuring import routing


def database(name: str, tables: dict[str, list[str]], keys: list[tuple[str, str, str, str]] = ()) -> dict:
    return {
        "db": name, "corpus": "made",
        "tables": [
            {"name": table, "description": "", "primary_key": [columns[0]],
             "columns": [{"name": column, "type": "text"} for column in columns]}
            for table, columns in tables.items()
        ],
        "foreign_keys": [
            {"table": table, "columns": [column], "ref_table": other, "ref_columns": [theirs]}
            for table, column, other, theirs in keys
        ],
    }  # fmt: skip


DATABASES = [
    database(
        "shop",
        {
            "customers": ["customer_id", "customer_name", "city"],
            "orders": ["order_id", "customer_id", "ordered_at", "total_amount"],
            "order_items": ["order_id", "product_id", "quantity"],
            "products": ["product_id", "product_name", "price"],
        },
        [("orders", "customer_id", "customers", "customer_id"), ("order_items", "order_id", "orders", "order_id"),
         ("order_items", "product_id", "products", "product_id")],
    ),
    database("hospital", {"patients": ["patient_id", "patient_name", "birth_date"],
                          "admissions": ["admission_id", "patient_id", "diagnosis", "admitted_on"]},
             [("admissions", "patient_id", "patients", "patient_id")]),
    database("airline", {"flights": ["flight_id", "origin", "destination", "departure_time"],
                         "airports": ["airport_code", "airport_name", "country"]}),
]  # fmt: skip
QUESTIONS = [
    {"db": "hospital", "corpus": "made", "question": "Which diagnosis do patients born before 1980 have?"},
    {"db": "shop", "corpus": "made", "question": "Names of customers who bought the product 'Lamp'", "id": "lamp"},
    {"db": "airline", "corpus": "made", "question": "How many flights leave for each destination?"},
]


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path, Path]:
    schemas, questions = tmp_path / "schemas.jsonl", tmp_path / "questions.jsonl"
    schemas.write_text("\n".join(map(json.dumps, DATABASES)))
    questions.write_text("\n".join(map(json.dumps, QUESTIONS)))
    return schemas, questions, tmp_path / "found.jsonl"


def run(files: tuple[Path, Path, Path], *options: str) -> list[dict]:
    schemas, questions, out = files
    result = CliRunner().invoke(
        routing, ["--schemas", str(schemas), "--questions", str(questions), "--out", str(out), *options],
        catch_exceptions=False,
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in out.read_text().splitlines()]


def test_in_a_pool_the_right_tables_come_first(files: tuple[Path, Path, Path]):
    found = run(files, "--pool")
    assert [line["id"] for line in found] == [0, "lamp", 2]
    assert set(found[0]["tables"][:2]) == {"hospital.patients", "hospital.admissions"}
    assert {"shop.customers", "shop.products"} <= set(found[1]["tables"][:4])
    assert found[2]["tables"][0] == "airline.flights"
    assert len(found[0]["tables"]) == 8


def test_the_view_keeps_the_columns_and_the_keys_between_their_tables(files: tuple[Path, Path, Path]):
    found = run(files)
    assert {"hospital.admissions.diagnosis", "hospital.patients.birth_date"} <= set(found[0]["kept"])
    assert {"hospital.admissions.patient_id", "hospital.patients.patient_id"} <= set(found[0]["kept"])
    assert all(column.startswith("hospital.") for column in found[0]["columns"])


def test_a_hint_that_comes_with_a_question_is_read_unless_told_not_to(files: tuple[Path, Path, Path]):
    hinted = {"db": "shop", "corpus": "made", "question": "How many of them are dear?",
              "evidence": "dear refers to the price of products"}  # fmt: skip
    files[1].write_text(json.dumps(hinted))
    (read,), (unread,) = run(files, "--pool"), run(files, "--pool", "--no-evidence")
    assert read["tables"][0] == "shop.products" and read["columns"][0] == "shop.products.price"
    assert unread["columns"] != read["columns"]


def test_two_runs_find_the_same(files: tuple[Path, Path, Path]):
    first, second = run(files, "--pool"), run(files, "--pool")
    for line in (*first, *second):
        line.pop("seconds")
    assert first == second


def test_a_broken_line_is_named(tmp_path: Path):
    path = tmp_path / "schemas.jsonl"
    path.write_text(json.dumps(DATABASES[0]) + '\n{"db": "x"}\n')
    with pytest.raises(UserError, match="line 2"):
        list(read_schemas(path))
    questions = tmp_path / "questions.jsonl"
    questions.write_text('{"db": "x"}\n')
    with pytest.raises(UserError, match="line 1"):
        list(read_asked(questions))


def test_a_question_of_an_unknown_database_is_told(files: tuple[Path, Path, Path]):
    schemas, questions, out = files
    questions.write_text(json.dumps({"db": "elsewhere", "question": "who?"}))
    with pytest.raises(UserError, match="elsewhere"):
        CliRunner().invoke(
            routing, ["--schemas", str(schemas), "--questions", str(questions), "--out", str(out)],
            catch_exceptions=False,
        )  # fmt: skip
