"""A source of a join as it is before anything was filtered: what its keys could join, whatever else was asked of it.

In: a table, subquery or common table expression of a statement whose columns all name their table. Out: a copy without
the conditions that only choose rows: WHERE and ON over one table, HAVING, QUALIFY, LIMIT, in it and in all that it
reads. Conditions that join two tables stay. Runs nothing.
"""

from __future__ import annotations

from collections.abc import Collection

from sqlglot import exp

from coset.answering.checks.select_blocks import Node, aliases_of, conjuncts

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
