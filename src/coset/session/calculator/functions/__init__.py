"""All functions of the calculator, by name and by group."""

from __future__ import annotations

import difflib
from typing import Final

from coset.errors import UserError
from coset.session.calculator.functions.change import CHANGE
from coset.session.calculator.functions.dates import DATES
from coset.session.calculator.functions.elementary import ELEMENTARY
from coset.session.calculator.functions.lists import LISTS, SETS
from coset.session.calculator.functions.signature import Function, Group
from coset.session.calculator.functions.statistics import STATISTICS
from coset.session.calculator.functions.texts import TEXTS

GROUPS: Final[tuple[Group, ...]] = (ELEMENTARY, STATISTICS, CHANGE, LISTS, SETS, DATES, TEXTS)
FUNCTIONS: Final[dict[str, Function]] = {
    name: function for group in GROUPS for name, function in group.functions.items()
}

# Names people bring along from SQL, spreadsheets and Python.
ELSEWHERE: Final[dict[str, str]] = {
    "avg": "mean", "average": "mean", "std": "stdev", "stddev": "stdev", "std_dev": "stdev", "stddev_samp": "stdev",
    "stddev_pop": "pstdev", "var": "variance", "var_samp": "variance", "var_pop": "pvariance", "corr": "correlation",
    "covar": "covariance", "ceiling": "ceil", "power": "pow", "root": "sqrt", "prod": "product", "sort": "sorted",
    "distinct": "unique", "set": "unique", "size": "len", "strip": "trim", "int": "trunc", "float": "number",
    "decimal": "number", "datediff": "days_between", "date_diff": "days_between", "dateadd": "add_days",
    "date_add": "add_days", "edate": "add_months", "eomonth": "end_of_month", "networkdays": "working_days_between",
    "dayname": "weekday", "week": "iso_week", "intersect": "intersection", "except": "difference",
    "percent_change": "pct_change", "growth": "cagr", "today": "date", "now": "datetime", "choose": "comb",
}  # fmt: skip


def unknown_name(name: str, what: str, known: list[str]) -> UserError:
    """The error for a name that is not known, with the names it may have been meant for."""
    lowered = name.lower()
    if lowered in {"today", "now"} and what == "function":
        return UserError(
            f"there is no function '{name}': a calculation has no clock, write the date, as date(\"2024-02-29\")"
        )
    near = [ELSEWHERE[lowered]] if what == "function" and lowered in ELSEWHERE else []
    near += [each for each in difflib.get_close_matches(lowered[:60], known, n=3, cutoff=0.6) if each not in near]
    if near:
        return UserError(f"there is no {what} '{name[:60]}': did you mean {' or '.join(near)}?")
    names = f"the constants are {', '.join(known)}" if what == "name" else "the help lists all functions"
    text_hint = "; put quotes around a text" if what == "name" else ""
    return UserError(f"there is no {what} '{name[:60]}': {names}{text_hint}")
