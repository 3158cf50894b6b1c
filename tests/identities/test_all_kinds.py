"""Value groups, relations, sections and rules have roles of their own, and a rule is found by what it is about."""

from __future__ import annotations

from pathlib import Path

import pytest

import coset
from coset.identities.all_kinds import comprehend_all_kinds, entities_named
from coset.identities.inventory import Lexicon, phrase_of, shipped_inventory
from coset.identities.model import load_model
from coset.routing.objects.knowledge import knowledge_of
from coset.state import EvidenceState
from coset.state.memberships import evidence_profiles

PAGES = """# House rules

## Customers
Test customers are never counted: whoever buys under the name of Muster is left out of every figure about customers.

## Calendar
The fiscal year begins on 1 July; a quarter is three months of that calendar.
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("company")
    (folder / "data").mkdir()
    buyers = "".join(f"C-{n:04},Firm {n},{['Bern', 'Genf', 'Zug'][n % 3]}\n" for n in range(60))
    (folder / "data" / "kdstm.csv").write_text(f"kdnr,nm,ort\n{buyers}")
    orders = "".join(f"{n},C-{n % 60:04},2024-0{n % 9 + 1}-11,{['open', 'paid'][n % 2]}\n" for n in range(300))
    (folder / "data" / "auftr.csv").write_text(f"anr,kdnr,dt,st\n{orders}")
    (folder / "rules.md").write_text(PAGES)
    (folder / "coset.yaml").write_text("sources:\n  data: {location: data}\ndocuments: [rules.md]\n")
    with coset.open(folder) as environment:
        environment.comprehend()
    return folder


def test_every_kind_has_profiles_that_sum_to_one(folder: Path):
    with EvidenceState.read(folder / ".coset") as state:
        rows = evidence_profiles(state)
    assert {row.kind for row in rows} == {"value group", "relation", "section", "rule"}
    for row in rows:
        assert sum(row.profile) == pytest.approx(1.0)
        assert row.membership == max(row.profile) >= row.runner_up_membership


def test_sections_and_rules_are_about_what_they_speak_of(folder: Path):
    with EvidenceState.read(folder / ".coset") as state:
        sections = {row.reference: row for row in evidence_profiles(state, ["section"])}
        rules = {rule.text: rule.entity for rule in knowledge_of(state).rules}
    by_entity = {row.identity for row in sections.values()}
    assert {"customer", "period"} <= by_entity
    assert all(row.reasons for row in sections.values() if row.identity == "customer")
    assert any(entity == "customer" for text, entity in rules.items() if "Muster" in text)


def test_values_speak_without_the_name_of_their_column(folder: Path):
    with EvidenceState.read(folder / ".coset") as state:
        found = {
            (row.reference.rpartition(".")[2], row.coordinate): row for row in evidence_profiles(state, ["value group"])
        }
    assert found["st", "attribute"].identity in ("status", "type")


def test_doing_it_again_changes_nothing(folder: Path):
    with EvidenceState.open(folder / ".coset") as state:
        before = evidence_profiles(state)
        comprehend_all_kinds(state, load_model())
        after = evidence_profiles(state)
    assert len(after) == len(before)
    for one, other in zip(before, after, strict=True):
        assert (one.kind, one.reference, one.identity) == (other.kind, other.reference, other.identity)
        assert one.profile == pytest.approx(other.profile)


def test_the_longest_name_of_an_entity_counts():
    inventory = shipped_inventory()
    found = entities_named(phrase_of("the exchange rates of customers"), Lexicon(inventory))
    assert [phrase for phrase, _ in found] == [("exchange", "rate"), ("customer",)]
