"""One read-only SQL session over all sources of an environment.

In: one SELECT in DuckDB's SQL, with tables named `source.table`. Out: a `Result`. On the way: DuckDB parses it in the
worker process, the guard checks every node of the tree, each table is read in place, from a fresh local copy, or cut
down by its source, and the worker runs the statement. Tables of one shape can be read as one (`family_tables`). Holds
the open sources; knows nothing of what the data means.

Rows that a later statement needs (a large result, labels of texts, clusters of rows) are given to `add_table`, and are
read from then on as `result.name`: they need not flow through a caller again. They go when the session closes. Records
that were linked across tables are read as `linked.customer` (`own_tables`).
"""

from __future__ import annotations

import functools
import itertools
import os
import shutil
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from coset.environment.catalogue import Catalogue
from coset.environment.configuration import Environment
from coset.environment.leftovers import sweep
from coset.environment.scan import Null, parts_of
from coset.environment.source import Source, Table
from coset.errors import NotAllowed, TableVanished
from coset.session import guard, pivot
from coset.session.family_tables import Families, with_few_members
from coset.session.own_tables import LINKED, RESULTS, LinkedTables, TemporaryTables
from coset.session.pushdown import PUSHED, Fetch, Prepared, Reference, prepare, relations_of
from coset.session.result import Reading, Result, TableUse
from coset.session.snapshots import Progress, Snapshot, Snapshots, fetch_to_parquet, from_copy, from_file, in_place
from coset.session.worker_process import Deadline, WorkerLimits, WorkerProcess

if TYPE_CHECKING:
    import pyarrow as pa

# A source that evaluates no comparison has no engine to leave large tables with: they are copied, whatever their size.
ENGINE = "compare:number"


class QuerySession:
    """Open it with `with`, ask `sql`. Statements from several threads run one after the other."""

    def __init__(
        self,
        environment: Environment,
        limits: WorkerLimits | None = None,
        catalogue: Catalogue | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.environment = environment
        self.limits = limits or WorkerLimits()
        self._worker = WorkerProcess(self.limits)
        self._worker.start()  # It loads while the sources are listed.
        environment.prepare_state_folder()
        self.catalogue = catalogue or Catalogue(environment)
        self._snapshots = Snapshots(environment.state_folder / "snapshots")
        self._fetched = environment.state_folder / "fetched" / f"{os.getpid()}-{id(self):x}"
        self._temporary = TemporaryTables(self._fetched / "tables")
        self._linked = LinkedTables(environment.state_folder)
        self._families = Families(self.catalogue)
        self._numbers = itertools.count()
        self._progress = progress
        self._lock = threading.RLock()
        sweep(environment.state_folder)

    def __enter__(self) -> QuerySession:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the worker, close every source, remove what was fetched for single statements."""
        self._worker.close()
        self.catalogue.close()
        shutil.rmtree(self._fetched, ignore_errors=True)

    def sql(self, text: str, *, max_rows: int | None = None, seconds: float | None = None) -> Result:
        """Run one SELECT. Raises `NotAllowed` for what is not one, `UserError` for what does not fit the tables, and
        `LimitReached` when it takes longer than it may, counted over everything that it needs."""
        with self._lock:
            deadline = Deadline(self.limits.seconds if seconds is None else seconds)
            return self._answer(text, self.limits.max_rows if max_rows is None else max_rows, deadline)

    def _answer(self, text: str, max_rows: int, deadline: Deadline) -> Result:
        started = time.monotonic()
        text, tree = self._parsed(text, deadline)
        # The sources that the statement names are listed side by side, before the guard asks table by table.
        self.catalogue.refresh({relation[0] for relation in relations_of(tree)})
        checked = guard.check(tree, self._knows)
        references = self._references(checked.tables)
        checked.check_words({column.name.lower() for each in references for column in each.columns})
        try:
            return self._run(text, tree, references, max_rows, deadline, started)
        except TableVanished:
            for reference in references:  # What was listed no longer holds; the next statement lists anew.
                self.catalogue.forget(reference.source.settings.name)
            raise

    def interrupt(self) -> None:
        """End the statement that another thread runs: it fails with `LimitReached`. The next one gets a new process."""
        self._worker.interrupt()

    def add_table(self, name: str, rows: pa.Table, types: Sequence[str] | None = None) -> str:
        """Keep rows as a temporary table; the name to write in SQL (`result.name`). For a `Result`, give its `table`
        and its `types`. A table of the same name is replaced."""
        with self._lock:
            return self._temporary.add(name, rows, types)

    def _parsed(self, text: str, deadline: Deadline) -> tuple[str, dict[str, Any]]:
        """The statement and its tree; a PIVOT without values is completed with the values it finds."""
        tree = self._tree(text, deadline)
        while guard.is_no_select(tree) and (open_pivots := pivot.pivots_without_values(text)):
            values = [
                [str(row[0]) for row in self._answer(question, pivot.MAXIMUM_VALUES + 1, deadline).rows()]
                for question in open_pivots.questions
            ]
            text = pivot.with_values(text, values)
            tree = self._tree(text, deadline)
        if tree.get("error") and not guard.is_no_select(tree):
            raise guard.syntax_mistake(text, tree)
        return text, tree

    def _tree(self, text: str, deadline: Deadline) -> dict[str, Any]:
        guard.check_text(text)
        return guard.decode(self._ask(deadline, {"operation": "parse", "sql": text})["tree"])

    def _ask(self, deadline: Deadline, head: dict[str, Any]) -> dict[str, Any]:
        return self._worker.request(head, deadline)[0]

    def _knows(self, table: guard.TableName) -> bool:
        self._find(_parts(table))  # Raises with the nearest names.
        return True

    def _find(self, parts: tuple[str, ...]) -> tuple[Source, Table]:
        if parts[0].lower() == RESULTS and len(parts) > 1:
            return self._temporary, self._temporary.find(parts)
        if parts[0].lower() == LINKED and len(parts) > 1 and not self._is_source(LINKED):
            return self._linked, self._linked.find(parts)
        # Only `find` looks for the nearest names, which takes long in a source of thousands of tables.
        return self.catalogue.look_up(parts) or self._families.find(parts) or self.catalogue.find(parts)

    def _is_source(self, name: str) -> bool:
        """Whether the user has a source of that name, which then means theirs."""
        return any(each.lower() == name for each in self.environment.sources)

    def _references(self, tables: Sequence[guard.TableName]) -> list[Reference]:
        references: dict[tuple[str, str, str], Reference] = {}
        for table in tables:
            parts = tuple(part.lower() for part in _parts(table))
            source, found = self._find(parts)
            relation = (parts[0], parts[1] if len(parts) == 3 else "main", parts[-1])
            references[relation] = Reference(relation, source, found, stays_at_source(source, found))
        return list(references.values())

    def _run(
        self,
        text: str,
        tree: dict[str, Any],
        references: list[Reference],
        max_rows: int,
        deadline: Deadline,
        started: float,
    ) -> Result:
        ask = functools.partial(self._ask, deadline)
        tokens = {r.relation: r.source.change_token(r.table) for r in references if _is_copied(r)}
        copies = {
            r.relation: self._snapshots.current(r.source, r.table, tokens[r.relation])
            for r in references
            if _is_copied(r)
        }
        lacking = {relation for relation, copy in copies.items() if copy is None}
        references = with_few_members(references, lacking, lambda each: prepare(text, tree, each, ask))
        prepared = Prepared(text, (), frozenset(reference.relation for reference in references))
        if any(reference.stays or reference.relation in lacking for reference in references):
            prepared = prepare(text, tree, references, ask)
        _refuse_values_of_schema_only(references, prepared)
        head: dict[str, Any] = {
            "operation": "run", "sql": prepared.sql, "relations": [], "attach": [], "files": [], "stamp": "",
            "folders": [f"{self._snapshots.folder}/", f"{self._fetched}/"],
            "max_rows": max_rows,
            "max_bytes": self.limits.max_bytes,
        }  # fmt: skip
        uses: list[TableUse] = []
        files: list[Path] = []
        try:
            for fetch in prepared.fetches:
                path, use = self._fetch(fetch, deadline)
                files.append(path)
                uses.append(use)
                head["relations"].append({"name": list(fetch.relation), "query": from_file(fetch.view, path)})
            for reference in references:
                if not reference.stays and reference.relation in prepared.still_read:
                    with deadline.paused():
                        uses.append(self._local(reference, copies.get(reference.relation), tokens, head))
            answer, payload = self._worker.request(head, deadline)
        finally:
            for path in files:
                path.unlink(missing_ok=True)
        import pyarrow as pa

        table = pa.ipc.open_stream(payload).read_all()
        types = tuple(answer["types"])
        return Result(table, types, answer["truncated"], time.monotonic() - started, tuple(uses))

    def _local(
        self,
        reference: Reference,
        snapshot: Snapshot | None,
        tokens: dict[tuple[str, str, str], str | None],
        head: dict[str, Any],
    ) -> TableUse:
        """Make a table readable for the worker, in place or as a local copy."""
        source, table = reference.source, reference.table
        name = f"{source.settings.name}.{table.qualified_name}"
        place = source.in_place(table)
        if place is not None:
            local = in_place(source, table, place)
            head["attach"] += [list(entry) for entry in local.attach if list(entry) not in head["attach"]]
            head["files"] += [path for path in local.files if path not in head["files"]]
            head["stamp"] += f"{source.change_token(table)};"
            use = TableUse(name, "in place", None)
        else:
            rows_travelled = 0
            if snapshot is None:
                snapshot = self._snapshots.take(source, table, tokens[reference.relation], self._progress)
                rows_travelled = snapshot.rows
            local = from_copy(table, snapshot.path)
            age = None if snapshot.token is not None else max(0.0, time.time() - snapshot.taken_at)
            use = TableUse(name, "snapshot", rows_travelled, age)
        head["relations"].append({"name": list(reference.relation), "query": local.query})
        return use

    def _fetch(self, fetch: Fetch, deadline: Deadline) -> tuple[Path, TableUse]:
        path = self._fetched / "answers" / f"{next(self._numbers)}.parquet"
        limit = fetch.source.settings.limits.fetch_rows

        def fetch_rows() -> int:
            return fetch_to_parquet(
                fetch.source, fetch.table, fetch.scan, fetch.file_columns, path, limit, self._progress
            )

        # A source that is left behind in the middle of an answer is opened anew by the next statement.
        rows = deadline.run(fetch_rows, lambda: self.catalogue.abandon(fetch.source.settings.name))
        reading: Reading = "computed at the source" if fetch.relation[0] == PUSHED else "fetched"
        return path, TableUse(f"{fetch.source.settings.name}.{fetch.table.qualified_name}", reading, rows)


def _parts(table: guard.TableName) -> tuple[str, ...]:
    return tuple(part for part in (table.catalog, table.schema, table.name) if part)


def stays_at_source(source: Source, table: Table) -> bool:
    """Whether a table's rows stay at the source: it is large, or the user said that no value leaves."""
    if source.settings.schema_only:
        return True
    if ENGINE not in source.pushes or source.in_place(table) is not None:
        return False
    if table.kind == "view" and table.rows is None and source.kind == "duckdb":
        return True  # Nobody knows how many rows it makes.
    limits = source.settings.limits
    return (table.rows or 0) > limits.snapshot_rows or (table.bytes or 0) > limits.snapshot_bytes


def _is_copied(reference: Reference) -> bool:
    return not reference.stays and reference.source.in_place(reference.table) is None


def _refuse_values_of_schema_only(references: Sequence[Reference], prepared: Prepared) -> None:
    """Of a schema-only source nothing but counts may be asked, and those are computed there. A condition on a value
    would let it be read by counting (is it above 50? above 75?), so none is allowed but on NULL."""
    for reference in references:
        if reference.source.settings.schema_only:
            fetches = [fetch for fetch in prepared.fetches if fetch.table is reference.table]
            only_counts = all(
                fetch.scan.aggregates
                and all(isinstance(part, Null) for part in parts_of(fetch.scan.where))
                and not fetch.scan.group_by
                and all(item.function in {"count", "count_distinct"} for item in fetch.scan.aggregates)
                for fetch in fetches
            )
            if reference.relation in prepared.still_read or not only_counts:
                name = reference.source.settings.name
                raise NotAllowed(
                    f"'{name}' is schema-only, so no value of '{name}.{reference.table.name}' may leave it: "
                    "only counts over that table alone are computed, and a condition may ask for NULL at most, such as "
                    "SELECT count(*), count(DISTINCT a) FROM ... WHERE b IS NOT NULL"
                )
