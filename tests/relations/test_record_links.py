"""Record links: the same customer in several files, found by keys, cross-references and likeness, read by SQL."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

import coset
from coset.errors import UserError
from coset.relations.links.clusters import Clustering, Pair, RecordFacts
from coset.relations.links.find import forbidden_by
from coset.state.relations import SectionText
from coset.use_cases.relations import declare_link, explain_links, link_records

GIVEN = ("Anna", "Bruno", "Clara", "Dario", "Elena", "Felix", "Greta", "Hugo", "Irina", "Jonas")
FAMILY = ("Maas", "Novak", "Olsen", "Petit", "Quist", "Rossi", "Sauer", "Tamm", "Urban", "Vidal")


def people(count: int) -> list[tuple[int, str, str]]:
    return [(1000 + number, GIVEN[number % 10], FAMILY[(number // 10 + number * 3) % 10]) for number in range(count)]


def write(folder: Path, name: str, rows: list[dict[str, object]]) -> None:
    with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def tax(number: int) -> str:
    return f"{(number * 7919 + 123456789) % 900000000 + 100000000}"


@pytest.fixture(scope="module")
def company(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Partners, accounts that know a partner's number or tax number (some wrong), and a cross-reference."""
    folder = tmp_path_factory.mktemp("company")
    known = people(90)
    for place in ("erp", "crm", "dwh"):
        (folder / place).mkdir()
    write(
        folder / "erp", "customers",
        [
            {"customer_no": number, "customer_name": f"{family.upper()} {given.upper()}", "tax_number": tax(number),
             "city": "Gent"}
            for number, given, family in known
        ],
    )  # fmt: skip
    accounts = []
    for place, (number, given, family) in enumerate(known):
        wrong = known[(place + 1) % 90][0] if place % 30 == 7 else number
        accounts.append(
            {"account_id": f"ACC{place:05}X", "account_name": f"{given} {family}",
             "client_number": f"CL-0{wrong}" if place % 3 else "", "tax_no": f"BE {tax(number)[:3]}.{tax(number)[3:]}"
             if place % 3 == 0 else "", "email": f"{given}.{family}{number}@mail.example".lower(),
             "is_test": 1 if place == 5 else 0}
        )  # fmt: skip
    write(folder / "crm", "accounts", accounts)
    write(
        folder / "dwh", "customer_xref",
        [
            {"xref_id": 1 + place * 2 + half, "party": 70000 + place * 3, "system": ("ERP", "CRM")[half],
             "system_key": (str(number), f"ACC{place:05}X")[half],
             "valid_to": "2019-12-31" if place % 9 == 4 and half else "9999-12-31"}
            for place, (number, _, _) in enumerate(known)
            if place % 2
            for half in (0, 1)
        ],
    )  # fmt: skip
    sources = "\n".join(f"  {name}:\n    location: {name}" for name in ("erp", "crm", "dwh"))
    (folder / "coset.yaml").write_text(f"sources:\n{sources}\n", encoding="utf-8")
    with coset.open(folder) as environment:
        environment.comprehend(jobs=1, link=True)
    return folder


def clusters(environment: coset.Environment, entity: str) -> dict[tuple[str, str], int]:
    return {(record.table, record.key): record.cluster for record in environment.links(entity).records}


def test_accounts_meet_their_customers_and_nobody_else(company: Path):
    with coset.open(company) as environment:
        [entity] = [each.entity for each in environment.links() if "crm/accounts" in each.tables]
        found = clusters(environment, entity)
        right = wrong = 0
        for place, (number, _, _) in enumerate(people(90)):
            mine = found["crm/accounts", f"ACC{place:05}X"]
            right += mine == found["erp/customers", str(number)]
            wrong += any(mine == found["erp/customers", str(other)] for other, _, _ in people(90) if other != number)
        assert wrong == 0
        assert right >= 86
        rows = environment.sql(
            f"SELECT count(DISTINCT cluster), count(*), max(flags) FROM linked.{entity} WHERE source IN ('erp', 'crm')"
        ).rows[0]
        assert rows[1] == 180
        assert rows[2] == "test"
        with pytest.raises(UserError, match="there is no linked table"):
            environment.sql("SELECT * FROM linked.nobody")


def test_what_a_person_said_holds_and_nothing_is_linked_twice(company: Path):
    with coset.open(company) as environment:
        workspace = environment.workspace
        [entity] = [each.entity for each in environment.links() if "crm/accounts" in each.tables]
        thing = explain_links(workspace, entity, "ACC00001X")[0]
        assert {record.table for record in thing.records} == {"crm/accounts", "erp/customers"}
        assert any("customer_xref" in pair.evidence for pair in thing.followed)
        declare_link(workspace, "ACC00001X", "1001", same=False, entity=entity)
        declare_link(workspace, "ACC00002X", "1050", same=True, entity=entity)
        found = clusters(environment, entity)
        assert found["crm/accounts", "ACC00001X"] != found["erp/customers", "1001"]
        assert found["crm/accounts", "ACC00002X"] == found["erp/customers", "1050"]
        made = sorted((company / ".coset" / "linked").glob("*.parquet"))
        stamps = [path.stat().st_mtime_ns for path in made]
        assert link_records(workspace) == ()
        assert [path.stat().st_mtime_ns for path in made] == stamps
        declare_link(workspace, "ACC00001X", "1001", same=True, entity=entity)
        assert len([each for each in environment.said().links if each.records[0].key == "ACC00001X"]) == 1
        with pytest.raises(UserError, match="no record that was linked"):
            explain_links(workspace, entity, "nothing")


def test_a_link_within_one_table_holds_though_nobody_asked_for_links(tmp_path: Path):
    (tmp_path / "crm").mkdir()
    names = ("Alpha Works", "Beta Mills", "Gamma Yards", "Alfa Wks. Ltd")
    rows = [{"firm_id": f"F{place}", "firm_name": name} for place, name in enumerate(names)]
    write(tmp_path / "crm", "firms", rows)
    (tmp_path / "coset.yaml").write_text("sources:\n  crm: {location: crm}\n")
    said = "links:\n  - records: [{table: crm/firms, key: F0}, {table: crm/firms, key: F3}]\n"
    (tmp_path / "coset.corrections.yaml").write_text(said)
    with coset.open(tmp_path) as environment:
        assert environment.comprehend(jobs=1).problems == ()
        [entity] = environment.links()
        found = clusters(environment, entity.entity)
        assert found["crm/firms", "F0"] == found["crm/firms", "F3"] != found["crm/firms", "F1"]
        assert environment.sql(f"SELECT count(DISTINCT cluster) FROM linked.{entity.entity}").rows == [(3,)]
        (tmp_path / "coset.corrections.yaml").write_text(said.replace("F3", "F9"))
        [(_, problem)] = environment.comprehend(jobs=1).problems
        assert "no record 'F9'" in problem


def test_a_pair_against_a_stronger_one_a_tax_number_or_a_person_is_not_followed():
    standing = RecordFacts([0, 1, 1, 0], {"tax": [None, None, "5", "6"], "birth": [None] * 4}, frozenset({(0, 3)}))
    clustering = Clustering(standing)
    clustering.follow([Pair(0, 1, 1, 0, True), Pair(0, 2, 3, 0, True), Pair(2, 3, 4, 0, True), Pair(0, 3, 0, 0, True)])
    found = clustering.result()
    assert found.of == {0: 0, 1: 0}
    assert [each.reason for each in found.refused] == [
        "a person told them apart",
        "one of them is linked to another record of the same table",
        "tax numbers differ",
    ]


def test_documents_may_forbid_names_and_e_mails():
    said = SectionText(
        "To find the partner take the number. Never by name or e-mail: letters went astray.", ("crm/accounts.x",)
    )
    assert forbidden_by([said], {"crm/accounts", "erp/customers"}) == [
        ("likeness", frozenset({"crm/accounts"})),
        ("email", frozenset({"crm/accounts"})),
    ]
