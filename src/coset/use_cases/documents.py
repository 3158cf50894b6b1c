"""The documents of an environment as people look at them: which there are, their sections, rules and mentions.

In: a workspace. Out: typed rows, or text. Nothing is read anew.
"""

from __future__ import annotations

from dataclasses import dataclass

from coset.errors import UserError
from coset.state.documents import DocumentSummary, RuleRow, document_counts, mentioned, rules_of, sections
from coset.use_cases.workspace import Workspace

ANY_QUESTION = "what is there"
"""The directory is the same whatever is asked."""


@dataclass(frozen=True)
class DocumentSection:
    reference: str
    title: str
    text: str
    status: str
    superseded_by: str | None
    rules: tuple[RuleRow, ...]
    mentions: tuple[tuple[str, str], ...]
    """What it names: reference, and the words."""


def documents_of(workspace: Workspace) -> tuple[DocumentSummary, ...]:
    with workspace.reading() as state:
        return tuple(document_counts(state))


def sections_of(workspace: Workspace, document: str) -> tuple[DocumentSection, ...]:
    """The sections of a document in their order. Raises `UserError` for one that is not there."""
    with workspace.reading() as state:
        rows, rules = sections(state, [document]), rules_of(state, document)
        mentions = mentioned(state, document)
    if not rows:
        names = ", ".join(each.name for each in documents_of(workspace)[:5])
        raise UserError(f"there is no document '{document}'" + (f": there are {names}" if names else ""))
    return tuple(
        DocumentSection(
            row.reference, " / ".join(row.title_path), row.text, row.status, row.superseded_by,
            tuple(each for each in rules if each.section_reference == row.reference),
            tuple((target, words) for section, target, words in mentions if section == row.reference),
        )
        for row in rows
    )  # fmt: skip


def document_of(workspace: Workspace, document: str) -> str:
    """A document as text, its sections with their titles; what no longer holds is marked."""
    lines = []
    for section in sections_of(workspace, document):
        mark = "" if section.status == "current" else f" ({section.status})"
        lines += [f"# {section.title}{mark}" if section.title else mark.strip(), section.text, ""]
    return "\n".join(line for line in lines if line is not None)


def directory_of(workspace: Workspace) -> str:
    """What every view begins with: what was written of the data, general rules, and a line for each table."""
    from coset.routing.views.text import prefix_text

    with workspace.routed() as router:
        return prefix_text(router.view(ANY_QUESTION))
