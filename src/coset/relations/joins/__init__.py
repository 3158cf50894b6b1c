"""Relations: which columns join which, within and across sources, with tested expressions.

    from coset.relations.joins import JoinableTable, find_relations

    for relation in find_relations(connection, tables):
        print(*relation.left, "->", *relation.right, relation.kind, relation.left_match.value)

What is known of single tables (`join_facts`) can be kept in a `JoinMemory`, and `relate` finds relations from there.
Reading order: `find` (the steps), `column_values`, `variants`, `memory`, `overlap`, `neighbours`, `features`,
`selection`, `expressions`; then `judging`, by which `believe` decides.
"""

from __future__ import annotations

from coset.relations.joins.column_values import JoinableTable
from coset.relations.joins.find import believe, find_relations, relate
from coset.relations.joins.judging import Background
from coset.relations.joins.memory import JoinFacts, JoinMemory, join_facts

__all__ = [
    "Background", "JoinFacts", "JoinMemory", "JoinableTable", "believe", "find_relations", "join_facts", "relate",
]  # fmt: skip
