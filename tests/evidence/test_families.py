"""Tables of one shape become one object, and tables that only happen to look alike do not."""

from __future__ import annotations

import random
import string
from dataclasses import dataclass

from coset.environment.families import find_families, relation_name


@dataclass(frozen=True)
class Column:
    name: str
    type: str = "VARCHAR"


@dataclass(frozen=True)
class Table:
    name: str
    columns: tuple[Column, ...]
    schema: str | None = None


PRICES = ("Date", "Open", "High", "Low", "Close", "Volume")
ID_NAME = ("id", "name")


def table(name, columns=PRICES, schema=None):
    return Table(name, tuple(Column(column) for column in columns), schema)


def summary(tables):
    return [
        (family.pattern, family.slot_kind, [member.slot for member in family.members])
        for family in find_families(tables)
    ]


def test_thousands_of_tables_of_one_shape_are_one_family():
    chance = random.Random(1)
    symbols = sorted({"".join(chance.choices(string.ascii_uppercase, k=chance.randint(1, 5))) for _ in range(2_900)})
    symbols += ["BRK_A", "BRK_B", "X1", "X2"]
    tables = [*(table(symbol) for symbol in symbols), table("company", ("symbol", "description"))]
    (family,) = find_families(tables)
    assert (family.pattern, family.slot_kind, len(family.members)) == ("{}", "symbol", len(symbols))
    assert [member.slot for member in family.members] == symbols
    assert family.columns == tuple((name, "VARCHAR") for name in PRICES)
    assert (family.optional, family.retyped) == ((), ())


def test_date_shards_and_numbered_parts_are_families_even_when_narrow_or_two():
    tables = [
        table("events_20240101", ID_NAME), table("part_1", ("a",)), table("events_20240102", ID_NAME), table("part_2", ("a",)),
        table("log_2024_01_eu"), table("log_2024_02_eu"), table("v2_x_1"), table("v2_x_12"),
    ]  # fmt: skip
    assert summary(tables) == [
        ("events_{}", "date", ["20240101", "20240102"]),
        ("part_{}", "number", ["1", "2"]),
        ("log_{}_eu", "date", ["2024_01", "2024_02"]),
        ("v2_x_{}", "number", ["1", "12"]),
    ]


def test_lookup_tables_of_one_shape_are_no_family():
    assert find_families([table(name, ID_NAME) for name in ("color", "size", "material")]) == []
    assert find_families([table(f"dim_{name}", ID_NAME) for name in ("color", "size", "material")]) == []
    assert find_families([table(name, ID_NAME) for name in string.ascii_letters[:26]]) == []


def test_tables_that_differ_in_a_word_are_a_family_from_three_on_with_a_word_in_common():
    assert find_families([table("customers"), table("suppliers"), table("couriers")]) == []
    assert find_families([table("sales_north"), table("sales_south")]) == []
    places = ["north", "south", "east"]
    assert summary([table(f"sales_{place}") for place in places]) == [("sales_{}", "symbol", places)]
    assert summary([table(f"{place}_sales") for place in places]) == [("{}_sales", "symbol", places)]


def test_layers_of_a_warehouse_and_tables_of_other_types_are_no_family():
    assert find_families([table(f"{layer}_party") for layer in ("stg", "bak", "dim")]) == []
    assert find_families([table(f"dim_party{end}") for end in ("", "_v2", "_2020")]) == []
    retyped = [table("sales_north"), table("sales_south"), table("sales_east")]
    retyped[1] = Table("sales_south", (Column("Date", "DATE"), *retyped[1].columns[1:]))
    assert find_families(retyped) == []
    assert find_families([table("f4211_20241231"), table("f42119_2022")]) == []
    assert find_families([table("quotes"), table("quotesArchive"), table("testQuotes"), table("quotes2024")]) == []


def test_families_of_one_pattern_and_different_shapes_have_names_of_their_own():
    tables = [
        *(table(f"events_{year}", ("id", "amount")) for year in (2018, 2019, 2020)),
        *(table(f"events_{year}", ("user_name", "label", "at")) for year in (2021, 2022, 2023)),
        *(table(f"EVENTS-{year}", ("x", "y")) for year in (2018, 2019)),
    ]
    assert [(family.pattern, relation_name(family.pattern)) for family in find_families(tables)] == [
        ("events_{}_with_id", "events_all_tables_with_id"),
        ("events_{}_with_user_name", "events_all_tables_with_user_name"),
        ("EVENTS-{}_with_x", "EVENTS_all_tables_with_x"),
    ]
    reordered = find_families(list(reversed(tables)))
    assert {family.pattern for family in reordered} == {family.pattern for family in find_families(tables)}


def test_a_family_whose_name_a_table_has_is_called_otherwise():
    tables = [table("log_all_tables", ("a", "b")), table("log_2023"), table("log_2024")]
    assert [relation_name(family.pattern) for family in find_families(tables)] == ["log_all_tables_tables"]


def test_one_shape_under_several_first_words_is_several_families():
    places = ("north", "south", "east")
    found = summary([table(f"{kind}_{place}") for kind in ("sales", "returns") for place in places])
    assert found == [("sales_{}", "symbol", list(places)), ("returns_{}", "symbol", list(places))]


def test_members_may_lack_or_add_a_few_columns_and_differ_in_type():
    later = Table(
        "events_2025", (*(Column(name) for name in PRICES[:-1]), Column("Volume", "BIGINT"), Column("Source"))
    )
    tables = [table("events_2022"), table("events_2023"), table("events_2024"), later, table("events_2026", ("x", "y"))]
    (family,) = find_families(tables)
    assert [member.name for member in family.members] == ["events_2022", "events_2023", "events_2024", "events_2025"]
    assert family.columns == tuple((name, "VARCHAR") for name in PRICES)
    assert (family.optional, family.retyped) == ((("Source", "VARCHAR"),), ("Volume",))


def test_a_large_family_takes_in_tables_of_nearly_its_shape():
    tables = [*(table(f"{a}{b}") for a in "QWERT" for b in "ASDFG"), table("ODD", (*PRICES, "Note"))]
    (family,) = find_families(tables)
    assert len(family.members) == 26
    assert family.optional == (("Note", "VARCHAR"),)


def test_families_stay_within_a_schema_unless_the_schemas_are_the_slot():
    tables = [
        table("orders", schema="tenant_1"),
        table("orders", schema="tenant_2"),
        table("orders", schema="tenant_3"),
    ]
    assert summary(tables) == [("{}/orders", "symbol", ["tenant_1", "tenant_2", "tenant_3"])]
    assert find_families([table("part_1", schema="a"), table("part_2", schema="b")]) == []


def test_no_tables_no_columns_and_all_different_shapes():
    assert find_families([]) == []
    assert find_families([table("a", ()), table("b", ())]) == []
    assert find_families([table(f"t{number}", (f"c{number}", "x")) for number in range(30)]) == []


def test_every_table_is_in_at_most_one_family():
    chance = random.Random(7)
    shapes = [PRICES, (*PRICES, "Note"), ID_NAME, ("a", "b", "c")]
    names = {f"{chance.choice(['x', 'y', 'abc', 'q_z'])}_{chance.randint(1, 300)}" for _ in range(400)}
    families = find_families([table(name, chance.choice(shapes)) for name in sorted(names)])
    members = [member.name for family in families for member in family.members]
    assert len(members) == len(set(members))


def test_a_table_and_its_copies_are_no_family():
    assert find_families([table("orders"), table("orders_bak"), table("orders_2023")]) == []
    assert find_families([table("stg_party"), table("dim_party")]) == []
    assert find_families([table("POLICY"), table("POLICY22"), table("POLICY23")]) == []
    assert find_families([table("f4211"), table("f42119")]) == []
    assert find_families([table("CASEFL"), table("CASE23"), table("CASE24")]) == []


def test_months_stay_a_family_beside_a_backup_of_one_of_them():
    tables = [table(f"events_2024{month:02}") for month in range(1, 7)] + [table("events_202403_bak")]
    [family] = find_families(tables)
    assert [member.name for member in family.members] == [f"events_2024{month:02}" for month in range(1, 7)]
