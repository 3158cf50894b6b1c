"""The offline reasoner: a question in, an answer or an honest refusal out, without any language model.

In: a question, a router, a session, a state. Out: `OfflineAnswer` with its statement, its steps in words, its checks
and how sure it is; or `Declined` with the reason. Tokenize, tag, parse, resolve, compile, run, check: in this order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqlglot import exp

from coset.answering.checks import CheckResult, PinnedShape, Proposal, run_checks
from coset.answering.checks.knowledge import LEAVES_OUT
from coset.answering.offline.catalogue import Known
from coset.answering.offline.compile import DIALECT, compose
from coset.answering.offline.parse import Placing
from coset.answering.offline.plan import (
    AnyOf,
    Condition,
    Declined,
    Filter,
    Linked,
    NotSure,
    OfflineAnswer,
    Output,
    Plan,
)
from coset.answering.offline.plausible import Reading, asks_which_there_are, implausible, wants_one_number
from coset.answering.offline.resolve import resolve
from coset.answering.offline.tag import read
from coset.errors import CosetError
from coset.routing.router import Router
from coset.session.query_session import QuerySession
from coset.session.result import Result
from coset.state import EvidenceState
from coset.state.names import names_of

ENOUGH = 0.88
"""An answer that is less sure is not given."""
CERTAIN = 3.1
"""The log-odds of an answer without any doubt."""

DOUBTS: dict[str, tuple[float, str]] = {
    "short name": (-0.61, "a name is said in short"),
    "key": (-0.28, "a table is called by what its key names"),
    "stem": (-0.3, "a word only resembles a name"),
    "part": (-0.29, "only part of a name is said"),
    "role": (-0.34, "a name is found only by the role that it plays"),
    "of a table beside": (-0.97, "a column stands not in the table that is named, but in one beside it"),
    "not of its table": (0.0, "a column stands not in the table that is named"),
    "rows of another table": (0.0, "rows are those of the table that is named, columns those of another"),
    "value in small letters": (-0.69, "a common word is taken for a stored value"),
    "number of a thing": (-0.5, "a number is taken for the key of what stands before it"),
    "or": (-1.53, "conditions are joined by 'or'"),
    "both": (0.0, "two conditions are to hold for different rows"),
    "none of its rows": (0.0, "what is listed must have no such row"),
    "has some": (-0.5, "of a column it is said only that there are some"),
    "once for each partner": (-2.4, "what is listed may be meant once, or once for each partner"),
    "several partners": (0.0, "conditions on several partners may be meant of one and the same"),
    "far partners": (-0.55, "partners are counted over several joins"),
    "counter or count": (-1.76, "a number may be stored as well as counted"),
    "counts added up": (-0.65, "a stored number is taken for a count"),
    "measure of a table": (-0.5, "a table is named, and the one number that its rows have is taken"),
    "different rows": (-0.74, "it is not certain what tells different ones apart"),
    "per what is not said": (-0.5, "a number stands beside a column: it is computed for each value"),
    "asked for twice": (-1.5, "one column is asked for twice"),
    "as the other columns": (-0.5, "a name of several tables is taken for that of the other columns' table"),
    "misspelt": (-0.5, "a word is taken to be misspelt"),
    "event": (-0.5, "a verb is taken to speak of the only date that there is"),
    "repeated rows": (-1.9, "rows repeat: they may be meant once each"),
    "repeated rows in an order": (0.0, "rows repeat, in an order"),
    "repeated rows of several columns": (-0.2, "rows of several columns repeat"),
    "of all its rows": (-0.3, "a table that is named says only whose rows are added up"),
    "shared first place": (-0.5, "several share the first place: all of them are given"),
}


def confidence(doubts: Sequence[str]) -> float:
    odds = CERTAIN + sum(DOUBTS[doubt][0] for doubt in set(doubts))
    return 1 / (1 + math.exp(-odds))


def in_words(doubts: Sequence[str]) -> tuple[str, ...]:
    """What made it less than certain, the weightiest first."""
    known = sorted(set(doubts), key=lambda doubt: (DOUBTS[doubt][0], doubt))
    return tuple(DOUBTS[doubt][1] for doubt in known)


SECONDS = 60.0


def is_tied(plan: Plan, known: Known, session: QuerySession) -> bool:
    """Whether the row after the last one asked for is as good as the last."""
    if plan.limit is None or plan.order is None:
        return False
    tree = compose(replace(plan, limit=plan.limit + 1, ties=False), known)
    order = tree.args["order"].expressions[0].this
    tree.set("expressions", [exp.alias_(order.copy(), "place")])
    tree.set("distinct", None)
    places = [row[0] for row in session.sql(tree.sql(dialect=DIALECT), seconds=SECONDS).rows()]
    return len(places) > plan.limit and places[-1] == places[-2]


def have_several_partners(plan: Plan, known: Known, session: QuerySession) -> bool:
    """Whether a row that is listed has more than one of the partners that it is listed for: only then does it matter
    whether it is meant once, or once for each."""
    if plan.both or plan.without or any(isinstance(each, Condition) and each.apart for each in plan.filters):
        return True
    ways = known.ways(plan.table)
    partners: dict[str, list[Condition]] = {}
    for each in plan.filters:
        if isinstance(each, Condition) and not each.negated:
            partners.setdefault(known.columns[each.column].table, []).append(each)
        elif isinstance(each, Linked) and not each.negated and each.comparison is None:
            partners.setdefault(each.table, [])
        elif not (isinstance(each, Linked) and each.negated):
            return True
    listed = replace(plan, outputs=(Output(None, "count"),), order=None, limit=None, distinct=False, entities=False)
    for table, conditions in partners.items():
        if table in ways and ways[table].steps and not ways[table].to_one:
            several = listed.having(Linked(table, tuple(conditions), comparison=">", number=1))
            counted = session.sql(compose(several, known).sql(dialect=DIALECT), seconds=SECONDS).rows()
            if counted[0][0]:
                return True
    return False


def repetition(plan: Plan, rows: Sequence[tuple[Any, ...]]) -> str:
    """The doubt that rows which repeat leave: an order, or a second column, says that rows are meant, not values."""
    if len(set(map(repr, rows))) == len(rows):
        return ""
    if plan.order is not None:
        return "repeated rows in an order"
    return "repeated rows of several columns" if len(plan.outputs) > 1 else "repeated rows"


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


BUDGET = 4_000
"""Tokens of the view: it is read by no model, so it may be larger than one that is."""
PARTNERS = "once for each partner"


def answer(
    question: str, router: Router, session: QuerySession, state: EvidenceState, *, enough: float = ENOUGH
) -> OfflineAnswer | Declined:
    """The answer, where it is at least as sure as `enough`; else why there is none. Tables and columns are told by the
    names that SQL has."""
    found, told = _answer(question, router, session, state, enough), names_of(state).told
    if isinstance(found, Declined):
        return replace(found, reason=told(found.reason))
    return replace(found, reading=tuple(map(told, found.reading)), steps=tuple(map(told, found.steps)))


def _answer(
    question: str, router: Router, session: QuerySession, state: EvidenceState, enough: float
) -> OfflineAnswer | Declined:
    view = router.view(question, BUDGET, directory=False)
    if ruled := _ruled(router):
        return Declined(question, ruled, view)
    try:
        known = Known(router.objects, view, router.inventory)
        chunks = read(question, known, router.anchors, session)
        slots = Placing(chunks).slots_of()
        slots.distinct = slots.distinct or asks_which_there_are(question)
        plan, reading, doubts = resolve(slots, known)
        if wrong := implausible(Reading(question, chunks, slots, plan, known)):
            raise NotSure(wrong)
        if any(chunk.respelt for chunk in chunks):
            doubts = (*doubts, "misspelt")
        tree = compose(plan, known)
    except NotSure as reason:
        return Declined(question, str(reason), view)
    sql = tree.sql(dialect=DIALECT, pretty=True)
    try:
        result = session.sql(sql, seconds=SECONDS)
        tied = is_tied(plan, known, session)
        if PARTNERS in doubts and not have_several_partners(plan, known, session):
            doubts = tuple(each for each in doubts if each != PARTNERS)
    except CosetError as error:
        return Declined(question, f"the statement could not be run: {error}", view, sql)
    if tied and plan.ties:
        doubts = (*doubts, "shared first place")
    elif tied:
        return Declined(
            question, f"more than {plan.limit} share the last place, and the question says no more", view, sql
        )
    shape = _shape(plan, result)
    value = _answer_value(result, shape)
    checks = run_checks(Proposal(value, (sql,), shape, result, question=question), session, state)
    if doubt := _doubt(plan, checks, result):
        return Declined(question, doubt, view, sql, checks)
    rows = tuple(result.rows())
    if len(rows) > 1 and wants_one_number(question, plan):
        why = "the question asks for one number, and what was understood gives several rows"
        return Declined(question, why, view, sql, checks)
    if repeats := repetition(plan, rows):
        doubts = (*doubts, repeats)
    sure = confidence(doubts)
    if sure < enough:
        why = "; ".join(in_words(doubts))
        return Declined(
            question, f"an answer would be right in {sure:.0%} of cases only: {why}", view, sql, checks, sure
        )
    told = steps(plan, known)
    return OfflineAnswer(
        question, result.columns, rows, result.truncated, sql, shape, reading, told, checks, view, sure, doubts
    )


def _ruled(router: Router) -> str:
    """Why no figure can be trusted here: documents say what never counts, and only who can read may apply that."""
    for rule in router.objects.knowledge.rules:
        if rule.is_general and not rule.status and LEAVES_OUT.search(rule.text):
            said = " ".join(rule.text.split())
            return f"the documents have rules for every figure, which only a model can apply: {said[:160]}"
    return ""


def _shape(plan: Plan, result: Result) -> PinnedShape:
    columns = result.columns
    if plan.contrast is not None:
        return PinnedShape("row", columns, 1)
    if plan.share or (len(columns) == 1 and plan.outputs[0].function and not plan.groups):
        return PinnedShape("value", columns, 1)
    if not plan.groups and all(output.function for output in plan.outputs):
        return PinnedShape("row", columns, 1)
    grain = "" if not plan.groups else "one row per " + (plan.per or ", ".join(plan.groups))
    return PinnedShape("list" if len(columns) == 1 else "table", columns, None, grain if not plan.per else "")


def _answer_value(result: Result, shape: PinnedShape) -> object:
    rows = result.rows()
    if shape.form == "value":
        return rows[0][0] if rows else None
    return [row[0] for row in rows] if shape.form == "list" else [list(row) for row in rows]


def _doubt(plan: Plan, checks: tuple[CheckResult, ...], result: Result) -> str:
    """Why a result is not trusted; empty when it is."""
    if result.truncated:
        return "the result has more rows than the limits let through"
    rows = result.rows()
    nothing = rows == [(0,)] and bool(plan.filters)  # None of them, or not what was meant: a count cannot tell.
    if not rows or nothing or all(cell is None for row in rows for cell in row):
        return "the statement finds nothing, which may as well be a misreading"
    # A column of a table's rows may repeat: the question asked for the column, not for its different values.
    rows_listed = (
        not plan.entities and not plan.groups and "rows repeat" in {c.name: c.detail for c in checks}["duplicates"]
    )
    waived = {"duplicates"} if rows_listed else set()
    bad = [check for check in checks if check.outcome in ("failed", "doubt") and check.name not in waived]
    return f"a check is not content: {bad[0].name}: {bad[0].detail}" if bad else ""
