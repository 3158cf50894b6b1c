"""The calculator: exact results and plain output."""

from __future__ import annotations

import datetime
from decimal import Decimal

import pytest

from coset.session.calculator import calculate, describe_functions, function_groups
from session.calculator.calculations import shown

EXAMPLES = [
    pytest.param(example, result, id=example)
    for group in function_groups()
    for function in group.functions
    for example, result in function.examples
]


@pytest.mark.parametrize(("expression", "result"), EXAMPLES)
def test_every_example_in_the_help_is_true(expression: str, result: str) -> None:
    assert shown(expression) == result


def test_every_function_is_described_with_an_example() -> None:
    for group in function_groups():
        for function in group.functions:
            assert function.description.endswith("."), function.name
            assert any(f"{function.name}(" in example for example, _ in function.examples), function.name
            assert function.signature in describe_functions() and function.signature in describe_functions(brief=True)


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("0.1 + 0.2", "0.3"),
        ("0.1 * 3 == 0.3", "true"),
        ("6 / 3", "2"),
        ("1 / 8", "0.125"),
        ("10**50 / 4", "25" + "0" * 48),
        ("1 / 2**60", "0.000000000000000000867361737988403547205962240695953369140625"),
        ("1 / 3", "0." + "3" * 34),
        ("2 / 3", "0." + "6" * 33 + "7"),
        ("1 / 3 * 3", "1"),
        ("1/3 + 1/3 + 1/3 == 1", "true"),
        ("floor(1/3*3)", "1"),
        ("sqrt(2) ^ 2", "2"),
        ("log2(8) == 3", "true"),
        ("1e3", "1000"),
        ("1e3 * 1e3", "1000000"),
        ("1e-7", "0.0000001"),
        ("1_000 + 1", "1001"),
        (".5 + 1.", "1.5"),
        ("1.10", "1.1"),
        ("100.0", "100"),
        ("-0.0", "0"),
        ("0.12345678901234567890123456789012345678901", "0.12345678901234567890123456789012345678901"),
        ("-0.12345678901234567890123456789012345678901", "-0.12345678901234567890123456789012345678901"),
        ("2 * 3 ^ 2", "18"),
        ("-2 ^ 2", "-4"),
        ("2 ^ 3 ^ 2", "512"),
        ("2 ** 3 ** 2", "512"),
        ("2 ^ -2", "0.25"),
        ("4 ^ 0.5", "2"),
        ("(-2) ^ 3", "-8"),
        ("0 ^ 0", "1"),
        ("-7 // 2", "-4"),
        ("-7.5 // 2", "-4"),
        ("-7 % 3", "2"),
        ("7.5 % 2", "1.5"),
        ("7 % (-3)", "-2"),
        ("1 < 2 < 3", "true"),
        ("1 < 2 > 3", "false"),
        ("1 == 1.0", "true"),
        ("1 == true", "false"),
        ("not 1 == 2 and (1 < 2 or 1 / 0 == 1)", "true"),
        ("1 if 2 > 1 else 1 / 0", "1"),
        ("1 < 2 AND NOT FALSE", "true"),
        ("'b' > 'a'", "true"),
        ("2 in [1, 2.0]", "true"),
        ("3 not in [1, 2]", "true"),
        ("'ell' in 'hello'", "true"),
        ("'it\\'s' + \" ok\"", "it's ok"),
        ("[1] + [2, [3, 'a\"b', null, true]]", '[1, 2, [3, "a\\"b", null, true]]'),
        ("null", "null"),
        ("pi", "3.141592653589793238462643383279503"),
        ("E", "2.718281828459045235360287471352662"),
        ("MAX(1, 2)", "2"),
        ("\n [1,\n 2]\t", "[1, 2]"),
        ("100 * (1 + 0.05/12) ^ 360", "446.7744314006132212428070110413016"),
        ("cbrt(10**30) == 10**10", "true"),
        ("date('2024-03-01') - date('2024-02-01')", "29"),
        ("date('2024-02-28') + 2", "2024-03-01"),
        ("date('2024-03-01') - 1", "2024-02-29"),
        ("datetime('2024-01-01 12:00') - date('2024-01-01')", "0.5"),
        ("date('2024-01-02') > date('2024-01-01')", "true"),
        ("max(date('2024-01-02'), date('2024-03-01'))", "2024-03-01"),
        ("sorted([datetime('2024-01-02 01:00'), date('2024-01-02')])", "[2024-01-02, 2024-01-02 01:00:00]"),
        ("date('2024/2/9')", "2024-02-09"),
        ("years_between('2024-06-15', '2020-06-16')", "-3"),
        ("union(['b', 'a'], ['c', 'a'])", '["b", "a", "c"]'),
        ("unique([1, true, 1.0, 'x', 'x'])", '[1, true, "x"]'),
        ("number('1 234 567')", "1234567"),
        ("number('- €5.50')", "-5.5"),
        ("mode([2, 1, 1, 2])", "2"),
        ("sum([])", "0"),
    ],
)
def test_results_are_exact_and_written_plainly(expression: str, result: str) -> None:
    assert shown(expression) == result


def test_values_keep_their_kind() -> None:
    assert type(calculate("2 + 3")) is int
    assert type(calculate("2 + 3.5")) is Decimal
    assert calculate("1 < 2") is True
    assert calculate("null") is None
    assert calculate("[1, 'a']") == (1, "a")
    assert calculate("date('2024-02-29')") == datetime.date(2024, 2, 29)
