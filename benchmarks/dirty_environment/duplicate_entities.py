"""Step: some rows of a table become two, as when one customer is entered twice.

The copy has a key of its own, its name and perhaps another attribute are written differently, and some rows that
pointed at the original point at the copy instead. Only tables with a primary key of one column and a column of names
are touched.
"""

from __future__ import annotations

import random

from .clean import Value
from .draft import Draft, DraftColumn, DraftTable, Duplicate
from .fresh_keys import FreshKeys
from .options import Options


def duplicate_entities(draft: Draft, options: Options) -> None:
    rng = draft.chance("duplicates")
    candidates = [
        (table, names)
        for table in draft.tables
        if table.rows >= 20 and (names := _name_column(draft, table)) is not None
    ]
    # Tables that others point at are the entities of a database.
    parents = {reference.parent[0].table for reference in draft.references}
    candidates.sort(key=lambda pair: pair[0] not in parents)
    best = [pair for pair in candidates if pair[0] in parents] or candidates
    for table, names in rng.sample(best, min(options.duplicate_tables, len(best))):
        _duplicate_rows(draft, table, names, options, draft.chance("duplicates", table.canonical_name))


def _name_column(draft: Draft, table: DraftTable) -> DraftColumn | None:
    if len(table.primary_key) != 1 or table.primary_key[0].type not in {"integer", "text"}:
        return None
    key = table.primary_key[0]
    # A key that is itself a reference belongs to the parent's entity, not to this table's.
    if any(key in reference.child for reference in draft.references) or key in draft.in_composite():
        return None
    best, most = None, 0.0
    for column in table.columns:
        texts = [value for value in column.values if isinstance(value, str)]
        if not column.is_plain or column.type != "text" or len(texts) < 0.9 * table.rows:
            continue
        short = sum(5 <= len(text) <= 40 and any(letter.isalpha() for letter in text) for text in texts) / len(texts)
        score = len(set(texts)) / len(texts) * short
        if score > max(most, 0.3):
            best, most = column, score
    return best


def _duplicate_rows(draft: Draft, table: DraftTable, names: DraftColumn, options: Options, rng: random.Random) -> None:
    key = table.primary_key[0]
    pointing = [
        reference.child[0]
        for reference in draft.references
        if reference.parent == (key,)
        and not reference.child[0].table.primary_key.count(reference.child[0])
        and reference.child[0] not in draft.in_composite()
    ]
    fresh = FreshKeys([*key.values, *(value for column in pointing for value in column.values)])
    others = [
        column
        for column in table.columns
        if column.is_plain and column is not names and column.type == "text" and any(column.values)
    ]
    rows = sorted(rng.sample(range(table.rows), max(1, round(table.rows * options.duplicate_rows))))
    changed = {names}
    for row in rows:
        original = names.values[row]
        if not isinstance(original, str):
            continue
        how, text = _rewritten(original, rng)
        if text == original:
            continue
        changes: list[tuple[DraftColumn, str, Value, Value]] = [(names, how, original, text)]
        copy = {column: column.values[row] for column in table.columns}
        copy[names] = text
        if others and rng.random() < 0.5:
            other = rng.choice(others)
            if copy[other] is not None:
                changes.append((other, "left out", copy[other], None))
                copy[other] = None
                changed.add(other)
        copy[key] = fresh.like(key.values[row], rng)
        for column in table.columns:
            column.values.append(copy[column])
        table.rows += 1
        repointed = 0
        for column in pointing:
            for position, value in enumerate(column.values):
                if value == key.values[row] and rng.random() < 0.4:
                    column.values[position] = copy[key]
                    repointed += 1
        draft.duplicates.append(Duplicate(key, key.values[row], copy[key], tuple(changes), repointed))
    for column in changed:
        column.is_busy = True


def _rewritten(name: str, rng: random.Random) -> tuple[str, str]:
    """The same name in another hand."""
    words = name.split(" ")
    ways = ["typo", "case", "missing letter"]
    if len(words) > 1:
        ways += ["initial", "order", "order"]
    how = rng.choice(ways)
    letters = [place for place in range(1, len(name) - 1) if name[place].isalpha() and name[place + 1].isalpha()]
    if how == "case":
        return how, name.upper() if name != name.upper() else name.lower()
    if how == "initial" and words[0]:
        return how, " ".join([f"{words[0][0]}.", *words[1:]])
    if how == "order":
        return how, f"{words[-1]}, {' '.join(words[:-1])}"
    if not letters:
        return "case", name.swapcase()
    place = rng.choice(letters)
    if how == "missing letter":
        return how, name[:place] + name[place + 1 :]
    return "typo", name[:place] + name[place + 1] + name[place] + name[place + 2 :]
