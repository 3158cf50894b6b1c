"""Everything known of an environment, kept in one DuckDB file.

In: evidence of tables, relations, documents, notes of people. Out: the same, by reference. What is known of a table is
replaced in one transaction, so a kill at any moment leaves each table as it was before or as it is after, and the next
run goes on from there. Knows how evidence is stored, not how it is found.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import duckdb

from coset.environment.catalogue import SourceListing
from coset.errors import CosetError, Mistake
from coset.evidence.examine import TableEvidence
from coset.evidence.objects import Diagnostic, Reference, Relation
from coset.evidence.state.migrations import migrate
from coset.evidence.state.rows import diagnostic_row, identifier, now, relation_row, table_rows

FILE_NAME = "state.duckdb"
OWNED = ("columns", "paths", "value_groups", "group_values", "facets", "diagnostics", "duplicates", "documents")
"""The state's tables whose rows belong to one table of the environment."""


@dataclass(frozen=True)
class Note:
    """What a person said of something."""

    number: int
    about: str
    text: str


@dataclass(frozen=True)
class KnownTable:
    """How a table was when it was comprehended: what tells whether it changed since."""

    token: str | None = None
    digest: str | None = None
    shape: str = ""
    problem: str | None = None


class EvidenceState:
    """An open state. One process may write at a time; readers open it for a moment."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, path: Path) -> None:
        self.connection = connection
        self.path = path

    @classmethod
    def open(cls, folder: Path) -> EvidenceState:
        """The state in a folder, made when there is none, brought to the newest version when it is older."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / FILE_NAME
        connection = _connect(path, read_only=False)
        try:
            migrate(connection)
        except BaseException:
            connection.close()
            raise
        return cls(connection, path)

    @classmethod
    def read(cls, folder: Path) -> EvidenceState:
        """The state in a folder, for looking only."""
        path = folder / FILE_NAME
        if not path.exists():
            raise Mistake("this environment has not been comprehended yet: run `coset comprehend`")
        return cls(_connect(path, read_only=True), path)

    def __enter__(self) -> EvidenceState:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self.connection.close()

    # What is written

    def store_sources(self, listings: Iterable[SourceListing]) -> None:
        rows = [
            {
                "source": listing.name, "kind": listing.kind, "description": listing.description,
                "schema_only": listing.schema_only, "problem": listing.problem, "listed_at": now(),
            }
            for listing in listings
        ]  # fmt: skip
        with self._transaction():
            self.connection.execute("DELETE FROM sources")
            self._insert("sources", rows)

    def store_table(self, evidence: TableEvidence, family: str | None) -> None:
        """Replace all that is known of one table."""
        rows = table_rows(evidence, family)
        reference = rows["tables"][0]["reference"]
        with self._transaction():
            self._delete([reference])
            for name, content in rows.items():
                self._insert(name, content)

    def remove_tables(self, references: Sequence[str]) -> None:
        """Forget tables that are no longer there."""
        if references:
            with self._transaction():
                self._delete(references)

    def store_families(self, rows: Sequence[dict[str, Any]]) -> None:
        with self._transaction():
            self.connection.execute("DELETE FROM families")
            self._insert("families", rows)

    def store_relations(self, relations: Iterable[Relation]) -> None:
        rows = {row["id"]: row for row in map(relation_row, relations)}
        with self._transaction():
            self.connection.execute("DELETE FROM relations")
            self._insert("relations", list(rows.values()))

    def store_counters(self, found: Iterable[tuple[Reference, Diagnostic]]) -> None:
        """Replace the diagnostics of counters that disagree with the rows they count."""
        rows = [diagnostic_row(reference, diagnostic) for reference, diagnostic in found]
        with self._transaction():
            self.connection.execute("DELETE FROM diagnostics WHERE kind = 'counter_disagrees'")
            self._insert("diagnostics", rows)

    def store_documents(self, rows: Sequence[dict[str, Any]]) -> None:
        """Replace the documents that belong to no table: descriptions, hints, files."""
        with self._transaction():
            self.connection.execute("DELETE FROM documents WHERE table_reference IS NULL")
            self._insert("documents", rows)

    def add_note(self, about: str, text: str) -> Note:
        rows = self.connection.execute(
            "INSERT INTO notes SELECT coalesce(max(number), 0) + 1, $1, $2, $3 FROM notes RETURNING number",
            [about, text, now()],
        ).fetchall()
        return Note(int(rows[0][0]), about, text)

    def remove_note(self, number: int) -> None:
        removed = self.connection.execute("DELETE FROM notes WHERE number = $1 RETURNING number", [number]).fetchall()
        if not removed:
            raise Mistake(f"there is no note {number}: `coset note --list` shows them")

    def set_meta(self, key: str, value: str) -> None:
        self.connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", [key, value])

    # What is read

    def meta(self, key: str) -> str | None:
        rows = self.connection.execute("SELECT value FROM meta WHERE key = $1", [key]).fetchall()
        return str(rows[0][0]) if rows else None

    def known_tables(self) -> dict[str, KnownTable]:
        """How each table was when it was comprehended."""
        rows = self.connection.execute("SELECT reference, token, digest, shape, problem FROM tables").fetchall()
        return {row[0]: KnownTable(*row[1:]) for row in rows}

    def renew_token(self, reference: str, token: str | None) -> None:
        """Keep what is known of a table whose content did not change, under its new token."""
        self.connection.execute("UPDATE tables SET token = $2 WHERE reference = $1", [reference, token])

    def notes(self, about: str | None = None) -> list[Note]:
        rows = self.connection.execute(
            "SELECT number, about, text FROM notes WHERE $1 IS NULL OR about = $1 ORDER BY number", [about]
        ).fetchall()
        return [Note(*row) for row in rows]

    def rows(self, sql: str, parameters: Sequence[object] = ()) -> list[dict[str, Any]]:
        """The rows of a query of ours, by column name."""
        cursor = self.connection.execute(sql, list(parameters))
        names = [column[0] for column in cursor.description or []]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

    def count(self, table: str) -> int:
        return int(self.connection.execute(f'SELECT count(*) FROM "{table}"').fetchall()[0][0])

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self.connection.execute("BEGIN")
        try:
            yield
        except BaseException:
            self.connection.execute("ROLLBACK")
            raise
        self.connection.execute("COMMIT")

    def _delete(self, references: Sequence[str]) -> None:
        for name in OWNED:
            self.connection.execute(f"DELETE FROM {name} WHERE list_contains($1, table_reference)", [list(references)])
        self.connection.execute("DELETE FROM tables WHERE list_contains($1, reference)", [list(references)])

    def _insert(self, name: str, rows: Sequence[dict[str, Any]]) -> None:
        if not rows:
            return
        import pyarrow as pa

        types = {
            str(row[0]): str(row[1])
            for row in self.connection.execute(
                "SELECT column_name, data_type FROM duckdb_columns() WHERE table_name = $1", [name]
            ).fetchall()
        }
        arrow = {"VARCHAR": pa.string(), "BIGINT": pa.int64(), "INTEGER": pa.int32(), "DOUBLE": pa.float64(),
                 "BOOLEAN": pa.bool_(), "TIMESTAMP": pa.timestamp("us"), "VARCHAR[]": pa.list_(pa.string()),
                 "JSON": pa.string()}  # fmt: skip
        columns = list(rows[0])
        schema = pa.schema([(column, arrow[types[column]]) for column in columns])
        content = pa.Table.from_pylist([_clean(row) for row in rows], schema=schema)
        self.connection.register("arriving", content)
        names = ", ".join(columns)
        self.connection.execute(f"INSERT INTO {name} ({names}) SELECT {names} FROM arriving")
        self.connection.unregister("arriving")


def family_row(
    source: str, reference: str, pattern: str, members: Sequence[str], columns: Sequence[str], rows: int
) -> dict[str, Any]:
    return {
        "reference": reference, "id": identifier("family", reference), "source": source, "pattern": pattern,
        "members": list(members), "columns": list(columns), "rows": rows,
    }  # fmt: skip


def _clean(row: dict[str, Any]) -> dict[str, Any]:
    """Lone surrogates cannot be written anywhere; they are replaced, as everywhere else."""
    return {
        key: value.encode("utf-8", "replace").decode("utf-8") if isinstance(value, str) else value
        for key, value in row.items()
    }


def _connect(path: Path, *, read_only: bool) -> duckdb.DuckDBPyConnection:
    try:
        return duckdb.connect(str(path), read_only=read_only, config={"enable_external_access": "false"})
    except duckdb.IOException as error:
        if "lock" in str(error).lower():
            raise CosetError(
                "the evidence state is in use by another coset that is writing it: try again later"
            ) from None
        raise CosetError(f"the evidence state cannot be opened: delete '{path}' and run `coset comprehend`") from error
    except duckdb.Error as error:
        raise CosetError(f"the evidence state cannot be opened: delete '{path}' and run `coset comprehend`") from error
