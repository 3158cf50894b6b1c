"""The inventory: what ships, what a user adds, and what is said when a file or a role is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from coset.errors import UserError
from coset.identities.inventory import COORDINATES, Inventory, Lexicon, load_inventory, phrase_of, shipped_inventory


@pytest.fixture(scope="module")
def shipped() -> Inventory:
    return shipped_inventory()


def own(folder: Path, text: str) -> Path:
    file = folder / "roles.yaml"
    file.write_text(text, encoding="utf-8")
    return file


def mistake(folder: Path, text: str) -> str:
    with pytest.raises(UserError) as raised:
        load_inventory(own(folder, text))
    assert "\n" not in str(raised.value)
    return str(raised.value)


def test_the_shipped_inventory_is_broad_and_sound(shipped: Inventory) -> None:
    for coordinate in COORDINATES:
        identities = shipped.of(coordinate)
        assert 60 <= len(identities) <= 110
        ids = shipped.ids(coordinate)
        assert len(set(ids)) == len(ids)
        assert len({identity.name for identity in identities}) == len(identities)
        for number, identity in enumerate(identities):
            assert identity.name and identity.meaning and identity.examples, identity.id
            assert not identity.own
            assert identity.parent is None or identity.parent in ids
            assert shipped.position(coordinate, identity.id) == number
            assert identity.name in identity.text and identity.meaning in identity.text
    assert "other_entity" in shipped.ids("entity")
    assert {"other_measure", "other_attribute"} <= set(shipped.ids("attribute"))


def test_every_identity_is_found_by_its_name_and_its_examples(shipped: Inventory) -> None:
    lexicon = Lexicon(shipped)
    for coordinate in COORDINATES:
        for number, identity in enumerate(shipped.of(coordinate)):
            for example in identity.examples:
                if " not " not in example and phrase_of(example) and " or " not in example:
                    assert number in lexicon.meaning(coordinate, phrase_of(example)), example


def test_a_users_file_comes_after_and_may_build_on_what_ships(shipped: Inventory, tmp_path: Path) -> None:
    extended = load_inventory(
        own(
            tmp_path,
            """
            version: 1
            entities:
              - {id: turbine, name: Turbine, parent: device, meaning: a wind turbine, examples: [turbine, windmill]}
            attributes:
              - {id: pitch_angle, name: Pitch angle, meaning: the angle of a blade}
            """,
        )
    )
    for coordinate in COORDINATES:
        assert extended.ids(coordinate)[: len(shipped.ids(coordinate))] == shipped.ids(coordinate)
    added = extended.entities[-1]
    assert (added.id, added.parent, added.own, added.examples) == ("turbine", "device", True, ("turbine", "windmill"))
    assert extended.role("turbine.pitch_angle") == {
        "entity": len(shipped.entities),
        "attribute": len(shipped.attributes),
    }
    assert Lexicon(extended).meaning("entity", phrase_of("windmills")) == (len(shipped.entities),)


def test_an_empty_file_adds_nothing(shipped: Inventory, tmp_path: Path) -> None:
    assert load_inventory(own(tmp_path, "# nothing yet\n")) == shipped


def test_duplicate_ids_are_named_with_both_files(tmp_path: Path) -> None:
    said = mistake(
        tmp_path,
        """
        entities:
          - {id: customer, name: Customer, meaning: mine}
          - {id: turbine, name: Turbine, meaning: one}
          - {id: turbine, name: Turbine, meaning: two}
        """,
    )
    assert "'customer' is in the shipped inventory and again in 'roles.yaml'" in said
    assert "'turbine' is in 'roles.yaml' and again in 'roles.yaml'" in said


def test_one_id_may_be_an_entity_and_an_attribute(tmp_path: Path) -> None:
    extended = load_inventory(own(tmp_path, "attributes: [{id: turbine, name: T, meaning: t}]"))
    assert "turbine" in extended.ids("attribute")


def test_an_unknown_parent_is_named_with_the_nearest(tmp_path: Path) -> None:
    said = mistake(tmp_path, "entities: [{id: vip, name: VIP, meaning: big spender, parent: custommer}]")
    assert "the parent 'custommer' of 'vip' is not known (did you mean 'customer'?)" in said
    said = mistake(tmp_path, "entities: [{id: vip, name: VIP, meaning: big spender, parent: zzzzqqq}]")
    assert "'zzzzqqq'" in said and "did you mean" not in said


def test_a_parent_of_the_other_coordinate_is_unknown(tmp_path: Path) -> None:
    assert "'status'" in mistake(tmp_path, "entities: [{id: vip, name: VIP, meaning: m, parent: status}]")


def test_ancestors_in_a_circle_are_named_and_their_descendants_are_not(tmp_path: Path) -> None:
    said = mistake(
        tmp_path,
        """
        entities:
          - {id: leaf, name: Leaf, meaning: m, parent: one}
          - {id: one, name: One, meaning: m, parent: two}
          - {id: two, name: Two, meaning: m, parent: one}
          - {id: alone, name: Alone, meaning: m, parent: alone}
        """,
    )
    assert all(f"'{identity}' is its own ancestor" in said for identity in ("one", "two", "alone"))
    assert "'leaf'" not in said


def test_all_mistakes_of_a_file_are_told_at_once(tmp_path: Path) -> None:
    said = mistake(
        tmp_path,
        """
        entities:
          - {id: vip, name: VIP, meaning: big spender, meening: typo}
          - {id: Not An Id, name: X, meaning: m}
          - {id: nameless, meaning: m}
        attribute: []
        """,
    )
    assert "'roles.yaml'" in said
    assert "'vip', meening is no known key (did you mean 'meaning'?)" in said
    assert "entities: entry 2, id must be small letters" in said
    assert "'nameless', name is missing" in said
    assert "attribute is no known key (did you mean 'attributes'?)" in said


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("entities:\n  - {id: a, name: [\n", 3),
        ("version: 1\nentities: []\n\t- x\n", 3),
        ("version: 1\nentities: []\nentities: []\n", 3),
        ("entities:\n  - {id: a, id: b, name: n, meaning: m}\n", 2),
        ("version: 1\nattributes: \x01\n", 2),
    ],
)
def test_what_is_not_yaml_is_told_with_its_line(tmp_path: Path, text: str, line: int) -> None:
    assert "'roles.yaml' is not valid YAML: " in (said := mistake(tmp_path, text))
    assert f"(line {line})" in said


@pytest.mark.parametrize("text", ["- a\n- b\n", "just words", "17", "entities: 3", "entities: [1, 2]", "version: 2"])
def test_another_shape_is_refused(tmp_path: Path, text: str) -> None:
    assert "'roles.yaml'" in mistake(tmp_path, text)


def test_recursive_yaml_is_refused(tmp_path: Path) -> None:
    assert "'roles.yaml'" in mistake(tmp_path, "entities: &loop [*loop]")


def test_a_missing_file_and_one_that_is_no_text_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"nowhere\.yaml"):
        load_inventory(tmp_path / "nowhere.yaml")
    (tmp_path / "bytes.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UserError, match=r"bytes\.yaml"):
        load_inventory(tmp_path / "bytes.yaml")


def test_roles_as_people_write_them(shipped: Inventory) -> None:
    customer, identifier = shipped.position("entity", "customer"), shipped.position("attribute", "identifier")
    both = {"entity": customer, "attribute": identifier}
    assert shipped.role("customer.identifier") == both
    assert shipped.role(" Customer . Identifier ") == both
    assert shipped.role("customer.") == shipped.role("customer") == {"entity": customer}
    assert shipped.role(".identifier") == shipped.role("identifier") == {"attribute": identifier}
    line = shipped.position("entity", "order_line")
    assert shipped.role("order-line.") == shipped.role("Order line.") == shipped.role("ORDER_LINE") == {"entity": line}
    assert shipped.role(".E-mail address") == {"attribute": shipped.position("attribute", "email")}


@pytest.mark.parametrize(
    ("written", "parts"),
    [
        ("custommer.identifier", ["'custommer' is no entity", "did you mean customer"]),
        ("customer.identifer", ["'identifer' is no attribute", "did you mean", "identifier"]),
        ("identifer", ["'identifer' is no identity", "did you mean", "identifier"]),
        ("customer.zzzzzqq", ["'zzzzzqq' is no attribute", "`coset identities --all` lists them"]),
        ("zzzzzqq", ["'zzzzzqq' is no identity", "`coset identities --all` lists them"]),
        ("a.b.c", ["'a.b.c' is no role", "customer.identifier"]),
        ("", ["'' is no role"]),
        (".", ["'.' is no role"]),
        ("price", ["'price' is an entity and an attribute", "'price.'", "'.price'"]),
    ],
)
def test_a_role_that_is_none_is_answered_with_the_nearest(shipped: Inventory, written: str, parts: list[str]) -> None:
    with pytest.raises(UserError) as raised:
        shipped.role(written)
    for part in parts:
        assert part in str(raised.value)


def test_the_lexicon_reads_endings_and_parts_of_names(shipped: Inventory) -> None:
    lexicon = Lexicon(shipped)
    email = (shipped.position("attribute", "email"),)
    assert lexicon.ending("attribute", phrase_of("billing_email")) == (email, ("email",))
    assert lexicon.ending("attribute", phrase_of("email_of_qqq")) == ((), ())
    film = (shipped.position("entity", "film"),)
    assert lexicon.anywhere("entity", phrase_of("tbl_movies_zz")) == (film, ("movie",))
    assert lexicon.anywhere("entity", ()) == lexicon.ending("entity", ()) == ((), ())
    # The longest part wins: an order line is no order.
    line = shipped.position("entity", "order_line")
    assert lexicon.ending("entity", phrase_of("OrderItems"))[0] == (line,)


def test_a_name_of_any_length_is_looked_up_in_few_steps(shipped: Inventory) -> None:
    class Counted(Lexicon):
        looked_up = 0

        def meaning(self, coordinate, phrase):
            Counted.looked_up += 1
            return super().meaning(coordinate, phrase)

    lexicon, phrase = Counted(shipped), ("qqq",) * 20_000
    lexicon.ending("attribute", phrase)
    assert Counted.looked_up < 20
    lexicon.anywhere("attribute", phrase)
    assert Counted.looked_up < 20 * len(phrase)
