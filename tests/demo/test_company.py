"""The demo company: the same for the same seed, another for another, and true to what it promises."""

from __future__ import annotations

from dataclasses import fields
from itertools import pairwise

import duckdb
import pyarrow as pa
import pytest

from coset.demo import QUESTIONS, Company, Truth, make_company, truth
from coset.demo.company import LEAST_LEAD, RANKED, RANKED_YEAR
from coset.demo.spelling import atlas_names
from coset.evidence.duplicates import normalised

SEEDS = (0, 7, 8, 2_024)


@pytest.fixture(scope="module", params=SEEDS)
def company(request: pytest.FixtureRequest) -> Company:
    return make_company(request.param)


def tables(company: Company) -> dict[str, pa.Table]:
    return {each.name: value for each in fields(company) if isinstance(value := getattr(company, each.name), pa.Table)}


def ask(company: Company, sql: str) -> list[tuple]:
    """Plain SQL over the clean tables: a way to the truth that shares no code with the generator's own."""
    with duckdb.connect() as connection:
        for name, table in tables(company).items():
            connection.register(name, table)
        return connection.execute(sql).fetchall()


def test_the_same_seed_gives_the_same_company(company: Company):
    again = make_company(company.seed)
    assert all(table.equals(tables(again)[name]) for name, table in tables(company).items())


def test_another_seed_gives_another_company(company: Company):
    other = tables(make_company(company.seed + 1))
    assert not any(table.equals(other[name]) for name, table in tables(company).items())
    mine, theirs = truth(company), truth(make_company(company.seed + 1))
    assert [each.number for each in mine] != [each.number for each in theirs]
    assert {each.name for each in mine[3].customers} != {each.name for each in theirs[3].customers}


def test_it_has_about_two_hundred_thousand_rows(company: Company):
    assert 190_000 < company.rows < 230_000


def test_a_small_company_is_a_smaller_one_of_the_same_kind(company: Company):
    small = make_company(company.seed, small=True)
    assert small.rows < company.rows / 3
    assert ask(small, "SELECT count(*) FROM atlas_accounts WHERE is_second") > [(10,)]
    assert all(each.agrees(answers(each)) for each in truth(small) if each.customers)
    assert [len(table.column_names) for table in tables(small).values()] == [
        len(table.column_names) for table in tables(company).values()
    ]


def test_whoever_is_listed_uses_the_product(company: Company):
    """So that 'uses Beacon' means the same by the list of buyers and by the orders."""
    assert ask(company, "SELECT count(*) FROM buyers ANTI JOIN orders USING (account)") == [(0,)]
    assert ask(company, "SELECT count(*) FROM orders ANTI JOIN buyers USING (account)") == [(0,)]
    assert ask(company, "SELECT count(*) FROM atlas_accounts ANTI JOIN subscriptions USING (account)") == [(0,)]
    assert ask(company, "SELECT count(*) FROM invoices ANTI JOIN atlas_accounts USING (account)") == [(0,)]


def test_an_account_number_is_one_customer_in_both_departments(company: Company):
    everywhere = "(FROM (SELECT account, customer FROM atlas_accounts UNION SELECT account, customer FROM buyers))"
    assert ask(company, f"SELECT max(n) FROM (SELECT count(*) AS n FROM {everywhere} GROUP BY account)") == [(1,)]
    [(twice, most)] = ask(
        company,
        "SELECT count_if(n = 2), max(n) FROM (SELECT count(*) AS n FROM atlas_accounts GROUP BY customer)",
    )
    assert most == 2 and 80 <= twice < 100


def test_a_second_number_has_another_spelling_of_the_same_name(company: Company):
    """Other names never become the same by setting case, signs, order and legal endings aside."""
    written = company.atlas_accounts.append_column("written", pa.array(atlas_names(company)))
    with duckdb.connect() as connection:
        connection.register("accounts", written.append_column("name", written.column("written")))
        [(texts, rows)] = connection.execute("SELECT count(DISTINCT name), count(*) FROM accounts").fetchall()
        assert texts == rows
        key = normalised([("name", "VARCHAR")], suffixes=True)
        [(mixed_up,)] = connection.execute(
            f"SELECT count(*) FROM (SELECT {key} AS key FROM accounts GROUP BY key HAVING count(DISTINCT customer) > 1)"
        ).fetchall()
    assert mixed_up == 0


def test_the_ranked_customers_stand_apart(company: Company):
    rows = ask(
        company,
        "SELECT sum(cents) AS spent FROM orders JOIN buyers USING (account) "
        f"WHERE state = 'D' AND year(ordered) = {RANKED_YEAR} GROUP BY customer ORDER BY spent DESC LIMIT {RANKED + 1}",
    )
    spent = [float(row[0]) for row in rows]
    assert all(one >= other * (1 + LEAST_LEAD) for one, other in pairwise(spent))


BY_SQL = {
    "both": "SELECT name FROM customers WHERE customer IN (SELECT customer FROM atlas_accounts) "
    "AND customer IN (SELECT customer FROM buyers JOIN orders USING (account))",
    "share": "SELECT sum(cents) FILTER (country = 'NO') / sum(cents) FROM invoices JOIN atlas_accounts USING (account) "
    "JOIN customers USING (customer) WHERE state = 'paid'",
    "text": "SELECT count(*) FROM tickets WHERE error = 'E42'",
    "top": "SELECT name FROM orders JOIN buyers USING (account) JOIN customers USING (customer) WHERE state = 'D' "
    "AND ordered BETWEEN DATE '2024-01-01' AND DATE '2024-12-31' GROUP BY customer, name ORDER BY sum(cents) DESC LIMIT 5",
    "not": "SELECT count(DISTINCT customer) FROM atlas_accounts WHERE customer NOT IN "
    "(SELECT customer FROM orders JOIN buyers USING (account))",
}


@pytest.mark.parametrize("place", range(len(QUESTIONS)), ids=[question.key for question in QUESTIONS])
def test_the_truth_is_what_plain_sql_over_the_clean_tables_says(company: Company, place: int):
    known = truth(company)[place]
    rows = ask(company, BY_SQL[known.question.key])
    assert known.agrees(rows)
    if known.number is not None:
        assert known.number == pytest.approx(float(rows[0][0]), abs=1e-9)
    elif known.question.shape == "ranked customers":
        assert [each.name for each in known.customers] == [name for (name,) in rows]
    else:
        assert sorted(each.name for each in known.customers) == sorted(name for (name,) in rows)


def answers(known: Truth) -> list[tuple]:
    return [(each.name, 12.5) for each in known.customers]


def test_a_wrong_answer_does_not_agree(company: Company):
    both, share, text, top, never = truth(company)
    right = answers(both)
    assert both.agrees(right) and both.agrees(right[::-1])
    assert not both.agrees(right[1:]), "one is missing"
    assert not both.agrees([*right, right[0]]), "one stands twice"
    assert not both.agrees([*right, ("Nobody & Sons", 1.0)]), "one does not belong"
    assert not both.agrees([])
    assert top.agrees(answers(top)) and not top.agrees(answers(top)[::-1])
    assert text.agrees([(text.number,)]) and not text.agrees([(text.number + 1,)]) and not text.agrees([])
    assert never.agrees([(f"{never.number:.0f}",)]) and not never.agrees([(never.number,), (never.number,)])
    assert share.agrees([(share.number,)]) and share.agrees([(f"{share.number:.2%}",)])
    assert not share.agrees([(share.number + 0.001,)]) and not share.agrees([(None,)])


def test_a_customer_is_known_by_any_of_its_numbers_and_names(company: Company):
    both = truth(company)[0]
    by_customer = dict(ask(company, "SELECT name, account FROM buyers JOIN customers USING (customer)"))
    accounts = [by_customer[each.name] for each in both.customers]
    for spelled in ("C-{:07}", "b{}", "B{} ", "#b{}", "{:07}"):
        assert both.agrees([(spelled.format(account),) for account in accounts]), spelled
    assert both.agrees([(account,) for account in accounts])
    assert not both.agrees([(account, "no name") for account in accounts]), (
        "beside other cells a number may be an amount"
    )
