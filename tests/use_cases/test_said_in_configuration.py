"""Every key of coset.yaml and the files it names take effect at the next comprehension, though no table changed."""

from __future__ import annotations

import sqlite3
import threading
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

import coset
from answering.wire_servers import Say, Wire, call
from api.shop import write_shop
from coset.environment.configuration import EnvironmentEntry, LimitsEntry, ModelsEntry, SourceEntry
from coset.errors import LimitReached
from coset.surfaces.command_line import coset as command_line

QUESTION = "What amount did customers order?"
SAID = """\
description: The whole group reports in crowns.
documents: [house.md]
sources:
  crm:
    location: crm.db
    description: Accounts of the northern branch.
    description_file: more.txt
    hints: [city means the billing city]
    documents: [crm_guide.txt]
  shop:
    location: orders.csv
    queries: [report.sql]
"""


def view(folder: Path) -> str:
    with coset.open(folder) as environment:
        assert environment.comprehend(jobs=1).looked_at == 0
        return str(environment.view(QUESTION, budget=6000))


def test_what_is_said_of_the_data_takes_effect_though_no_table_changed(tmp_path: Path):
    folder = write_shop(tmp_path)
    with coset.open(folder) as environment:
        environment.comprehend(jobs=1)
    before = view(folder)
    (folder / "house.md").write_text("# House rules\n\nTest customers are left out of every figure.\n")
    (folder / "more.txt").write_text("Loaded every night.")
    (folder / "crm_guide.txt").write_text("Guide\n\nIn the table customers the city is never empty.\n")
    (folder / "report.sql").write_text("SELECT sum(amount) AS turnover FROM orders WHERE status = 'paid'")
    (folder / "coset.yaml").write_text(SAID)
    (folder / "coset.corrections.yaml").write_text(
        "notes:\n  - {reference: shop/orders.amount, text: Amounts are net of tax.}\n"
        "rules:\n  - text: Orders of January never count.\n"
    )
    after = view(folder)
    for text in (
        "crowns", "Test customers are left out of every figure", "northern branch", "Loaded every night", "billing city",
        "never empty", "net of tax", "Orders of January never count",
    ):  # fmt: skip
        assert text in after and text not in before, text
    (folder / "house.md").write_text("# House rules\n\nStaff orders are left out of every figure.\n")
    (folder / "coset.yaml").write_text(
        SAID.replace("crowns", "pounds").replace("    hints: [city means the billing city]\n", "")
    )
    changed = view(folder)
    assert "pounds" in changed and "Staff orders are left out" in changed
    for text in ("crowns", "Test customers are left out", "billing city"):
        assert text not in changed, text
    (folder / "coset.yaml").write_text(
        "sources:\n  crm: {location: crm.db, exclude: [cust*]}\n  shop: {location: orders.csv}\n"
    )
    without = view(folder)
    assert "crm.customers" not in without and "pounds" not in without and "Staff orders" not in without


def test_a_sentence_more_in_a_document_judges_no_join_and_no_code_list_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    folder = write_shop(tmp_path)
    (folder / "house.md").write_text("# House rules\n\nTest customers are left out of every figure.\n")
    (folder / "coset.yaml").write_text("documents: [house.md]\n" + BOTH % ("", ""))
    with coset.open(folder) as environment:
        environment.comprehend(jobs=1)
        (folder / "house.md").write_text((folder / "house.md").read_text() + "\nRefunds count on the day of payment.\n")

        def again(*arguments: object, **named: object) -> None:
            raise AssertionError("found anew")

        for step in ("find_and_store_code_lists", "believe", "relate", "find_and_store_copies"):
            monkeypatch.setattr(f"coset.use_cases.comprehend.{step}", again)
        done = environment.comprehend(jobs=1)
        assert done.documents_read == 1 and done.problems == ()
        assert "Refunds count on the day of payment" in str(environment.view(QUESTION, budget=6000))


def shown(folder: Path, configuration: str) -> str:
    (folder / "coset.yaml").write_text(configuration)
    with coset.open(folder) as environment:
        environment.comprehend(jobs=1)
        return str(environment.view(QUESTION, budget=6000))


BOTH = "sources:\n  crm: {location: crm.db%s}\n  shop: {location: orders.csv%s}\n"


def test_the_other_keys_take_effect_at_the_next_comprehension(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = write_shop(tmp_path)
    before = shown(folder, BOTH % ("", ""))
    assert "crm.customers" in before and "paid" in before
    assert "crm.customers" not in shown(folder, BOTH % (", include: [nothing*]", ""))
    assert "paid" not in shown(folder, BOTH % ("", ", schema_only: true"))
    (folder / "other.csv").write_text("order_id,amount,weight_in_ounces\n1,2.5,7\n2,3.5,9\n")
    assert "weight_in_ounces" in shown(folder, BOTH.replace("orders.csv", "other.csv") % ("", ""))
    (folder / "keys.env").write_text("SHOP_FILE=other.csv\n")
    monkeypatch.delenv("SHOP_FILE", raising=False)
    hidden = BOTH.replace("orders.csv", "'${SHOP_FILE}'") + "secrets_file: keys.env\n"
    assert "weight_in_ounces" in shown(folder, hidden % ("", ""))
    assert "crm.customers" in shown(folder, (BOTH + "state_folder: elsewhere\n") % (", kind: sqlite", ""))
    assert (folder / "elsewhere" / "state.duckdb").exists()
    (folder / "roles.yaml").write_text(
        "attributes:\n  - {id: ounces, name: ounces, meaning: a weight in ounces, examples: [weight_in_ounces]}\n"
    )
    (folder / "coset.corrections.yaml").write_text(
        "roles:\n  - {reference: shop/other.weight_in_ounces, is: .ounces}\n"
    )
    with_roles = BOTH.replace("orders.csv", "other.csv") + "identities: roles.yaml\n"
    for configuration, known in ((BOTH.replace("orders.csv", "other.csv"), False), (with_roles, True)):
        shown(folder, configuration % ("", ""))
        with coset.open(folder) as environment:  # Views have no place for roles.
            assert ("is ounces" in str(environment.show("shop/other.weight_in_ounces"))) is known


def test_a_limit_takes_effect_at_the_next_comprehension(tmp_path: Path):
    folder = write_shop(tmp_path)
    configuration = BOTH % (", limits: {cell_bytes: 5}", "")
    (folder / "coset.yaml").write_text(configuration)
    with coset.open(folder) as environment:
        [(name, problem)] = environment.comprehend(jobs=1).problems
    assert "customers" in name and "cell_bytes" in problem
    assert "Chur" not in shown(folder, configuration)
    assert "Chur" in shown(folder, BOTH % (", limits: {cell_bytes: 500}", ""))


def test_what_a_question_needs_is_in_its_view_and_in_those_of_questions_like_it(tmp_path: Path):
    folder = write_shop(tmp_path)
    (folder / "depots.csv").write_text("depot,crane_height\n" + "\n".join(f"D{n},{n}.5" for n in range(30)) + "\n")
    configuration = (BOTH % ("", "")) + "  yard: {location: depots.csv}\n"
    assert "crane_height" not in details(folder, configuration, QUESTION)
    said = folder / "coset.corrections.yaml"
    said.write_text(f"questions:\n  - {{question: '{QUESTION}', needs: [yard/depots.crane_height, yard/none]}}\n")
    assert "crane_height" in details(folder, configuration, QUESTION)
    assert "crane_height" in details(folder, configuration, "What amount did the customers order then?")
    assert "crane_height" not in details(folder, configuration, "In which city do customers live?")


def details(folder: Path, configuration: str, question: str) -> str:
    (folder / "coset.yaml").write_text(configuration)
    with coset.open(folder) as environment:
        environment.comprehend(jobs=1)
        return str(environment.view(question, budget=400, directory=False))


def test_the_reader_is_asked_by_the_next_comprehension_and_the_agent_by_the_next_question(tmp_path: Path):
    folder = write_shop(tmp_path)
    before = shown(folder, BOTH % ("", ""))
    asked = Say("T1 | tavern bills | one bill\n")
    counted = call("sql", query="SELECT count(*) AS n FROM shop.orders")
    with Wire(asked) as reader, Wire(counted, call("answer", results=["result_1"], confidence=0.9)) as agent:
        (folder / "coset.yaml").write_text(
            (BOTH % ("", "")) + f"models: {{reader: '{reader.url}', agent: '{agent.url}'}}\n"
        )
        done = CliRunner().invoke(command_line, ["comprehend", "--yes", "--jobs", "1", "-e", str(folder)])
        assert reader.requests and "buyer" in reader.everything and agent.requests == [], done.output
        with coset.open(folder) as environment:
            assert "tavern bills" in str(environment.view(QUESTION, budget=6000)) and "tavern bills" not in before
            environment.ask("How many orders are there?")
        assert "How many orders are there?" in agent.everything


def test_the_arbiter_and_the_model_of_texts_are_asked_where_they_are_named(tmp_path: Path):
    folder = write_shop(tmp_path)
    shown(folder, BOTH % ("", ""))
    classify = call("classify", query="SELECT status FROM shop.orders", column="status", categories=["open", "done"])
    done = call("answer", text="some", confidence=0.9)
    with Wire(Say("no records")) as arbiter, Wire(call("labels", labels=[])) as reader, Wire(classify, done) as agent:
        for named, asked in (("", False), (f", arbiter: '{arbiter.url}', text: '{reader.url}'", True)):
            (folder / "coset.yaml").write_text(BOTH % ("", "") + f"models: {{agent: '{agent.url}'{named}}}\n")
            with coset.open(folder) as environment:
                environment.ask("How many orders are done?")
            assert bool(arbiter.requests) is bool(reader.requests) is asked
            agent.script = [classify, done]


def test_a_kind_says_how_a_location_is_read_and_options_reach_the_driver(tmp_path: Path):
    folder = write_shop(tmp_path)

    def refused(configuration: str) -> str:
        (folder / "coset.yaml").write_text(configuration)
        with coset.open(folder) as environment:
            [(source, problem)] = environment.comprehend(jobs=1).unreachable
        assert source == "crm"
        return problem

    assert "crm (sqlite, 1 table)" in shown(folder, BOTH % (", kind: sqlite", ""))
    assert "crm.db" in refused(BOTH % (", kind: duckdb", ""))
    driven = f"sources:\n  crm: {{location: 'sqlite:///{folder}/crm.db', kind: sqlalchemy%s}}\n"
    assert "crm (sqlalchemy, 1 table)" in shown(folder, driven % "")
    assert "no_such_argument" in refused(driven % ", options: {no_such_argument: 'yes'}")


def test_limits_of_rows_decide_what_is_copied_sampled_and_fetched(tmp_path: Path):
    folder = write_shop(tmp_path)
    whole = shown(folder, BOTH % ("", ""))
    copies = folder / ".coset" / "snapshots"
    assert any((copies / "crm").rglob("*.parquet")) and any((copies / "shop").rglob("*.parquet"))
    left = shown(folder, BOTH % (", limits: {snapshot_rows: 10, sample_rows: 12}", ", limits: {snapshot_bytes: 10}"))
    assert "60 values" in whole and "12 values" in left and "'Basel' 3," in left  # Of customers, 12 were looked at.
    with coset.open(folder) as environment:
        assert environment.comprehend(jobs=1).looked_at == 0
        [use] = environment.sql("SELECT company_name FROM crm.customers WHERE city = 'Chur'").uses
        assert (use.reading, use.rows) == ("fetched", 15)
        [use] = environment.sql("SELECT count(*) FROM shop.orders").uses
        assert use.reading == "in place"
    (folder / "coset.yaml").write_text(BOTH % (", limits: {snapshot_rows: 10, fetch_rows: 20}", ""))
    with coset.open(folder) as environment, pytest.raises(LimitReached, match="more than 20 rows"):
        environment.sql("SELECT max(length(company_name)) FROM crm.customers")


def test_the_age_of_a_copy_and_the_time_of_a_connection_and_a_query_are_kept_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    folder = write_shop(tmp_path)
    monkeypatch.setattr("coset.environment.sources.any_sql.source.AnySQL.change_token", lambda *_: None)
    driven = "sources:\n  crm: {location: 'sqlite:///%s', kind: sqlalchemy, limits: {%s}}\n"
    for said, travelled in (("age_seconds: 3600", 0), ("age_seconds: 0", 60)):
        (folder / "coset.yaml").write_text(driven % (folder / "crm.db", said))
        with coset.open(folder) as environment:
            environment.sql("SELECT count(*) FROM crm.customers")
            [use] = environment.sql("SELECT count(*) FROM crm.customers").uses
            assert use.rows == travelled, said
    with sqlite3.connect(folder / "crm.db") as connection:
        endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) AS n FROM n"
        connection.execute(f"CREATE VIEW slow AS {endless}")
    (folder / "coset.yaml").write_text(BOTH % (", limits: {query_seconds: 0.3}", ""))
    with coset.open(folder) as environment:
        problems = " ".join(problem for _, problem in environment.comprehend(jobs=1).problems)
        assert "query_seconds" in problems and "0.3" in problems
    locked = sqlite3.connect(folder / "crm.db", isolation_level=None, check_same_thread=False)
    locked.execute("DROP VIEW slow")
    for seconds, reached in ((0.05, False), (60, True)):
        locked.execute("BEGIN EXCLUSIVE")
        threading.Timer(1.5, lambda: locked.execute("COMMIT")).start()
        (folder / "coset.yaml").write_text(BOTH % (f", limits: {{connect_seconds: {seconds}}}", ""))
        with coset.open(folder) as environment:
            unreachable = environment.comprehend(jobs=1, everything=True).all_problems
        assert bool(unreachable) is not reached, unreachable
        while locked.in_transaction:
            time.sleep(0.05)
    locked.close()


def test_every_key_of_the_file_is_tried_here():
    tried = Path(__file__).read_text()
    keys = [
        *EnvironmentEntry.model_fields,
        *SourceEntry.model_fields,
        *LimitsEntry.model_fields,
        *ModelsEntry.model_fields,
    ]
    assert [key for key in keys if f"{key}:" not in tried] == []
