"""What roles, readings and written SQL make of joins that values propose: real comprehension over small databases."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np

from coset.environment.configuration import load_environment
from coset.environment.corrections import Join
from coset.environment.source import Column
from coset.relations.joins.column_values import JoinableTable
from coset.relations.joins.find import believe, empty_memory, relate, remember
from coset.relations.joins.judging import Background, Roles
from coset.state.joins import Profiles, ReadName
from coset.state.objects import Reference, Relation

ATTRIBUTES = ("identifier", "count")


def tables_of(connection: duckdb.DuckDBPyConnection) -> list[JoinableTable]:
    connection.execute("CREATE TABLE airports AS SELECT i AS id, 'place ' || i AS town FROM range(1, 401) t(i)")
    connection.execute("CREATE TABLE cars AS SELECT i AS car, (i * 37) % 300 + 50 AS power FROM range(1, 2001) t(i)")
    connection.execute(
        "CREATE TABLE people AS SELECT upper(substr(md5(i::VARCHAR), 1, 10)) AS k1, 'x' || i AS x FROM range(300) t(i)"
    )
    connection.execute(
        "CREATE TABLE visits AS SELECT i AS n, upper(substr(md5((i % 300)::VARCHAR), 1, 10)) AS who FROM range(900) t(i)"
    )
    found = []
    for name in ("airports", "cars", "people", "visits"):
        columns = tuple(
            Column(row[0], row[1], row[0], row[1]) for row in connection.execute(f"DESCRIBE {name}").fetchall()
        )
        [(rows,)] = connection.execute(f"SELECT count(*) FROM {name}").fetchall()
        found.append(JoinableTable(Reference("db", None, name), name, columns, rows))
    return found


def background(written: frozenset[frozenset[str]] = frozenset(), measure: str = "db/cars.power") -> Background:
    keys = ("db/airports.id", "db/cars.car", "db/people.k1", "db/visits.who", "db/visits.n")
    profiles = {key: np.array([0.95, 0.05]) for key in keys} | {measure: np.array([0.05, 0.95])}
    readings = {"db/cars.power": (ReadName("power", 0.9),)}
    return Background(Profiles(ATTRIBUTES, profiles), Profiles((), {}), readings, written)


def believed(given: Background, said: tuple[Join, ...] = ()) -> dict[tuple[str, str], float]:
    connection = duckdb.connect()
    tables = tables_of(connection)
    memory = empty_memory()
    remember(memory, connection, tables)
    relate(memory, connection, tables)
    found = believe(memory, connection, tables, given, said=said)
    return {(str(each.left[0]), str(each.right[0])): each.confidence for each in found}


def test_a_measure_inside_a_dense_key_is_no_join():
    assert not {pair for pair in believed(background()) if "db/cars.power" in pair}


def test_telling_keys_join_whatever_they_are_called():
    assert believed(background())["db/visits.who", "db/people.k1"] >= 0.8


def test_the_counters_of_two_tables_do_not_join():
    assert not {pair for pair in believed(background()) if {"db/visits.n", "db/cars.car"} & set(pair)}


def test_a_join_that_people_wrote_is_believed_though_roles_speak_against_it():
    written = frozenset({frozenset(("db/cars.power", "db/airports.id"))})
    assert believed(background(written))["db/cars.power", "db/airports.id"] >= 0.95


def test_a_rejected_join_does_not_come_back_when_it_is_judged():
    said = (Join(left=("db/visits.who",), right=("db/people.k1",), rejected=True),)
    assert ("db/visits.who", "db/people.k1") not in believed(background(), said)


def test_roles_of_a_column_nobody_realised_are_none():
    assert Background().roles("db/nothing.x") == Roles()


def judged_joins(attributes: dict[str, str], *statements: str) -> dict[tuple[str, str], Relation]:
    """The joins of tables made by these statements, their columns being what `attributes` says."""
    connection = duckdb.connect()
    for each in statements:
        connection.execute(each)
    tables = []
    for (name,) in connection.execute("SELECT table_name FROM duckdb_tables() ORDER BY 1").fetchall():
        columns = tuple(
            Column(row[0], row[1], row[0], row[1]) for row in connection.execute(f'DESCRIBE "{name}"').fetchall()
        )
        [(rows,)] = connection.execute(f'SELECT count(*) FROM "{name}"').fetchall()
        tables.append(JoinableTable(Reference(name.split("_")[0], None, name), f'"{name}"', columns, rows))
    names = tuple(dict.fromkeys(attributes.values()))
    profiles = {column: np.array([0.95 * (each == name) for name in names]) for column, each in attributes.items()}
    memory = empty_memory()
    remember(memory, connection, tables)
    relate(memory, connection, tables)
    found = believe(memory, connection, tables, Background(Profiles(names, profiles)))
    return {(str(each.left[0]), str(each.right[0])): each for each in found}


CODES = (
    "CREATE TABLE erp_parts AS SELECT 'TV-' || (100000 + i * 977) || '-0' || i % 7 AS part, 'p' || i AS text "
    "FROM range(400) t(i)"
)


def test_a_code_is_found_whatever_stands_around_and_inside_it_on_both_sides():
    found = judged_joins(
        {"erp/erp_parts.part": "identifier", "qms/qms_claims.prt": "identifier"},
        CODES,
        "CREATE TABLE qms_claims AS SELECT i AS n, replace(substr(part, 4), '-', '.') || '/C' AS prt "
        "FROM erp_parts, range(3) t(i)",
    )
    join = found["qms/qms_claims.prt", "erp/erp_parts.part"]
    assert join.left_match.value == join.right_match.value == 1.0


def test_where_a_subset_is_referred_to_the_whole_that_others_refer_to_is_offered_too():
    connection = [
        "CREATE TABLE erp_addresses AS SELECT 100000 + i * 613 AS ad_key, 'n' || i AS name FROM range(1000) t(i)",
        "CREATE TABLE erp_suppliers AS SELECT ad_key AS su_key, 'x' || name AS y FROM erp_addresses LIMIT 160",
        "CREATE TABLE qms_audits AS SELECT i AS n, 'V' || lpad(su_key::VARCHAR, 8, '0') AS vndno FROM erp_suppliers, "
        "range(3) t(i)",
        "CREATE TABLE erp_calls AS SELECT ad_key AS who, i AS n FROM erp_addresses, range(2) t(i)",
        "CREATE TABLE erp_visits AS SELECT ad_key AS whom, i AS n FROM erp_addresses, range(2) t(i)",
    ]
    keys = ("erp/erp_addresses.ad_key", "erp/erp_suppliers.su_key", "qms/qms_audits.vndno", "erp/erp_calls.who",
            "erp/erp_visits.whom")  # fmt: skip
    found = judged_joins(dict.fromkeys(keys, "identifier"), *connection)
    assert ("qms/qms_audits.vndno", "erp/erp_suppliers.su_key") in found
    assert ("qms/qms_audits.vndno", "erp/erp_addresses.ad_key") in found


def test_a_zero_that_stands_for_nothing_hides_no_reference_to_the_own_table():
    key = "upper(substr(md5(({})::VARCHAR), 1, 9))"
    found = judged_joins(
        {"crm/crm_people.id": "identifier", "crm/crm_people.survivor": "identifier"},
        f"CREATE TABLE crm_people AS SELECT {key.format('i')} AS id, CASE WHEN i % 20 = 0 THEN {key.format('(i + 1)')} "
        "ELSE '0' END AS survivor, 'n' || i AS name FROM range(2001) t(i)",
    )
    assert ("crm/crm_people.survivor", "crm/crm_people.id") in found


def test_a_dense_number_that_names_earlier_rows_of_its_table_is_told_from_one_that_does_not():
    columns = ("mes/mes_scrap.id_scrap", "mes/mes_scrap.id_reversed", "mes/mes_scrap.id_shift")
    found = judged_joins(
        dict.fromkeys(columns, "identifier"),
        "CREATE TABLE mes_scrap AS SELECT i AS id_scrap, CASE WHEN i % 25 = 0 THEN i - 7 END AS id_reversed, "
        "CASE WHEN i % 10 = 3 THEN (i * 7919) % 2000 + 1 END AS id_shift, i % 9 AS weight FROM range(1, 2001) t(i)",
    )
    assert ("mes/mes_scrap.id_reversed", "mes/mes_scrap.id_scrap") in found
    assert ("mes/mes_scrap.id_shift", "mes/mes_scrap.id_scrap") not in found


def test_a_second_name_of_the_row_itself_refers_to_nothing():
    found = judged_joins(
        dict.fromkeys(("a/a_t.code", "a/a_t.same"), "identifier"),
        "CREATE TABLE a_t AS SELECT substr(md5(i::VARCHAR), 1, 10) AS code, CASE WHEN i % 5 = 0 THEN "
        "substr(md5(i::VARCHAR), 1, 10) END AS same, 'n' || i AS text FROM range(900) t(i)",
    )
    assert ("a/a_t.same", "a/a_t.code") not in found


def test_a_few_numbers_far_off_do_not_make_serial_numbers_telling():
    found = judged_joins(
        dict.fromkeys(("fsa/fsa_units.unit", "dwh/dwh_sales.sales_key"), "identifier"),
        "CREATE TABLE fsa_units AS SELECT 'U' || lpad((CASE WHEN i > 1960 THEN 900000 + i ELSE i END)::VARCHAR, 6, '0') "
        "AS unit, 'm' || i % 30 AS model FROM range(1, 2001) t(i)",
        "CREATE TABLE dwh_sales AS SELECT i AS sales_key, i % 77 AS n FROM range(1, 6001) t(i) WHERE i % 11 > 0",
    )
    assert not [pair for pair in found if "fsa/fsa_units.unit" in pair]


def test_codes_of_two_kinds_in_one_column_join_each_with_its_own_table():
    key = "100000 + i * 137"
    found = judged_joins(
        dict.fromkeys(("led/led_parties.code", "crm/crm_people.p", "crm/crm_agents.a"), "identifier"),
        f"CREATE TABLE crm_people AS SELECT {key} AS p, 'x' || i AS name FROM range(600) t(i)",
        f"CREATE TABLE crm_agents AS SELECT {key} + 61 AS a, 'y' || i AS name FROM range(300) t(i)",
        f"CREATE TABLE led_parties AS SELECT 'C' || lpad(({key})::VARCHAR, 9, '0') AS code, i AS n FROM range(500) t(i) "
        f"UNION ALL SELECT 'S' || lpad(({key} + 61)::VARCHAR, 9, '0'), i FROM range(250) t(i)",
    )
    assert ("led/led_parties.code", "crm/crm_people.p") in found
    assert ("led/led_parties.code", "crm/crm_agents.a") in found


def test_places_in_the_elements_of_lists_join():
    found = judged_joins(
        dict.fromkeys(("fsa/fsa_visits.parts[].no", "erp/erp_parts.part"), "identifier"),
        CODES,
        "CREATE TABLE fsa_visits AS SELECT n AS visit, list({'no': part, 'qty': n % 3}) AS parts FROM "
        "(SELECT part, (i * 7 + x) % 150 AS n FROM (SELECT part, row_number() OVER () AS i FROM erp_parts), "
        "range(2) r(x)) GROUP BY n",
    )
    assert found["fsa/fsa_visits.parts[].no", "erp/erp_parts.part"].left_match.value == 1.0


def test_a_number_that_repeats_may_have_a_check_digit():
    found = judged_joins(
        dict.fromkeys(("qms/qms_claims.cust", "erp/erp_people.no"), "identifier"),
        "CREATE TABLE erp_people AS SELECT 100000 + i * 613 AS no, 'x' || i AS name FROM range(700) t(i)",
        "CREATE TABLE qms_claims AS SELECT i AS n, '00' || no || (no * 7 % 9) AS cust FROM erp_people, range(4) t(i)",
    )
    assert ("qms/qms_claims.cust", "erp/erp_people.no") in found


def test_a_column_that_is_spread_over_two_tables_joins_both():
    guid = "upper(md5(({})::VARCHAR))"
    found = judged_joins(
        dict.fromkeys(("crm/crm_cases.who", "crm/crm_people.person", "crm/crm_firms.firm"), "identifier"),
        f"CREATE TABLE crm_people AS SELECT {guid.format('i')} AS person, 'x' || i AS name FROM range(400) t(i)",
        f"CREATE TABLE crm_firms AS SELECT {guid.format('(i + 9000)')} AS firm, 'y' || i AS name FROM range(150) t(i)",
        "CREATE TABLE crm_cases AS SELECT row_number() OVER () AS n, who FROM (SELECT person AS who FROM crm_people "
        "UNION ALL SELECT firm FROM crm_firms WHERE name < 'y5'), range(2)",
    )
    assert {("crm/crm_cases.who", "crm/crm_people.person"), ("crm/crm_cases.who", "crm/crm_firms.firm")} <= set(found)


def test_a_dense_key_joins_the_key_of_the_same_name_in_its_source_but_no_measure_does():
    tables = (
        "CREATE TABLE mdm_meters AS SELECT i AS meter_id, 'm' || i AS name FROM range(1, 4001) t(i)",
        "CREATE TABLE mdm_days AS SELECT (i * 16) % 3900 + 2 AS meter_id, i % 97 + 1 AS kwh FROM range(6000) t(i)",
    )
    keys = {"mdm/mdm_meters.meter_id": "identifier", "mdm/mdm_days.meter_id": "identifier"}
    found = judged_joins({**keys, "mdm/mdm_days.kwh": "quantity"}, *tables)
    assert ("mdm/mdm_days.meter_id", "mdm/mdm_meters.meter_id") in found
    assert not [pair for pair in found if "mdm/mdm_days.kwh" in pair]


def test_what_was_proposed_is_kept_apart_from_what_is_believed(tmp_path: Path):
    from coset.state import EvidenceState
    from coset.use_cases.comprehend import comprehend

    with duckdb.connect(str(tmp_path / "db.duckdb")) as connection:
        tables_of(connection)
    (tmp_path / "coset.yaml").write_text("sources:\n  db:\n    location: db.duckdb\n", encoding="utf-8")
    environment = load_environment(tmp_path / "coset.yaml")
    comprehend(environment)
    with EvidenceState.open(environment.state_folder) as state:
        proposed = state.count("proposed_joins")
        first = state.rows("SELECT id, confidence FROM relations ORDER BY id")
    comprehend(environment)
    with EvidenceState.open(environment.state_folder) as state:
        assert state.count("proposed_joins") == proposed
        assert state.rows("SELECT id, confidence FROM relations ORDER BY id") == first


def test_two_letters_and_zeros_before_a_number_say_of_what_kind_it_is():
    connection = duckdb.connect()
    connection.execute("CREATE TABLE claims AS SELECT i AS id, printf('CM%05d', i) AS nr FROM range(1, 801) t(i)")
    connection.execute("CREATE TABLE defects AS SELECT i AS id, printf('NC%05d', i) AS nr FROM range(1, 901) t(i)")
    connection.execute(
        "CREATE TABLE steps AS SELECT 5000 + i AS step, printf('CM%05d', 1 + i * 7 % 700) AS origin FROM range(240) t(i)"
    )
    tables = []
    for name, rows in (("claims", 800), ("defects", 900), ("steps", 240)):
        described = connection.execute(f"DESCRIBE {name}").fetchall()
        columns = tuple(Column(row[0], row[1], row[0], row[1]) for row in described)
        tables.append(JoinableTable(Reference("db", None, name), name, columns, rows))
    profiles = {
        f"db/{column}": np.array([0.95, 0.05]) for column in ("claims.nr", "defects.nr", "steps.origin", "steps.step")
    }
    memory = empty_memory()
    remember(memory, connection, tables)
    relate(memory, connection, tables)
    found = believe(memory, connection, tables, Background(Profiles(ATTRIBUTES, profiles)))
    origin = [str(each.right[0]) for each in found if str(each.left[0]) == "db/steps.origin"]
    assert origin == ["db/claims.nr"]


PLAYED = (*ATTRIBUTES, "network_address")


def joins_believed(*statements: str, roles: dict[str, int]) -> set[tuple[str, str]]:
    """The joins believed among the tables that the statements make; `roles`: by column the place in `PLAYED`."""
    connection = duckdb.connect()
    for statement in statements:
        connection.execute(statement)
    tables = []
    for (name,) in connection.execute("SELECT table_name FROM duckdb_tables() ORDER BY 1").fetchall():
        described = connection.execute(f"DESCRIBE {name}").fetchall()
        columns = tuple(Column(row[0], row[1], row[0], row[1]) for row in described)
        [(rows,)] = connection.execute(f"SELECT count(*) FROM {name}").fetchall()
        tables.append(JoinableTable(Reference("db", None, name), name, columns, rows))
    profiles = {f"db/{column}": np.eye(len(PLAYED))[place] for column, place in roles.items()}
    memory = empty_memory()
    remember(memory, connection, tables)
    relate(memory, connection, tables)
    found = believe(memory, connection, tables, Background(Profiles(PLAYED, profiles)))
    return {(str(each.left[0]), str(each.right[0])) for each in found}


def test_a_key_joins_the_only_key_that_has_its_numbers():
    tables = (
        "CREATE TABLE firms AS SELECT 40000 + i AS nr, 'firm ' || i * i AS called FROM range(900) t(i)",
        "CREATE TABLE deals AS SELECT 90000 + i AS nr, 'deal ' || i * i AS told FROM range(700) t(i)",
        "CREATE TABLE calls AS SELECT 70000 + i AS nr, 40000 + i * 7 % 301 AS goal FROM range(500) t(i)",
    )
    keys = dict.fromkeys(("firms.nr", "deals.nr", "calls.nr", "calls.goal"), 0)
    assert ("db/calls.goal", "db/firms.nr") in joins_believed(*tables, roles=keys)
    assert ("db/calls.goal", "db/firms.nr") not in joins_believed(*tables, roles=keys | {"calls.goal": 1})
    rival = "CREATE TABLE towns AS SELECT 39990 + i AS nr, 'town ' || i * i AS called FROM range(1000) t(i)"
    assert not {
        pair for pair in joins_believed(*tables, rival, roles=keys | {"towns.nr": 0}) if "db/calls.goal" in pair
    }


def test_addresses_of_devices_that_are_called_the_same_join_though_they_are_no_keys():
    mac = "substr(md5(({})::VARCHAR), 1, 12)"
    found = joins_believed(
        f"CREATE TABLE boxes AS SELECT i AS id, {mac.format('i')} AS mac, 'x' || i AS model FROM range(600) t(i)",
        f"CREATE TABLE leases AS SELECT i AS nr, {mac.format('i * 3 % 400')} AS mac, i * 2 AS used FROM range(900) t(i)",
        roles={"boxes.id": 0, "leases.nr": 0, "boxes.mac": 2, "leases.mac": 2},
    )
    assert ("db/leases.mac", "db/boxes.mac") in found
