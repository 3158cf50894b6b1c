"""Features: finite numbers and short texts, whatever a column holds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coset.identities import features
from coset.identities.features import NUMBER_NAMES, features_of, neighbours, numbers_of, text_of
from coset.readings.observed import ObservedColumn, ObservedEnvironment, ObservedTable
from coset.readings.value_patterns import PATTERNS, numbers_in, pattern_shares, present

LONGEST_TEXT = 8_000
"""No object's text is longer, whatever its names, descriptions and samples are."""


def read(column: ObservedColumn | None, table: str = "orders") -> tuple[str, dict[str, float]]:
    seen = ObservedTable(table, () if column is None else (column,))
    numbers = numbers_of(seen, column)
    assert numbers.dtype == np.float32
    assert numbers.shape == (len(NUMBER_NAMES),)
    assert np.isfinite(numbers).all()
    text = text_of(seen, column)
    assert len(text) <= LONGEST_TEXT
    return text, dict(zip(NUMBER_NAMES, numbers.tolist(), strict=True))


def test_a_column_in_words_and_numbers() -> None:
    column = ObservedColumn(
        "custId", type="whole", label="Customer", description="Who bought.", samples=("17", "18", "20"),
        is_key=False, refers_to=("crm_customers", "id"), nulls=0.25, distinct=3, rows=4,
    )  # fmt: skip
    table = ObservedTable("SalesOrders", (ObservedColumn("id"), column, ObservedColumn("placedAt")))
    assert text_of(table, column, 1) == (
        "Customer (cust id) | sales orders | refers to crm customers | Who bought. | whole | 17 | with id, placed at"
    )
    numbers = dict(zip(NUMBER_NAMES, numbers_of(table, column, 1).tolist(), strict=True))
    expected = {
        "type_whole": 1, "type_text": 0, "refers": 1, "is_key": 0, "has_samples": 1, "pattern_whole": 1,
        "pattern_email": 0, "rising": 1, "nulls": 0.25, "nulls_known": 1, "distinct_share": 0.75, "few_distinct": 1,
        "unique": 1, "first_column": 0, "described": 1, "is_table": 0, "position": 1 / 3,
    }  # fmt: skip
    assert {name: numbers[name] for name in expected} == pytest.approx(expected)


def test_a_table_in_words_and_numbers() -> None:
    table = ObservedTable("SalesOrders", (ObservedColumn("orderId"), ObservedColumn("total")), description="All sales")
    assert text_of(table, None) == "sales orders. All sales. columns order id, total"
    numbers = dict(zip(NUMBER_NAMES, numbers_of(table, None).tolist(), strict=True))
    assert (numbers["is_table"], numbers["described"], numbers["has_samples"]) == (1, 1, 0)


def test_what_is_not_known_is_not_zero() -> None:
    unknown, known = read(ObservedColumn("x"))[1], read(ObservedColumn("x", nulls=0.0, distinct=0, rows=5))[1]
    assert (unknown["nulls_known"], unknown["distinct_known"], unknown["has_samples"]) == (0, 0, 0)
    assert (known["nulls_known"], known["nulls"], known["distinct_known"]) == (1, 0, 1)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "samples",
    [
        (),
        ("",),
        ("NULL", "n/a", "-", "  "),
        ("nan", "inf", "-inf", "Infinity", "1e999", "-1e999"),
        ("1e308", "-1e308", "1.7976931348623157e308"),
        ("1e-320", "0", "-0"),
        ("9" * 400, "1" * 10_000),
        ("x" * 1_000_000, "y " * 500_000),
        ("\x00", "\ud800", "\u202e", "💰", "中文", "e\u0301"),
        ("٣٤", "１２", "²"),
        tuple(str(number) for number in range(5_000)),
        ("A" * 400 + "!", "A1" * 200 + "!", "a." * 200 + "!", "Aa " * 130 + "!", "/a" * 200 + "!", "1,234" * 80 + "!"),
        ("a@" * 200, "((" * 200, "[" * 400, "<a" * 200, "0:" * 200, "-" * 400, " " * 399 + "a", "the " * 100),
    ],
)
def test_odd_samples_give_finite_numbers_and_short_texts(samples: tuple[str, ...]) -> None:
    for kind in ("text", "number", "unknown"):
        read(ObservedColumn("x", type=kind, samples=samples))


@pytest.mark.parametrize(
    "name", ["", " ", "\x00", "💰", "_", "a" * 100_000, "a1" * 50_000, "A" * 100_000, "中" * 9_999]
)
def test_odd_names_give_short_texts(name: str) -> None:
    column = ObservedColumn(name, label=name, description=name, samples=(name, name), refers_to=(name, name))
    columns = (column,) * 30
    table = ObservedTable(name, columns, label=name, description=name)
    for position, each in enumerate((None, *columns)):
        text = text_of(table, each, position)
        assert len(text) <= LONGEST_TEXT
        assert np.isfinite(numbers_of(table, each, position)).all()


@given(
    name=st.text(max_size=30),
    samples=st.lists(st.one_of(st.text(max_size=40), st.floats().map(str), st.integers().map(str)), max_size=12),
    nulls=st.one_of(st.none(), st.floats(0, 1)),
    distinct=st.one_of(st.none(), st.integers(0, 10**12)),
    rows=st.one_of(st.none(), st.integers(0, 10**12)),
)
def test_any_column_gives_finite_numbers(
    name: str, samples: list[str], nulls: float | None, distinct: int | None, rows: int | None
) -> None:
    read(ObservedColumn(name, samples=tuple(samples), nulls=nulls, distinct=distinct, rows=rows), table=name)


def test_without_samples_no_sample_is_in_the_text() -> None:
    with_samples = ObservedColumn("city", type="text", samples=("Atlantis", "El Dorado"))
    hidden = ObservedColumn("city", type="text")
    assert "Atlantis" in read(with_samples)[0]
    text, numbers = read(hidden)
    assert text == "city | orders | text"
    valued = {name for name in NUMBER_NAMES if name.startswith("pattern_")} | {
        "has_samples", "unique_samples", "log_length", "length_spread", "log_magnitude", "log_spread", "all_small",
        "in_degrees", "in_half_degrees", "in_unit", "in_percent", "rising", "nulls", "distinct_share", "unique",
    }  # fmt: skip
    assert {name for name in valued if numbers[name] != 0} == set()


def test_samples_of_one_column_are_in_no_other_text() -> None:
    table = ObservedTable("t", (ObservedColumn("city", samples=("Atlantis",)), ObservedColumn("name")), rows=3)
    texts = features_of(ObservedEnvironment("e", (table,))).texts
    assert ["Atlantis" in each.own for each in texts] == [False, True, False]
    assert not any("Atlantis" in each.table or each.referred for each in texts)


def test_features_come_in_the_order_of_the_objects() -> None:
    tables = (ObservedTable("one", (ObservedColumn("a"), ObservedColumn("b"))), ObservedTable("two", ()))
    environment = ObservedEnvironment("e", tables)
    found = features_of(environment)
    texts, numbers = found.texts, found.numbers
    assert len(texts) == len(numbers) == len(environment.objects) == 4
    assert [each.own.split(" | ")[0] for each in texts] == ["one. columns a, b", "a", "b", "two. columns "]
    assert [each.table for each in texts] == ["one. columns a, b"] * 3 + ["two. columns "]
    assert numbers[:, NUMBER_NAMES.index("is_table")].tolist() == [1, 0, 0, 1]
    empty = features_of(ObservedEnvironment("none", ()))
    empty_texts, empty_numbers = empty.texts, empty.numbers
    assert empty_texts == []
    assert empty_numbers.shape == (0, len(NUMBER_NAMES))


def test_work_for_5000_columns_is_linear(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names read, as the measure of work: ten times the columns of a table, ten times the names."""
    names_read = 0
    read_name = features.readable

    def counted(name: str) -> tuple[str, ...]:
        nonlocal names_read
        names_read += 1
        return read_name(name)

    monkeypatch.setattr(features, "readable", counted)
    counts = []
    for width in (500, 5_000):
        names_read = 0
        columns = tuple(ObservedColumn(f"column_{n}", samples=(str(n), str(n + 1))) for n in range(width))
        found = features_of(ObservedEnvironment("wide", (ObservedTable("wide", columns),)))
        texts, numbers = found.texts, found.numbers
        assert len(texts) == len(numbers) == width + 1
        assert max(len(each.own) for each in texts) < 400
        counts.append(names_read)
    assert counts[1] <= 10.5 * counts[0]
    assert counts[1] <= 10 * 5_000


def test_neighbours_are_the_nearest() -> None:
    table = ObservedTable("t", tuple(ObservedColumn(name) for name in "abcdefgh"))
    assert neighbours(table, 4) == ["d", "f"]
    assert neighbours(table, 0) == ["b", "c"]
    assert neighbours(ObservedTable("t", (ObservedColumn("a"),)), 0) == []
    twins = ObservedTable("t", (ObservedColumn("a"), ObservedColumn("a"), ObservedColumn("b")))
    assert neighbours(twins, 2) == ["a"]


@pytest.mark.parametrize(
    ("pattern", "fits", "fails"),
    [
        ("number", "-1.5e3", "1,5"), ("whole", "17.0", "17.5"), ("grouped", "$1,234", "1234"), ("year", "1999", "3999"),
        ("date", "2024-01-31 10:00", "2024"), ("clock", "10:30 pm", "1030"), ("email", "a@b.org", "a@b"),
        ("url", "https://a.org", "a.org"), ("domain", "a.org", "a"), ("network", "10.0.0.1", "10.0.0"),
        ("uuid", "550e8400-e29b-41d4-a716-446655440000", "550e8400"), ("phone", "+41 44 123 45 67", "12"),
        ("code", "AB-12", "AB"), ("capitals", "CHF", "Chf"), ("file", "a.png", "a.zzz"), ("path", "/usr/bin", "usr"),
        ("nested", "[1]", "1"), ("percent", "5 %", "5"), ("postal", "12345-6789", "1234"), ("person", "Ada Lovelace", "ada"),
        ("title_case", "Lord of the Rings", "lord of"), ("truth", "Yes", "maybe"), ("gender", "F", "x"),
        ("calendar", "Sept", "noon"), ("negative", "-1", "1"), ("decimal", "1.5", "1.0"),
        ("wordy", "one two three four five", "one two"), ("sentence", "So it is.", "so it is"),
    ],
)  # fmt: skip
def test_patterns(pattern: str, fits: str, fails: str) -> None:
    assert PATTERNS[pattern](fits)
    assert not PATTERNS[pattern](fails)


def test_shares_are_of_the_samples_that_say_something() -> None:
    shares = pattern_shares(("a@b.org", "NULL", "red", ""))
    assert shares["email"] == 0.5
    assert set(pattern_shares(()).values()) == {0.0}
    with pytest.raises(TypeError):  # All callers have the same.
        shares["email"] = 7.0  # type: ignore[index]
    assert present(("N/A", " x ", "")) == ("x",)
    assert numbers_in(("1", "x", "1e999", "-2.5", "nan")).tolist() == [1.0, -2.5]


def test_a_column_comes_with_the_text_of_the_table_it_refers_to() -> None:
    orders = ObservedTable("orders", (ObservedColumn("id"), ObservedColumn("customer_id"), ObservedColumn("total")))
    customers = ObservedTable("customers", (ObservedColumn("id"), ObservedColumn("name")))
    found = features_of(ObservedEnvironment("e", (orders, customers))).texts
    assert [bool(each.referred) for each in found] == [False, False, True, False, False, False, False]
    assert found[2].referred == found[4].own == found[4].table
