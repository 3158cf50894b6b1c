"""The lexicon of well-known systems: what their tables and columns are, in our own words.

In: `data/systems/*.tsv`, a file a system, and the tables of a source. Out: readings of the tables that belong to a
system which the source was recognised as. One chance name proves nothing: a system is recognised by tables that stand
there together with their columns. `python -m coset.readings.systems FILE` checks a file.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from coset.errors import UserError
from coset.readings.observed import ObservedColumn, ObservedTable
from coset.readings.reading import Reading
from coset.readings.vocabulary import DATA, vocabulary
from coset.readings.words import words_of

FOLDER = DATA / "systems"
LEAST_TABLES, LEAST_EVIDENCE, LEAST_COLUMNS = 3, 1.6, 0.2
TABLE, OF_FITTING, COLUMN, OF_SYSTEM = 0.66, 0.2, 0.86, 0.7
"""How sure readings are: a table with the share of its columns that fit, its columns, columns elsewhere by the items of
the system. Less sure than what a model says that saw this company's own tables, values and notes."""
PLAIN_NAME, PLAIN_COLUMN = 0.35, 0.2
"""How much tables and columns prove whose names are plain words that any system may use."""
_TRIVIAL = frozenset({
    "id", "name", "type", "status", "code", "date", "description", "value", "number", "title", "email", "phone",
    "key",
})  # fmt: skip


@dataclass(frozen=True)
class Entry:
    """What a file says of a table, a column or an item."""

    name: str
    meaning: str = ""
    synonyms: tuple[str, ...] = ()


@dataclass(frozen=True)
class SystemTable:
    entry: Entry
    columns: dict[str, Entry] = field(default_factory=dict)


@dataclass(frozen=True)
class System:
    """One system. Names are in small letters; items are columns that mean the same in every table."""

    name: str
    kind: str
    prefix: int
    items: dict[str, Entry]
    tables: dict[str, SystemTable]
    family: str = ""
    """Systems of one family share the names of their data items: an industry's tables and those of the ERP below."""
    ending: str = ""
    """With which tables may end where they are kept: `contact` in `ContactBase`."""

    def column(self, table: SystemTable | None, name: str) -> Entry | None:
        """What a column is, in a table of the system or (None) in any."""
        written = name.lower()
        for form in (written, written[self.prefix :]) if self.prefix and len(written) > self.prefix else (written,):
            if table is not None and form in table.columns:
                return table.columns[form]
            if form in self.items:
                return self.items[form]
        return None

    def table(self, name: str) -> tuple[str, SystemTable] | None:
        """The table of the system that a name is, or is a copy of: `F0101_BAK2019` is F0101."""
        written = name.lower()
        while written:
            for form in (written, written.removesuffix(self.ending)):
                if form in self.tables:
                    return form, self.tables[form]
            shorter = re.sub(r"[_.\-$]+[^_.\-$]*$", "", written)
            if shorter == written:
                return None
            written = shorter
        return None


@dataclass(frozen=True)
class Recognised:
    """A system that stands in a source, with the tables that belong to it."""

    system: System
    evidence: float
    matches: Mapping[str, tuple[str, SystemTable, float]]
    """By table reference: the system's name of it, what is known of it, and the share of its columns that fit."""


def recognise(tables: Sequence[ObservedTable]) -> list[Recognised]:
    """The systems that the tables of one source belong to, the surest first."""
    found = []
    for system in systems():
        matches: dict[str, tuple[str, SystemTable, float]] = {}
        evidence: dict[str, float] = {}
        for table in tables:
            hit = system.table(table.name)
            if hit is None:
                continue
            share = _fitting(system, hit[1], table.columns)
            if share >= LEAST_COLUMNS:
                matches[table.reference] = (*hit, share)
                weight = PLAIN_NAME if _plain(hit[0]) else 1.0
                evidence[hit[0]] = max(evidence.get(hit[0], 0.0), weight * share)
        total = sum(evidence.values())
        if len(evidence) >= LEAST_TABLES and total >= LEAST_EVIDENCE:
            found.append(Recognised(system, total, matches))
    return sorted(found, key=lambda each: (-each.evidence, each.system.name))


def system_readings(tables: Sequence[ObservedTable]) -> Iterator[Reading]:
    """Readings of all tables of one source that belong to a recognised system, and of columns by its items."""
    recognised = recognise(tables)
    for table in tables:
        best = max(
            (each for each in recognised if table.reference in each.matches),
            key=lambda each: (each.matches[table.reference][2], each.evidence),
            default=None,
        )
        known: SystemTable | None = None
        if best is not None:
            name, known, share = best.matches[table.reference]
            yield _reading(table.reference, table.reference, known.entry, TABLE + OF_FITTING * share, best.system, name)
        elif recognised and recognised[0].system.items:
            best = recognised[0]
        if best is None:
            continue
        relatives = [best.system, *_relatives(best.system)]
        belongs = known is not None or any(_fitting(each, None, table.columns) >= 0.5 for each in relatives)
        for column in table.columns:
            for system in relatives:
                own = known if system is best.system else None
                if (entry := system.column(own, column.name)) and (belongs or _telling(column.name)):
                    sure = COLUMN if known is not None and system is best.system else OF_SYSTEM
                    yield _reading(column.reference, table.reference, entry, sure, system, column.name)
                    break


def _relatives(system: System) -> list[System]:
    """The systems of which the data items have the same names as those of a system: those of its family."""
    return [each for each in systems() if system.family and each.family == system.family and each is not system]


def _telling(name: str) -> bool:
    """Whether a name is so peculiar that a table of its own in a recognised source means the same by it: no word, and
    no short form that anybody may use."""
    known, lower = vocabulary(), name.lower()
    return len(lower) >= 5 and lower.isalpha() and not known.is_word(lower) and lower not in known.short_forms


def _reading(reference: str, table: str, entry: Entry, confidence: float, system: System, name: str) -> Reading:
    return Reading(
        reference, table, entry.name, entry.meaning, entry.synonyms, "lexicon", round(confidence, 3),
        f"{system.name} {name.upper()}",
    )  # fmt: skip


def _fitting(system: System, table: SystemTable | None, columns: Sequence[ObservedColumn]) -> float:
    """The share of the columns that the system knows; plain names count little."""
    total = hits = 0.0
    for column in columns:
        weight = PLAIN_COLUMN if column.name.lower().strip("_") in _TRIVIAL else 1.0
        total += weight
        hits += weight * (system.column(table, column.name) is not None)
    return hits / total if total else 0.0


@cache
def _plain(name: str) -> bool:
    return all(vocabulary().is_word(word) for word in words_of(name))


@cache
def systems() -> tuple[System, ...]:
    """All systems that ship."""
    return tuple(load_system(path) for path in sorted(FOLDER.glob("*.tsv")))


def load_system(path: Path) -> System:
    """One file; `UserError` names the lines that are wrong."""
    reader = _FileReader(path)
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if line.strip() and not line.startswith("#"):
            reader.read(number, [part.strip() for part in line.split("\t")])
    return reader.finish()


class _FileReader:
    def __init__(self, path: Path) -> None:
        self.path, self.problems = path, list[str]()
        self.head: tuple[str, str, dict[str, str]] | None = None
        self.items: dict[str, Entry] = {}
        self.tables: dict[str, SystemTable] = {}
        self.columns: dict[str, Entry] | None = None

    def read(self, number: int, parts: list[str]) -> None:
        kind, fields = parts[0], parts[1:]
        if kind == "system" and self.head is None and fields:
            options = dict(part.split("=", 1) for part in " ".join(fields[2:]).split() if "=" in part)
            kind_of = fields[1] if len(fields) > 1 else ""
            self.head = (fields[0], kind_of, options)
            return
        if kind not in ("item", "table", "column") or self.head is None or not 2 <= len(fields) <= 4 or not fields[1]:
            self.problems.append(
                f"line {number}: not `system`, `item`, `table` or `column` with a name and a plain name"
            )
            return
        synonyms = tuple(filter(None, (part.strip() for part in fields[3].split(";")))) if len(fields) > 3 else ()
        entry = Entry(fields[1], fields[2] if len(fields) > 2 else "", synonyms)
        names = [name.strip().lower() for name in fields[0].split("|")]
        if kind == "table":
            self.columns = {}
            self.tables.update({name: SystemTable(entry, self.columns) for name in names})
        elif kind == "item":
            self.items.update({name: entry for name in names})
        elif self.columns is None:
            self.problems.append(f"line {number}: a column before any table")
        else:
            self.columns.update({name: entry for name in names})

    def finish(self) -> System:
        if self.head is None:
            self.problems.insert(0, "line 1: the first line is not `system`")
        if self.problems or self.head is None:
            raise UserError(f"{self.path.name}: " + "; ".join(self.problems[:20]))
        name, kind, options = self.head
        prefix, family, ending = (options.get(each, "") for each in ("prefix", "family", "ending"))
        return System(name, kind, int(prefix or 0), self.items, self.tables, family, ending.lower())


def main(arguments: Sequence[str]) -> int:
    for name in arguments:
        try:
            system = load_system(Path(name))
        except UserError as error:
            print(error)
            return 1
        columns = sum(len(columns) for columns in {id(t.columns): t.columns for t in system.tables.values()}.values())
        print(f"{system.name}: {len(system.tables)} tables, {columns} columns of tables, {len(system.items)} items")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
