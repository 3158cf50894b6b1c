"""The environment at a glance: how much there is, what joins, what is dirty, what is in doubt.

In: the state. Out: one page, and apart from it whether the sources are still as they were read, which takes longer.
"""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from coset.errors import UserError
from coset.evidence.changes import differences
from coset.identities.explain import realised_identities
from coset.identities.inventory import Inventory
from coset.state import EvidenceState
from coset.surfaces.web.rendering import render
from coset.surfaces.web.site import Site, site_of

SHOWN = 8
CLEAR = 0.5
"""A membership below this is worth a look."""


def overview(request: Request) -> Response:
    site = site_of(request)
    try:
        with site.environment.reading() as state:
            shown = at_a_glance(state, site.inventory)
    except UserError as mistake:
        named = site.environment.configuration.sources
        return render(
            request, "not_comprehended.html", sources=[(name, str(entry.location)) for name, entry in named.items()],
            problem=str(mistake),
        )  # fmt: skip
    return render(request, "overview.html", **shown, questions=_suggested(site))


def freshness(request: Request) -> Response:
    """Whether a comprehension would find something to do."""
    site = site_of(request)
    with site.environment.reading() as state:
        found = differences(site.environment.configuration, state)
    return render(request, "freshness.html", differences=found, shown=found[:SHOWN])


def at_a_glance(state: EvidenceState, inventory: Inventory) -> dict[str, Any]:
    dirt = (
        "SELECT table_reference, kind FROM diagnostics UNION ALL SELECT table_reference, 'duplicates' FROM duplicates"
    )
    sources = state.rows(
        f"WITH dirt AS ({dirt}) SELECT s.source, s.kind, s.description, s.schema_only, s.problem, s.listed_at, "
        "(SELECT count(*) FROM tables t WHERE t.source = s.source) AS tables, "
        "(SELECT sum(t.rows) FROM tables t WHERE t.source = s.source) AS rows, "
        "(SELECT count(*) FROM columns c JOIN tables t ON t.reference = c.table_reference WHERE t.source = s.source) "
        "AS columns, (SELECT count(*) FROM dirt d JOIN tables t ON t.reference = d.table_reference "
        "WHERE t.source = s.source) AS dirt FROM sources s ORDER BY s.source"
    )
    across = "split_part(left_table, '/', 1) <> split_part(right_table, '/', 1)"
    joins = state.rows(f"SELECT * FROM relations WHERE {across} ORDER BY confidence DESC, id LIMIT $1", [SHOWN])
    roles = realised_identities(state, inventory) if state.meta("identity_model") else []
    return {
        "sources": sources,
        "totals": {
            "tables": sum(row["tables"] for row in sources),
            "columns": sum(row["columns"] for row in sources),
            "rows": sum(row["rows"] or 0 for row in sources),
            "relations": state.count("relations"),
            "across": state.rows(f"SELECT count(*) AS number FROM relations WHERE {across}")[0]["number"],
            "dirt": sum(row["dirt"] for row in sources),
            "roles": len(roles),
            "taught": state.count("taught"),
        },
        "read_at": max((row["listed_at"] for row in sources), default=None),
        "joins": joins,
        "dirt": state.rows(f"SELECT kind, count(*) AS number FROM ({dirt}) GROUP BY kind ORDER BY number DESC, kind"),
        "shared": [row for row in roles if row["sources"] > 1][:SHOWN],
        "doubtful": state.rows(
            "SELECT reference, coordinate, identity, membership, runner_up, runner_up_membership, radius, is_table "
            "FROM memberships WHERE NOT pinned AND membership < $1 AND radius >= 0 AND NOT contains(reference, '#') "
            "ORDER BY is_table DESC, radius, reference, coordinate LIMIT $2",
            [CLEAR, SHOWN],
        ),
    }


def _suggested(site: Site) -> tuple[str, ...]:
    """Questions to begin with: the demo's own, where this is the demo."""
    from coset.demo.folder import MARK

    if not (site.environment.configuration.path.parent / MARK).is_file():
        return ()
    from coset.demo.questions import QUESTIONS

    return tuple(each.text for each in QUESTIONS)
