"""The calculator described for its users, made from the functions themselves so that it cannot fall behind them."""

from __future__ import annotations

from dataclasses import dataclass

from coset.session.calculator.functions import GROUPS

NOTATION = """\
Numbers are exact: 0.1 + 0.2 is 0.3. A result without end, like 1/3, is shown with 34 digits.
Operators: + - * / // (floor) % (remainder) ^ or ** (power), == != < <= > >= in, and or not, a if condition else b.
Values: 12, 0.5, 1e6, 1_000, "text", [1, 2, 3], true, false, null, pi, e.
A comma always separates values: [1,234] holds two numbers; number("1,234.50") reads a formatted one.
% is the remainder, not percent: write 0.15 for 15%.
Functions of one list also take its items: mean([1, 2, 3]) is mean(1, 2, 3). Positions count from 1.
Dates are texts that start with the year: "2024-02-29". date - date gives days, date + 7 a date."""


@dataclass(frozen=True)
class FunctionHelp:
    name: str
    signature: str
    description: str
    examples: tuple[tuple[str, str], ...]
    """Pairs of an expression and its result as it is printed."""


@dataclass(frozen=True)
class FunctionGroup:
    title: str
    functions: tuple[FunctionHelp, ...]


def function_groups() -> tuple[FunctionGroup, ...]:
    """Every function by group, in the order of the help."""
    return tuple(
        FunctionGroup(
            group.title,
            tuple(
                FunctionHelp(each.name, each.signature, each.description, each.examples)
                for each in group.functions.values()
            ),
        )
        for group in GROUPS
    )


def describe_functions(*, brief: bool = False) -> str:
    """The notation and the functions as plain text; `brief` gives only their signatures, as a tool description."""
    sections = [NOTATION]
    for group in function_groups():
        if brief:
            sections.append(f"{group.title}: " + ", ".join(each.signature for each in group.functions))
            continue
        lines = [f"{group.title}:"]
        for each in group.functions:
            lines.append(f"  {each.signature}")
            lines.append(f"      {each.description}")
            lines.extend(f"      {expression} = {result}" for expression, result in each.examples[:1])
        sections.append("\n".join(lines))
    return "\n\n".join(sections)
