"""What people said lives in one file: the state can be deleted, and an older state hands over what it holds."""

from __future__ import annotations

import shutil
from pathlib import Path

import coset
from api.shop import write_shop
from coset.environment.configuration import load_environment
from coset.environment.corrections import load_corrections
from coset.identities.teaching import MOVED
from coset.state import EvidenceState


def identity_of(environment: coset.OpenEnvironment, reference: str, coordinate: str) -> str:
    rows = environment.memberships().dictionaries()
    return next(row["identity"] for row in rows if (row["reference"], row["coordinate"]) == (reference, coordinate))


def test_deleting_the_state_loses_nothing_that_people_said(tmp_path: Path):
    folder = write_shop(tmp_path)
    with coset.open(folder) as environment:
        environment.comprehend(jobs=1)
        environment.teach("shop.orders.amount", "customer.price_of")
        environment.teach("shop.orders.amount", "order.")
        note = environment.note("shop.orders", "Orders of January are tests.")
        assert note.number == 1
    file = folder / "coset.corrections.yaml"
    assert [(role.reference, role.is_) for role in load_corrections(load_environment(folder)).roles] == [
        ("shop/orders.amount", ".price_of"),
        ("shop/orders.amount", "order."),
    ]
    shutil.rmtree(folder / ".coset")
    with coset.open(folder) as environment:
        environment.comprehend(jobs=1)
        assert identity_of(environment, "shop/orders.amount", "attribute") == "price_of"
        assert identity_of(environment, "shop/orders.amount", "entity") == "order"
        assert "Orders of January are tests." in environment.recover("shop.orders").text
        assert [each.number for each in environment.taught()] == [1, 2]
        environment.revoke(1)
        assert [role.is_ for role in load_corrections(load_environment(folder)).roles] == ["order."]
        environment.remove_note(1)
        assert "Orders of January" not in file.read_text()
        file.write_text(
            file.read_text() + "joins:\n  - {left: shop/orders.nothing, right: crm/customers.customer_id}\n"
        )
        problems = [problem for name, problem in environment.comprehend(jobs=1).problems if name == "corrections"]
        assert len(problems) == 1 and "there is no 'shop/orders.nothing'" in problems[0]
        assert "shop/orders.nothing" in file.read_text()


def test_a_state_of_an_earlier_release_hands_over_what_people_said(tmp_path: Path):
    folder = write_shop(tmp_path)
    with coset.open(folder) as environment:
        environment.comprehend(jobs=1)
    with EvidenceState.open(folder / ".coset") as state:
        state.connection.execute(
            "INSERT INTO taught VALUES (7, 'shop/orders.amount', 'attribute', 'price_of', true, current_timestamp)"
        )
        state.connection.execute("INSERT INTO notes VALUES (3, 'shop/orders', 'As of May.', current_timestamp)")
        state.connection.execute("DELETE FROM meta WHERE key = $1", [MOVED])
    with coset.open(folder) as environment:
        assert [(note.number, note.text) for note in environment.notes()] == [(1, "As of May.")]
        assert [each.identity for each in environment.taught()] == ["price_of"]
    assert "As of May." in (folder / "coset.corrections.yaml").read_text()
