"""Where readings live in the state.

In: readings. Out: the same, by reference. Each reader's readings are replaced as a whole, so that one reader's run
never touches what another one said.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

from coset.readings.pages import Page, PageReply
from coset.readings.reading import READERS, Reader, Reading
from coset.state import EvidenceState

OFFLINE: tuple[Reader, ...] = ("comment", "document", "sql", "lexicon", "words", "abbreviations")
SAID: tuple[Reader, ...] = ("person", "agent")
CORRECTIONS = "coset.corrections.yaml"
"""The source of readings that stand in the corrections file: they are what the file says now."""
_SCHEMA = pa.schema(
    [("reference", pa.string()), ("table_reference", pa.string()), ("name", pa.string()), ("meaning", pa.string()),
     ("synonyms", pa.list_(pa.string())), ("reader", pa.string()), ("confidence", pa.float64()),
     ("source", pa.string())]
)  # fmt: skip


class ReadingStore:
    """The readings of an open state."""

    def __init__(self, state: EvidenceState) -> None:
        self.state = state

    def replace(self, readings: Iterable[Reading], readers: Sequence[Reader]) -> None:
        """Store readings instead of all that these readers said before; forget tables that are gone."""
        with self.state.transaction():
            self.state.connection.execute(
                "DELETE FROM readings WHERE list_contains($1::VARCHAR[], reader) "
                "OR table_reference NOT IN (SELECT reference FROM tables)",
                [list(readers)],
            )
            self._insert(readings)

    def replace_said(self, readings: Iterable[Reading]) -> None:
        """Store what the corrections file says instead of what it said before."""
        with self.state.transaction():
            self.state.connection.execute("DELETE FROM readings WHERE source = $1", [CORRECTIONS])
            self._insert(readings)

    def replace_tables(self, readings: Iterable[Reading], tables: Sequence[str], reader: Reader) -> None:
        """Store what one reader says of some tables instead of what it said of them before."""
        with self.state.transaction():
            self.state.connection.execute(
                "DELETE FROM readings WHERE reader = $1 AND source <> $3 "
                "AND list_contains($2::VARCHAR[], table_reference)",
                [reader, list(tables), CORRECTIONS],
            )
            self._insert(readings)

    def replace_objects(self, readings: Sequence[Reading], reader: Reader) -> None:
        """Store what one reader says of some objects instead of what it said of them before."""
        with self.state.transaction():
            self.state.connection.execute(
                "DELETE FROM readings WHERE reader = $1 AND list_contains($2::VARCHAR[], reference)",
                [reader, [reading.reference for reading in readings]],
            )
            self._insert(readings)

    # What a model or an agent read page by page

    def read_by_model(self) -> dict[str, str]:
        """The digest with which each table was read last."""
        return {row["table_reference"]: row["digest"] for row in self.state.rows("FROM model_read")}

    def keep_reply(self, page: Page, reply: PageReply, reader: Reader) -> None:
        """Keep what a reply says of the tables of a page, all or nothing. Tables without a line stay to be read."""
        digests = {table.reference: digest for table, digest in zip(page.tables, page.digests, strict=True)}
        read = list(reply.read)
        with self.state.transaction():
            self.replace_tables(reply.readings, read, reader)
            for table in ("model_read", "model_hints"):
                self.state.connection.execute(
                    f"DELETE FROM {table} WHERE list_contains($1::VARCHAR[], table_reference) "
                    "OR table_reference NOT IN (SELECT reference FROM tables)",
                    [read],
                )
            for reference in read:
                self.state.connection.execute("INSERT INTO model_read VALUES ($1, $2)", [reference, digests[reference]])
            hints = [(each.table, each.table, "copy", each.original, each.kind) for each in reply.copies]
            tables = {column.reference: table.reference for table in page.tables for column in table.columns}
            hints += [(tables[each], each, "codes", "", "") for each in reply.codes]
            for hint in hints:
                self.state.connection.execute("INSERT INTO model_hints VALUES ($1, $2, $3, $4, $5)", list(hint))

    def _insert(self, readings: Iterable[Reading]) -> None:
        rows = pa.Table.from_pylist([_row(reading) for reading in readings], schema=_SCHEMA)
        if rows.num_rows:
            self.state.connection.register("arriving_readings", rows)
            self.state.connection.execute("INSERT INTO readings BY NAME SELECT * FROM arriving_readings")
            self.state.connection.unregister("arriving_readings")

    def all(self, *, best: bool = False) -> list[Reading]:
        """Every reading, or the best of each object, by reference and then the surest first."""
        rows = self.state.rows(
            f"SELECT * FROM {'best_readings' if best else 'readings'} "
            "ORDER BY table_reference, reference, reader = 'person' DESC, confidence DESC, reader, source"
        )
        return [_reading(row) for row in rows]

    def of(self, reference: str) -> list[Reading]:
        """All readings of one object, the best first."""
        rows = self.state.rows(
            "SELECT * FROM readings WHERE reference = $1 "
            "ORDER BY reader = 'person' DESC, confidence DESC, list_position($2::VARCHAR[], reader)",
            [reference, list(READERS)],
        )
        return [_reading(row) for row in rows]


def _row(reading: Reading) -> dict[str, Any]:
    return {
        "reference": reading.reference, "table_reference": reading.table_reference, "name": reading.name,
        "meaning": reading.meaning, "synonyms": list(reading.synonyms), "reader": reading.reader,
        "confidence": reading.confidence, "source": reading.source,
    }  # fmt: skip


def _reading(row: dict[str, Any]) -> Reading:
    return Reading(
        row["reference"], row["table_reference"], row["name"], row["meaning"] or "", tuple(row["synonyms"] or ()),
        row["reader"], row["confidence"], row["source"] or "",
    )  # fmt: skip
