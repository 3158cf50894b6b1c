"""Evaluates a parsed expression by walking its tree: an allowlist of node types, each with its own small method.

In: the tree from `notation`. Out: one `Value`. Nothing is compiled or run by Python, names are looked up only among
the constants and functions below, and a node type that is not listed is refused. This module does not know what any
function does. `describe_functions` is made from the functions themselves, so it cannot fall behind them.
"""

from __future__ import annotations

import ast
import datetime
from collections.abc import Callable
from dataclasses import dataclass
from decimal import DivisionByZero, InvalidOperation, Overflow, Underflow, localcontext
from typing import Final

from coset.errors import UserError
from coset.session.calculator import arithmetic
from coset.session.calculator.arithmetic import add_days, contained, days_from, order, same
from coset.session.calculator.functions import FUNCTIONS, GROUPS, unknown_name
from coset.session.calculator.notation import Parsed, parse
from coset.session.calculator.values import (
    MAX_DEPTH,
    MAX_DIGITS,
    MAX_TEXT,
    Number,
    Value,
    Work,
    current_work,
    is_number,
    shown,
    spend,
    too_long,
)

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


CONSTANTS: Final[dict[str, Value]] = {
    "pi": arithmetic.PI,
    "e": arithmetic.E,
    "true": True,
    "false": False,
    "null": None,
    "none": None,
}

_NUMERIC: Final[dict[type[ast.operator], tuple[str, Callable[[Number, Number], Number]]]] = {
    ast.Add: ("+", arithmetic.add),
    ast.Sub: ("-", arithmetic.subtract),
    ast.Mult: ("*", arithmetic.multiply),
    ast.Div: ("/", arithmetic.divide),
    ast.FloorDiv: ("//", arithmetic.floor_divide),
    ast.Mod: ("%", arithmetic.remainder),
    ast.Pow: ("^", arithmetic.power),
}


def calculate(expression: str) -> Value:
    """The value of the expression. Raises `UserError`, with one plain sentence, for whatever is wrong with it."""
    token = current_work.set(Work())
    try:
        with localcontext(arithmetic.working_context()):
            parsed = parse(expression)
            return _final(_Evaluation(parsed).value(parsed.tree, 0))
    except Overflow:
        raise UserError(f"a result is too large: it would have more than {MAX_DIGITS:,} digits") from None
    except Underflow:
        raise UserError(
            f"a result is too small: it would have more than {MAX_DIGITS:,} zeros after the point"
        ) from None
    except DivisionByZero:
        raise UserError("division by zero: a value in the calculation that divides another is 0") from None
    except InvalidOperation:
        raise UserError("the calculation has no real result: check the values given to its functions") from None
    except (RecursionError, MemoryError):
        raise UserError("the expression is nested too deep or too large: split it into smaller ones") from None
    finally:
        current_work.reset(token)


def _final(value: Value) -> Value:
    if isinstance(value, tuple):
        return tuple(_final(item) for item in value)
    if not is_number(value):
        return value
    spend(arithmetic.weight(value))
    return arithmetic.settled(value)


def _sum_of_others(left: Value, right: Value) -> Value:
    """Two texts, two lists, or a date and days; None for anything else."""
    if isinstance(left, str) and isinstance(right, str):
        if len(left) + len(right) > MAX_TEXT:
            raise too_long()
        spend((len(left) + len(right)) // 50)
        return left + right
    if isinstance(left, tuple) and isinstance(right, tuple):
        spend((len(left) + len(right)) // 5)
        return left + right
    if isinstance(left, datetime.date) and is_number(right):
        return add_days(left, right)
    if isinstance(right, datetime.date) and is_number(left):
        return add_days(right, left)
    return None


def _difference_of_days(left: Value, right: Value) -> Value:
    """Two dates, or a date and days; None for anything else."""
    if isinstance(left, datetime.date) and isinstance(right, datetime.date):
        return days_from(right, left)
    if isinstance(left, datetime.date) and is_number(right):
        return add_days(left, -right)
    return None


class _Evaluation:
    """One walk over one tree. `depth` counts levels of nesting, so that Python's own stack never runs out."""

    def __init__(self, parsed: Parsed) -> None:
        self.parsed = parsed

    def value(self, node: ast.expr, depth: int) -> Value:
        spend(5)
        if depth > MAX_DEPTH:
            raise UserError(f"the expression is nested too deep: use at most {MAX_DEPTH} operators within each other")
        match node:
            case ast.Constant():
                return self._literal(node)
            case ast.List():
                return self._list(node, depth)
            case ast.Call():
                return self._call(node, depth)
            case ast.BinOp():
                return self._chain(node, depth)
            case ast.UnaryOp():
                return self._signed(node, depth)
            case ast.BoolOp():
                return self._combined(node, depth)
            case ast.Compare():
                return self._compared(node, depth)
            case ast.IfExp():
                chosen = self._truth(node.test, depth, "if")
                return self.value(node.body if chosen else node.orelse, depth + 1)
            case ast.Name():
                return self._constant(node)
            case ast.Tuple():
                raise self._refused(node, "write a list with [ and ]")
            case _:
                raise self._refused(node, "it is not part of the calculator")

    def _list(self, node: ast.List, depth: int) -> Value:
        spend(4 * len(node.elts))
        literal = self._literal
        return tuple(
            [literal(item) if type(item) is ast.Constant else self.value(item, depth + 1) for item in node.elts]
        )

    def _literal(self, node: ast.Constant) -> Value:
        # By exact type: bool is an int to Python, and bytes, complex and ... are constants too.
        literal = node.value
        if literal is None or type(literal) in {bool, int}:
            return literal  # type: ignore[return-value]
        if type(literal) is float:
            return self.parsed.decimal(node)
        if type(literal) is str:
            if len(literal) > MAX_TEXT:
                raise too_long()
            return literal
        raise self._refused(node, "a value is a number, a text, true, false or null")

    def _constant(self, node: ast.Name) -> Value:
        name = node.id.lower()
        if name in CONSTANTS:
            if name in {"pi", "e"}:
                arithmetic.mark_rounded()
            return CONSTANTS[name]
        if name in FUNCTIONS:
            raise UserError(f"'{node.id}' is a function: write {FUNCTIONS[name].signature}")
        raise unknown_name(node.id, "name", list(CONSTANTS))

    def _call(self, node: ast.Call, depth: int) -> Value:
        if not isinstance(node.func, ast.Name) or node.keywords:
            raise self._refused(node, "only the named functions can be called, with their values in order")
        function = FUNCTIONS.get(node.func.id.lower())
        if function is None:
            raise unknown_name(node.func.id, "function", list(FUNCTIONS))
        return function.call([self.value(argument, depth + 1) for argument in node.args])

    def _chain(self, node: ast.BinOp, depth: int) -> Value:
        # a + b + c + ... leans to the left as deep as it is long, so that side is a loop and not a recursion.
        operations: list[ast.BinOp] = []
        leftmost: ast.expr = node
        while isinstance(leftmost, ast.BinOp):
            operations.append(leftmost)
            leftmost = leftmost.left
        result = self.value(leftmost, depth + 1)
        for operation in reversed(operations):
            spend(5)
            result = self._operate(operation, result, self.value(operation.right, depth + 1))
        return result

    def _operate(self, node: ast.BinOp, left: Value, right: Value) -> Value:
        operator = type(node.op)
        if operator not in _NUMERIC:
            raise self._refused(node, "the operators are + - * / // % ^")
        sign, compute = _NUMERIC[operator]
        if is_number(left) and is_number(right):
            return compute(left, right)
        other = _sum_of_others if operator is ast.Add else _difference_of_days if operator is ast.Sub else None
        if other is not None and (result := other(left, right)) is not None:
            return result
        also = {"+": ", or two texts, two lists, a date and days", "-": ", or dates"}.get(sign, "")
        raise UserError(f"'{sign}' works on numbers{also}, but got {shown(left)} and {shown(right)}")

    def _signed(self, node: ast.UnaryOp, depth: int) -> Value:
        if isinstance(node.op, ast.Not):
            return not self._truth(node.operand, depth, "not")
        operand = self.value(node.operand, depth + 1)
        if not isinstance(node.op, ast.USub | ast.UAdd):
            raise self._refused(node, "the signs are + and -")
        if not is_number(operand):
            sign = "-" if isinstance(node.op, ast.USub) else "+"
            raise UserError(f"the sign '{sign}' works on a number, but got {shown(operand)}")
        # copy_negate keeps every digit; the minus of Decimal would round a long literal.
        if isinstance(node.op, ast.UAdd):
            return operand
        return -operand if isinstance(operand, int) else operand.copy_negate()

    def _combined(self, node: ast.BoolOp, depth: int) -> bool:
        word = "and" if isinstance(node.op, ast.And) else "or"
        for part in node.values:
            if self._truth(part, depth, word) == (word == "or"):
                return word == "or"
        return word == "and"

    def _truth(self, node: ast.expr, depth: int, word: str) -> bool:
        value = self.value(node, depth + 1)
        if not isinstance(value, bool):
            raise UserError(f"'{word}' needs true or false, but got {shown(value)}: compare it with something")
        return value

    def _compared(self, node: ast.Compare, depth: int) -> bool:
        left = self.value(node.left, depth + 1)
        for operator, following in zip(node.ops, node.comparators, strict=True):
            right = self.value(following, depth + 1)
            if not self._holds(node, operator, left, right):
                return False
            left = right
        return True

    def _holds(self, node: ast.Compare, operator: ast.cmpop, left: Value, right: Value) -> bool:
        match operator:
            case ast.Eq():
                return same(left, right)
            case ast.NotEq():
                return not same(left, right)
            case ast.In():
                return contained(left, right)
            case ast.NotIn():
                return not contained(left, right)
            case ast.Lt():
                return order(left, right) < 0
            case ast.LtE():
                return order(left, right) <= 0
            case ast.Gt():
                return order(left, right) > 0
            case ast.GtE():
                return order(left, right) >= 0
            case _:
                raise self._refused(node, "the comparisons are == != < <= > >= in")

    def _refused(self, node: ast.expr, hint: str) -> UserError:
        return UserError(f"cannot calculate what stands at position {self.parsed.position(node)}: {hint}")
