"""The commands with `--json` that the schemas are about, each as a person calls it on the demo company."""

from __future__ import annotations

from pathlib import Path

VIEWS = str(Path(__file__).parent / "view_questions.json")
ASKING = ("bench questions", "bench dab")
"""Those that ask a model: their own tests validate them."""

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
    "bench list": (("bench", "list"),),
    "bench views": (("bench", "views", "--questions", VIEWS),),
}
"""In an order in which what is asked of a later one is there."""

ON_A_SERVER: tuple[tuple[str, ...], ...] = (
    ("sources",), ("comprehend", "--jobs", "1"), ("status",), ("show", "vets"), ("show", "vet.animals"),
    ("show", "animals.species"), ("readings",), ("relations",), ("copies",),
    ("join", "animals.keeper_id", "keepers.keeper_id"), ("note", "animals", "Dogs and cats."),
    ("view", "How many animals has each keeper?"), ("ask", "How many animals are there?"), ("runs",), ("run", "1"),
)  # fmt: skip
"""The same on a PostgreSQL server with a schema and comments."""
