"""Relations: which columns join which, within and across sources, with tested expressions.

    from coset.evidence.relations import JoinableTable, find_relations

    for relation in find_relations(connection, tables):
        print(*relation.left, "->", *relation.right, relation.kind, relation.left_match.value)

Reading order: `find` (the steps), `column_values`, `variants`, `overlap`, `features`, `model`, `selection`,
`expressions`.
"""

from __future__ import annotations

from coset.evidence.relations.find import find_relations
from coset.evidence.relations.joinable import TABLE_NAME, JoinableTable

__all__ = ["TABLE_NAME", "JoinableTable", "find_relations"]
