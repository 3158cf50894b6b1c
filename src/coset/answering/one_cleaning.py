"""One expression that cleans a column, where a view has several for the same text.

In: what is dirty in a column. Out: the same dirt, with fewer expressions: blanks at the ends and one other kind of dirt
are both taken off by the same one, and a word of which nobody knows whether it stands for no value is told without an
expression that would make it none. Knows no table.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from coset.evidence.diagnostics.null_tokens import LOOK_FIRST
from coset.routing.view import Cleaning

OF_TEXT = frozenset({"null_tokens", "stray_characters"})
"""Kinds whose expression gives the text without that dirt, so that its ends can be trimmed after it."""


def one_cleaning(found: Sequence[Cleaning]) -> tuple[Cleaning, ...]:
    certain = tuple(
        dataclasses.replace(each, expression=None, type=None, short="") if LOOK_FIRST in each.detail else each
        for each in found
    )
    padded = [each for each in certain if each.kind == "padding" and each.expression]
    others = [each for each in certain if each.kind in OF_TEXT and each.expression]
    if len(padded) != 1 or len(others) != 1:
        return certain  # Nothing to bring together, or no telling in which order.
    whole = others[0].expression or ""
    whole = whole if whole.startswith("trim(") else f"trim({whole})"
    both = (padded[0], others[0])
    return tuple(dataclasses.replace(each, expression=whole, short="") if each in both else each for each in certain)
