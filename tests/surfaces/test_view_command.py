"""`coset view` and `coset recover`, as a person or a script meets them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from commands import coset


@pytest.fixture(scope="module")
def comprehended(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("viewed")
    customers = "\n".join(f"CUST-{n:04},{['Basel', 'Bern'][n % 2]}" for n in range(200))
    (folder / "customers.csv").write_text(f"customer_id,city\n{customers}\n")
    orders = "\n".join(f"{n},CUST-{n % 200:04},{'PSC'[n % 3]},{n * 1.5}" for n in range(900))
    (folder / "orders.csv").write_text(f"order_no,customer_id,status,amount\n{orders}\n")
    assert coset("init", "crm=customers.csv", "shop=orders.csv", folder=folder).returncode == 0
    answer = coset("comprehend", "--jobs", "1", folder=folder)
    assert answer.returncode == 0, answer.stderr
    return folder


def test_recover_prints_what_is_known_of_a_reference(comprehended: Path):
    answer = coset("recover", "orders.status", folder=comprehended)
    assert answer.returncode == 0 and answer.stdout.startswith("COLUMN shop.orders.status")
    assert "'C' 300" in answer.stdout
    document = json.loads(coset("recover", "shop/orders", "--budget", "150", "--json", folder=comprehended).stdout)
    assert document["kind"] == "table" and document["cost"] <= 150 and document["left_out"] > 0


def test_recover_searches_names_values_and_documents(comprehended: Path):
    answer = coset("recover", "--search", "basel", folder=comprehended)
    assert answer.returncode == 0 and "crm.customers.city = 'Basel', 100 rows" in answer.stdout


def test_recover_wants_a_reference_or_words(comprehended: Path):
    for arguments in ((), ("orders", "--search", "x")):
        answer = coset("recover", *arguments, folder=comprehended)
        assert answer.returncode == 2 and "either a NAME or --search WORDS" in answer.stderr
    answer = coset("recover", "orders.sttus", folder=comprehended)
    assert answer.returncode == 2 and "did you mean shop.orders.status" in answer.stderr


def test_recover_before_comprehension_says_what_to_run(tmp_path: Path):
    (tmp_path / "a.csv").write_text("x\n1\n")
    assert coset("init", "a=a.csv", folder=tmp_path).returncode == 0
    answer = coset("recover", "a", folder=tmp_path)
    assert answer.returncode == 2 and "run `coset comprehend`" in answer.stderr


def test_view_prints_tables_joins_and_values_that_answer_a_question(comprehended: Path):
    question = "total amount of orders by city of the customer in Basel"
    answer = coset("view", question, folder=comprehended)
    assert answer.returncode == 0, answer.stderr
    assert "TABLE shop.orders |" in answer.stdout and "TABLE crm.customers" in answer.stdout
    assert "shop.orders.customer_id = crm.customers.customer_id" in answer.stdout
    assert question not in answer.stdout
    assert coset("view", question, folder=comprehended).stdout == answer.stdout


def test_view_keeps_to_its_budget_in_text_and_json(comprehended: Path):
    arguments = ("view", "amount of orders by city", "--budget", "300", "--no-directory")
    document = json.loads(coset(*arguments, "--json", folder=comprehended).stdout)
    assert document["cost"] <= 300 and document["matched"] is True
    explained = coset(*arguments, "--explain", folder=comprehended).stdout
    assert "DEMAND" in explained and "COLUMNS by score" in explained


def test_view_mistakes_are_one_sentence(comprehended: Path):
    answer = coset("view", "amount of orders", "--budget", "20", folder=comprehended)
    assert answer.returncode == 2 and "at least" in answer.stderr
    assert coset("view", "  ", folder=comprehended).returncode == 2
