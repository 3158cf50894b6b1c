"""ADBC drivers that run here: the same rows as by the native source, push-down as DuckDB computes, clear errors."""

from __future__ import annotations

import pytest

from coset.errors import CosetError
from coset.testing import check_source
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
