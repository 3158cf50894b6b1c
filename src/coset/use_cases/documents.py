"""The documents of an environment as people look at them: which there are, their sections, rules and mentions.

In: a workspace. Out: typed rows, or text. Nothing is read anew.
"""

from __future__ import annotations

from dataclasses import dataclass

from coset.errors import UserError
from coset.use_cases.workspace import Workspace

ANY_QUESTION = "what is there"
"""The directory is the same whatever is asked."""


@dataclass(frozen=True)
class DocumentSummary:
    name: str
    source: str | None
    """None where it is about the whole environment."""
    sections: int
    rules: int
    mentions: int


@dataclass(frozen=True)
class DocumentRule:
    reference: str
    text: str
    scope: str
    about: tuple[str, ...]
    status: str


@dataclass(frozen=True)
class DocumentSection:
    reference: str
    title: str
    text: str
    status: str
    superseded_by: str | None
    rules: tuple[DocumentRule, ...]
    mentions: tuple[tuple[str, str], ...]
    """What it names: reference, and the words."""


def documents_of(workspace: Workspace) -> tuple[DocumentSummary, ...]:
    with workspace.reading() as state:
        rows = state.rows(
            "SELECT document, any_value(source) AS source, count(*) AS sections, "
            "(SELECT count(*) FROM rules r JOIN sections o ON o.reference = r.section_reference "
            "WHERE o.document = s.document) AS rules, "
            "(SELECT count(DISTINCT m.target_reference) FROM mentions m JOIN sections o "
            "ON o.reference = m.section_reference WHERE o.document = s.document) AS mentions "
            "FROM sections s GROUP BY document ORDER BY document"
        )
    return tuple(
        DocumentSummary(row["document"], row["source"], row["sections"], row["rules"], row["mentions"]) for row in rows
    )


def sections_of(workspace: Workspace, document: str) -> tuple[DocumentSection, ...]:
    """The sections of a document in their order. Raises `UserError` for one that is not there."""
    with workspace.reading() as state:
        rows = state.rows("SELECT * FROM sections WHERE document = $1 ORDER BY position, reference", [document])
        rules = state.rows(
            "SELECT r.* FROM rules r JOIN sections s ON s.reference = r.section_reference WHERE s.document = $1 "
            "ORDER BY r.reference",
            [document],
        )
        mentions = state.rows(
            "SELECT m.section_reference, m.target_reference, any_value(m.words) AS words FROM mentions m "
            "JOIN sections s ON s.reference = m.section_reference WHERE s.document = $1 GROUP BY ALL ORDER BY ALL",
            [document],
        )
    if not rows:
        names = ", ".join(each.name for each in documents_of(workspace)[:5])
        raise UserError(f"there is no document '{document}'" + (f": there are {names}" if names else ""))
    return tuple(
        DocumentSection(
            row["reference"], " / ".join(row["title_path"] or ()), row["text"], row["status"], row["superseded_by"],
            tuple(
                DocumentRule(each["reference"], each["text"], each["scope"], tuple(each["about"] or ()), each["status"])
                for each in rules
                if each["section_reference"] == row["reference"]
            ),
            tuple(
                (each["target_reference"], each["words"])
                for each in mentions
                if each["section_reference"] == row["reference"]
            ),
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
