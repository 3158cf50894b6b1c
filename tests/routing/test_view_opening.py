"""Views on two floors: the prefix that all questions share, and opening what its directory lists."""

from __future__ import annotations

from view_company import GivenScores, inventory, no_demand, objects

from coset.routing.views.budgets import Budget, cost
from coset.routing.views.materialise import materialise, opened
from coset.routing.views.text import details_text, prefix_text, view_text
from coset.routing.views.view import EvidenceView

ORDER, CUSTOMERS, ITEMS = "shop/main/order", "crm/customers", "shop/main/items"


def asked(column: str, budget: Budget) -> EvidenceView:
    return materialise(no_demand(), (), GivenScores({}, {column: 0.9}), objects(), inventory(), budget)


def test_the_prefix_is_the_same_for_every_question_and_lists_every_table():
    one, other = asked(f"{ORDER}.amount", Budget.of(1_000)), asked(f"{CUSTOMERS}.segment", Budget.of(1_000))
    assert prefix_text(one) == prefix_text(other) and view_text(one) != view_text(other)
    assert {entry.reference for entry in one.directory} == set(objects().tables)
    assert "Customers and what they complain about." in prefix_text(one)
    assert one.cost == cost(view_text(one)) and one.prefix_cost == cost(prefix_text(one))
    assert one.cost - one.prefix_cost <= 1_000


def test_lines_of_the_directory_get_shorter_before_tables_are_left_out():
    wide, narrow = (asked(f"{ORDER}.amount", Budget(600, tokens, 0)) for tokens in (400, 90))
    assert len(wide.directory) == len(narrow.directory) == len(objects().tables)
    assert any(entry.columns for entry in wide.directory) and not any(entry.columns for entry in narrow.directory)


def test_where_not_all_tables_fit_the_question_chooses_among_the_rest():
    view = materialise(
        no_demand(), (), GivenScores({}, {f"{ORDER}.amount": 0.9}, order=(ITEMS, CUSTOMERS)), objects(), inventory(),
        Budget(300, 58, 0),
    )  # fmt: skip
    assert view.listed < len(objects().tables) and "further tables" in view.unlisted
    assert ITEMS in {entry.reference for entry in view.directory[view.listed :]}


def test_a_table_in_the_details_has_every_column_at_least_by_name():
    view = asked(f"{ORDER}.amount", Budget.of(1_000))
    for table in view.tables:
        assert table.left_out == 0, table.reference


def test_opening_gives_the_details_of_a_table_and_how_it_joins_with_the_view():
    view = asked(f"{ORDER}.amount", Budget.of(700))
    more = opened([f"{ITEMS}.sku"], objects(), 600, view, ("shop.nothing",))
    [items] = [table for table in more.tables if table.reference == ITEMS]
    assert {column.expression for column in items.columns} == {"order_no", "sku", "quantity"}
    assert any({each.left_table, each.right_table} == {ORDER, ITEMS} for each in more.relations)
    text = details_text(more)
    assert '"shop.nothing"' in text and "DIRECTORY" not in text and more.cost <= 600
