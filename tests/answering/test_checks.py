"""Deterministic checks, each tripped and each passed, on a company whose data is dirty and was comprehended for real."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest
from company import build

from coset.answering.checks import CHECKS, CheckResult, PinnedShape, Proposal, run_checks, verdict
from coset.answering.checks.statement import TablesOfState, read_statement
from coset.environment.configuration import load_environment
from coset.session.query_session import QuerySession
from coset.state import EvidenceState
from coset.state.queries import execute
from coset.use_cases.comprehend import comprehend

CLEAN_BUYER = "regexp_replace(o.buyer, '^#', '')"
CLEAN_DATE = "CAST(try_strptime(placed, ['%d/%m/%Y', '%Y-%m-%d']) AS DATE)"


class Company:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.session = QuerySession(load_environment(folder))
        self.state = EvidenceState.read(folder / ".coset")

    def checked(
        self, *sql: str, value: object = "?", shape: PinnedShape | None = None, **more: object
    ) -> dict[str, CheckResult]:
        proposal = Proposal(value, sql, shape, **more)  # type: ignore[arg-type]
        return {result.name: result for result in run_checks(proposal, self.session, self.state)}

    def one(self, name: str, *sql: str, **more: object) -> CheckResult:
        return self.checked(*sql, **more)[name]  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def company(tmp_path_factory: pytest.TempPathFactory):
    made = Company(build(tmp_path_factory.mktemp("company")))
    yield made
    made.session.close()
    made.state.close()


# ---- all of them together


def test_a_right_answer_passes_every_check_that_applies(company: Company):
    sql = (
        f"SELECT c.name, round(sum(o.amount), 2) AS total FROM shop.orders o JOIN shop.customers c ON c.customer_id = "
        f"{CLEAN_BUYER} GROUP BY ALL ORDER BY total DESC LIMIT 3"
    )
    rows = company.session.sql(sql).rows()
    shape = PinnedShape("table", ("name", "total"), rows=3, grain="one row per customer name", keys=("name",))
    results = company.checked(sql, value=[list(row) for row in rows], shape=shape)
    assert list(results) == list(CHECKS)
    assert verdict(tuple(results.values())) == "passed", results
    assert {r.outcome for r in results.values()} <= {"passed", "not applicable"}


def test_checks_say_the_same_every_time(company: Company):
    sql = "SELECT city, count(*) FROM shop.customers GROUP BY city"
    assert company.checked(sql) == company.checked(sql)


def test_a_statement_that_cannot_be_parsed_here_is_not_called_fine(company: Company):
    results = company.checked("SELECT * FROM shop.nowhere JOIN (")
    assert results["empty result"].outcome == "failed" and "cannot be run" in results["empty result"].detail
    assert results["join loss"].outcome == "not applicable"


def test_an_estimate_is_told_and_an_exact_count_is_not(company: Company):
    estimate = company.one("exact", "SELECT approx_count_distinct(city) FROM shop.customers")
    assert estimate.outcome == "doubt" and "count(DISTINCT" in estimate.detail
    sample = company.one("exact", "SELECT count(*) FROM shop.customers USING SAMPLE 10 PERCENT")
    assert sample.outcome == "doubt"
    for sql in (
        "SELECT count(DISTINCT city) FROM shop.customers",
        "SELECT quantile_cont(amount, 0.5) FROM shop.orders",
    ):
        assert company.one("exact", sql).outcome == "passed"


# ---- empty result


def test_a_value_given_though_there_are_no_rows_fails(company: Company):
    sql = "SELECT name FROM shop.customers WHERE city = 'Atlantis'"
    assert company.one("empty result", sql, value="Northwind").outcome == "failed"
    for said in (None, [], "", "There are none.", "no such customer"):
        result = company.one("empty result", sql, value=said)
        assert result.outcome == "passed" and "no rows" in result.detail, said


def test_an_aggregate_over_nothing_is_empty_too(company: Company):
    sql = "SELECT sum(balance) FROM shop.customers WHERE city = 'Atlantis'"
    assert company.one("empty result", sql, value=12).outcome == "failed"
    assert company.one("empty result", sql, value=None).outcome == "passed"


def test_nothing_given_though_there_are_rows_fails(company: Company):
    assert company.one("empty result", "SELECT name FROM shop.customers", value=[]).outcome == "failed"


def test_not_allowed_and_wrong_and_not_reachable_are_told_apart(company: Company, tmp_path: Path):
    assert "not allowed" in company.one("empty result", "DELETE FROM shop.orders", value=None).detail
    assert "cannot be run" in company.one("empty result", "SELECT nothing FROM shop.orders", value=None).detail
    (tmp_path / "coset.yaml").write_text("sources:\n  shop: {location: gone.db}\n")
    with QuerySession(load_environment(tmp_path)) as session:
        results = run_checks(Proposal(None, ("SELECT 1 FROM shop.orders",)), session, company.state)
    told = next(each for each in results if each.name == "empty result")
    assert told.outcome == "failed" and "not reachable" in told.detail


def test_an_answer_without_a_statement_leaves_doubt(company: Company):
    assert company.one("empty result", value=42).outcome == "doubt"


# ---- shape


def test_more_rows_than_were_pinned_fail(company: Company):
    sql = "SELECT name FROM shop.customers WHERE city = 'Lyon'"
    assert company.one("shape", sql, shape=PinnedShape("value")).outcome == "failed"
    assert company.one("shape", sql, shape=PinnedShape("list")).outcome == "passed"
    assert company.one("shape", f"{sql} LIMIT 4", shape=PinnedShape("list", rows=3)).outcome == "failed"
    assert company.one("shape", f"{sql} LIMIT 2", shape=PinnedShape("list", rows=3)).outcome == "doubt"


def test_the_answers_own_value_must_have_the_shape_too(company: Company):
    sql = "SELECT name FROM shop.customers ORDER BY name LIMIT 3"
    names = [row[0] for row in company.session.sql(sql).rows()]
    assert company.one("shape", sql, value=names, shape=PinnedShape("list")).outcome == "passed"
    short = company.one("shape", sql, value=names[:2], shape=PinnedShape("list"))
    assert short.outcome == "failed" and "3 rows" in short.detail
    one = "SELECT count(*) FROM shop.customers"
    assert company.one("shape", one, value=[1, 2], shape=PinnedShape("value")).outcome == "failed"
    assert company.one("shape", one, value="word " * 100, shape=PinnedShape("value")).outcome == "failed"
    assert company.one("shape", "SELECT 1, 2", value=1, shape=PinnedShape("value")).outcome == "doubt"
    assert company.one("shape", "SELECT 1, 2", shape=PinnedShape("table", ("a", "b", "c"))).outcome == "doubt"


# ---- grain


def test_two_rows_for_one_key_break_the_grain(company: Company):
    many = "SELECT c.name, o.order_id FROM shop.customers c JOIN shop.orders o ON c.customer_id = o.buyer"
    one = "SELECT c.name, count(*) AS orders FROM shop.customers c JOIN shop.orders o ON c.customer_id = o.buyer GROUP BY ALL"
    for keys in (("name",), ("shop/customers.name",)):
        shape = PinnedShape("table", keys=keys)
        assert company.one("grain", many, shape=shape).outcome == "failed"
        assert company.one("grain", one, shape=shape).outcome == "passed"
    worded = PinnedShape("table", grain="one row per name")
    assert company.one("grain", many, shape=worded).outcome == "doubt"
    assert company.one("grain", one, shape=worded).outcome == "passed"


def test_a_key_that_the_result_lacks_leaves_doubt(company: Company):
    result = company.one("grain", "SELECT count(*) FROM shop.orders", shape=PinnedShape("table", keys=("name",)))
    assert result.outcome == "doubt" and "name" in result.detail


# ---- row limit


def test_a_result_that_was_cut_off_fails(company: Company):
    cut = company.session.sql("SELECT order_id FROM shop.orders", max_rows=10)
    assert company.one("row limit", "SELECT order_id FROM shop.orders", result=cut).outcome == "failed"
    assert company.one("row limit", "SELECT order_id FROM shop.orders").outcome == "passed"


def test_a_limit_without_an_order_leaves_doubt(company: Company):
    assert company.one("row limit", "SELECT name FROM shop.customers LIMIT 5").outcome == "doubt"
    inner = "SELECT avg(amount) FROM (SELECT amount FROM shop.orders LIMIT 100)"
    assert company.one("row limit", inner).outcome == "doubt"
    for fine in ("SELECT count(*) FROM shop.customers LIMIT 5", "SELECT name FROM shop.customers LIMIT 5000",
                 "SELECT name FROM shop.customers ORDER BY customer_id LIMIT 5"):  # fmt: skip
        assert company.one("row limit", fine).outcome == "passed", fine


def test_a_tie_that_the_limit_cuts_leaves_doubt(company: Company):
    tied = "SELECT city, count(*) AS customers FROM shop.customers GROUP BY city ORDER BY customers DESC LIMIT 2"
    result = company.one("row limit", tied)
    assert result.outcome == "doubt" and "tie" in result.detail
    # The way the agent's own statements stand alone: the same inside another SELECT.
    wrapped = f"WITH result_1 AS (SELECT * FROM shop.customers) SELECT * FROM (\n{tied.replace('shop.customers', 'result_1')}\n)"
    assert company.one("row limit", wrapped).outcome == "doubt"
    broken = "SELECT name FROM shop.customers ORDER BY balance DESC LIMIT 1"
    assert company.one("row limit", broken).outcome == "passed"


def test_only_a_tie_where_the_answer_itself_ends_leaves_doubt(company: Company):
    # Balances are 219, 218, 217, ...: halved and cut to whole numbers they are 109, 109, 108, 108, ...
    by_half = "SELECT name, balance // 2 AS half FROM shop.customers ORDER BY half DESC LIMIT {}"
    first, second = (company.session.sql(by_half.format(3)).rows()[place][0] for place in (0, 1))
    assert (
        company.one("row limit", by_half.format(3)).outcome == "doubt"
    )  # All three rows: the fourth equals the third.
    assert company.one("row limit", by_half.format(3), value=f"{first} and {second}").outcome == "passed"
    assert company.one("row limit", by_half.format(4), value=first).outcome == "doubt"  # The first equals the second.
    top = "SELECT city, count(*) + (city = 'Lyon')::INT AS n FROM shop.customers GROUP BY city ORDER BY n DESC LIMIT 3"
    assert company.one("row limit", top).outcome == "doubt"
    for shape in (None, PinnedShape("value")):
        assert company.one("row limit", top, value="Lyon", shape=shape).outcome == "passed"
    assert company.one("row limit", top, value="25", shape=PinnedShape("value")).outcome == "passed"
    assert company.one("shape", top, value="Lyon", shape=PinnedShape("value")).outcome == "doubt"
    assert company.one("shape", top, value="Basel and Gent", shape=PinnedShape("value")).outcome == "failed"


# ---- joins


def test_a_join_on_dirty_keys_fails_and_is_told_the_tested_one(company: Company):
    raw = "SELECT sum(o.amount) FROM shop.orders o JOIN shop.customers c ON c.customer_id = o.buyer"
    result = company.one("join loss", raw)
    assert result.outcome == "failed" and "20.0% of 600 rows" in result.detail and "regexp_replace" in result.detail
    assert "shop/orders.buyer" in result.references and "shop/customers.customer_id" in result.references
    clean = raw.replace("o.buyer", CLEAN_BUYER)
    assert company.one("join loss", clean).outcome == "passed"


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT c.city, sum(o.amount) FROM shop.customers c LEFT JOIN shop.orders o ON o.buyer = c.customer_id GROUP BY ALL",
        "SELECT sum(o.amount) FROM shop.orders o, shop.customers c WHERE o.buyer = c.customer_id",
        "SELECT sum(amount) FROM shop.orders JOIN (SELECT customer_id AS buyer FROM shop.customers) USING (buyer)",
        "WITH o AS (SELECT buyer AS who, amount FROM shop.orders), t AS (SELECT o.amount FROM o JOIN shop.customers c "
        "ON c.customer_id = o.who) SELECT sum(amount) FROM t",
        "SELECT * FROM (SELECT sum(o.amount) FROM SHOP.Orders o JOIN shop.main.CUSTOMERS c ON c.Customer_ID = o.BUYER)",
    ],
)
def test_a_lossy_join_is_seen_however_it_is_written(company: Company, sql: str):
    result = company.one("join loss", sql)
    assert result.outcome == "failed" and "20.0%" in result.detail, result


def test_conditions_on_one_table_are_part_of_the_count(company: Company):
    sql = "SELECT sum(o.amount) FROM shop.orders o JOIN shop.customers c ON c.customer_id = o.buyer WHERE o.order_id % 5 <> 0"
    result = company.one("join loss", sql)
    assert result.outcome == "passed" and "of 480 rows" in result.detail


FILTERED = [
    f"SELECT sum(o.amount) FROM shop.orders o JOIN shop.customers c ON c.customer_id = {CLEAN_BUYER} WHERE c.city = 'Lyon'",
    f"SELECT sum(o.amount) FROM shop.orders o JOIN shop.customers c ON c.customer_id = {CLEAN_BUYER} AND c.city = 'Lyon'",
    f"SELECT sum(o.amount) FROM shop.orders o JOIN (SELECT * FROM shop.customers WHERE city = 'Lyon') c "
    f"ON c.customer_id = {CLEAN_BUYER}",
    f"WITH few AS (SELECT * FROM shop.customers WHERE city = 'Lyon'), fewer AS (SELECT * FROM few WHERE balance > 150) "
    f"SELECT sum(o.amount) FROM shop.orders o JOIN fewer c ON c.customer_id = {CLEAN_BUYER}",
    f"WITH few AS (SELECT customer_id FROM shop.customers GROUP BY ALL HAVING max(balance) > 150) "
    f"SELECT sum(o.amount) FROM shop.orders o JOIN few c ON c.customer_id = {CLEAN_BUYER}",
    f"WITH top AS (SELECT customer_id FROM shop.customers ORDER BY balance DESC LIMIT 5) "
    f"SELECT sum(o.amount) FROM top c JOIN shop.orders o ON c.customer_id = {CLEAN_BUYER}",
    f"SELECT sum(o.amount) FROM shop.orders o, shop.customers c WHERE c.customer_id = {CLEAN_BUYER} AND c.balance > 200",
    f"SELECT sum(o.amount) FROM shop.orders o JOIN (SELECT a.* FROM shop.customers a, shop.customers b "
    f"WHERE a.customer_id = b.customer_id AND b.city = 'Lyon') c ON c.customer_id = {CLEAN_BUYER}",
]


@pytest.mark.parametrize("sql", FILTERED)
def test_what_a_filter_on_the_other_side_leaves_out_is_not_lost(company: Company, sql: str):
    result = company.one("join loss", sql)
    assert result.outcome == "passed" and "0.0% of 600 rows" in result.detail, result
    # The same filter does not hide what the keys lose.
    dirty = company.one("join loss", sql.replace(CLEAN_BUYER, "o.buyer"))
    assert dirty.outcome == "failed" and "20.0% of 600 rows" in dirty.detail, dirty


def test_two_filters_that_meet_nowhere_are_no_broken_join(company: Company):
    sql = (
        f"SELECT count(*) FROM shop.orders o JOIN shop.customers c ON c.customer_id = {CLEAN_BUYER} "
        "WHERE o.order_id < 3 AND c.balance > 100000"
    )
    assert company.one("join loss", sql).outcome == "passed"


def test_a_loss_that_is_by_nature_is_told_and_passes(company: Company):
    sql = "SELECT count(DISTINCT o.order_id) FROM shop.orders o JOIN shop.items i ON i.order_id = o.order_id"
    assert company.one("join loss", sql).outcome == "passed"


def test_a_join_that_finds_nothing_fails_and_one_nobody_tested_leaves_doubt(company: Company):
    nothing = "SELECT count(*) FROM shop.orders o JOIN shop.customers c ON c.name = o.buyer"
    assert company.one("join loss", nothing).outcome == "failed"
    odd = "SELECT count(*) FROM shop.customers c JOIN trade.companies t ON t.employees = c.balance"
    assert company.one("join loss", odd).outcome == "doubt"
    kept = company.one("join loss", odd.replace("JOIN", "LEFT JOIN"))
    assert kept.outcome == "passed" and "outer" in kept.detail
    assert company.one("join loss", "SELECT count(*) FROM shop.orders").outcome == "not applicable"


def test_adding_up_rows_that_a_join_multiplied_fails(company: Company):
    inflated = "SELECT sum(o.amount) FROM shop.orders o JOIN shop.items i ON i.order_id = o.order_id"
    result = company.one("fan-out", inflated)
    assert result.outcome == "failed" and "several times" in result.detail
    for fine in (
        "SELECT sum(i.quantity) FROM shop.orders o JOIN shop.items i ON i.order_id = o.order_id",
        "SELECT sum(i.quantity * o.amount) FROM shop.orders o JOIN shop.items i ON i.order_id = o.order_id",
        "SELECT count(*) FROM shop.orders o JOIN shop.items i ON i.order_id = o.order_id",
        "SELECT sum(o.amount) FROM shop.orders o JOIN (SELECT DISTINCT order_id FROM shop.items) i ON i.order_id = o.order_id",
        "SELECT max(o.amount) FROM shop.orders o JOIN shop.items i ON i.order_id = o.order_id",
    ):
        assert company.one("fan-out", fine).outcome == "passed", fine


def test_rows_multiplied_by_a_table_further_on_are_seen(company: Company):
    sql = (
        f"SELECT c.city, sum(c.balance) FROM shop.customers c JOIN shop.orders o ON {CLEAN_BUYER} = c.customer_id "
        "JOIN shop.items i ON i.order_id = o.order_id GROUP BY ALL"
    )
    assert company.one("fan-out", sql).outcome == "failed"
    averaged = sql.replace("sum(c.balance)", "avg(o.amount)")
    assert company.one("fan-out", averaged).outcome == "doubt"


def test_counting_rows_of_many_to_many_leaves_doubt(company: Company):
    sql = "SELECT count(*) FROM shop.customers a JOIN shop.customers b ON a.city = b.city"
    assert company.one("fan-out", sql).outcome == "doubt"


def test_a_key_that_is_not_unique_any_more_is_seen(tmp_path: Path, company: Company):
    with sqlite3.connect(tmp_path / "shop.db") as connection:
        connection.execute("CREATE TABLE orders (id INTEGER, city TEXT, amount INTEGER)")
        connection.executemany("INSERT INTO orders VALUES (?, ?, ?)", [(n, "ab"[n % 2], n) for n in range(50)])
        connection.execute("CREATE TABLE cities (city TEXT, land TEXT)")
        connection.executemany("INSERT INTO cities VALUES (?, ?)", [("a", "X"), ("b", "Y"), ("b", "Y")])
    (tmp_path / "coset.yaml").write_text("sources:\n  shop: {location: shop.db}\n")
    from coset.evidence.work import here
    from coset.use_cases.comprehend import EVIDENCE, Settings, comprehend

    environment = load_environment(tmp_path)
    comprehend(environment, Settings(spread=here), stages=EVIDENCE)
    sql = "SELECT land, sum(amount) FROM shop.orders o JOIN shop.cities c ON c.city = o.city GROUP BY ALL"
    with QuerySession(environment) as session, EvidenceState.read(environment.state_folder) as state:
        results = {each.name: each for each in run_checks(Proposal("?", (sql,)), session, state)}
    assert results["fan-out"].outcome == "failed" and "75 rows" in results["fan-out"].detail


def test_joins_of_tables_that_stay_at_their_source_are_judged_by_what_was_tested(company: Company, tmp_path: Path):
    (tmp_path / "coset.yaml").write_text(
        f"sources:\n  shop: {{location: '{company.folder}/shop.db', limits: {{snapshot_rows: 10}}}}\n"
    )
    sql = f"SELECT count(*) FROM shop.orders o JOIN shop.customers c ON c.customer_id = {CLEAN_BUYER}"
    with QuerySession(load_environment(tmp_path)) as session:
        results = {each.name: each for each in run_checks(Proposal("?", (sql,)), session, company.state)}
    assert results["join loss"].outcome == "passed" and "tested" in results["join loss"].detail
    assert results["fan-out"].outcome == "not applicable"


# ---- duplicates


def test_equal_rows_leave_doubt(company: Company):
    assert company.one("duplicates", "SELECT city FROM shop.customers").outcome == "doubt"
    assert company.one("duplicates", "SELECT DISTINCT city FROM shop.customers").outcome == "passed"


def test_counting_rows_that_are_one_company_leaves_doubt(company: Company):
    counted = "SELECT count(*) FROM trade.companies"
    result = company.one("duplicates", counted)
    assert result.outcome == "doubt" and result.references == ("trade/companies",)
    assert (
        company.one("duplicates", "SELECT place, count(DISTINCT company) FROM trade.companies GROUP BY ALL").outcome
        == "doubt"
    )
    key = company.state.rows("SELECT key_expression FROM duplicates")[0]["key_expression"]
    together = f"SELECT count(DISTINCT {key}) FROM trade.companies"
    assert company.one("duplicates", together).outcome == "passed"
    import pyarrow as pa

    company.session.add_table(
        "clusters", pa.table({"company_no": list(range(280)), "cluster": [n // 2 for n in range(280)]})
    )
    joined = "SELECT count(DISTINCT k.cluster) FROM trade.companies c JOIN result.clusters k USING (company_no)"
    assert company.one("duplicates", joined).outcome == "passed"


# ---- nulls


def test_nulls_in_an_average_leave_doubt(company: Company):
    result = company.one("nulls", "SELECT avg(rating) FROM shop.orders")
    assert (
        result.outcome == "doubt" and "25.0% of 600" in result.detail and result.references == ("shop/orders.rating",)
    )
    assert company.one("nulls", "SELECT avg(amount) FROM shop.orders").outcome == "passed"
    assert company.one("nulls", "SELECT avg(rating) FROM shop.orders WHERE rating IS NOT NULL").outcome == "passed"
    assert company.one("nulls", "SELECT max(rating) FROM shop.orders").outcome == "passed"
    assert company.one("nulls", "SELECT count(*) FROM shop.orders").outcome == "not applicable"


def test_values_that_a_cast_loses_leave_doubt(company: Company):
    result = company.one("nulls", "SELECT max(try_cast(placed AS DATE)) FROM shop.orders")
    assert result.outcome == "doubt" and "300 of 600 values become NULL" in result.detail
    assert company.one("nulls", f"SELECT max({CLEAN_DATE}) FROM shop.orders").outcome == "passed"


# ---- units


def test_mixed_units_leave_doubt_until_they_are_converted(company: Company):
    wrong = "SELECT sum(try_cast(regexp_extract(weight, '[0-9]+') AS INTEGER)) FROM shop.orders"
    result = company.one("units", wrong)
    assert result.outcome == "doubt" and result.references == ("shop/orders.weight",)
    expression = company.state.rows("SELECT expression FROM diagnostics WHERE kind = 'mixed_units'")[0]["expression"]
    assert company.one("units", f"SELECT sum({expression}) FROM shop.orders o").outcome == "passed"
    through = f"WITH w AS (SELECT {expression} AS kilograms FROM shop.orders) SELECT sum(kilograms) FROM w"
    assert company.one("units", through).outcome == "passed"
    assert company.one("units", "SELECT sum(amount) FROM shop.orders").outcome == "passed"


# ---- cleaning


@pytest.mark.parametrize(
    ("sql", "column"),
    [
        ("SELECT count(*) FROM shop.orders WHERE placed > '2024-06-01'", "shop/orders.placed"),
        ("SELECT max(placed) FROM shop.orders", "shop/orders.placed"),
        ("SELECT max(try_cast(placed AS DATE)) FROM shop.orders", "shop/orders.placed"),
        ("SELECT price FROM shop.orders ORDER BY price DESC LIMIT 1", "shop/orders.price"),
        ("SELECT city, count(*) FROM shop.customers GROUP BY city", "shop/customers.city"),
        ("SELECT city, count(*) FROM shop.customers GROUP BY ALL", "shop/customers.city"),
        ("SELECT city, count(*) FROM shop.customers GROUP BY 1", "shop/customers.city"),
        ("SELECT count(DISTINCT city) FROM shop.customers", "shop/customers.city"),
        ("SELECT count(*) FROM shop.customers WHERE city IS NOT NULL", "shop/customers.city"),
        ("SELECT buyer, sum(amount) FROM shop.orders GROUP BY buyer", "shop/orders.buyer"),
        ("SELECT count(*) FROM shop.orders WHERE buyer = 'CUST-0007'", "shop/orders.buyer"),
        ("WITH x AS (SELECT buyer AS b FROM shop.orders) SELECT b, count(*) FROM x GROUP BY b", "shop/orders.buyer"),
        ("SELECT b FROM (SELECT price AS b FROM shop.orders) ORDER BY b", "shop/orders.price"),
        ("SELECT arg_max(order_id, price) FROM shop.orders", "shop/orders.price"),
        ("SELECT count(*) FROM shop.orders WHERE buyer LIKE 'CUST-000%'", "shop/orders.buyer"),
        ("SELECT count(*) FROM shop.orders WHERE regexp_matches(buyer, '^CUST')", "shop/orders.buyer"),
    ],
)  # fmt: skip
def test_a_dirty_column_used_as_it_is_leaves_doubt(company: Company, sql: str, column: str):
    result = company.one("cleaning", sql)
    assert result.outcome == "doubt" and column in result.references, result


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT count(*) FROM shop.orders WHERE {CLEAN_DATE} > DATE '2024-06-01'",
        f"SELECT max(d) FROM (SELECT {CLEAN_DATE} AS d FROM shop.orders)",
        "SELECT max(coalesce(try_strptime(placed, '%Y-%m-%d'), try_strptime(placed, '%d/%m/%Y'))) FROM shop.orders",
        "SELECT max(try_cast(regexp_replace(price, '[$,]', '', 'g') AS DOUBLE)) FROM shop.orders",
        "SELECT city, count(*) FROM shop.customers WHERE city <> 'N/A' GROUP BY city",
        "SELECT nullif(city, 'N/A') AS town, count(*) FROM shop.customers GROUP BY ALL",
        'SELECT CASE WHEN "city" IN (\'N/A\') THEN NULL ELSE "city" END AS town, count(*) FROM shop.customers GROUP BY ALL',
        "SELECT ltrim(buyer, '#') AS who, sum(amount) FROM shop.orders GROUP BY ALL",
        "SELECT count(*) FROM shop.orders WHERE regexp_replace(buyer, '^[#]+', '') = 'CUST-0007'",
        "SELECT buyer, placed, price FROM shop.orders WHERE order_id = 7",
        "SELECT count(buyer) FROM shop.orders",
        "SELECT order_id, any_value(buyer), any_value(placed), first(price) FROM shop.orders GROUP BY order_id",
        "SELECT arg_max(placed, amount), arg_min(price, amount) FROM shop.orders",
        "SELECT count(*) FROM shop.orders WHERE buyer ILIKE '%cust-0007%'",
        "SELECT count(*) FROM shop.orders WHERE regexp_matches(buyer, 'CUST-000[1-7]')",
    ],
)
def test_a_dirty_column_that_is_cleaned_or_only_shown_passes(company: Company, sql: str):
    assert company.one("cleaning", sql).outcome == "passed", company.one("cleaning", sql)


@pytest.fixture(scope="module")
def plant(tmp_path_factory: pytest.TempPathFactory):
    """Readings of sensors: units padded in every row, -999 where nothing was read."""
    folder = tmp_path_factory.mktemp("plant")
    with sqlite3.connect(folder / "plant.db") as connection:
        connection.execute("CREATE TABLE readings (id INTEGER PRIMARY KEY, unit TEXT, pressure REAL)")
        connection.executemany(
            "INSERT INTO readings VALUES (?, ?, ?)",
            [(n, f"{'   ' * 2}U{n % 12:03}", -999.0 if n % 20 == 0 else 2 + n % 70 / 10) for n in range(1, 1201)],
        )
    (folder / "coset.yaml").write_text("sources:\n  plant: {location: plant.db}\n")
    comprehend(load_environment(folder))
    made = Company(folder)
    yield made
    made.session.close()
    made.state.close()


def test_what_stands_for_nothing_matters_only_at_its_own_end(plant: Company):
    assert plant.one("cleaning", "SELECT min(pressure) FROM plant.readings").outcome == "doubt"
    assert plant.one("cleaning", "SELECT avg(pressure) FROM plant.readings").outcome == "doubt"
    assert plant.one("cleaning", "SELECT max(pressure) FROM plant.readings").outcome == "passed"


def test_values_that_are_all_padded_are_told_apart_as_they_are(plant: Company):
    assert plant.one("cleaning", "SELECT unit, count(*) FROM plant.readings GROUP BY unit").outcome == "passed"
    assert plant.one("cleaning", "SELECT count(*) FROM plant.readings WHERE unit = 'U003'").outcome == "doubt"


# ---- stored values


def test_a_value_written_otherwise_than_stored_fails(company: Company):
    sql = "SELECT name, balance FROM shop.customers WHERE customer_id = 'CUST-0003'"
    [(name, balance)] = company.session.sql(sql).rows()
    for fine in (name, [name, balance], {"name": name, "balance": balance}, f"{name} with {balance}", f"It is {name}."):
        assert company.one("stored values", sql, value=fine).outcome == "passed", fine
    for wrong in (name.lower(), f" {name.upper()} ", f"The customer is {name.upper()}."):
        result = company.one("stored values", sql, value=wrong)
        assert result.outcome == "failed" and name in result.detail, wrong
    for strange in ("Somebody Else", [name, balance + 1], f"{name} with {balance + 1}", balance + 1):
        assert company.one("stored values", sql, value=strange).outcome == "doubt", strange


def test_numbers_may_be_rounded_and_computed(company: Company):
    sql = "SELECT avg(amount), count(*) FILTER (WHERE rating = 5) / count(*) FROM shop.orders"
    [(mean, share)] = company.session.sql(sql).rows()
    for fine in (mean, round(mean, 2), f"{mean:.1f}", f"{mean:,.2f}", round(share * 100, 1), f"{share:.1%}"):
        assert company.one("stored values", sql, value=fine).outcome == "passed", fine
    assert company.one("stored values", sql, value=round(mean + 1, 2)).outcome == "doubt"
    assert company.one("stored values", sql, value=1234.5).outcome == "doubt"
    assert company.one("stored values", sql, value=1234.5, computed=(1234.5,)).outcome == "passed"


def test_a_statement_that_changes_letters_on_the_way_out_leaves_doubt(company: Company):
    result = company.one("stored values", "SELECT upper(name) FROM shop.customers WHERE balance = 103", value="?")
    assert result.outcome == "doubt" and result.references == ("shop/customers.name",)


# ---- reading statements


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM shop.orders QUALIFY row_number() OVER (PARTITION BY buyer ORDER BY amount DESC) = 1",
        "FROM shop.orders SELECT buyer WHERE amount > 3",
        "SELECT buyer FROM shop.orders UNION ALL SELECT customer_id FROM shop.customers",
        "SELECT o.* EXCLUDE (placed) FROM shop.orders o WHERE EXISTS (SELECT 1 FROM shop.items i WHERE i.order_id = o.order_id)",
        "SELECT list_transform([1, 2], lambda x: x + 1), unnest([1, 2])",
        "SELECT buyer, count(*) FILTER (WHERE amount > 3) FROM shop.orders GROUP BY GROUPING SETS ((buyer), ())",
        "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 5) SELECT sum(n) FROM t",
        "PIVOT (SELECT city, balance FROM shop.customers) ON city IN ('Lyon', 'Gent') USING sum(balance)",
        "SELECT (SELECT max(amount) FROM shop.orders o WHERE o.buyer = c.customer_id) FROM shop.customers c",
    ],
)  # fmt: skip
def test_every_kind_of_statement_is_checked_without_breaking(company: Company, sql: str):
    results = company.checked(sql)
    assert len(results) == len(CHECKS) and results["empty result"].outcome == "passed"


def test_columns_are_followed_to_where_they_are_stored(company: Company):
    statement = read_statement(
        "WITH a AS (SELECT lower(name) AS n, city FROM shop.customers), b AS (SELECT n AS m, city FROM a "
        "UNION ALL SELECT company, place FROM trade.companies) SELECT m, count(*) FROM b WHERE city = 'Lyon' GROUP BY m",
        TablesOfState(company.state),
    )
    assert statement is not None
    places = {(use.reference, use.place) for use in statement.uses}
    assert {
        ("shop/customers.name", "group"),
        ("trade/companies.company", "group"),
        ("shop/customers.city", "equal"),
    } <= places
    wrapped = [use for use in statement.uses if use.place == "group" and use.reference == "shop/customers.name"]
    assert [node.key for node in wrapped[0].within] == ["lower"]


# ---- copies, rules, code lists


@pytest.fixture(scope="module")
def ruled(company: Company, tmp_path_factory: pytest.TempPathFactory):
    """The company with a backup, a rule and two code lists that its comprehension is taken to have found."""
    folder = tmp_path_factory.mktemp("ruled") / "company"
    shutil.copytree(company.folder, folder)
    with EvidenceState.open(folder / ".coset") as state:
        for table in ("copies", "rules", "code_lists"):
            execute(state, f"DELETE FROM {table}")
        execute(state, "INSERT INTO copies VALUES ('shop/customers', 'crm/clients', 'backup', 0.9, 'none', [])")
        execute(
            state,
            "INSERT INTO rules VALUES ('rule 1', 'book#1', 'Orders with rating = 1 are left out of every figure. Amounts are in euro.', 'general', "
            "['shop/orders.rating', 'shop/orders.amount'], 'current'), ('rule 2', 'book#2', 'Orders without an amount are excluded.', 'general', "
            "['shop/orders.amount'], 'superseded'), ('rule 3', 'book#3', 'The currency is only filled since amount is.', "
            "'general', ['shop/orders.amount'], 'current'), ('rule 4', 'book#4', 'The turnover of an item is its pieces a "
            "month. Items with quantity = 1 are left out.', 'particular', ['shop/items.quantity'], 'current')",
        )
        execute(
            state,
            "INSERT INTO code_lists (column_reference, list_reference, code_column, label_column, condition, language, "
            "status, confidence, reasons) VALUES ('shop/orders.buyer', 'shop/customers', 'customer_id', 'name', NULL, 'en', "
            "'outdated', 0.9, []), ('shop/orders.buyer', 'crm/clients', 'id', 'name', NULL, 'en', 'current', 0.9, [])",
        )
    made = Company(folder)
    yield made
    made.session.close()
    made.state.close()


def test_a_copy_is_told_with_its_original(ruled: Company):
    found = ruled.one("copies", "SELECT count(*) FROM shop.customers")
    assert found.outcome == "doubt" and "backup of crm/clients" in found.detail
    assert ruled.one("copies", "SELECT count(*) FROM shop.orders").outcome == "passed"


def test_a_rule_in_force_whose_column_is_not_looked_at_is_told(ruled: Company):
    found = ruled.one("rules", "SELECT sum(amount) FROM shop.orders")
    assert found.outcome == "doubt" and "rating = 1" in found.detail and "without an amount" not in found.detail
    assert ruled.one("rules", "SELECT avg(rating) FROM shop.orders").outcome == "passed"
    applied = "WITH kept AS (SELECT * FROM shop.orders WHERE rating <> 1) SELECT sum(amount) FROM kept"
    assert ruled.one("rules", applied).outcome == "passed"
    assert ruled.one("rules", "SELECT count(*) FROM shop.customers").outcome == "passed"
    # "Only filled" chooses no rows.
    assert ruled.one("rules", "SELECT count(*) FROM shop.orders WHERE rating <> 1").outcome == "passed"


def test_a_rule_of_how_a_measure_is_computed_is_told_where_the_question_names_it(ruled: Company):
    sql = "SELECT count(*) FROM shop.items"
    assert ruled.one("rules", sql, question="How many items are there?").outcome == "passed"
    assert ruled.one("rules", sql, question="What is the turnover of items?").outcome == "doubt"
    assert ruled.one("rules", sql).outcome == "doubt", "nobody knows what was asked"


def test_a_code_decoded_with_an_outdated_list_is_told(ruled: Company):
    sql = "SELECT c.name, count(*) FROM shop.orders o JOIN shop.customers c ON o.buyer = c.customer_id GROUP BY ALL"
    found = ruled.one("code lists", sql)
    assert found.outcome == "doubt" and "crm/clients is valid" in found.detail
    assert ruled.one("code lists", "SELECT count(*) FROM shop.orders").outcome == "not applicable"


def test_loss_is_counted_on_the_rows_that_the_statement_touches(company: Company):
    raw = "SELECT count(*) FROM shop.orders o JOIN shop.customers c ON c.customer_id = o.buyer"
    assert company.one("join loss", raw).outcome == "failed"
    # Every fifth key has a stray sign; another join leaves those orders out.
    clean = f"{raw} JOIN (SELECT order_id FROM shop.orders WHERE order_id % 5 <> 0) k ON k.order_id = o.order_id"
    assert company.one("join loss", clean).outcome == "passed"
