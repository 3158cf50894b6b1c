"""The same data and corrections give the same state, whatever the path that led there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import numpy as np
import pytest

import coset
from coset.evidence.work import here
from coset.identities.model import load_model
from coset.use_cases.comprehend import Settings, comprehend

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


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All tables comprehended at once. Nobody writes to it."""
    return comprehended(company(tmp_path_factory.mktemp("undisturbed") / "a", list(TABLES)))


def test_tables_that_come_one_by_one_give_the_state_of_all_at_once(undisturbed: Path, tmp_path: Path):
    in_steps = tmp_path / "steps"
    for number in range(1, len(TABLES) + 1):
        comprehended(company(in_steps, list(TABLES)[:number]))
    one, other = known(undisturbed), known(in_steps)
    assert len(one["memberships"]) > 20
    assert {table for table in one if one[table] != other[table]} == set()


def test_refreshes_do_not_change_what_is_known_nor_what_was_taught(undisturbed: Path, tmp_path: Path):
    folder = Path(shutil.copytree(undisturbed, tmp_path / "a"))
    with coset.open(folder) as environment:
        environment.teach("data.tickets.buyer", "customer.identifier")
    before = known(comprehended(folder))  # What follows from roles, joins for one, follows at the next comprehension.
    shutil.copytree(folder, tmp_path / "b")
    assert known(comprehended(folder, times=3)) == before
    shutil.rmtree(tmp_path / "b" / ".coset")
    assert known(comprehended(tmp_path / "b"))["memberships"] == before["memberships"]


SENTENCES = (
    "Tickets of priority 3 are left out of every figure.",
    "A plant (Werk) has customers in its country; orders of cancelled customers are counted once a month.",
    "The buyer of a ticket is the customer, except in Zug. Amounts are net.",
)


def test_documents_that_grow_by_a_sentence_give_the_state_of_whole_ones(tmp_path: Path):
    growing, whole = company(tmp_path / "a", list(TABLES)), company(tmp_path / "b", list(TABLES))
    for number in range(len(SENTENCES) + 1):
        for folder, count in ((growing, number), (whole, len(SENTENCES))):
            (folder / "data" / "house.md").write_text("\n\n".join(("# Rules", *SENTENCES[:count])) + "\n")
        comprehended(growing)
    one, other = known(growing), known(comprehended(whole, times=2))  # Names are read once more with what joins tell.
    assert one["rules"] and one["names_read"]
    assert {table for table in one if one[table] != other[table]} <= {"document_files"}  # Which has when they changed.


def test_the_vector_of_a_text_does_not_depend_on_its_company():
    encoder = load_model(None).text_encoder
    texts = ["customer number", "date of the order in a table of orders", "amount"]
    together = encoder.encode(texts)
    assert all(np.array_equal(together[number], encoder.encode([text])[0]) for number, text in enumerate(texts))


def test_what_is_said_while_a_comprehension_runs_is_seen_at_once_and_stays(undisturbed: Path, tmp_path: Path):
    folder, other = tmp_path / "a", tmp_path / "b"
    shutil.copytree(undisturbed, folder)
    shutil.copytree(undisturbed, other)
    said = {"reading names": "first", "indexing values and words": "second"}
    with coset.open(folder) as environment, coset.open(folder) as another:

        def progress(done: int, total: int, name: str) -> None:
            if text := said.pop(name, None):
                another.note("data.orders", text)
                assert text in [note.text for note in another.notes()]
                if text == "first":
                    another.teach("data.tickets.buyer", "customer.identifier")
                    assert another.view("tickets by buyer")

        comprehend(environment.workspace.configuration, Settings(everything=True, spread=here), progress)
        assert not said
    with coset.open(other) as environment:
        environment.note("data.orders", "first")
        environment.teach("data.tickets.buyer", "customer.identifier")
        environment.note("data.orders", "second")
    one, two = known(folder), known(comprehended(other))
    assert {table for table in one if one[table] != two[table]} == set()
    assert not list((folder / ".coset").glob("state.co*")), "no copy is left"


@pytest.mark.skipif(os.name != "posix", reason="limits are of POSIX")
def test_too_few_files_that_may_be_open_are_told_and_leave_nothing_wrong(undisturbed: Path, tmp_path: Path):
    folder = company(tmp_path / "a", list(TABLES))
    command = [sys.executable, "-c", "from coset.surfaces.command_line import main; main()"]
    ended = []
    for most in (8, 20):
        limit = f'ulimit -n {most}; exec "$@"'
        run = subprocess.run(
            ["bash", "-c", limit, "bash", *command, "comprehend"], cwd=folder, capture_output=True, text=True
        )
        assert "Traceback" not in run.stderr
        ended.append(run.returncode)
    assert ended[0] != 0
    one, other = known(comprehended(folder)), known(undisturbed)
    assert {table for table in one if one[table] != other[table]} == set()
