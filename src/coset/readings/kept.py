"""What was read of names, kept with all that it came from: one sentence more has few names read again.

In: the tables of a source, and how often words stand around them. Out: the readings of a table as they were, where the
names of its source are the same and so is the count of every word that was looked up for it. What is taken over is what
would be read, so the path on which it was learned does not show.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from coset.readings.observed import ObservedTable
from coset.readings.reading import Reading
from coset.state.readings import NamesRead, WordsAround

Hashes = NDArray[np.uint32]


@dataclass
class KeptNames:
    """What is known from the last time, and what is to be known the next time."""

    names: Mapping[tuple[str, int], NamesRead] = field(default_factory=dict)
    """By table, and by the number of the round in which its names were read."""
    around: Mapping[tuple[str, int], Mapping[str, int]] = field(default_factory=dict)
    """How often words stood around the names of a source, by round."""
    read: list[NamesRead] = field(default_factory=list)
    counted: list[WordsAround] = field(default_factory=list)

    @classmethod
    def of(cls, names: Iterable[NamesRead], around: Iterable[WordsAround]) -> KeptNames:
        return cls(
            {(each.table_reference, each.round): each for each in names},
            {(each.source, each.round): json.loads(each.words) for each in around},
        )

    def round(self, source: str, number: int, around: Mapping[str, int], read_with: object) -> Round:
        """A round over one source. `read_with` is all that its tables are read with beside the words around them."""
        before = self.around.get((source, number))
        self.counted.append(WordsAround(source, number, json.dumps(around, sort_keys=True)))
        fingerprint = digest_of(read_with)
        if before is None:
            return Round(self, number, fingerprint, None)
        changed = {word for word, count in before.items() ^ around.items()}
        return Round(self, number, fingerprint, _hashes({*changed, *(word.removesuffix("s") for word in changed)}))


@dataclass(frozen=True)
class Round:
    kept: KeptNames
    number: int
    fingerprint: str
    changed: Hashes | None
    """The words of which the count changed, where there is a count to compare with."""

    def readings(
        self, table: ObservedTable, title: str, read: Callable[[], tuple[Sequence[Reading], set[str]]]
    ) -> list[Reading]:
        """Those of a table as they were; or as `read` gives them, with the words whose count it looked up."""
        seen = [(each.reference, each.type, each.samples, each.distinct, each.rows) for each in table.columns]
        fingerprint = digest_of((self.fingerprint, table.reference, title, seen))
        known = self.kept.names.get((table.reference, self.number))
        if known is None or known.fingerprint != fingerprint or not self._stands(known):
            found, asked = read()
            rows = [[each.reference, each.name, each.reader, each.confidence, each.source] for each in found]
            known = NamesRead(table.reference, self.number, fingerprint, _hashes(asked).tobytes(), json.dumps(rows))
        self.kept.read.append(known)
        return [
            Reading(reference, table.reference, name, "", (), reader, confidence, source)
            for reference, name, reader, confidence, source in json.loads(known.readings)
        ]

    def _stands(self, known: NamesRead) -> bool:
        return self.changed is not None and not np.isin(self.changed, np.frombuffer(known.asked, np.uint32)).any()


def digest_of(content: object) -> str:
    return hashlib.blake2b(repr(content).encode("utf-8", "replace"), digest_size=16).hexdigest()


def _hashes(words: Iterable[str]) -> Hashes:
    return np.array(sorted({crc32(word.encode("utf-8", "replace")) for word in words}), dtype=np.uint32)
