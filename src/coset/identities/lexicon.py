"""The words of the inventory: which identities a phrase may mean.

In: an inventory. Out: for a name, the identities whose example names it equals or ends with. Made anew for each
inventory, so that a user's own identities are found by their example names too.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

from coset.identities.inventory import Coordinate, Inventory
from coset.readings.words import singular, spelled_out

Phrase = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Lexicon:
    """Compared and hashed as an object: one is made per inventory."""

    inventory: Inventory

    @cached_property
    def _phrases(self) -> dict[Coordinate, dict[Phrase, tuple[int, ...]]]:
        return {"entity": self._collect("entity"), "attribute": self._collect("attribute")}

    def _collect(self, coordinate: Coordinate) -> dict[Phrase, tuple[int, ...]]:
        found: dict[Phrase, list[int]] = {}
        for number, identity in enumerate(self.inventory.of(coordinate)):
            for written in (identity.id, identity.name, *identity.examples):
                if " not " in f" {written} ":
                    continue
                for part in written.split(" or "):
                    phrase = phrase_of(part)
                    if phrase and number not in found.setdefault(phrase, []):
                        found[phrase].append(number)
        return {phrase: tuple(numbers) for phrase, numbers in found.items()}

    @cached_property
    def _longest(self) -> dict[Coordinate, int]:
        """Words of the longest phrase: what is longer need not be looked up, however long a name is."""
        return {coordinate: max(map(len, phrases), default=0) for coordinate, phrases in self._phrases.items()}

    def meaning(self, coordinate: Coordinate, phrase: Phrase) -> tuple[int, ...]:
        """The identities that a whole phrase may mean."""
        return self._phrases[coordinate].get(phrase, ())

    def ending(self, coordinate: Coordinate, phrase: Phrase) -> tuple[tuple[int, ...], Phrase]:
        """The identities of the longest ending that is known, and that ending."""
        for begin in range(max(0, len(phrase) - self._longest[coordinate]), len(phrase)):
            found = self.meaning(coordinate, phrase[begin:])
            if found:
                return found, phrase[begin:]
        return (), ()

    def anywhere(self, coordinate: Coordinate, phrase: Phrase) -> tuple[tuple[int, ...], Phrase]:
        """The identities of the longest known part, the last one of equal length."""
        for length in range(min(len(phrase), self._longest[coordinate]), 0, -1):
            for begin in range(len(phrase) - length, -1, -1):
                found = self.meaning(coordinate, phrase[begin : begin + length])
                if found:
                    return found, phrase[begin : begin + length]
        return (), ()


@lru_cache(maxsize=200_000)
def phrase_of(name: str) -> Phrase:
    """A name as the lexicon keeps it: words in full, in the singular, without numbers."""
    return tuple(singular(word) for word in spelled_out(name) if not word.isdigit())
