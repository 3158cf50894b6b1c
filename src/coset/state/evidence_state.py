"""Everything known of an environment, kept in one DuckDB file.

In: evidence of tables, relations, documents, notes of people. Out: the same, by reference. What is known of a table is
replaced in one transaction, so a kill at any moment leaves each table as it was before or as it is after, and the next
run goes on from there; who reads meanwhile sees none of it (`file`). Knows how evidence is stored, not how it is found.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import duckdb

from coset.environment.catalogue import SourceListing
from coset.environment.configuration import Environment
from coset.environment.corrections import Corrections, corrections_text, load_corrections, parse_corrections
from coset.errors import UserError
from coset.state.file import WorkingCopy, open_to_read
from coset.state.migrations import STEPS, migrate, version_of
from coset.state.objects import CodeList, Copy, Diagnostic, Reference, Relation, TableEvidence
from coset.state.queries import insert_rows
from coset.state.rows import Rows, diagnostic_row, identifier, now, reference_of, relation_row, table_rows

OWNED = (
    "columns", "paths", "value_groups", "group_values", "facets", "diagnostics", "duplicates", "documents",
    "join_tables", "join_columns", "join_variants", "join_lefts", "join_candidates",
)  # fmt: skip
"""The state's tables whose rows belong to one table of the environment, which they name by `table_reference`."""
HASHED_BY, WITHDRAWN = "hashed_by", "values withdrawn"
RELATIONS_FOUND = "relations"
"""What `meta` has while relations are those of the tables as they are known: any change of a table takes it away."""


@dataclass(frozen=True)
class Note:
    """What a person said of something."""

    number: int
    about: str
    text: str
    written_at: datetime.datetime | None = None


@dataclass(frozen=True)
class KnownTable:
    """How a table was when it was comprehended: what tells whether it changed since."""

    token: str | None = None
    digest: str | None = None
    shape: str = ""
    problem: str | None = None
    rows: int | None = None
    sampled: int | None = None
    """So many rows were looked at, where not all were."""


class EvidenceState:
    """An open state: as it was last published, or a copy that is published when it is closed."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, held: object) -> None:
        self._connection, self._held = connection, held
        self._depth = 0

    @classmethod
    def read(cls, folder: Path) -> EvidenceState:
        """The state in a folder, for looking only; nothing that is written meanwhile changes it. One that an earlier
        coset made is brought to the newest version first."""
        connection, held = open_to_read(folder)
        if version_of(connection) != len(STEPS):
            connection.close()
            cls.open(folder).close()
            connection, held = open_to_read(folder)
        return cls(connection, held)

    @classmethod
    def open(cls, folder: Path) -> EvidenceState:
        """The state in a folder, to write into: made when there is none, brought to the newest version when it is
        older. What is written is seen when it is closed; an error within its block takes all of it back."""
        return cls._writing(WorkingCopy(folder, comprehends=False))

    @classmethod
    def comprehending(cls, folder: Path) -> EvidenceState:
        """The same, for what takes long: corrections can be made meanwhile (`is_behind`), and after an error the next
        comprehension goes on with what was stored until then."""
        return cls._writing(WorkingCopy(folder, comprehends=True))

    @classmethod
    def _writing(cls, copy: WorkingCopy) -> EvidenceState:
        state = cls(copy.connection, copy)
        try:
            migrate(copy.connection)
            state._forget_other_hashes()
        except BaseException:
            copy.discard()
            raise
        return state

    @property
    def copy(self) -> WorkingCopy:
        """The copy that is written to."""
        if not isinstance(self._held, WorkingCopy):
            raise TypeError("this state is open to look at only")
        return self._held

    def __enter__(self) -> EvidenceState:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(self._held, WorkingCopy) and error is not None:
            self._held.discard()
            self._held = None
        self.close()

    def close(self) -> None:
        """End looking, or publish what was written."""
        held, self._held = self._held, None
        if isinstance(held, WorkingCopy):
            held.publish()
        self._connection.close()

    # What is written

    def store_sources(self, listings: Iterable[SourceListing]) -> None:
        rows = [
            {
                "source": listing.name, "kind": listing.kind, "description": listing.description,
                "schema_only": listing.schema_only, "problem": listing.problem, "listed_at": now(),
                "skipped": [f"{file}: {reason}" for file, reason in listing.damaged],
            }
            for listing in listings
        ]  # fmt: skip
        with self.transaction():
            self._connection.execute("DELETE FROM sources")
            self._insert("sources", rows)

    def note_withdrawal(self, listings: Iterable[SourceListing]) -> None:
        """Remember when a source whose values are known is now schema-only or gone. To be called before the sources are
        stored."""
        hidden = {listing.name: listing.schema_only for listing in listings}
        known = self._connection.execute("SELECT source FROM sources WHERE NOT coalesce(schema_only, false)").fetchall()
        if any(hidden.get(name, True) for (name,) in known):
            self.set_meta(WITHDRAWN, "yes")

    def leave_out_withdrawn(self) -> None:
        """Have the file written anew when it is published, where values may no longer be here: a database file keeps
        deleted ones in its free blocks. That it is to be done is kept until it is, so that a kill in between delays it
        to the next comprehension. Their rows are for the stages to delete."""
        if self.meta(WITHDRAWN) is not None:
            self.copy.anew_without = WITHDRAWN

    def store_tables(self, evidences: Sequence[TableEvidence]) -> set[str]:
        """Replace all that is known of some tables, and answer with their references. Their relations are to be found
        anew. A table that could not be read this time keeps what was known of it, with the problem beside it."""
        known = self.known_tables()
        by_place = {str(reference_of(evidence.source, evidence.table)): evidence for evidence in evidences}
        unread = {place: each.problem for place, each in by_place.items() if each.problem and place in known}
        evidences = [evidence for place, evidence in by_place.items() if place not in unread]
        rows: Rows = {}
        for evidence in evidences:
            for name, content in table_rows(evidence).items():
                rows.setdefault(name, []).extend(content)
        places = [place for place in by_place if place not in unread]
        with self.transaction():
            self._delete(places)
            for name, content in rows.items():
                self._insert(name, content)
            for place, problem in unread.items():
                self.store_problem(place, problem)
        return set(places)

    def store_problem(self, reference: str, problem: str) -> None:
        """Say of a table that is known why it could not be read this time."""
        self._connection.execute("UPDATE tables SET problem = $2 WHERE reference = $1", [reference, problem])

    def remove_tables(self, references: Sequence[str]) -> None:
        """Forget tables that are no longer there."""
        if references:
            with self.transaction():
                self._delete(references)

    def _forget_other_hashes(self) -> None:
        """Hashes of another version of DuckDB compare with none of this one: the tables are looked at again."""
        if self.meta(HASHED_BY) != duckdb.__version__:
            with self.transaction():
                for name in (*(name for name in OWNED if name.startswith("join_")), "join_keys", "join_overlaps"):
                    self._connection.execute(f"DELETE FROM {name}").fetchall()
                self._connection.execute("UPDATE tables SET shape = ''")
                self.set_meta(HASHED_BY, duckdb.__version__)

    def store_families(self, rows: Sequence[dict[str, Any]]) -> None:
        with self.transaction():
            self._connection.execute("DELETE FROM families")
            self._insert("families", rows)

    def store_relations(self, relations: Iterable[Relation], kept_of: Sequence[str] = ()) -> set[str]:
        """Replace the relations, except those of the tables `kept_of`, which could not be looked at. Answers with the
        right tables of all relations that are not what they were."""
        rows = {row["id"]: row for row in map(relation_row, relations)}
        with self.transaction():
            known = {
                row["id"]: row
                for row in self.rows(
                    "SELECT * FROM relations WHERE NOT list_has_any($1::VARCHAR[], [left_table, right_table])",
                    [list(kept_of)],
                )
            }
            new = [row for row in rows.values() if known.get(row["id"]) != row]
            gone = [row for row in known.values() if rows.get(row["id"]) != row]
            replaced = [row["id"] for row in (*gone, *new)]
            self._connection.execute("DELETE FROM relations WHERE list_contains($1::VARCHAR[], id)", [replaced])
            self._insert("relations", new)
        return {row["right_table"] for row in (*new, *gone)}

    def store_copies(self, copies: Iterable[Copy]) -> None:
        """Replace what is known of copies."""
        rows = [
            {
                "table_reference": each.table, "original_reference": each.original, "kind": each.kind,
                "confidence": each.confidence, "drift": each.drift, "reasons": list(each.reasons),
            }
            for each in copies
        ]  # fmt: skip
        with self.transaction():
            self._connection.execute("DELETE FROM copies")
            self._insert("copies", rows)

    def copies(self) -> list[Copy]:
        """The tables that are copies, by reference."""
        return [
            Copy(
                row["table_reference"], row["original_reference"], row["kind"], row["confidence"], row["drift"],
                tuple(row["reasons"]),
            )
            for row in self.rows("FROM copies ORDER BY table_reference")
        ]  # fmt: skip

    def store_code_lists(
        self, lists: Iterable[CodeList], labels: Iterable[tuple[str, str, str, str, str | None]] = ()
    ) -> None:
        """Replace what is known of code lists; `labels`: column, code, label, list and language of those in force."""
        rows = [
            {
                "column_reference": each.column, "list_reference": each.list, "code_column": each.code_column,
                "label_column": each.label_column, "condition": each.condition, "language": each.language,
                "status": each.status, "confidence": each.confidence, "reasons": list(each.reasons),
                "held": each.held, "used": each.used,
            }
            for each in lists
        ]  # fmt: skip
        with self.transaction():
            self._connection.execute("DELETE FROM code_lists; DELETE FROM code_list_labels")
            self._insert("code_lists", rows)
            names = ("column_reference", "code", "label", "list_reference", "language")
            self._insert("code_list_labels", [dict(zip(names, each, strict=True)) for each in labels])

    def code_lists(self) -> list[CodeList]:
        """Which rows of which table decode a column: current lists before outdated ones, the surest first."""
        return [
            CodeList(
                row["column_reference"], row["list_reference"], row["code_column"], row["label_column"],
                row["condition"], row["language"], row["status"], row["confidence"], tuple(row["reasons"]),
                row["held"] or 0.0, row["used"] or 0.0,
            )
            for row in self.rows("FROM code_lists ORDER BY column_reference, status, confidence DESC, list_reference")
        ]  # fmt: skip

    def store_counters(self, found: Iterable[tuple[Reference, Diagnostic]], tables: Sequence[str]) -> None:
        """Replace what is known of counters of these tables that disagree with the rows they count."""
        rows = [diagnostic_row(reference, diagnostic) for reference, diagnostic in found]
        with self.transaction():
            self._connection.execute(
                "DELETE FROM diagnostics WHERE kind = 'counter_disagrees' "
                "AND list_contains($1::VARCHAR[], table_reference)",
                [list(tables)],
            )
            self._insert("diagnostics", rows)

    def store_documents(self, rows: Sequence[dict[str, Any]], *, dictionaries: bool = False) -> None:
        """Replace the documents that belong to no table: descriptions, hints and files, or, with `dictionaries`, what
        data dictionaries say of columns."""
        with self.transaction():
            self._connection.execute(
                "DELETE FROM documents WHERE table_reference IS NULL AND (kind = 'dictionary') = $1", [dictionaries]
            )
            self._insert("documents", rows)

    def add_documents(self, rows: Sequence[dict[str, Any]]) -> None:
        """Add texts about things; the stage of documents replaces them all each time."""
        self._insert("documents", rows)

    def store_notes(self, notes: Iterable[tuple[str, str]]) -> None:
        """Replace the notes (what each is about, its text) by those of the corrections file, numbered in its order."""
        rows = [
            {"number": number, "about": about, "text": text, "written_at": now()}
            for number, (about, text) in enumerate(notes, start=1)
        ]
        with self.transaction():
            self._connection.execute("DELETE FROM notes")
            self._insert("notes", rows)

    def set_meta(self, key: str, value: str) -> None:
        self._connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", [key, value])

    # What is read

    def remove_meta(self, key: str) -> None:
        with self.transaction():
            self._connection.execute("DELETE FROM meta WHERE key = $1", [key])

    def meta(self, key: str) -> str | None:
        rows = self._connection.execute("SELECT value FROM meta WHERE key = $1", [key]).fetchall()
        return str(rows[0][0]) if rows else None

    def known_tables(self) -> dict[str, KnownTable]:
        """How each table was when it was comprehended."""
        rows = self._connection.execute(
            "SELECT reference, token, digest, shape, problem, rows, sampled_rows FROM tables"
        ).fetchall()
        return {row[0]: KnownTable(*row[1:]) for row in rows}

    def renew_token(self, reference: str, token: str | None) -> None:
        """Keep what is known of a table whose content did not change, under its new token."""
        self._connection.execute("UPDATE tables SET token = $2 WHERE reference = $1", [reference, token])

    def notes(self, about: str | None = None) -> list[Note]:
        rows = self._connection.execute(
            "SELECT number, about, text, written_at FROM notes WHERE $1 IS NULL OR about = $1 ORDER BY number", [about]
        ).fetchall()
        return [Note(*row) for row in rows]

    def rows(self, sql: str, parameters: Sequence[object] = ()) -> list[dict[str, Any]]:
        """The rows of a query of ours, by column name."""
        cursor = self._connection.execute(sql, list(parameters))
        names = [column[0] for column in cursor.description or []]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

    def count(self, table: str) -> int:
        return int(self._connection.execute(f'SELECT count(*) FROM "{table}"').fetchall()[0][0])

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing of what is written within; a transaction within another is part of it."""
        if self._depth == 0:
            self._connection.execute("BEGIN")
        self._depth += 1
        try:
            yield
        except BaseException:
            if self._depth == 1:
                self._connection.execute("ROLLBACK")
            raise
        else:
            if self._depth == 1:
                self._connection.execute("COMMIT")
        finally:
            self._depth -= 1

    def _delete(self, references: Sequence[str]) -> None:
        self._connection.execute("DELETE FROM meta WHERE key = $1", [RELATIONS_FOUND])
        for name in OWNED:
            self._connection.execute(
                f"DELETE FROM {name} WHERE list_contains($1::VARCHAR[], table_reference)", [list(references)]
            ).fetchall()
        self._connection.execute("DELETE FROM tables WHERE list_contains($1, reference)", [list(references)])

    def _insert(self, name: str, rows: Sequence[dict[str, Any]]) -> None:
        insert_rows(self._connection, name, rows)


def family_row(
    source: str, reference: str, pattern: str, members: Sequence[str], columns: Sequence[str], rows: int
) -> dict[str, Any]:
    return {
        "reference": reference, "id": identifier("family", reference), "source": source, "pattern": pattern,
        "members": list(members), "columns": list(columns), "rows": rows,
    }  # fmt: skip


LAST_READ = "corrections file"
"""The key of the state's `meta` under which the file's last readable text stands."""


def corrections_in_force(environment: Environment, state: EvidenceState) -> Corrections:
    """What the file says; while it cannot be read, what it said when it last could."""
    try:
        return load_corrections(environment)
    except UserError:
        return parse_corrections(state.meta(LAST_READ) or "")


def remember_corrections(environment: Environment, state: EvidenceState) -> Corrections:
    """Read the file and keep its text. Raises `UserError` with the line when it is not valid YAML."""
    text = corrections_text(environment)
    corrections = parse_corrections(text)
    if state.meta(LAST_READ) != text:
        state.set_meta(LAST_READ, text)
    return corrections
