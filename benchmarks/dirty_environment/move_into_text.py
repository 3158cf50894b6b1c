"""Step: attributes leave their columns and live on inside sentences, from which a stated pattern recovers them.

A column is moved only if, for every row, the pattern finds exactly the value that was written, or nothing where it was
null. Patterns are such that Python and DuckDB read them alike. Tables need a primary key: by it the truth names rows.
"""

from __future__ import annotations

import random
import re

from .clean import Value
from .draft import Draft, DraftColumn, DraftTable, TextFact
from .options import Options
from .words import split_words

# (template, pattern); {label} is the column's name in words, {value} what is moved.
FORMS = (
    ("{Label}: {value};", r"{Label}: ([^;]+);"),
    ("The {label} is {value}.", r"The {label} is (.+?)\.(?: |$)"),
    ("[{label}={value}]", r"\[{label}=([^\]]+)\]"),
    ("with {value} as {label},", r"with (.+?) as {label},"),
    ("({label} \"{value}\")", r"\({label} \"([^\"]+)\"\)"),
)  # fmt: skip
OPENINGS = ("Entered by hand.", "See also the old file.", "Checked once.", "No further remarks.", "Taken over.")


def move_into_text(draft: Draft, options: Options) -> None:
    rng = draft.chance("text")
    fitting = [table for table in draft.tables if table.primary_key and table.rows >= 5 and _movable(table)]
    for table in rng.sample(fitting, min(options.texts, len(fitting))):
        _move(draft, table, options, draft.chance("text", table.canonical_name))


def _movable(table: DraftTable) -> list[DraftColumn]:
    def fits(column: DraftColumn) -> bool:
        texts = [str(value) for value in column.values if value is not None]
        return (
            column.is_plain
            and column.type in {"text", "integer", "real", "date"}
            and bool(texts)
            and all(len(text) <= 40 and text.strip() == text and "\n" not in text for text in texts)
        )

    found = [column for column in table.columns if fits(column)]
    return found if len(found) >= 3 else []


def _move(draft: Draft, table: DraftTable, options: Options, rng: random.Random) -> None:
    movable = _movable(table)
    prose = _prose(table, rng)
    sentences: list[list[str]] = [[] for _ in range(table.rows)]
    moved: list[tuple[DraftColumn, TextFact]] = []
    # Two columns always stay, so that the table still is one.
    for column in rng.sample(movable, min(options.facts_per_text, len(movable) - 2)):
        if column is prose:
            continue
        label = " ".join(split_words(column.canonical_name))
        forms = rng.sample(FORMS, options.templates_per_fact)
        written: list[str | None] = [None if value is None else _as_text(value) for value in column.values]
        regexes = tuple(_filled(pattern, label) for _, pattern in forms)
        pieces = [
            "" if text is None else _filled(rng.choice(forms)[0], label).replace("{value}", text) for text in written
        ]
        known = {text for text in written if text is not None}
        others = [str(value) for value in prose.values if value is not None]
        alone = all(_found(f"x {piece} x", regexes) == text for piece, text in zip(pieces, written, strict=True))
        if not known or not alone or any(_found(other, regexes) for other in others):
            continue
        for row, piece in enumerate(pieces):
            if piece:
                sentences[row].append(piece)
        templates = tuple(_filled(template, label) for template, _ in forms)
        fact = TextFact(prose, str(column.origin), column.canonical_name, column.type, templates, regexes, written)
        moved.append((column, fact))
    texts: list[Value] = []
    for row, pieces in enumerate(sentences):
        rng.shuffle(pieces)
        own = prose.values[row]
        texts.append(" ".join([*pieces, str(own)] if rng.random() < 0.5 else [str(own), *pieces]) if own else None)
        if own is None and pieces:
            texts[-1] = " ".join(pieces)
    kept = [
        (column, fact)
        for column, fact in moved
        if all(_found(str(text or ""), fact.regexes) == value for text, value in zip(texts, fact.written, strict=True))
    ]
    if not kept or len(kept) < len(moved):
        return  # The sentences disturb each other; the table stays as it was.
    if prose not in table.columns:
        table.columns.append(prose)
    prose.values, prose.type, prose.is_busy = texts, "text", True
    for column, fact in kept:
        table.columns.remove(column)
        draft.facts.append(fact)


def _prose(table: DraftTable, rng: random.Random) -> DraftColumn:
    """The table's column of free text, or a new one of short remarks."""
    for column in table.columns:
        lengths = [len(str(value)) for value in column.values if value is not None]
        if column.is_plain and column.type == "text" and lengths and sum(lengths) / len(lengths) > 30:
            return column
    values: list[Value] = [rng.choice(OPENINGS) for _ in range(table.rows)]
    return DraftColumn(table, rng.choice(["remarks", "notes", "details"]), "text", values, planted="text")


def _filled(form: str, label: str) -> str:
    return form.replace("{Label}", label[:1].upper() + label[1:]).replace("{label}", label)


def _as_text(value: Value) -> str:
    return str(value)


def _found(text: str, regexes: tuple[str, ...]) -> str | None:
    for regex in regexes:
        if match := re.search(regex, text):
            return match[1]
    return None
