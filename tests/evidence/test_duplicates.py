"""Duplicates: copies of entities are found with exact counts, and tables that repeat by nature are left alone."""

import random
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from coset.evidence.duplicates import find_duplicates
from coset.session.guard import check, parse

SHARED = Path(__file__).parents[2] / "shared"
if not SHARED.exists():
    SHARED = Path(__file__).parents[3] / "shared"

FIRST = [
    "Anna",
    "Boris",
    "Chiara",
    "Dmitri",
    "Elena",
    "Farid",
    "Greta",
    "Hiro",
    "Ines",
    "Jonas",
    "Katia",
    "Lars",
    "Mona",
    "Niels",
    "Olga",
]
LAST = [
    "Almeida",
    "Becker",
    "Castellano",
    "Dvorak",
    "Eriksen",
    "Fontaine",
    "Gallagher",
    "Horvath",
    "Ivanov",
    "Jansen",
    "Kowalski",
    "Lindqvist",
]
WORDS = [
    "Granite",
    "Meadow",
    "Falcon",
    "Copper",
    "Juniper",
    "Harbor",
    "Saffron",
    "Willow",
    "Ember",
    "Quartz",
    "Orchard",
    "Tundra",
    "Velvet",
    "Zephyr",
    "Cobalt",
    "Marigold",
    "Sierra",
    "Lantern",
    "Prairie",
    "Onyx",
]
TRADES = ["Textiles", "Logistics", "Foods", "Robotics", "Pharma", "Optics", "Ceramics", "Brewing", "Energy", "Media"]
CITIES = ["Oslo", "Lima", "Porto", "Quito", "Turin", "Graz", "Cork", "Basel", "Ghent", "Split", "Malmö", "Brno"]


@pytest.fixture
def connection():
    with duckdb.connect() as opened:
        opened.execute("SET threads = 1")
        yield opened


def load(connection, rows, columns):
    table = pa.table({name: [row[number] for row in rows] for number, name in enumerate(columns)})
    connection.register("given", table)
    connection.execute("CREATE OR REPLACE TABLE t AS SELECT * FROM given")
    connection.unregister("given")
    return [(row[0], row[1]) for row in connection.execute("DESCRIBE t").fetchall()]


def find(connection, rows, columns, seed=0):
    described = load(connection, rows, columns)
    signs = find_duplicates(connection, "t", described, rows=len(rows), seed=seed)
    if signs is not None:
        check(parse(f"SELECT {signs.key} AS x FROM t"), lambda table: table.name == "t")
        ((counted,),) = connection.execute(
            f"SELECT coalesce(sum(n), 0) FROM (SELECT count(*) AS n FROM t WHERE ({signs.key}) IS NOT NULL GROUP BY {signs.key} HAVING count(*) > 1)"
        ).fetchall()
        assert signs.rows == 0 or counted == signs.rows
    return signs


def companies(count, seed=1):
    chance = random.Random(seed)
    names = [f"{one} {trade} {suffix}" for one in WORDS for trade in TRADES for suffix in ("Ltd",)]
    chance.shuffle(names)
    return [
        (number, name, chance.choice(CITIES), f"+{chance.randrange(10**9, 10**10)}", chance.randrange(1900, 2020))
        for number, name in enumerate(names[:count])
    ]


COMPANY = ("id", "name", "city", "phone", "founded")


def test_other_spellings_of_one_name_are_one_cluster_each(connection):
    rows = companies(150)
    variants = [
        str.upper,
        lambda name: name.replace(" Ltd", ", Limited"),
        lambda name: f"  {name}.",
        lambda name: " ".join(reversed(name.split())),
    ]
    copies = []
    for number in range(20):
        _, name, city, phone, founded = rows[number * 5]
        changed = variants[number % 3](name)
        copies.append((1000 + number, changed, city, phone, founded if number % 4 else None))
    signs = find(connection, rows + copies, COMPANY)
    assert signs is not None
    assert signs.columns == ("name",)
    assert signs.clusters == 20
    assert signs.rows == 40
    assert signs.share.value == 40 / 170
    assert signs.variants.value == 1
    assert {name for name, _ in signs.corroborating} >= {"city", "phone"}
    assert all(len(set(example)) > 1 for example in signs.examples)


def test_the_order_of_words_and_accents_do_not_matter(connection):
    rows = [
        (number, f"{first} {last}", f"{first}.{last}@x.org".lower(), random.Random(number).choice(CITIES))
        for number, (first, last) in enumerate((f, s) for f in FIRST for s in LAST[:6])
    ]
    copies = [
        (900 + number, f"{name.split()[1]}, {name.split()[0]}", mail, city)
        for number, (_, name, mail, city) in enumerate(rows[:10])
    ]
    copies += [
        (950 + number, name.replace("e", "é"), mail, city) for number, (_, name, mail, city) in enumerate(rows[20:25])
    ]
    signs = find(connection, rows + copies, ("id", "full_name", "mail", "city"))
    assert signs is not None
    assert (signs.clusters, signs.rows) == (15, 30)


def test_first_and_last_name_are_a_name_together(connection):
    chance = random.Random(3)
    rows = [
        (
            number,
            chance.choice(FIRST),
            chance.choice(LAST) + chance.choice(["", "sen", "ova", "ski"]),
            f"19{chance.randrange(30, 99)}-0{chance.randrange(1, 9)}-1{chance.randrange(0, 9)}",
            chance.choice(CITIES),
        )
        for number in range(120)
    ]
    unique = list({(row[1], row[2]): row for row in rows}.values())
    copies = [
        (500 + number, first.upper(), last.upper(), born, city)
        for number, (_, first, last, born, city) in enumerate(unique[:12])
    ]
    signs = find(connection, unique + copies, ("id", "first", "last", "born", "city"))
    assert signs is not None
    assert signs.columns == ("first", "last")
    assert (signs.clusters, signs.rows) == (12, 24)


def test_misspelt_names_with_agreement_elsewhere_are_near(connection):
    rows = companies(150)
    copies = []
    for number in range(12):
        _, name, city, phone, founded = rows[number * 7]
        place = 3 + number % 4
        copies.append((1000 + number, name[:place] + name[place + 1 :], city, phone, founded))
    signs = find(connection, rows + copies, COMPANY)
    assert signs is not None
    assert signs.clusters == 0
    assert len(signs.near_pairs) >= 10
    assert all({one, two} & {row[1] for row in copies} for one, two in signs.near_pairs)


def test_exact_copies_with_another_key_are_found(connection):
    rows = companies(150)
    copies = [(1000 + number, *row[1:]) for number, row in enumerate(rows[:15])]
    signs = find(connection, rows + copies, COMPANY)
    assert signs is not None
    assert (signs.clusters, signs.rows) == (15, 30)
    assert signs.variants.value == 0


def test_one_title_of_several_authors_is_told_apart(connection):
    chance = random.Random(8)
    titles = [f"{one} {two}" for one in WORDS for two in ("Song", "Road", "Night")]
    authors = [f"{first} {last}" for first in FIRST for last in LAST]
    rows = []
    for title in titles:
        for author in chance.sample(authors, 2):
            rows.append((len(rows), title, author, str(chance.randrange(1960, 2020)), chance.choice(TRADES)))
    assert find(connection, rows, ("id", "title", "author", "year", "genre")) is None
    copies = [
        (900 + number, title.upper(), author, year, genre)
        for number, (_, title, author, year, genre) in enumerate(rows[:30])
    ]
    signs = find(connection, rows + copies, ("id", "title", "author", "year", "genre"))
    assert signs is not None
    assert signs.columns == ("title", "author")
    assert (signs.clusters, signs.rows) == (30, 60)


def test_clean_entities_have_no_signs(connection):
    assert find(connection, companies(200), COMPANY) is None


def test_orders_are_no_duplicates_even_with_names_in_several_cases(connection):
    chance = random.Random(4)
    customers = companies(60)
    rows = []
    for number in range(900):
        _, name, city, _, _ = chance.choice(customers)
        name = name.upper() if chance.random() < 0.1 else name
        rows.append(
            (
                number,
                name,
                city,
                chance.choice(WORDS) + " " + chance.choice(TRADES),
                f"2024-{chance.randrange(1, 13):02}-{chance.randrange(1, 29):02}",
                chance.randrange(1, 5000) / 100,
            )
        )
    assert find(connection, rows, ("order_id", "customer", "city", "product", "ordered", "amount")) is None
    assert find(connection, rows[:40], ("order_id", "customer", "city", "product", "ordered", "amount")) is None


def test_log_rows_and_bridges_are_no_duplicates(connection):
    chance = random.Random(6)
    messages = [
        "connection opened",
        "connection closed",
        "disk nearly full",
        "user signed in",
        "user signed out",
        "backup finished",
    ]
    log = [
        (
            number,
            f"2024-05-01 {number // 60 % 24:02}:{number % 60:02}:00",
            chance.choice(["INFO", "WARN"]),
            chance.choice(messages),
        )
        for number in range(600)
    ]
    assert find(connection, log, ("id", "at", "level", "message")) is None
    bridge = [(chance.choice(FIRST), chance.choice(TRADES)) for _ in range(300)]
    assert find(connection, bridge, ("person", "trade")) is None


def test_numbered_names_are_different_things(connection):
    rows = [
        (number, f"{WORDS[number % 20]} {TRADES[number % 10]} part {number}", CITIES[number % 12], f"{number % 50}")
        for number in range(300)
    ]
    assert find(connection, rows, ("id", "name", "city", "size")) is None
    rows = [
        (number, f"Season finale {roman} of {word}", word, 2000)
        for number, (roman, word) in enumerate((r, w) for r in ("I", "II", "III", "IV", "V") for w in WORDS)
    ]
    assert find(connection, rows, ("id", "name", "show", "year")) is None


def test_same_names_of_different_people_are_no_duplicates(connection):
    chance = random.Random(9)
    rows = [
        (
            number,
            f"{chance.choice(FIRST)} {chance.choice(LAST)}",
            f"{chance.randrange(1930, 2005)}-{chance.randrange(1, 13):02}-{chance.randrange(1, 29):02}",
            chance.choice(CITIES),
            f"p{number}@x.org",
        )
        for number in range(150)
    ]
    assert find(connection, rows, ("id", "name", "born", "city", "mail")) is None


def test_a_large_table_is_studied_in_blocks_with_a_stated_error(connection):
    connection.execute(
        "CREATE TABLE t AS SELECT i AS id, chr(97 + (hash(i) % 26)::INT) || chr(97 + (hash(i, 1) % 26)::INT) || chr(97 + (hash(i, 2) % 26)::INT) || chr(97 + (hash(i, 3) % 26)::INT) "
        "|| 'mar ' || translate(hash(i)::VARCHAR, '0123456789', 'bcdfghjklm') AS name, 'town ' || (hash(i, 5) % 4000) AS town, hash(i, 6) % 5000 AS size FROM range(340000) r(i)"
    )
    connection.execute("INSERT INTO t SELECT id + 1000000, upper(name) || '.', town, size FROM t WHERE id % 10 = 0")
    signs = find_duplicates(
        connection, "t", [("id", "BIGINT"), ("name", "VARCHAR"), ("town", "VARCHAR"), ("size", "UBIGINT")], rows=374_000
    )
    assert signs is not None
    assert signs.columns == ("name",)
    assert 0 < signs.share.error < 0.05
    assert abs(signs.share.value - 68_000 / 374_000) < 2 * signs.share.error


def test_bad_input_gives_nothing(connection):
    assert find_duplicates(connection, "(SELECT 1 AS v LIMIT 0)", [("v", "INTEGER")], rows=0) is None
    assert find(connection, [(None, None)] * 20, ("a", "b")) is None
    assert find(connection, [("same name", "x")] * 30, ("a", "b")) is None
    assert (
        find(
            connection,
            [("\ufffd\ufffd\x01", "(((")] * 3 + [(f"'; -- {number}", "%") for number in range(30)],
            ("a", "b"),
        )
        is None
    )
    connection.execute("CREATE TABLE huge AS SELECT i AS id, repeat('word ', 400000) || i AS v FROM range(12) r(i)")
    assert find_duplicates(connection, "huge", [("id", "BIGINT"), ("v", "VARCHAR")], rows=12) is None


@pytest.mark.shared
@pytest.mark.skipif(not SHARED.exists(), reason="the development corpora are not here")
def test_clean_real_tables_raise_no_alarm(connection):
    alarms = []
    files = sorted((SHARED / "corpora" / "rows").glob("*/*/*.parquet"))[::15]
    for file in files:
        connection.execute(f"CREATE OR REPLACE TABLE t AS SELECT * FROM '{file}'")
        columns = [(row[0], row[1]) for row in connection.execute("DESCRIBE t").fetchall()]
        ((rows,),) = connection.execute("SELECT count(*) FROM t").fetchall()
        if find_duplicates(connection, "t", columns, rows=rows) is not None:
            alarms.append(file.name)
    assert len(alarms) <= 0.02 * len(files), alarms
