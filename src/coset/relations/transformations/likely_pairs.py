"""Pairs of values that may belong together, found without a rule: they share something rare.

In go the distinct values of a source and a target column, out come (source, target) pairs to learn programs from.
Most need not be true; a fair share of the targets must have their true source among theirs.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Sequence

from coset.relations.transformations.programs import COMPILED
from coset.relations.transformations.steps import lower

TARGETS_TRIED, SOURCES_PER_TARGET = 40, 4
# Up to here every source may be tried with every target, which finds rules that share no n-gram (initials).
FEW = 120
TARGETS_TRIED_FULLY = 8
LONGEST = 160


def sample(values: Sequence[str], most: int) -> list[str]:
    """The same values for the same column, whatever its order: those with the lowest checksum."""
    if len(values) <= most:
        return list(values)
    ranked = sorted(values, key=lambda value: (zlib.crc32(value.encode("utf-8", "surrogatepass")), value))
    return ranked[:most]


def shingles(value: str) -> set[str]:
    """Words, and character 4-grams (3-grams of short words) within them."""
    found: set[str] = set()
    for word in COMPILED["word"].findall(lower(value[:LONGEST])):
        found.add(f"={word}")
        size = 4 if len(word) > 4 else 3
        found.update(word[start : start + size] for start in range(len(word) - size + 1))
    return found


def likely_pairs(sources: Sequence[str], targets: Sequence[str]) -> list[tuple[str, str]]:
    tried = sample(targets, TARGETS_TRIED)
    wanted = {target: shingles(target) for target in tried}
    vocabulary = set().union(*wanted.values()) if wanted else set()
    places: dict[str, list[int]] = {}
    for position, source in enumerate(sources):
        for shingle in shingles(source) & vocabulary:
            places.setdefault(shingle, []).append(position)
    pairs: list[tuple[str, str]] = []
    common = max(3, len(sources) // 20)
    for target in tried:
        scores: Counter[int] = Counter()
        for shingle in sorted(wanted[target]):
            found = places.get(shingle, ())
            if len(found) <= common:
                for position in found:
                    scores[position] += 1000 // len(found)
        best = sorted(scores, key=lambda position: (-scores[position], position))[:SOURCES_PER_TARGET]
        pairs += [(sources[position], target) for position in best]
    if len(sources) <= FEW and len(targets) <= FEW and len({target for _, target in pairs}) < len(tried) / 2:
        few = tried[:TARGETS_TRIED_FULLY]
        pairs += [(source, target) for target in few for source in sources if could_be_made_of(target, source)]
    return list(dict.fromkeys(pairs))


def could_be_made_of(target: str, source: str) -> bool:
    """Whether most letters and digits of the target occur in the source at all."""
    letters = [letter for letter in lower(target) if letter.isalnum()]
    there = set(lower(source))
    return bool(letters) and sum(letter in there for letter in letters) >= 0.6 * len(letters)
