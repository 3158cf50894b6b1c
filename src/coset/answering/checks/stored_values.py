"""Does the answer say what is stored, letter by letter and digit by digit?

Every text of the answer's value should be a cell of the result; one that differs only in case, blanks or signs was
rewritten on the way. Every number should be one of the result, of the calculator, or such a number rounded. An answer
in prose may hold them among other words.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from typing import Any

from sqlglot import exp

from coset.answering.checks.empty_result import is_empty
from coset.answering.checks.examined import Examined
from coset.answering.checks.proposal import CheckResult
from coset.answering.checks.statement import origins_in

NAME = "stored values"
_NUMBER = re.compile(r"[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][-+]?\d+)?")
_FOLD = re.compile(r"[\W_]+")
CHANGES_CASE = (exp.Lower, exp.Upper, exp.Initcap)


def check(examined: Examined) -> CheckResult:
    value = examined.proposal.value
    if examined.result is None or not examined.rows:
        return CheckResult(NAME, "not applicable", "there is no result")
    if is_empty(value):
        return CheckResult(NAME, "not applicable", "the answer gives no value")
    if rewritten := _rewritten_by_sql(examined):
        return CheckResult(NAME, "doubt", rewritten[0], rewritten[1])
    cells = [cell for row in examined.rows for cell in _leaves(row)]
    texts = {cell for cell in cells if isinstance(cell, str)} | {_written(cell) for cell in cells if _is_date(cell)}
    folded = {_folded(text): text for text in sorted(texts)}
    numbers = [number for number in map(_decimal, [*cells, *_leaves(examined.proposal.computed)]) if number is not None]
    numbers.append(Decimal(len(examined.rows)))
    exactly = set(numbers)  # each number of a long list is there as it is: looking for one near it takes all of them
    wrong: list[str] = []
    unknown: list[str] = []
    for leaf in _leaves(value):
        if _decimal(leaf) in exactly:
            continue
        said = _judge(leaf, texts, folded, numbers)
        if said is not None:
            (wrong if said[0] else unknown).append(said[1])
    if wrong:
        return CheckResult(NAME, "failed", "; ".join(dict.fromkeys(wrong[:5])))
    if unknown:
        return CheckResult(NAME, "doubt", "; ".join(dict.fromkeys(unknown[:5])))
    return CheckResult(NAME, "passed", "every value of the answer is in the result as it is given")


def _judge(leaf: Any, texts: set[str], folded: dict[str, str], numbers: list[Decimal]) -> tuple[bool, str] | None:
    """(whether it is surely wrong, what is wrong), or None."""
    if leaf is None or isinstance(leaf, bool):
        return None
    if not isinstance(leaf, str):
        number = _decimal(leaf)
        if number is None:
            return None if _written(leaf) in texts else (False, f"{leaf} is not in the result")
        return None if _is_one_of(number, numbers) else (False, f"the number {leaf} is not in the result")
    if leaf in texts:
        return None
    number = _whole_number(leaf)
    if number is not None and _is_one_of(number, numbers):
        return None
    near = folded.get(_folded(leaf))
    if near is not None and _folded(leaf):
        return True, f"'{leaf}' is stored as '{near}'"
    return _prose(leaf, texts, numbers)


def _prose(text: str, texts: set[str], numbers: list[Decimal]) -> tuple[bool, str] | None:
    """A text that is no cell: it must hold one, and every number in it must be known, or stand in a cell it quotes."""
    quoted = [cell for cell in sorted(texts, key=len, reverse=True) if len(cell) > 1 and cell in text]
    folded = _folded(text)
    for cell in sorted(texts):
        inside = len(_folded(cell)) > 3 and _folded(cell) in folded and cell not in text
        if inside and not any(_folded(cell) in _folded(other) for other in quoted):
            return True, f"the answer writes '{cell}' otherwise than it is stored"
    rest = text
    for cell in quoted:
        rest = rest.replace(cell, " ")
    stated = [Decimal(match[0].replace(",", "")) for match in _NUMBER.finditer(rest)]
    strange = [number for number in stated if not _is_one_of(number, numbers)]
    if strange:
        return False, f"the number {strange[0]} of the answer is not in the result"
    return None if stated or quoted else (False, f"'{text[:80]}' is not in the result")


def _rewritten_by_sql(examined: Examined) -> tuple[str, tuple[str, ...]] | None:
    """A column of the answer whose letters the statement itself changed."""
    statement = examined.statement
    block = statement.answering_block if statement is not None else None
    if statement is None or block is None:
        return None
    for projection in block.select.selects:
        node = projection.unalias()
        if isinstance(node, CHANGES_CASE) and (references := origins_in(statement, node, block)):
            where = ", ".join(sorted(references))
            return f"the statement changes the letters of {where} on the way out: give them as stored", tuple(
                sorted(references)
            )
    return None


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        for item in value.values():
            yield from _leaves(item)
    elif isinstance(value, list | tuple | set | frozenset):
        for item in value:
            yield from _leaves(item)
    else:
        yield value


def _is_date(value: Any) -> bool:
    return isinstance(value, datetime.date | datetime.time)


def _written(value: Any) -> str:
    return value.isoformat() if _is_date(value) else str(value)


def _folded(text: str) -> str:
    return _FOLD.sub("", text).casefold()


def _decimal(value: Any) -> Decimal | None:
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float | Decimal):
        try:
            number = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
        except (InvalidOperation, ValueError):
            return None
        return number if number.is_finite() else None
    return _whole_number(value) if isinstance(value, str) else None


def _whole_number(text: str) -> Decimal | None:
    """The number that a text is, with a unit sign around it at most."""
    bare = text.strip().strip("$€£%").strip()
    return Decimal(bare.replace(",", "")) if _NUMBER.fullmatch(bare) else None


def _is_one_of(number: Decimal, known: list[Decimal]) -> bool:
    """Whether a number is one of these, to the digits that it is given with; per cent of a share counts too."""
    step = Decimal(1).scaleb(min(int(number.as_tuple().exponent), 0))
    for each in known:
        for same in (each, each * 100) if abs(each) <= 1 else (each,):
            if same == number or (number != 0 and abs(same - number) <= step / 2):
                return True
    return False
