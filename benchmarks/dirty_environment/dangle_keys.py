"""Step: some rows of a foreign key point at parents that do not exist."""

from __future__ import annotations

from .clean import Value
from .draft import Dangling, Draft
from .fresh_keys import FreshKeys
from .options import Options


def dangle_keys(draft: Draft, options: Options) -> None:
    composite = draft.in_composite()
    parents = {column for reference in draft.references for column in reference.parent}
    seen = set()
    for reference in draft.references:
        column = reference.child[0]
        rng = draft.chance("dangling", str(column.origin))
        if column in seen or column in composite or column in parents or column in column.table.primary_key:
            continue
        seen.add(column)
        if column.type not in {"integer", "text"} or rng.random() >= options.dangling_share:
            continue
        known = [row for row, value in enumerate(column.values) if value is not None]
        count = round(len(known) * options.dangling_rows)
        if not count:
            continue
        taken: set[Value] = {value for value in column.values if value is not None}
        for other in draft.references:
            if other.child == (column,):
                taken |= {value for value in other.parent[0].values if value is not None}
        fresh = FreshKeys(taken)
        lost = [fresh.like(column.values[known[0]], rng) for _ in range(max(1, count // 2))]
        for row in sorted(rng.sample(known, count)):
            column.values[row] = rng.choice(lost)
        draft.dangling.append(Dangling(column, count))
