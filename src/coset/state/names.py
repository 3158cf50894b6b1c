"""Names of things in a state: what a person or a model wrote, as the one reference that is meant.

In: every reference of a state, and a name as it may be written: a reference (`sales/public/orders.cust_no`), a name as
SQL has it (`sales.public.orders.cust_no`, `sales.orders`), either without its beginning, or without its schema, where
that is unique; in any case, quoted or not. Out: the reference, or `UserError` with the nearest names.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from coset.environment.families import relation_name
from coset.errors import UserError

if TYPE_CHECKING:
    from coset.state.evidence_state import EvidenceState

MOST_SHOWN = 4
NEAREST, LEAST_LIKENESS = 3, 55.0
_PART = re.compile(r'"((?:[^"]|"")*)"|([^"/.#\[\]]+)|(\[\])|([/.#\[\]])')

Parts = tuple[str, ...]


class Names:
    """The references of a state, found by what is written."""

    def __init__(
        self,
        references: Iterable[str],
        *,
        schemas: Mapping[str, str | None] | None = None,
        members: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        """`schemas`: of tables that have one, the schema, which may be left out. `members`: of families, the names of
        their tables, each of which means the family."""
        self.references = list(references)
        self._whole: dict[str, str] = {}
        self._endings: dict[Parts, list[str]] = defaultdict(list)
        self._short: list[Parts] = []
        schemas = schemas or {}
        for reference in self.references:
            self._whole.setdefault(reference.lower(), reference)
            ways = _ways(parts_of(reference), bool(schemas.get(_table(reference))))
            self._short.append(ways[-1])
            for parts in ways:
                self._add(parts, reference)
                if members and reference in members:
                    for member in members[reference]:
                        self._add((*parts[:-1], member.lower()), reference)

    def _add(self, parts: Parts, reference: str) -> None:
        for begin in range(len(parts)):
            self._endings[parts[begin:]].append(reference)

    def find(self, written: str) -> list[str]:
        """The references that may be meant, of the shortest kind: a table rather than a column of that name."""
        if whole := self._whole.get(written.strip().lower()):
            return [whole]
        found = list(dict.fromkeys(self._endings.get(parts_of(written), ())))
        if len(found) > 1:
            full = [each for each in found if parts_of(each) == parts_of(written)]
            depth = min(_depth(each) for each in found)
            found = full or [each for each in found if _depth(each) == depth]
        return found

    def resolve(self, written: str) -> str:
        """The reference that is meant; `UserError` with the nearest ones when it is none or several."""
        written = written.strip()
        if written.startswith("[") and written.endswith("]"):  # As views show references.
            written = written[1:-1].strip()
        if not parts_of(written):
            raise UserError("nothing is named: give a reference, such as one that a view shows in brackets")
        found = self.find(written)
        if len(found) == 1:
            return found[0]
        if found:
            raise UserError(f"'{written}' may be {' or '.join(found[:MOST_SHOWN])}: say which")
        near = self.nearest(written)
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        raise UserError(f"nothing known is called '{written}'{hint}")

    def nearest(self, written: str, most: int = NEAREST) -> list[str]:
        """The references most like what is written, compared with as much of their endings as was written."""
        from rapidfuzz import fuzz, process

        wanted = parts_of(written)
        text = ".".join(wanted)
        endings = [".".join(parts[-len(wanted) :]) for parts in self._short]
        found = process.extract(text, endings, scorer=fuzz.ratio, limit=most, score_cutoff=LEAST_LIKENESS)
        return [self.references[place] for _, _, place in found]


def names_of(state: EvidenceState) -> Names:
    """Everything of a state that has a name: sources, tables, columns, nested paths, facets."""
    rows = state._connection.execute(
        "SELECT source FROM sources UNION ALL SELECT reference FROM tables UNION ALL SELECT reference FROM columns "
        "UNION ALL SELECT reference FROM paths UNION ALL SELECT reference FROM facets"
    ).fetchall()
    schemas = state._connection.execute("SELECT reference, schema_name FROM tables").fetchall()
    members = state._connection.execute("SELECT reference, members FROM families").fetchall()
    return Names([row[0] for row in rows], schemas=dict(schemas), members=dict(members))


def resolve(state: EvidenceState, written: str) -> str:
    """The full reference that a name means; `UserError` with the nearest ones when it is none or several."""
    return names_of(state).resolve(written)


def parts_of(written: str) -> Parts:
    """The parts of a reference or of a name in SQL, in lower case and without quotes; `[]` is a part of its own."""
    parts = []
    for quoted, plain, elements, _ in _PART.findall(written.strip()):
        if part := quoted.replace('""', '"') or plain.strip() or elements:
            parts.append(part.lower())
    return tuple(parts)


def _ways(parts: Parts, has_schema: bool) -> Sequence[Parts]:
    """The ways to write a reference in full: with its schema and without; a family also by its name in SQL."""
    ways = [parts]
    table = 2 if has_schema else 1
    if len(parts) > table and "{}" in parts[table]:
        ways.append((*parts[:table], relation_name(parts[table]).lower(), *parts[table + 1 :]))
    if has_schema:
        ways += [(way[0], *way[2:]) for way in ways]
    return ways


def _table(reference: str) -> str:
    """The table of a reference: up to the first dot or hash outside of quotes."""
    in_quotes = False
    for place, letter in enumerate(reference):
        in_quotes ^= letter == '"'
        if letter in ".#" and not in_quotes:
            return reference[:place]
    return reference


def _depth(reference: str) -> int:
    """0 for a source or table, 1 for a column, more below it."""
    table = _table(reference)
    return len(parts_of(reference)) - len(parts_of(table))
