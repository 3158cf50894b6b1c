"""The families of a session's sources: which name means one, and whether a statement needs more than a few of it.

In: a table's name, or the references of a statement. Out: the family it names; the references, those of a family that
is read in small part marked to be fetched. Families are found when a name is no table's, and anew when a source was
listed anew.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection

from coset.environment.catalogue import Catalogue, SourceListing
from coset.environment.source import Source, Table
from coset.session.family_tables import FamilyTables
from coset.session.pushdown import Prepared, Reference


class Families:
    """Those of one session."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._held: dict[str, tuple[SourceListing, FamilyTables]] = {}

    def find(self, parts: tuple[str, ...]) -> tuple[Source, Table] | None:
        """The family that `source.name` names, with the source that gathers it."""
        families = self._of(parts[0])
        table = families.find(parts) if families is not None else None
        return (families, table) if families is not None and table is not None else None

    def _of(self, name: str) -> FamilyTables | None:
        listing = next((each for each in self._catalogue.listings.values() if each.name.lower() == name.lower()), None)
        if listing is None or listing.name not in self._catalogue.sources:
            return None
        held = self._held.get(listing.name)
        if held is None or held[0] is not listing:
            held = listing, FamilyTables(self._catalogue.sources[listing.name], listing.tables)
            self._held[listing.name] = held
        return held[1]


def with_few_members(
    references: list[Reference],
    lacking: Collection[tuple[str, str, str]],
    prepare: Callable[[list[Reference]], Prepared],
) -> list[Reference]:
    """Of a family that lacks a copy, of which the statement keeps few tables, only those are to be fetched."""
    whole = [each for each in references if isinstance(each.source, FamilyTables) and each.relation in lacking]
    if not whole:
        return references
    fetched = [dataclasses.replace(each, stays=each.stays or each in whole) for each in references]
    few = {
        fetch.relation
        for fetch in prepare(fetched).fetches
        if isinstance(fetch.source, FamilyTables) and fetch.source.keeps_few(fetch.table, fetch.scan)
    }
    return [dataclasses.replace(each, stays=each.stays or each.relation in few) for each in references]
