"""Each labeler on small tables: when it supports, when it opposes, when it abstains, and in which words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from coset.identities.inventory import Lexicon, shipped_inventory
from coset.identities.labelers import LABELERS
from coset.identities.labelers.readings import READINGS
from coset.identities.labelers.shape import SHAPES
from coset.identities.signals import Look, Signal
from coset.readings.observed import ObservedColumn, ObservedEnvironment, ObservedTable, type_family

INVENTORY = shipped_inventory()
LEXICON = Lexicon(INVENTORY)
BY_NAME = {labeler.name: labeler for labeler in LABELERS}

Column = ObservedColumn
PROSE = ("The quick brown fox jumps over the lazy dog and then it goes home again.",) * 2
UUIDS = ("550e8400-e29b-41d4-a716-446655440000", "6ba7b810-9dad-11d1-80b4-00c04fd430c8")


def signals(
    labeler: str, column: Column | None, table: str = "things", beside: tuple[Column, ...] = ()
) -> list[Signal]:
    columns = (*beside, column) if column is not None else beside
    seen = ObservedTable(table, columns)
    look = Look(INVENTORY, LEXICON, ObservedEnvironment("test", (seen,)), seen, column, len(beside))
    return list(BY_NAME[labeler].look(look))


def ids(signal: Signal) -> set[str]:
    return {INVENTORY.of(signal.coordinate)[number].id for number in signal.identities}


# labeler, column, what it must name, and words of the reason
SUPPORTS = [
    ("whole name", Column("birthDate"), "birth_date", "its name is 'birth date'"),
    ("name ending", Column("billing_email"), "email", "its name ends with 'email'"),
    ("name beginning", Column("customer_id"), "customer", "its name begins with 'customer'"),
    ("flag name", Column("is_active"), "flag", "its name asks 'is ...?'"),
    ("written label", Column("c17", label="Unit price"), "price_of", "it is called 'unit price' for people"),
    ("written label", Column("c17", description="The unit price. In euro."), "price_of", "for people"),
    ("reading of the column", Column("AGNR", label="supplier number"), "supplier", "it is read as of 'supplier'"),
    ("flag type", Column("x", type="flag"), "flag", "its type is boolean"),
    ("time type", Column("x", type="date"), "event_time", "its type is a date or time"),
    ("time type", Column("x", type="time"), "duration", "its type is a date or time"),
    ("nested type", Column("x", type="nested"), "payload", "it is nested"),
    ("fraction type", Column("x", type="number"), "amount", "its type has fractions"),
    ("key", Column("x", is_key=True), "identifier", "it is a key"),
    ("key", Column("x", refers_to=("orders", "id")), "identifier", "it refers to orders.id"),
    ("reference target", Column("x", refers_to=("tbl_orders", "id")), "order", "it refers to a table of 'order'"),
    ("e-mails", Column("x", samples=("a@b.org", "c@d.com")), "email", "100% of its samples are e-mail addresses"),
    ("urls", Column("x", samples=("https://a.org/1", "http://b.org")), "url", "web addresses"),
    ("uuids", Column("x", samples=UUIDS), "identifier", "uuids"),
    ("hashes", Column("x", samples=("d41d8cd98f00b204e9800998ecf8427e", "0cc175b9c0f1b6a831c399e269772661")), "hash", "hashes"),
    ("dates", Column("x", samples=("2024-01-31", "31/12/2023", "March 3, 1999", "junk")), "event_time", "75% of its samples"),
    ("network addresses", Column("x", samples=("10.0.0.1", "192.168.1.1")), "network_address", "network addresses"),
    ("truths", Column("x", samples=("yes", "no")), "flag", "yes or no"),
    ("genders", Column("x", samples=("male", "female")), "gender", "genders"),
    ("calendar words", Column("x", samples=("Mon", "Tuesday", "feb")), "calendar_part", "months or weekdays"),
    ("nested values", Column("x", samples=('{"a": 1}', "[1, 2]")), "payload", "nested"),
    ("files", Column("x", samples=("a.png", "my photo.JPG")), "file", "files"),
    ("money", Column("x", samples=("$1,234.50", "€99", "1,000")), "amount", "sums"),
    ("percentages", Column("x", samples=("5%", "12.5 %")), "rate", "percentages"),
    ("prose", Column("x", samples=PROSE), "description", "its values are sentences"),
]  # fmt: skip

OPPOSES = [
    ("reading rules out", Column("x9", label="entry date"), "amount", "it is read as 'entry date'"),
    ("number type", Column("x", type="whole"), "email", "its type is a number"),
    ("text type", Column("x", type="text", samples=("red", "green")), "amount", "it holds text"),
    ("few values", Column("x", rows=1000, distinct=3), "identifier", "3 values in 1000 rows"),
    ("unique", Column("x", rows=1000, distinct=1000), "status", "no value occurs twice"),
    ("out of degrees", Column("x", samples=("1", "2", "500")), "latitude", "beyond 180"),
    ("fractions", Column("x", samples=("1.5", "2.25")), "identifier", "its values have fractions"),
    ("no times", Column("x", samples=("red", "green")), "created_time", "its values are no dates"),
]

ABSTAINS = [
    ("reading of the column", Column("supplier_number", label="supplier number")),
    ("reading rules out", Column("entry_date", label="entry date")),
    ("reading of the table", Column("x9", label="entry date")),
    ("read as of another", Column("x9", label="entry date")),
    ("whole name", Column("zzqx")),
    ("whole name", Column("")),
    ("name ending", Column("email")),  # the whole name, so no ending
    ("name ending", Column("email_zzqx")),
    ("name beginning", Column("customer_since")),
    ("name beginning", Column("zzqx_id")),
    ("name beginning", Column("id")),
    ("flag name", Column("island")),
    ("flag name", Column("active_is")),
    ("written label", Column("email")),
    ("written label", Column("c17", label="Zzqx", description="Qqz")),
    ("flag type", Column("x", type="whole")),
    ("time type", Column("x", type="text")),
    ("nested type", Column("x", type="text")),
    ("number type", Column("x", type="text")),
    ("number type", Column("x")),
    ("fraction type", Column("x", type="whole")),
    ("text type", Column("x", type="text")),
    ("text type", Column("x", type="text", samples=("12", "17"))),
    ("text type", Column("x", type="text", samples=("NULL", "n/a"))),  # nothing is known of its values
    ("key", Column("x")),
    ("reference target", Column("x")),
    ("reference target", Column("x", refers_to=("zzqx", "id"))),
    ("few values", Column("x", rows=10, distinct=3)),
    ("few values", Column("x", rows=1000, distinct=4)),
    ("few values", Column("x", rows=1000, distinct=2, refers_to=("a", "b"))),
    ("few values", Column("x")),
    ("unique", Column("x", rows=1000, distinct=900)),
    ("unique", Column("x", rows=10, distinct=10)),
    ("unique", Column("x")),
    *((name, Column("x", samples=("red", "green"))) for name in (
        "e-mails", "urls", "uuids", "hashes", "dates", "network addresses", "truths", "genders", "calendar words",
        "nested values", "files", "money", "percentages", "prose", "out of degrees", "fractions",
    )),
    *((name, Column("x", samples=("a@b.org",))) for name in ("e-mails", "no times", "prose")),  # one sample is too few
    ("dates", Column("x", samples=("2024-01-31", "red", "green"))),
    ("out of degrees", Column("x", samples=("45.5", "-170", "12"))),
    ("out of degrees", Column("x", samples=("1e400", "nan", "inf", "5", "6", "7"))),
    ("no times", Column("x", samples=("2024-01-31", "2024-02-01"))),
    ("no times", Column("x", samples=("17", "18"))),
    ("no times", Column("x", type="date", samples=("red", "green"))),
    ("no times", Column("x", samples=("NULL", "n/a"))),
    ("second key", Column("x", type="number", rows=100, distinct=7)),
    ("pairs", Column("value")),
    ("taken", Column("x")),
]  # fmt: skip


@pytest.mark.parametrize(("labeler", "column", "identity", "reason"), SUPPORTS)
def test_support(labeler: str, column: Column, identity: str, reason: str) -> None:
    (signal,) = signals(labeler, column)
    assert (signal.labeler, signal.supports) == (labeler, True)
    assert identity in ids(signal)
    assert reason in signal.reason


@pytest.mark.parametrize(("labeler", "column", "identity", "reason"), OPPOSES)
def test_opposition(labeler: str, column: Column, identity: str, reason: str) -> None:
    (signal,) = signals(labeler, column)
    assert (signal.labeler, signal.supports) == (labeler, False)
    assert identity in ids(signal)
    assert reason in signal.reason


@pytest.mark.parametrize(("labeler", "column"), ABSTAINS)
def test_abstention(labeler: str, column: Column) -> None:
    assert signals(labeler, column) == []


def test_a_table_and_its_own_columns_are_what_its_name_says() -> None:
    for column in (None, Column("zzqx")):
        (signal,) = signals("table name", column, table="dim_customers")
        assert (signal.coordinate, ids(signal)) == ("entity", {"customer"})
        assert signal.reason == "its table's name says 'customer'"
    assert signals("table name", Column("x"), table="zzqx") == []
    assert signals("table name", Column("x", refers_to=("orders", "id")), table="customers") == []
    assert signals("table name", Column("product_id"), table="customers") == []


def test_a_column_without_its_tables_name_in_front_is_read_whole() -> None:
    (signal,) = signals("whole name", Column("customer_name"), table="Customers")
    assert "name" in ids(signal)
    assert signal.reason == "its name is 'name'"


def test_what_another_column_is_this_one_is_not() -> None:
    beside = (Column("latitude"), Column("gender"))
    said = signals("taken", Column("zzqx"), beside=beside)
    assert {(frozenset(ids(signal)), signal.supports) for signal in said} == {
        (frozenset({"latitude"}), False),
        (frozenset({"gender"}), False),
    }
    assert {signal.reason for signal in said} == {"'latitude' is that already", "'gender' is that already"}
    assert signals("taken", Column("lat"), beside=beside) == []  # its own name is as good


def test_beside_a_key_a_number_that_repeats_is_no_identifier() -> None:
    column = Column("x", type="number", rows=100, distinct=7)
    (signal,) = signals("second key", column, beside=(Column("id", is_key=True),))
    assert (ids(signal), signal.supports, signal.reason) == ({"identifier"}, False, "another column is the key")
    assert signals("second key", replace(column, distinct=100), beside=(Column("id", is_key=True),)) == []
    assert signals("second key", replace(column, distinct=None), beside=(Column("id", is_key=True),)) == []


def test_a_value_beside_a_key() -> None:
    (signal,) = signals("pairs", Column("meta_value"), beside=(Column("meta_key"),))
    assert (ids(signal), signal.supports, signal.reason) == ({"value"}, True, "a key stands beside it")
    assert signals("pairs", Column("zzqx"), beside=(Column("meta_key"),)) == []


def test_every_labeler_has_its_cases_here() -> None:
    speaking = {case[0] for case in (*SUPPORTS, *OPPOSES)} | {
        "table name", "taken", "second key", "pairs", "reading of the table", "read as of another",
    }  # fmt: skip
    of_shape = {labeler.name for labeler in SHAPES} | {"names another"}  # Their cases stand below.
    silent = {case[0] for case in ABSTAINS} | {"table name"}
    assert speaking | of_shape == silent | of_shape == set(BY_NAME)
    assert len(BY_NAME) == len(LABELERS)


def test_labelers_read_columns_and_tables_without_anything_known() -> None:
    odd = ["", " ", "\x00", "💰", "_" * 300, "a" * 5_000, "客户", "1"]
    for name in odd:
        for column in (None, Column(name), Column(name, samples=("", "\x00", "NULL"), description=".", label=" ")):
            for labeler in LABELERS:
                for signal in signals(labeler.name, column, table=name):
                    assert signal.identities and signal.reason
                    assert len(set(signal.identities)) == len(signal.identities)


def test_labelers_say_nothing_of_the_attribute_of_a_table() -> None:
    for labeler in LABELERS:
        for signal in signals(labeler.name, None, table="orders", beside=(Column("email", is_key=True),)):
            assert signal.coordinate == "entity"


def test_work_grows_with_the_columns_and_not_with_their_square(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table of 1,000 columns that provoke the labelers of neighbours: names looked at per column stay bounded."""
    from coset.identities.labelers import names as neighbours

    looked_at = 0
    read = neighbours.phrase_of

    def counted(name: str) -> tuple[str, ...]:
        nonlocal looked_at
        looked_at += 1
        return read(name)

    monkeypatch.setattr(neighbours, "phrase_of", counted)
    counts = []
    for width in (500, 1_000):
        looked_at = 0
        columns = tuple(Column(f"value_{n}", type="number", rows=100, distinct=7) for n in range(width))
        table = ObservedTable("t", columns)
        environment = ObservedEnvironment("test", (table,))
        for number, column in enumerate(columns):
            look = Look(INVENTORY, LEXICON, environment, table, column, number)
            for labeler in ("taken", "second key", "pairs"):
                list(BY_NAME[labeler].look(look))
        counts.append(looked_at)
    assert counts[1] <= 2.2 * counts[0]


@pytest.mark.parametrize(
    ("written", "family"),
    [
        ("BIGINT", "whole"), ("int unsigned", "whole"), ("PositiveIntegerField", "whole"), ("bigserial", "whole"),
        ("DECIMAL(10,2)", "number"), ("double precision", "number"), ("REAL", "number"),
        ("VARCHAR(20)", "text"), ("character varying", "text"), ("LONGTEXT", "text"), ("Long Text", "text"),
        ("short text", "text"), ("uniqueidentifier", "text"), ("enum('print','real','date')", "text"),
        ("FixedString(8)", "text"), ("ObjectId", "text"), ("uuid", "text"),
        ("TIMESTAMP WITH TIME ZONE", "time"), ("datetime2", "time"), ("INTERVAL", "time"),
        ("DATE", "date"), ("year", "date"), ("BOOLEAN", "flag"), ("tinyint(1)", "flag"),
        ("BLOB", "binary"), ("point", "binary"), ("geometry(Point,4326)", "binary"), ("varbinary(8)", "binary"),
        ("STRUCT(a INTEGER)", "nested"), ("VARCHAR[]", "nested"), ("MAP(VARCHAR, INTEGER)", "nested"),
        ("jsonb", "nested"), ("", "unknown"), (None, "unknown"), ("zzqx", "unknown"),
    ],
)  # fmt: skip
def test_types_of_any_engine_have_a_family(written: str | None, family: str) -> None:
    assert type_family(written) == family


def test_uniqueness_is_known_or_not() -> None:
    assert Column("x", rows=100, distinct=100).unique is True
    assert Column("x", rows=100, distinct=50, nulls=0.5).unique is True
    assert Column("x", rows=100, distinct=50).unique is False
    assert Column("x", rows=1, distinct=1).unique is None
    assert Column("x").unique is None


def test_a_reading_speaks_for_the_table_and_against_other_entities() -> None:
    key, plain = Column("kno", label="customer number"), Column("dat", label="order date")
    seen = ObservedTable("zx9", (key, plain), label="order header")
    environment = ObservedEnvironment("test", (seen,))

    def said(column: Column | None) -> set[tuple[str, bool, str]]:
        look = Look(INVENTORY, LEXICON, environment, seen, column, 0)
        found = [signal for labeler in READINGS for signal in labeler.look(look)]
        return {(each.coordinate, each.supports, identity) for each in found for identity in ids(each)}

    assert ("entity", True, "order") in said(None)
    assert ("entity", True, "customer") in said(key)
    assert ("entity", False, "order") in said(key)
    assert ("entity", True, "order") in said(plain)
    assert ("attribute", False, "amount") in said(plain)
    unread = ObservedTable("orders", (Column("customer_number", label="customer number"),))
    look = Look(INVENTORY, LEXICON, ObservedEnvironment("test", (unread,)), unread, unread.columns[0], 0)
    assert not [signal for labeler in READINGS for signal in labeler.look(look)]


FACTS = tuple(Column(f"c{number}", type="text", samples=("a", "b")) for number in range(7))


@pytest.mark.parametrize(
    ("labeler", "columns", "rows", "opposed", "reason"),
    [
        ("no time in it", FACTS, None, "payment", "can hold a date"),
        ("no sums in it", FACTS, None, "ledger_entry", "holds a number"),
        ("short list", FACTS[:3], 12, "order_line", "3 columns and 12 rows"),
        ("many rows", FACTS, 90_000, "country", "90,000 rows"),
        ("facts of its own", FACTS, None, "link", "7 columns that refer to nothing"),
        ("referred to", (Column("id", referred_by=3),), None, "log_event", "refer to it"),
    ],
)
def test_the_shape_of_a_table_opposes_entities(labeler, columns, rows, opposed, reason):
    seen = ObservedTable("x17", columns, rows=rows)
    look = Look(INVENTORY, LEXICON, ObservedEnvironment("test", (seen,)), seen, None, -1)
    [signal] = BY_NAME[labeler].look(look)
    assert signal.coordinate == "entity" and not signal.supports
    assert opposed in ids(signal) and reason in signal.reason
    assert not list(BY_NAME[labeler].look(replace(look, column=columns[0], position=0)))


def test_a_table_with_a_date_and_a_sum_may_be_a_payment():
    columns = (*FACTS[:3], Column("d", type="date"), Column("a", type="number"))
    seen = ObservedTable("x17", columns)
    look = Look(INVENTORY, LEXICON, ObservedEnvironment("test", (seen,)), seen, None, -1)
    assert not [signal for name in ("no time in it", "no sums in it") for signal in BY_NAME[name].look(look)]


def test_the_key_of_another_thing_opposes_what_its_table_is_about():
    [signal] = signals("names another", Column("customer_id"), "orders")
    assert not signal.supports and ids(signal) == {"order"}
    assert not signals("names another", Column("order_id"), "orders")
