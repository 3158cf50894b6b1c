"""The same data and corrections give the same state, whatever the path that led there."""

from __future__ import annotations

import shutil
from pathlib import Path

import duckdb
import numpy as np

import coset
from coset.identities.model import load_model

TABLES = {
    "customers": "cust_no,nm,cty\n" + "".join(f"C-{n:04},Firm {n},{['Bern', 'Genf', 'Zug'][n % 3]}\n" for n in range(60)),
    "orders": "ord_no,cust,dt,amt\n" + "".join(f"{n},C-{n % 60:04},2024-0{n % 9 + 1}-11,{n * 7 % 90}.50\n" for n in range(300)),
    "tickets": "tkt,buyer,prio,txt\n" + "".join(f"T{n},C-{n % 50:04},{n % 4},pump {n} leaks\n" for n in range(120)),
    "plants": "wrk,bez,lnd\n1,Werk Basel,CH\n2,Werk Lyon,FR\n3,Werk Ulm,DE\n",
}  # fmt: skip
MOMENTS = {"listed_at", "seconds", "comprehended_at", "said_at", "written_at", "token"}


def company(folder: Path, names: list[str]) -> Path:
    (folder / "data").mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / "data" / f"{name}.csv").write_text(TABLES[name])
    (folder / "coset.yaml").write_text("sources:\n  data: {location: data}\n")
    return folder


def comprehended(folder: Path, times: int = 1) -> Path:
    with coset.open(folder) as environment:
        for _ in range(times):
            environment.comprehend()
    return folder


def known(folder: Path) -> dict[str, set[str]]:
    """Every row of every table of the state that is about the data, numbers rounded, moments left out."""
    found = {}
    with duckdb.connect(str(folder / ".coset" / "state.duckdb"), read_only=True) as state:
        for (table,) in state.execute("SELECT table_name FROM duckdb_tables()").fetchall():
            if table in ("meta", "join_keys"):  # Marks of what was done; hashes in no order.
                continue
            columns = [row[0] for row in state.execute(f"DESCRIBE main.{table}").fetchall() if row[0] not in MOMENTS]
            rows = state.execute(f"SELECT {', '.join(map(repr_name, columns))} FROM main.{table}").fetchall()
            found[table] = {str([rounded(value) for value in row]) for row in rows}
    return found


def repr_name(name: str) -> str:
    return f'"{name}"'


def rounded(value: object) -> object:
    if isinstance(value, float):
        return round(value, 4) + 0.0
    return [rounded(each) for each in value] if isinstance(value, list | tuple) else value


def test_tables_that_come_one_by_one_give_the_state_of_all_at_once(tmp_path: Path):
    at_once = comprehended(company(tmp_path / "once", list(TABLES)))
    in_steps = tmp_path / "steps"
    for number in range(1, len(TABLES) + 1):
        comprehended(company(in_steps, list(TABLES)[:number]))
    one, other = known(at_once), known(in_steps)
    assert len(one["memberships"]) > 20
    assert {table for table in one if one[table] != other[table]} == set()


def test_refreshes_do_not_change_what_is_known_nor_what_was_taught(tmp_path: Path):
    folder = comprehended(company(tmp_path / "a", list(TABLES)))
    with coset.open(folder) as environment:
        environment.teach("data.tickets.buyer", "customer.identifier")
    before = known(comprehended(folder))  # What follows from roles, joins for one, follows at the next comprehension.
    shutil.copytree(folder, tmp_path / "b")
    assert known(comprehended(folder, times=3)) == before
    shutil.rmtree(tmp_path / "b" / ".coset")
    assert known(comprehended(tmp_path / "b"))["memberships"] == before["memberships"]


def test_the_vector_of_a_text_does_not_depend_on_its_company():
    encoder = load_model(None).text_encoder
    texts = ["customer number", "date of the order in a table of orders", "amount"]
    together = encoder.encode(texts)
    assert all(np.array_equal(together[number], encoder.encode([text])[0]) for number, text in enumerate(texts))
