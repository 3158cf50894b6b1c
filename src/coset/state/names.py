"""Names of things in a state: what a person or a model wrote as the one reference that is meant, and a reference as
people read it.

In: every reference of a state, and a name as it may be written: a reference (`sales/public/orders.cust_no`), a name as
SQL has it (`sales.public.orders.cust_no`, `sales.orders`), either without its beginning, or without its schema, where
that is unique; in any case, quoted or not. Out: the reference, or `UserError` with the nearest names; and of a
reference, the name that SQL has, which is what people are told.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from coset.environment.families import ACROSS_SCHEMAS, relation_name
from coset.errors import UserError
from coset.sql_text import name, table_name

if TYPE_CHECKING:
    from coset.state.evidence_state import EvidenceState

MOST_SHOWN = 4
NEAREST, LEAST_LIKENESS = 3, 55.0
_QUOTED = r'"(?:[^"]|"")*"'
_STEP = re.compile(rf"\.({_QUOTED}|[^.#\[\]\"]+)")
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
        in_sql: Mapping[str, str] | None = None,
    ) -> None:
        """`schemas`: of tables that have one, the schema, which may be left out. `members`: of families, the names of
        their tables, each of which means the family. `in_sql`: of tables and families, what SQL calls them."""
        self.references = list(references)
        self._tables_in_sql = in_sql or {}
        self._whole: dict[str, str] = {}
        self._endings: dict[Parts, list[str]] = defaultdict(list)
        self._short: list[Parts] = []
        schemas = schemas or {}
        for reference in self.references:
            self._whole.setdefault(reference.lower(), reference)
            ways = _ways(parts_of(reference), bool(schemas.get(_table(reference))))
            self._short.append(ways[-1])
            table = _table(reference)
            if table in self._tables_in_sql:
                of_table = parts_of(self._tables_in_sql[table])
                ways = [*ways, (*of_table, *parts_of(reference[len(table) :]))]
            for parts in dict.fromkeys(ways):
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
            full = [each for each in found if parts_of(written) in (parts_of(each), parts_of(self.in_sql(each)))]
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
            raise UserError(f"'{written}' may be {' or '.join(map(self.in_sql, found[:MOST_SHOWN]))}: say which")
        near = [self.in_sql(each) for each in self.nearest(written)]
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

    def in_sql(self, reference: str) -> str:
        """The name that SQL has for a table or column; what has none (a source, a document) stays as it is."""
        table = reference if reference in self._tables_in_sql else _table(reference)
        if table not in self._tables_in_sql:
            return reference
        column, *facet = reference[len(table) :].partition("#")
        steps = _STEP.sub(lambda step: "." + name(step[1].strip('"').replace('""', '"')), column)
        return self._tables_in_sql[table] + steps + "".join(facet)

    def told(self, sentence: str) -> str:
        """A sentence with the SQL names of the tables and columns whose references stand in it."""
        if "/" not in sentence or not self._tables_in_sql:
            return sentence
        if sentence.lower() in self._whole:
            return self.in_sql(sentence)
        return self._mentioned.sub(lambda found: self.in_sql(found[0]), sentence)

    @cached_property
    def _mentioned(self) -> re.Pattern[str]:
        tables = "|".join(map(re.escape, sorted(self._tables_in_sql, key=len, reverse=True)))
        return re.compile(rf"(?<![\w/.])(?:{tables})(?![\w/{{])(?:[.#](?:{_QUOTED}|\w+)|\[\])*")


def names_of(state: EvidenceState) -> Names:
    """Everything of a state that has a name: sources, tables, columns, nested paths, facets."""
    rows = state._connection.execute(
        "SELECT source FROM sources UNION ALL SELECT reference FROM tables UNION ALL SELECT reference FROM columns "
        "UNION ALL SELECT reference FROM paths UNION ALL SELECT reference FROM facets"
    ).fetchall()
    tables = state._connection.execute("SELECT reference, source, schema_name, name FROM tables").fetchall()
    families = state._connection.execute("SELECT reference, pattern, members FROM families").fetchall()
    places = places_in_sql(tables, {reference: pattern for reference, pattern, _ in families})
    return Names(
        [row[0] for row in rows],
        schemas={reference: schema for reference, _, schema, _ in tables},
        members={reference: members for reference, _, members in families},
        in_sql={reference: place.name for reference, place in places.items()},
    )


@dataclass(frozen=True)
class PlaceInSql:
    """What to write after FROM, and the schema in it, if one has to be written."""

    name: str
    schema: str | None


def places_in_sql(
    tables: Sequence[tuple[str, str, str | None, str]], patterns: Mapping[str, str]
) -> dict[str, PlaceInSql]:
    """Of tables (reference, source, schema, name), some of them families with a pattern: without the schema where the
    source has only one, a family as the relation over all its tables."""
    schemas: dict[str, set[str | None]] = defaultdict(set)
    for _, source, schema, _ in tables:
        schemas[source].add(schema)
    found = {}
    for reference, source, schema, called in tables:
        pattern = patterns.get(reference, "")
        is_short = len(schemas[source]) == 1 or pattern.startswith(ACROSS_SCHEMAS)
        written = None if is_short else schema
        found[reference] = PlaceInSql(
            table_name(source, written, relation_name(pattern) if pattern else called), written
        )
    return found


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
