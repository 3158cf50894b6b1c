"""Every bench there is: what it measures and how it is run.

A bench is a command of `coset bench` or a script of the checkout's `benchmarks/`; scripts print `summary.json`'s form
with `--json`: benchmark, figures, aim, met (null where nothing is aimed at). A test fails when one of either kind is
missing here, or prints another form.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Bench:
    name: str
    measures: str
    command: str
    where: Literal["installed", "checkout"]


_INSTALLED = (
    ("dab", "answers to the Data Agent Benchmark, learned against core", "coset bench dab PATH --model M"),
    ("questions", "answers to your own questions, against a baseline", "coset bench questions FILE --model M"),
    ("routing", "whether views hold the tables and columns a question needs",
     "coset bench routing --schemas FILE --questions FILE --out FILE"),
    ("views", "whether the views of a company hold what questions with known tables need",
     "coset bench views --questions FILE"),
    ("joins", "transform and fuzzy joins of two columns", "coset bench joins --tasks DIR --out FILE"),
    ("matching", "attributes of two schemas that play the same role",
     "coset bench matching --source FILE --target FILE --out FILE"),
)  # fmt: skip
_CHECKOUT = (
    ("harness_overhead", "what the harness adds to an attempt, without the model, at many tables"),
    ("harness_endurance", "memory, processes and disk over 270 attempts with a scripted model"),
    ("routing", "recall of views on databases that nothing learned from, against peers"),
    ("routing_speed", "latency of a view and cost of its index, as the environment grows"),
    ("offline_reasoner", "answers without a model, against gold SQL on the same rows"),
    ("quick_savings", "what `coset ask --quick` answers without a request to the model, and the tokens it saves"),
    ("mcp_view", "what a view costs over MCP on top of the library call"),
    ("comprehension_cost", "a whole comprehension against SUMMARIZE; memory; refresh"),
    ("comprehension_speed", "profiles and value groups against SUMMARIZE"),
    ("table_encoders", "how well larger published encoders read tables after fine-tuning"),
    ("identities_speed", "realising the roles of 1,000 and 10,000 columns"),
    ("matching", "cross-schema matching against names, MiniLM and valentine"),
    ("relations", "relations found in the development environments against their truth"),
    ("joins", "what `coset bench joins` found, against gold and peers"),
    ("sql_round_trip", "a small SELECT through a warm session against DuckDB alone"),
    ("pushdown_postgresql", "a count by group over a large PostgreSQL table, computed there"),
    ("snapshot_postgresql", "copying a PostgreSQL table into a snapshot"),
    ("web_map", "first paint, weight and frames of the map of the web page at 20,000 objects"),
    ("demo_seeds", "the five answers of the demo against what its generator knows, seed by seed"),
    ("endurance", "comprehension that is killed or runs out of disk, servers under load"),
    ("fuzz_readers", "damaged pg_dumps and mongodumps: read, or refused in a sentence"),
    ("help_time", "wall time of `coset --help`"),
    ("server_clients", "a server with twenty clients: latency, memory, lost runs"),
    ("extras_size", "what the base install and each extra weigh"),
    ("structure", "modules, lines, who imports whom, complexity, who touches the state by SQL"),
)
_NEEDS = {
    "routing": "--corpus DIR",
    "matching": "--corpus DIR",
    "table_encoders": "--corpus DIR",
    "offline_reasoner": "--corpus DIR --work DIR",
    "joins": "--tasks DIR --found FILE",
    "endurance": "kills ENVIRONMENT",
    "fuzz_readers": "pg_dump FILE",
    "server_clients": "ENVIRONMENT QUESTIONS.json",
}
"""What a script cannot do without."""


def benches() -> list[Bench]:
    """All of them, the installed ones first."""
    return [
        *(Bench(name, measures, command, "installed") for name, measures, command in _INSTALLED),
        *(
            Bench(name, measures, f"python benchmarks/{name}.py {_NEEDS.get(name, '')}".strip(), "checkout")
            for name, measures in _CHECKOUT
        ),
    ]
