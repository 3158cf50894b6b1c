"""The calculator: exact results, plain output, errors that help, and nothing that can be abused.

References are Python's `statistics`, `fractions`, `math` and `datetime`. The bombs bound work by the calculator's own
counter, never by the clock.
"""

from __future__ import annotations

import ast
import datetime
import math
import statistics
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coset.errors import CosetError, Mistake
from coset.session.calculator import calculate, describe_functions, format_value, function_groups
from coset.session.calculator import expression as expression_module
from coset.session.calculator.limits import MAX_CHARACTERS, Work


def shown(expression: str) -> str:
    return format_value(calculate(expression))


def mistake(expression: str) -> str:
    with pytest.raises(Mistake) as caught:
        calculate(expression)
    text = str(caught.value)
    assert text and "\n" not in text and len(text) < 400, "an error is one short line"
    return text


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


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("", ["empty"]),
        ("   ", ["empty"]),
        ("1 +", ["missing", "'+'", "position 4"]),
        ("(1 + 2", ["'('", "position 1", "never closed"]),
        ("1 + 2)", ["')'", "position 6", "closes nothing"]),
        ("[1, 2)", ["'['", "position 6", "']'"]),
        ("2 3", ["position 3", "operator or a comma"]),
        ("['a' 'b']", ["position 6", "comma"]),
        ("2(3)", ["position 2", "operator"]),
        ("2pi", ["'2'", "'p'"]),
        ("[1,, 2]", ["missing", "position 4"]),
        ("2^3^ + * 4", ["missing", "position 8"]),
        ("1 if 2 == 2", ["position 1", "if condition else"]),
        ("1,234", ["position 2", "1_234", 'number("1,234.50")']),
        ("15%", ["not percent", "15/100"]),
        ("200 * 15% + 3", ["not percent", "15/100"]),
        ("share(15%, 2)", ["not percent"]),
        ("7 % -3", ["not percent", "brackets"]),
        ("1 = 2", ["'='", "=="]),
        ("3 × 4", ["'×'", "'*'"]),
        ("€5", ["number("]),
        ("5!", ["factorial"]),
        ("007", ["starts with 0"]),
        ("'open", ["position 1", "not closed"]),
        ("[1, 2][0]", ["item(list, position)"]),
        ("(1, 2)", ["position 1", "[ and ]"]),
        ("men([1])", ["'men'", "mean"]),
        ("avg([1])", ["'avg'", "mean"]),
        ("stdv([1, 2])", ["stdev"]),
        ("today()", ["no clock", "date("]),
        ("sqrt", ["function", "sqrt(x)"]),
        ("hello", ["'hello'", "quotes"]),
        ("round(1, 2, 3)", ["1 to 2 values", "round(x, digits=0)", "3"]),
        ("log(10)", ["2 values", "log(x, base)"]),
        ("round('a')", ["a number", "'x'", 'a text, "a"']),
        ("round(1, 0.5)", ["a whole number", "0.5"]),
        ("mean([1, 'a'])", ["number", "item 2", '"a"']),
        ("mean([1, 2, null])", ["item 3 is null"]),
        ("sum([true])", ["item 1 is true"]),
        ("mean([])", ["mean", "at least one", "empty list"]),
        ("stdev([1])", ["stdev", "at least 2"]),
        ("correlation([1, 2], [1])", ["one length", "2 and 1"]),
        ("correlation([1, 2], [3, 3])", ["all equal"]),
        ("1 / 0", ["division by zero", "'/'"]),
        ("1.5 // 0", ["division by zero"]),
        ("1 % 0.0", ["division by zero"]),
        ("0 ^ -1", ["division by zero"]),
        ("pct_change(0, 5)", ["division by zero", "pct_change", "'a'"]),
        ("(-8) ^ 0.5", ["no real power"]),
        ("sqrt(-1)", ["sqrt", "negative"]),
        ("ln(0)", ["ln", "above 0"]),
        ("1 + 'a'", ["'+'", "numbers", '"a"']),
        ("'a' * 3", ["'*'", "numbers"]),
        ("-'a'", ["sign", '"a"']),
        ("1 and true", ["'and'", "true or false"]),
        ("1 < 'a'", ["no order"]),
        ("sorted([1, 'a'])", ["no order"]),
        ("date('2023-02-29')", ["'2023-02-29'", "does not exist"]),
        ("date('03/04/2024')", ["'03/04/2024'", "2024-02-29"]),
        ("date('2024-02')", ["no single day"]),
        ("date(2024, 13, 1)", ["no such day"]),
        ("weekday('soon')", ["weekday", "'soon'"]),
        ("weekday(5)", ["a date", "5"]),
        ("date('9999-12-31') + 1", ["years 1 to 9999"]),
        ("date('2024-01-01') + 0.5", ["whole days", "0.5"]),
        ("datetime('2024-01-01T00:00Z') < date('2024-01-02')", ["time zone"]),
        ("number('1.234,50')", ["'1.234,50'", "1,234.50"]),
        ("number('1,23')", ["'1,23'"]),
        ("item([1], 2)", ["from 1 to 1", "2"]),
        ("quantile([1], 50)", ["0 to 1", "percentile"]),
    ],
)
def test_errors_name_the_input_and_what_to_do(expression: str, words: list[str]) -> None:
    text = mistake(expression)
    for word in words:
        assert word in text


def test_a_position_counts_the_characters_the_user_wrote() -> None:
    for expression in ["  [2^2, 'é', (1, 2)]", "['éé', 2^2^2,\n (1,)]"]:
        assert f"position {expression.index('(') + 1}:" in mistake(expression)


INJECTIONS = [
    "__import__('os')",
    "__import__('os').system('true')",
    "eval('1')",
    "exec('1')",
    "open('x')",
    "getattr(1, 'real')",
    "globals()",
    "().__class__",
    "().__class__.__bases__[0].__subclasses__()",
    "(1).real",
    "1 .real",
    "1..real",
    "1.0.real",
    "''.join(['a'])",
    "'{0.__class__}'.format(1)",
    "'%s' % 1",
    "f'{1}'",
    "F'{1}'",
    "rf'{1}'",
    "f'{__import__(\"os\")}'",
    "b'a'",
    "r'a'",
    "u'a'",
    "'''a'''",
    '"""a"""',
    "lambda: 1",
    "(lambda x: x)(1)",
    "(x := 1)",
    "x = 1",
    "[x for x in [1]]",
    "(x for x in [1])",
    "{1: 2}",
    "{1, 2}",
    "{x for x in [1]}",
    "[*[1, 2]]",
    "sum(*[1, 2])",
    "sum(**{'values': 1})",
    "round(x=1)",
    "round(1, digits=1)",
    "...",
    "Ellipsis",
    "1j",
    "0x10",
    "0b1",
    "1 if 1 else __builtins__",
    "__builtins__",
    "__name__",
    "[1, 2]['__class__']",
    "[1][0]",
    "'abc'[0]",
    "'abc'[::-1]",
    "sum([1])([2])",
    "sum([1])[0]",
    "'a'('b')",
    "sqrt.__call__(4)",
    "await x",
    "yield 1",
    "(yield)",
    "import os",
    "1; 2",
    "1\n2",
    "1 # comment",
    "1 \\\n + 1",
    "'\\x41'",
    "'\\u0041'",
    "'\\N{LATIN SMALL LETTER A}'",
    "'a\\",
    "'a\nb'",
    "'a\x00b'",
    "\x00",
    "1\x0c",
    "\ufeff1",
    "'\ud800'",
    "\ud800",
    "ｓｕｍ([1])",
    "ѕum([1])",
    "𝐬𝐮𝐦([1])",
    "١ + ١",
    "sum\u200b([1])",
    "1 is 1",
    "1 @ 2",
    "1 & 2",
    "1 | 2",
    "~1",
    "1 << 2",
    "1 >> 2",
    "not",
    "in",
    "print(1)",
    "assert 1",
    "del x",
    "`1`",
    "$x",
    "?",
    "a.b",
    "pi.real",
    "pi()",
    "true()",
    "(sum)([1])()",
]


@pytest.mark.parametrize("expression", INJECTIONS)
def test_what_is_not_a_calculation_is_refused(expression: str) -> None:
    mistake(expression)


def test_a_node_that_slips_through_the_notation_is_still_refused() -> None:
    """The walk has its own allowlist and does not rely on the tokens having been checked."""
    for source in [
        "().__class__",
        "[1][0]",
        "f'{1}'",
        "b'a'",
        "1j",
        "...",
        "lambda: 1",
        "[x for x in [1]]",
        "[*[1]]",
        "{1: 2}",
        "(x := 1)",
        "1 << 2",
        "1 @ 2",
        "~1",
        "1 is 1",
        "sum(values=[1])",
        "(lambda: 1)()",
        "ｓｙｓ",
    ]:
        tree = ast.parse(source, mode="eval").body
        parsed = expression_module.Parsed(tree, source.encode(), 0, [])
        token = expression_module.current_work.set(Work())
        try:
            with pytest.raises(Mistake):
                expression_module._Evaluation(parsed).value(tree, 0)
        finally:
            expression_module.current_work.reset(token)


def test_nothing_is_compiled_or_run(monkeypatch: pytest.MonkeyPatch) -> None:
    import builtins

    parse_only = builtins.compile

    def guarded(source, filename, mode, flags=0, *arguments, **options):
        assert flags & ast.PyCF_ONLY_AST, "only parsing is allowed"
        return parse_only(source, filename, mode, flags, *arguments, **options)

    def forbidden(*arguments: object, **options: object) -> None:
        raise AssertionError("the calculator must not run code")

    monkeypatch.setattr(builtins, "compile", guarded)
    monkeypatch.setattr(builtins, "eval", forbidden)
    monkeypatch.setattr(builtins, "exec", forbidden)
    assert shown("mean([1, 2, sqrt(9)]) ^ 2 if 1 < 2 else 0") == "4"


def repeated(item: str, times: int) -> str:
    return "[" + ",".join([item] * times) + "]"


BOMBS = {
    "tower": "10**10**10",
    "caret tower": "9^9^9^9",
    "nested pow": "pow(10, pow(10, pow(10, 10)))",
    "large power": "2**100000",
    "negative power": "2**-100000",
    "decimal power": "1.0000001**10**18",
    "decimal tower": "1.5**1e300",
    "exponentials": "exp(exp(exp(10)))",
    "underflow": "exp(-100000)",
    "literal exponent": "1e999999999999999999",
    "literal exponent beyond decimal": "1e9999999999999999999999",
    "small literal": "1e-999999999999999999",
    "long literal": "1" * 100_000,
    "factorial": "factorial(10**6)",
    "factorial of factorial": "factorial(factorial(7))",
    "choose": "comb(10**9, 5*10**8)",
    "choose from many": "comb(10**3999, 13000)",
    "arrange": "perm(10**9, 10**8)",
    "text times": "'a' * 10**9",
    "list times": "[0] * 10**9",
    "shift": "1 << 10**9",
    "decimals": "round(1, 10**10)",
    "multiples": "lcm([" + ",".join(map(str, range(1, 20_000))) + "])",
    "product": "product(" + repeated("9999999999", 5_000) + ")",
    "edit distance": f"levenshtein('{'a' * 20_000}', '{'b' * 20_000}')",
    "replacement": f"replace('{'a' * 2_000}', 'a', '{'b' * 2_000}')",
    "brackets": "(" * 100_000,
    "balanced brackets": "(" * 5_000 + "1" + ")" * 5_000,
    "lists": "[" * 100_000,
    "minuses": "-" * 100_000 + "1",
    "minuses in brackets": "(" * 40 + "-" * 950 + "1" + ")" * 40,
    "minuses between brackets": "-" * 50 + ("(" + "-" * 90) * 40 + "1" + ")" * 40,
    "nots": "not " * 100_000 + "true",
    "pluses": "+".join(["1"] * 100_000),
    "powers": "**".join(["1"] * 900),
    "conditions": " if false else ".join(["1"] * 400),
    "too many values": repeated("1", 300_000),
    "too many characters": "1" + " " * MAX_CHARACTERS,
    "unclosed text": '"' + "a" * 500_000,
    "quotes": '"' * 500_000,
    "roots": repeated("sqrt(1e-3999)", 5_000),
    "many exponentials": repeated("exp(1.5)", 20_000),
    "many large numbers": repeated("10**3999", 10_000),
    "many factorials": repeated("factorial(1000)", 10_000),
    "many plain large numbers": repeated("1e3999", 20_000),
    "remainders": repeated("1e3999 % 7", 5_000),
    "wide sum": "sum(" + repeated("1e3999, 1e-3999", 20_000) + ")",
    "wide variance": "variance(" + repeated("1e3999, 1e-3999", 2_000) + ")",
    "many correlations": repeated("correlation([1e3999, 1e-3999], [1, 2])", 500),
    "nested sorts": "sorted(" * 45 + repeated("1", 30_000) + ")" * 45,
    "years": "add_years('2024-01-01', 10**3000)",
    "hours": "add_hours('2024-01-01', 10**3000)",
    "position": "item([1], 10**3000)",
}


@pytest.mark.parametrize("expression", [pytest.param(bomb, id=name) for name, bomb in BOMBS.items()])
def test_bombs_are_refused(expression: str) -> None:
    """Each would take minutes, gigabytes or Python's own stack if it were tried; the run would hang, not fail."""
    mistake(expression)


def test_a_list_of_a_hundred_thousand_numbers_is_fine() -> None:
    numbers = [Decimal(number) / 100 - 300 for number in range(100_000)]
    assert calculate(f"mean([{','.join(map(str, numbers))}])") == sum(numbers) / len(numbers)


def test_a_chain_of_a_thousand_terms_is_fine() -> None:
    assert calculate("+".join(map(str, range(1_001)))) == sum(range(1_001))


def test_calculations_do_not_leave_traces() -> None:
    """The decimal context and the work counter belong to one calculation: rounding in one does not reach the next."""
    import decimal

    before = decimal.getcontext().copy()
    assert calculate("1/3") != calculate("1/2**60")
    mistake("factorial(10**6)")
    assert len(shown("1/2**60")) == 62
    assert decimal.getcontext().prec == before.prec and decimal.getcontext().flags == before.flags


# Properties ----------------------------------------------------------------------------------------------------------

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
        assert isinstance(error, Mistake) and "\n" not in str(error)


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
        assert isinstance(error, Mistake) and "\n" not in str(error)
