"""How sure an answer is: by what made its reading less than certain, and how often such answers were right.

In: doubts, by name. Out: a confidence from 0 to 1, and each doubt in words. The weights are a logistic regression on
the answers to questions of databases whose answers are known, none of which the reported figures are measured on
(`benchmarks/offline_reasoner.py --fit`); a doubt that showed no harm weighs nothing, and one that was never met there
half a unit. Those of repeated rows and of partners are rounded from later counts on such databases. Knows neither the
question nor the answer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

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
