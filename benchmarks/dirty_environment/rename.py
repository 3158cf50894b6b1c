"""Step: tables and columns get other names; each keeps the list of what was done to its name.

No two columns of a table and no two tables of a source have names that differ only by case. A name is made of letters,
digits and underscores, and never looks like the part of a larger table (`part_1`, `2024`).
"""

from __future__ import annotations

import random
import re

from .clean import ColumnType
from .draft import TABLE_VALUE, Draft, DraftTable
from .options import Options
from .thesaurus import ABBREVIATIONS, SYNONYMS
from .words import STYLES, Style, in_style, split_words

_PART = re.compile(r"(part|chunk|shard|split|batch|segment|piece|slice|block)?[-_. ]*\d+.*", re.IGNORECASE)
_TYPE_PREFIXES: dict[ColumnType, str] = {
    "integer": "n", "real": "f", "text": "str", "boolean": "is", "date": "dt", "timestamp": "ts",
}  # fmt: skip


def rename(draft: Draft, options: Options) -> None:
    taken: dict[str, set[str]] = {}
    for table in draft.tables:
        rng = draft.chance("table name", table.canonical_name)
        style = rng.choice(STYLES)
        words, steps = _new_words(table.canonical_name, table.synonyms, rng, options)
        if rng.random() < options.prefix_share:
            affix = rng.choice(["tbl", "dim", "raw", "stg"])
            words, steps = [affix, *words], [*steps, f"prefix {affix}"]
        in_use = taken.setdefault(table.source, set())
        if table.family_column is None:
            table.name = _free(in_style(words, style), in_use)
        else:
            # The value alone is the name, or it follows the table's own name.
            bare, dressed = "", f"{in_style(words, style)}_"
            table.name = bare if rng.random() < 0.5 else dressed
            if in_use & {member.lower() for member in table.members}:
                table.name = dressed
            while in_use & {member.lower() for member in table.members}:
                table.name += "x"
            in_use |= {member.lower() for member in table.members}
            steps = [*steps, "value as name"]
        table.renaming = _described(steps, table.canonical_name, table.name, style)
        _rename_columns(draft, table, style, options)


def _rename_columns(draft: Draft, table: DraftTable, style: Style, options: Options) -> None:
    taken = {"_id", TABLE_VALUE}
    for column in table.columns:
        rng = draft.chance("column name", table.canonical_name, column.canonical_name)
        if column.in_table_name:
            column.name = TABLE_VALUE
            column.renaming = ("value as name of the table",)
            continue
        words, steps = _new_words(column.canonical_name, column.synonyms, rng, options)
        if rng.random() < options.prefix_share:
            own = split_words(table.canonical_name)[0]
            affix = rng.choice([_TYPE_PREFIXES[column.type], own[:3], own])
            words, steps = [affix, *words], [*steps, f"prefix {affix}"]
        if rng.random() < options.noise_share:
            if rng.random() < 0.3:
                words, steps = ["fld", f"{rng.randrange(1, 100):02d}"], ["opaque"]
            else:
                noise = rng.choice(["c", "x", "v2", "1", "new"])
                words, steps = [*words, noise], [*steps, f"noise {noise}"]
        column.name = _free(in_style(words, style), taken)
        column.renaming = _described(steps, column.canonical_name, column.name, style)


def _described(steps: list[str], before: str, after: str, style: Style) -> tuple[str, ...]:
    return () if before == after else tuple([*steps, f"case {style}"])


def _new_words(
    name: str, synonyms: tuple[str, ...], rng: random.Random, options: Options
) -> tuple[list[str], list[str]]:
    words = split_words(name)
    steps: list[str] = []
    if rng.random() < options.synonym_share:
        given = [other for text in synonyms if (other := split_words(text)) != words]
        replaceable = [place for place, word in enumerate(words) if word in SYNONYMS]
        if given and (not replaceable or rng.random() < 0.7):
            other = rng.choice(given)
            steps.append(f"synonym {' '.join(words)} -> {' '.join(other)}")
            words = other
        elif replaceable:
            place = rng.choice(replaceable)
            chosen = rng.choice(SYNONYMS[words[place]])
            steps.append(f"synonym {words[place]} -> {chosen}")
            words = [*words[:place], *chosen.split(), *words[place + 1 :]]
    if rng.random() < options.abbreviation_share:
        shorter = [_abbreviated(word, rng) for word in words]
        if shorter != words:
            steps.append(f"abbreviation {' '.join(words)} -> {' '.join(shorter)}")
            words = shorter
    return words, steps


def _abbreviated(word: str, rng: random.Random) -> str:
    if word in ABBREVIATIONS:
        return ABBREVIATIONS[word]
    if len(word) <= 4:
        return word
    if rng.random() < 0.5:
        return word[: rng.randrange(3, 5)]
    return word[0] + "".join(letter for letter in word[1:] if letter not in "aeiou")


def _free(name: str, taken: set[str]) -> str:
    """The name, or the name with a letter more, that nothing else in `taken` has; it is taken from now on."""
    candidate = f"t_{name}" if _PART.fullmatch(name) or not name[0].isalpha() else name
    number = 0
    while candidate.lower() in taken:
        number += 1
        candidate = f"{name}_{chr(ord('a') + number % 26)}{number // 26 or ''}"
    taken.add(candidate.lower())
    return candidate
