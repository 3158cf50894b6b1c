"""One value as the fuzzy matcher sees it: folded, cut into words, and its core."""

from __future__ import annotations

from dataclasses import dataclass

from coset.relations.transformations.text import LONGEST, fold, words


@dataclass(frozen=True)
class Value:
    """`core` is what stands outside brackets and before the first comma."""

    folded: str
    words: tuple[str, ...]
    bag: frozenset[str]
    squashed: str
    core: str
    ordered: str


def read_value(text: str) -> Value:
    folded = fold(text)
    parts = words(folded)
    core = folded
    for opening in ("(", "[", ",", ";"):
        cut = core.find(opening)
        if cut > 2:
            core = core[:cut]
    return Value(
        folded[:LONGEST], tuple(parts), frozenset(parts), "".join(parts), "".join(words(core)), " ".join(sorted(parts))
    )
