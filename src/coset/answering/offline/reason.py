"""The offline reasoner: a question in, an answer or an honest refusal out, without any language model.

In: a question, a router, a session, a state. Out: `Answered` or `Declined`. It is a small planner: words are aligned to
names and values of the data, a grammar of question forms puts them in their places, the plan becomes one SELECT, and
the deterministic checks look at what it gave. It knows common shapes of English questions and nothing about the world;
whatever it is not sure of, it declines.
"""

from __future__ import annotations

from coset.answering.checks import CheckResult, PinnedShape, Proposal, run_checks
from coset.answering.offline.certainty import ENOUGH, confidence, in_words
from coset.answering.offline.compose import compose
from coset.answering.offline.expressions import DIALECT
from coset.answering.offline.known import Known
from coset.answering.offline.outcome import Answered, Declined, NotSure
from coset.answering.offline.placing import Placing
from coset.answering.offline.plan import Plan
from coset.answering.offline.reading import read
from coset.answering.offline.resolve import resolve
from coset.answering.offline.settling import SECONDS, have_several_partners, is_tied, repetition
from coset.answering.offline.steps import steps
from coset.errors import CosetError
from coset.evidence.state import EvidenceState
from coset.routing.router import Router
from coset.session.query_session import QuerySession
from coset.session.result import Result

BUDGET = 4_000
"""Tokens of the view: it is read by no model, so it may be larger than one that is."""
PARTNERS = "once for each partner"


def answer(
    question: str, router: Router, session: QuerySession, state: EvidenceState, *, enough: float = ENOUGH
) -> Answered | Declined:
    """The answer, where it is at least as sure as `enough`; else why there is none."""
    view = router.view(question, BUDGET)
    try:
        known = Known(router.objects, view, router.inventory)
        chunks = read(question, known, router.anchors, session)
        plan, reading, doubts = resolve(Placing(chunks).slots_of(), known)
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
    value = _value(result, shape)
    checks = run_checks(Proposal(value, (sql,), shape, result), session, state)
    if doubt := _doubt(plan, checks, result):
        return Declined(question, doubt, view, sql, checks)
    rows = tuple(result.rows())
    if repeats := repetition(plan, rows):
        doubts = (*doubts, repeats)
    sure = confidence(doubts)
    if sure < enough:
        why = "; ".join(in_words(doubts))
        return Declined(
            question, f"an answer would be right in {sure:.0%} of cases only: {why}", view, sql, checks, sure
        )
    told = steps(plan, known)
    return Answered(
        question, result.columns, rows, result.truncated, sql, shape, reading, told, checks, view, sure, doubts
    )


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


def _value(result: Result, shape: PinnedShape) -> object:
    rows = result.rows()
    if shape.form == "value":
        return rows[0][0] if rows else None
    return [row[0] for row in rows] if shape.form == "list" else [list(row) for row in rows]


def _doubt(plan: Plan, checks: tuple[CheckResult, ...], result: Result) -> str:
    """Why a result is not trusted; empty when it is."""
    if result.truncated:
        return "the result has more rows than the limits let through"
    rows = result.rows()
    if not rows or all(cell is None for row in rows for cell in row):
        return "the statement finds nothing, which may as well be a misreading"
    # A column of a table's rows may repeat: the question asked for the column, not for its different values.
    rows_listed = (
        not plan.entities and not plan.groups and "rows repeat" in {c.name: c.detail for c in checks}["duplicates"]
    )
    waived = {"duplicates"} if rows_listed else set()
    bad = [check for check in checks if check.outcome in ("failed", "doubt") and check.name not in waived]
    return f"a check is not content: {bad[0].name}: {bad[0].detail}" if bad else ""
