"""A plan in words: what is done, one step after the other, for whoever reads the answer.

In: a plan and what is known. Out: short sentences in the order in which one would do it by hand. Says nothing that the
plan does not hold.
"""

from __future__ import annotations

from dataclasses import replace

from coset.answering.offline.known import Known
from coset.answering.offline.plan import AnyOf, Condition, Filter, Linked, Output, Plan

FUNCTIONS = {"avg": "the average", "sum": "the sum", "max": "the largest", "min": "the smallest"}
COMPARISONS = {
    ">": "more than", ">=": "at least", "<": "less than", "<=": "at most", "=": "exactly",
    "like": "something that contains", "word": "a text with the word",
}  # fmt: skip


def steps(plan: Plan, known: Known) -> tuple[str, ...]:
    told = [f"take the rows of {plan.table}"]
    if plan.entities and known.tables[plan.table].duplicates_key:
        told.append("count duplicates of one thing as one")
    told += [f"keep those {_filter(each, plan, known)}" for each in plan.filters]
    if plan.both:
        told.append("keep what has rows for each of: " + "; ".join(_filter(each, plan, known) for each in plan.both))
    if plan.without:
        told.append("leave out what has a row " + " and ".join(_filter(each, plan, known) for each in plan.without))
    if plan.groups:
        told.append("make a group for each " + (f"row of {plan.per}" if plan.per else _names(plan.groups, known)))
    if plan.repeated is not None:
        told.append(f"keep groups of {COMPARISONS[plan.repeated[0]]} {plan.repeated[1]} rows")
    told.append(_shown(plan, known))
    if plan.order is not None:
        told.append(_order(plan, plan.order, known))
    return tuple(told)


def _shown(plan: Plan, known: Known) -> str:
    outputs = ", ".join(_output(output, known) for output in plan.outputs)
    if plan.share:
        part = " and ".join(_filter(each, plan, known) for each in plan.part)
        of = "them" if plan.outputs[0].column is None else outputs
        return f"give the {'percentage' if plan.percent else 'share'} of {of} that belongs to rows {part}"
    if plan.contrast is not None:
        one, comparison, other = plan.contrast
        parts = f"{_filter(one, plan, known)} and of those {_filter(other, plan, known)}"
        return f"compute {outputs} of rows {parts}, and say whether the first is {COMPARISONS[comparison]} the second"
    return f"give {'each different ' if plan.distinct else ''}{outputs}"


def _order(plan: Plan, order: Output, known: Known) -> str:
    way = "the largest first" if plan.descending else "the smallest first"
    kept = "" if plan.limit is None else f", and keep the first{'' if plan.limit == 1 else f' {plan.limit}'}"
    ties = " with all that share that place" if plan.ties else ""
    return f"order by {_output(order, known)}, {way}{kept}{ties}"


def _output(output: Output, known: Known) -> str:
    if output.column is None:
        return "how many there are"
    name = known.columns[output.column].name
    if output.function == "count":
        return f"the number of different values of {name}"
    return f"{FUNCTIONS[output.function]} {name}" if output.function else name


def _names(columns: tuple[str, ...], known: Known) -> str:
    return " and ".join(known.columns[column].name for column in columns)


def _filter(each: Filter, plan: Plan, known: Known) -> str:
    if isinstance(each, AnyOf):
        return " or ".join(_filter(condition, plan, known) for condition in each.conditions)
    if isinstance(each, Linked):
        number = f"{COMPARISONS[each.comparison]} {each.number} rows" if each.comparison else "a row"
        theirs = replace(plan, table=each.table)
        inner = " and ".join(_filter(condition, theirs, known) for condition in each.conditions)
        return f"that {'do not ' if each.negated else ''}have {number} in {each.table}{' ' if inner else ''}{inner}"
    column = known.columns[each.column]
    where = "" if column.table == plan.table else f" of their {column.table}"
    return f"whose {column.name}{where} is {'not ' if each.negated else ''}{_value(each)}"


def _value(condition: Condition) -> str:
    if condition.against is not None:
        return f"{COMPARISONS[condition.comparison]} {FUNCTIONS[condition.against]}"
    if condition.dates is not None:
        way = "" if condition.comparison in ("=", "in") else f"{COMPARISONS[condition.comparison]} "
        return f"{way}{condition.dates}"
    values = [f"{value:g}" if isinstance(value, float) else value for value in condition.values]
    if condition.comparison == "between":
        return f"between {values[0]} and {values[-1]}"
    if condition.comparison in ("=", "in"):
        return " or ".join(values)
    return f"{COMPARISONS[condition.comparison]} {values[0]}"
