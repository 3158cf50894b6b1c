"""The tables of a statement as the evidence state knows them: reference, columns, rows.

In: an open state. Out: for the name that SQL gives a table (`source.table`, `source.schema.table`, a family's member, a
family read as one) what is known of it. Names ignore case, as SQL's do. Reads the state only.
"""

from __future__ import annotations

from dataclasses import dataclass

from coset.environment.families import naming_column
from coset.state import EvidenceState
from coset.state.read_model import ReadModel
from coset.state.tables import CalledTable, ColumnRow, TableRow, tables_called


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
        found = tables_called(self._state, source, name)
        families = [each for each in ReadModel(self._state).families.values() if each.source.lower() == source]
        whole = {each.reference: each for each in families if each.relation.lower() == name}
        for table in ReadModel(self._state).of_tables(TableRow, whole):
            family = whole[table.reference]
            found.append(CalledTable(family.reference, family.source, table.schema_name, family.relation, table.rows))
        fitting = [row for row in found if schema is None or (row.schema_name or "main").lower() == schema]
        if len(fitting) != 1:
            return None
        row = fitting[0]
        columns = self._columns_of(row.reference)
        if row.reference in whole and row.name == whole[row.reference].relation:
            told = naming_column(whole[row.reference].pattern, whole[row.reference].columns)
            # A relation by the names of tables is kept with the family itself in the place of a column.
            columns = {told: KnownColumn(row.reference, told, "VARCHAR"), **columns}
        return TableOfState(row.reference, row.source, row.schema_name, row.name, row.rows, columns)

    def _columns_of(self, reference: str) -> dict[str, KnownColumn]:
        if reference not in self._columns:
            rows = ReadModel(self._state).of_tables(ColumnRow, [reference])
            self._columns[reference] = {
                row.name.lower(): KnownColumn(row.reference, row.name, row.type) for row in rows
            }
        return self._columns[reference]
