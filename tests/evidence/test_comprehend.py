"""From an environment to its evidence state: what is kept, what is read again, what survives."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import pytest

from coset.environment.configuration import load_environment
from coset.environment.corrections import Note, add_corrections
from coset.errors import CosetError, UserError
from coset.evidence.work import here, over_processes
from coset.state import EvidenceState
from coset.state.listings import everything_about
from coset.state.migrations import first_tables
from coset.state.names import resolve
from coset.use_cases.comprehend import EVIDENCE, Settings, Summary, comprehend

ARTICLE = "Refunds are granted within 30 days when the product is unused. " * 12


@pytest.fixture
def company(tmp_path: Path) -> Path:
    with sqlite3.connect(tmp_path / "shop.db") as connection:
        connection.execute("CREATE TABLE customers (customer_id TEXT PRIMARY KEY, email TEXT, city TEXT)")
        connection.executemany(
            "INSERT INTO customers VALUES (?, ?, ?)",
            [(f"CUST-{n:04}", f"person{n}@example.org", ["Basel", "Lyon", "N/A"][n % 3]) for n in range(300)],
        )
        connection.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, buyer TEXT, status TEXT, placed TEXT)")
        connection.executemany(
            "INSERT INTO orders VALUES (?, ?, ?, ?)",
            [
                (
                    n,
                    ("#" if n % 5 == 0 else "") + f"CUST-{n % 300:04}",
                    "PSC"[n % 3],
                    f"2024-01-{n % 28 + 1:02}" if n % 2 else f"{n % 28 + 1:02}/01/2024",
                )
                for n in range(2000)
            ],
        )
    with duckdb.connect(str(tmp_path / "prices.duckdb")) as connection:
        for name in ("AAA", "BBB", "CCC", "DDD", "EEE", "FFF"):
            connection.execute(
                f"CREATE TABLE {name} AS SELECT DATE '2024-01-01' + i::INT AS day, i * 1.5 AS open, i * 1.6 AS close, "
                "i * 1.4 AS low, i * 1.7 AS high, i * 10 AS volume FROM range(50) r(i)"
            )
    (tmp_path / "articles.jsonl").write_text(
        "\n".join(f'{{"title": "Policy {n}", "body": "{n}. {ARTICLE}"}}' for n in range(6))
    )
    (tmp_path / "schema.yml").write_text(
        "models:\n  - name: orders\n    description: One row an order.\n    columns:\n"
        "      - {name: status, description: 'P paid, S sent, C cancelled'}\n"
    )
    (tmp_path / "coset.yaml").write_text(
        "sources:\n"
        "  shop: {location: shop.db, description: The shop., hints: amounts in cents, documents: [schema.yml]}\n"
        "  prices: {location: prices.duckdb}\n"
        "  help: {location: articles.jsonl}\n"
    )
    return tmp_path


def run(folder: Path, *, everything: bool = False, looked_at: list[str] | None = None) -> Summary:
    """The tables that are read are added to `looked_at`."""

    def progress(done: int, total: int, name: str) -> None:
        if looked_at is not None and total:
            looked_at.append(name)

    return comprehend(load_environment(folder), Settings(everything, spread=here), progress, EVIDENCE)


def state_of(folder: Path) -> EvidenceState:
    return EvidenceState.read(load_environment(folder).state_folder)


def test_everything_is_found_and_can_be_looked_up(company: Path):
    summary = run(company)
    assert not summary.problems and not summary.unreachable
    assert (summary.units, summary.looked_at) == (4, 4), "six tables of one shape are one family"
    with state_of(company) as state:
        [family] = state.rows("SELECT * FROM families")
        assert family["members"] == ["AAA", "BBB", "CCC", "DDD", "EEE", "FFF"] and family["rows"] == 300
        status = everything_about(state, resolve(state, "orders.status"))
        assert status["said by people"] == ["dbt: P paid, S sent, C cancelled"]
        assert {row["value"]: row["count"] for row in status["value counts"]} == {"P": 667, "S": 667, "C": 666}
        assert status["values"][0]["complete"] and status["values"][0]["role"] == "codes"
        email = everything_about(state, resolve(state, "customers.email"))["column"]
        assert email["personal"] == "email" and not any("@example.org" in value for value in email["examples"])
        kinds = {(row["column_reference"], row["kind"]) for row in state.rows("SELECT * FROM diagnostics")}
        assert ("shop/customers.city", "null_tokens") in kinds
        assert ("shop/orders.placed", "mixed_date_formats") in kinds
        [relation] = state.rows("SELECT * FROM relations WHERE list_contains(left_columns, 'shop/orders.buyer')")
        assert relation["right_columns"] == ["shop/customers.customer_id"] and relation["left_match"] == 1.0
        passages = state.rows("SELECT title FROM documents WHERE kind = 'passage' ORDER BY title")
        assert [row["title"] for row in passages] == [f"Policy {n}" for n in range(6)]
        about_shop = everything_about(state, "shop")["said by people"]
        assert sorted(about_shop) == ["description: The shop.", "hint: amounts in cents"]


def test_the_join_as_found_runs_in_the_session(company: Path):
    from coset.session import QuerySession

    run(company)
    with state_of(company) as state:
        [relation] = state.rows("SELECT * FROM relations WHERE list_contains(left_columns, 'shop/orders.buyer')")
    with QuerySession(load_environment(company)) as session:
        joined = session.sql(
            f"SELECT count(*) FROM (SELECT {relation['left_expression']} AS k FROM shop.orders) l "
            f"JOIN (SELECT {relation['right_expression']} AS k FROM shop.customers) r USING (k)"
        )
    assert joined.rows() == [(2000,)]


def test_a_second_run_reads_nothing_and_a_change_is_read_alone(company: Path):
    run(company)
    assert run(company).looked_at == 0
    with (company / "articles.jsonl").open("a") as file:
        file.write('\n{"title": "Policy 7", "body": "new"}\n')
    summary = run(company)
    assert summary.looked_at == 1
    with state_of(company) as state:
        assert state.rows("SELECT rows FROM tables WHERE source = 'help'") == [{"rows": 7}]


def test_of_a_file_with_many_tables_only_the_changed_one_is_read_again(tmp_path: Path):
    with duckdb.connect(str(tmp_path / "many.duckdb")) as connection:
        connection.execute("CREATE TABLE colours AS SELECT i AS id, 'colour ' || i AS name FROM range(50) r(i)")
        connection.execute(
            "CREATE TABLE sizes AS SELECT i AS nr, i * 2.5 AS centimetres, true AS sold FROM range(50) r(i)"
        )
    (tmp_path / "coset.yaml").write_text("sources:\n  many: {location: many.duckdb}\n")
    assert run(tmp_path).looked_at == 2
    with duckdb.connect(str(tmp_path / "many.duckdb")) as connection:
        connection.execute("UPDATE sizes SET sold = false WHERE nr = 7")
    assert run(tmp_path).looked_at == 1
    assert run(tmp_path).looked_at == 0


def test_of_a_sqlite_file_only_the_changed_table_is_read_again(company: Path):
    run(company)
    with sqlite3.connect(company / "shop.db") as connection:
        connection.execute("UPDATE orders SET status = 'X' WHERE id = 7")
    looked_at: list[str] = []
    summary = run(company, looked_at=looked_at)
    assert summary.looked_at == 1 and looked_at == ["shop.orders"]
    with state_of(company) as state:
        status = everything_about(state, "shop/orders.status")
        assert {row["value"]: row["count"] for row in status["value counts"]}["X"] == 1
    assert run(company).looked_at == 0


def test_of_a_dump_only_the_changed_table_is_read_again(tmp_path: Path):
    def write(status: str) -> None:
        (tmp_path / "dump.sql").write_text(
            "CREATE TABLE public.colours (id integer, name text);\n"
            "CREATE TABLE public.sizes (nr integer, status text);\n"
            "COPY public.colours (id, name) FROM stdin;\n1\tred\n2\tblue\n\\.\n\n"
            f"COPY public.sizes (nr, status) FROM stdin;\n1\t{status}\n2\tsold\n\\.\n"
        )

    write("new")
    (tmp_path / "coset.yaml").write_text("sources:\n  old: {location: dump.sql}\n")
    assert run(tmp_path).looked_at == 2
    write("changed")
    looked_at: list[str] = []
    run(tmp_path, looked_at=looked_at)
    assert looked_at == ["old.public.sizes"]


RELATIONS = "SELECT * FROM relations ORDER BY id"
COUNTERS = "SELECT * FROM diagnostics WHERE kind = 'counter_disagrees' ORDER BY id"
DOCUMENTS = "SELECT * FROM documents ORDER BY reference, kind, title, text"


def across_tables(folder: Path) -> list[object]:
    with state_of(folder) as state:
        return [state.rows(query) for query in (RELATIONS, COUNTERS, DOCUMENTS)]


def test_what_needs_several_tables_is_after_a_refresh_what_a_first_run_finds(company: Path):
    with sqlite3.connect(company / "shop.db") as connection:
        connection.execute("CREATE TABLE members (customer TEXT, order_count INTEGER)")
        connection.execute(
            "INSERT INTO members SELECT buyer, count(*) FROM (SELECT ltrim(buyer, '#') AS buyer FROM orders) GROUP BY 1"
        )
        connection.execute("CREATE TABLE dictionary (field TEXT, meaning TEXT)")
        rows = [("buyer", "who ordered, as written"), ("status", "P paid, S sent"), ("placed", "day of the order")]
        connection.executemany("INSERT INTO dictionary VALUES (?, ?)", rows)
    run(company)
    before = across_tables(company)
    assert any(row["kind"] == "dictionary" for row in before[2])
    with sqlite3.connect(company / "shop.db") as connection:
        connection.execute("UPDATE members SET order_count = order_count + 1 WHERE customer < 'CUST-0100'")
        connection.execute("UPDATE dictionary SET meaning = 'P paid, S sent, C cancelled' WHERE field = 'status'")
        connection.execute("DELETE FROM customers WHERE customer_id > 'CUST-0250'")
    assert run(company).looked_at == 3
    refreshed = across_tables(company)
    assert refreshed != before
    shutil.rmtree(company / ".coset")
    run(company)
    assert across_tables(company) == refreshed


def test_relations_are_completed_after_a_kill_between_reading_and_relating(
    company: Path, monkeypatch: pytest.MonkeyPatch
):
    import coset.use_cases.comprehend as module

    def die(*given: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(module, "relate", die)
        with pytest.raises(KeyboardInterrupt):
            run(company)
    with pytest.raises(UserError, match="goes on where it was stopped"):
        state_of(company)
    summary = run(company)
    assert summary.looked_at == 0 and summary.relations >= 1


def test_relations_of_a_source_that_is_down_are_kept_and_found_again(company: Path):
    (company / "coset.yaml").write_text("sources:\n  shop: {location: shop.db}\n  list: {location: list.csv}\n")
    (company / "list.csv").write_text("customer_id,points\n" + "".join(f"CUST-{n:04},{n}\n" for n in range(0, 300, 2)))
    run(company)
    wanted = "SELECT * FROM relations WHERE left_table = 'list/list' OR right_table = 'list/list'"
    with state_of(company) as state:
        before = state.rows(wanted)
    assert before
    (company / "list.csv").rename(company / "away")
    with sqlite3.connect(company / "shop.db") as connection:
        connection.execute("UPDATE orders SET status = 'X' WHERE id = 7")
    assert [name for name, _ in run(company).unreachable] == ["list"]
    with state_of(company) as state:
        assert state.rows(wanted) == before
    (company / "away").rename(company / "list.csv")
    with sqlite3.connect(company / "shop.db") as connection:
        connection.execute("UPDATE orders SET status = 'Y' WHERE id = 7")
    run(company)
    with state_of(company) as state:
        assert state.rows(wanted) == before


def test_names_of_a_family_join_in_the_session_as_found(company: Path):
    from coset.session import QuerySession

    (company / "listing.csv").write_text("symbol,company\n" + "".join(f"{s * 3},Company {s}\n" for s in "ABCDEF"))
    (company / "coset.yaml").write_text((company / "coset.yaml").read_text() + "  exchange: {location: listing.csv}\n")
    run(company)
    with state_of(company) as state:
        [relation] = state.rows("SELECT * FROM relations WHERE kind = 'table_name'")
    assert relation["left_columns"] == ["exchange/listing.symbol"]
    with QuerySession(load_environment(company)) as session:
        joined = session.sql(
            f"SELECT l.k FROM (SELECT {relation['left_expression']} AS k FROM exchange.listing) l "
            f"JOIN (SELECT {relation['right_expression']} AS k) r USING (k) ORDER BY l.k"
        )
    assert [row[0] for row in joined.rows()] == ["AAA", "BBB", "CCC", "DDD", "EEE", "FFF"]


def test_a_state_of_an_earlier_version_is_brought_forward_and_read_again(company: Path):
    folder = load_environment(company).state_folder
    folder.mkdir(parents=True)
    with duckdb.connect(str(folder / "state.duckdb")) as connection:
        connection.execute("CREATE TABLE meta (key VARCHAR PRIMARY KEY, value VARCHAR)")
        first_tables(connection)
        connection.execute("INSERT INTO meta VALUES ('version', '1'), ('relations', '{}')")
        connection.execute("INSERT INTO notes VALUES (1, 'shop/orders', 'kept', now()::TIMESTAMP)")
    summary = run(company)
    assert summary.looked_at == 4 and summary.relations >= 1
    with state_of(company) as state:
        assert [note.text for note in state.notes()] == ["kept"]


def test_hashes_of_another_engine_are_not_compared(company: Path):
    run(company)
    before = across_tables(company)
    with EvidenceState.open(load_environment(company).state_folder) as state:
        state.set_meta("hashed_by", "0.0")
    assert run(company).looked_at == 4
    assert across_tables(company) == before


def test_what_is_gone_is_forgotten_and_what_is_down_is_kept(company: Path):
    run(company)
    with sqlite3.connect(company / "shop.db") as connection:
        connection.execute("DROP TABLE orders")
    (company / "prices.duckdb").rename(company / "away")
    summary = run(company)
    assert summary.removed == 1 and [name for name, _ in summary.unreachable] == ["prices"]
    with state_of(company) as state:
        names = {row["reference"] for row in state.rows("SELECT reference FROM tables")}
        assert "shop/orders" not in names and any(name.startswith("prices/") for name in names)
        assert state.rows("SELECT problem FROM sources WHERE source = 'prices'")[0]["problem"]
        assert state.rows("SELECT * FROM columns WHERE table_reference = 'shop/orders'") == []


def test_a_table_that_cannot_be_read_is_told_and_completed_by_the_next_run(
    company: Path, monkeypatch: pytest.MonkeyPatch
):
    import coset.evidence.examine as module

    read = module.profile_table

    def fail_once(connection: object, relation: str, columns: list[tuple[str, str]], **options: object) -> object:
        if any(name == "buyer" for name, _ in columns):
            raise CosetError("the source went away")
        return read(connection, relation, columns, **options)

    monkeypatch.setattr(module, "profile_table", fail_once)
    assert run(company).problems == (("shop.orders", "the source went away"),)
    with state_of(company) as state:
        assert state.rows("SELECT problem FROM tables WHERE reference = 'shop/orders'") == [
            {"problem": "the source went away"}
        ]
    monkeypatch.undo()
    summary = run(company)
    assert summary.looked_at == 1 and not summary.problems


def test_a_table_that_stays_at_its_source_has_exact_counts_and_a_stated_sample(company: Path):
    text = (company / "coset.yaml").read_text()
    text = text.replace("{location: shop.db,", "{location: shop.db, limits: {snapshot_rows: 500, sample_rows: 200},")
    (company / "coset.yaml").write_text(text)
    assert not run(company).problems
    with state_of(company) as state:
        [table] = state.rows("SELECT rows, sampled_rows FROM tables WHERE reference = 'shop/orders'")
        assert table == {"rows": 2000, "sampled_rows": 200}
        [column] = state.rows("SELECT * FROM columns WHERE reference = 'shop/orders.id'")
        assert (column["minimum"], column["maximum"], column["nulls"], column["nulls_error"]) == ("0", "1999", 0.0, 0.0)
    assert not (company / ".coset" / "samples").exists() and not list(
        (company / ".coset").glob("snapshots/shop/orders*")
    )


def test_a_source_that_becomes_schema_only_loses_its_values(company: Path):
    run(company)
    text = (company / "coset.yaml").read_text().replace("{location: shop.db,", "{location: shop.db, schema_only: true,")
    (company / "coset.yaml").write_text(text)
    run(company)
    with state_of(company) as state:
        columns = state.rows("SELECT * FROM columns WHERE table_reference = 'shop/orders'")
        assert columns and all(column["examples"] == [] and column["minimum"] is None for column in columns)
        assert state.rows("SELECT * FROM group_values WHERE table_reference LIKE 'shop/%'") == []


def test_schema_only_keeps_names_and_no_value(company: Path):
    text = (company / "coset.yaml").read_text().replace("{location: shop.db,", "{location: shop.db, schema_only: true,")
    (company / "coset.yaml").write_text(text)
    run(company)
    with state_of(company) as state:
        columns = state.rows("SELECT * FROM columns WHERE table_reference = 'shop/orders'")
        assert [column["name"] for column in columns] == ["id", "buyer", "status", "placed"]
        assert all(column["examples"] == [] and column["minimum"] is None for column in columns)
        assert state.rows("SELECT * FROM group_values WHERE table_reference LIKE 'shop/%'") == []
        assert state.rows("SELECT * FROM relations WHERE left_table LIKE 'shop/%'") == []
    kept = [path for path in (company / ".coset").rglob("*") if path.is_file()]
    assert not any(b"CUST-0042" in path.read_bytes() for path in kept)


def test_notes_are_read_from_the_corrections_file_and_shown_first(company: Path):
    run(company)
    note = Note(reference="shop/orders.status", text="C means complained, not cancelled")
    add_corrections(load_environment(company), [note])
    run(company)
    with EvidenceState.read(load_environment(company).state_folder) as state:
        assert everything_about(state, "shop/orders.status")["said by people"][0] == "C means complained, not cancelled"


def test_processes_give_what_one_process_gives(company: Path):
    run(company)
    query = "SELECT * EXCLUDE (seconds, comprehended_at) FROM tables ORDER BY reference"
    columns = "SELECT * FROM columns ORDER BY reference"
    with state_of(company) as state:
        alone = state.rows(query), state.rows(columns)
    comprehend(load_environment(company), Settings(everything=True, spread=over_processes(2)), stages=EVIDENCE)
    with state_of(company) as state:
        assert (state.rows(query), state.rows(columns)) == alone


def test_a_kill_at_any_moment_leaves_a_state_that_the_next_run_completes(company: Path):
    script = (
        "from coset.environment.configuration import load_environment\n"
        "from coset.use_cases.comprehend import EVIDENCE, Settings, comprehend\n"
        "from coset.evidence.work import here\n"
        f"comprehend(load_environment({str(company)!r}), Settings(everything=True, spread=here), "
        "lambda *a: print(a, flush=True), EVIDENCE)\n"
    )
    for stop_after in range(4):
        process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
        for _ in range(stop_after):
            process.stdout.readline()
        time.sleep(0.02 * stop_after)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()
    summary = run(company)
    assert not summary.problems
    with state_of(company) as state:
        assert state.count("tables") == 4 and state.count("relations") >= 1
    assert run(company).looked_at == 0


def test_a_state_of_a_newer_version_is_told(company: Path):
    folder = load_environment(company).state_folder
    EvidenceState.open(folder).close()
    with duckdb.connect(str(folder / "state.duckdb")) as connection:
        connection.execute("UPDATE meta SET value = '999' WHERE key = 'version'")
    with pytest.raises(UserError, match="newer coset"):
        EvidenceState.open(folder)


def test_looking_before_comprehending_says_what_to_do(company: Path):
    with pytest.raises(UserError, match="coset comprehend"):
        state_of(company)


def test_short_forms_and_mistakes_in_references(company: Path):
    run(company)
    with state_of(company) as state:
        assert resolve(state, "ORDERS") == "shop/orders"
        with pytest.raises(UserError, match="did you mean"):
            resolve(state, "ordres.buyer")


def test_over_a_real_dask_cluster(company: Path):
    distributed = pytest.importorskip("distributed")
    from coset.evidence.work import over_cluster

    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        summary = comprehend(
            load_environment(company), Settings(spread=over_cluster(cluster.scheduler_address)), stages=EVIDENCE
        )
    assert summary.looked_at == 4 and not summary.problems


def test_a_cluster_that_is_not_there_is_told():
    pytest.importorskip("distributed")
    from coset.evidence.work import over_cluster

    with pytest.raises(CosetError, match="no Dask cluster answers"):
        over_cluster("tcp://127.0.0.1:1")


def test_values_of_personal_columns_that_fail_to_match_are_not_kept_as_examples(tmp_path: Path) -> None:
    people = "".join(f"{number},person{number}@example.org\n" for number in range(60))
    (tmp_path / "people.csv").write_text("person_id,email\n" + people)
    visits = "".join(
        f"{number},person{number % 50 + (0 if number % 9 else 900)}@example.org\n" for number in range(200)
    )
    (tmp_path / "visits.csv").write_text("visit,email\n" + visits)
    (tmp_path / "coset.yaml").write_text("sources:\n  here: {location: .}\n")
    comprehend(load_environment(tmp_path), stages=EVIDENCE)
    with EvidenceState.read(tmp_path / ".coset") as state:
        rows = state.rows("SELECT * FROM relations")
        assert [row for row in rows if any("email" in column for column in row["left_columns"])]
        assert not any("person9" in str(row) for row in rows)
