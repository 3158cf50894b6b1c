"""PIVOT without values: what is found, what is asked, and that the completed text means what DuckDB's own PIVOT means."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest

from coset.errors import NotAllowed, UserError
from coset.session.guard import check, is_no_select, parse
from coset.session.pivot import MAXIMUM_VALUES, pivots_without_values, with_values

SALES = """
CREATE TABLE sales (i INTEGER, s VARCHAR, b DECIMAL(6, 1), f BOOLEAN, d DATE, "a b" DOUBLE);
INSERT INTO sales VALUES
 (2, 'x', 1, true, '2024-02-01', 0.5), (10, 'it''s', 2, false, '2023-01-01', 1.5), (2, 'say "hi"', 3, NULL, NULL, 0.5),
 (NULL, 'x', 4, true, '2024-02-01', NULL), (-3, 'ä, (1)', 5, false, '2023-06-01', 1e20), (10, NULL, 6, true, '2024-02-01', 0.5),
 (2, '', 7, true, '2024-02-01', 0.5), (2, 'NULL', 8, true, '2024-02-01', 0.5), (10, 'X', 9, true, '2024-02-01', 0.5);
CREATE TABLE nothing AS FROM sales LIMIT 0;
CREATE TABLE names (i INTEGER, name VARCHAR);
INSERT INTO names VALUES (2, 'two'), (10, 'ten');
"""


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(config={"python_enable_replacements": False, "threads": 1}) as connection:
        connection.execute(SALES)
        yield connection


def complete(text: str, connection: duckdb.DuckDBPyConnection) -> str:
    """As the session does it: every question passes the guard before it runs."""
    while found := pivots_without_values(text):
        values = []
        for question in found.questions:
            check(parse(question), lambda table: True)
            values.append([row[0] for row in connection.execute(question).fetchall()])
        text = with_values(text, values)
    return text


def answer(text: str, connection: duckdb.DuckDBPyConnection) -> tuple[list[tuple[str, str]], list[str]]:
    result = connection.execute(text)
    columns = [(name, str(kind)) for name, kind, *_ in result.description]
    return columns, sorted(repr(row) for row in result.fetchall())


STATEMENTS = [
    "PIVOT sales ON i USING sum(b)",
    "PIVOT sales ON s USING sum(b) GROUP BY i",
    "PIVOT sales ON f USING sum(b) GROUP BY i",
    "PIVOT sales ON d USING sum(b) GROUP BY i",
    'PIVOT sales ON "a b" USING sum(b) GROUP BY i',
    "PIVOT sales ON i",
    "pivot sales on i using sum(b), count(*) as n group by s order by s limit 3",
    "PIVOT_WIDER sales ON i USING sum(b)",
    "PIVOT sales ON d, f USING sum(b) GROUP BY i",
    "PIVOT sales ON f, s IN ('x', 'X') USING sum(b) GROUP BY i",
    "PIVOT sales ON s IN ('x'), f USING count(*) GROUP BY i",
    "PIVOT sales ON year(d) USING sum(b) GROUP BY i",
    "PIVOT sales ON year(d) IN (2024), f USING sum(b) GROUP BY i",
    "PIVOT sales ON s || '-' || i USING sum(b) GROUP BY f",
    "PIVOT sales ON i * 2 + 1 USING sum(b) GROUP BY f",
    "PIVOT sales ON i * 2 IN (4, 20) USING sum(b) GROUP BY f",
    "PIVOT sales ON i NOT IN (2) USING sum(b) GROUP BY f",
    "PIVOT sales ON i > 2 AND f USING sum(b) GROUP BY s",
    "PIVOT sales ON (i, f) USING sum(b) GROUP BY s",
    "PIVOT sales ON CASE WHEN i = 2 THEN 'two' ELSE 'more' END USING sum(b) GROUP BY s",
    "PIVOT sales ON coalesce(s, 'none') USING sum(b) GROUP BY i",
    "PIVOT sales ON date_trunc('month', d) USING sum(b) GROUP BY i",
    "PIVOT (SELECT i, s, b FROM sales WHERE i > 0) ON i USING sum(b)",
    "PIVOT sales JOIN names USING (i) ON name USING sum(b) GROUP BY f",
    "PIVOT sales NATURAL JOIN names ON name USING sum(b) GROUP BY f",
    "PIVOT (sales JOIN names ON sales.i = names.i) ON name USING sum(b) GROUP BY f",
    "WITH x AS (SELECT * FROM sales WHERE f) PIVOT x ON i USING sum(b)",
    "WITH x AS MATERIALIZED (FROM sales), y(i, b) AS (SELECT i, b FROM x) PIVOT y ON i USING sum(b)",
    "WITH RECURSIVE x(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM x WHERE n < 4) PIVOT x ON n USING count(*)",
    "SELECT * FROM (PIVOT sales ON i USING sum(b) GROUP BY s)",
    "FROM (PIVOT sales ON i USING sum(b) GROUP BY s) AS p JOIN names ON true",
    "WITH x AS (FROM sales) SELECT * FROM (PIVOT x ON i USING sum(b) GROUP BY s) WHERE s = 'x'",
    "WITH p AS (PIVOT sales ON i USING sum(b) GROUP BY s) SELECT * FROM p",
    "WITH p AS (PIVOT sales ON i USING sum(b) GROUP BY s) PIVOT p ON s USING count(*)",
    "PIVOT (PIVOT sales ON i USING sum(b) GROUP BY s) ON s USING count(*)",
    "(PIVOT sales ON f USING sum(b) GROUP BY s) UNION ALL (PIVOT sales ON f USING count(*) GROUP BY s)",
    "PIVOT sales ON f USING sum(b) GROUP BY s UNION ALL SELECT 'z', 1, 2",
    "SELECT (SELECT count(*) FROM (PIVOT sales ON i USING sum(b) GROUP BY s)) AS n",
    "DESCRIBE PIVOT sales ON i USING sum(b)",
    "SUMMARIZE PIVOT sales ON f USING sum(b) GROUP BY s",
    "PIVOT sales /* ON s */ ON -- USING\n i -- the number\n USING sum(b) -- done",
    "PIVOT sales ON s || ' ON x USING ('/* ) */ USING sum(b) GROUP BY f;",
    "PIVOT sales ON s || $$ USING , $$ || E'\\', ' USING sum(b) GROUP BY f",
    "SELECT * FROM sales PIVOT (sum(b) FOR f IN (true, false) GROUP BY s) AS x, (PIVOT sales ON f USING count(*)) AS y",
]


@pytest.mark.parametrize("text", STATEMENTS)
def test_the_completed_text_gives_what_duckdb_gives(text: str, connection: duckdb.DuckDBPyConnection):
    assert is_no_select(parse(text))
    completed = complete(text, connection)
    check(parse(completed), lambda table: True)
    assert answer(completed, connection) == answer(text, connection)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM sales",
        "PIVOT sales ON i IN (2, 10) USING sum(b)",
        "PIVOT sales ON (i) IN (2, 10) USING sum(b)",
        "PIVOT sales ON i IN some_enum USING sum(b)",
        "SELECT * FROM sales PIVOT (sum(b) FOR i IN (2, 10))",
        "WITH x AS (FROM sales) SELECT * FROM (FROM x) PIVOT (sum(b) FOR i IN (2, 10) GROUP BY s)",
        "UNPIVOT sales ON i, b",
        "SELECT 'PIVOT sales ON i USING sum(b)' -- PIVOT sales ON i",
        'SELECT "PIVOT" FROM sales AS "PIVOT"',
        "DROP TABLE sales",
        "not SQL at all (",
        "PIVOT",
        "PIVOT sales ON",
        ") PIVOT sales ON i (",
        "",
    ],
)
def test_nothing_is_found_where_no_values_are_missing(text: str):
    found = pivots_without_values(text)
    assert not found or found.questions == ()
    assert with_values(text, []) == text


def test_a_question_is_a_plain_select_of_sorted_texts_without_null(connection: duckdb.DuckDBPyConnection):
    (question,) = pivots_without_values("PIVOT sales ON i USING sum(b)").questions
    assert check(parse(question), lambda table: True).tables
    assert connection.execute(question).fetchall() == [("-3",), ("10",), ("2",)]


def test_a_pivot_is_asked_only_after_the_one_it_reads():
    found = pivots_without_values("PIVOT (PIVOT sales ON i USING sum(b) GROUP BY s) ON s USING count(*)")
    assert [column.expression for column in found.columns] == ["i"]


def test_a_pivot_in_with_sees_the_names_before_it(connection: duckdb.DuckDBPyConnection):
    """DuckDB's own PIVOT does not: it looks for its values outside of the WITH."""
    text = "WITH x AS (FROM sales), p AS (PIVOT x ON i USING sum(b) GROUP BY s), later AS (FROM x) SELECT * FROM p"
    plain = "PIVOT sales ON i USING sum(b) GROUP BY s"
    assert answer(complete(text, connection), connection) == answer(plain, connection)


@pytest.mark.parametrize("source", ["nothing", "(FROM sales WHERE i IS NULL)"])
def test_no_values_at_all_are_told(source: str, connection: duckdb.DuckDBPyConnection):
    with pytest.raises(UserError, match="PIVOT on 'i' finds no values"):
        complete(f"PIVOT {source} ON i USING sum(b)", connection)


def test_too_many_values_are_refused_with_a_way_out(connection: duckdb.DuckDBPyConnection):
    text = f"PIVOT (SELECT * FROM range({MAXIMUM_VALUES + 1})) ON range USING count(*)"
    with pytest.raises(UserError, match=r"more than 1,000 values.*IN \('a', 'b'\)"):
        complete(text, connection)
    allowed = f"PIVOT (SELECT * FROM range({MAXIMUM_VALUES})) ON range USING count(*)"
    assert len(answer(complete(allowed, connection), connection)[0]) == MAXIMUM_VALUES


@pytest.mark.parametrize(
    "text",
    [
        "PIVOT read_csv('x.csv') ON i USING sum(b)",
        "PIVOT (SELECT * FROM read_text('x')) ON content USING count(*)",
        "PIVOT sales ON (SELECT content FROM read_text('x')) USING count(*)",
        "WITH x AS (DELETE FROM sales RETURNING *) PIVOT x ON i USING count(*)",
        "WITH x AS (COPY sales TO 'y') PIVOT x ON i USING count(*)",
        "PIVOT duckdb_settings() ON name USING count(*)",
    ],
)
def test_a_question_about_something_dangerous_is_refused(text: str):
    for question in pivots_without_values(text).questions:
        with pytest.raises(NotAllowed):
            check(parse(question), lambda table: True)


@pytest.mark.parametrize(
    "text",
    [
        "PIVOT sales ON i USING sum(getenv('x'))",
        "PIVOT sales ON i USING sum(b); DROP TABLE sales",
        "CREATE TABLE stolen AS PIVOT sales ON i USING sum(b)",
        "COPY (PIVOT sales ON i USING sum(b)) TO 'stolen.csv'",
    ],
)
def test_a_completed_text_is_checked_like_any_other(text: str):
    completed = with_values(text, [["2", "10"] for _ in pivots_without_values(text).questions])
    with pytest.raises(NotAllowed):
        check(parse(completed), lambda table: True)


def test_a_value_cannot_break_out_of_its_quotes():
    value = "x'), (SELECT content FROM read_text('canary.txt')) --"
    completed = with_values("PIVOT sales ON s USING count(*)", [[value]])
    tree = parse(completed)
    check(tree, lambda table: True)
    entry = tree["statements"][0]["node"]["from_table"]["pivots"][0]["entries"]
    assert [e["star_expr"]["literal"]["text"] for e in entry] == [value]


def test_odd_texts_of_every_length_end_without_error():
    text = "WITH a AS (PIVOT x ON 'q' || \"w\" /* c */ , $t$ y $t$ USING sum([1]{2})) PIVOT a ON b; -- e"
    for cut in range(len(text)):
        pivots_without_values(text[:cut])
        pivots_without_values(text[cut:])
    pivots_without_values("$a$ " * 20_000)
    pivots_without_values("/*" * 50_000)
    pivots_without_values("(" * 100_000)
    pivots_without_values("PIVOT x ON a, " * 5_000)
