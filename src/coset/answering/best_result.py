"""Which result a run has to show when nobody named one: it was stopped, or ended in words alone.

In: the results of a question and the pinned shape. Out: the name of the last one with rows that fits what was pinned,
else of the last with rows, else of the last; nothing where there is none.
"""

from __future__ import annotations

from coset.answering.answer import misfit
from coset.answering.named_results import NamedResults
from coset.answering.records import Shape
from coset.session.result import Result


def best_result(results: NamedResults, shape: Shape | None) -> list[str]:
    held = [(name, each.result) for name, each in results.known.items() if each.result is not None]
    some = [(name, result) for name, result in held if result.table.num_rows]
    fitting = [name for name, result in some if _fits(shape, result)]
    return (fitting or [name for name, _ in some] or list(results.known))[-1:]


def _fits(shape: Shape | None, result: Result) -> bool:
    if shape is None:
        return True
    columns = len(shape.columns) or len(result.columns)
    return not misfit(shape, result.table.num_rows) and columns == len(result.columns)
