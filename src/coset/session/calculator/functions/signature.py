"""How a function of the calculator is declared, described and called.

A function is a plain Python function in one of the group modules. Its parameter annotations, by name, say what each
value must be and how it is read; the first paragraph of its docstring is its help, and the lines after it
are examples that a test evaluates. A function of one list also takes the items one by one: mean(1, 2, 3).

This module does not know any particular function.
"""

from __future__ import annotations

import datetime
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeAlias

from coset.errors import UserError
from coset.session.calculator.arithmetic import as_date, read_moment, settled
from coset.session.calculator.values import Moment, Number, Value, is_number, shown, spend

# The annotations that parameters may have. Several name the same Python type and differ in what they accept.
Whole: TypeAlias = int
Numbers: TypeAlias = tuple[Number, ...]
SomeNumbers: TypeAlias = tuple[Number, ...]
Items: TypeAlias = tuple[Value, ...]
SomeItems: TypeAlias = tuple[Value, ...]
Text: TypeAlias = str
Day: TypeAlias = datetime.date
Days: TypeAlias = tuple[datetime.date, ...]

__all__ = [
    "Day", "Days", "Function", "Group", "Items", "Moment", "Number", "Numbers", "SomeItems", "SomeNumbers", "Text",
    "Value", "Whole",
]  # fmt: skip


class _Unfit(Exception):
    """A value that is not what a parameter expects; carries what was found instead."""


def _number(value: Value) -> Number:
    if is_number(value):
        return value
    raise _Unfit(shown(value))


def _whole(value: Value) -> int:
    number = settled(_number(value))
    if isinstance(number, Decimal) and (number != number.to_integral_value() or number.adjusted() > 1_000):
        raise _Unfit(shown(value))
    return int(number)


def _items(value: Value) -> Items:
    if not isinstance(value, tuple):
        raise _Unfit(shown(value))
    spend(2 * len(value))
    return value


def _each(value: Value, read: Callable[[Value], Any]) -> tuple[Any, ...]:
    found = []
    for position, item in enumerate(_items(value), start=1):
        try:
            found.append(read(item))
        except _Unfit as unfit:
            raise _Unfit(f"a list whose item {position} is {unfit}") from None
    return tuple(found)


def _some(value: Value, read: Callable[[Value], Any]) -> Any:
    found = read(value)
    if not found:
        raise _Unfit("an empty list")
    return found


def _text(value: Value) -> str:
    if not isinstance(value, str):
        raise _Unfit(shown(value))
    spend(1 + len(value) // 50)
    return value


def _moment(value: Value) -> Moment:
    if isinstance(value, str):
        return read_moment(value)
    if not isinstance(value, datetime.date):
        raise _Unfit(shown(value))
    return value


_READERS: dict[str, tuple[str, Callable[[Value], Any]]] = {
    "Number": ("a number", _number),
    "Whole": ("a whole number", _whole),
    "Numbers": ("a list of numbers", lambda value: _each(value, _number)),
    "SomeNumbers": ("a list with at least one number", lambda value: _some(value, lambda it: _each(it, _number))),
    "Items": ("a list", _items),
    "SomeItems": ("a list with at least one item", lambda value: _some(value, _items)),
    "Text": ("a text in quotes", _text),
    "Moment": ("a date", _moment),
    "Day": ("a date", lambda value: as_date(_moment(value))),
    "Days": ("a list of dates", lambda value: tuple(as_date(day) for day in _each(value, _moment))),
    "Value": ("a value", lambda value: value),
}
_LISTS = {"Numbers", "SomeNumbers", "Items", "SomeItems"}


@dataclass(frozen=True)
class Parameter:
    name: str
    expects: str
    read: Callable[[Value], Any]
    optional: bool = False
    repeats: bool = False


@dataclass(frozen=True)
class Function:
    """One named function: how it is written, what it does, examples as `expression = result`."""

    name: str
    signature: str
    description: str
    examples: tuple[tuple[str, str], ...]
    parameters: tuple[Parameter, ...]
    gathers: bool
    """Whether several values are taken as the items of its one list."""
    run: Callable[..., Value]

    def call(self, arguments: Sequence[Value]) -> Value:
        if self.gathers and (len(arguments) > 1 or (len(arguments) == 1 and not isinstance(arguments[0], tuple))):
            arguments = [tuple(arguments)]
        self._check_count(len(arguments))
        spend(20)
        return self.run(*[self._read(number, value) for number, value in enumerate(arguments)])

    def _check_count(self, given: int) -> None:
        least = sum(not (parameter.optional or parameter.repeats) for parameter in self.parameters)
        repeats = any(parameter.repeats for parameter in self.parameters)
        most = None if repeats else len(self.parameters)
        if given >= least and (most is None or given <= most):
            return
        takes = str(least) if least == most else f"{least} to {most}" if most is not None else f"at least {least}"
        plural = "" if takes in {"1", "at least 1"} else "s"
        raise UserError(f"{self.name} takes {takes} value{plural}, as in {self.signature}, but got {given}")

    def _read(self, number: int, value: Value) -> Any:
        parameter = self.parameters[min(number, len(self.parameters) - 1)]
        try:
            return parameter.read(value)
        except _Unfit as unfit:
            raise UserError(
                f"{self.signature} expects {parameter.expects} as '{parameter.name}', but got {unfit}"
            ) from None
        except UserError as mistake:
            raise UserError(f"{self.name}: {mistake}") from None


@dataclass(frozen=True)
class Group:
    """Functions that belong together, in the order they are described."""

    title: str
    functions: dict[str, Function]

    @classmethod
    def named(cls, title: str) -> Group:
        return cls(title, {})

    def function(self, run: Callable[..., Value]) -> Callable[..., Value]:
        """Declare a function. Its name is the Python name, without an underscore that avoids a built-in."""
        name = run.__name__.rstrip("_")
        description, examples = _documentation(inspect.getdoc(run) or "")
        parameters = tuple(_parameter(parameter) for parameter in inspect.signature(run).parameters.values())
        annotations = [str(parameter.annotation) for parameter in inspect.signature(run).parameters.values()]
        self.functions[name] = Function(
            name=name,
            signature=_signature(name, run),
            description=description,
            examples=examples,
            parameters=parameters,
            gathers=len(annotations) == 1 and annotations[0] in _LISTS,
            run=run,
        )
        return run


def _parameter(parameter: inspect.Parameter) -> Parameter:
    expects, read = _READERS[str(parameter.annotation)]
    return Parameter(
        name=parameter.name,
        expects=expects,
        read=read,
        optional=parameter.default is not inspect.Parameter.empty,
        repeats=parameter.kind is inspect.Parameter.VAR_POSITIONAL,
    )


def _signature(name: str, run: Callable[..., Value]) -> str:
    written = []
    for parameter in inspect.signature(run).parameters.values():
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            written.append(f"{parameter.name}...")
        elif parameter.default is inspect.Parameter.empty:
            written.append(parameter.name)
        else:
            default = {None: "null", (): "[]"}.get(parameter.default, parameter.default)
            written.append(f"{parameter.name}={default}")
    return f"{name}({', '.join(written)})"


def _documentation(docstring: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    description, _, examples = docstring.partition("\n\n")
    # The last " = " separates: an expression may itself compare, but its result is a literal.
    pairs = (line.rpartition(" = ") for line in examples.splitlines())
    return " ".join(description.split()), tuple((expression, result) for expression, _, result in pairs)
