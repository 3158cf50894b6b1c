"""What a question gets to see, and what a view left out.

In: a question, a name, or words. Out: a view, its explanation, or evidence as text, within a budget of tokens. No
language model is asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from coset.errors import UserError
from coset.routing.search.recover import Recovered
from coset.routing.views.budgets import DETAILS, RECOVERED
from coset.use_cases.evidence import reference_of
from coset.use_cases.results import View
from coset.use_cases.workspace import Workspace

if TYPE_CHECKING:
    from coset.routing.views.explanation import Explanation

__all__ = ["DETAILS", "RECOVERED", "explain", "open_tables", "recover", "recover_or_search", "search", "view"]


def view(workspace: Workspace, question: str, budget: int = DETAILS, *, directory: bool = True) -> View:
    """The directory, and the tables, columns, joins and values that answer a question."""
    with workspace.routed() as router:
        return View(router.view(question, budget, directory=directory))


def explain(workspace: Workspace, question: str, budget: int = DETAILS, *, directory: bool = True) -> Explanation:
    """The view with how it came about: requirements, demand, anchors, scores, and what fell out."""
    with workspace.routed() as router:
        return router.explain(question, budget, directory=directory)


def open_tables(workspace: Workspace, names: Sequence[str], beside: View | None = None) -> View:
    """The details of tables that a directory lists, without what the view beside them shows already. Raises `UserError`
    with the nearest names where none of them is there."""
    with workspace.routed() as router:
        found = router.opened(names, beside=beside.evidence if beside else None)
    if not found.tables and not found.passages and beside is None:
        with workspace.objects() as objects:
            for name in names:
                reference_of(objects, name)
    return View(found)


def recover(workspace: Workspace, name: str, budget: int = RECOVERED) -> Recovered:
    """All that is known of one thing that a view names, or that it left out."""
    from coset.routing.search.recover import recover as recovered

    with workspace.objects() as objects:
        try:
            return recovered(objects, reference_of(objects, name), budget)
        except UserError as mistake:
            try:  # Joins and documents have references of their own.
                return recovered(objects, name, budget)
            except UserError:
                raise mistake from None


def search(workspace: Workspace, words: str, budget: int = RECOVERED) -> Recovered:
    """What has these words in its name, its values or its text."""
    from coset.routing.search.search import search as searched

    with workspace.objects() as objects:
        return searched(objects, words, budget)


def recover_or_search(workspace: Workspace, what: str, budget: int = RECOVERED) -> Recovered:
    """What is known of a name; where nothing is called so, what has these words."""
    try:
        return recover(workspace, what, budget)
    except UserError:
        return search(workspace, what, budget)
