"""Readings in the state: what a table, column or nested path is, in plain words, who says so, and how sure that is.

Several readers may read the same object; all their readings are kept, and the best is shown. A person's wins. Each
reader's readings are replaced as a whole, so that one reader's run never touches what another one said. Also kept here:
which tables a model has read, and the copies and columns of codes that it saw. Knows no reader.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from coset.state.evidence_state import EvidenceState
from coset.state.queries import add, execute, fetch, select

Reader = Literal["person", "agent", "model", "comment", "document", "sql", "lexicon", "words", "abbreviations"]
READERS: tuple[Reader, ...] = get_args(Reader)
"""In the order in which they win where they are equally sure."""
OFFLINE: tuple[Reader, ...] = ("comment", "document", "sql", "lexicon", "words", "abbreviations")
SAID: tuple[Reader, ...] = ("person", "agent")
PAGE_READERS: tuple[Reader, ...] = ("agent", "model")
CORRECTIONS = "coset.corrections.yaml"
"""The source of readings that stand in the corrections file: they are what the file says now."""


@dataclass(frozen=True)
class Reading:
    """What one reader says of one object."""

    reference: str
    table_reference: str
    name: str
    """A short plain-English name: "billing document header"."""
    meaning: str = ""
    """What one row or value is, where the name does not say it all."""
    synonyms: tuple[str, ...] = ()
    reader: Reader = "words"
    confidence: float = 0.5
    source: str = ""
    """Where it is written or what it was made from: a section, a system of the lexicon, the pieces of the name."""

    @property
    def is_table(self) -> bool:
        return self.reference == self.table_reference


@dataclass(frozen=True)
class ModelHint:
    """What a model takes for a copy (of `target_reference`) or a column of codes."""

    table_reference: str
    reference: str
    hint: Literal["copy", "codes"]
    target_reference: str = ""
    detail: str = ""


@dataclass(frozen=True)
class NamesRead:
    """What the names of a table were read as in one round, and what that came from."""

    table_reference: str
    round: int
    fingerprint: str
    asked: bytes
    """Hashes of the words whose count was looked up, four bytes each."""
    readings: str
    """As JSON."""


@dataclass(frozen=True)
class WordsAround:
    """How often words stood around the names of a source when these were read, as JSON."""

    source: str
    round: int
    words: str


class ReadingStore:
    """The readings of an open state."""

    def __init__(self, state: EvidenceState) -> None:
        self.state = state

    def replace(self, readings: Iterable[Reading], readers: Sequence[Reader]) -> None:
        """Store readings instead of all that these readers said before; forget tables that are gone. Only those that
        differ are written."""
        said = dict.fromkeys(readings)
        known = dict.fromkeys(each for each in self.all() if each.reader in readers)
        changed = {each.reference for each in said.keys() ^ known.keys()}
        with self.state.transaction():
            execute(
                self.state,
                "DELETE FROM readings WHERE (list_contains($1::VARCHAR[], reader) "
                "AND list_contains($2::VARCHAR[], reference)) "
                "OR table_reference NOT IN (SELECT reference FROM tables)",
                [list(readers), list(changed)],
            )
            add(self.state, "readings", [each for each in said if each.reference in changed])

    def replace_said(self, readings: Iterable[Reading]) -> None:
        """Store what the corrections file says instead of what it said before."""
        with self.state.transaction():
            execute(self.state, "DELETE FROM readings WHERE source = $1", [CORRECTIONS])
            add(self.state, "readings", readings)

    def replace_tables(self, readings: Iterable[Reading], tables: Sequence[str], reader: Reader) -> None:
        """Store what one reader says of some tables instead of what it said of them before."""
        with self.state.transaction():
            execute(
                self.state,
                "DELETE FROM readings WHERE reader = $1 AND source <> $3 "
                "AND list_contains($2::VARCHAR[], table_reference)",
                [reader, list(tables), CORRECTIONS],
            )
            add(self.state, "readings", readings)

    def replace_objects(self, readings: Sequence[Reading], reader: Reader) -> None:
        """Store what one reader says of some objects instead of what it said of them before."""
        with self.state.transaction():
            execute(
                self.state,
                "DELETE FROM readings WHERE reader = $1 AND list_contains($2::VARCHAR[], reference)",
                [reader, [reading.reference for reading in readings]],
            )
            add(self.state, "readings", readings)

    # What names were read as, to be taken over

    def names_kept(self) -> tuple[list[NamesRead], list[WordsAround]]:
        return select(self.state, NamesRead, "FROM names_read"), select(self.state, WordsAround, "FROM words_around")

    def keep_names(self, names: Iterable[NamesRead], words: Iterable[WordsAround]) -> None:
        """Keep these instead of those before. Only what differs is written."""
        known_names, known_words = self.names_kept()
        with self.state.transaction():
            for table, key, known, now in (
                ("names_read", "table_reference", set[NamesRead | WordsAround](known_names), dict.fromkeys(names)),
                ("words_around", "source", set[NamesRead | WordsAround](known_words), dict.fromkeys(words)),
            ):
                gone = [(getattr(each, key), each.round) for each in known - now.keys()]
                execute(
                    self.state,
                    f"DELETE FROM {table} USING (SELECT unnest($1::VARCHAR[]) AS place, "
                    f"unnest($2::INTEGER[]) AS round) AS gone "
                    f"WHERE {table}.{key} = gone.place AND {table}.round = gone.round",
                    [[place for place, _ in gone], [number for _, number in gone]],
                )
                add(self.state, table, [each for each in now if each not in known])

    # What a model or an agent read page by page

    def read_by_model(self) -> dict[str, str]:
        """The digest with which each table was read last."""
        return dict(fetch(self.state, "SELECT table_reference, digest FROM model_read"))

    def keep_reply(
        self, readings: Iterable[Reading], digests: Mapping[str, str], hints: Iterable[ModelHint], reader: Reader
    ) -> None:
        """Keep what a reply says of the tables that it read, given with their digests, all or nothing."""
        with self.state.transaction():
            self.replace_tables(readings, list(digests), reader)
            for table in ("model_read", "model_hints"):
                execute(
                    self.state,
                    f"DELETE FROM {table} WHERE list_contains($1::VARCHAR[], table_reference) "
                    "OR table_reference NOT IN (SELECT reference FROM tables)",
                    [list(digests)],
                )
            for read in digests.items():
                execute(self.state, "INSERT INTO model_read VALUES ($1, $2)", read)
            add(self.state, "model_hints", hints)

    def all(self, *, best: bool = False) -> list[Reading]:
        """Every reading, or the best of each object, by reference and then the surest first."""
        return select(
            self.state,
            Reading,
            f"SELECT * FROM {'best_readings' if best else 'readings'} "
            "ORDER BY table_reference, reference, reader = 'person' DESC, confidence DESC, reader, source",
        )

    def best_by_reader(self) -> tuple[tuple[str, int], ...]:
        """For how many objects each reader has the best reading, those with most first."""
        return tuple(
            fetch(
                self.state, "SELECT reader, count(*) FROM best_readings GROUP BY reader ORDER BY count(*) DESC, reader"
            )
        )

    def of(self, reference: str) -> list[Reading]:
        """All readings of one object, the best first."""
        return select(
            self.state,
            Reading,
            "SELECT * FROM readings WHERE reference = $1 "
            "ORDER BY reader = 'person' DESC, confidence DESC, list_position($2::VARCHAR[], reader)",
            [reference, list(READERS)],
        )


def take_over_pages(state: EvidenceState, other: EvidenceState) -> bool:
    """Keep what an agent or a model read, page by page, in another version of the state. Whether there was any."""
    ours, theirs = ReadingStore(state), ReadingStore(other)
    known = ours.read_by_model()
    here = set(fetch(state, "SELECT reference FROM tables"))
    new = {table: digest for table, digest in theirs.read_by_model().items() if (table,) in here and table not in known}
    hints = [each for each in select(other, ModelHint, "FROM model_hints") if each.table_reference in new]
    readings = [each for each in theirs.all() if each.table_reference in new and each.source != CORRECTIONS]
    for reader in PAGE_READERS if new else ():
        ours.keep_reply([each for each in readings if each.reader == reader], new, hints, reader)
    return bool(new)


@dataclass(frozen=True)
class BestName:
    """What the best reading calls an object, beside what it is called in its source."""

    reference: str
    name: str
    written: str


def best_names(state: EvidenceState, least: float) -> list[BestName]:
    """The best readings of at least this confidence; `written` is empty of what is neither a table nor a column."""
    return select(
        state,
        BestName,
        "SELECT r.reference, r.name, coalesce(t.name, c.name, '') AS written FROM best_readings r "
        "LEFT JOIN tables t USING (reference) LEFT JOIN columns c USING (reference) WHERE r.confidence >= $1",
        [least],
    )
