"""The families of a session's sources: which name means one, and whether a statement needs more than a few of it.

In: a table's name, or the references of a statement. Out: the family it names; the references, those of a family that
is read in small part marked to be fetched. Families are found when a name is no table's, and anew when a source was
listed anew.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from coset.environment.catalogue import Catalogue, SourceListing
from coset.environment.source import Source, Table
from coset.session.family_tables import FamilyTables
from coset.session.pushdown import Prepared, Reference
from coset.session.snapshots import Snapshots


class Families:
    """Those of one session."""

    def __init__(self, catalogue: Catalogue, snapshots: Snapshots) -> None:
        self._catalogue = catalogue
        self._snapshots = snapshots
        self._held: dict[str, tuple[SourceListing, FamilyTables]] = {}

    def find(self, parts: tuple[str, ...]) -> tuple[Source, Table] | None:
        """The family that `source.name` names, with the source that gathers it."""
        families = self._of(parts[0])
        table = families.find(parts) if families is not None else None
        return (families, table) if families is not None and table is not None else None

    def with_few_members(
        self, references: list[Reference], prepare: Callable[[list[Reference]], Prepared]
    ) -> list[Reference]:
        """Of a family without a copy, of which the statement keeps few tables, only those are to be fetched."""
        whole = [each for each in references if not each.stays and self._has_no_copy(each)]
        if not whole:
            return references
        fetched = [dataclasses.replace(each, stays=each.stays or each in whole) for each in references]
        few = {
            fetch.relation
            for fetch in prepare(fetched).fetches
            if isinstance(fetch.source, FamilyTables) and fetch.source.keeps_few(fetch.table, fetch.scan)
        }
        return [dataclasses.replace(each, stays=each.stays or each.relation in few) for each in references]

    def _has_no_copy(self, reference: Reference) -> bool:
        source, table = reference.source, reference.table
        return isinstance(source, FamilyTables) and not self._snapshots.current(
            source, table, source.change_token(table)
        )

    def _of(self, name: str) -> FamilyTables | None:
        listing = next((each for each in self._catalogue.listings.values() if each.name.lower() == name.lower()), None)
        if listing is None or listing.name not in self._catalogue.sources:
            return None
        held = self._held.get(listing.name)
        if held is None or held[0] is not listing:
            held = listing, FamilyTables(self._catalogue.sources[listing.name], listing.tables)
            self._held[listing.name] = held
        return held[1]
