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
from coset.state.queries import execute


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
        execute(
            state,
            "INSERT INTO taught VALUES (7, 'shop/orders.amount', 'attribute', 'price_of', true, current_timestamp)",
        )
        execute(state, "INSERT INTO notes VALUES (3, 'shop/orders', 'As of May.', current_timestamp)")
        execute(state, "DELETE FROM meta WHERE key = $1", [MOVED])
    with coset.open(folder) as environment:
        assert [(note.number, note.text) for note in environment.notes()] == [(1, "As of May.")]
        assert [each.identity for each in environment.taught()] == ["price_of"]
    assert "As of May." in (folder / "coset.corrections.yaml").read_text()


EVERY_KIND = """\
roles:
  - {reference: shop/orders.amount, is: .price_of}
notes:
  - {reference: shop/orders, text: Orders of January are tests.}
readings:
  - {reference: shop/orders.status, name: state of payment}
joins:
  - {left: shop/orders.buyer, right: crm/customers.customer_id, rejected: true}
copies:
  - {table: shop/orders_saved, original: shop/orders, kind: backup}
code_lists:
  - {column: shop/orders.status, list: shop/states, code: code, label: text}
rules:
  - text: Gift orders never count.
links:
  - {entity: customer, records: [{table: crm/customers, key: CUST-0001}, {table: crm/customers, key: CUST-0002}]}
questions:
  - question: How many orders are open?
    needs: [shop/orders]
    sql: SELECT count(*) AS open_orders FROM shop.orders WHERE status = 'open'
"""


CONFIRMED = "SELECT text FROM written_sql WHERE text LIKE '%open_orders%'"
LABELS = "SELECT code FROM code_labels WHERE code_reference = 'shop/orders.status'"


def effects(folder: Path) -> dict[str, object]:
    """What each kind of entry leads to, and what is wrong with the file."""
    with coset.open(folder) as environment:
        problems = [problem for name, problem in environment.comprehend(jobs=1).problems]
        view = str(environment.view("Which amounts do orders have by status?", budget=8000))
        role = identity_of(environment, "shop/orders.amount", "attribute")
    with EvidenceState.read(folder / ".coset") as state:
        return {
            "problems": problems,
            "role": role,
            "note": "Orders of January are tests." in view,
            "rule": "Gift orders never count." in view,
            "reading": "state of payment" in view,
            "joins": len(state.rows("SELECT 1 FROM relations WHERE left_columns[1] = 'shop/orders.buyer'")),
            "copies": [(each.table, each.original) for each in state.copies()],
            "codes": sorted(row["code"] for row in state.rows(LABELS)),
            "questions": len(state.rows(CONFIRMED)),
        }


def test_every_kind_of_entry_takes_effect_and_survives_the_state_and_a_slip_of_the_pen(tmp_path: Path):
    folder = write_shop(tmp_path)
    (folder / "states.csv").write_text("code,text\npaid,Paid in full\nopen,Not paid yet\n")
    (folder / "orders_saved.csv").write_text("order_id,remark\n1,saved\n2,saved\n")
    (folder / "coset.yaml").write_text("sources:\n  crm: {location: crm.db}\n  shop: {location: .}\n")
    before = effects(folder)
    assert before["joins"] == 1 and not before["note"] and not before["rule"] and before["copies"] == []
    assert before["questions"] == 0
    file = folder / "coset.corrections.yaml"
    file.write_text(EVERY_KIND)
    said = effects(folder)
    assert said == {
        "problems": [], "role": "price_of", "note": True, "rule": True, "reading": True, "joins": 0,
        "copies": [("shop/orders_saved", "shop/orders")], "codes": ["open", "paid"],
        "questions": 1,
    }  # fmt: skip
    shutil.rmtree(folder / ".coset")
    assert effects(folder) == said
    broken = EVERY_KIND.replace("rules:\n", "rules: [\n")
    file.write_text(broken)
    slipped = effects(folder)
    [problem] = slipped.pop("problems")
    assert "coset.corrections.yaml, line" in problem and "last said" in problem
    assert slipped == {key: value for key, value in said.items() if key != "problems"}
    assert file.read_text() == broken
    file.write_text(EVERY_KIND)
    assert effects(folder) == said
