"""Series that count editions on one side and years on the other: `12th Harbour Cup` is `Harbour Cup 1987`.

In go both columns, out come pairs of positions. Left values that differ in nothing but a number are a series; right
values with the words of the series, and perhaps more, belong to it. Where one side has years and the other has not,
and one shift alone brings (nearly) all numbers of the right onto numbers of the left, the shift gives the pairs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from coset.relations.transformations.value import Value

# Shorter series fit each other by chance.
SHORTEST = 8
LEAST_SHARE = 0.9
YEARS = range(1000, 2200)

Words = frozenset[str]
Members = dict[int, list[int]]


def series_pairs(left: Sequence[Value], right: Sequence[Value]) -> set[tuple[int, int]]:
    right_series = series_of(right)
    with_word: dict[str, list[Words]] = {}
    for words in right_series:
        for word in words:
            with_word.setdefault(word, []).append(words)
    pairs: set[tuple[int, int]] = set()
    for words, lefts in series_of(left).items():
        if len(lefts) < SHORTEST or not words:
            continue
        rarest = min(words, key=lambda word: (len(with_word.get(word, ())), word))
        rights: Members = {}
        for other in with_word.get(rarest, ()):
            if words <= other:
                for number, positions in right_series[other].items():
                    rights.setdefault(number, []).extend(positions)
        shift = shift_between(rights, lefts)
        if shift is not None:
            pairs |= {(i, j) for number in rights for i in lefts.get(number + shift, ()) for j in rights[number]}
    return pairs


def series_of(values: Sequence[Value]) -> dict[Words, Members]:
    """By their words, the positions of values with just one number."""
    found: dict[Words, Members] = {}
    for position, value in enumerate(values):
        numbers = [word for word in value.words if word.isdigit()]
        if len(numbers) == 1 and len(numbers[0]) <= len(str(YEARS.stop)):
            members = found.setdefault(value.bag - {numbers[0]}, {})
            members.setdefault(int(numbers[0]), []).append(position)
    return found


def shift_between(rights: Iterable[int], lefts: Iterable[int]) -> int | None:
    right_numbers, left_numbers = set(rights), set(lefts)
    if len(right_numbers) < SHORTEST:
        return None
    right_years, left_years = ({number in YEARS for number in numbers} for numbers in (right_numbers, left_numbers))
    if not len(right_years) == len(left_years) == 1 or right_years == left_years:
        return None
    shifts = Counter(one - other for one in left_numbers for other in right_numbers).most_common(2)
    (shift, hits), *others = shifts
    alone = all(count < hits for _, count in others)
    return shift if alone and hits >= LEAST_SHARE * len(right_numbers) else None
