"""Calculations for tests."""

from __future__ import annotations

import pytest

from coset.errors import UserError
from coset.session.calculator import calculate, format_value


def shown(expression: str) -> str:
    return format_value(calculate(expression))


def mistake(expression: str) -> str:
    with pytest.raises(UserError) as caught:
        calculate(expression)
    text = str(caught.value)
    assert text and "\n" not in text and len(text) < 400, "an error is one short line"
    return text
