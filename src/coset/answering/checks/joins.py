"""Does a join lose rows that it should keep, or multiply rows that are then added up?

In: an examined proposal. Out: how many rows each join keeps and multiplies, counted on the rows that the statement
touches, and one result for each of the two checks. Where tables are too large to count, the rates that comprehension
tested stand in.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from coset.answering.checks.examined import CheckResult, Examined, Outcome
from coset.answering.checks.statement import (
    Block,
    Node,
    aliases_of,
    columns_of,
    conjuncts,
    name_of_aggregate,
    origins_in,
    text_of,
)
from coset.state.relations import RelationRow, joins_between

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


JOIN_LOSS = "join loss"
WHOLE = 0.99
TOLERANCE = 0.05
"""A condition of the statement may keep a part of the rows that matches less well than all of them."""


@dataclass(frozen=True)
class TestedJoin:
    """What the state knows of a join, seen from one of its sides."""

    share: float
    condition: str
    reference: str


def check_join_loss(examined: Examined) -> CheckResult:
    if examined.statement is None or examined.error is not None:
        return CheckResult(JOIN_LOSS, "not applicable", "there is no statement that can be read")
    counted = counted_joins(examined)
    if counted == ():
        return CheckResult(JOIN_LOSS, "not applicable", "the statement joins nothing")
    if counted is None:
        return _by_tested_rates(examined)
    found = [
        _judge(examined, count, count.right.alias in outer_aliases(each.block))
        for each in counted
        for count in each.joins
    ]
    order = {"failed": 0, "doubt": 1, "passed": 2, "not applicable": 3}
    worst = min(found, key=lambda result: order[result.outcome])
    same = [result for result in found if result.outcome == worst.outcome]
    references = tuple(dict.fromkeys(reference for result in same for reference in result.references))
    return CheckResult(JOIN_LOSS, worst.outcome, "; ".join(dict.fromkeys(result.detail for result in same)), references)


def _judge(examined: Examined, count: JoinCount, outer: bool) -> CheckResult:
    """`outer`: a LEFT JOIN and its like, which keeps the rows that find no partner."""
    side, other = watched(count)
    references = (*side.references, *other.references)
    if not side.keyed or not other.keyed:
        return CheckResult(JOIN_LOSS, "passed", f"a side of {count.condition} has no rows with a key", references)
    tested = tested_join(examined, side.references, other.references)
    if not side.joinable and not other.joinable:
        hint = f"; tested: {tested.condition}" if tested else ""
        return CheckResult(
            JOIN_LOSS, "failed", f"the join {count.condition} finds no partner for any row{hint}", references
        )
    lost = f"{1 - side.share:.1%} of {side.keyed:,} rows of {side.alias} find no partner by {count.condition}"
    if side.rows - side.keyed > 0.01 * side.rows:
        lost += f", and {side.rows - side.keyed:,} more have no key"
    if tested is not None and side.share < tested.share - TOLERANCE:
        detail = f"{lost}; the tested join loses {1 - tested.share:.1%}: {tested.condition}"
        return CheckResult(JOIN_LOSS, "failed", detail, (*references, tested.reference))
    if side.share >= WHOLE:
        return CheckResult(JOIN_LOSS, "passed", lost, references)
    if tested is not None:
        return CheckResult(
            JOIN_LOSS, "passed", f"{lost}, as was found when it was tested", (*references, tested.reference)
        )
    if outer:
        return CheckResult(JOIN_LOSS, "passed", f"{lost}; they are kept, for the join is an outer one", references)
    if not side.references or not other.references:
        return CheckResult(JOIN_LOSS, "passed", f"{lost}; its key is computed, so no join of it was tested", references)
    return CheckResult(JOIN_LOSS, "doubt", f"{lost}; no better join is known", references)


def watched(count: JoinCount) -> tuple[Side, Side]:
    """The side whose rows should all find a partner: the many of many to one; of one to one, the smaller."""
    left, right = count.left, count.right
    if count.multiplies_right and not count.multiplies_left:
        return left, right
    if count.multiplies_left and not count.multiplies_right:
        return right, left
    return (left, right) if left.share >= right.share else (right, left)


def tested_join(examined: Examined, one: tuple[str, ...], other: tuple[str, ...]) -> TestedJoin | None:
    """The best join that the state knows between these columns, as a share of the rows of `one`."""
    rows = joins_between(examined.state, one, other)
    found = [_tested(row, one) for row in rows]
    return max(found, key=lambda each: each.share) if found else None


def _tested(row: RelationRow, one: tuple[str, ...]) -> TestedJoin:
    is_left = bool(set(row.left_columns) & set(one))
    condition = f"{row.left_expression[:300]} = {row.right_expression[:300]}"
    return TestedJoin(row.left_match if is_left else row.right_match, condition, row.id)


def _by_tested_rates(examined: Examined) -> CheckResult:
    """What the state knows of the joins, where they may not be counted."""
    assert examined.statement is not None  # noqa: S101
    said, references = [], []
    for block in examined.statement.blocks:
        for left, right, condition in pairs_of(block):
            one, other = (
                tuple(
                    reference
                    for column in columns_of(condition)
                    if column.table == alias
                    for reference in origins_in(examined.statement, column, block)
                )
                for alias in (left, right)
            )
            tested = tested_join(examined, one, other)
            if tested is not None:
                said.append(f"{left} and {right}: {1 - tested.share:.1%} of {left} had no partner when it was tested")
                references.append(tested.reference)
    if not said:
        return CheckResult(JOIN_LOSS, "not applicable", "the joins could not be counted, and none of them was tested")
    return CheckResult(JOIN_LOSS, "passed", "the joins could not be counted; " + "; ".join(said), tuple(references))


FAN_OUT = "fan-out"
ADDING = {"sum", "avg", "product", "fsum"}
COUNTING = {"count", "countif"}


def check_fan_out(examined: Examined) -> CheckResult:
    if examined.statement is None or examined.error is not None:
        return CheckResult(FAN_OUT, "not applicable", "there is no statement that can be read")
    counted = counted_joins(examined)
    if counted == ():
        return CheckResult(FAN_OUT, "not applicable", "the statement joins nothing")
    if counted is None:
        return CheckResult(FAN_OUT, "not applicable", "the joins are too large to count, or cannot be counted apart")
    wrong = [found for each in counted for found in _of_block(each)]
    if not wrong:
        return CheckResult(FAN_OUT, "passed", "no row is counted or added more than once")
    outcome: Outcome = "failed" if any(each.outcome == "failed" for each in wrong) else "doubt"
    said = "; ".join(dict.fromkeys(each.detail for each in wrong if each.outcome == outcome))
    references = tuple(dict.fromkeys(reference for each in wrong for reference in each.references))
    return CheckResult(FAN_OUT, outcome, said, references)


def multiplied(alias: str, joins: Sequence[JoinCount]) -> JoinCount | None:
    """A join that makes several rows of one row of this table, directly or by way of a table joined to it."""
    waiting, walked = [alias], set()
    while waiting:
        current = waiting.pop()
        for number, join in enumerate(joins):
            left, right = join.left.alias, join.right.alias
            # A join is walked away from the table only: that many orders share a customer multiplies no order.
            if number in walked or current not in (left, right):
                continue
            walked.add(number)
            if join.multiplies_left if current == left else join.multiplies_right:
                return join
            waiting.append(right if current == left else left)
    return None


def _of_block(counted: BlockJoins) -> list[CheckResult]:
    joins = counted.joins
    aliases = {side.alias for join in joins for side in (join.left, join.right)}
    found: list[CheckResult] = []
    for node in counted.block.aggregates:
        name, used = name_of_aggregate(node), aliases_of(node) & aliases
        if name in COUNTING:
            # The joined rows are the rows of the one table that keeps its rows single, if there is one.
            by = [multiplied(alias, joins) for alias in sorted(aliases)]
            if all(by) and by[0] is not None:
                detail = f"{text_of(node)} counts the rows of a join of many to many: {_more(by[0])}"
                found.append(CheckResult(FAN_OUT, "doubt", detail, _references(by[0])))
        elif name in ADDING and used:
            by = [multiplied(alias, joins) for alias in sorted(used)]
            if all(by) and by[0] is not None:
                detail = f"{text_of(node)} takes rows of {' and '.join(sorted(used))} several times: {_more(by[0])}"
                # A sum over columns of several tables is often meant for each pair.
                outcome: Outcome = "failed" if name == "sum" and len(used) == 1 else "doubt"
                found.append(CheckResult(FAN_OUT, outcome, detail, _references(by[0])))
    return found


def _more(join: JoinCount) -> str:
    return (
        f"{join.condition} makes {join.pairs:,} rows of {join.left.matched:,} of {join.left.alias} and "
        f"{join.right.matched:,} of {join.right.alias}"
    )


def _references(join: JoinCount) -> tuple[str, ...]:
    return (*join.left.references, *join.right.references)
