"""The calculator agrees with `statistics`, `fractions`, `math` and `datetime` of Python, whatever it is given."""

from __future__ import annotations

import datetime
import math
import statistics
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coset.errors import CosetError, UserError
from coset.session.calculator import calculate, format_value, function_groups
from session.calculator.calculations import shown

few = settings(max_examples=60, deadline=None)
whole_numbers = st.integers(-(10**12), 10**12)
decimals = st.decimals(-(10**9), 10**9, places=4, allow_nan=False, allow_infinity=False).map(lambda x: x + 0)
numbers = st.one_of(whole_numbers, decimals)
positive = st.decimals(Decimal("0.01"), 10**6, places=2)
dates = st.dates(datetime.date(1600, 1, 1), datetime.date(2400, 12, 31))


def written(value: object) -> str:
    return format(value, "f") if isinstance(value, Decimal) else str(value)


def as_list(values: list[object]) -> str:
    return "[" + ", ".join(written(value) for value in values) + "]"


def rounded(exact: Fraction) -> Fraction:
    """The fraction with 34 significant digits, computed with whole numbers only."""
    if exact == 0:
        return exact
    places = 34 - math.floor(math.log10(abs(exact))) - 1
    for _ in range(2):
        scaled = exact * Fraction(10) ** places
        if abs(scaled) >= 10**34:
            places -= 1
        elif abs(scaled) < 10**33:
            places += 1
    return Fraction(round(exact * Fraction(10) ** places)) / Fraction(10) ** places


def same_as(result: object, exact: Fraction) -> bool:
    return Fraction(result) in {exact, rounded(exact)}  # type: ignore[arg-type]


@few
@given(numbers, numbers, st.sampled_from("+-*"))
def test_arithmetic_agrees_with_fractions(left, right, operator) -> None:
    x, y = Fraction(left), Fraction(right)
    exact = {"+": x + y, "-": x - y, "*": x * y}[operator]
    assert Fraction(calculate(f"({written(left)}) {operator} ({written(right)})")) == exact


@few
@given(numbers, numbers.filter(bool))
def test_division_agrees_with_fractions(left, right) -> None:
    x, y = Fraction(left), Fraction(right)
    pair = f"({written(left)}) {{}} ({written(right)})"
    assert same_as(calculate(pair.format("/")), x / y)
    assert calculate(pair.format("//")) == x // y
    assert Fraction(calculate(pair.format("%"))) == x % y


@few
@given(whole_numbers, whole_numbers.filter(bool))
def test_division_multiplied_back_is_the_number(left, right) -> None:
    assert calculate(f"({left}) / ({right}) * ({right}) == ({left})") is True


@few
@given(st.integers(-50, 50), st.integers(0, 60))
def test_whole_powers_are_exact(base, exponent) -> None:
    assert calculate(f"({base}) ^ {exponent}") == base**exponent
    assert calculate(f"pow({base}, {exponent})") == base**exponent


@few
@given(decimals, st.integers(0, 3))
def test_rounding_is_half_away_from_zero(number, digits) -> None:
    scaled = abs(Fraction(number)) * 10**digits
    expected = Fraction(math.floor(scaled + Fraction(1, 2)), 10**digits) * (1 if number >= 0 else -1)
    assert Fraction(calculate(f"round({written(number)}, {digits})")) == expected
    assert calculate(f"floor({written(number)})") == math.floor(number)
    assert calculate(f"ceil({written(number)})") == math.ceil(number)
    assert calculate(f"round_even({written(number)})") == round(Fraction(number))


@few
@given(numbers)
def test_what_is_printed_is_read_back(number) -> None:
    text = shown(f"({written(number)}) / 7")
    assert "E" not in text and not (("." in text) and text.endswith("0"))
    assert calculate(text) == calculate(f"({written(number)}) / 7")
    assert calculate(f'number("{number:,}")') == number


@few
@given(st.lists(numbers, min_size=2, max_size=30))
def test_statistics_agree_with_the_standard_library(values) -> None:
    fractions = [Fraction(value) for value in values]
    text = as_list(values)
    exact = {
        "sum": sum(fractions),
        "mean": statistics.mean(fractions),
        "median": statistics.median(fractions),
        "variance": statistics.variance(fractions),
        "pvariance": statistics.pvariance(fractions),
        "range": max(fractions) - min(fractions),
        "min": min(fractions),
        "max": max(fractions),
        "mode": Fraction(statistics.mode(values)),
    }
    for name, expected in exact.items():
        assert same_as(calculate(f"{name}({text})"), expected), name
    for name in ["stdev", "pstdev"]:
        result = Fraction(calculate(f"{name}({text})"))
        square = exact["variance" if name == "stdev" else "pvariance"]
        assert abs(result * result - square) <= square * Fraction(1, 10**32)
    assert [Fraction(value) for value in calculate(f"cumsum({text})")] == [
        sum(fractions[: end + 1]) for end in range(len(fractions))
    ]
    assert list(calculate(f"sorted({text})")) == sorted(values)


@few
@given(st.lists(numbers, min_size=2, max_size=30))
def test_quartiles_agree_with_the_inclusive_method(values) -> None:
    fractions = [Fraction(value) for value in values]
    quartiles = statistics.quantiles(fractions, n=4, method="inclusive")
    text = as_list(values)
    for q, expected in zip(["0.25", "0.5", "0.75"], quartiles, strict=True):
        assert same_as(calculate(f"quantile({text}, {q})"), expected)
    assert same_as(calculate(f"percentile({text}, 25)"), quartiles[0])
    assert same_as(calculate(f"iqr({text})"), quartiles[2] - quartiles[0])


@few
@given(st.lists(positive, min_size=1, max_size=30))
def test_other_means_agree_with_the_standard_library(values) -> None:
    text = as_list(values)
    floats = [float(value) for value in values]
    assert float(calculate(f"geometric_mean({text})")) == pytest.approx(statistics.geometric_mean(floats), rel=1e-9)
    harmonic = len(values) / sum(1 / Fraction(value) for value in values)
    assert abs(Fraction(calculate(f"harmonic_mean({text})")) - harmonic) <= harmonic / 10**33
    weighted = sum(Fraction(value) ** 2 for value in values) / sum(map(Fraction, values))
    assert same_as(calculate(f"weighted_mean({text}, {text})"), weighted)


@few
@given(st.lists(st.tuples(st.integers(-1000, 1000), st.integers(-1000, 1000)), min_size=2, max_size=20))
def test_regression_agrees_with_the_standard_library(points) -> None:
    xs, ys = [x for x, _ in points], [y for _, y in points]
    both = f"({as_list(xs)}, {as_list(ys)})"
    mean_x, mean_y = Fraction(sum(xs), len(xs)), Fraction(sum(ys), len(ys))
    together = sum((x - mean_x) * (y - mean_y) for x, y in points)
    assert same_as(calculate(f"covariance{both}"), together / (len(points) - 1))
    if len(set(xs)) > 1:
        slope = together / sum((x - mean_x) ** 2 for x in xs)
        assert same_as(calculate(f"slope{both}"), slope)
        assert same_as(calculate(f"intercept{both}"), mean_y - slope * mean_x)
        if len(set(ys)) > 1:
            correlation = calculate(f"correlation{both}")
            assert float(correlation) == pytest.approx(statistics.correlation(xs, ys), abs=1e-9)
            assert -1 <= correlation <= 1


@few
@given(st.lists(st.integers(0, 9)), st.lists(st.integers(0, 9)))
def test_sets_agree_with_python_and_keep_their_order(a, b) -> None:
    both = f"({as_list(a)}, {as_list(b)})"
    once = list(dict.fromkeys(a + b))
    assert list(calculate(f"union{both}")) == once
    assert list(calculate(f"intersection{both}")) == [x for x in once if x in a and x in b]
    assert list(calculate(f"difference{both}")) == [x for x in once if x in a and x not in b]
    assert list(calculate(f"symmetric_difference{both}")) == [x for x in once if (x in a) != (x in b)]
    assert calculate(f"is_subset{both}") == (set(a) <= set(b))
    assert calculate(f"equal_sets{both}") == (set(a) == set(b))
    jaccard = Fraction(len(set(a) & set(b)), len(set(a) | set(b))) if a or b else Fraction(1)
    assert same_as(calculate(f"jaccard{both}"), jaccard)


@few
@given(dates, dates)
def test_dates_agree_with_datetime(start, end) -> None:
    pair = f"('{start}', '{end}')"
    assert calculate(f"days_between{pair}") == (end - start).days
    assert calculate(f"date('{end}') - date('{start}')") == (end - start).days
    assert calculate(f"date('{start}') + {(end - start).days}" if end >= start else f"date('{end}')") == end
    assert calculate(f"date('{start}') < date('{end}')") == (start < end)
    assert calculate(f"date('{start:%Y%m%d}')") == start
    assert calculate(f"weekday('{start}')") == start.strftime("%A")
    assert calculate(f"[iso_year('{start}'), iso_week('{start}'), weekday_number('{start}')]") == start.isocalendar()


@few
@given(dates, dates)
def test_months_are_complete_months(start, end) -> None:
    start, end = min(start, end), max(start, end)
    months = calculate(f"months_between('{start}', '{end}')")
    assert calculate(f"add_months('{start}', {months}) <= date('{end}')") is True
    assert calculate(f"add_months('{start}', {months + 1}) > date('{end}')") is True
    assert calculate(f"months_between('{end}', '{start}')") == -months
    assert calculate(f"years_between('{start}', '{end}')") == months // 12 == calculate(f"age('{start}', '{end}')")


@few
@given(dates, st.integers(0, 60), st.lists(st.integers(0, 60), max_size=5))
def test_working_days_are_counted_one_by_one(start, length, offsets) -> None:
    end = start + datetime.timedelta(days=length)
    holidays = [start + datetime.timedelta(days=offset) for offset in offsets]
    days = [start + datetime.timedelta(days=offset) for offset in range(length)]
    expected = sum(day.weekday() < 5 and day not in holidays for day in days)
    listed = "[" + ", ".join(f"'{day}'" for day in holidays) + "]"
    assert calculate(f"working_days_between('{start}', '{end}', {listed})") == expected


@few
@given(st.text("abc", max_size=8), st.text("abc", max_size=8), st.text("abc", max_size=8))
def test_edit_distance_is_a_metric(a, b, c) -> None:
    def distance(x: str, y: str) -> int:
        return calculate(f"levenshtein('{x}', '{y}')")  # type: ignore[return-value]

    assert distance(a, b) == distance(b, a)
    assert (distance(a, b) == 0) == (a == b)
    assert distance(a, c) <= distance(a, b) + distance(b, c)
    assert abs(len(a) - len(b)) <= distance(a, b) <= max(len(a), len(b))


WORDS = [
    "1", "0.5", "1e3999", "007", "sum", "mean", "date", "item", "pi", "true", "null", "'a'", '"2024-01-31"', "(", ")", "[", "]",
    ",", "+", "-", "*", "/", "//", "%", "^", "**", "==", "<", "and", "or", "not", "in", "if", "else", " ", ".", "=", "\\", "é",
]  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.lists(st.sampled_from(WORDS), max_size=14).map(" ".join), st.text(max_size=20)))
def test_any_text_gives_a_value_or_a_mistake(text) -> None:
    try:
        format_value(calculate(text))
    except CosetError as error:
        assert isinstance(error, UserError) and "\n" not in str(error)


CALLABLE = sorted(function.name for group in function_groups() for function in group.functions)
ARGUMENTS = ["0", "-1", "2", "0.5", "1e3999", "1e-3999", "10**3999", "'a'", "''", "'2024-02-29'", "[]", "[1]", "[0, 0.0]",
             "[1, 2.5]", "['b', 'a']", "[null]", "[[1]]", "null", "true", "date('0001-01-01')", "date('9999-12-31')",
             "datetime('2024-01-01T00:00Z')"]  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(CALLABLE), st.lists(st.sampled_from(ARGUMENTS), max_size=3))
def test_any_call_gives_a_value_or_a_mistake(name, arguments) -> None:
    try:
        format_value(calculate(f"{name}({', '.join(arguments)})"))
    except CosetError as error:
        assert isinstance(error, UserError) and "\n" not in str(error)
