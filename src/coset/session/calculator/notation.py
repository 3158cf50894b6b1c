"""Reads the calculator's notation: text in, Python's syntax tree of a harmless expression out.

The text is first cut into tokens, and everything that is not plain arithmetic is refused here, with its position and
a hint: attributes, subscripts of names, assignments, string prefixes, letters that only look Latin. What is left is
handed to `ast.parse`, which never runs anything. `^` becomes `**` on the way, because Python binds its own `^` looser
than `+`. Nothing here knows the functions or evaluates anything.
"""

from __future__ import annotations

import ast
import keyword
import re
import unicodedata
from bisect import bisect_left
from dataclasses import dataclass, field
from decimal import Decimal

from coset.errors import UserError
from coset.session.calculator.arithmetic import decimal
from coset.session.calculator.values import (
    MAX_BRACKETS,
    MAX_CHARACTERS,
    MAX_DIGITS,
    MAX_OPERATORS,
    MAX_TOKENS,
    too_large,
)

# A text may hold any printable character and five escapes; more would only serve to hide what is written.
_TOKEN = re.compile(
    r"""
    (?P<space>[ \t\r\n]+)
    # A long list of plain numbers is one token: reading each on its own would take most of the time.
    |(?P<numbers>(?:-?(?:0|[1-9]\d{0,30})(?:\.\d{1,30})?[ ]*,[ ]*){1,4096}(?=-?\d))
    |(?P<comma>,)
    |(?P<number>(?:\d+(?:_\d+)*(?:\.(?:\d+(?:_\d+)*)?)?|\.\d+(?:_\d+)*)(?:[eE][+-]?\d+)?)
    |(?P<name>[A-Za-z_]\w*)
    |(?P<text>"[^"\\\x00-\x08\x0a-\x1f\ud800-\udfff]*(?:\\[\\"'nt][^"\\\x00-\x08\x0a-\x1f\ud800-\udfff]*)*"
             |'[^'\\\x00-\x08\x0a-\x1f\ud800-\udfff]*(?:\\[\\"'nt][^'\\\x00-\x08\x0a-\x1f\ud800-\udfff]*)*')
    |(?P<operator>\*\*|//|==|!=|<=|>=|[-+*/%^<>])
    |(?P<open>[(\[])
    |(?P<close>[)\]])
    """,
    re.VERBOSE | re.ASCII,
)
_CLOSING = {"(": ")", "[": "]"}
_BINARY_WORDS = {"and", "or", "in", "if", "else"}
_WORDS = {*_BINARY_WORDS, "not"}
_PYTHON_CONSTANTS = {"True", "False", "None"}
_BAD_TEXT = "the text that starts there is not closed on its line, or holds a backslash or control character"
_HINTS = {
    "=": "compare with '=='; functions take their values in order, without names",
    ".": "a point stands only within a number",
    "{": "write a list with [ and ]",
    "}": "write a list with [ and ]",
    ":": "there are no slices and no assignments",
    ";": "give one expression at a time",
    "!": "write 'not', or '!=' for unequal; for a factorial write factorial(n)",
    "&": "write 'and'",
    "|": "write 'or'",
    "\\": "write the expression without backslashes, and in a text only \\\\ \\\" \\' \\n \\t",
    "#": "leave comments out",
    "$": 'write the bare number, or number("$1,234.50")',
    "×": "multiply with '*'",
    "·": "multiply with '*'",
    "÷": "divide with '/'",
    "−": "write minus as '-'",
    "–": "write minus as '-'",
    "—": "write minus as '-'",
    "≤": "write '<='",
    "≥": "write '>='",
    "≠": "write '!='",
    "²": "write '^2'",
    "³": "write '^3'",
    "√": "write sqrt(x)",
    "π": "write pi",
    "“": "quote texts with straight quotes",
    "”": "quote texts with straight quotes",
    "‘": "quote texts with straight quotes",
    "’": "quote texts with straight quotes",
    '"': _BAD_TEXT,
    "'": _BAD_TEXT,
}
_PERCENT_HINT = (
    "'%' is the remainder of a division, not percent: "
    "write 0.15 or 15/100 for 15%, and put a signed divisor in brackets"
)


@dataclass(frozen=True)
class Parsed:
    """A syntax tree with what is needed to find its nodes in the text the user wrote."""

    tree: ast.expr
    source: bytes
    """What was parsed: the user's text with `**` for `^`. Python counts columns in bytes of it."""
    start: int
    """How many characters of white space were dropped in front."""
    carets: list[int] = field(repr=False)
    """Where in the parsed text a `**` was written `^`."""

    def position(self, node: ast.expr) -> int:
        """The node's first character in the user's text, counted from 1."""
        return self.original(len(self.source[: node.col_offset].decode()))

    def original(self, column: int) -> int:
        return column - bisect_left(self.carets, column) + self.start + 1

    def decimal(self, node: ast.expr) -> Decimal:
        """A decimal literal, digit by digit as written; Python's tree holds only the nearest binary float."""
        return decimal(self.source[node.col_offset : node.end_col_offset].decode())


def parse(expression: str) -> Parsed:
    if len(expression) > MAX_CHARACTERS:
        raise UserError(
            f"the expression has {len(expression):,} characters: the calculator takes at most {MAX_CHARACTERS:,}"
        )
    if not expression.strip():
        raise UserError('the expression is empty: write something like "mean([1, 2, 3])"')
    text = _Reader(expression).python_text()
    start = len(text) - len(text.lstrip())
    carets = [match.start() - start for match in re.finditer("\x01", text)]
    # Each earlier caret is one character longer in the parsed text.
    carets = [position + number for number, position in enumerate(carets)]
    source = text.strip().replace("\x01", "**")
    try:
        tree = ast.parse(source, mode="eval").body
    except SyntaxError as error:
        parsed = Parsed(ast.Constant(None), source.encode(), start, carets)
        column = min(max((error.offset or 1) - 1, 0), len(source))
        raise _unreadable(expression, parsed.original(column) - 1) from None
    except (RecursionError, MemoryError):
        raise _too_nested() from None
    return Parsed(tree, source.encode(), start, carets)


class _Reader:
    """One pass over the tokens, which knows at each of them whether a value or an operator must come next."""

    def __init__(self, expression: str) -> None:
        self.expression = expression
        self.parts: list[str] = []
        self.open: list[tuple[str, int]] = []
        self.operators = [0]
        """Per open bracket, how many operators since its last comma."""
        self.after_value = False
        self.after_name = False
        self.previous = ""
        self.last_group = ""

    def python_text(self) -> str:
        expression, position, tokens = self.expression, 0, 0
        take = {
            "number": self._number_value, "text": self._value, "numbers": self._numbers, "name": self._name,
            "operator": self._operator, "open": self._opening, "close": self._closing,
        }  # fmt: skip
        while position < len(expression):
            match = _TOKEN.match(expression, position)
            if match is None:
                raise self._refused(position)
            group, text = match.lastgroup or "", match.group()
            if group == "name" and text.lower() in _WORDS:
                text = text.lower()
            position = match.end()
            if group == "space":
                self.parts.append(" " * len(text))
                continue
            if group == "comma":
                self._comma(match.start())
            else:
                tokens += 1 if group != "numbers" else text.count(",") + text.count("-")
                if tokens > MAX_TOKENS:
                    raise UserError(
                        f"the expression has more than {MAX_TOKENS:,} numbers, names and operators: use shorter lists"
                    )
                take[group](text, match.start())
            self.parts.append("\x01" if text == "^" else text)
            self.previous, self.last_group = (text, group) if group != "numbers" else (",", "comma")
        if self.open:
            bracket, where = self.open[-1]
            raise UserError(f"the '{bracket}' at position {where + 1} is never closed: add '{_CLOSING[bracket]}'")
        if not self.after_value:
            raise self._value_missing(len(expression))
        return "".join(self.parts)

    def _value(self, text: str, position: int) -> None:
        if self.after_value:
            raise self._two_values(text, position)
        self.after_value, self.after_name = True, False

    def _number_value(self, text: str, position: int) -> None:
        self._value(text, position)
        self._number(text, position)

    def _numbers(self, text: str, position: int) -> None:
        first = re.match(r"-?([\d.]+)", text)
        if text[0] == "-":
            self._operator("-", position)
        if first is not None:
            self._number_value(first[1], position + first.start(1))
            self._comma(position + text.index(","))

    def _number(self, text: str, position: int) -> None:
        following = self.expression[position + len(text) : position + len(text) + 1]
        if following.isalnum() or following in {"_", "."}:
            raise UserError(
                f"the number '{text[:40]}' at position {position + 1} runs into '{following}': "
                "put an operator between them, or quotes around a text"
            )
        if len(text) > MAX_DIGITS:
            raise too_large()
        if text[0] == "0" and text.strip("0_") != "" and text.replace("_", "").isdigit():
            raise UserError(
                f"the number '{text[:40]}' at position {position + 1} starts with 0: "
                "drop the zeros, or put quotes around it"
            )

    def _name(self, text: str, position: int) -> None:
        after = self.expression[position + len(text) : position + len(text) + 1]
        if after and after in "\"'":
            raise UserError(f"a text has no prefix: remove '{text[:40]}' before the quote at position {position + 1}")
        if text in _BINARY_WORDS:
            if text == "in" and self.previous == "not" and not self.after_value:
                pass
            elif not self.after_value:
                raise self._value_missing(position)
            self._count_operator()
            self.after_value = self.after_name = False
        elif text == "not":
            # After a value this can only begin 'not in'; Python's parser checks that it does.
            self._count_operator()
            self.after_value = self.after_name = False
        elif keyword.iskeyword(text) and text not in _PYTHON_CONSTANTS:
            raise UserError(
                f"'{text}' at position {position + 1} is not part of the calculator: "
                "it knows numbers, texts, lists, operators and functions"
            )
        else:
            if self.after_value:
                raise self._two_values(text, position)
            self.after_value = self.after_name = True

    def _operator(self, text: str, position: int) -> None:
        self._count_operator()
        if self.previous == "%" and not self.after_value:
            raise UserError(f"cannot read position {position + 1}: {_PERCENT_HINT}")
        if not self.after_value and text not in {"+", "-"}:
            raise self._value_missing(position)
        self.after_value = self.after_name = False

    def _opening(self, text: str, position: int) -> None:
        if self.after_value and text == "[":
            raise UserError(
                f"cannot read '[' at position {position + 1}: "
                "to take one item of a list write item(list, position), counting from 1"
            )
        if self.after_value and not self.after_name:
            raise self._two_values(text, position)
        self.open.append((text, position))
        self.operators.append(0)
        if len(self.open) > MAX_BRACKETS:
            raise _too_nested()
        self.after_value = self.after_name = False

    def _closing(self, text: str, position: int) -> None:
        if not self.open:
            raise UserError(f"the '{text}' at position {position + 1} closes nothing: remove it, or open it before")
        bracket, where = self.open.pop()
        self.operators.pop()
        if _CLOSING[bracket] != text:
            raise UserError(
                f"the '{bracket}' at position {where + 1} is closed by '{text}' at position {position + 1}: "
                f"close it with '{_CLOSING[bracket]}'"
            )
        if not self.after_value and self.last_group not in {"open", "comma"}:
            raise self._value_missing(position)
        self.after_value, self.after_name = True, False

    def _comma(self, position: int) -> None:
        if not self.open:
            raise UserError(
                f"cannot read ',' at position {position + 1}: a comma separates the values of a list or function; "
                'write 1234 or 1_234 for a number with thousands, or number("1,234.50")'
            )
        if not self.after_value:
            raise self._value_missing(position)
        self.operators[-1] = 0
        self.after_value = self.after_name = False

    def _count_operator(self) -> None:
        self.operators[-1] += 1
        if self.operators[-1] > MAX_OPERATORS or sum(self.operators) > MAX_OPERATORS:
            raise UserError(
                f"the expression chains more than {MAX_OPERATORS:,} operators: use sum([...]) or product([...])"
            )

    def _refused(self, position: int) -> UserError:
        character = self.expression[position]
        hint = _HINTS.get(character)
        if hint is None and unicodedata.category(character) == "Sc":
            hint = _HINTS["$"]
        if hint is None and not character.isascii():
            hint = "outside quotes only plain ASCII characters are allowed"
        name = character if character.isprintable() else f"U+{ord(character):04X}"
        return UserError(
            f"cannot read '{name}' at position {position + 1}: {hint or 'it is not part of the calculator'}"
        )

    def _two_values(self, text: str, position: int) -> UserError:
        return UserError(
            f"cannot read '{_cut(text)}' at position {position + 1}: "
            "two values stand side by side, put an operator or a comma between them"
        )

    def _value_missing(self, position: int) -> UserError:
        if self.previous == "%":
            return UserError(f"cannot read position {position + 1}: {_PERCENT_HINT}")
        after = f" after '{_cut(self.previous)}'" if self.previous else ""
        return UserError(
            f"a value is missing{after} at position {position + 1}: write a number, text, list or function"
        )


def _cut(text: str) -> str:
    return text if len(text) <= 20 else text[:17] + "..."


def _unreadable(expression: str, index: int) -> UserError:
    near = expression[index : index + 20].strip()
    return UserError(
        f"cannot read the expression at position {index + 1}"
        + (f", near '{near}'" if near else "")
        + ": check the operators and 'a if condition else b'"
    )


def _too_nested() -> UserError:
    return UserError(f"the expression is nested too deep: use at most {MAX_BRACKETS} brackets within brackets")
