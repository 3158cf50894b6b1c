"""How sure an answer is, and the doubts that the data itself can settle by counting.

In: the doubts of a plan. Out: a probability, by how often answers with such doubts were right. A tie at the last place,
rows that repeat, and more partners than one are counted in the data instead of being guessed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqlglot import exp

from coset.answering.offline.catalogue import Known
from coset.answering.offline.compile import compose
from coset.answering.offline.expressions import DIALECT
from coset.answering.offline.plan import Condition, Linked, Output, Plan
from coset.session.query_session import QuerySession

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
    "different rows": (-0.74, "it is not certain what tells different ones apart"),
    "per what is not said": (-0.5, "a number stands beside a column: it is computed for each value"),
    "asked for twice": (-0.5, "one column is asked for twice"),
    "as the other columns": (-0.5, "a name of several tables is taken for that of the other columns' table"),
    "misspelt": (-0.5, "a word is taken to be misspelt"),
    "event": (-0.5, "a verb is taken to speak of the only date that there is"),
    "repeated rows": (-1.9, "rows repeat: they may be meant once each"),
    "repeated rows in an order": (0.0, "rows repeat, in an order"),
    "repeated rows of several columns": (-0.2, "rows of several columns repeat"),
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
