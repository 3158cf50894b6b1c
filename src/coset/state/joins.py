"""What finding and judging joins keeps in the state: keys and overlaps of columns, and the joins that were proposed.

In: an open state, or nothing for a memory of one run. Out: frozen rows, or rows as they stand in the tables of
`migrations.JOIN_TABLES`; for the judging also what the state knows of columns besides their values: roles, readings,
written SQL. Transactions are the caller's. Roles are realised from what was proposed, not from what is believed of it
later: that must not change the roles it was judged by. Knows how equal hashes are counted, not what a join is.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from coset.state.evidence_state import EvidenceState
from coset.state.migrations import JOIN_TABLES
from coset.state.objects import Relation
from coset.state.queries import insert_rows
from coset.state.rows import relation_row

if TYPE_CHECKING:
    import duckdb
    import numpy as np
    import pyarrow as pa


OWNED = ("join_tables", "join_columns", "join_variants", "join_lefts", "join_candidates")
"""The tables whose rows belong to one table of the environment."""
COUNTED_PART = 16
"""Equal keys are counted among one in so many of all hashes."""
Rows = Sequence[dict[str, Any]]


@dataclass(frozen=True)
class LookedUp:
    """How many keys of a set are looked up in the others: `texts` or `numbers`, halved so many times, at the least
    `least`."""

    texts: int
    numbers: int
    least: int
    halvings: int = 0

    @property
    def is_new(self) -> str:
        """SQL: whether a set was not yet paired with this many halvings."""
        return f"halvings IS DISTINCT FROM {self.halvings}"

    @property
    def asked(self) -> str:
        """SQL: the keys of all sets that are looked up, one in a power of two."""
        wanted = (
            f"greatest({self.least}, CASE WHEN is_number THEN {self.numbers >> self.halvings} "
            f"ELSE {self.texts >> self.halvings} END)"
        )
        return (
            f"SELECT key_set, form, is_new, hash FROM (SELECT key_set, form, {self.is_new} AS is_new, "
            f"unnest(hashes) AS hash, (2 ** floor(log2(greatest(1, total / {wanted}))))::UBIGINT AS part "
            "FROM join_keys) WHERE hash % part = 0"
        )


class JoinTables:
    """The tables of one memory."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection

    @classmethod
    def of(cls, state: EvidenceState) -> JoinTables:
        return cls(state._connection)

    @classmethod
    def in_memory(cls) -> JoinTables:
        """Empty ones, for one run."""
        import duckdb

        connection = duckdb.connect(":memory:", config={"python_enable_replacements": "false"})
        connection.execute(JOIN_TABLES)
        return cls(connection)

    def close(self) -> None:
        """Those in memory are gone with it; of a state, whoever opened it closes it."""
        self._connection.close()

    # Tables and their columns

    def add(self, rows: Mapping[str, Rows], key_sets: Mapping[int, dict[str, Any]]) -> None:
        """Rows by the name of their table, and key sets by their digest, of which those that are held stay."""
        for name, content in rows.items():
            insert_rows(self._connection, name, content)
        held = self._fetch("SELECT key_set FROM join_keys WHERE list_contains($1::BIGINT[], key_set)", [list(key_sets)])
        known = {digest for (digest,) in held}
        insert_rows(self._connection, "join_keys", [row for digest, row in key_sets.items() if digest not in known])

    def forget(self, references: Collection[str]) -> None:
        for name in OWNED:
            self._fetch(f"DELETE FROM {name} WHERE list_contains($1::VARCHAR[], table_reference)", [list(references)])

    def changed(self) -> set[str]:
        return {row[0] for row in self._fetch("SELECT table_reference FROM join_tables WHERE NOT is_related")}

    def mark_related(self, references: Collection[str]) -> None:
        """These tables alone."""
        self._fetch(
            "UPDATE join_tables SET is_related = NOT is_related "
            "WHERE is_related <> (table_reference IN (SELECT unnest($1::VARCHAR[])))",
            [list(references)],
        )

    def columns(self) -> list[tuple[Any, ...]]:
        return self._fetch("SELECT * FROM join_columns ORDER BY table_reference, position")

    def variants(self) -> tuple[list[tuple[Any, ...]], np.ndarray]:
        """The variants, each with how many numbers it has at its end, and the numbers of all of them in a row."""
        rows = self._fetch(
            "SELECT * EXCLUDE (numbers), len(numbers) FROM join_variants ORDER BY table_reference, position, place"
        )
        numbers: np.ndarray = self._connection.sql(
            "SELECT unnest(numbers) AS number FROM join_variants ORDER BY table_reference, position, place, number"
        ).fetchnumpy()["number"]
        return rows, numbers

    def holders_of_column_names(self, key_of_name: str, least: int) -> set[str]:
        """The tables with a column of whose keys at least so many are those of column names; `key_of_name` is the SQL
        of the key of `name`."""
        rows = self._fetch(
            f"WITH names AS (SELECT DISTINCT hash({key_of_name}) AS hash FROM columns), "
            "holders AS (SELECT key_set FROM (SELECT key_set, unnest(hashes) AS hash FROM join_keys) "
            f"WHERE hash IN (FROM names) GROUP BY key_set HAVING count(*) >= {least}) "
            "SELECT DISTINCT table_reference FROM join_variants WHERE form = 'whole' AND key_set IN (FROM holders)"
        )
        return {row[0] for row in rows}

    # Measurements

    def tests(self) -> list[tuple[str, list[str], str]]:
        """Key, tables and result of each."""
        return self._fetch("SELECT key, table_references, result FROM join_tests")

    def replace_tests(self, gone: Sequence[str], added: Rows) -> None:
        if gone:
            self._fetch("DELETE FROM join_tests WHERE list_contains($1, key)", [gone])
        insert_rows(self._connection, "join_tests", added)

    # Columns that were compared

    def tables_compared_with(self) -> set[str]:
        return {row[0] for row in self._fetch("SELECT DISTINCT unnest(right_tables) FROM join_lefts")}

    def last_rights(self, touching: Collection[str]) -> list[tuple[Any, ...]]:
        """Of every left column: its table and position, whether it was compared with one of these tables, and the last
        right side that was good enough."""
        return self._fetch(
            "SELECT table_reference, position, list_has_any(right_tables, $1::VARCHAR[]), least, last_table, "
            "last_position FROM join_lefts",
            [list(touching)],
        )

    def lefts(self, places: Sequence[tuple[str, int]]) -> list[tuple[Any, ...]]:
        return self._fetch(
            "SELECT * FROM join_lefts WHERE (table_reference, position) IN "
            "(SELECT (unnest($1::VARCHAR[]), unnest($2::INTEGER[])))",
            [[table for table, _ in places], [position for _, position in places]],
        )

    def candidates(self) -> list[tuple[Any, ...]]:
        return self._fetch("SELECT * FROM join_candidates")

    def replace_compared(self, places: Sequence[tuple[str, int]], lefts: Rows, candidates: Rows) -> None:
        """Replace what is kept of the left columns at these places."""
        for name in ("join_lefts", "join_candidates"):
            self._fetch(
                f"DELETE FROM {name} WHERE (table_reference, position) IN "
                "(SELECT (unnest($1::VARCHAR[]), unnest($2::INTEGER[])))",
                [[table for table, _ in places], [position for _, position in places]],
            )
        insert_rows(self._connection, "join_lefts", lefts)
        insert_rows(self._connection, "join_candidates", candidates)

    # Key sets that share keys

    def overlapping(self, right_sets: Sequence[int]) -> list[tuple[int, float]]:
        """The sets that share keys with these, each with how much of it one of them holds at most."""
        return self._fetch(
            "SELECT left_set, max(found / looked_up) FROM join_overlaps "
            "WHERE list_contains($1::BIGINT[], right_set) GROUP BY left_set",
            [right_sets],
        )

    def overlaps(self, left_sets: Iterable[int]) -> list[tuple[int, int, int, int]]:
        """Left set, right set, keys looked up, keys found."""
        return self._fetch(
            "SELECT left_set, right_set, looked_up, found FROM join_overlaps "
            "WHERE left_set IN (SELECT unnest($1::BIGINT[])) ORDER BY left_set, right_set",
            [list(left_sets)],
        )

    def forget_unused_key_sets(self) -> None:
        self._fetch("DELETE FROM join_keys WHERE key_set NOT IN (SELECT key_set FROM join_variants)")

    def equal_keys(self, looked_up: LookedUp, most: int) -> int:
        """How many pairs of equal keys there are, counted on a part; 0 where there cannot be more than `most`."""
        [(possible,)] = self._fetch("SELECT coalesce(sum(len(hashes)), 0) * count(*) FILTER (is_held) FROM join_keys")
        if possible <= most:
            return 0
        some = f"(hash >> 40) % {COUNTED_PART} = 0"
        [(counted,)] = self._fetch(
            f"WITH asked AS (SELECT hash, count(*) AS n FROM ({looked_up.asked}) WHERE {some} GROUP BY hash), "
            "held AS (SELECT hash, count(*) AS n FROM (SELECT unnest(hashes) AS hash FROM join_keys WHERE is_held) "
            f"WHERE {some} GROUP BY hash) "
            "SELECT coalesce(sum(asked.n * held.n), 0) FROM asked JOIN held ON asked.hash = held.hash"
        )
        return int(counted) * COUNTED_PART

    def forget_overlaps_of_new_sets(self, looked_up: LookedUp) -> bool:
        """Remove overlaps of sets that are new or gone. Answers whether any set is not new."""
        new = f"(SELECT key_set FROM join_keys WHERE {looked_up.is_new})"
        self._fetch(
            "DELETE FROM join_overlaps WHERE left_set NOT IN (SELECT key_set FROM join_keys) "
            f"OR right_set NOT IN (SELECT key_set FROM join_keys) OR left_set IN {new} OR right_set IN {new}"
        )
        [(old,)] = self._fetch(f"SELECT count(*) FROM join_keys WHERE NOT {looked_up.is_new}")
        return bool(old)

    def complete(self, key_set: int, looked_up: LookedUp, find: Callable[[pa.Table], pa.Table]) -> None:
        """Add to a set that is too large to be kept those of its keys that others ask for: `find` gives, of a table of
        hashes, those that it has, as a table with one column `h`."""
        asked = self._connection.sql(
            f"SELECT DISTINCT hash FROM ({looked_up.asked}) WHERE key_set <> {key_set} AND (is_new OR (SELECT "
            f"{looked_up.is_new} FROM join_keys WHERE key_set = {key_set})) "
            f"AND form <> 'date' AND hash NOT IN (SELECT unnest(hashes) FROM join_keys WHERE key_set = {key_set})"
        ).to_arrow_table()
        if not asked.num_rows:
            return
        self._connection.register("coset_join_found", find(asked))
        self._fetch(
            "UPDATE join_keys SET further = list_distinct(list_concat(further, (SELECT list(h) FROM coset_join_found)))"
            f" WHERE key_set = {key_set}"
        )
        self._connection.unregister("coset_join_found")

    def pair_new_sets(self, looked_up: LookedUp) -> None:
        """Count the keys that sets share, where one of the two is new; then none is new any more."""
        for left, right in (("is_new", "true"), ("NOT is_new", "is_new")):
            self._fetch(
                f"INSERT INTO join_overlaps WITH asked AS ({looked_up.asked}), "
                "looked_up AS (SELECT key_set, count(*) AS n FROM asked GROUP BY key_set), "
                f"held AS (SELECT key_set, form, {looked_up.is_new} AS is_new, "
                "unnest(list_concat(hashes, further)) AS hash FROM join_keys WHERE is_held), "
                # Two pieces of two codes meet too easily, and are not joined.
                "found AS (SELECT l.key_set AS left_set, r.key_set AS right_set, count(*) AS n FROM "
                f"(FROM asked WHERE {left}) l JOIN (FROM held WHERE {right}) r ON l.hash = r.hash "
                "WHERE NOT (l.form = 'piece' AND r.form = 'piece') AND (l.form = 'date') = (r.form = 'date') "
                "GROUP BY ALL) "
                "SELECT left_set, right_set, looked_up.n, found.n FROM found JOIN looked_up ON left_set = key_set"
            )
        self._fetch(f"UPDATE join_keys SET halvings = {looked_up.halvings} WHERE {looked_up.is_new}")

    def contents(self) -> dict[str, list[tuple[Any, ...]]]:
        """Everything that is kept, by table: for whoever wants to see that no value is."""
        names = [row[0] for row in self._fetch("SELECT table_name FROM duckdb_tables()")]
        return {name: self._fetch(f"FROM main.{name}") for name in names if name.startswith("join_")}

    def _fetch(self, sql: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        # All rows are fetched, also of a change: DuckDB holds a connection until a result is finished.
        return self._connection.execute(sql, list(parameters)).fetchall()


@dataclass(frozen=True)
class Profiles:
    """The soft roles of tables and columns in one coordinate: by reference, in the order of `identities`."""

    identities: tuple[str, ...]
    by_reference: dict[str, NDArray[np.float64]]


@dataclass(frozen=True)
class ReadName:
    """What a reader takes a table or column to be, and how sure it is."""

    name: str
    confidence: float


@dataclass(frozen=True)
class ProposedReference:
    left: str
    right: str
    right_table: str


def profiles(state: EvidenceState, coordinate: str) -> Profiles:
    """Empty where no roles were realised."""
    connection = state._connection
    named = connection.execute(
        "SELECT list(identity ORDER BY position) FROM prototypes WHERE coordinate = $1 AND bank = "
        "(SELECT max(bank) FROM prototypes)",
        [coordinate],
    ).fetchall()
    identities = tuple(named[0][0] or ()) if named else ()
    rows = connection.execute(
        "SELECT reference, profile FROM memberships WHERE coordinate = $1", [coordinate]
    ).fetchall()
    found = {reference: np.asarray(profile) for reference, profile in rows if len(profile) == len(identities)}
    return Profiles(identities, found)


_SURENESS = "round(least(confidence, 0.7), 1)"
"""How sure a reading is, as joins are judged by it: in tenths, so that a word more in a document changes nothing."""


def read_names(state: EvidenceState) -> dict[str, tuple[ReadName, ...]]:
    """By reference, the surest first."""
    found: dict[str, list[ReadName]] = {}
    for reference, name, confidence in state._connection.execute(
        f"SELECT reference, name, max({_SURENESS}) AS sure FROM readings WHERE name <> '' GROUP BY reference, name "
        "ORDER BY reference, sure DESC, name"
    ).fetchall():
        found.setdefault(reference, []).append(ReadName(name, confidence))
    return {reference: tuple(names) for reference, names in found.items()}


def written_joins(state: EvidenceState) -> frozenset[frozenset[str]]:
    """Pairs of columns that SQL of people holds equal."""
    rows = state._connection.execute(
        "SELECT columns, others FROM sql_uses WHERE kind = 'join' AND len(columns) = 1 AND len(others) = 1"
    ).fetchall()
    return frozenset(frozenset((columns[0], others[0])) for columns, others in rows)


def store_proposed(state: EvidenceState, relations: Iterable[Relation], kept_of: Sequence[str] = ()) -> None:
    """Replace the joins that were proposed, except those of the tables `kept_of`, which could not be looked at."""
    columns = ("id", "left_table", "left_columns", "right_columns", "right_table", "cardinality", "confidence")
    rows = {row["id"]: {name: row[name] for name in columns} for row in map(relation_row, relations)}
    with state.transaction():
        state._connection.execute(
            "DELETE FROM proposed_joins WHERE list_contains($1::VARCHAR[], id) "
            "OR NOT list_has_any($2::VARCHAR[], [left_table, right_table])",
            [list(rows), list(kept_of)],
        )
        insert_rows(state._connection, "proposed_joins", list(rows.values()))


def proposed_references(state: EvidenceState) -> list[ProposedReference]:
    """Columns that refer to others by what was proposed or declared, many to one, the surest first."""
    rows = state._connection.execute(
        "SELECT left_columns[1], right_columns[1], right_table FROM proposed_joins WHERE len(left_columns) = 1 "
        "AND len(right_columns) = 1 AND cardinality IN ('n:1', '1:1') ORDER BY confidence DESC, id"
    ).fetchall()
    return [ProposedReference(*row) for row in rows]


def background_digest(state: EvidenceState) -> str:
    """Changes with whatever joins are judged by: roles, readings, written SQL, and what was proposed."""
    parts = [
        state._connection.execute(f"SELECT count(*), sum(hash({what})::HUGEINT) FROM {table}").fetchall()
        for table, what in (
            ("memberships", "reference, coordinate, identity, round(membership, 3)"),
            ("readings", f"reference, name, {_SURENESS}"),
            ("sql_uses", "kind, columns, others"),
            ("proposed_joins", "id, confidence"),
        )
    ]
    return repr(parts)
