"""The commands with `--json` that the schemas are about, each as a person calls it on the demo company."""

from __future__ import annotations

CALLS: dict[str, tuple[tuple[str, ...], ...]] = {
    "init": (("init", "again=beacon.sqlite", "-d", "again", "--force"),),
    "sources": (("sources",),),
    "comprehend": (("comprehend", "--jobs", "1"),),
    "status": (("status",), ("status", "--review")),
    "show": (("show", "beacon.orders"), ("show", "beacon.orders.buyer_id"), ("show", "atlas")),
    "copies": (("copies",),),
    "readings": (("readings",), ("readings", "beacon.orders")),
    "relations": (("relations",), ("relations", "beacon.orders")),
    "links": (("links",),),
    "join": (("join", "--not", "beacon.orders.buyer_id", "atlas.customers.customer_id"),),
    "identities": (("identities",),),
    "labelers": (("labelers",),),
    "diagnostics": (("diagnostics",),),
    "note": (("note", "beacon.orders", "Web orders."), ("note", "--list")),
    "teach": (("teach", "beacon.articles", "product."), ("teach", "--list")),
    "view": (("view", "How many tickets report error E42?"),),
    "recover": (("recover", "beacon.orders"),),
    "sql": (("sql", "SELECT count(*) AS n FROM beacon.articles"),),
    "ask": (("ask", "How many tickets are there?"), ("ask", "Why are unicorns blue?")),
    "runs": (("runs",),),
    "run": (("run", "1"),),
    "calc": (("calc", "1 + 2"),),
}
"""In an order in which what is asked of a later one is there."""
