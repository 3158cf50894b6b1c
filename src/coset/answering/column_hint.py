"""For a statement that names a column which is not there: which columns there are.

In: a statement and the error it gave. Out: one sentence to go with the error, or nothing. It saves the agent the step
of looking. Knows names only, no value.
"""

from __future__ import annotations

import difflib
import re

from coset.answering.quoting import name
from coset.errors import CosetError
from coset.session.query_session import QuerySession

_MISSING = re.compile(r'(?:Referenced column|column named) "([^"]+)"', re.IGNORECASE)
MOST_COLUMNS = 25


def column_hint(session: QuerySession, sql: str, error: str) -> str:
    """` crm.customers has customer_id, name, ...`, the nearest names first; empty where the error is another one."""
    missing = _MISSING.search(error)
    if missing is None:
        return ""
    import sqlglot
    from sqlglot import errors, exp

    try:
        tables = list(sqlglot.parse_one(sql, dialect="duckdb").find_all(exp.Table))
    except (errors.SqlglotError, RecursionError):
        return ""
    told = []
    for parts in dict.fromkeys(tuple(part.name.lower() for part in table.parts) for table in tables):
        try:
            _, table = session.catalogue.find(parts)
        except CosetError:
            continue  # A common table expression, or a named result.
        columns = [column.name for column in table.columns]
        nearest = difflib.get_close_matches(missing[1], columns, n=3, cutoff=0.4)
        ordered = [*nearest, *(column for column in columns if column not in nearest)]
        more = f" and {len(ordered) - MOST_COLUMNS} more" if len(ordered) > MOST_COLUMNS else ""
        told.append(f"{'.'.join(parts)} has {', '.join(map(name, ordered[:MOST_COLUMNS]))}{more}")
    return f" {'; '.join(told)}." if told else ""
