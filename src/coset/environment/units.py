"""What comprehension looks at as one: a table, or a family of tables of one shape.

In: the listing of a source. Out: its units, and for each the token that tells whether its rows may have changed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from coset.environment.catalogue import SourceListing
from coset.environment.families import Family, find_families
from coset.environment.source import Source, Table


@dataclass(frozen=True)
class Unit:
    """A table, or a family of tables of one shape that are looked at as one."""

    table: Table
    """The table itself; of a family its name pattern and the columns that all members have."""
    members: tuple[Table, ...] = ()

    @property
    def rows(self) -> int:
        return sum(member.rows or 0 for member in self.members) if self.members else self.table.rows or 0


def units_of(listing: SourceListing) -> list[Unit]:
    """The tables of a source, those of one shape taken together."""
    families = find_families(listing.tables)
    by_place = {(table.schema, table.name): table for table in listing.tables}
    taken = {(member.schema, member.name) for family in families for member in family.members}
    units = [Unit(table) for table in listing.tables if (table.schema, table.name) not in taken]
    return units + [_family_unit(family, by_place) for family in families]


def _family_unit(family: Family, by_place: dict[tuple[str | None, str], Table]) -> Unit:
    members = tuple(by_place[member.schema, member.name] for member in family.members)
    shared = {name for name, _ in family.columns}
    columns = tuple(column for column in members[0].columns if column.name in shared)
    schemas = {member.schema for member in members}
    table = replace(
        members[0], name=family.pattern, native_name=family.pattern, columns=columns,
        schema=members[0].schema if len(schemas) == 1 else None, primary_key=(), foreign_keys=(), comment=None,
    )  # fmt: skip
    return Unit(table, members)


def token_of(source: Source, unit: Unit) -> str | None:
    """What tells whether the rows of a unit may have changed; None when nothing does."""
    if unit.members:
        return union_token([source.change_token(member) for member in unit.members])
    return source.change_token(unit.table)


def union_token(tokens: Sequence[str | None]) -> str | None:
    """One token for several tables; unknown when one of them is."""
    if any(token is None for token in tokens):
        return None
    return hashlib.sha256("\n".join(str(token) for token in tokens).encode()).hexdigest()
