"""Which table a column refers to: declared first, then by name, never to its own."""

from __future__ import annotations

from coset.identities.features import pointing_words, referred_tables, table_words
from coset.readings.observed import ObservedColumn, ObservedTable


def table(name: str, *columns: ObservedColumn | str) -> ObservedTable:
    return ObservedTable(name, tuple(ObservedColumn(c) if isinstance(c, str) else c for c in columns))


def found(*tables: ObservedTable) -> dict[str, str]:
    return {
        f"{tables[place].name}.{tables[place].names[position]}": tables[target].name
        for (place, position), target in referred_tables(tables).items()
    }


def test_names_point_to_the_tables_they_name() -> None:
    tables = (
        table("stg_customers", "customer_id", "name", "parent_customer_id"),
        table("DIM.ORDERS", "orderId", "billing_customer_id", "customer", "customer_name", "product_code"),
        table("products", "id", "order"),
    )
    assert found(*tables) == {
        "DIM.ORDERS.billing_customer_id": "stg_customers",
        "DIM.ORDERS.customer_name": "stg_customers",
        "DIM.ORDERS.product_code": "products",
    }


def test_what_was_declared_or_found_wins_over_the_name() -> None:
    owner = ObservedColumn("customer_id", refers_to=("people", "id"))
    gone = ObservedColumn("customer_key", refers_to=("elsewhere", "id"))
    tables = (table("orders", owner, gone), table("customers", "id"), table("people", "id"))
    assert found(*tables) == {"orders.customer_id": "people", "orders.customer_key": "customers"}


def test_a_table_does_not_refer_to_itself() -> None:
    boss = ObservedColumn("boss", refers_to=("staff", "id"))
    assert found(table("staff", "id", "staff_id", boss), table("people", "id")) == {}


def test_tables_of_one_name_in_two_sources_are_told_apart() -> None:
    def of(source: str, *columns: ObservedColumn) -> list[ObservedTable]:
        customers = ObservedTable("customers", (ObservedColumn("id"),), f"{source}.customers", source=source)
        return [customers, ObservedTable("orders", columns, f"{source}.orders", source=source)]

    by_name, declared = ObservedColumn("customer_id"), ObservedColumn("client", refers_to=("customers", "id"))
    across = ObservedColumn("buyer", refers_to=("customers", "id"), target="shop.customers")
    tables = [*of("shop", by_name, declared), *of("web", by_name, declared, across)]
    references = {
        (tables[place].reference, tables[place].names[position]): tables[target].reference
        for (place, position), target in referred_tables(tables).items()
    }
    assert references == {
        ("shop.orders", "customer_id"): "shop.customers",
        ("shop.orders", "client"): "shop.customers",
        ("web.orders", "customer_id"): "web.customers",
        ("web.orders", "client"): "web.customers",
        ("web.orders", "buyer"): "shop.customers",
    }


def test_words_of_tables_and_of_what_points() -> None:
    assert table_words("stg_order_items") == ("order", "item")
    assert table_words("sales.Companies_2019") == ("company",)
    assert pointing_words("home_team_id") == ("home", "team")
    assert pointing_words("id") == pointing_words("status") == ()
