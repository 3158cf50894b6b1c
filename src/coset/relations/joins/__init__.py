"""Relations: which columns join which, within and across sources, with tested expressions.

    from coset.relations.joins import JoinableTable, find_relations

    for relation in find_relations(connection, tables):
        print(*relation.left, "->", *relation.right, relation.kind, relation.left_match.value)

What is known of single tables (`join_facts`) can be kept in a `JoinMemory`, and `relate` finds relations from there.
Reading order: `find` (the steps), `column_values`, `variants`, `facts`, `memory`, `overlap`, `neighbours`, `features`,
`model`, `selection`, `expressions`; then `background` and `judging`, by which `believe` decides.
"""

from __future__ import annotations

from coset.relations.joins.background import Background
from coset.relations.joins.facts import JoinFacts, join_facts
from coset.relations.joins.find import believe, find_relations, relate
from coset.relations.joins.joinable import JoinableTable
from coset.relations.joins.memory import JoinMemory

__all__ = [
    "Background", "JoinFacts", "JoinMemory", "JoinableTable", "believe", "find_relations", "join_facts", "relate",
]  # fmt: skip
