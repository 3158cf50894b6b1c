"""`coset comprehend`, `show`, `relations`, `diagnostics` and `note`, as a person or a script meets them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from api.server_processes import clean_environment
from commands import coset, coset_process
from coset.errors import CosetError


@pytest.fixture(scope="module")
def comprehended(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("comprehended")
    customers = "\n".join(f"CUST-{n:04},{'Ann' if n % 2 else 'N/A'},Basel" for n in range(200))
    (folder / "customers.csv").write_text(f"customer_id,first_name,city\n{customers}\n")
    orders = "\n".join(f"{n},CUST-{n % 200:04},{'PSC'[n % 3]}" for n in range(900))
    (folder / "orders.csv").write_text(f"order_no,buyer,status\n{orders}\n")
    assert coset("init", "crm=customers.csv", "shop=orders.csv", folder=folder).returncode == 0
    answer = coset("comprehend", "--jobs", "1", folder=folder)
    assert answer.returncode == 0, answer.stderr
    assert "2 of 2 tables and families read" in answer.stdout
    return folder


def test_comprehending_again_reads_nothing(comprehended: Path):
    document = json.loads(coset("comprehend", "--json", folder=comprehended).stdout)
    assert document["looked_at"] == 0 and document["units"] == 2


def test_verbose_says_what_a_long_command_does(comprehended: Path):
    answer = coset_process("--verbose", "comprehend", "--jobs", "1", folder=comprehended)
    assert answer.returncode == 0
    places = [answer.stderr.index(stage) for stage in ("listing the sources", "finding relations", "indexing values")]
    assert places == sorted(places)


def test_show_prints_all_that_is_known(comprehended: Path):
    answer = coset("show", "orders.status", folder=comprehended)
    assert answer.returncode == 0 and "shop.orders.status" in answer.stdout and "codes" in answer.stdout
    document = json.loads(coset("show", "shop/orders", "--json", folder=comprehended).stdout)
    assert [column["name"] for column in document["columns"]] == ["order_no", "buyer", "status"]
    answer = coset("show", "orders.sttus", folder=comprehended)
    assert answer.returncode == 2 and "did you mean shop.orders.status" in answer.stderr


def test_relations_are_listed_with_what_they_reach(comprehended: Path):
    document = json.loads(coset("relations", "--json", folder=comprehended).stdout)
    [relation] = document["relations"]
    assert relation["left_columns"] == ["shop/orders.buyer"] and relation["right_columns"] == [
        "crm/customers.customer_id"
    ]
    assert relation["left_match"] == 1.0 and relation["cardinality"] == "n:1"
    assert "100% / 100%" in coset("relations", folder=comprehended).stdout


def test_diagnostics_are_listed_with_their_share(comprehended: Path):
    document = json.loads(coset("diagnostics", "--json", "--kind", "null_tokens", folder=comprehended).stdout)
    [found] = document["diagnostics"]
    assert found["reference"] == "crm/customers.first_name" and found["share"] == 0.5 and found["expression"]
    assert "constant" in coset("diagnostics", "crm/customers", folder=comprehended).stdout


@pytest.mark.parametrize(
    "call",
    [
        ("show", "shop.orders"), ("show", "shop.orders.status"), ("relations",), ("relations", "shop.orders"),
        ("diagnostics",), ("readings",), ("copies",), ("identities",), ("links",), ("status", "--review"),
        ("view", "How many orders were paid?", "--explain"),
    ],
)  # fmt: skip
def test_people_are_told_the_names_that_sql_has(call: tuple[str, ...], comprehended: Path):
    said = re.sub(r"\[[^\]\n]*\]", "", coset(*call, folder=comprehended).stdout)  # In brackets, both stand.
    assert not re.findall(r"\b(?:crm|shop)/\w+", said)


def test_notes_are_added_listed_and_removed(comprehended: Path):
    assert coset("note", "orders.status", "C means complained", folder=comprehended).returncode == 0
    assert "C means complained" in coset("show", "orders.status", folder=comprehended).stdout
    [note] = json.loads(coset("note", "--list", "--json", folder=comprehended).stdout)["notes"]
    assert note["about"] == "shop/orders.status"
    assert coset("note", "--remove", str(note["number"]), folder=comprehended).returncode == 0
    assert coset("note", "nonesuch", "x", folder=comprehended).returncode == 2
    assert coset("note", "orders.status", folder=comprehended).returncode == 2


def test_looking_before_comprehending_says_what_to_do(tmp_path: Path):
    (tmp_path / "a.csv").write_text("a\n1\n")
    coset("init", "a=a.csv", folder=tmp_path)
    for arguments in (["show", "a"], ["relations"], ["diagnostics"], ["note", "a", "x"]):
        answer = coset(*arguments, folder=tmp_path)
        assert answer.returncode == 2 and "coset comprehend" in answer.stderr


def test_a_source_that_is_down_is_told_and_the_rest_is_kept(tmp_path: Path):
    (tmp_path / "a.csv").write_text("a\n1\n2\n")
    (tmp_path / "coset.yaml").write_text("sources:\n  a: {location: a.csv}\n  b: {location: gone.db}\n")
    answer = coset("comprehend", "--jobs", "1", folder=tmp_path)
    assert answer.returncode == 1 and "b could not be read" in answer.stdout
    assert coset("show", "a/a", folder=tmp_path).returncode == 0


def test_a_schedule_goes_on_whatever_fails(monkeypatch, capsys):
    from coset.surfaces.command_line import comprehending
    from coset.use_cases.comprehend import Summary

    slept: list[float] = []
    monkeypatch.setattr(comprehending.time, "sleep", slept.append)
    rounds = iter(
        [CosetError("the disk is full"), ValueError("secret value"), Summary(units=2, problems=(("shop", "is down"),))]
    )

    def once() -> Summary:
        found = next(rounds)
        if isinstance(found, Exception):
            raise found
        return found

    comprehending.again_and_again(once, 3600, rounds=3)
    told = capsys.readouterr()
    assert "tried again in 1 h: the disk is full" in told.err and "unexpected ValueError" in told.err
    assert "secret value" not in told.err and "shop could not be read: is down" in told.err
    assert "1 problems" in told.out and len(slept) == 3 and all(3590 < seconds <= 3600 for seconds in slept)


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("30m", 1800), ("1h", 3600), ("1.5 d", 129_600)])
def test_a_time_is_written_as_people_write_it(text: str, seconds: float):
    from coset.surfaces.command_line.comprehending import Span

    assert Span().convert(text, None, None) == seconds


@pytest.mark.parametrize("text", ["1", "soon", "-1h", "1w"])
def test_another_time_is_refused(text: str):
    import click

    from coset.surfaces.command_line.comprehending import Span

    with pytest.raises(click.BadParameter, match="such as 30m"):
        Span().convert(text, None, None)


def test_a_schedule_reads_what_changed_while_others_read_the_state(comprehended: Path):
    import coset as library

    (comprehended / "customers.csv").touch()
    going = subprocess.Popen(
        [sys.executable, "-m", "coset", "comprehend", "--every", "1s", "--jobs", "1", "-e", str(comprehended)],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=clean_environment(),
    )  # fmt: skip
    try:
        assert going.stdout is not None
        with library.open(comprehended) as environment:
            for _ in range(2):
                assert " 2 tables and families read" in going.stdout.readline()
                assert len(environment.sources()) == 2
        assert going.poll() is None
    finally:
        going.terminate()
        going.wait(30)
