"""The calculator: nothing that can be abused. Bombs bound work by its own counter, never by the clock."""

from __future__ import annotations

import ast
from decimal import Decimal

import pytest

from coset.errors import UserError
from coset.session.calculator import calculate
from coset.session.calculator import expression as expression_module
from coset.session.calculator.values import MAX_CHARACTERS, Work
from session.calculator.calculations import mistake, shown

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
            with pytest.raises(UserError):
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
