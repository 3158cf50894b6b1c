"""The folder of the demo: equal for equal seeds, in the engines it says, never over somebody's files."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import duckdb
import pytest

from coset.demo import Company, make_company, prepare_folder, truth
from coset.demo.folder import MARK
from coset.environment.configuration import load_environment
from coset.errors import UserError
from coset.session.query_session import QuerySession

SEED = 11
needs_bson = pytest.mark.skipif(importlib.util.find_spec("bson") is None, reason="needs the [mongodb] extra")


@pytest.fixture(scope="module")
def company() -> Company:
    return make_company(SEED)


@pytest.fixture(scope="module")
def folder(company: Company, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo") / "company"
    assert prepare_folder(folder, company)
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file() and ".coset" not in path.parts)
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(files)}


def rows_of(file: Path) -> dict[str, list[tuple]]:
    with duckdb.connect(str(file), read_only=True) as connection:
        names = [row[0] for row in connection.execute("SELECT table_name FROM duckdb_tables() ORDER BY 1").fetchall()]
        return {name: connection.execute(f'FROM "{name}" ORDER BY rowid').fetchall() for name in names}


def test_the_same_seed_gives_equal_bytes(folder: Path, tmp_path: Path):
    """Of the DuckDB file, equal rows in equal order: DuckDB writes a random identifier into every file."""
    assert prepare_folder(tmp_path / "again", make_company(SEED))
    one, other = contents(folder), contents(tmp_path / "again")
    one.pop("atlas.duckdb"), other.pop("atlas.duckdb")
    assert (
        one.keys() == other.keys() and {"beacon.sqlite", "support/tickets.bson", "office/countries.csv"} <= one.keys()
    )
    assert [name for name in one if one[name] != other[name]] == []
    rows = rows_of(folder / "atlas.duckdb")
    assert rows == rows_of(tmp_path / "again" / "atlas.duckdb") and len(rows) == 4


GOLD = {
    "both": "SELECT DISTINCT c.customer_id, c.name FROM atlas.customers c JOIN beacon.orders o "
    "ON regexp_extract(c.customer_id, '[1-9][0-9]*') = regexp_extract(o.buyer_id, '[1-9][0-9]*')",
    "share": "SELECT sum(amount_eur) FILTER (country = 'Norway') / sum(amount_eur) FROM atlas.invoices "
    "JOIN atlas.customers USING (customer_id) JOIN office.countries USING (country_code) WHERE status = 'paid'",
    "text": r"SELECT count(*) FROM support.tickets WHERE regexp_matches(body, '\bE42\b')",
    "top": "SELECT b.company, sum(total_cents) FROM beacon.orders o JOIN beacon.buyers b ON b.buyer_id = "
    "lower(trim(o.buyer_id, '# ')) JOIN office.order_status USING (status_code) WHERE meaning = 'Delivered' AND "
    "year(try_strptime(order_date, ['%Y-%m-%d', '%d.%m.%Y', '%d %b %Y'])) = 2024 "
    "GROUP BY b.company ORDER BY sum(total_cents) DESC LIMIT 5",
    "not": "WITH known AS (SELECT email, bool_or(regexp_extract(customer_id, '[1-9][0-9]*') IN "
    "(SELECT regexp_extract(buyer_id, '[1-9][0-9]*') FROM beacon.buyers)) AS orders FROM atlas.customers GROUP BY email) "
    "SELECT count(*) FROM known WHERE NOT orders",
}


@needs_bson
def test_the_databases_as_written_still_hold_the_truth(folder: Path, company: Company):
    """Whoever knows all the dirt gets every answer, through the session and over the engines themselves."""
    with QuerySession(load_environment(folder)) as session:
        for known in truth(company):
            rows = session.sql(GOLD[known.question.key]).rows()
            assert known.agrees(rows), known.question.text


@needs_bson
def test_taking_the_data_as_it_is_gives_other_answers(folder: Path, company: Company):
    """The dirt matters: the obvious statement is wrong."""
    both, _, text, top, never = truth(company)
    naive = {
        both: "SELECT customer_id FROM atlas.customers c JOIN beacon.buyers b ON b.buyer_id = c.customer_id",
        text: "SELECT count(*) FROM support.tickets WHERE body LIKE '%E42%'",
        top: "SELECT buyer_id FROM beacon.orders WHERE status_code = 'D' AND order_date LIKE '2024-%' "
        "GROUP BY ALL ORDER BY sum(total_cents) DESC LIMIT 5",
        never: "SELECT count(*) FROM atlas.customers WHERE regexp_extract(customer_id, '[1-9][0-9]*') NOT IN "
        "(SELECT regexp_extract(buyer_id, '[1-9][0-9]*') FROM beacon.buyers)",
    }
    with QuerySession(load_environment(folder)) as session:
        for known, statement in naive.items():
            assert not known.agrees(session.sql(statement).rows()), known.question.text


@needs_bson
def test_json_lines_hold_the_same_tickets_as_the_dump(folder: Path, company: Company, tmp_path: Path):
    assert prepare_folder(tmp_path / "lines", company, as_dump=False)
    asked = (
        "SELECT \"_id\", ticket_no, customer_ref, product, strftime(CAST(opened_at AS TIMESTAMP), '%c'), body, "
        "handled.by FROM support.tickets ORDER BY ticket_no"
    )
    answers = []
    for each in (folder, tmp_path / "lines"):
        with QuerySession(load_environment(each)) as session:
            answers.append(session.sql(asked, max_rows=20_000).rows())
    assert answers[0] == answers[1] and len(answers[0]) == company.tickets.num_rows


def test_a_folder_with_files_is_refused_and_left_alone(tmp_path: Path, company: Company):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(UserError, match="not empty"):
        prepare_folder(tmp_path, company)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
    with pytest.raises(UserError, match="is a file"):
        prepare_folder(tmp_path / "mine.txt", company)


def test_a_demo_that_is_there_is_left_as_it_is(folder: Path, company: Company):
    before = contents(folder)
    assert not prepare_folder(folder, company)
    with pytest.raises(UserError, match=f"seed {SEED}: name another folder for seed 12"):
        prepare_folder(folder, make_company(12))
    assert contents(folder) == before


def test_an_interrupted_demo_is_made_anew(folder: Path, tmp_path: Path, company: Company):
    (tmp_path / MARK).write_text(f"seed {SEED}\n")
    (tmp_path / "support").mkdir()
    (tmp_path / "beacon.sqlite").write_bytes(b"half")
    (tmp_path / "beacon.sqlite-journal").write_bytes(b"half")
    assert prepare_folder(tmp_path, company)
    made, whole = contents(tmp_path), contents(folder)
    assert made.keys() == whole.keys() and made["beacon.sqlite"] == whole["beacon.sqlite"]
