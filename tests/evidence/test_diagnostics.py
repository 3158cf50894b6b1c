"""Diagnostics on generated dirt with known counts, on clean columns, on bad input, and on real columns."""

import datetime
import random
import zlib
from pathlib import Path

import duckdb
import pytest

from coset.errors import UserError
from coset.evidence.profiles import profile_table
from coset.evidence.quality.diagnose import diagnose_column, diagnose_counters, diagnose_table
from coset.evidence.sampled_rows import sampled_rows
from coset.session.guard import check, parse
from coset.state.objects import Counts

SHARED = Path(__file__).parents[2] / "shared"
if not SHARED.exists():
    SHARED = Path(__file__).parents[3] / "shared"


@pytest.fixture
def connection():
    with duckdb.connect() as opened:
        opened.execute("SET threads = 1")
        yield opened


def fill(connection, values, kind="VARCHAR"):
    connection.execute(
        f'CREATE OR REPLACE TABLE t AS SELECT CAST(unnest(CAST($1 AS VARCHAR[])) AS {kind}) AS "a ""b"', [values]
    )


def diagnose(connection, values, kind="VARCHAR", seed=0):
    """The diagnostics of a column of these values, by kind; every expression passes the guard and runs over all rows."""
    fill(connection, values, kind)
    found = diagnose_column(connection, "t", 'a "b', kind, rows=len(values), seed=seed)
    for each in found:
        if each.expression is not None:
            assert_runs(connection, each)
    return {each.kind: each for each in found}


def assert_runs(connection, diagnostic, relation="t"):
    check(parse(f"SELECT {diagnostic.expression} AS x FROM t"), lambda table: table.name == "t")
    kinds = connection.execute(f"SELECT DISTINCT typeof({diagnostic.expression}) FROM {relation}").fetchall()
    assert kinds == [(diagnostic.type,)]


def cleaned(connection, diagnostic):
    rows = connection.execute(f'SELECT "a ""b", CAST({diagnostic.expression} AS VARCHAR) FROM t').fetchall()
    return dict(rows)


# --------------------------------------------------------------------------------------------------------------------
# Null tokens
# --------------------------------------------------------------------------------------------------------------------


def test_null_tokens_are_counted_and_become_null(connection):
    values = (
        ["Berlin", "Lima", "Oslo", "Porto", "Quito"] * 20
        + ["N/A"] * 7
        + ["[Not Available]"] * 3
        + ["-"] * 2
        + ["  "] * 4
        + [""]
    )
    found = diagnose(connection, values)["null_tokens"]
    assert found.share.value == 17 / 117
    assert found.share.error == 0
    assert "'N/A' (7)" in found.detail
    assert "'[Not Available]' (3)" in found.detail
    after = cleaned(connection, found)
    assert {text for text, value in after.items() if value is None} == {"N/A", "[Not Available]", "-", "  ", ""}


@pytest.mark.parametrize(
    "token",
    [
        "<missing>",
        "{none}",
        "(not provided)",
        "[[unknown]]",
        "#N/A",
        "#REF!",
        "to be announced",
        "Not yet available",
        "----",
        "…"[:0] or "?",
    ],
)
def test_placeholders_that_are_on_no_list_are_recognised(connection, token):
    found = diagnose(connection, [f"city {number}" for number in range(60)] + [token] * 5)
    assert found["null_tokens"].share.value == 5 / 65
    assert cleaned(connection, found["null_tokens"])[token] is None


@pytest.mark.parametrize(
    ("others", "token"),
    [
        (["Mild", "Severe", "Moderate"], "None"),
        (["DE", "FR", "NO", "ZA", "US"], "NA"),
        (["ATL", "BOS", "TOR", "NYA"], "TBA"),
        (["+", "*", "o"], "-"),
        (["male", "female"], "unknown"),
    ],
)
def test_a_token_that_may_be_a_value_is_only_suspected(connection, others, token):
    found = diagnose(connection, others * 10 + [token] * 3)["null_tokens"]
    assert "may mean" in found.detail


def test_a_word_among_numbers_is_a_gap_without_doubt(connection):
    found = diagnose(connection, [str(number) for number in range(100, 900, 7)] + ["none"] * 4)["null_tokens"]
    assert "may mean" not in found.detail


def test_brackets_around_real_words_are_no_placeholders(connection):
    assert "null_tokens" not in diagnose(
        connection, ["(Berlin)", "[sic]", "<Lima>", "Nora", "Norway", "unknown soldier"] * 3
    )


def test_rare_tokens_in_a_large_column_are_counted_exactly(connection):
    connection.execute(
        "CREATE TABLE large AS SELECT CASE WHEN i % 20000 = 7 THEN 'n/a' WHEN i % 30000 = 3 THEN ' ' ELSE 'name ' || hash(i) END AS v FROM range(60000) r(i)"
    )
    (found,) = [
        each for each in diagnose_column(connection, "large", "v", "VARCHAR", rows=60_000) if each.kind == "null_tokens"
    ]
    assert found.share.error == 0
    assert found.share.value == 3 / 60_000 or found.share.value == 5 / 60_000
    assert "'n/a' (3)" in found.detail


def test_not_a_number_is_a_null_token(connection):
    found = diagnose(connection, [str(number / 7) for number in range(50)] + ["nan"] * 5, "DOUBLE")["null_tokens"]
    assert found.share.value == 5 / 55


# --------------------------------------------------------------------------------------------------------------------
# Dates
# --------------------------------------------------------------------------------------------------------------------

DAYS = [datetime.date(2019, 1, 1) + datetime.timedelta(days=13 * step) for step in range(100)]


@pytest.mark.parametrize(
    ("format_", "kind"),
    [
        ("%Y-%m-%d", "DATE"), ("%d/%m/%Y", "DATE"), ("%m/%d/%Y", "DATE"), ("%d.%m.%Y", "DATE"), ("%d-%b-%y", "DATE"), ("%B %d, %Y", "DATE"),
        ("%d %B %Y", "DATE"), ("%Y%m%d", "DATE"), ("%a, %d %b %Y", "DATE"), ("%A %d %B %Y", "DATE"), ("%b %d %Y", "DATE"), ("%Y/%m/%d", "DATE"),
        ("%Y-%m-%dT00:00:00Z", "TIMESTAMP"), ("%Y-%m-%d 00:00:00.000", "TIMESTAMP"), ("%B %d, %Y at 12:00 AM", "TIMESTAMP"),
        ("%d %b %Y 00:00:00 +0000", "TIMESTAMP"), ("%Y-%m-%dT02:00:00+02:00", "TIMESTAMP"), ("%a %b %d 00:00:00 UTC %Y", "TIMESTAMP"),
        ("%m/%d/%y 00:00", "TIMESTAMP"),
    ],
)  # fmt: skip
def test_one_format_is_found_and_read(connection, format_, kind):
    texts = {day.strftime(format_): day for day in DAYS}
    found = diagnose(connection, list(texts))
    assert set(found) == {"date_as_text"}
    assert found["date_as_text"].share.value == 1
    assert found["date_as_text"].type == kind
    after = cleaned(connection, found["date_as_text"])
    assert all(
        after[text][:10] == day.isoformat() and after[text][10:] in ("", " 00:00:00") for text, day in texts.items()
    )


def test_mixed_formats_with_their_shares_are_read_by_one_expression(connection):
    formats = ["%d/%m/%Y"] * 6 + ["%Y-%m-%d"] * 2 + ["%B %d, %Y", "%d-%b-%y"]
    texts = {day.strftime(formats[number % 10]): day for number, day in enumerate(DAYS)}
    texts["3rd Sept 2021"] = datetime.date(2021, 9, 3)
    found = diagnose(connection, [*texts, "soon"])
    assert set(found) == {"mixed_date_formats"}
    mixed = found["mixed_date_formats"]
    assert mixed.share.value == 101 / 102
    for part in ("%d/%m/%Y 58.8%", "%Y-%m-%d 19.6%", "%B %d, %Y 9.8%", "%d-%b-%y 9.8%", "%d %b %Y 1.0%"):
        assert part in mixed.detail
    after = cleaned(connection, mixed)
    assert after.pop("soon") is None
    assert after == {text: day.isoformat() for text, day in texts.items()}


def test_epochs_quarters_weeks_months_and_years_are_read_beside_dates(connection):
    wanted = {
        "1704412800": "2024-01-05 00:00:00",
        "1704412800000": "2024-01-05 00:00:00",
        "2024-Q2": "2024-04-01 00:00:00",
        "Q3 2023": "2023-07-01 00:00:00",
        "2024-W05": "2024-01-29 00:00:00",
        "2024W053": "2024-01-31 00:00:00",
        "Jan 2024": "2024-01-01 00:00:00",
        "2024-02": "2024-02-01 00:00:00",
        "2022": "2022-01-01 00:00:00",
        "2024-01-31 17:45": "2024-01-31 17:45:00",
        "Wed, 31 Jan 2024 10:00:00 GMT": "2024-01-31 10:00:00",
    }
    found = diagnose(connection, list(wanted) * 3)["mixed_date_formats"]
    assert cleaned(connection, found) == wanted


def test_the_order_of_day_and_month_is_decided_by_a_day_above_twelve(connection):
    values = ["03/04/2024", "05/06/2024", "04/25/2024"]
    assert cleaned(connection, diagnose(connection, values)["date_as_text"])["03/04/2024"] == "2024-03-04"
    values = ["03/04/2024", "05/06/2024", "25/04/2024"]
    assert cleaned(connection, diagnose(connection, values)["date_as_text"])["03/04/2024"] == "2024-04-03"


def test_undecidable_and_contested_orders_are_said_to_be_so(connection):
    undecided = diagnose(connection, ["03/04/2024", "05/06/2024", "07/08/2024"])["date_as_text"]
    assert "for 100.0% nothing tells whether the day or the month comes first" in undecided.detail
    contested = diagnose(connection, ["25/04/2024"] * 3 + ["04/26/2024", "03/04/2024"])["mixed_date_formats"]
    assert "20.0% could be either" in contested.detail
    assert cleaned(connection, contested) == {
        "25/04/2024": "2024-04-25",
        "04/26/2024": "2024-04-26",
        "03/04/2024": "2024-04-03",
    }


def test_two_digit_years_do_not_become_the_year_24(connection):
    after = cleaned(
        connection, diagnose(connection, ["25/04/24", "26/04/2024", "2024-04-27", "13-01-99"])["mixed_date_formats"]
    )
    assert after == {
        "25/04/24": "2024-04-25",
        "26/04/2024": "2024-04-26",
        "2024-04-27": "2024-04-27",
        "13-01-99": "1999-01-13",
    }


def test_dates_in_whole_numbers_are_recognised(connection):
    days = diagnose(connection, [day.strftime("%Y%m%d") for day in DAYS], "INTEGER")["date_as_text"]
    assert cleaned(connection, days)[int(DAYS[5].strftime("%Y%m%d"))] == DAYS[5].isoformat()
    seconds = diagnose(connection, [str(1_700_000_000 + 86_400 * step) for step in range(50)], "BIGINT")["date_as_text"]
    assert cleaned(connection, seconds)[1_700_000_000] == "2023-11-14 22:13:20"
    milliseconds = diagnose(connection, [str(1_700_000_000_000 + 86_400_123 * step) for step in range(50)], "BIGINT")[
        "date_as_text"
    ]
    assert cleaned(connection, milliseconds)[1_700_000_000_000] == "2023-11-14 22:13:20"


@pytest.mark.parametrize(
    "values",
    [
        [str(1_700_000_000 + number) for number in range(60)],  # identifiers that count up
        [f"1.2.{number}" for number in range(10, 60)],  # versions
        [f"{number:04}" for number in range(1950, 2020)],  # years
        [f"555-{number:04}" for number in range(60)],
        [f"10.0.{number}.1" for number in range(60)],
        [f"March {number}" for number in range(1, 30)],
    ],
)
def test_what_only_resembles_a_date_is_left_alone(connection, values):
    assert not {"date_as_text", "mixed_date_formats"} & set(diagnose(connection, values))


# --------------------------------------------------------------------------------------------------------------------
# Numbers and units
# --------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("texts", "kind"),
    [
        ({"$1,234.50": 1234.5, "$7.00": 7, "($3.25)": -3.25, "-$4": -4, "$0.99": 0.99}, "DOUBLE"),
        ({"1.234,50 €": 1234.5, "7,00 €": 7, "-3,25 €": -3.25, "1.000.000 €": 1e6}, "DOUBLE"),
        ({"1,234": 1234, "56,789": 56789, "1,234,567": 1234567, "8": 8}, "BIGINT"),
        ({"1 234,5": 1234.5, "12 345 678": 12345678, "9": 9}, "DOUBLE"),
        ({"12%": 12, "3.5 %": 3.5, "100%": 100}, "DOUBLE"),
        ({"12%": 0.12, "0.5": 0.5, "0.25": 0.25, "100%": 1}, "DOUBLE"),
        ({"1.5M": 1.5e6, "20k": 20_000, "3 million": 3e6, "7": 7, "2.5bn": 2.5e9}, "DOUBLE"),
        ({"1e3": 1000, "2.5E-2": 0.025, "7": 7}, "DOUBLE"),
        ({"12": 12, "-7": -7, "1500": 1500}, "BIGINT"),
        ({"12.5": 12.5, "7": 7, "-1500.25": -1500.25}, "DOUBLE"),
        ({"1,5": 1.5, "2.5": 2.5, "1,234.5": 1234.5, "1.234,5": 1234.5}, "DOUBLE"),
        ({"5-": -5, "10": 10, "7-": -7}, "BIGINT"),
        ({"−5": -5, "10": 10, "+7": 7}, "BIGINT"),
    ],
)  # fmt: skip
def test_numbers_as_text_are_read(connection, texts, kind):
    found = diagnose(connection, list(texts) * 3)
    assert found["number_as_text"].share.value == 1
    assert found["number_as_text"].type == kind
    after = cleaned(connection, found["number_as_text"])
    assert {text: pytest.approx(number) for text, number in texts.items()} == {
        text: float(value) for text, value in after.items()
    }


def test_a_comma_that_nothing_explains_is_said_to_be_undecided(connection):
    assert "nothing tells" in diagnose(connection, ["1,234", "5,678", "9,012", "12"])["number_as_text"].detail


@pytest.mark.parametrize(
    "values",
    [
        [f"{number:05}" for number in range(60)],  # leading zeros
        [str(number) for number in range(10_000, 10_060)],  # one length: codes
        ["224B", "119", "301", "12", "7"],  # rooms
        ["1,2,3", "4,5", "6"],
        ["12A", "7B", "113C", "9"],
        [str(10**17 + number) for number in range(20)] + ["5"],
    ],
)
def test_codes_are_no_numbers(connection, values):
    assert not {"number_as_text", "mixed_units", "mixed_types"} & set(diagnose(connection, values))


def test_words_among_numbers_are_mixed_types(connection):
    found = diagnose(connection, [str(number) for number in range(8, 28)] + ["DNF"] * 3 + ["Retired"])["mixed_types"]
    assert found.share.value == 4 / 24
    assert cleaned(connection, found)["DNF"] is None
    assert cleaned(connection, found)["13"] == "13"


@pytest.mark.parametrize(
    ("texts", "unit"),
    [
        ({"10 kg": 10, "5kg": 5, "22 lb": 9.97903, "1,000 g": 1, "16 oz": 0.453592}, "kg"),
        ({"180 cm": 180, "175cm": 175, "1.8 m": 180, "70 in": 177.8}, "cm"),
        ({"20 °C": 20, "21 °C": 21, "68 °F": 20}, "°c"),
        ({"90 min": 90, "45 min": 45, "2 h": 120, "30 sec": 0.5}, "min"),
        ({"5 GB": 5, "2 GB": 2, "512 MB": 0.512}, "gb"),
    ],
)
def test_mixed_units_are_converted_to_the_commonest(connection, texts, unit):
    found = diagnose(connection, list(texts))
    assert set(found) == {"mixed_units"}
    assert f"gives all in {unit}" in found["mixed_units"].detail
    after = cleaned(connection, found["mixed_units"])
    assert {text: float(value) for text, value in after.items()} == {
        text: pytest.approx(value, rel=1e-4) for text, value in texts.items()
    }


def test_units_come_with_their_shares(connection):
    found = diagnose(connection, ["10 kg"] * 6 + ["22 lb"] * 3 + ["5"])["mixed_units"]
    assert "kg 60.0%, lb 30.0%" in found.detail
    assert "10.0% have no unit" in found.detail


def test_several_currencies_have_no_conversion(connection):
    found = diagnose(connection, ["$10", "€12", "$5.50", "£3"])["mixed_units"]
    assert found.expression is None
    assert "several currencies" in found.detail


# --------------------------------------------------------------------------------------------------------------------
# Characters
# --------------------------------------------------------------------------------------------------------------------


def test_a_stray_sign_on_some_identifiers_is_found(connection):
    values = [("#" if number % 4 == 0 else "") + f"A{number:03}Xq" for number in range(100)]
    found = diagnose(connection, values)["stray_characters"]
    assert found.share.value == 0.25
    assert all("#" not in value for value in cleaned(connection, found).values())


def test_a_sign_that_all_values_have_belongs_to_them(connection):
    assert "stray_characters" not in diagnose(connection, [f"#tag{number}" for number in range(50)])


def test_invisible_characters_and_quotes_are_found(connection):
    invisible = diagnose(connection, ["New\u00a0York", "Lima\u200b", "Oslo", "Paris"])["stray_characters"]
    assert invisible.share.value == 0.5
    assert cleaned(connection, invisible)["New\u00a0York"] == "New York"
    assert cleaned(connection, invisible)["Lima\u200b"] == "Lima"
    quoted = diagnose(connection, ['"Lima"', '"Oslo"', '"Quito"', "Paris", "Rome"])["stray_characters"]
    assert quoted.share.value == 0.6
    assert cleaned(connection, quoted)['"Oslo"'] == "Oslo"


def test_padding_is_counted_and_trimmed(connection):
    found = diagnose(connection, ["Lima", "Lima ", " Oslo", "Oslo", "Quito\t"])["padding"]
    assert found.share.value == 0.6
    assert set(cleaned(connection, found).values()) == {"Lima", "Oslo", "Quito"}


def test_values_that_differ_in_case_are_found(connection):
    found = diagnose(connection, ["Oslo"] * 5 + ["OSLO"] * 2 + ["oslo", "Lima", "Rome"])["mixed_case"]
    assert found.share.value == 0.3
    assert "'Oslo' = 'OSLO' = 'oslo'" in found.detail


def test_damaged_encoding_is_mended_where_it_can_be(connection):
    words = ["Café", "naïve", "Öl", "don’t", "plain", "São Paulo"]
    damaged = [word.encode().decode("cp1252", "ignore") for word in words]
    found = diagnose(connection, [*damaged, "lost \ufffd here"])["encoding"]
    assert found.share.value == 6 / 7
    assert "lost for good" in found.detail
    after = cleaned(connection, found)
    assert [after[text] for text in damaged] == words


def test_real_accents_are_not_damage(connection):
    assert "encoding" not in diagnose(
        connection, ["São Paulo", "Ångström", "Ñandú", "Âme", "Ã", "naïve", "Øre", "Ðorđe"]
    )


# --------------------------------------------------------------------------------------------------------------------
# Constants and sentinels
# --------------------------------------------------------------------------------------------------------------------


def test_empty_and_constant_columns(connection):
    assert set(diagnose(connection, [None] * 20)) == {"empty"}
    constant = diagnose(connection, ["x"] * 20 + [None] * 5)
    assert set(constant) == {"constant"}
    assert constant["constant"].share.value == 0.8


def test_a_constant_in_a_large_table_is_exact(connection):
    connection.execute(
        "CREATE TABLE large AS SELECT CASE WHEN i % 4 > 0 THEN 'x' END AS v, CASE WHEN i = 9999 THEN 'y' ELSE 'x' END AS w FROM range(20000) r(i)"
    )
    found = diagnose_table(connection, "large", [("v", "VARCHAR"), ("w", "VARCHAR")], rows=20_000)
    assert [(each.kind, each.share.value) for each in found["v"]] == [("constant", 0.75)]
    assert found["w"] == []


@pytest.mark.parametrize(
    ("values", "sentinels"),
    [
        ([*range(1, 90)] * 3 + [-1] * 20, [-1]),
        ([*range(15, 60)] * 4 + [99] * 30, [99]),
        ([*range(100)] * 2 + [9999] * 5, [9999]),
        ([*range(150, 200)] * 2 + [0] * 12, [0]),
        ([*range(100)] * 2 + [-999] * 8 + [-1] * 0, [-999]),
        ([*range(40, 60)] * 5 + [777777] * 6, [777777]),
    ],
)
def test_number_sentinels(connection, values, sentinels):
    found = diagnose(connection, [str(value) for value in values], "INTEGER")["sentinel"]
    assert found.examples == tuple(str(value) for value in sentinels)
    assert found.share.value == sum(value in sentinels for value in values) / len(values)
    assert {number for number, value in cleaned(connection, found).items() if value is None} == set(sentinels)


def test_sentinels_inside_numbers_and_dates_kept_as_text(connection):
    assert diagnose(connection, [f"{number}.5" for number in range(100)] * 2 + ["9999"] * 5)["sentinel"].examples == (
        "9999",
    )
    days = [day.strftime("%d/%m/%Y") for day in DAYS]
    assert diagnose(connection, [*days, *["01/01/1900"] * 4])["sentinel"].share.value == 4 / 104


def test_date_sentinels(connection):
    values = [day.isoformat() for day in DAYS] + ["1900-01-01"] * 3 + ["9999-12-31"] * 2
    found = diagnose(connection, values, "DATE")["sentinel"]
    assert found.examples == ("1900-01-01", "9999-12-31")
    assert found.share.value == 5 / 105
    zoned = diagnose(connection, [f"{value} 00:00:00+00" for value in values], "TIMESTAMP WITH TIME ZONE")["sentinel"]
    assert zoned.examples == ("1900-01-01", "9999-12-31")


def test_sentinels_in_a_large_table_are_counted_over_every_row(connection):
    connection.execute(
        "CREATE TABLE large AS SELECT CASE WHEN i % 50 = 0 THEN -1 ELSE (hash(i) % 5000)::INT END AS v FROM range(40000) r(i)"
    )
    (found,) = diagnose_column(connection, "large", "v", "INTEGER", rows=40_000)
    assert found.kind == "sentinel"
    assert found.share.value == 800 / 40_000
    assert found.share.error == 0


def test_clean_columns_yield_nothing(connection):
    chance = random.Random(5)
    numbers = [str(round(chance.gauss(0, 100), 3)) for _ in range(500)]
    assert diagnose(connection, numbers, "DOUBLE") == {}
    assert diagnose(connection, [str(int(float(number))) for number in numbers], "INTEGER") == {}
    assert diagnose(connection, [str(number) for number in range(1, 300)], "INTEGER") == {}
    assert diagnose(connection, [str(chance.choice([-1, 0, 1, 2])) for _ in range(300)], "INTEGER") == {}
    assert diagnose(connection, [str(int(chance.paretovariate(1) * 10)) for _ in range(500)], "INTEGER") == {}
    assert diagnose(connection, [day.isoformat() for day in DAYS], "DATE") == {}
    names = [
        "Anna Berg",
        "John O'Neil",
        "Zoë Müller",
        "Dr. Hu",
        "Jean-Luc P.",
        "C++",
        "R&D",
        "St. Paul (MN)",
        "Who?",
        "Yes!",
    ]
    assert diagnose(connection, names * 3) == {}
    assert diagnose(connection, ["small", "medium", "large"] * 10) == {}
    assert diagnose(connection, [f"{zlib.crc32(str(number).encode()):08x}q" for number in range(200)]) == {}
    assert diagnose(connection, [f"user{number}@example.org" for number in range(100)]) == {}
    assert diagnose(connection, [f"A sentence, number {number}; it ends here." for number in range(100)]) == {}


# --------------------------------------------------------------------------------------------------------------------
# Samples, aggregates, counters, bad input
# --------------------------------------------------------------------------------------------------------------------


def test_shares_from_a_sample_hold_the_truth_within_their_error(connection):
    connection.execute(
        "CREATE TABLE large AS SELECT CASE WHEN i % 5 = 0 THEN strftime(DATE '2000-01-01' + (i % 7000)::INT, '%d.%m.%Y') "
        "ELSE strftime(DATE '2000-01-01' + (i % 7000)::INT, '%Y-%m-%d') END AS v FROM range(50000) r(i) UNION ALL SELECT 'word ' || i FROM range(10000) r(i)"
    )
    (found,) = diagnose_column(connection, "large", "v", "VARCHAR", rows=60_000)
    assert found.kind == "mixed_date_formats"
    assert 0 < found.share.error < 0.02
    assert abs(found.share.value - 50 / 60) <= 2 * found.share.error
    assert diagnose_column(connection, "large", "v", "VARCHAR", rows=60_000) == [found]


def test_what_a_profile_counted_and_sampled_stands_in_for_an_own_pass(connection):
    connection.execute(
        """CREATE TABLE two AS SELECT ' x' || i AS a, i::DOUBLE AS b, CASE WHEN i = 77 THEN 'N/A' ELSE 'y' || i END AS c,
        repeat('long-', 100) AS d, DATE '2020-01-01' AS e, {'k': 1} AS f, [i] AS g, NULL AS h FROM range(20000) r(i)"""
    )
    columns = [(row[0], row[1]) for row in connection.execute("DESCRIBE two").fetchall()]
    own = diagnose_table(connection, "two", columns, rows=20_000)
    assert own["a"][0].kind == "padding" and own["a"][0].share.value == 1
    assert (own["c"][0].kind, own["c"][0].share.value) == ("null_tokens", 1 / 20_000)
    kinds = {name: [each.kind for each in found] for name, found in own.items()}
    assert kinds["d"] == kinds["e"] == kinds["f"] == ["constant"]
    assert (kinds["g"], kinds["h"]) == ([], ["empty"])
    sample = sampled_rows(connection, "two", columns, rows=20_000)
    profiles = profile_table(connection, "two", columns, rows=20_000, sample=sample)
    counted = {name: profile.counts for name, profile in profiles.items()}
    assert counted["c"] == Counts(present=20_000, constant=False, padded=0, null_words=1)
    assert diagnose_table(connection, "two", columns, rows=20_000, counted=counted, sample=sample) == own


def test_a_counter_that_disagrees_with_its_rows(connection):
    connection.execute(
        "CREATE TABLE orders AS SELECT i AS id, CASE WHEN i < 5 THEN 9 ELSE i % 4 END AS items FROM range(100) r(i)"
    )
    connection.execute("CREATE TABLE items AS SELECT i AS order_id FROM range(100) r(i), range(3) s(j) WHERE j < i % 4")
    found = diagnose_counters(connection, "orders", "items", "items", [('"id"', '"order_id"')])
    assert found.kind == "counter_disagrees"
    assert found.share.value == 0.05
    assert "5 of 100" in found.detail and "5 say more" in found.detail
    assert found.examples[0] == "0 / says 9, there are 0"


def test_counters_that_agree_or_count_something_else_yield_nothing(connection):
    connection.execute(
        "CREATE TABLE orders AS SELECT i AS id, i % 4 AS items, hash(i) % 1000 AS price FROM range(100) r(i)"
    )
    connection.execute("CREATE TABLE items AS SELECT i AS order_id FROM range(100) r(i), range(3) s(j) WHERE j < i % 4")
    keys = [('"id"', '"order_id"')]
    assert diagnose_counters(connection, "orders", "items", "items", keys) is None
    assert diagnose_counters(connection, "orders", "price", "items", keys) is None
    assert diagnose_counters(connection, "orders", "items", "(SELECT 1 AS order_id LIMIT 0)", keys) is None
    with pytest.raises(UserError):
        diagnose_counters(connection, "orders", "items", "items", [])


def test_bad_input_does_not_break_it(connection):
    assert diagnose_column(connection, "(SELECT 1 AS v LIMIT 0)", "v", "INTEGER", rows=0) == []
    assert diagnose(connection, ["x"]) == {}
    assert diagnose(
        connection, ["\ufffd\ufffd", "a\x01b", "'", '"', "\\", "''; DROP TABLE t; --", "%", "(((", "٣٤", "½"] * 3
    )
    connection.execute(
        "CREATE TABLE odd AS SELECT [i] AS l, {'a': i} AS s, MAP {i: i} AS m, ('0x' || i)::BLOB AS b, i % 2 = 0 AS f, INTERVAL (i) DAY AS v FROM range(30) r(i)"
    )
    columns = [(row[0], row[1]) for row in connection.execute("DESCRIBE odd").fetchall()]
    assert all(found == [] for found in diagnose_table(connection, "odd", columns, rows=30).values())
    connection.execute(
        "CREATE TABLE moments AS SELECT unnest(['infinity'::TIMESTAMP, '-infinity', '290000-01-01 (BC) 00:00:00', '2020-01-01']) AS v"
    )
    assert diagnose_column(connection, "moments", "v", "TIMESTAMP", rows=4) == []


def test_huge_cells_are_cut(connection):
    connection.execute("CREATE TABLE huge AS SELECT repeat('word ', 2000000) || i AS v FROM range(3) r(i)")
    assert diagnose_column(connection, "huge", "v", "VARCHAR", rows=3) == []


def test_five_thousand_columns(connection):
    names = [f"c{number}" for number in range(5_000)]
    connection.execute(
        "CREATE TABLE wide AS SELECT "
        + ", ".join(f"'v' || (i % {number % 7 + 2}) AS {name}" for number, name in enumerate(names))
        + " FROM range(10) r(i)"
    )
    found = diagnose_table(connection, "wide", [(name, "VARCHAR") for name in names], rows=10)
    assert len(found) == 5_000
    assert not any(found.values())


@pytest.mark.shared
@pytest.mark.skipif(not SHARED.exists(), reason="the development corpora are not here")
def test_every_expression_on_real_columns_runs_and_reads_what_it_says(connection):
    files = sorted((SHARED / "corpora" / "rows").glob("*/*/*.parquet"))[::20]
    seen = 0
    for file in files:
        connection.execute(f"CREATE OR REPLACE TABLE t AS SELECT * FROM '{file}'")
        columns = [(row[0], row[1]) for row in connection.execute("DESCRIBE t").fetchall()]
        ((rows,),) = connection.execute("SELECT count(*) FROM t").fetchall()
        for found in diagnose_table(connection, "t", columns, rows=rows).values():
            for each in found:
                if each.expression is None:
                    continue
                seen += 1
                assert_runs(connection, each)
                ((read,),) = connection.execute(f"SELECT count({each.expression}) FROM t").fetchall()
                if each.kind in ("date_as_text", "mixed_date_formats", "number_as_text"):
                    assert read / rows == pytest.approx(each.share.value)
    assert seen > 50
