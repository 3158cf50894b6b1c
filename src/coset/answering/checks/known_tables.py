"""The tables of a statement as the evidence state knows them: reference, columns, rows.

In: an open state. Out: for the name that SQL gives a table (`source.table`, `source.schema.table`, a family's member, a
family read as one) what is known of it. Names ignore case, as SQL's do. Reads the state only.
"""

from __future__ import annotations

from dataclasses import dataclass

from coset.environment.families import naming_column, relation_name
from coset.state import EvidenceState


@dataclass(frozen=True)
class KnownColumn:
    reference: str
    name: str
    type: str


@dataclass(frozen=True)
class TableOfState:
    """A table of the state, or the family that a table is a member of."""

    reference: str
    source: str
    schema: str | None
    name: str
    """The table's own name, also where `reference` is its family's."""
    rows: int | None
    columns: dict[str, KnownColumn]
    """By lower-case name."""


class TablesOfState:
    """Finds tables by their names in SQL; reads what a statement names and no more."""

    def __init__(self, state: EvidenceState) -> None:
        self._state = state
        self._columns: dict[str, dict[str, KnownColumn]] = {}

    def find(self, parts: tuple[str, ...]) -> TableOfState | None:
        """The table that these parts name; None when the state has none, or several."""
        if len(parts) not in (2, 3):
            return None
        source, name = parts[0].lower(), parts[-1].lower()
        schema = parts[1].lower() if len(parts) == 3 else None
        plain = self._state.rows(
            "SELECT reference, source, schema_name, name, rows FROM tables "
            "WHERE lower(source) = $1 AND lower(name) = $2",
            [source, name],
        )
        members = self._state.rows(
            "SELECT f.reference, f.source, t.schema_name, list_filter(f.members, lambda m: lower(m) = $2)[1] AS name, "
            "NULL AS rows FROM families f JOIN tables t USING (reference) WHERE lower(f.source) = $1 "
            "AND list_contains(list_transform(f.members, lambda m: lower(m)), $2)",
            [source, name],
        )
        families = self._state.rows(
            "SELECT f.reference, f.source, f.pattern, f.columns, t.schema_name, t.rows FROM families f JOIN tables t "
            "USING (reference) WHERE lower(f.source) = $1",
            [source],
        )
        whole = [
            {**row, "name": relation_name(row["pattern"])}
            for row in families
            if relation_name(row["pattern"]).lower() == name
        ]
        fitting = [
            row
            for row in (*plain, *members, *whole)
            if schema is None
            or (row["schema_name"] or "main").lower() == schema
        ]  # fmt: skip
        if len(fitting) != 1:
            return None
        row = fitting[0]
        columns = self._columns_of(row["reference"])
        if "pattern" in row:
            told = naming_column(row["pattern"], row["columns"] or ())
            # A relation by the names of tables is kept with the family itself in the place of a column.
            columns = {told: KnownColumn(row["reference"], told, "VARCHAR"), **columns}
        return TableOfState(row["reference"], row["source"], row["schema_name"], row["name"], row["rows"], columns)

    def _columns_of(self, reference: str) -> dict[str, KnownColumn]:
        if reference not in self._columns:
            rows = self._state.rows(
                "SELECT reference, name, type FROM columns WHERE table_reference = $1 ORDER BY position", [reference]
            )
            self._columns[reference] = {
                row["name"].lower(): KnownColumn(row["reference"], row["name"], row["type"]) for row in rows
            }
        return self._columns[reference]
