"""Which sightings become anchors: the strongest, each object once for a phrase, the longest phrase over its parts.

In: all sightings of a question. Out: at most so many anchors, the strongest first, in an order that is the same every
time. Knows nothing of how a sighting came about.
"""

from __future__ import annotations

from collections.abc import Iterable

from coset.routing.anchors.sightings import Sighting
from coset.routing.request import Anchor, AnchorKind, AnchorMatch

LEAST_SCORE = 0.12
SOLID = 0.5
"""A phrase that is found so well takes its parts along."""
PART = 0.5
LITERALS = ("value", "code")
MOST_OF_PHRASE = 10
"""One phrase has so many anchors at most, so that the others are heard."""


def choose(sightings: Iterable[Sighting], most: int) -> tuple[Anchor, ...]:
    best: dict[tuple[int, int, str, str, str], Sighting] = {}
    for sighting in sightings:
        _, first, last, _, reference, kind, _, score, value, _, _ = sighting
        # Members of a family of tables are told apart by their names alone.
        member = (value or "") if kind == "name" else ""
        place = (first, last, reference, "literal" if kind in LITERALS else kind, member)
        known = best.get(place)
        if known is None or score > known.score or (score == known.score and _order(sighting) < _order(known)):
            best[place] = sighting
    alike = [(first, last, kind, match) for _, first, last, _, _, kind, match, _, _, _, _ in best.values()]
    solid = {
        like
        for like, each in zip(alike, best.values(), strict=True)
        if each.score >= SOLID and each.kind not in ("number", "document")
    }
    # What lies around it is the same for all objects of a phrase that were found alike.
    shares = {like: _share(like, solid) for like in set(alike)}
    weighed = [(each.score * shares[like], each) for like, each in zip(alike, best.values(), strict=True)]
    # What comes first in a row decides; the number keeps equals as they are.
    ordered = sorted([
        (-round(score, 6), first, -last, reference, kind, value or "", number)
        for number, (score, (_, first, last, _, reference, kind, _, _, value, _, _)) in enumerate(weighed)
        if score >= LEAST_SCORE
    ])  # fmt: skip
    chosen: list[Anchor] = []
    counts: dict[tuple[int, int], int] = {}
    seen: set[tuple[str, str, str | None]] = set()
    for *_, number in ordered:
        score, sighting = weighed[number]
        phrase, first, last, _, reference, kind, _, _, value, _, _ = sighting
        span = (first, last)
        # A mention in texts has no value of its own: what is mentioned tells it apart.
        said = phrase if kind == "value" and value is None else value
        same = (reference, "literal" if kind in LITERALS else kind, said)
        count = counts.get(span, 0)
        # The same thing said twice, or by a part of the phrase that named it already, is one anchor.
        if same in seen or count >= MOST_OF_PHRASE:
            continue
        seen.add(same)
        counts[span] = count + 1
        chosen.append(sighting.anchor(score))
        if len(chosen) == most:
            break
    return tuple(chosen)


def _order(sighting: Sighting) -> tuple[float, str, str]:
    return (-sighting.score, sighting.kind, sighting.value or "")


Alike = tuple[int, int, AnchorKind, AnchorMatch]


def _share(alike: Alike, solid: Iterable[Alike]) -> float:
    """How much of the score is left, where a longer phrase around it was found well. A value within a longer value is
    not meant at all; a name within another may still tell the table."""
    first, last, kind, match = alike
    share = 1.0
    for other_first, other_last, other_kind, other_match in solid:
        inside = other_first <= first and last <= other_last
        if not inside or other_last - other_first <= last - first:
            continue
        if other_kind == "date":
            if kind in (*LITERALS, "number"):
                return 0.0
            continue
        if kind in LITERALS and other_kind in LITERALS and other_match != "fuzzy":
            return 0.0
        if other_match != "fuzzy" or match == "fuzzy":
            share = PART
    return share
