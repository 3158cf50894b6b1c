"""Other ways in which a column writes a value: with blanks, in other letters, misspelt, abbreviated.

In: held values, the object that holds a value, the value. Out: its other values that mean the same, the nearest
first. Only columns of few values are looked through: among many, what is nearly alike is mostly something else. Sure of
what is equal when normalised; a slip or an abbreviation is a guess, which the reader sees as the stored value it is.
"""

from __future__ import annotations

import numpy as np

from coset.routing.anchors.held_values import HeldValues
from coset.routing.anchors.text_forms import normalised

FEW_VALUES = 400
MOST = 8
SHORTEST, LONG, SHORTEST_BEGINNING = 5, 9, 3


def variants_of(values: HeldValues, number: int, value: str, equal: list[str]) -> tuple[str, ...]:
    """`equal` are the object's values of the same normalised form."""
    first, last = np.searchsorted(values.objects, [number, number + 1])
    near: list[tuple[int, str]] = [(0, other) for other in equal if other != value]
    meant = normalised(value)
    if last - first <= FEW_VALUES and len(meant) >= SHORTEST and not any(letter.isdigit() for letter in meant):
        for row in range(int(first), int(last)):
            form = values.normal.text(row)
            if form != meant and (rank := _rank(meant, form, values.value(row))):
                near.append((rank, values.value(row)))
    return tuple(text for _, text in sorted(dict.fromkeys(near)))[:MOST]


def _rank(meant: str, form: str, written: str) -> int:
    """1 for a misspelling, 2 for an abbreviation, 0 for something else."""
    if _is_misspelt(meant.split(), form.split()):
        return 1
    short = form.rstrip()
    abbreviated = written.strip().endswith(".") and len(short) >= SHORTEST_BEGINNING and " " not in short
    return 2 if abbreviated and " " not in meant and _may_begin(meant, short) else 0


def _is_misspelt(meant: list[str], written: list[str]) -> bool:
    """Word by word: in a short word another letter makes another word, so `US West` is not `US East`."""
    if len(meant) != len(written):
        meant, written = ["".join(meant)], ["".join(written)]
    return all(
        one == other or (min(len(one), len(other)) >= SHORTEST and slips(one, other, 2) <= 1 + (len(one) >= LONG))
        for one, other in zip(meant, written, strict=True)
    )


def _may_begin(meant: str, short: str) -> bool:
    """Whether an abbreviation, itself perhaps with a doubled letter, begins a word."""
    return meant.startswith(short) or (short[:2] == 2 * short[:1] and meant.startswith(short[1:]))


def slips(one: str, other: str, most: int) -> int:
    """How many letters differ, are missing or changed places, counted up to one more than `most`."""
    if abs(len(one) - len(other)) > most or (one[:1] != other[:1] and one[1:2] != other[1:2]):
        return most + 1
    before: list[int] = []
    row = list(range(len(other) + 1))
    for place, letter in enumerate(one, start=1):
        now = [place]
        for column, wanted in enumerate(other, start=1):
            best = min(row[column] + 1, now[-1] + 1, row[column - 1] + (letter != wanted))
            if before and column > 1 and letter == other[column - 2] and one[place - 2] == wanted:
                best = min(best, before[column - 2] + 1)
            now.append(best)
        if min(now) > most:
            return most + 1
        before, row = row, now
    return min(row[-1], most + 1)
