"""Is there one row per what was pinned?

The columns that tell rows apart are the pinned keys, or those that the pinned grain names, or what the answering block
groups by. Two rows with the same of them are one too many.
"""

from __future__ import annotations

import re
from collections import Counter

from coset.answering.checks.examined import Examined
from coset.answering.checks.proposal import CheckResult
from coset.answering.checks.statement import origins_in

NAME = "grain"
_WORD = re.compile(r"[^\W_]+")
_LITTLE = {"one", "row", "per", "each", "a", "an", "the", "for", "of", "and", "by", "in", "with", "every", "single"}


def check(examined: Examined) -> CheckResult:
    shape, result = examined.proposal.shape, examined.result
    if shape is None or not (shape.keys or shape.grain):
        return CheckResult(NAME, "not applicable", "no grain was pinned")
    if result is None or not examined.rows:
        return CheckResult(NAME, "not applicable", "there are no rows")
    keys, missing = _key_places(examined)
    if missing:
        return CheckResult(
            NAME, "doubt", f"the result has no column for {', '.join(missing)}, which was to tell its rows apart"
        )
    if not keys:
        return CheckResult(
            NAME, "not applicable", f"no column of the result is named by the pinned grain '{shape.grain}'"
        )
    names = " and ".join(result.columns[place] for place in keys)
    counts = Counter(tuple(str(row[place]) for place in keys) for row in examined.rows)
    value, most = counts.most_common(1)[0]
    if most > 1:
        many = sum(1 for count in counts.values() if count > 1)
        detail = f"{many:,} of {len(counts):,} values of {names} have several rows, such as {', '.join(value)} ({most})"
        return CheckResult(NAME, "failed" if shape.keys else "doubt", detail)
    nulls = sum(1 for row in examined.rows if any(row[place] is None for place in keys))
    if nulls:
        told = "1 row has" if nulls == 1 else f"{nulls:,} rows have"
        behind = [references for place, references in enumerate(_references_behind(examined)) if place in keys]
        return CheckResult(
            NAME, "doubt", f"{told} no {names}, though there is to be one row for each",
            tuple(sorted({reference for references in behind for reference in references})),
        )  # fmt: skip
    return CheckResult(NAME, "passed", f"one row for each {names}")


def _key_places(examined: Examined) -> tuple[list[int], list[str]]:
    """The places of the key columns in the result, and keys that it does not have."""
    shape, result = examined.proposal.shape, examined.result
    assert shape is not None and result is not None  # noqa: S101
    lowered = [column.lower() for column in result.columns]
    if shape.keys:
        behind = _references_behind(examined)
        places, missing = [], []
        for key in shape.keys:
            if key.lower() in lowered:
                places.append(lowered.index(key.lower()))
            elif place := [number for number, references in enumerate(behind) if key in references]:
                places.append(place[0])
            else:
                missing.append(key)
        return places, missing
    wanted = {_stem(word) for word in _WORD.findall(shape.grain.lower())} - _LITTLE
    exact = [number for number, column in enumerate(lowered) if column in shape.grain.lower()]
    loose = [
        number
        for number, column in enumerate(lowered)
        if (words := {_stem(word) for word in _WORD.findall(column)} - {"id", "name", "key", "no"}) and words <= wanted
    ]
    return exact or loose, []


def _references_behind(examined: Examined) -> list[set[str]]:
    """For each column of the result, the stored columns it shows."""
    statement = examined.statement
    block = statement.answering_block if statement is not None else None
    if statement is None or block is None or examined.result is None:
        return []
    selects = block.select.selects
    if len(selects) != len(examined.result.columns):
        return []
    return [origins_in(statement, each, block) for each in selects]


def _stem(word: str) -> str:
    return word[:-3] + "y" if word.endswith("ies") else word[:-1] if word.endswith("s") and len(word) > 3 else word
