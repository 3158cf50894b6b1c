"""What holds for an environment as a whole: its digest, the roles that are played in it, its short names.

In: an open state. Out: plain values, read once when routing opens the state. Knows no question.
"""

from __future__ import annotations

import hashlib

from coset.identities.inventory import Coordinate
from coset.routing.shorthands import Shorthands
from coset.state import EvidenceState

SURELY = 0.5


def shorthands_of(state: EvidenceState) -> Shorthands:
    """Of all expressions that clean and join; of a schema-only source too, whose names are shown."""
    cleaning = state.rows(
        "SELECT d.expression, c.name FROM diagnostics d JOIN columns c ON c.reference = d.column_reference "
        "WHERE d.expression IS NOT NULL ORDER BY d.id"
    )
    joins = state.rows(
        "SELECT r.expression, c.name FROM ("
        "SELECT id, left_expression AS expression, left_columns AS columns FROM relations UNION ALL "
        "SELECT id, right_expression, right_columns FROM relations) r JOIN columns c ON c.reference = r.columns[1] "
        "WHERE len(r.columns) = 1 ORDER BY r.id, r.expression"
    )
    return Shorthands((row["expression"], row["name"]) for row in (*cleaning, *joins))


def roles_played(state: EvidenceState) -> frozenset[tuple[Coordinate, str]]:
    """The identities that some table or column surely plays."""
    rows = state.rows(f"SELECT DISTINCT coordinate, identity FROM memberships WHERE membership >= {SURELY}")
    return frozenset((row["coordinate"], row["identity"]) for row in rows)


def digest_of(state: EvidenceState) -> str:
    """Of all that a view may show: equal digests, equal views. Times of comprehension do not count."""
    parts = []
    for sql in (
        "SELECT reference AS k, md5(concat_ws('|', reference, rows, shape, comment, problem)) AS d FROM tables",
        "SELECT reference AS k, md5(concat_ws('|', reference, type, nulls, distinct_values, minimum, maximum, "
        "examples, comment, personal)) AS d FROM columns",
        "SELECT id AS k, md5(concat_ws('|', id, left_expression, right_expression, left_match, right_match, "
        "confidence)) AS d FROM relations",
        "SELECT reference || coordinate AS k, md5(concat_ws('|', reference, identity, membership, runner_up)) AS d "
        "FROM memberships",
        "SELECT id AS k, md5(concat_ws('|', id, text)) AS d FROM documents",
        "SELECT id AS k, md5(concat_ws('|', id, share, expression)) AS d FROM diagnostics",
        "SELECT id AS k, md5(concat_ws('|', id, expression)) AS d FROM facets",
        "SELECT number::VARCHAR AS k, md5(concat_ws('|', about, text)) AS d FROM notes",
        "SELECT column_reference || position || part AS k, md5(concat_ws('|', column_reference, value, count)) AS d "
        "FROM group_values",
        "SELECT source AS k, md5(concat_ws('|', source, kind, schema_only, problem)) AS d FROM sources",
    ):
        [row] = state.rows(f"SELECT md5(string_agg(d, '' ORDER BY k, d)) AS digest FROM ({sql})")
        parts.append(row["digest"] or "")
    return hashlib.sha256("".join(parts).encode()).hexdigest()[:16]
