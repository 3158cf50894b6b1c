"""Code lists: which rows of which table decode a column, and which are outdated."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import duckdb
import pytest

from coset.environment.configuration import load_environment
from coset.environment.corrections import CodeList as SaidCodeList
from coset.environment.source import Column
from coset.evidence.reading import JoinableTable
from coset.relations.code_lists.agreement import CodeColumn, said_of_lists
from coset.relations.code_lists.find import ListStanding, find_code_lists
from coset.relations.code_lists.lists import ListPart, parts_of, with_titles
from coset.relations.code_lists.stage import labels_of, overruled
from coset.state import EvidenceState
from coset.state.listings import joins_of
from coset.state.objects import CodeList, Reference
from coset.use_cases.comprehend import EVIDENCE, comprehend


@pytest.fixture
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as made:
        yield made


def parts(connection: duckdb.DuckDBPyConnection, name: str, query: str) -> list[ListPart]:
    connection.execute(f"CREATE TABLE {name} AS {query}")
    columns = connection.execute(f"DESCRIBE {name}").fetchall()
    [(rows,)] = connection.execute(f"SELECT count(*) FROM {name}").fetchall()
    table = JoinableTable(
        Reference("dwh", None, name, ()),
        name,
        tuple(Column(each[0], each[1], each[0], each[1]) for each in columns),
        rows,
    )
    return parts_of(connection, table)


CODES = """
    SELECT * FROM (VALUES
        ('PRIO', '1', 'EN', 'critical', DATE '2000-01-01', DATE '2020-12-31'),
        ('PRIO', '2', 'EN', 'normal', DATE '2000-01-01', DATE '2020-12-31'),
        ('PRIO', '1', 'EN', 'low', DATE '2021-01-01', DATE '9999-12-31'),
        ('PRIO', '2', 'EN', 'normal', DATE '2021-01-01', DATE '9999-12-31'),
        ('PRIO', '4', 'EN', 'critical', DATE '2021-01-01', DATE '9999-12-31'),
        ('TKTSTS', '1', 'EN', 'open', DATE '2000-01-01', DATE '9999-12-31'),
        ('TKTSTS', '2', 'EN', 'closed', DATE '2000-01-01', DATE '9999-12-31'),
        ('TKTSTS', '4', 'EN', 'waiting for the customer', DATE '2000-01-01', DATE '9999-12-31')
    ) AS t(CD_DOM, CD_VAL, CD_LANG, CD_TXT, VLD_FROM, VLD_TO)
"""


def column(name: str, values: tuple[str, ...]) -> CodeColumn:
    siblings = ("tkt_id", "prio_cd", "sts_cd", "opened", "amount")
    return CodeColumn(f"desk/tickets.{name}", "tickets", name, siblings, "desk/tickets", dict.fromkeys(values, 5))


def test_domain_language_and_validity_choose_the_rows(connection: duckdb.DuckDBPyConnection):
    lists = parts(connection, "ref_cd", CODES)
    found = find_code_lists([column("prio_cd", ("1", "2", "4")), column("sts_cd", ("1", "2"))], lists)
    by_column = {each.column: each for each in found if each.status == "current"}
    priority = by_column["desk/tickets.prio_cd"]
    assert (priority.code_column, priority.label_column, priority.language) == ("CD_VAL", "CD_TXT", "EN")
    labels = dict(connection.execute(f"SELECT CD_VAL, CD_TXT FROM ref_cd WHERE {priority.condition}").fetchall())
    assert labels == {"1": "low", "2": "normal", "4": "critical"}
    assert "TKTSTS" in str(by_column["desk/tickets.sts_cd"].condition)


def test_the_list_that_is_kept_up_to_date_is_current_and_the_near_one_is_outdated(
    connection: duckdb.DuckDBPyConnection,
):
    near = parts(
        connection, "prio", "SELECT * FROM (VALUES (1, 'critical'), (2, 'normal'), (4, 'low')) t(prio_cd, txt)"
    )
    lists = [*parts(connection, "ref_cd", CODES), *near]
    found = find_code_lists([column("prio_cd", ("1", "2", "4"))], lists)
    assert [each.list for each in found if each.status == "current"] == ["dwh/ref_cd"]
    assert "dwh/prio" in [each.list for each in found if each.status == "outdated"]


def test_amounts_that_are_among_the_codes_have_no_list(connection: duckdb.DuckDBPyConnection):
    assert find_code_lists([column("amount", ("1", "2"))], parts(connection, "ref_cd", CODES)) == []


def test_a_table_of_facts_is_no_list(connection: duckdb.DuckDBPyConnection):
    facts = "SELECT i AS id, i % 7 AS qty, DATE '2024-01-01' + i::INTEGER AS day FROM range(50) t(i)"
    assert parts(connection, "facts", facts) == []


def test_what_people_say_of_a_list_wins():
    found = [CodeList("a/t.c", "a/list", "code", "text", None, None, "current", 0.9)]
    said = [SaidCodeList(column="a/t.c", list="b/list", code="cd", label="txt", condition="dom = 'X'")]
    assert [(each.list, each.status) for each in overruled(found, said)] == [
        ("b/list", "current"),
        ("a/list", "outdated"),
    ]
    assert overruled(found, [SaidCodeList(column="a/t.c", list="a/list", rejected=True)]) == []


def test_a_made_up_id_is_decoded_by_the_rows_in_use_of_its_table(connection: duckdb.DuckDBPyConnection):
    kinds = parts(
        connection,
        "RecordType",
        """SELECT * FROM (VALUES ('0124K0Qd00036m1QCA', 'Account', 'Client', 'Client', 1),
            ('0124K0Qd00038ptQCA', 'Account', 'Broker', 'Intermediary', 1),
            ('0124K0Qd0003AtrQCE', 'tickets', 'Level_2', 'Grievance level 2', 1),
            ('0124K0Qd0003CxvQCE', 'tickets', 'Level_1', 'Grievance level 1', 1),
            ('0124K0Qd0003H6LQCU', 'tickets', 'Old', 'Complaint (do not use)', 0)
        ) t(Id, SobjectType, DeveloperName, Name, IsActive)""",
    )
    found = find_code_lists([column("RecordTypeId", ("0124K0Qd0003AtrQCE", "0124K0Qd0003CxvQCE"))], kinds)
    [current] = [each for each in found if each.status == "current"]
    assert (current.code_column, current.label_column) == ("Id", "Name")
    rows = connection.execute(f"SELECT Name FROM RecordType WHERE {current.condition} ORDER BY 1").fetchall()
    assert rows == [("Grievance level 1",), ("Grievance level 2",)]


def test_validity_that_overlaps_is_told_and_the_label_that_began_last_is_taken(connection: duckdb.DuckDBPyConnection):
    lists = parts(
        connection,
        "prio",
        """SELECT * FROM (VALUES ('1', 'low', '01.01.2010', '31.12.9999'), ('1', 'lowest', '01.01.2022', '31.12.9999'),
            ('2', 'normal', '01.01.2010', '31.12.9999'), ('4', 'critical', '01.01.2010', '31.12.9999'),
            ('4', 'urgent', '01.01.2000', '31.12.2009')) t(prio_cd, txt, valid_from, valid_to)""",
    )
    [current] = [
        each for each in find_code_lists([column("prio_cd", ("1", "2", "4"))], lists) if each.status == "current"
    ]
    assert any("several labels in force" in reason for reason in current.reasons)
    [part] = [each for each in lists if each.is_open]
    assert part.labels == {"1": "lowest", "2": "normal", "4": "critical"}
    assert connection.execute(f"SELECT count(*) FROM prio WHERE {current.condition}").fetchone() == (4,)


def test_an_older_list_that_lacks_new_codes_is_known_as_outdated(connection: duckdb.DuckDBPyConnection):
    near = parts(connection, "prio", "SELECT * FROM (VALUES (1, 'critical'), (9, 'never')) t(prio_cd, txt)")
    here = [replace(each, table=replace(each.table, reference=Reference("desk", None, "prio", ()))) for each in near]
    found = find_code_lists([column("prio_cd", ("1", "2", "4"))], [*parts(connection, "ref_cd", CODES), *here])
    assert {(each.list, each.status) for each in found} >= {("dwh/ref_cd", "current"), ("desk/prio", "outdated")}


def test_labels_are_kept_under_the_code_as_the_column_writes_it(connection: duckdb.DuckDBPyConnection):
    lists = parts(connection, "prio", "SELECT * FROM (VALUES ('01', 'low'), ('04', 'high')) t(prio_cd, txt)")
    held = [column("prio_cd", ("1", "4"))]
    assert {each[1:3] for each in labels_of(find_code_lists(held, lists), lists, held)} == {("1", "low"), ("4", "high")}


def test_a_sentence_or_the_title_of_a_domain_says_which_domain_decodes(connection: duckdb.DuckDBPyConnection):
    codes = """SELECT * FROM (VALUES ('40', 'CM', '02', 'average'), ('40', 'CM', '07', 'standard'),
        ('40', 'LT', '02', 'stock'), ('40', 'LT', '07', 'text'), ('41', 'XX', '02', 'one'), ('41', 'XX', '07', 'two'))
        t(drsy, drrt, drky, drdl01)"""
    lists = parts(connection, "f0005", codes)
    cost = CodeColumn("erp/c.ledg", "c", "ledg", ("ledg", "cost"), "erp/c", {"02": 9, "07": 4}, "cost method")
    assert find_code_lists([cost], lists) == []
    said = said_of_lists(["Cost methods are explained in f0005, list 40/CM."], lists)
    [current] = find_code_lists([cost], lists, ListStanding(said=said))
    assert "'CM'" in str(current.condition)
    domains = "SELECT * FROM (VALUES ('40', 'CM', 'Cost method'), ('40', 'LT', 'Line type')) t(dtsy, dtrt, dtdl01)"
    [current] = find_code_lists([cost], with_titles([*lists, *parts(connection, "f0004", domains)]))
    assert "'CM'" in str(current.condition)


def test_what_decodes_a_column_is_listed_among_the_joins_with_the_condition_that_chooses_its_rows(tmp_path):
    with duckdb.connect(str(tmp_path / "db.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE codes AS SELECT * FROM (VALUES ('PRIO', 'H', 'high'), ('PRIO', 'L', 'low'), "
            "('PRIO', 'M', 'medium'), ('PRIO', 'U', 'urgent'), ('STATE', 'H', 'held'), ('STATE', 'O', 'open')) "
            "t(domain, code, label)"
        )
        connection.execute(
            "CREATE TABLE cases AS SELECT i AS case_no, ['H', 'L', 'M', 'U'][1 + i % 4] AS prio FROM range(40) t(i)"
        )
    (tmp_path / "coset.yaml").write_text("sources:\n  db:\n    location: db.duckdb\n", encoding="utf-8")
    environment = load_environment(tmp_path / "coset.yaml")
    comprehend(environment, stages=EVIDENCE)
    with EvidenceState.open(environment.state_folder) as state:
        [row] = [each for each in joins_of(state, "cases") if each["kind"] == "code_list"]
        assert joins_of(state, "cases", 1.0) == []
    assert (row["left_columns"], row["right_columns"]) == (["db/main/cases.prio"], ["db/main/codes.code"])
    assert (row["left_match"], row["right_match"]) == (1.0, 1.0)
    with duckdb.connect(str(tmp_path / "db.duckdb")) as connection:
        joined = connection.execute(
            f"SELECT count(*) FROM cases AS a, codes AS b WHERE a.prio = (SELECT {row['right_expression']} "
            "FROM codes AS codes WHERE codes.rowid = b.rowid)"
        ).fetchall()
    assert joined == [(40,)]


def test_languages_stored_as_numbers_and_labels_in_two_languages_are_not_taken_for_codes(connection):
    options = parts(
        connection, "options",
        "SELECT d AS attribute, 100 + i AS value, lang AS lang_id, d || ' label ' || i || ' in ' || lang AS text, "
        "i AS display_order FROM (VALUES ('kind'), ('state')) a(d), range(4) r(i), (VALUES (1031), (1036)) l(lang)",
    )  # fmt: skip
    assert {(part.code_column, part.domain, part.language) for part in options} == {
        ("value", (domain,), language) for domain in ("kind", "state") for language in ("de", "fr")
    }
    codes = parts(
        connection, "codes",
        "SELECT d AS family, i AS cd, 'libelle ' || d || i AS lib_fr, 'wording ' || d || i AS lib_de "
        "FROM (VALUES ('prio'), ('etat')) a(d), range(5) r(i)",
    )  # fmt: skip
    assert {(part.code_column, part.domain) for part in codes} == {("cd", ("prio",)), ("cd", ("etat",))}


GENERIC = """
    SELECT row_number() OVER () AS id, * FROM (VALUES
        ('107', 'A', 'on call'), ('107', 'B', 'resting'), ('107', 'C', 'driving'),
        ('114', 'A', 'diesel'), ('114', 'B', 'petrol'), ('114', 'C', 'gas'),
        ('121', 'A', 'low'), ('121', 'B', 'middle'), ('121', 'C', 'high')) t(set_no, val, txt)
"""


def test_a_number_of_each_row_is_no_code(connection: duckdb.DuckDBPyConnection):
    lists = parts(connection, "lookup", GENERIC)
    decoding = [part for part in lists if part.code_column == "val"]
    assert {part.domain for part in decoding} == {("107",), ("114",), ("121",)}
    assert all(part.labels.keys() == {"A", "B", "C"} for part in decoding)


def test_the_title_of_a_domain_that_is_a_number_tells_the_column(connection: duckdb.DuckDBPyConnection):
    lists = parts(connection, "lookup", GENERIC)
    titles = """SELECT * FROM (VALUES ('107', 'Driver state'), ('114', 'Vehicle fuel'), ('121', 'Order urgency'))
        t(set_no, title)"""
    lists = with_titles([*lists, *parts(connection, "lookup_set", titles)])
    fuel = CodeColumn("dwh/cars.fuel_cd", "cars", "fuel_cd", ("id", "fuel_cd"), "dwh/cars", {"A": 5, "B": 2, "C": 1})
    [current] = find_code_lists([fuel], lists)
    assert "'114'" in str(current.condition)


@pytest.mark.parametrize(
    ("table", "name", "reading", "right"),
    [
        ("reader", "RDRBLCRSN", "reader block reason", "BlockReason"),
        ("auftrag", "prioritaet", "priority", "PRIORITY"),
        ("leser", "sperrgrund", "", "LSRSPR"),
        ("loans", "loan_channel", "", "LN_CHNL"),
    ],
)
def test_short_forms_and_other_languages_are_seen_through(
    connection: duckdb.DuckDBPyConnection, table: str, name: str, reading: str, right: str
):
    domains = ("BlockReason", "PRIORITY", "LSRSPR", "LN_CHNL")
    rows = ", ".join(f"('{domain}', '{code}', '{domain} word {code}')" for domain in domains for code in "1234")
    lists = parts(connection, "lookup", f"SELECT * FROM (VALUES {rows}) t(domain, code, label)")
    held = CodeColumn(f"a/{table}.{name}", table, name, ("id", name), f"a/{table}", {"1": 4, "2": 3, "4": 1}, reading)
    [current] = find_code_lists([held], lists)
    assert f"'{right}'" in str(current.condition)


def test_values_that_no_other_list_has_tell_the_list_whatever_it_is_called(connection: duckdb.DuckDBPyConnection):
    lists = parts(
        connection, "x17", "SELECT * FROM (VALUES ('RPR', 'repair'), ('XCH', 'exchange'), ('NSP', 'look')) t(k, v)"
    )
    codes = CodeColumn("dwh/jobs.art", "jobs", "art", ("id", "art"), "dwh/jobs", {"RPR": 4, "XCH": 3, "NSP": 1})
    assert [each.list for each in find_code_lists([codes], lists)] == ["dwh/x17"]
    small = parts(connection, "x18", "SELECT * FROM (VALUES ('1', 'repair'), ('2', 'exchange'), ('3', 'look')) t(k, v)")
    counts = CodeColumn("dwh/jobs.hands", "jobs", "hands", ("id", "hands"), "dwh/jobs", {"1": 4, "2": 3, "3": 1})
    assert find_code_lists([counts], small) == []


def test_what_counts_is_decoded_by_no_list_that_is_called_a_little_alike(connection: duckdb.DuckDBPyConnection):
    lists = parts(connection, "lookup", "SELECT * FROM (VALUES ('LNKIND', '1', 'one way'), ('LNKIND', '2', 'both'), "
                  "('USE', '1', 'private'), ('USE', '2', 'public')) t(domain, code, label)")  # fmt: skip
    lanes = CodeColumn("a/roads.ln_cnt", "roads", "ln_cnt", ("id", "ln_cnt"), "a/roads", {"1": 4, "2": 3})
    assert find_code_lists([lanes], lists, ListStanding(measures={"a/roads.ln_cnt"})) == []


def test_the_dictionary_of_a_system_says_which_domain_decodes_a_column(tmp_path):
    with duckdb.connect(str(tmp_path / "db.duckdb")) as connection:
        connection.execute(f"CREATE TABLE lookup AS {GENERIC}")
        connection.execute("CREATE TABLE fields AS SELECT * FROM (VALUES ('drivers', 'q1', '107'), "
                           "('cars', 'q1', '114'), ('orders', 'q2', '121'), ('orders', 'q3', NULL)) "
                           "t(object_name, field_name, set_no)")  # fmt: skip
        for start, (table, column) in enumerate((("drivers", "q1"), ("cars", "q1"), ("orders", "q2"))):
            connection.execute(
                f"CREATE TABLE {table} AS SELECT {start}000 + i AS {table}_id, ['A', 'B', 'C'][1 + i % 3] AS {column}, "
                f"'{table} note ' || i * i AS q3 FROM range({60 + start}) t(i)"
            )
    (tmp_path / "coset.yaml").write_text("sources:\n  db:\n    location: db.duckdb\n", encoding="utf-8")
    environment = load_environment(tmp_path / "coset.yaml")
    comprehend(environment, stages=EVIDENCE)
    with EvidenceState.open(environment.state_folder) as state:
        found = {each.column: each.condition or "" for each in state.code_lists() if each.status == "current"}
    wanted = {"db/main/drivers.q1": "'107'", "db/main/cars.q1": "'114'", "db/main/orders.q2": "'121'"}
    assert found.keys() == wanted.keys()
    assert all(number in found[column] for column, number in wanted.items())


def test_codes_of_a_small_table_that_hardly_repeat_are_decoded(tmp_path):
    with duckdb.connect(str(tmp_path / "db.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE ref_region AS SELECT 'R' || chr((65 + i)::INTEGER) AS cd, 'the region of ' || i || ' hills' AS txt "
            "FROM range(26) t(i)"
        )
        connection.execute(
            "CREATE TABLE sites AS SELECT 7000 + i * 3 AS site_no, 'site ' || i || ' street' AS address, "
            "'R' || chr((65 + i * 5 % 24)::INTEGER) AS region, i * 1.5 AS area, 'x' || i AS note FROM range(40) t(i)"
        )
    (tmp_path / "coset.yaml").write_text("sources:\n  db:\n    location: db.duckdb\n", encoding="utf-8")
    environment = load_environment(tmp_path / "coset.yaml")
    comprehend(environment, stages=EVIDENCE)
    with EvidenceState.open(environment.state_folder) as state:
        found = [(each.column, each.list) for each in state.code_lists() if each.status == "current"]
    assert found == [("db/main/sites.region", "db/main/ref_region")]


def test_lists_inside_the_rows_of_a_table_are_read(connection: duckdb.DuckDBPyConnection):
    lists = parts(
        connection,
        "lists",
        """SELECT * FROM (VALUES
            ('state', [{'c': '"O"'::JSON, 't': 'Open'}, {'c': '"W"'::JSON, 't': 'Waiting'}, {'c': '"X"'::JSON, 't': 'Off'}]),
            ('prio', [{'c': '0'::JSON, 't': 'critical'}, {'c': '1'::JSON, 't': 'normal'}, {'c': '2'::JSON, 't': 'low'}])
        ) t(list, entries)""",
    )
    state = CodeColumn("desk/calls.state", "calls", "state", ("id", "state"), "desk/calls", {"O": 5, "W": 2, "X": 1})
    [current] = [each for each in find_code_lists([state], lists) if each.status == "current"]
    assert (current.code_column, current.label_column) == ("entries[].c", "entries[].t")
    assert current.condition == "\"list\" = 'state'"
    assert {each[1:3] for each in labels_of([current], lists, [state])} == {
        ("O", "Open"), ("W", "Waiting"), ("X", "Off")
    }  # fmt: skip


def test_keys_that_a_machine_made_and_dates_with_three_digits_of_a_year_are_no_codes(
    connection: duckdb.DuckDBPyConnection,
):
    lists = parts(
        connection,
        "lst",
        """SELECT printf('1-G0%d', 10 + row_number() OVER ()) AS row_id, * FROM (VALUES
            ('STATE', 'O', 'ENU', 'open', 1150101, 9999999), ('STATE', 'C', 'ENU', 'closed', 1150101, 9999999),
            ('STATE', 'O', 'PTG', 'aberto', 1150101, 9999999), ('STATE', 'C', 'PTG', 'fechado', 1150101, 9999999),
            ('STATE', 'X', 'ENU', 'lost', 1150101, 1191231), ('KIND', 'O', 'ENU', 'call', 1150101, 9999999),
            ('KIND', 'C', 'ENU', 'visit', 1150101, 9999999), ('KIND', 'O', 'PTG', 'chamada', 1150101, 9999999),
            ('KIND', 'C', 'PTG', 'visita', 1150101, 9999999)) t(grp, code, lang, label, vfrm, vthr)""",
    )
    own = [part for part in lists if part.code_column == "code"]
    assert {(part.domain, part.language, part.is_open) for part in own} == {
        (("STATE",), "ENU", True), (("STATE",), "PTG", True), (("STATE",), "ENU", False),
        (("KIND",), "ENU", True), (("KIND",), "PTG", True),
    }  # fmt: skip


def test_languages_may_be_letters_or_words_where_the_column_is_called_after_them(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    by_letter = parts(
        connection,
        "orty",
        "SELECT * FROM (VALUES ('100', 'E', 'ZA', 'Rush order'), ('100', 'L', 'ZA', 'Zlecenie pilne'), "
        "('100', 'E', 'ZB', 'Return'), ('100', 'L', 'ZB', 'Zwrot')) AS t(CLNT, LANGU, ORTY, LTEXT)",
    )
    assert {(part.code_column, part.domain, part.language) for part in by_letter} == {
        ("ORTY", (), "en"),
        ("ORTY", (), "pl"),
    }
    by_word = parts(
        connection,
        "wordlist",
        "SELECT * FROM (VALUES ('shelfstate', 'A1', 'US_ENGLISH', 'Empty place'), ('shelfstate', 'A1', 'POLISH', 'Puste'), "
        "('shelfstate', 'B2', 'US_ENGLISH', 'Blocked'), ('shelfstate', 'B2', 'POLISH', 'Zablokowane')) "
        "AS t(field, held, locale, longtext)",
    )
    assert {(part.code_column, part.language) for part in by_word} == {("held", "en"), ("held", "pl")}


def test_words_before_the_codes_are_their_domains_whatever_the_column_is_called(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    lists = parts(
        connection,
        "zbiory",
        "SELECT * FROM (VALUES ('STAN_ZAM', '10', 'PL', 'Przyjete', '2010-01-01', NULL), "
        "('STAN_ZAM', '20', 'PL', 'Odrzucone', '2010-01-01', '2022-12-31'), "
        "('STAN_ZAM', '20', 'PL', 'Wstrzymane', '2023-01-01', NULL), "
        "('DOSTAWA', 'UW', 'PL', 'Kurier', '2010-01-01', NULL), "
        "('DOSTAWA', 'CH', 'PL', 'Odbior osobisty', '2010-01-01', NULL)) "
        "AS t(zbior, kod, jezyk, opis, data_od, data_do)",
    )
    current = {part.domain: part.labels for part in lists if part.is_open and part.domain}
    assert current == {
        ("STAN_ZAM",): {"10": "Przyjete", "20": "Wstrzymane"},
        ("DOSTAWA",): {"UW": "Kurier", "CH": "Odbior osobisty"},
    }


def test_a_column_with_one_value_holds_no_codes_and_a_blank_may_be_one(connection: duckdb.DuckDBPyConnection) -> None:
    lists = parts(
        connection,
        "domains",
        "SELECT * FROM (VALUES ('STAGE', 'E', 'A', '', 'Not relevant'), ('STAGE', 'E', 'A', 'B', 'Partly processed'), "
        "('STAGE', 'E', 'A', 'C', 'Completely processed'), ('MOVE', 'E', 'A', '1', 'Goods receipt'), "
        "('MOVE', 'E', 'A', '2', 'Invoice receipt')) AS t(DOMN, LANGU, VERSN, DOMVAL, LTEXT)",
    )
    assert {(part.code_column, part.domain[0]) for part in lists if part.domain} == {
        ("DOMVAL", "STAGE"),
        ("DOMVAL", "MOVE"),
    }


def test_the_status_of_other_things_decodes_nothing(connection: duckdb.DuckDBPyConnection):
    rows = ", ".join(f"('BRIDGE_STATUS', '{code}', 'bridge is {code}')" for code in ("A", "C", "D"))
    more = ", ".join(f"('PARCEL_STATUS', '{code}', 'parcel is {code}')" for code in ("A", "B", "E"))
    lists = parts(connection, "lookup", f"SELECT * FROM (VALUES {rows}, {more}) t(domain, code, label)")
    bare = CodeColumn("erp/deals.sts_cd", "deals", "sts_cd", ("id", "sts_cd"), "erp/deals", {"A": 4, "C": 3}, "status")
    assert find_code_lists([bare], lists) == []
    own = replace(
        bare, reference="erp/parcels.sts_cd", table="parcels", table_reference="erp/parcels", counts={"A": 4, "B": 1}
    )
    [current] = find_code_lists([own], lists)
    assert "PARCEL_STATUS" in str(current.condition)
