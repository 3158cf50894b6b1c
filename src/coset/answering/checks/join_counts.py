"""How many rows each join of a statement keeps and multiplies, counted.

In: an examined proposal. Out: one `JoinCount` for each join of two tables in each of its blocks: how many rows either
side has, how many find a partner, and how many pairs there are. Only rows that the statement touches are counted: those
that the conditions on that side, and the tables joined to it from elsewhere, leave. A row that its key joins and a
condition on the other side leaves out was filtered, not lost: it is counted apart. A join counts as
an inner one, whatever kind it is: what an outer join fills with NULL found no partner. Joins whose condition reaches
over three tables, and tables that may not be read whole, are not counted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from coset.answering.checks.examined import Examined
from coset.answering.checks.statement import Block, Node, aliases_of, columns_of, conjuncts, origins_in, text_of

PREFIX = "coset_unfiltered_"
CHOOSING = ("having", "qualify", "limit", "offset")


def unfiltered(source: Node, names: Collection[str]) -> Node:
    """The source under its own alias; of the common table expressions `names` it reads the unfiltered twins."""
    alias = source.alias_or_name
    whole = source.copy()
    whole.set("joins", None)
    for select in [*whole.find_all(exp.Select)]:
        _open(select)
    for table in [*whole.find_all(exp.Table)]:
        if len(table.parts) == 1 and table.name.lower() in names:
            if not table.alias:
                table.set("alias", exp.TableAlias(this=exp.to_identifier(table.name, quoted=True)))
            table.set("this", exp.to_identifier(PREFIX + table.name.lower(), quoted=True))
    if not whole.alias:
        whole.set("alias", exp.TableAlias(this=exp.to_identifier(alias, quoted=True)))
    return whole


def unfiltered_entry(entry: Node, names: Collection[str]) -> Node:
    """The twin of a common table expression, by another name."""
    twin = entry.copy()
    inner = unfiltered(exp.Subquery(this=twin.this.copy()), names).this
    twin.set("this", inner)
    twin.set("alias", exp.TableAlias(this=exp.to_identifier(PREFIX + entry.alias.lower(), quoted=True)))
    return twin


def across(condition: Node) -> Node:
    """The part of a join's condition that compares its two sides; all of it when there is no such part by itself."""
    both = [each.copy() for each in conjuncts(condition) if len(aliases_of(each)) > 1]
    return exp.and_(*both) if both else condition.copy()


def _open(select: Node) -> None:
    """Take the conditions that only choose rows out of a SELECT."""
    for key in CHOOSING:
        select.set(key, None)
    where = _joining(select.args.get("where"))
    select.set("where", exp.Where(this=exp.and_(*where)) if where else None)
    for join in select.args.get("joins") or []:
        if join.args.get("on") is not None and (on := _joining(join.args["on"])):
            join.set("on", exp.and_(*on))


def _joining(condition: Node | None) -> list[Node]:
    return [each.copy() for each in conjuncts(condition) if len(aliases_of(each)) > 1 and each.find(exp.Query) is None]


ROW = "coset_row"
MOST_JOINS = 8


@dataclass(frozen=True)
class Side:
    """One side of a join."""

    alias: str
    rows: int
    keyed: int
    """Rows whose key is not NULL."""
    matched: int
    """Rows that find a partner."""
    joinable: int
    """Rows that find one when no condition is put on the other side: what the keys alone can do."""
    references: tuple[str, ...]
    """The stored columns behind its key."""

    @property
    def share(self) -> float:
        """The share of the rows with a key that find a partner by their keys."""
        return self.joinable / self.keyed if self.keyed else 1.0


@dataclass(frozen=True)
class JoinCount:
    left: Side
    right: Side
    pairs: int
    condition: str

    @property
    def multiplies_left(self) -> bool:
        return self.pairs > self.left.matched

    @property
    def multiplies_right(self) -> bool:
        return self.pairs > self.right.matched


@dataclass(frozen=True)
class BlockJoins:
    """The joins of one block that could be counted."""

    block: Block
    joins: tuple[JoinCount, ...]


def counted_joins(examined: Examined) -> tuple[BlockJoins, ...] | None:
    """The counted joins of each block that has any; None when there is a join and none could be counted."""
    if examined.statement is None:
        return None
    if "joins" not in examined.memory:
        examined.memory["joins"] = _counted(examined)
    found: tuple[BlockJoins, ...] | None = examined.memory["joins"]
    return found


def _counted(examined: Examined) -> tuple[BlockJoins, ...] | None:
    assert examined.statement is not None  # noqa: S101
    found, joins = [], 0
    may = examined.may_count()
    for block in examined.statement.blocks:
        counts = []
        for left, right, condition in pairs_of(block):
            joins += 1
            if may and joins <= MOST_JOINS and (count := _count(examined, block, left, right, condition)):
                counts.append(count)
        if counts:
            found.append(BlockJoins(block, tuple(counts)))
    return tuple(found) if found or not joins else None


def pairs_of(block: Block) -> Iterator[tuple[str, str, Node]]:
    """(left alias, right alias, condition) of each join of two tables, also of those that stand in WHERE."""
    select = block.select
    first = _from(select)
    if first is None:
        return
    seen = [first.alias_or_name]
    where = conjuncts(select.args.get("where"))
    for join in select.args.get("joins") or []:
        alias = join.this.alias_or_name
        condition = join.args.get("on")
        if condition is None and not join.args.get("using"):
            both = [
                each for each in where if isinstance(each, exp.EQ) and alias in aliases_of(each)
                and aliases_of(each) & set(seen)
            ]  # fmt: skip
            condition = exp.and_(*(each.copy() for each in both)) if both else None
        others = (aliases_of(condition) - {alias}) & set(seen) if condition is not None else set()
        if len(others) == 1 and (join.args.get("kind") or "").upper() not in {"SEMI", "ANTI"}:
            yield others.pop(), alias, condition
        seen.append(alias)


def outer_aliases(block: Block) -> set[str]:
    """The tables that a LEFT, RIGHT or FULL JOIN adds."""
    joins = block.select.args.get("joins") or []
    return {join.this.alias_or_name for join in joins if (join.args.get("side") or "").upper()}


def _from(select: Node) -> Node | None:
    clause = select.args.get("from_")
    return clause.this if clause is not None else None


def _count(examined: Examined, block: Block, left: str, right: str, condition: Node) -> JoinCount | None:
    sources = {each.alias_or_name: each for each in _sources(block.select)}
    if left not in sources or right not in sources or examined.statement is None:
        return None
    keys = {alias: _keys(condition, alias) for alias in (left, right)}
    numbered = {
        alias: _numbered(block, sources, alias, condition, other) for alias, other in ((left, right), (right, left))
    }
    entries = visible_expressions(block)
    names = {entry.alias.lower() for entry in entries}
    row = {alias: exp.column(ROW, table=alias, quoted=True) for alias in (left, right)}
    selected: list[Node] = [
        exp.Count(this=exp.Star()),
        exp.Count(this=exp.Distinct(expressions=[row[left]])),
        exp.Count(this=exp.Distinct(expressions=[row[right]])),
    ]
    for alias, other in ((left, right), (right, left)):
        partner = exp.select("1").from_(unfiltered(sources[other], names)).where(across(condition))
        selected += [
            exp.select(exp.Count(this=exp.Star())).from_(numbered[alias].copy()).subquery(),
            exp.select(_keyed(keys[alias])).from_(numbered[alias].copy()).subquery(),
            exp.select(exp.Count(this=exp.Star()))
            .from_(numbered[alias].copy())
            .where(exp.Exists(this=partner))
            .subquery(),
        ]
    query = (
        exp.select(*selected)
        .from_(numbered[left].copy())
        .join(numbered[right].copy(), on=condition.copy(), join_type="inner")
    )
    counts = examined.count(_after(query, [*entries, *(unfiltered_entry(entry, names) for entry in entries)]))
    if counts is None:
        return None
    pairs, left_matched, right_matched, *sides = (int(each or 0) for each in counts)  # Nothing adds up to NULL.
    (left_rows, left_keyed, left_joinable), (right_rows, right_keyed, right_joinable) = sides[:3], sides[3:]

    def behind(alias: str) -> tuple[str, ...]:
        assert examined.statement is not None  # noqa: S101
        return tuple(sorted({r for key in keys[alias] for r in origins_in(examined.statement, key, block)}))

    return JoinCount(
        Side(left, left_rows, left_keyed, left_matched, left_joinable, behind(left)),
        Side(right, right_rows, right_keyed, right_matched, right_joinable, behind(right)),
        pairs,
        text_of(condition),
    )


def _sources(select: Node) -> list[Node]:
    first = _from(select)
    return ([first] if first is not None else []) + [join.this for join in select.args.get("joins") or []]


def _keys(condition: Node, alias: str) -> list[Node]:
    """The expressions over one table alone that a condition compares."""
    keys = []
    for equality in condition.find_all(exp.EQ):
        keys += [side for side in (equality.left, equality.right) if aliases_of(side) == {alias}]
    return keys or [column for column in columns_of(condition) if column.table == alias][:1]


def _keyed(keys: list[Node]) -> Node:
    """Counts the rows in which every key has a value."""
    if not keys:
        return exp.Count(this=exp.Star())
    there = exp.and_(*(exp.Not(this=exp.Is(this=exp.paren(key.copy()), expression=exp.Null())) for key in keys))
    return exp.CountIf(this=there)


def _numbered(block: Block, sources: Mapping[str, Node], alias: str, condition: Node, other: str) -> Node:
    """A source of a block with a number for every row, cut down by the conditions that speak of it alone, and to rows
    that find a partner in the tables joined to it otherwise than through the `other` side."""
    inner = _alone(sources[alias])
    where = conjuncts(block.select.args.get("where"))
    own = [
        each.copy()
        for each in [*where, *conjuncts(condition)]
        if aliases_of(each) == {alias} and each.find(exp.Query) is None
    ]
    number = exp.alias_(exp.Window(this=exp.RowNumber()), ROW, quoted=True)
    query = exp.select(exp.Star(), number).from_(inner)
    partners = _partners(block, sources, alias, other)
    if partners is not None:
        own.append(exp.Exists(this=partners))
    if own:
        query = query.where(*own)
    return query.subquery(exp.TableAlias(this=exp.to_identifier(alias, quoted=True)))


def _partners(block: Block, sources: Mapping[str, Node], alias: str, other: str) -> Node | None:
    """The rows of the tables that are joined to a source, directly or through each other, but not through `other`."""
    outer = {
        join.this.alias_or_name
        for join in block.select.args.get("joins") or []
        if (join.args.get("side") or "").upper() in {"LEFT", "FULL", "RIGHT"}
    }
    edges = [
        edge for edge in pairs_of(block) if not {edge[0], edge[1]} & outer and {edge[0], edge[1]} != {alias, other}
    ]
    reached, waiting = {alias}, [alias]
    while waiting:
        current = waiting.pop()
        for left, right, _ in edges:
            if current in (left, right):
                beyond = right if current == left else left
                if beyond not in reached and beyond != other and beyond in sources:
                    reached.add(beyond)
                    waiting.append(beyond)
    others = sorted(reached - {alias})
    if not others:
        return None
    conditions = [
        each.copy()
        for each in [
            *conjuncts(block.select.args.get("where")),
            *(part for left, right, condition in edges if {left, right} <= reached for part in conjuncts(condition)),
        ]
        if aliases_of(each) <= reached and aliases_of(each) - {alias} and each.find(exp.Query) is None
    ]
    query = exp.select("1").from_(_alone(sources[others[0]]))
    for each in others[1:]:
        query = query.join(_alone(sources[each]), join_type="cross")
    return query.where(*conditions) if conditions else None


def _alone(source: Node) -> Node:
    """A source under its alias, without what is joined to it."""
    alone = source.copy()
    alone.set("joins", None)
    return alone


def with_expressions_of(block: Block, query: Node) -> Node:
    """A query of ours with all common table expressions that the block can see written before it."""
    return _after(query, visible_expressions(block))


def _after(query: Node, entries: list[Node]) -> Node:
    for entry in entries:
        query = query.with_(entry.alias, as_=entry.this, append=True)
    return query


def visible_expressions(block: Block) -> list[Node]:
    """Copies of the common table expressions that a block can see, in order."""
    scope: Any = block.scope
    entries: list[Node] = []
    while scope is not None:
        clause = scope.expression.args.get("with_")
        if clause is not None:
            entries = [each.copy() for each in clause.expressions if each is not _entry_of(block.scope)] + entries
        scope = scope.parent
    # One that stands after the block is not seen by it, and may read it: it is left out with all that follow.
    own = _entry_of(block.scope)
    if own is not None:
        names = [entry.alias for entry in entries]
        siblings = [each.alias for each in own.parent.expressions]
        later = set(siblings[siblings.index(own.alias) :])
        entries = [entry for entry, name in zip(entries, names, strict=True) if name not in later]
    return entries


def _entry_of(scope: object) -> Node | None:
    """The common table expression that a scope is the query of."""
    node = getattr(scope, "expression", None)
    while node is not None and not isinstance(node, exp.CTE):
        node = node.parent if not isinstance(node.parent, exp.Select) else None
    return node
