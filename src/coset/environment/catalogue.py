"""All that an environment holds: every source's tables, listed side by side; a source that is down is listed with why.

In: an `Environment`. Out: a `Catalogue` in which a table is found by the name SQL gives it; only the sources that are
asked for are opened. Listings of files and dumps
are kept in the state folder and read again only when the files changed. Reads no rows.
"""

from __future__ import annotations

import difflib
import hashlib
import json
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from coset.environment.configuration import Environment
from coset.environment.leftovers import keep_part, part_file
from coset.environment.source import EMPTY, HIDDEN, NO_TABLE, Column, ForeignKey, Source, SourceSettings, Table
from coset.environment.sources import open_source
from coset.errors import CosetError, UserError

LISTING_VERSION = 3


@dataclass(frozen=True)
class SourceListing:
    """What one source holds, or why it could not be listed. `skipped` names files that were passed over, with why."""

    name: str
    kind: str
    tables: tuple[Table, ...] = ()
    problem: str | None = None
    description: str | None = None
    schema_only: bool = False
    skipped: tuple[tuple[str, str], ...] = ()
    fingerprint: str | None = None

    @property
    def damaged(self) -> tuple[tuple[str, str], ...]:
        """Those of the files passed over that should have held tables."""
        return tuple((file, reason) for file, reason in self.skipped if reason not in {HIDDEN, NO_TABLE, EMPTY})


class Catalogue:
    """The listings of an environment's sources, each made when it is first asked for, and the open sources behind them.

    `listings` holds those made so far, in the order of `coset.yaml`; `list_sources` makes more, side by side.
    """

    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        self.listings: dict[str, SourceListing] = {}
        self.sources: dict[str, Source] = {}
        self._by_name: dict[str, dict[str, Table]] = {}

    def list_sources(self, names: Iterable[str] | None = None) -> Catalogue:
        """List these sources (all, when none is named) that are not listed yet. One that cannot be opened is listed
        with its problem and stops no other. Names that no source has are passed over."""
        wanted = None if names is None else {name.lower() for name in names}
        missing = [
            name
            for name in self.environment.names
            if name not in self.listings and (wanted is None or name.lower() in wanted)
        ]
        if missing:
            with ThreadPoolExecutor(max_workers=min(8, len(missing))) as threads:
                for listing, source in threads.map(lambda name: list_source(self.environment, name), missing):
                    self.listings[listing.name] = listing
                    if source is not None:
                        self.sources[listing.name] = source
            self.listings = {name: self.listings[name] for name in self.environment.names if name in self.listings}
        return self

    def refresh(self, names: Iterable[str]) -> None:
        """List these sources, anew where one was unreachable, or its files changed since it was listed."""
        wanted = {name.lower() for name in names}
        for name, listing in list(self.listings.items()):
            if name.lower() in wanted and (listing.problem or self._has_changed(listing)):
                self.forget(name)
        self.list_sources(wanted)

    def forget(self, name: str) -> None:
        """Close a source; it is listed anew when it is next asked for."""
        if source := self.sources.pop(name, None):
            source.close()
        self.listings.pop(name, None)
        self._by_name.pop(name, None)

    def _has_changed(self, listing: SourceListing) -> bool:
        if listing.fingerprint is None:
            return False
        try:
            return self.sources[listing.name].fingerprint() != listing.fingerprint
        except CosetError:
            return True

    def find(self, parts: tuple[str, ...]) -> tuple[Source, Table]:
        """The table that `source.table` or `source.schema.table` names, ignoring case, with its source.

        Raises `UserError` with the nearest names when there is none, and the source's own problem when it is down.
        """
        found = self.look_up(parts)
        if found is None:
            written = ".".join(parts)
            listing = self._listing(parts[0], written, parts)
            raise UserError(self._no_such_table(listing, written, parts, self._names_of(listing)))
        return found

    def look_up(self, parts: tuple[str, ...]) -> tuple[Source, Table] | None:
        """The same; None where the source has no table of that name."""
        self.list_sources(parts[:1])
        listing = self._listing(parts[0], ".".join(parts), parts)
        table = self._names_of(listing).get(".".join(parts[1:]).lower())
        return None if table is None else (self.sources[listing.name], table)

    def abandon(self, name: str) -> None:
        """Forget a source whose answer is not waited for any more: whoever asks next opens it anew."""
        if source := self.sources.pop(name, None):
            source.interrupt()  # Not closed: it is in use, and closes what it opened when it is done.
        self.listings.pop(name, None)
        self._by_name.pop(name, None)

    def close(self) -> None:
        for source in self.sources.values():
            source.close()

    def _listing(self, name: str, written: str, parts: tuple[str, ...]) -> SourceListing:
        listing = next((item for item in self.listings.values() if item.name.lower() == name.lower()), None)
        if listing is None or len(parts) < 2:
            holders = [
                f"{item.name}.{table.name}"
                for item in self.list_sources().listings.values()
                for table in item.tables
                if table.name.lower() == parts[-1].lower()
            ]
            hint = f"; did you mean {' or '.join(holders[:3])}?" if holders else ""
            known = ", ".join(self.listings)
            raise UserError(
                f"there is no table '{written}': tables are named source.table, the sources are {known}{hint}"
            )
        if listing.problem:
            raise CosetError(f"'{written}' cannot be read: source '{listing.name}' is not reachable: {listing.problem}")
        return listing

    def _names_of(self, listing: SourceListing) -> dict[str, Table]:
        if listing.name not in self._by_name:
            names: dict[str, Table] = {}
            counts: dict[str, int] = {}
            for table in listing.tables:
                names[table.qualified_name.lower()] = table
                counts[table.name.lower()] = counts.get(table.name.lower(), 0) + 1
            for table in listing.tables:
                # The short name stands for a table only while no other schema has one of that name.
                if counts[table.name.lower()] == 1:
                    names.setdefault(table.name.lower(), table)
                if table.schema is None:
                    names.setdefault(f"main.{table.name.lower()}", table)
            self._by_name[listing.name] = names
        return self._by_name[listing.name]

    @staticmethod
    def _no_such_table(listing: SourceListing, written: str, parts: tuple[str, ...], names: dict[str, Table]) -> str:
        same = [table for table in listing.tables if table.name.lower() == parts[-1].lower()]
        if same:
            near = [f"{listing.name}.{table.qualified_name}" for table in same]
        else:
            close = difflib.get_close_matches(parts[-1].lower(), list(names), n=3, cutoff=0.5)
            near = [f"{listing.name}.{names[name].qualified_name}" for name in close]
        hint = f"; did you mean {' or '.join(dict.fromkeys(near))}?" if near else ""
        return f"there is no table '{written}'{hint}"


def list_source(environment: Environment, name: str) -> tuple[SourceListing, Source | None]:
    """One source's listing and, when it could be opened, the source. Never raises for a source's own trouble."""
    entry = environment.sources[name]
    kind = entry.kind or "?"
    settings: SourceSettings | None = None
    source: Source | None = None
    try:
        settings = environment.settings(name)
        kind = settings.kind
        source = open_source(settings)
        fingerprint = source.fingerprint()
        tables, skipped = _listed_tables(source, fingerprint, environment.state_folder / "listings" / f"{name}.json")
        tables = [table for table in tables if is_included(table, settings)]
        listing = SourceListing(
            name, kind, tuple(tables), None, settings.description, settings.schema_only, tuple(skipped), fingerprint
        )
        return listing, source
    except Exception as error:
        if source is not None:
            source.close()
        reason = _reason(error)
        reason = settings.redact(reason) if settings else reason
        return SourceListing(name, kind, problem=reason, schema_only=entry.schema_only), None


def is_included(table: Table, settings: SourceSettings) -> bool:
    """Whether the user's patterns let a table in: shell patterns over `table` and `schema.table`, ignoring case."""

    def matches(patterns: tuple[str, ...]) -> bool:
        names = {table.name.lower(), table.qualified_name.lower(), table.native_name.lower()}
        return any(fnmatchcase(name, pattern.lower()) for pattern in patterns for name in names)

    return (not settings.include or matches(settings.include)) and not matches(settings.exclude)


def _reason(error: Exception) -> str:
    reason: str = getattr(error, "reason", None) or str(error) or type(error).__name__
    if not isinstance(error, CosetError):
        reason = f"{type(error).__name__}: {reason}"
    return " ".join(reason.split())


def _listed_tables(source: Source, fingerprint: str | None, cache: Path) -> tuple[list[Table], list[tuple[str, str]]]:
    """The source's own listing, from the cache while its fingerprint holds."""
    settings = source.settings
    key = None
    if fingerprint is not None:
        # Digests, because a location may have secrets in it.
        text = json.dumps([LISTING_VERSION, settings.kind, settings.location, str(settings.limits), settings.options])
        same = hashlib.sha256(text.encode()).hexdigest()
        key = hashlib.sha256(f"{same} {fingerprint}".encode()).hexdigest()
        try:
            kept = json.loads(cache.read_text(encoding="utf-8"))
            tables = [_table_from(item) for item in kept["tables"]] if kept["same"] == same else []
            if kept["key"] == key:
                return tables, [tuple(item) for item in kept["skipped"]]
            tokens = kept["tokens"]
            source.remember((table, tokens[table.native_name]) for table in tables if table.native_name in tokens)
        except (OSError, ValueError, KeyError, TypeError):
            pass  # No cache, or one of another version: list again.
    tables = source.tables()
    skipped = [(str(path), str(why)) for path, why in getattr(source, "skipped", [])]
    if key is not None and not settings.schema_only:
        content = {
            "key": key, "same": same, "tables": tables, "tokens": source.tokens_listed(), "skipped": skipped,
        }  # fmt: skip
        try:
            cache.parent.mkdir(parents=True, exist_ok=True)
            with part_file(cache) as part:
                part.write_text(json.dumps(content, default=vars), encoding="utf-8")
                keep_part(part, cache)
        except OSError:
            pass  # A state folder that cannot be written only costs time.
    return tables, skipped


def _table_from(item: dict[str, Any]) -> Table:
    item = dict(item)
    item["columns"] = tuple(Column(**column) for column in item["columns"])
    item["primary_key"] = tuple(item["primary_key"])
    item["foreign_keys"] = tuple(
        ForeignKey(
            tuple(key["columns"]), key["references_schema"], key["references_table"], tuple(key["references_columns"])
        )
        for key in item["foreign_keys"]
    )
    return Table(**item)
