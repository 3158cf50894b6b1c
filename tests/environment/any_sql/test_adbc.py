"""ADBC drivers that run here: the same rows as by the native source, push-down as DuckDB computes, clear errors."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from coset.errors import CosetError
from coset.testing import check_source
from engines.flight_sql import running_flight_sql
from environment.any_sql.shops import opened, rows_of


@pytest.mark.parametrize("engine", ["sqlite"])
def test_an_adbc_driver_passes_the_kit_and_gives_the_native_rows(shops, engine):
    pytest.importorskip(f"adbc_driver_{engine}")
    shop = shops(engine)
    location = f"adbc+{engine}://{shop.native if engine == 'sqlite' else shop.native.partition('://')[2]}"
    location = location.replace("sqlite:///", "sqlite:////", 1) if engine == "sqlite" else location
    report = check_source(
        lambda: opened(location, "adbc"),
        faults={"not there": lambda: opened(location + "_missing", "adbc")},
    )
    assert report.tables == 2 and report.rows == 306 and "compare:number" in report.pushed
    source, native = opened(location, "adbc"), opened(shop.native, shop.kind)
    assert rows_of(source)["orders"] == rows_of(native)["orders"]
    source.close()
    native.close()


TYPES = """
CREATE TABLE odd (id int PRIMARY KEY, exact numeric(12,3), free numeric, flag boolean, at timestamptz, key uuid,
    notes jsonb, span interval, fixed char(5), day date, parts int[]);
INSERT INTO odd VALUES
    (1, 1.250, 1.23456789, true, '2020-01-01 00:00:00+02', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '{"a": 1}', '1 day',
     'ab', '2020-02-29', '{1,2}'),
    (2, -7, 1e30, false, '1999-12-31 23:59:59.123456+00', NULL, '[]', '01:00:00', 'b', NULL, '{}'),
    (3, NULL, NULL, NULL, NULL, 'b0eebc99-9c0b-4ef8-bb6d-6bb9bd380a12', NULL, NULL, NULL, '2024-06-30', NULL);
"""


@pytest.fixture(scope="module")
def odd(postgresql_server):
    url = postgresql_server.create_database("odd_types")
    postgresql_server.run(url, TYPES)
    return url


@pytest.mark.parametrize("way", ["adbc", "sqlalchemy", "postgresql"])
def test_types_of_postgresql_pass_the_kit_by_every_way(odd, way):
    pytest.importorskip("adbc_driver_postgresql")
    scheme = {"adbc": "adbc+postgresql", "sqlalchemy": "postgresql+psycopg", "postgresql": "postgresql"}[way]
    location = odd.replace("postgresql", scheme, 1)
    report = check_source(lambda: opened(location, way), probes=1)
    assert (report.tables, report.rows) == (1, 3) and {"compare:number", "compare:boolean"} <= report.pushed
    source = opened(location, way)
    (table,) = source.tables()
    types = {column.name: column.type for column in table.columns}
    source.close()
    assert types["exact"] == "DECIMAL(12,3)" and types["at"] == "TIMESTAMP WITH TIME ZONE"
    assert (types["key"], types["flag"]) == ("UUID", "BOOLEAN")


def test_a_shop_in_postgresql_is_read_by_adbc_as_by_its_own_source(shops):
    pytest.importorskip("adbc_driver_postgresql")
    shop = shops("postgresql")
    location = shop.native.replace("postgresql", "adbc+postgresql", 1)
    report = check_source(lambda: opened(location, "adbc"), probes=1)
    assert report.rows == 306 and {"aggregate:sum", "compare:text", "group:text"} <= report.pushed
    found = []
    for place, kind in ((shop.native, shop.kind), (location, "adbc")):
        source = opened(place, kind)
        found.append(rows_of(source))
        source.close()
    assert found[0] == found[1]


@pytest.fixture
def flight_sql(shops, tmp_path):
    pytest.importorskip("adbc_driver_flightsql")
    path = shutil.copy(shops("duckdb").native, tmp_path / "shop.duckdb")
    with running_flight_sql(Path(path)) as address:
        yield f"grpc://{address}"


def test_flight_sql_passes_the_kit_and_gives_the_rows_of_the_engine_behind_it(shops, flight_sql):
    report = check_source(
        lambda: opened(flight_sql, "adbc"),
        faults={"no server": lambda: opened("grpc://127.0.0.1:9", "adbc", connect_seconds=0.5)},
        probes=1,
    )
    assert (report.tables, report.rows) == (2, 306)
    wanted = {"compare:number", "compare:text", "compare:time", "group:text", "aggregate:sum", "order", "limit"}
    assert wanted <= report.pushed
    found = []
    for location, kind in ((shops("sqlite").native, "sqlite"), (flight_sql, "adbc")):
        source = opened(location, kind)
        found.append(rows_of(source)["orders"])
        source.close()
    assert found[0] == found[1]


def test_a_driver_that_is_missing_is_named():
    with pytest.raises(CosetError, match="pip install adbc-driver-nosuch"):
        opened("adbc+nosuch://host/db", "adbc").tables()


def test_nothing_can_be_written(shops):
    pytest.importorskip("adbc_driver_sqlite")
    source = opened(f"adbc+sqlite:///{shops('sqlite').native}", "adbc")
    connection = source._connect()
    with pytest.raises(Exception, match=r"(?i)read.?only"), connection.cursor() as cursor:
        cursor.execute("DELETE FROM orders")
    connection.close()
