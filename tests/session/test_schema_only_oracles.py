"""Values of a schema-only source cannot be read by counting: no predicate, join, group, order, extreme, error or sample."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator

import pytest

import coset
from coset.errors import CosetError

ORACLES = """
SELECT count(*) FROM hr.pay WHERE salary > 3010
SELECT count(*) FROM hr.pay WHERE salary IS NOT NULL AND salary > 3010
SELECT count(*) FILTER (WHERE salary > 3010) FROM hr.pay
SELECT count(CASE WHEN salary > 3010 THEN 1 END) FROM hr.pay
SELECT count(nullif(salary, 3010)) FROM hr.pay
SELECT count(DISTINCT salary // 10) FROM hr.pay
SELECT count(DISTINCT salary) FROM hr.pay GROUP BY person
SELECT count(*) FROM hr.pay GROUP BY salary HAVING min(salary) > 3
SELECT count(*) c FROM hr.pay GROUP BY salary ORDER BY salary LIMIT 1
SELECT count(*) FROM hr.pay HAVING max(salary) > 3010
SELECT min(salary) FROM hr.pay
SELECT sum(salary) FROM hr.pay
SELECT approx_count_distinct(salary) FROM hr.pay
SELECT count(*) FROM hr.pay p JOIN o.pay q ON p.salary = q.guess
SELECT count(*) FROM hr.pay NATURAL JOIN o.pay
SELECT count(*) FROM o.pay WHERE guess IN (SELECT salary FROM hr.pay)
SELECT count(*) FROM o.pay WHERE EXISTS (SELECT 1 FROM hr.pay p WHERE p.salary = guess)
SELECT (SELECT count(*) FROM hr.pay WHERE salary = guess) FROM o.pay
SELECT 1/(SELECT count(*) FROM hr.pay WHERE salary > 3049)
SELECT count(*) FROM hr.pay WHERE salary = salary
SELECT count(*) FROM hr.pay WHERE (salary > 3010) IS NULL
SELECT count(*) FROM hr.pay WHERE CASE WHEN salary > 3010 THEN NULL ELSE 1 END IS NULL
SELECT count(*) FROM hr.pay WHERE nullif(salary,3010) IS NULL
SELECT count(*) FROM hr.pay WHERE try_cast(person AS INT) IS NULL
SELECT count(*) FROM hr.pay WHERE coalesce(salary,1) IS NOT NULL
SELECT count(salary) FROM (SELECT * FROM hr.pay LIMIT 1)
SELECT count(*) FROM (SELECT DISTINCT salary FROM hr.pay)
SELECT count(*) FROM (SELECT * FROM hr.pay ORDER BY salary LIMIT 3) WHERE id IS NULL
SELECT count(*) FROM hr.pay TABLESAMPLE 10%
SELECT count(*) FROM hr.pay USING SAMPLE 1
SELECT count(*) FROM hr.pay LIMIT (SELECT salary FROM hr.pay LIMIT 1)
SELECT count(*) OVER (ORDER BY salary) FROM hr.pay
SELECT count(*) FROM hr.pay QUALIFY row_number() OVER (ORDER BY salary) = 1
SELECT * FROM hr.pay
SELECT id FROM hr.pay
SELECT rowid FROM hr.pay
SELECT count(*) FROM hr.pay WHERE rowid > 3
SELECT any_value(salary) FROM hr.pay
SELECT list(salary) FROM hr.pay
SELECT count(*), salary FROM hr.pay GROUP BY ALL
SELECT count(*) FROM hr.pay GROUP BY CUBE (salary)
SELECT count(DISTINCT person) FROM hr.pay WHERE person LIKE 'Q%'
SELECT count(*) FROM hr.v WHERE salary > 3010
SELECT count(DISTINCT (salary, person)) FROM hr.pay
SELECT count(DISTINCT {'a': salary}) FROM hr.pay
SELECT count(DISTINCT left(person,7)) FROM hr.pay
SELECT count(salary ORDER BY person) FROM hr.pay
SELECT count(*) + max(salary) FROM hr.pay
SELECT count(*) FROM hr.pay UNION ALL SELECT salary FROM hr.pay
WITH x AS (SELECT * FROM hr.pay) SELECT count(*) FROM x WHERE salary > 3010
WITH x AS (SELECT salary > 3010 AS b FROM hr.pay) SELECT count(b) FROM x WHERE b IS NULL
SELECT count(b) FROM (SELECT nullif(salary, 3010) AS b FROM hr.pay)
SELECT count(*) FROM (FROM hr.pay WHERE salary > 3010)
FROM hr.pay SELECT count(*) WHERE salary > 3010
SUMMARIZE hr.pay
PIVOT hr.pay ON person USING count(*)
SELECT count(*) FROM (PIVOT hr.pay ON salary USING count(*))
SELECT count(*) FROM (UNPIVOT hr.pay ON salary INTO NAME n VALUE v)
SELECT count(*) FROM o.pay ASOF JOIN hr.pay ON guess >= salary
SELECT count(*) FROM o.pay POSITIONAL JOIN hr.pay
SELECT count(*) FROM o.pay SEMI JOIN hr.pay ON guess = salary
SELECT count(*) FROM o.pay, LATERAL (SELECT 1 FROM hr.pay WHERE salary = guess)
SELECT count(COLUMNS(*)) FROM hr.pay
SELECT count(COLUMNS(c -> c = 'salary')) FROM hr.pay
SELECT count(salary) FROM hr.pay WHERE person IS NULL OR salary > 5
SELECT count(*) FROM hr.pay WHERE NOT (salary IS NULL OR salary < 3010)
SELECT count(*) FROM hr.pay WHERE person IS DISTINCT FROM 'Quokka1'
SELECT count(*) FROM hr.pay WHERE salary BETWEEN 1 AND 2
SELECT count(DISTINCT person COLLATE nocase) FROM hr.pay
SELECT count(*) FROM hr.pay WHERE error(person) IS NULL
SELECT count(*) FROM hr.pay WHERE CAST(person AS INT) IS NULL
SELECT count(DISTINCT CAST(person AS INT)) FROM hr.pay
SELECT count(*) FROM hr.pay AS t(a,b,c) WHERE c > 3010
SELECT count(*) FROM hr.pay AS t(a,b,c) WHERE c IS NULL
SELECT bool_or(salary > 3010) FROM hr.pay
SELECT histogram(salary) FROM hr.pay
SELECT count(*) FROM hr.pay, hr.pay b WHERE pay.salary = b.salary
SELECT count(*) FROM hr.pay WHERE salary > ANY (SELECT 3010)
SELECT count_if(salary > 3010) FROM hr.pay
SELECT sum(1) FROM hr.pay WHERE salary > 3010
EXPLAIN SELECT count(*) FROM hr.pay
EXPLAIN ANALYZE SELECT count(*) FROM hr.pay WHERE salary > 3010
""".strip().splitlines()
HONEST = (
    ("SELECT count(*) FROM hr.pay", 50),
    ("SELECT count(*) FROM hr.v", 50),
    ("SELECT count(salary), count(DISTINCT person) FROM hr.pay", 50),
    ("SELECT count(*) FROM hr.pay WHERE salary IS NULL", 0),
)


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[coset.Environment]:
    folder = tmp_path_factory.mktemp("schema_only")
    for name, table, rows in (
        (
            "hr",
            "pay(id INTEGER PRIMARY KEY, person TEXT, salary INT)",
            [(n, f"Quokka{n}", 71000 + n) for n in range(50)],
        ),
        ("open", "pay(id INT, guess INT)", [(n, 71000 + n) for n in range(50)]),
    ):
        with sqlite3.connect(folder / f"{name}.db") as database:
            database.execute(f"CREATE TABLE {table}")
            database.executemany(f"INSERT INTO pay VALUES ({', '.join('?' * len(rows[0]))})", rows)
            database.execute("CREATE VIEW v AS SELECT * FROM pay")
    (folder / "coset.yaml").write_text(
        "sources:\n  hr: {location: hr.db, schema_only: true}\n  o: {location: open.db}\n"
    )
    with coset.open(folder) as environment:
        yield environment
    shutil.rmtree(folder)


@pytest.mark.parametrize("statement", ORACLES)
def test_nothing_but_plain_counts_is_answered(statement: str, environment: coset.Environment):
    with pytest.raises(CosetError) as told:
        environment.sql(statement.replace("30", "710"))
    words = str(told.value)
    assert "Quokka" not in words and not any(str(71000 + number) in words for number in range(50) if number != 10)


@pytest.mark.parametrize(("statement", "first"), HONEST)
def test_plain_counts_are_answered(statement: str, first: int, environment: coset.Environment):
    assert environment.sql(statement).rows[0][0] == first


def test_looking_for_a_value_tells_nothing_of_whether_it_is_there(environment: coset.Environment):
    environment.comprehend(jobs=1)

    def said_of(name: str) -> list[str]:
        return [
            line.replace(name, "X") for line in str(environment.view(f"pay of {name}")).splitlines() if name in line
        ]

    assert said_of("Quokka12") == said_of("Quokka99")
