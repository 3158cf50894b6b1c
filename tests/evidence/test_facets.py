"""Facets of text columns, against texts whose truth is known because they were made here."""

from __future__ import annotations

import datetime
import random
import sqlite3
from pathlib import Path

import duckdb
import pytest

from coset.evidence.facets import candidate as facet_reading
from coset.evidence.facets.finding import find_facets
from coset.session.guard import check, parse
from coset.state.objects import TextFacet

ENVIRONMENTS = Path(__file__).parents[3] / "shared" / "environments"

COMPANIES = [
    "Acme Ltd",
    "Northwind Traders",
    "Globex",
    "Little, Brown and Company",
    "Initech",
    "Umbrella Corp",
    "Hooli",
]
PLACES = [("Basel", "Switzerland"), ("Lyon", "France"), ("New York", "USA"), ("Porto", "Portugal"), ("Osaka", "Japan")]
FORMATS = ["hardcover", "paperback", "audio"]


def column(values: list[str | None], name: str = "text") -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    quoted = '"' + name.replace('"', '""') + '"'
    connection.execute(f"CREATE TABLE t AS SELECT unnest($1::VARCHAR[]) AS {quoted}", [values])
    return connection


def facets(values: list[str | None], name: str = "text") -> dict[str, TextFacet]:
    connection = column(values, name)
    found = find_facets(connection, "t", name, "VARCHAR", rows=len(values))
    glance = [value[:301] for value in values if value is not None][:1_000]
    assert find_facets(connection, "t", name, "VARCHAR", rows=len(values), glance=glance) == found
    for facet in found:
        check(parse(f"SELECT {facet.expression} FROM src.t"), lambda table: True)
    return {facet.name: facet for facet in found}


def values_of(facet: TextFacet, values: list[str | None]) -> list[object]:
    return [row[0] for row in column(values).execute(f"SELECT {facet.expression} FROM t").fetchall()]


def right(facet: TextFacet, values: list[str | None], truth: list[object]) -> float:
    """The share of rows in which the facet reads what was written, NULL where nothing was."""
    return sum(read == true for read, true in zip(values_of(facet, values), truth, strict=True)) / len(truth)


def sales(count: int = 400) -> tuple[list[str | None], dict[str, list[object]]]:
    """Sentences of two templates; in a tenth of the rows other words."""
    chance = random.Random(7)
    texts: list[str | None] = []
    truth: dict[str, list[object]] = {
        name: [] for name in ("seller", "town", "region", "date", "amount", "order", "pages", "format", "ounces")
    }
    for number in range(count):
        company, (town, region) = chance.choice(COMPANIES), chance.choice(PLACES)
        day = datetime.date(2015, 1, 1) + datetime.timedelta(days=chance.randrange(3000))
        price, pages = round(chance.uniform(3, 4000), 2), chance.randrange(20, 900)
        order = f"{chance.randrange(10**7, 10**8)}"
        form, weight, unit = (
            chance.choice(FORMATS),
            chance.randrange(1, 40),
            chance.choice(["ounces", "ounces", "pounds"]),
        )
        row: dict[str, object] = {
            "seller": company, "town": town, "region": region, "date": day, "amount": price, "order": order,
            "pages": float(pages), "format": form, "ounces": float(weight if unit == "ounces" else 16 * weight),
        }  # fmt: skip
        if number % 10 == 9:
            texts.append(
                chance.choice(["nothing is known about it", "see the catalogue", "it was lost"]) + f" {number}"
            )
            row = dict.fromkeys(row)
        elif number % 2:
            texts.append(
                f"Sold by {company} via post in {town}, {region} on {day:%B} {day.day}, {day.year} for ${price:,.2f}. "
                f"Order number {order}. It comes in {form} format with {pages} pages and weighs {weight} {unit}."
            )
        else:
            texts.append(
                f"This copy, sold by {company} via post in {town}, {region}, left us on {day:%Y-%m-%d}. Order number: "
                f"{order}. It weighs {weight} {unit}, comes in {form} format, has {pages} pages and cost ${price:,.2f}."
            )
        for name, value in row.items():
            truth[name].append(value)
    return texts, truth


def test_sentences_of_two_templates_give_back_every_value_that_was_written_into_them() -> None:
    texts, truth = sales()
    found = facets(texts)
    for name, facet in {
        "seller": "sold by", "town": "town", "region": "region", "date": "date", "amount": "amount", "order": "Order",
        "pages": "pages", "format": "comes in", "ounces": "weight in ounces",
    }.items():  # fmt: skip
        assert facet in found, (facet, sorted(found))
        read, true = values_of(found[facet], texts), truth[name]
        if name == "ounces":
            read = [None if value is None else round(value, 6) for value in read]  # type: ignore[call-overload]
        assert read == true, [pair for pair in zip(read, true, texts, strict=True) if pair[0] != pair[1]][:3]
        assert found[facet].coverage.value == pytest.approx(0.9)
        assert found[facet].coverage.error == 0
    assert found["date"].type == "DATE"
    assert found["pages"].kind == "number"
    assert found["Order"].kind == "identifier"
    assert found["sold by"].kind == "slot"
    assert found["comes in"].distinct == 3
    assert found["region"].kind == "place"


def test_examples_show_the_piece_and_what_was_read() -> None:
    texts, _ = sales(120)
    found = facets(texts)
    for facet in found.values():
        assert 1 <= len(facet.examples) <= 3
        for piece, read in facet.examples:
            assert piece
            assert read
    assert all(read in piece for piece, read in found["sold by"].examples)


def test_key_value_lists_give_each_key_with_its_type() -> None:
    chance = random.Random(1)
    rows = [
        (chance.choice(["red", "dark blue", "green"]), chance.randrange(1, 99), f"{chance.randrange(10**5):05}",
         chance.choice(["cotton, wool", "silk"]))
        for _ in range(200)
    ]  # fmt: skip
    texts: list[str | None] = [f"Color: {c}; Size: {s}; Part: {p}; Fabric: {f}" for c, s, p, f in rows]
    found = facets(texts)
    assert right(found["Color"], texts, [row[0] for row in rows]) == 1
    assert right(found["Size"], texts, [float(row[1]) for row in rows]) == 1
    assert found["Size"].type == "DOUBLE"
    assert right(found["Part"], texts, [row[2] for row in rows]) == 1
    assert found["Part"].type == "VARCHAR", "a leading zero is lost in a number"
    assert right(found["Fabric"], texts, [row[3] for row in rows]) == 1
    assert {found[name].kind for name in ("Color", "Size", "Part", "Fabric")} == {"key_value"}


def test_key_value_lists_with_equal_signs_and_commas_keep_commas_inside_values() -> None:
    rows = [(f"v{n % 7}", f"a{n}, b{n}") for n in range(100)]
    texts: list[str | None] = [f"mode={m}, tags={t}, level={n % 5}" for n, (m, t) in enumerate(rows)]
    found = facets(texts)
    assert right(found["mode"], texts, [row[0] for row in rows]) == 1
    assert right(found["tags"], texts, [row[1] for row in rows]) == 1


def test_dates_in_many_spellings_are_one_facet() -> None:
    days = [datetime.date(2011, 1, 1) + datetime.timedelta(days=37 * n) for n in range(120)]
    spellings = ["%B %d, %Y", "%d %B %Y", "%b. %d %Y", "%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y", "%dth of %B %Y", "%d-%b-%Y"]
    texts: list[str | None] = [
        f"Customer {n} wrote to us, we answered {day.strftime(spellings[n % len(spellings)])} by letter"
        for n, day in enumerate(days)
    ]
    found = facets(texts)
    assert right(found["date"], texts, days) == 1


def test_the_day_comes_first_when_a_value_shows_it() -> None:
    days = [datetime.date(2020, 1, 1) + datetime.timedelta(days=n) for n in range(100)]
    texts: list[str | None] = [f"visit number {n} was on {day:%d/%m/%Y} with Anna" for n, day in enumerate(days)]
    assert right(facets(texts)["date"], texts, days) == 1
    texts = [f"visit number {n} was on {day:%m/%d/%Y} with Anna" for n, day in enumerate(days)]
    assert right(facets(texts)["date"], texts, days) == 1


def test_two_dates_in_a_text_are_told_apart_by_the_words_before_them() -> None:
    days = [datetime.date(2019, 3, 1) + datetime.timedelta(days=n) for n in range(100)]
    later = [day + datetime.timedelta(days=9) for day in days]
    texts: list[str | None] = [
        f"Parcel {n} was shipped on {a:%Y-%m-%d} and delivered on {b:%Y-%m-%d}."
        for n, (a, b) in enumerate(zip(days, later, strict=True))
    ]
    found = facets(texts)
    assert right(found["shipped on"], texts, days) == 1
    assert right(found["delivered on"], texts, later) == 1


def test_addresses_of_web_mail_and_telephone_are_found() -> None:
    texts: list[str | None] = [
        f"Write to anna{n}@shop{n}.example.com, see https://shop{n}.example.com/help?id={n} or call +41 44 555 {n:02} 11."
        for n in range(60)
    ]
    found = facets(texts)
    assert right(found["email"], texts, [f"anna{n}@shop{n}.example.com" for n in range(60)]) == 1
    assert right(found["url"], texts, [f"https://shop{n}.example.com/help?id={n}" for n in range(60)]) == 1
    assert right(found["phone"], texts, [f"+41 44 555 {n:02} 11" for n in range(60)]) == 1


def test_town_state_and_postal_code_are_read_from_addresses_in_prose() -> None:
    towns = [
        ("Little Rock", "AR", "72201"),
        ("Boise", "ID", "83702"),
        ("Santa Fe", "NM", "87501"),
        ("Tampa", "FL", "33602"),
    ]
    chosen = [towns[n % 4] for n in range(80)]
    texts: list[str | None] = [
        f"{n} Oak Street in {town}, {state} {code} is home to this shop that many like"
        for n, (town, state, code) in enumerate(chosen)
    ]
    found = facets(texts)
    assert right(found["city"], texts, [town for town, _, _ in chosen]) == 1
    assert right(found["state"], texts, [state for _, state, _ in chosen]) == 1
    assert right(found["postal code"], texts, [code for _, _, code in chosen]) == 1


def test_codes_of_one_shape_are_found_without_a_word_before_them() -> None:
    texts: list[str | None] = [
        f"{word} INC{n:07} again because of {cause}"
        for n, word, cause in (
            (n, ["closing", "see", "reopened"][n % 3], ["rain", "heat", "wind"][n % 3]) for n in range(90)
        )
    ]
    assert right(facets(texts)["INC code"], texts, [f"INC{n:07}" for n in range(90)]) == 1


def test_amounts_in_several_currencies_keep_the_currency() -> None:
    rows = [(["€", "$", "CHF "][n % 3], 1000.5 + n) for n in range(90)]
    texts: list[str | None] = [f"offer number {n} over {sign}{value:,.2f} net" for n, (sign, value) in enumerate(rows)]
    found = facets(texts)
    assert right(found["amount"], texts, [value for _, value in rows]) == 1
    assert right(found["currency"], texts, [sign.strip() for sign, _ in rows]) == 1


def test_millions_are_multiplied_out() -> None:
    texts: list[str | None] = [f"firm {n} raised ${n}.5 million from friends" for n in range(1, 60)]
    assert right(facets(texts)["amount"], texts, [(n + 0.5) * 1e6 for n in range(1, 60)]) == 1


def test_a_column_of_lists_gives_its_elements() -> None:
    colours = ["red", "dark green", "blue", "white"]
    chance = random.Random(3)
    lists = [chance.sample(colours, chance.randrange(1, 5)) for _ in range(100)]
    for separator in ("; ", "|", ", ", "\n"):
        texts: list[str | None] = [separator.join(one) for one in lists]
        found = facets(texts)
        assert found["elements"].kind == "list"
        assert right(found["elements"], texts, list(lists)) == 1


def test_an_enumeration_after_fixed_words_is_a_list() -> None:
    services = ["plumbing", "roof repair", "painting", "gardening", "heating", "cleaning"]
    chance = random.Random(5)
    lists = [chance.sample(services, chance.randrange(3, 6)) for _ in range(150)]
    names = ["friendly", "old", "large", "small", "quiet"]
    texts: list[str | None] = [
        f"A {chance.choice(names)} firm that offers {', '.join(one[:-1])}, and {one[-1]}." for one in lists
    ]
    found = [facet for facet in facets(texts).values() if facet.kind == "list"]
    assert found
    assert right(found[0], texts, list(lists)) == 1


def test_a_list_between_fixed_words_is_a_list_also_where_it_has_one_element() -> None:
    dice = random.Random(3)
    kinds = ("Food", "Bars", "Coffee", "Yoga Studios", "Hotels", "Dentists", "Bakeries")
    truth = [dice.sample(kinds, dice.randrange(1, 4)) for _ in range(300)]
    lists = [each[0] if len(each) == 1 else f"{', '.join(each[:-1])} and {each[-1]}" for each in truth]
    values = [
        f"In {dice.choice(('Leeds', 'York', 'Hull'))} it has services in the categories of {each}." for each in lists
    ]
    found = next(each for each in facets(values).values() if each.type == "VARCHAR[]")
    assert right(found, values, truth) > 0.95 and "unnest" in found.description


def test_a_slot_that_nearly_always_holds_the_same_name_is_found() -> None:
    languages = ["German" if n % 15 == 0 else "Thai" if n % 40 == 7 else "English" for n in range(240)]
    texts: list[str | None] = [f"Volume {n} was written in {language} by hand." for n, language in enumerate(languages)]
    assert right(facets(texts)["written in"], texts, list(languages)) == 1


def test_the_name_that_texts_begin_with_is_a_slot() -> None:
    makers = [
        f"{first} {last}"
        for first in ("Nova", "Delta", "Orion", "Vega", "Luna")
        for last in ("Labs", "Foods", "Motors", "Bank")
    ]
    verbs = ["offers", "provides", "is"]
    texts: list[str | None] = [
        f"{maker} {verbs[n % 3]} something that customer {n} of that town has wanted for long"
        for n, maker in enumerate(makers * 5)
    ]
    found = facets(texts)
    assert right(found["beginning"], texts, makers * 5) == 1


def prose(count: int = 300) -> list[str | None]:
    """Free text: words drawn as in language, a few often and most seldom."""
    chance = random.Random(11)
    small = "the of and to a in is it you that he was for on are with as his they at be this from have or by"
    words = small.split()
    seldom = ["".join(chance.choices("aeioulnrstm", k=chance.randrange(4, 9))) for _ in range(900)]
    return [
        " ".join(chance.choice(words) if chance.random() < 0.5 else chance.choice(seldom) for _ in range(30)) + "."
        for _ in range(count)
    ]


@pytest.mark.parametrize(
    "values",
    [
        prose(),
        [f"bookid_{n}" for n in range(500)],
        [f"{n}" for n in range(500)],
        [f"2020-01-01 10:{n % 60:02}:00" for n in range(500)],
        [f"2020-01-{n % 28 + 1:02}T10:00:00.000+0000" for n in range(500)],
        ["new", "in progress", "done"] * 100,
        [f"{first} {last}" for first in ("Anna", "Ben", "Carla", "Dora") for last in ("Meier", "Smith", "Rossi", "Weber")] * 9,
        [f"user{n}@example.com" for n in range(300)],
        [f"https://example.com/{n}" for n in range(300)],
        [f"January {n % 28 + 1}, 2020" for n in range(300)],
        [f"${n}.00" for n in range(300)],
        [None] * 50,
        [""] * 50,
        ["one text that is the same everywhere, sold by Acme in Basel, Switzerland"] * 50,
        [],
    ],
    ids=[
        "prose", "ids", "numbers", "times", "iso", "labels", "names", "mails", "urls", "dates", "prices", "nulls",
        "empty", "constant", "no rows",
    ],
)  # fmt: skip
def test_nothing_is_found_where_nothing_can_be_read(values: list[str | None]) -> None:
    assert facets(values) == {}


def test_other_types_are_not_looked_at() -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t AS SELECT range AS n FROM range(100)")
    assert find_facets(connection, "t", "n", "BIGINT", rows=100) == []


def test_what_stands_in_too_few_rows_is_left_out() -> None:
    texts = prose(600)
    for n in range(8):
        texts[n] = f"{texts[n]} it was sold on 2020-01-{n + 1:02}"
    assert "date" not in facets(texts)
    for n in range(60):
        texts[n] = f"{texts[n]} it was sold on 2020-01-{n % 28 + 1:02}"
    assert facets(texts)["date"].coverage.value == pytest.approx(0.1)


def test_a_long_column_is_measured_on_a_sample_that_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facet_reading, "COPIED_LETTERS", 1)
    texts: list[str | None] = [
        f"word{n % 97} came {'on 2020-02-' + str(n % 28 + 1).zfill(2) if n % 4 else 'late'} and left again"
        for n in range(20_000)
    ]
    facet = facets(texts)["date"]
    assert 0 < facet.coverage.error < 0.02
    assert abs(facet.coverage.value - 0.75) <= 2 * facet.coverage.error
    assert "of 20,000 rows" in facet.description


def test_the_same_column_gives_the_same_facets_and_leaves_no_table() -> None:
    texts, _ = sales(120)
    connection = column(texts)
    first = find_facets(connection, "t", "text", "VARCHAR", rows=len(texts))
    second = find_facets(connection, "t", "text", "VARCHAR", rows=len(texts))
    assert first == second
    assert len(first) <= 12
    assert connection.execute("SELECT count(*) FROM duckdb_tables()").fetchone() == (1,)


def test_odd_column_names_and_odd_characters_do_no_harm() -> None:
    texts, _ = sales(100)
    texts = [f"{text} \ufffd\x00'\"\\" for text in texts]
    found = facets(texts, 'it\'s "odd", f0')
    assert found["date"].coverage.value == pytest.approx(0.9)


def test_a_huge_cell_is_cut_and_said_to_be() -> None:
    texts, _ = sales(100)
    texts[0] = "x y " * 3_000_000
    found = facets(texts)
    assert "20,000 characters" in found["date"].description


# --------------------------------------------------------------------------------------------------------------------
# Real columns: something useful is found and every expression runs
# --------------------------------------------------------------------------------------------------------------------


def real(path: str, table: str, name: str) -> dict[str, TextFacet]:
    file = ENVIRONMENTS / path
    if not file.exists():
        pytest.skip("the development environments are not here")
    if file.suffix == ".duckdb":
        connection = duckdb.connect(str(file), read_only=True)
    else:
        values = [row[0] for row in sqlite3.connect(file).execute(f'SELECT "{name}" FROM "{table}"')]
        connection = column(values, name)
        table = "t"
    rows = connection.execute(f'SELECT count(*) FROM "{table}"').fetchone()
    assert rows
    found = find_facets(connection, f'"{table}"', name, "VARCHAR", rows=rows[0])
    for facet in found:
        check(parse(f"SELECT {facet.expression} FROM src.t"), lambda table: True)
        count = connection.execute(f'SELECT count({facet.expression}) FROM "{table}"').fetchone()
        assert count
        assert count[0] >= facet.coverage.value * rows[0] - 1e-6
    return {facet.name: facet for facet in found}


@pytest.mark.shared
def test_sentences_about_books_give_dates_pages_codes_and_publishers() -> None:
    found = real("bookreview/query_dataset/books_info.loaded.duckdb", "books_info", "details")
    kinds = {facet.kind for facet in found.values()}
    assert {"date", "number", "identifier", "slot", "list"} <= kinds
    assert sum(facet.coverage.value > 0.5 for facet in found.values()) >= 6


@pytest.mark.shared
def test_descriptions_of_companies_give_their_names() -> None:
    found = real("stockmarket/query_dataset/stockinfo_query.db", "stockinfo", "Company Description")
    assert any(facet.kind == "slot" and facet.coverage.value > 0.5 for facet in found.values())


@pytest.mark.shared
def test_a_subtitle_gives_its_date() -> None:
    assert (
        real("bookreview/query_dataset/books_info.loaded.duckdb", "books_info", "subtitle")["date"].coverage.value > 0.5
    )


@pytest.mark.shared
def test_a_place_inside_a_description_is_found() -> None:
    found = real("bookreview/query_dataset/books_info.loaded.duckdb", "books_info", "description")
    assert any(facet.kind == "place" for facet in found.values())
