"""What connects the tables: copies and code lists to look at, and what people say of copies and joins.

In: names as a person writes them. Out: what is known, or what was kept of what was said, tested where it is a join.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from coset.environment.copy_names import COPY_KINDS
from coset.environment.corrections import Copy as SaidCopy
from coset.environment.corrections import Correction, Join, add_corrections, load_corrections
from coset.errors import UserError
from coset.state.objects import CodeList, Copy
from coset.state.read_model import ReadModel
from coset.use_cases.comprehend import JOINS, comprehend
from coset.use_cases.corrections import with_references
from coset.use_cases.evidence import resolved
from coset.use_cases.workspace import Workspace


def copies(workspace: Workspace, about: str | None = None) -> list[Copy]:
    """The tables that are copies; of one table, those of which it is the copy or the original."""
    reference = resolved(workspace, about)
    with workspace.reading() as state:
        return [each for each in state.copies() if reference in (None, each.table, each.original)]


def code_lists(workspace: Workspace, about: str | None = None) -> list[CodeList]:
    """Which rows of which table decode a column; of one table or column, those that decode it or stand in it."""
    reference = resolved(workspace, about)
    with workspace.reading() as state:
        return [
            each
            for each in state.code_lists()
            if reference is None or reference in (each.column, each.list) or each.column.startswith(f"{reference}.")
        ]


def declare_copy(
    workspace: Workspace, table: str, original: str | None, kind: str | None = None, *, rejected: bool = False
) -> SaidCopy:
    """Say that a table is a copy of another, or that it is none. Holds from the next comprehension on."""
    if kind is not None and kind not in COPY_KINDS:
        raise UserError(f"{kind!r} is no kind of copy: it is one of {', '.join(COPY_KINDS)}")
    said = SaidCopy(table=table, original=original, kind=kind, rejected=rejected)
    new = _kept(workspace, said)
    if not isinstance(new, SaidCopy):
        raise TypeError(type(new))
    return new


def declare_join(
    workspace: Workspace, left: str, right: str, expression: str | None = None, *, rejected: bool = False
) -> dict[str, Any] | None:
    """Say that two columns join (by `expression`, an equality in SQL over them, if one is given), or that they do not.
    The join as it was tested; None for a rejected one, or one that cannot be tested here."""
    sides = _sides(expression) if expression else (None, None)
    said = Join(
        left=(left,), right=(right,), left_expression=sides[0], right_expression=sides[1], rejected=rejected
    )  # fmt: skip
    new = _kept(workspace, said)
    if not isinstance(new, Join):
        raise TypeError(type(new))
    with workspace.renewing():
        comprehend(workspace.configuration, stages=JOINS)
    if rejected:
        return None
    pair = {new.left, new.right}
    with workspace.reading() as state:
        return next(
            (asdict(row) for row in ReadModel(state).relations if {row.left_columns, row.right_columns} == pair), None
        )


def _kept(workspace: Workspace, said: SaidCopy | Join) -> Correction:
    """What was said, with references for names, in the place of what was said before of the same thing."""
    [new] = with_references(workspace, [said])
    known = load_corrections(workspace.configuration)
    before: list[Correction] = []
    if isinstance(new, Join):
        before = [each for each in known.joins if {each.left, each.right} == {new.left, new.right}]
    elif isinstance(new, SaidCopy):
        before = [each for each in known.copies if each.table == new.table]
    add_corrections(workspace.configuration, [new], instead_of=before)
    return new


def _sides(expression: str) -> tuple[str, str]:
    """The two sides of an equality, in SQL."""
    try:
        tree = sqlglot.parse_one(expression, dialect="duckdb")
    except SqlglotError:
        tree = None
    if not isinstance(tree, exp.EQ):
        raise UserError(f"{expression!r} is no equality: write it as left = right, in SQL over the two columns")
    return tree.left.sql("duckdb"), tree.right.sql("duckdb")
