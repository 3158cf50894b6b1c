"""Do the records name what the view has, and nothing else?

In: records and the view that the arbiter saw. Out: the records with every reference in its own form, without those that
name anything outside the view, and what is wrong with each of those: nothing invented gets any further.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from coset.answering.records import KINDS, Record, Records
from coset.routing.view import EvidenceView


@dataclass(frozen=True)
class Names:
    """Every way in which the things of a view may be written, and the one reference each means."""

    references: dict[str, str]
    more: Mapping[str, str]

    @classmethod
    def of(cls, view: EvidenceView, more: Mapping[str, str]) -> Names:
        names = {reference.lower(): reference for reference in view.references}
        for table in view.tables:
            names.setdefault(_bare(table.sql_name), table.reference)
            if table.family:  # The column that tells its members apart stands for the family itself.
                for told in ("table_name", "schema_name"):
                    names.setdefault(_bare(f"{table.sql_name}.{told}"), table.reference)
                    names.setdefault(_bare(f"{table.reference}.{told}"), table.reference)
            for column in table.columns:
                inner = column.reference.removeprefix(table.reference).lstrip(".")
                for written in (column.expression, inner, inner.rsplit("#", 1)[-1]):
                    names.setdefault(_bare(f"{table.sql_name}.{written}"), column.reference)
        short = [(_bare(name).rsplit(".", 1)[-1], reference) for name, reference in names.items()]
        counted = Counter(name for name, _ in set(short))
        for name, reference in short:
            if counted[name] == 1:  # A name that only one thing of the view has needs no table before it.
                names.setdefault(name, reference)
        return cls(names, more)

    def find(self, written: str) -> str | None:
        """The reference that is meant, by its own name or by its name in SQL."""
        bare = _bare(written)
        return (
            self.references.get(written.strip().lower())
            or self.references.get(bare)
            or self.references.get(bare.strip("[]"))
            or self.more.get(bare)
            or self.more.get(bare.rsplit(".", 1)[-1])
        )

    def nearest(self, written: str) -> str:
        near = difflib.get_close_matches(written.lower(), list(self.references), n=1, cutoff=0.5)
        return f"; nearest: {self.references[near[0]]}" if near else ""


def resolved(
    records: Records, view: EvidenceView, more: Mapping[str, str] | None = None
) -> tuple[Records, tuple[str, ...]]:
    """The records with every reference in its own form, without those that name anything outside the view; and what
    was wrong with each of those. `more` are other names of things that the view has."""
    names = Names.of(view, more or {})
    problems: list[str] = []
    changed: dict[str, Any] = {}
    for kind in KINDS:
        kept = []
        for number, record in enumerate(getattr(records, kind)):
            wrong = [
                f'{kind} {number + 1} names "{written}", which is not in the evidence{names.nearest(written)}'
                for written in record.cited
                if names.find(written) is None
            ]
            problems += wrong
            if not wrong:
                kept.append(_with_references(record, names))
        changed[kind] = kept
    return records.model_copy(update=changed), tuple(problems)


def _with_references(record: Record, names: Names) -> Record:
    update: dict[str, Any] = {
        key: names.find(getattr(record, key)) or "" for key in ("reference", "rejected") if getattr(record, key, "")
    }
    if listed := getattr(record, "references", []):
        update["references"] = [names.find(written) or written for written in listed]
    return record.model_copy(update=update)


def _bare(written: str) -> str:
    return written.replace('"', "").strip().lower()
