"""A calculator for people and for language models: arithmetic, statistics, dates and sets over literal values.

`calculate("mean([1, 2, 3])")` parses the expression, walks its tree with an allowlist, and gives a `Value`;
`format_value` writes that plainly; `describe_functions` is the help text, and `function_groups` the same as data.
Results are exact and depend on the expression alone: there is no clock, no randomness, no file and no variable.
"""

from __future__ import annotations

from coset.session.calculator.expression import (
    FunctionGroup,
    FunctionHelp,
    calculate,
    describe_functions,
    function_groups,
)
from coset.session.calculator.values import Value, format_value

__all__ = [
    "FunctionGroup",
    "FunctionHelp",
    "Value",
    "calculate",
    "describe_functions",
    "format_value",
    "function_groups",
]
