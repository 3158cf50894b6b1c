"""The calculator: errors that help."""

from __future__ import annotations

import pytest

from session.calculator.calculations import mistake


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
