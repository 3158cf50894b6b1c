"""Short names for the long expressions of a view: a model writes `"born clean"`, the tested expression is what runs.

In: a view. Out: the same view with names where long expressions stood, and a `Shorthand` that writes them back into a
statement. A name is used like a column, with or without its table's alias before it. Expressions are copied by nobody,
so none is copied wrongly, and none is paid for twice.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import sqlglot
from sqlglot import TokenType, exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.scope import Scope, traverse_scope

from coset.routing.views.view import Cleaning, EvidenceView, ViewColumn, ViewRelation, ViewTable
from coset.sql_text import identifier
from coset.state.objects import LOOK_FIRST

OF_TEXT = frozenset({"null_tokens", "stray_characters"})
"""Kinds whose expression gives the text without that dirt, so that its ends can be trimmed after it."""


def one_cleaning(found: Sequence[Cleaning]) -> tuple[Cleaning, ...]:
    certain = tuple(
        dataclasses.replace(each, expression=None, type=None, short="") if LOOK_FIRST in each.detail else each
        for each in found
    )
    padded = [each for each in certain if each.kind == "padding" and each.expression]
    others = [each for each in certain if each.kind in OF_TEXT and each.expression]
    if len(padded) != 1 or len(others) != 1:
        return certain  # Nothing to bring together, or no telling in which order.
    whole = others[0].expression or ""
    whole = whole if whole.startswith("trim(") else f"trim({whole})"
    both = (padded[0], others[0])
    return tuple(dataclasses.replace(each, expression=whole, short="") if each in both else each for each in certain)


DIALECT = "duckdb"
SHORTEST = 32
"""A shorter expression is written as it is."""
ENTITY = "same entity by: "
_UNREADABLE = (SqlglotError, RecursionError, ValueError, AttributeError, KeyError, TypeError)


@dataclass(frozen=True)
class Template:
    """An expression over one column of one table, cut where the column stands in it."""

    pieces: tuple[str, ...]
    column: str
    """As SQL writes it."""

    def is_like(self, other: Template) -> bool:
        """Whether both are one expression: SQL's names ignore case."""
        return self.pieces == other.pieces and _bare(self.column) == _bare(other.column)

    def over(self, qualifier: str) -> str:
        """The expression with the column of this table: an alias, a table's name, or nothing."""
        return (f"{qualifier}.{self.column}" if qualifier else self.column).join(self.pieces)


@dataclass(frozen=True)
class Named:
    """What a name stands for."""

    template: Template
    references: tuple[str, ...]
    """The columns it may be said of."""
    tables: tuple[str, ...]
    """Their tables, as SQL writes them, without quotes and in small letters."""


@dataclass
class Shorthand:
    """The names of one view."""

    names: dict[str, Named] = field(default_factory=dict)
    """By the name in small letters, as it stands between the quotes."""
    taken: frozenset[str] = frozenset()
    """Names that columns of the view have already."""

    @property
    def references(self) -> dict[str, str]:
        """What a record may be taken to mean by a name: the one column that has it."""
        return {name: named.references[0] for name, named in self.names.items() if len(named.references) == 1}

    def name(self, wanted: str, template: Template, reference: str, table: str) -> str:
        """A name for the expression: the one it has, or the wanted one, numbered when another expression has that."""
        for number in range(1, 100):
            name = wanted if number == 1 else f"{wanted} {number}"
            if name.lower() in self.taken:
                continue
            there = self.names.get(name.lower())
            if there is None or there.template.is_like(template):
                references = (*there.references, reference) if there else (reference,)
                tables = (*there.tables, _bare(table)) if there else (_bare(table),)
                self.names[name.lower()] = Named(
                    template, tuple(dict.fromkeys(references)), tuple(dict.fromkeys(tables))
                )
                return identifier(name)
        raise AssertionError(f"a hundred expressions want the name {wanted}")

    def expand(self, sql: str) -> str:
        """The statement with every name replaced by what it stands for. What cannot be read is left as it is."""
        if not any(name in sql.lower() for name in self.names):
            return sql
        try:
            found = dict(_places(sqlglot.parse_one(sql, dialect=DIALECT), self.names, sql))
        except _UNREADABLE:
            return sql
        for (start, end), text in sorted(found.items(), reverse=True):
            sql = sql[:start] + text + sql[end + 1 :]
        return sql

    def kept(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return {name: dataclasses.asdict(named) for name, named in self.names.items()}

    def restore(self, kept: Mapping[str, Any]) -> None:
        """Take up the names of an earlier conversation."""
        self.names |= {
            name: Named(
                Template(tuple(each["template"]["pieces"]), each["template"]["column"]),
                tuple(each["references"]),
                tuple(each["tables"]),
            )
            for name, each in kept.items()
        }


def shortened(view: EvidenceView, shorthand: Shorthand) -> EvidenceView:
    """The view with names for its long expressions; what they stand for is added to the shorthand. Main tables come
    first, so that their names are the same whatever is asked."""
    shorthand.taken |= _stored(view.main)
    main = tuple(_table(table, shorthand) for table in view.main)
    main_relations = tuple(_relation(relation, shorthand) for relation in view.main_relations)
    shorthand.taken |= _stored(view.tables)
    tables = tuple(_table(table, shorthand) for table in view.tables)
    relations = tuple(_relation(relation, shorthand) for relation in view.relations)
    return dataclasses.replace(
        view, tables=tables, relations=relations, shorthands=(), main=main, main_relations=main_relations,
        main_shorthands=(),
    )  # fmt: skip


def _stored(tables: Sequence[ViewTable]) -> frozenset[str]:
    """The names of their columns."""
    return frozenset(_bare(each.expression) for table in tables for each in table.columns if each.kind == "column")


def _table(table: ViewTable, shorthand: Shorthand) -> ViewTable:
    columns = tuple(_column(column, table, shorthand) for column in table.columns)
    said, by, expression = table.duplicates.partition(ENTITY)
    if by and (template := _template(expression)):
        column = template.column.strip('"')
        name = shorthand.name(f"{column} entity", template, f"{table.reference}.{column}", table.sql_name)
        table = dataclasses.replace(table, duplicates=f"{said}{by}{name}")
    return dataclasses.replace(table, columns=columns)


def _column(column: ViewColumn, table: ViewTable, shorthand: Shorthand) -> ViewColumn:
    inner = column.reference.removeprefix(table.reference).lstrip(".")
    expression = column.expression
    if column.kind != "column" and (template := _template(expression)):
        expression = shorthand.name(inner, template, column.reference, table.sql_name)
    cleaning = tuple(
        _cleaning(each, inner, column.reference, table, shorthand) for each in one_cleaning(column.cleaning)
    )
    return dataclasses.replace(column, expression=expression, cleaning=cleaning)


def _cleaning(cleaning: Cleaning, inner: str, reference: str, table: ViewTable, shorthand: Shorthand) -> Cleaning:
    template = _template(cleaning.expression or "")
    if template is None:
        return dataclasses.replace(cleaning, short="")
    name = shorthand.name(f"{inner} clean", template, reference, table.sql_name)
    return dataclasses.replace(cleaning, expression=name, short="")


def _relation(relation: ViewRelation, shorthand: Shorthand) -> ViewRelation:
    """The condition with a name for each long side; one that is not made of equal sides stays as it is."""
    plain = dataclasses.replace(relation, short="")
    try:
        equals = [_split(each, TokenType.EQ) for each in _split(relation.condition, TokenType.AND)]
        if not all(len(sides) == 2 for sides in equals):
            return plain
        written = [[_side(side, relation, shorthand) for side in sides] for sides in equals]
    except _UNREADABLE:
        return plain
    return dataclasses.replace(plain, condition=" AND ".join(" = ".join(sides) for sides in written))


def _split(sql: str, between: TokenType) -> list[str]:
    """SQL cut at every such token that stands in no bracket."""
    parts, depth, after = [], 0, 0
    for token in sqlglot.tokenize(sql, dialect=DIALECT):
        depth += (token.token_type == TokenType.L_PAREN) - (token.token_type == TokenType.R_PAREN)
        if token.token_type == between and depth == 0:
            parts.append(sql[after : token.start].strip())
            after = token.end + 1
    return [*parts, sql[after:].strip()]


def _side(side: str, relation: ViewRelation, shorthand: Shorthand) -> str:
    """One side of an equation: a name after its table where it is long, else as it is."""
    template = _template(side, qualified=True)
    if template is None:
        return side
    column = next(iter(sqlglot.parse_one(side, dialect=DIALECT).find_all(exp.Column)))
    qualifier = side[_begin(column) : column.this.meta["start"]].rstrip(". ")
    if not qualifier:
        return side
    behind = [each for each in (*relation.left, *relation.right) if each.endswith(f".{column.name}")]
    reference = behind[0] if len(behind) == 1 else relation.reference
    return f"{qualifier}.{shorthand.name(f'{column.name} key', template, reference, qualifier)}"


def _template(expression: str, *, qualified: bool = False) -> Template | None:
    """An expression cut at its column; None when it is short, or is not of one column, or cannot be read."""
    if len(expression) < SHORTEST:
        return None
    try:
        columns = [each for each in sqlglot.parse_one(expression, dialect=DIALECT).find_all(exp.Column)]
    except _UNREADABLE:
        return None
    spans = sorted((_begin(each), each.this.meta["end"]) for each in columns if "end" in each.this.meta)
    if len(spans) != len(columns) or len({each.name for each in columns}) != 1:
        return None
    if not qualified and any(each.table for each in columns):
        return None
    pieces, after = [], 0
    for start, end in spans:
        pieces.append(expression[after:start])
        after = end + 1
    start, end = columns[0].this.meta["start"], columns[0].this.meta["end"]
    if not any(pieces) and after == len(expression):
        return None  # The column itself.
    return Template((*pieces, expression[after:]), expression[start : end + 1])


def _begin(column: Any) -> int:
    return int(column.parts[0].meta["start"])


def _places(tree: Any, names: Mapping[str, Named], sql: str) -> Iterator[tuple[tuple[int, int], str]]:
    """Every place of a statement where a name stands for an expression, and what to write there. A column that a
    subquery or a common table expression hands on under such a name is a column like any other."""
    seen: set[int] = set()
    for scope in traverse_scope(tree):
        for column in scope.columns:
            named = names.get(column.name.lower())
            meta = column.this.meta
            if named is None or "start" not in meta or meta["start"] in seen:
                continue
            seen.add(meta["start"])
            begin = _begin(column)
            qualifier = sql[begin : meta["start"]].rstrip().rstrip(".").rstrip()
            if not qualifier:
                owner = _owner(scope, named.tables)
                if owner is None:
                    continue
                qualifier = owner
            elif isinstance(_source(scope, column.table), Scope):
                continue
            text = named.template.over(qualifier)
            if isinstance(column.parent, exp.Select) and column.arg_key == "expressions":
                text += f" AS {sql[meta['start'] : meta['end'] + 1]}"
            yield (begin, meta["end"]), text


def _source(scope: Scope, alias: str) -> Any:
    within: Scope | None = scope
    while within is not None:
        for known, source in within.sources.items():
            if known.lower() == alias.lower():
                return source
        within = within.parent
    return None


def _owner(scope: Scope, tables: Sequence[str]) -> str | None:
    """What to write before a column that stands alone: nothing where one table is read, the alias of the table that is
    meant where several are; None when no stored table is read there."""
    stored = {alias: source for alias, (_, source) in scope.selected_sources.items() if isinstance(source, exp.Table)}
    if not stored:
        return None
    if len(scope.selected_sources) == 1:
        return ""
    for alias, source in stored.items():
        written = ".".join(part.name for part in source.parts).lower()
        if any(table == written or table.endswith(f".{written}") for table in tables):
            return identifier(alias)
    return None


def _bare(written: str) -> str:
    return written.replace('"', "").lower()
